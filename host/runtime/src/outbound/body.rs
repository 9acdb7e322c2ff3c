//! Bodies on their way: counted, timed, and without the secrets that the request carried.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::{Body, Frame, Incoming};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, interval};
use wasmtime_wasi_http::{Error, WasiBody};

use super::client::error_of;
use super::scrub::Scrubber;

/// Bytes that all bodies of a call in one direction may have together.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    left: Arc<AtomicU64>,
    limit: u64,
}

impl Allowance {
    pub(super) fn new(limit: u64) -> Self {
        Self { left: Arc::new(AtomicU64::new(limit)), limit }
    }

    fn take(&self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    /// How much there was at first.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }
}

/// What a guest sends.
pub(super) struct Sent {
    body: WasiBody,
    allowance: Allowance,
    /// The limit, once it was reached: the client's own error does not say so.
    breached: Arc<OnceLock<u64>>,
}

impl Sent {
    pub(super) fn new(body: WasiBody, allowance: Allowance) -> Self {
        Self { body, allowance, breached: Arc::default() }
    }

    /// Where it is recorded that the body was too long.
    pub(super) fn breached(&self) -> Arc<OnceLock<u64>> {
        self.breached.clone()
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        let bytes =
            frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref).map_or(0, Bytes::len);
        if self.allowance.take(bytes) {
            return Poll::Ready(frame);
        }
        let limit = self.allowance.limit();
        self.breached.get_or_init(|| limit);
        Poll::Ready(Some(Err(Error::HttpRequestBodySize(Some(limit)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

/// What a server answers.
pub(super) struct Received {
    incoming: Incoming,
    allowance: Allowance,
    scrubber: Option<Scrubber>,
    trailers: Option<HeaderMap>,
    /// Fires when the server has been silent for too long.
    silence: Interval,
    state: State,
    /// The request is open for as long as its answer is.
    _open: Arc<OwnedSemaphorePermit>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Nothing more comes from the server; what was held back, and trailers, are still to be told.
    Ending,
    Over,
}

impl Received {
    pub(super) fn new(
        incoming: Incoming,
        allowance: Allowance,
        scrubber: Option<Scrubber>,
        silence: Duration,
        open: Arc<OwnedSemaphorePermit>,
    ) -> Self {
        // An interval of nothing is a panic.
        let mut silence = interval(silence.max(Duration::from_nanos(1)));
        silence.reset();
        Self { incoming, allowance, scrubber, trailers: None, silence, state: State::Open, _open: open }
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.state = State::Over;
        Poll::Ready(Some(Err(error)))
    }

    /// A frame of the server's: what of it can be told now.
    fn frame(&mut self, frame: Frame<Bytes>) -> Result<Option<Frame<Bytes>>, Error> {
        match frame.into_data() {
            Ok(data) if self.allowance.take(data.len()) => {
                let clean = match &mut self.scrubber {
                    Some(scrubber) => scrubber.push(&data).into(),
                    None => data,
                };
                Ok((!clean.is_empty()).then(|| Frame::data(clean)))
            }
            Ok(_) => Err(Error::HttpResponseBodySize(Some(self.allowance.limit()))),
            Err(frame) => {
                self.trailers = frame.into_trailers().ok();
                self.state = State::Ending;
                Ok(None)
            }
        }
    }

    /// What is left to tell, one frame at a time.
    fn rest(&mut self) -> Option<Frame<Bytes>> {
        let held = self.scrubber.as_mut().map(Scrubber::finish).unwrap_or_default();
        if !held.is_empty() {
            return Some(Frame::data(held.into()));
        }
        self.state = State::Over;
        let mut trailers = self.trailers.take()?;
        if let Some(scrubber) = &self.scrubber {
            clean_headers(&mut trailers, scrubber);
        }
        Some(Frame::trailers(trailers))
    }
}

/// Takes secrets out of headers: out of values, and headers out whose name gives one away.
pub(super) fn clean_headers(headers: &mut HeaderMap, scrubber: &Scrubber) {
    for value in headers.values_mut() {
        if let Some(clean) = scrubber.whole(value.as_bytes()) {
            // Stars in place of bytes of a valid value are valid.
            *value = http::HeaderValue::from_bytes(&clean).unwrap_or(http::HeaderValue::from_static("***"));
        }
    }
    let telling: Vec<_> = headers.keys().filter(|name| scrubber.is_in_name(name.as_str())).cloned().collect();
    for name in telling {
        headers.remove(name);
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            match self.state {
                State::Over => return Poll::Ready(None),
                State::Ending => return Poll::Ready(self.rest().map(Ok)),
                State::Open => {}
            }
            match Pin::new(&mut self.incoming).poll_frame(cx) {
                Poll::Ready(None) => self.state = State::Ending,
                Poll::Ready(Some(Err(error))) => return self.fail(error_of(&error)),
                Poll::Ready(Some(Ok(frame))) => {
                    self.silence.reset();
                    match self.frame(frame) {
                        Ok(None) => {}
                        Ok(Some(frame)) => return Poll::Ready(Some(Ok(frame))),
                        Err(error) => return self.fail(error),
                    }
                }
                Poll::Pending => {
                    std::task::ready!(self.silence.poll_tick(cx));
                    return self.fail(Error::ConnectionReadTimeout);
                }
            }
        }
    }
}
