//! A payment provider in the test's own process, which keeps books of its own and fails as it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chio_host_kernel::operation::{Component, Role};
use chio_host_kernel::ports::{BoxFuture, Payment, PaymentRail, RailError};

use crate::native::pause;

/// How a provider behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// It does what it is asked.
    Works,
    /// It refuses, and does nothing.
    Refuses,
    /// It does it, and its answer is lost.
    Mumbles,
    /// It does nothing, and its answer is lost.
    Sleeps,
}

/// What a provider's books say of one reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Set aside, in minor units.
    pub authorized: u64,
    /// Taken.
    pub captured: u64,
    /// How often it was taken: once, however often it was asked for.
    pub captures: u32,
}

/// Books as they are written: by reference, what is authorized, what is captured, and how often it was.
type Written = BTreeMap<String, (u64, u64, u32)>;

/// A provider.
pub struct TestRail {
    component: Component,
    books: Mutex<BTreeMap<String, Entry>>,
    moods: Mutex<BTreeMap<&'static str, Vec<Mood>>>,
    released: Mutex<BTreeSet<String>>,
    /// Where its books outlive this process.
    path: Option<PathBuf>,
}

impl TestRail {
    /// One whose books are in this file, which need not be there yet.
    ///
    /// # Panics
    /// The file is not what was written.
    #[must_use]
    pub fn at(name: &str, path: PathBuf) -> Arc<Self> {
        let mut rail = Arc::into_inner(Self::new(name)).expect("nobody else has it yet");
        for line in std::fs::read_to_string(&path).unwrap_or_default().lines() {
            let (books, released): (Written, BTreeSet<String>) = serde_json::from_str(line).expect("its books read");
            let entry = |(authorized, captured, captures)| Entry { authorized, captured, captures };
            rail.books = Mutex::new(books.into_iter().map(|(k, v)| (k, entry(v))).collect());
            rail.released = Mutex::new(released);
        }
        Arc::new(Self { path: Some(path), ..rail })
    }

    fn write(&self) {
        let Some(path) = &self.path else { return };
        let books: Written =
            lock(&self.books).iter().map(|(k, e)| (k.clone(), (e.authorized, e.captured, e.captures))).collect();
        let line = serde_json::to_string(&(books, &*lock(&self.released))).expect("plain data");
        let unfinished = path.with_extension("new");
        std::fs::write(&unfinished, line + "\n").and_then(|()| std::fs::rename(&unfinished, path)).expect("its books");
    }

    /// One that works.
    #[must_use]
    pub fn new(name: &str) -> Arc<Self> {
        let component = Component { role: Role::Rail, name: name.to_owned(), digest: "00".repeat(32) };
        Arc::new(Self {
            component,
            books: Mutex::default(),
            moods: Mutex::default(),
            released: Mutex::default(),
            path: None,
        })
    }

    /// How it behaves when `verb` is asked next, and after that; then it works.
    pub fn will(&self, verb: &'static str, moods: &[Mood]) {
        lock(&self.moods).insert(verb, moods.to_vec());
    }

    /// What its books say.
    pub fn entries(&self) -> Vec<Entry> {
        lock(&self.books).values().copied().collect()
    }

    /// Does something as its mood is.
    fn act<T>(&self, verb: &'static str, work: impl FnOnce() -> T) -> Result<T, RailError> {
        let mood = lock(&self.moods).get_mut(verb).filter(|m| !m.is_empty()).map_or(Mood::Works, |m| m.remove(0));
        let work = || {
            let done = work();
            self.write();
            done
        };
        match mood {
            Mood::Works => Ok(work()),
            Mood::Refuses => Err(RailError::Definite("insufficient funds".to_owned())),
            Mood::Mumbles => {
                work();
                Err(RailError::Ambiguous("the line went dead".to_owned()))
            }
            Mood::Sleeps => Err(RailError::Ambiguous("nobody answers".to_owned())),
        }
    }
}

impl PaymentRail for TestRail {
    fn component(&self) -> &Component {
        &self.component
    }

    fn authorize<'a>(&'a self, payment: &'a Payment) -> BoxFuture<'a, Result<String, RailError>> {
        Box::pin(async {
            pause(1).await;
            self.act("authorize", || {
                let mut books = lock(&self.books);
                let entry = books.entry(payment.reference.clone()).or_default();
                if entry.captures == 0 && !lock(&self.released).contains(&payment.reference) {
                    entry.authorized = payment.amount.units;
                }
                format!("auth-{}", payment.reference)
            })
        })
    }

    fn capture<'a>(&'a self, authorization: &'a str, payment: &'a Payment) -> BoxFuture<'a, Result<String, RailError>> {
        Box::pin(async move {
            pause(1).await;
            assert_eq!(authorization, format!("auth-{}", payment.reference));
            self.act("capture", || {
                let mut books = lock(&self.books);
                let entry = books.entry(payment.reference.clone()).or_default();
                if entry.captures == 0 {
                    assert!(payment.amount.units <= entry.authorized, "more than was authorized");
                    *entry = Entry { authorized: 0, captured: payment.amount.units, captures: 1 };
                }
                format!("capture-{}", payment.reference)
            })
        })
    }

    fn release<'a>(&'a self, _authorization: &'a str, reference: &'a str) -> BoxFuture<'a, Result<(), RailError>> {
        Box::pin(async move {
            pause(1).await;
            self.act("release", || {
                lock(&self.released).insert(reference.to_owned());
                if let Some(entry) = lock(&self.books).get_mut(reference) {
                    entry.authorized = 0;
                }
            })
        })
    }

    fn refund<'a>(&'a self, _capture: &'a str, payment: &'a Payment) -> BoxFuture<'a, Result<String, RailError>> {
        Box::pin(async {
            self.act("refund", || {
                if let Some(entry) = lock(&self.books).get_mut(&payment.reference) {
                    entry.captured = entry.captured.saturating_sub(payment.amount.units);
                }
                format!("refund-{}", payment.reference)
            })
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
