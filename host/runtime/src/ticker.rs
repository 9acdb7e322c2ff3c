//! The clock by which running guests are stopped.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// How often the epoch moves, and so how exactly a guest that never yields is stopped.
const TICK: Duration = Duration::from_millis(5);

/// A thread that moves the engines' epoch on. It holds them weakly, and ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the thread.
    pub(crate) fn start(engines: &[&Engine]) -> std::io::Result<Self> {
        let engines: Vec<EngineWeak> = engines.iter().map(|engine| engine.weak()).collect();
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new().name("chio-epoch".to_owned()).spawn(move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                for engine in engines.iter().filter_map(EngineWeak::upgrade) {
                    engine.increment_epoch();
                }
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread has nothing that can panic, and a destructor has nobody to tell.
            let _ = thread.join();
        }
    }
}

/// The ticks after which a guest is past its deadline. The timer beside it is exact, and stops whatever yields; two ticks
/// more leave the verdict to it.
pub(crate) fn ticks(deadline: Duration) -> u64 {
    u64::try_from(deadline.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u64::MAX / 2).min(u64::MAX / 2) + 2
}
