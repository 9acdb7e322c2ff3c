//! What a tool can tell the host and ask it while it works.

use chio_host_kernel::call::Progress;
use chio_host_kernel::canonical::{self, Bounds, printable};
use chio_host_kernel::ports::{NestedError, NestedOutput};

use super::state::ToolState;
use crate::answer::{MAX_MESSAGE, MAX_REASON};
use crate::bindings::guard::chio::plugin::configuration;
use crate::bindings::server::chio::plugin::{host, nested, types};

/// What each message costs beside its own bytes, so that empty ones are bounded too.
const PER_MESSAGE: usize = 32;

/// Whose messages these are.
#[derive(Debug)]
pub(super) struct Who {
    pub(super) server: String,
    pub(super) request_id: String,
}

impl types::Host for ToolState {}

impl configuration::Host for ToolState {
    fn get(&mut self) -> wasmtime::Result<String> {
        Ok(self.config.to_string())
    }
}

impl host::Host for ToolState {
    fn log(&mut self, level: host::Level, message: String) -> wasmtime::Result<()> {
        self.log.take(message.len() + PER_MESSAGE)?;
        let message = printable(&message, MAX_MESSAGE);
        let (server, request_id) = (&self.who.server, &self.who.request_id);
        macro_rules! log {
            ($level:ident) => {
                tracing::event!(target: "chio::plugin", tracing::Level::$level, server, request_id, "{message}")
            };
        }
        match level {
            host::Level::Trace => log!(TRACE),
            host::Level::Debug => log!(DEBUG),
            host::Level::Info => log!(INFO),
            host::Level::Warn => log!(WARN),
            host::Level::Error => log!(ERROR),
        }
        Ok(())
    }

    fn progress(&mut self, done: f64, total: Option<f64>, message: Option<String>) -> wasmtime::Result<()> {
        self.log.take(message.as_ref().map_or(0, String::len) + PER_MESSAGE)?;
        // JSON has no word for the others, and a client could do nothing with them.
        if done.is_finite() && total.is_none_or(f64::is_finite) {
            let message = message.map(|message| printable(&message, MAX_REASON));
            self.signals.report(Progress { done, total, message });
        }
        Ok(())
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.signals.is_cancelled())
    }
}

impl nested::Host for ToolState {
    async fn invoke(
        &mut self,
        server: String,
        tool: String,
        arguments: String,
    ) -> wasmtime::Result<Result<nested::InvokeOutput, nested::InvokeError>> {
        let denied = |why: String| Ok(Err(nested::InvokeError::Denied(why)));
        let Some(nested) = self.nested.clone() else {
            return denied("no other tool can be called from here".to_owned());
        };
        let arguments = match canonical::parse(arguments.as_bytes(), Bounds::ARGUMENTS) {
            Ok(arguments) => arguments,
            Err(error) => return denied(format!("the arguments are not acceptable JSON: {error}")),
        };
        Ok(match nested.invoke(server, tool, arguments).await {
            Ok(NestedOutput { value, receipt_id }) => {
                Ok(nested::InvokeOutput { value: canonical::to_string(&value), receipt_id })
            }
            Err(NestedError::Denied(why)) => Err(nested::InvokeError::Denied(why)),
            Err(NestedError::Pending(why)) => Err(nested::InvokeError::Pending(why)),
            Err(NestedError::Failed(why)) => Err(nested::InvokeError::Failed(why)),
        })
    }
}
