//! The one task that writes to the client.
//!
//! Answers come from the SDK and from the door, in futures that may be dropped half-way; a line must not be. So whole lines
//! are queued, and this task alone touches the output.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;

/// Lines that wait to be written. Beyond that whoever has one more waits.
const QUEUED_LINES: usize = 64;

/// Ends when the last sender of its queue is gone and everything queued is written, or when the output fails.
pub(in crate::mcp) type Written = JoinHandle<io::Result<()>>;

/// Starts the task; lines go into the queue.
pub(super) fn start(output: impl AsyncWrite + Send + Unpin + 'static) -> (Sender<Vec<u8>>, Written) {
    let (queue, lines) = mpsc::channel(QUEUED_LINES);
    (queue, tokio::spawn(write(output, lines)))
}

async fn write(mut output: impl AsyncWrite + Unpin, mut lines: Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(line) = lines.recv().await {
        output.write_all(&line).await?;
        if lines.is_empty() {
            output.flush().await?;
        }
    }
    output.shutdown().await
}

/// A message as a line.
pub(super) fn line(message: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}
