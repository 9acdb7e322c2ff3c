//! Calls that can reach files run on a thread of their own, so that their end is the end of all they do.
//!
//! A file operation cannot be called off: dropped, it goes on in the background and may change a file after the receipt was
//! signed. Here it runs on the call's own thread, and what a guest starts in the background (a write to a stream that it
//! never waits for) runs on threads of a small executor that belongs to the call. The call is over when both are. A file
//! operation that hangs for longer than [`GRACE`] beyond the deadline is not waited for, and the fault says so.

use std::time::Duration;

use chio_host_kernel::ports::Stop;
use tokio::sync::oneshot;
use tokio::time::timeout_at;

use super::task::{Answered, Task};
use crate::places::Place;

/// How long a file operation may go on beyond the deadline before the call is answered without it.
const GRACE: Duration = Duration::from_secs(2);
/// File operations that a guest can have in the background at the same time; more of them wait, and are dropped unbegun at
/// the end.
const BACKGROUND_OPERATIONS: usize = 4;

/// Runs the task and waits for its file operations. The place is free again when its thread has ended, however late.
pub(super) async fn run(task: Task, place: Place) -> Answered {
    let (until, deadline, lost) = (task.until() + GRACE, task.deadline(), task.lost());
    // Dropped with this future, and so tells the thread that nobody waits any more.
    let (_waiting, gone) = oneshot::channel();
    let thread = tokio::task::spawn_blocking(move || {
        let answered = to_the_end(task, gone);
        drop(place);
        answered
    });
    match timeout_at(until, thread).await {
        Ok(Ok(answered)) => answered,
        Ok(Err(error)) => lost(Stop::Host, &format!("the call's thread failed: {error}")),
        Err(_) => {
            let ms = deadline.as_millis();
            lost(Stop::Deadline, &format!("deadline of {ms} ms exceeded; a file operation is still under way"))
        }
    }
}

/// Runs the task on this thread. Returns when nothing of it is going on any more.
fn to_the_end(task: Task, gone: oneshot::Receiver<()>) -> Answered {
    let lost = task.lost();
    let executor =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(BACKGROUND_OPERATIONS).build();
    let executor = match executor {
        Ok(executor) => executor,
        Err(error) => return lost(Stop::Host, &format!("the call's executor does not start: {error}")),
    };
    let answered = executor.block_on(async {
        tokio::select! {
            answered = task.run() => answered,
            _ = gone => lost(Stop::Host, "the caller is gone"),
        }
    });
    // Waits for what is going on in the background, and drops what has not begun.
    drop(executor);
    answered
}
