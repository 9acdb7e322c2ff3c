//! A tool's standard streams: lines for the log, up to a limit. The host's own streams carry a protocol, and a guest never
//! writes to them (surrealdb#7082).

use std::sync::Arc;

use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::OutputStream;

use super::host::Who;
use crate::lines::Lines;
use crate::meter::Budget;

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
        let Self { stream, who, budget } = self.clone();
        let say = move |line: &str| {
            tracing::info!(target: "chio::plugin", server = who.server, request_id = who.request_id, stream, "{line}");
        };
        Box::new(Lines { budget, say })
    }
}
