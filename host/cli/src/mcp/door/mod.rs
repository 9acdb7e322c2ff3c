//! The transport: JSON-RPC, one message a line, and only lines that are safe to act on.

mod admit;
mod lines;
mod requests;
mod writer;

use std::borrow::Cow;
use std::io;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::Sender;

use self::admit::{Admission, MAX_LINE, Refusal, admit};
use self::lines::{Line, Lines};
use self::requests::Requests;
pub(super) use self::writer::Written;

/// Whether the session has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The SDK still waits for the first request, and takes anything else for the end of the session.
    Opening,
    /// Notifications are welcome.
    Open,
}

/// Reads a client's lines and writes it answers.
pub(super) struct Door<R> {
    lines: Lines<R>,
    /// Lines to the client; gone once the session is closed.
    queue: Option<Sender<Vec<u8>>>,
    requests: Requests,
    phase: Phase,
    /// An answer of the door's own that is not queued yet.
    unsent: Option<Vec<u8>>,
    /// To be told once there is no more input.
    left: Option<Box<dyn FnOnce() + Send>>,
}

impl<R: AsyncRead + Send + Unpin + 'static> Door<R> {
    /// A door, and the task that writes what it says. It outlives the door: whoever opened it waits for it.
    /// `left` is called when the client is gone, while the session still waits for its answers.
    pub(super) fn new(
        input: R,
        output: impl AsyncWrite + Send + Unpin + 'static,
        left: impl FnOnce() + Send + 'static,
    ) -> (Self, Written) {
        let (queue, written) = writer::start(output);
        let door = Self {
            lines: Lines::new(input, MAX_LINE),
            queue: Some(queue),
            requests: Requests::new(),
            phase: Phase::Opening,
            unsent: None,
            left: Some(Box::new(left)),
        };
        (door, written)
    }

    /// The next line that there is; `None` at the end of the input, and once the client reads nothing more.
    async fn next_line(&mut self) -> Option<Line> {
        let queue = self.queue.as_ref()?;
        if self.unsent.is_some() {
            // Taken out only when there is a place for it: this future may be dropped at the await.
            let place = queue.reserve().await.ok()?;
            if let Some(answer) = self.unsent.take() {
                place.send(answer);
            }
        }
        self.requests.room().await;
        let read = tokio::select! {
            read = self.lines.next() => read,
            () = queue.closed() => return None,
        };
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, "the client's input failed");
            None
        })
    }

    /// What the SDK is given of a line, if anything.
    fn take(&mut self, line: &Line) -> Option<ClientJsonRpcMessage> {
        let admission = match line {
            Line::Whole(line) => admit(line),
            Line::TooLong => Admission::Answer(Refusal::too_long()),
        };
        match admission {
            Admission::Pass(message) => self.note(*message),
            Admission::Answer(refusal) => {
                self.refuse(&refusal);
                None
            }
            Admission::Ignore => None,
        }
    }

    /// Keeps the books over what passes.
    fn note(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        match &message {
            JsonRpcMessage::Request(request) => {
                if !self.requests.open(&request.id) {
                    // Under that id it would be taken for the answer to the request that has it.
                    self.refuse(&Refusal::invalid(format!("a request with the id {} is open", shown(&request.id))));
                    return None;
                }
                if opens_without_handshake(&request.request) {
                    self.phase = Phase::Open;
                }
            }
            JsonRpcMessage::Notification(_) if self.phase == Phase::Opening => return None,
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.requests.close(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => return None,
        }
        Some(message)
    }

    fn refuse(&mut self, refusal: &Refusal) {
        // Plain data: it has no way to fail to serialise.
        self.unsent = writer::line(&refusal.to_json()).ok();
    }
}

/// Since protocol 2026-07-28 a session may begin with any request that carries its own protocol version.
fn opens_without_handshake(request: &ClientRequest) -> bool {
    let is_probe = matches!(
        request,
        ClientRequest::InitializeRequest(_) | ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)
    );
    let meta = request.get_meta();
    !is_probe
        && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        && meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
}

fn shown(id: &RequestId) -> String {
    chio_host_kernel::canonical::printable(&id.to_string(), 64)
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for Door<R> {
    type Error = io::Error;

    fn name() -> Cow<'static, str> {
        "stdio".into()
    }

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        match &item {
            JsonRpcMessage::Response(response) => {
                if matches!(response.result, ServerResult::InitializeResult(_)) {
                    self.phase = Phase::Open;
                }
                self.requests.close(&response.id);
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.requests.close(id);
                }
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        let queue = self.queue.clone();
        async move {
            let line = writer::line(&item)?;
            let queue = queue.ok_or(io::ErrorKind::NotConnected)?;
            queue.send(line).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    /// The next message. At the end of the input it waits until every request has its answer, because the SDK gives those
    /// that have none yet only seconds.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        while self.left.is_some() {
            match self.next_line().await {
                Some(line) => {
                    if let Some(message) = self.take(&line) {
                        return Some(message);
                    }
                }
                None => self.left.take().into_iter().for_each(|left| left()),
            }
        }
        let queue = self.queue.as_ref()?;
        tokio::select! {
            () = self.requests.all_answered() => {}
            () = queue.closed() => {}
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.queue = None;
        Ok(())
    }
}
