//! The requests of one call: each checked, sent by the host, bounded, and over when the call is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};
use zeroize::Zeroizing;

use super::address::{NoAddress, resolve};
use super::body::{Allowance, Received, Sent, clean_headers};
use super::client::{self, Driver, Patience};
use super::grants::{Grants, Injected, Target};
use super::scrub::Scrubber;
use super::secret::Value;

/// Requests of one call that are open at the same time, their responses included.
const MAX_OPEN: u32 = 8;
/// Bytes of all request bodies of one call, and of all response bodies.
const MAX_SENT: u64 = 16 << 20;
const MAX_RECEIVED: u64 = 64 << 20;
/// How long a request waits, where its guest does not say a shorter time. The call's deadline ends it in any case.
const PATIENCE: Patience =
    Patience { connect: Duration::from_secs(10), first_byte: Duration::from_mins(1), silence: Duration::from_mins(1) };

/// Refusals of one call that are logged; a guest that asks for ever fills no disk.
const MAX_LOGGED: u32 = 16;

/// Headers by which a guest could make a server answer in a way that hides a secret from the scrubber: encoded, in parts.
const NOT_WITH_SECRETS: [HeaderName; 4] = [header::ACCEPT_ENCODING, header::RANGE, header::IF_RANGE, header::TE];

/// What one call may send, and has under way.
pub(crate) struct Requests {
    call: Call,
}

/// What its requests share.
#[derive(Clone)]
struct Call {
    grants: Arc<Grants>,
    request_id: Arc<str>,
    open: Arc<Semaphore>,
    sent: Allowance,
    received: Allowance,
    logged: Arc<AtomicU32>,
    /// The host's own executor, for what no call may have to wait for.
    host: Handle,
}

/// The end of all requests of a call.
pub(crate) struct Ended(Arc<Semaphore>);

impl Ended {
    /// Waits until nothing of the call's requests is left. They have to have been dropped before.
    pub(crate) async fn wait(self) {
        // Fails only where the semaphore is closed, which nobody does.
        let _ = self.0.acquire_many(MAX_OPEN).await;
    }
}

impl Requests {
    /// For one call. Has to be made within the host's executor.
    pub(crate) fn new(grants: Arc<Grants>, request_id: &str) -> Self {
        Self {
            call: Call {
                grants,
                request_id: request_id.into(),
                open: Arc::new(Semaphore::new(MAX_OPEN as usize)),
                sent: Allowance::new(MAX_SENT),
                received: Allowance::new(MAX_RECEIVED),
                logged: Arc::default(),
                host: Handle::current(),
            },
        }
    }

    /// To wait with once the store is gone.
    pub(crate) fn ended(&self) -> Ended {
        Ended(self.call.open.clone())
    }
}

type Answered = (Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>);

impl WasiHttpHooks for Requests {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<Answered, Error>> + Send> {
        let call = self.call.clone();
        // Taken here and not in the future, so that no request is open unseen.
        let place = self.call.open.clone().try_acquire_owned();
        Box::new(async move {
            match place {
                Ok(place) => call.send(request, options.unwrap_or_default(), Arc::new(place)).await,
                Err(_) => Err(call.denied(format!(
                    "{} has {MAX_OPEN} requests open, and may have no more at the same time",
                    call.grants.who()
                ))),
            }
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        64 << 10
    }
}

impl Call {
    async fn send(
        self,
        request: Request<WasiBody>,
        options: RequestOptions,
        open: Arc<OwnedSemaphorePermit>,
    ) -> Result<Answered, Error> {
        let target = self.grants.admit(request.uri()).map_err(|why| self.denied(why))?;
        // A tunnel would carry what nobody has checked; the other repeats what the host adds.
        if matches!(*request.method(), Method::CONNECT | Method::TRACE) {
            return Err(Error::HttpRequestMethodInvalid);
        }
        let patience = patience(options);
        let resolved = timeout(patience.connect, resolve(&target, &self.grants, &self.host)).await;
        let addresses = resolved.map_err(|_| Error::DnsTimeout)?.map_err(|error| match error {
            NoAddress::Refused(why) => self.denied(why),
            NoAddress::Unknown => {
                Error::DnsError { rcode: Some("the name has no address".to_owned()), info_code: None }
            }
        })?;
        let (mut parts, body) = request.into_parts();
        let values = self.prepare(&mut parts.headers, &target).await?;
        let scrubber = (!values.is_empty()).then(|| Scrubber::new(&values));
        let body = Sent::new(body, self.sent.clone());
        let breached = body.breached();
        let (response, driver) = client::send(Request::from_parts(parts, body), &target, &addresses, patience)
            .await
            .map_err(|error| match breached.get() {
                Some(limit) => Error::HttpRequestBodySize(Some(*limit)),
                None => error,
            })?;
        let (mut parts, incoming) = response.into_parts();
        if let Some(scrubber) = &scrubber {
            check_encoding(&parts.headers)?;
            clean_headers(&mut parts.headers, scrubber);
        }
        // What a server calls its answer is not told to guests, and may hold anything.
        parts.extensions.clear();
        let body = Received::new(incoming, self.received.clone(), scrubber, patience.silence, open.clone());
        Ok((Response::from_parts(parts, body.boxed_unsync()), Box::new(drive(driver, open))))
    }

    /// Sets what the host says in a request, whatever the guest said. Returns the secrets that it carries now.
    async fn prepare(&self, headers: &mut HeaderMap, target: &Target) -> Result<Vec<Value>, Error> {
        let authority = HeaderValue::try_from(target.authority()).map_err(|_| Error::HttpRequestUriInvalid)?;
        headers.insert(header::HOST, authority);
        let mut values = Vec::new();
        for secret in self.grants.secrets(target) {
            let value = secret.grant.source.read(&self.host).await.map_err(|why| self.unavailable(secret, &why))?;
            let text = Zeroizing::new(secret.grant.format.replacen("{}", &String::from_utf8_lossy(&value), 1));
            let mut text = HeaderValue::from_str(&text).map_err(|_| self.unavailable(secret, "it fits no header"))?;
            text.set_sensitive(true);
            // One of the guest's own would stand beside it, and servers differ in which they read.
            headers.insert(secret.header.clone(), text);
            values.push(value);
        }
        if !values.is_empty() {
            for name in NOT_WITH_SECRETS {
                headers.remove(name);
            }
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        Ok(values)
    }

    /// A refusal: for the log, and for the guest to tell.
    fn denied(&self, why: String) -> Error {
        if self.logged.fetch_add(1, Ordering::Relaxed) < MAX_LOGGED {
            let (who, request_id) = (self.grants.who(), &*self.request_id);
            tracing::warn!(target: "chio::plugin", who, request_id, "{why}");
        }
        Error::InternalError(Some(why))
    }

    /// Where a secret comes from is no business of the guest's.
    fn unavailable(&self, secret: &Injected, why: &str) -> Error {
        let name = &secret.grant.name;
        if self.logged.fetch_add(1, Ordering::Relaxed) < MAX_LOGGED {
            let (who, request_id) = (self.grants.who(), &*self.request_id);
            tracing::error!(target: "chio::plugin", who, request_id, "the secret {name} cannot be read: {why}");
        }
        Error::InternalError(Some(format!(
            "the host cannot read the secret {name}, so nothing was sent; its log says why"
        )))
    }
}

/// The shorter of what the host and the guest have time for.
fn patience(options: RequestOptions) -> Patience {
    let shorter = |host: Duration, guest: Option<Duration>| guest.map_or(host, |guest| guest.min(host));
    Patience {
        connect: shorter(PATIENCE.connect, options.connect_timeout),
        first_byte: shorter(PATIENCE.first_byte, options.first_byte_timeout),
        silence: shorter(PATIENCE.silence, options.between_bytes_timeout),
    }
}

/// A response that is encoded although nothing was asked for could hide a secret.
fn check_encoding(headers: &HeaderMap) -> Result<(), Error> {
    let only = |name: HeaderName, plain: &str| {
        headers.get_all(name).iter().all(|value| value.as_bytes().eq_ignore_ascii_case(plain.as_bytes()))
    };
    if !only(header::CONTENT_ENCODING, "identity") {
        return Err(Error::HttpResponseContentCoding(Some("encoded, although identity was asked for".to_owned())));
    }
    if !only(header::TRANSFER_ENCODING, "chunked") {
        return Err(Error::HttpResponseTransferCoding(Some("encoded, although identity was asked for".to_owned())));
    }
    Ok(())
}

/// Keeps the connection going until its response is over. How it ends, the response's body says.
async fn drive(driver: Driver, open: Arc<OwnedSemaphorePermit>) -> Result<(), Error> {
    if let Some(connection) = driver {
        connection.await.ok();
    }
    drop(open);
    Ok(())
}
