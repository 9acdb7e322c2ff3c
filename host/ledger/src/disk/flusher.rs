//! Group commit: one thread syncs for all that wait.
//!
//! The thread takes everyone who is waiting, flushes, syncs, and wakes them. Whoever registers meanwhile waits for the
//! next round, because the flush may have begun before their transaction. A round costs the same for one as for a
//! thousand, so the more callers there are, the fewer syncs a call needs.
//!
//! Where a sync is faster than what callers do in between, rounds would get ever smaller. So a round waits for a few more
//! than the one before it had, until it has half of the calls that are under way: one half computes while the other is being
//! synced. It never waits longer than [`LINGER`]; where that was not enough, the rounds after it do not ask for more
//! ([`Expected`]). One that follows a single caller waits for nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use chio_host_kernel::ledger::LedgerError;
use tokio::sync::oneshot;

use super::calls::Calls;
use super::contain::contain;
use super::health::Health;

/// The steps of a round. Behind a trait so that a test can watch their order.
pub(super) trait Disk: Send + 'static {
    /// Hands what is buffered to the operating system.
    fn flush(&mut self) -> Result<(), String>;

    /// Returns when what was flushed is on the disk.
    fn sync(&mut self) -> Result<(), String>;

    /// Remembers how much is on the disk now.
    fn mark(&mut self) -> Result<(), String>;

    /// After a round that did not fail, once whoever waited was woken: what needs doing now and then.
    fn rest(&mut self);

    /// After the last round.
    fn close(&mut self);
}

type Outcome = Result<(), LedgerError>;

/// The longest that a round waits for callers that are likely to come.
const LINGER: Duration = Duration::from_millis(10);
/// For how many rounds no more are asked for, after one that waited in vain.
const CONTENT: u32 = 64;

/// The handle of the thread. Dropping it lets the thread flush, sync and end; [`Flusher::stop`] waits for that.
pub(super) struct Flusher {
    /// Bounded by the callers that wait: each sends once and waits for its answer. One that stops waiting leaves a sender
    /// behind until the round ends.
    waiting: Sender<oneshot::Sender<Outcome>>,
    rounds: Arc<AtomicU64>,
    /// The calls that are under way.
    pub(super) calls: Arc<Calls>,
    thread: JoinHandle<Outcome>,
}

impl Flusher {
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(disk: impl Disk, health: Arc<Health>) -> std::io::Result<Self> {
        let (waiting, queue) = channel();
        let rounds = Arc::new(AtomicU64::new(0));
        let calls = Arc::new(Calls::default());
        let round = Round { disk, health, completed: Arc::clone(&rounds), calls: Arc::clone(&calls) };
        let thread = thread::Builder::new().name("chio-ledger-sync".to_owned()).spawn(move || round.run(&queue))?;
        Ok(Self { waiting, rounds, calls, thread })
    }

    /// Returns when everything that was applied before is on the disk.
    pub(super) async fn synced(&self) -> Outcome {
        let gone = || LedgerError::Unavailable("its sync thread has ended".to_owned());
        let (wake, woken) = oneshot::channel();
        self.waiting.send(wake).map_err(|_| gone())?;
        woken.await.unwrap_or_else(|_| Err(gone()))
    }

    pub(super) fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Acquire)
    }

    /// Lets the thread flush and sync what is buffered, and waits for it to end.
    pub(super) fn stop(self) -> Outcome {
        drop(self.waiting);
        self.thread.join().unwrap_or_else(|_| Err(LedgerError::Unavailable("its sync thread panicked".to_owned())))
    }
}

struct Round<D> {
    disk: D,
    health: Arc<Health>,
    completed: Arc<AtomicU64>,
    calls: Arc<Calls>,
}

impl<D: Disk> Round<D> {
    fn run(mut self, queue: &Receiver<oneshot::Sender<Outcome>>) -> Outcome {
        let mut expected = Expected::default();
        while let Ok(first) = queue.recv() {
            let waiting = gather(first, queue, expected.callers);
            expected.after(waiting.len(), self.calls.under_way());
            let outcome = self.complete();
            let is_on_disk = outcome.is_ok();
            for caller in waiting {
                // One that no longer waits is no reason to stop.
                drop(caller.send(outcome.clone()));
            }
            if is_on_disk {
                self.disk.rest();
            }
        }
        let outcome = self.complete();
        self.disk.close();
        let outcome = outcome.and_then(|()| self.health.check());
        // The last of the database goes with it, on this thread, because sled writes when it is dropped.
        match contain(move || drop(self)) {
            Ok(()) => outcome,
            Err(panic) => outcome.and(Err(LedgerError::Unavailable(format!("sled panicked as it closed: {panic}")))),
        }
    }

    fn complete(&mut self) -> Outcome {
        self.health.check()?;
        let disk = &mut self.disk;
        let done = contain(|| {
            disk.flush()?;
            disk.sync()?;
            disk.mark()
        });
        match done {
            Ok(Ok(())) => {
                self.completed.fetch_add(1, Ordering::Release);
                Ok(())
            }
            Ok(Err(why)) => Err(self.health.fail(&why)),
            Err(panic) => Err(self.health.fail(&format!("sled panicked: {panic}"))),
        }
    }
}

/// How many callers a round waits for.
#[derive(Debug)]
struct Expected {
    callers: usize,
    /// For how many rounds more they are not asked for.
    content: u32,
}

impl Default for Expected {
    fn default() -> Self {
        Self { callers: 1, content: 0 }
    }
}

impl Expected {
    /// What the next round waits for, after one that had so many callers, of so many calls.
    fn after(&mut self, came: usize, under_way: usize) {
        self.content = if came < self.callers { CONTENT } else { self.content.saturating_sub(1) };
        let more = if came > 1 && self.content == 0 { came / 4 + 1 } else { 0 };
        self.callers = (came + more).min(under_way.div_ceil(2)).max(1);
    }
}

/// Everyone who waits, and, if fewer do than are expected, whoever comes soon.
fn gather<T>(first: T, queue: &Receiver<T>, expected: usize) -> Vec<T> {
    let mut waiting: Vec<_> = std::iter::once(first).chain(queue.try_iter()).collect();
    if waiting.len() >= expected {
        return waiting;
    }
    let until = Instant::now() + LINGER;
    while waiting.len() < expected
        && let Ok(next) = queue.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        waiting.push(next);
    }
    waiting
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{SyncSender, sync_channel};
    use std::task::{Context, Poll, Waker};

    use tokio::runtime::Builder;

    use super::*;

    /// A disk that does nothing until the test allows each step, and tells it which step that is.
    struct Stepped {
        steps: SyncSender<&'static str>,
        allow: Receiver<Result<(), String>>,
    }

    impl Stepped {
        fn step(&self, name: &'static str) -> Result<(), String> {
            self.steps.send(name).unwrap();
            self.allow.recv().unwrap()
        }
    }

    impl Disk for Stepped {
        fn flush(&mut self) -> Result<(), String> {
            self.step("flush")
        }

        fn sync(&mut self) -> Result<(), String> {
            self.step("sync")
        }

        fn mark(&mut self) -> Result<(), String> {
            self.step("mark")
        }

        fn rest(&mut self) {}

        fn close(&mut self) {}
    }

    struct Test {
        flusher: Flusher,
        health: Arc<Health>,
        steps: Receiver<&'static str>,
        allow: Sender<Result<(), String>>,
    }

    impl Test {
        fn new() -> Self {
            let (steps, seen) = sync_channel(0);
            let (allow, allowed) = channel();
            let health = Arc::new(Health::default());
            let flusher = Flusher::start(Stepped { steps, allow: allowed }, Arc::clone(&health)).unwrap();
            Self { flusher, health, steps: seen, allow }
        }

        fn expect(&self, step: &str, outcome: Result<(), String>) {
            assert_eq!(self.steps.recv().unwrap(), step);
            self.allow.send(outcome).unwrap();
        }

        fn expect_round(&self) {
            for step in ["flush", "sync", "mark"] {
                self.expect(step, Ok(()));
            }
        }

        fn stop(self) -> Outcome {
            let Self { flusher, steps, allow, .. } = self;
            for _ in 0..3 {
                allow.send(Ok(())).unwrap();
            }
            thread::scope(|scope| {
                scope.spawn(move || steps.iter().for_each(drop));
                flusher.stop()
            })
        }
    }

    fn wait<F: Future>(future: F) -> F::Output {
        Builder::new_current_thread().build().unwrap().block_on(future)
    }

    /// Registers, and answers whether the caller still has to wait.
    fn is_pending<F: Future<Output = Outcome>>(future: std::pin::Pin<&mut F>) -> bool {
        future.poll(&mut Context::from_waker(Waker::noop())) == Poll::Pending
    }

    #[test]
    fn a_caller_is_woken_after_the_sync_and_not_before() {
        let test = Test::new();
        let mut caller = Box::pin(test.flusher.synced());
        assert!(is_pending(caller.as_mut()));
        for step in ["flush", "sync", "mark"] {
            assert_eq!(test.steps.recv().unwrap(), step);
            assert!(is_pending(caller.as_mut()), "woken before the {step} was done");
            assert_eq!(test.flusher.rounds(), 0);
            test.allow.send(Ok(())).unwrap();
        }
        assert_eq!(wait(caller), Ok(()));
        assert_eq!(test.flusher.rounds(), 1);
        test.stop().unwrap();
    }

    #[test]
    fn whoever_comes_during_a_round_waits_for_the_next_and_shares_it() {
        let test = Test::new();
        let mut first = Box::pin(test.flusher.synced());
        assert!(is_pending(first.as_mut()));
        assert_eq!(test.steps.recv().unwrap(), "flush");
        let mut later: Vec<_> = (0..64).map(|_| Box::pin(test.flusher.synced())).collect();
        assert!(later.iter_mut().all(|caller| is_pending(caller.as_mut())));
        // One that gives up is no reason for the others not to be woken.
        drop(later.pop());
        test.allow.send(Ok(())).unwrap();
        test.expect("sync", Ok(()));
        test.expect("mark", Ok(()));
        assert_eq!(wait(first), Ok(()));
        assert!(later.iter_mut().all(|caller| is_pending(caller.as_mut())));
        test.expect_round();
        for caller in later {
            assert_eq!(wait(caller), Ok(()));
        }
        assert_eq!(test.flusher.rounds(), 2);
        test.stop().unwrap();
    }

    #[test]
    fn a_round_waits_for_no_more_than_are_expected_and_not_for_ever() {
        let (sender, queue) = channel();
        assert_eq!(gather(0, &queue, 1), [0], "one caller waits for nobody");
        for n in 1..=3 {
            sender.send(n).unwrap();
        }
        assert_eq!(gather(0, &queue, 2), [0, 1, 2, 3], "everyone who is there is taken");
        assert_eq!(gather(0, &queue, 64), [0], "and callers that do not come are not waited for");
        let late = thread::spawn(move || sender.send(1).unwrap());
        let mut waiting = gather(0, &queue, 2);
        late.join().unwrap();
        waiting.extend(queue.try_iter());
        assert_eq!(waiting, [0, 1]);
    }

    #[test]
    fn rounds_grow_to_half_of_the_calls_and_ask_no_further_for_who_does_not_come() {
        let mut expected = Expected::default();
        expected.after(1, 64);
        assert_eq!(expected.callers, 1, "a single caller is followed by nobody's waiting");
        let mut came = 2;
        for _ in 0..32 {
            expected.after(came, 64);
            came = expected.callers;
        }
        assert_eq!(came, 32, "half of them");
        // The others sit in a tool.
        expected.after(20, 64);
        for _ in 1..CONTENT {
            expected.after(20, 64);
            assert_eq!(expected.callers, 20);
        }
        expected.after(20, 64);
        assert_eq!(expected.callers, 26, "asked for again after a while");
        expected.after(20, 3);
        assert_eq!(expected.callers, 2);
    }

    #[test]
    fn after_a_failure_everybody_is_refused() {
        for failing in ["flush", "sync", "mark"] {
            let test = Test::new();
            let mut caller = Box::pin(test.flusher.synced());
            assert!(is_pending(caller.as_mut()));
            for step in ["flush", "sync", "mark"] {
                if step == failing {
                    test.expect(step, Err("no space left".to_owned()));
                    break;
                }
                test.expect(step, Ok(()));
            }
            let refused = wait(caller);
            assert!(matches!(&refused, Err(LedgerError::Unavailable(why)) if why.contains("no space left")));
            // No further step is made for a later caller.
            assert_eq!(wait(test.flusher.synced()), refused);
            assert_eq!(test.health.check(), refused);
            assert_eq!(test.flusher.rounds(), 0);
            assert_eq!(test.stop(), refused);
        }
    }

    #[test]
    fn what_is_buffered_is_synced_when_the_thread_stops() {
        let test = Test::new();
        let Test { flusher, steps, allow, .. } = test;
        let stopping = thread::spawn(move || flusher.stop());
        for step in ["flush", "sync", "mark"] {
            assert_eq!(steps.recv().unwrap(), step);
            allow.send(Ok(())).unwrap();
        }
        assert_eq!(stopping.join().unwrap(), Ok(()));
    }
}
