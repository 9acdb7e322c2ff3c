//! What a guest prints: counted, and handed on line by line.

use bytes::Bytes;
use chio_host_kernel::canonical::printable;
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use crate::answer::MAX_MESSAGE;
use crate::meter::Budget;

/// How much a guest may hand over in one write, in bytes.
const CHUNK: usize = 64 << 10;

/// A stream that a guest writes to, up to a limit. `say` is given each line, without what a terminal would obey.
pub(crate) struct Lines<F> {
    pub(crate) budget: Budget,
    pub(crate) say: F,
}

impl<F: Fn(&str) + Send + 'static> OutputStream for Lines<F> {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.budget.take(bytes.len()).map_err(StreamError::Trap)?;
        let text = String::from_utf8_lossy(&bytes);
        text.lines().filter(|line| !line.is_empty()).for_each(|line| (self.say)(&printable(line, MAX_MESSAGE)));
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
impl<F: Fn(&str) + Send + 'static> Pollable for Lines<F> {
    async fn ready(&mut self) {}
}
