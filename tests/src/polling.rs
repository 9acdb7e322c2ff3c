//! Futures that a test polls by hand, to drop or to lose them at a moment of its choosing.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Polls a future once.
pub fn poll<F: Future>(future: &mut Pin<Box<F>>) -> Option<F::Output> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Polls a future so many times at most. Answers with its output if it came to that.
pub fn poll_up_to<F: Future>(future: &mut Pin<Box<F>>, times: usize) -> Option<F::Output> {
    (0..times).find_map(|_| poll(future))
}

/// Polls a future so many times, and drops it. Answers with its output if it came to that.
pub fn poll_times<F: Future>(future: F, times: usize) -> Option<F::Output> {
    poll_up_to(&mut Box::pin(future), times)
}
