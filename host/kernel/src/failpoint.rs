//! Named points at which a test may stop, panic or kill a call. Release builds carry none: the names are there, and nothing
//! looks at them.

/// What happens at a failpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Continue,
    /// The call panics.
    Panic,
    /// The call waits for ever, until it is dropped or its process killed. What was only buffered is not on the disk.
    Hang,
    /// Everything that was applied gets to the disk, and then the point is asked once more.
    Sync,
}

/// The failpoints of the mediated call and of recovery, in the order in which they are passed.
pub const NAMES: [&str; 13] = [
    "record.before",
    "record.after",
    "hold.after",
    "authorize.after",
    "commit.before",
    "commit.after",
    "tool.after",
    "hooks.after",
    "finalizing.after",
    "close.before",
    "close.after",
    "recover.claimed",
    "recover.closed",
];

/// Those that only calls pass which wait for a human, or are paid through a rail.
pub const OF_OTHERS: [&str; 5] = ["park.before", "park.after", "decide.before", "decide.after", "payment.after"];

/// Asks a test what to do at each point. By default nothing is asked.
#[derive(Clone, Default)]
pub struct Failpoints {
    #[cfg(debug_assertions)]
    ask: Option<std::sync::Arc<dyn Fn(&'static str) -> Action + Send + Sync>>,
}

impl Failpoints {
    /// Asks `ask`, in builds with debug assertions.
    #[must_use]
    pub fn new(ask: impl Fn(&'static str) -> Action + Send + Sync + 'static) -> Self {
        #[cfg(debug_assertions)]
        return Self { ask: Some(std::sync::Arc::new(ask)) };
        #[cfg(not(debug_assertions))]
        {
            drop(ask);
            Self::default()
        }
    }

    /// What to do here.
    #[must_use]
    pub fn ask(&self, name: &'static str) -> Action {
        #[cfg(debug_assertions)]
        if let Some(ask) = &self.ask {
            return ask(name);
        }
        let _ = name;
        Action::Continue
    }
}

impl std::fmt::Debug for Failpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Failpoints")
    }
}
