//! Looking into a call.

use serde::de::DeserializeOwned;

use crate::{Call, Counter, FactKind};

impl Call {
    /// Reads the call's arguments.
    ///
    /// # Errors
    /// Says what does not fit `T`.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_str(&self.arguments).map_err(|error| format!("the arguments do not fit: {error}"))
    }

    /// The host's counter of this name and window; absent when this guard never reserved on it.
    #[must_use]
    pub fn counter(&self, name: &str, window_seconds: u64) -> Option<&Counter> {
        self.counters.iter().find(|counter| counter.name == name && counter.window_seconds == window_seconds)
    }
}

impl FactKind {
    /// The fact as the caller wrote it; an argument vector is joined by spaces, for quoting and not for judging.
    #[must_use]
    pub fn raw(&self) -> String {
        match self {
            Self::Path(path) => path.raw.clone(),
            Self::Url(url) => url.raw.clone(),
            Self::Command(crate::CommandFact::Line(line)) => line.clone(),
            Self::Command(crate::CommandFact::Words(words)) => words.join(" "),
            Self::Content(text) | Self::Text(text) | Self::Key(text) => text.clone(),
        }
    }
}
