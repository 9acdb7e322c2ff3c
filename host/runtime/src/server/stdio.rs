//! A tool's standard streams: lines for the log, up to a limit. The host's own streams carry a protocol, and a guest never
//! writes to them (surrealdb#7082).

use std::sync::Arc;

use bytes::Bytes;
use chio_host_kernel::canonical::printable;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::host::Who;
use crate::answer::MAX_MESSAGE;
use crate::meter::Budget;

/// How much a guest may hand over in one write, in bytes.
const CHUNK: usize = 64 << 10;

/// One of the two streams. Both draw on one budget.
#[derive(Clone)]
pub(super) struct Sink {
    pub(super) stream: &'static str,
    pub(super) who: Arc<Who>,
    pub(super) budget: Budget,
}

impl IsTerminal for Sink {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Sink {
    /// WASI 0.3 would use it, and is not linked.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Sink {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.budget.take(bytes.len()).map_err(StreamError::Trap)?;
        for line in String::from_utf8_lossy(&bytes).lines().filter(|line| !line.is_empty()) {
            let (stream, who) = (self.stream, &self.who);
            let line = printable(line, MAX_MESSAGE);
            tracing::info!(target: "chio::plugin", server = who.server, request_id = who.request_id, stream, "{line}");
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Sink {
    async fn ready(&mut self) {}
}
