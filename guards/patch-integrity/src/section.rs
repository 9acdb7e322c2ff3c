//! What a patch says of one file.

use std::borrow::Cow;

use crate::mode::Mode;
use crate::name::{NO_FILE, without_prefix};

/// What a patch says of one file.
#[derive(Debug, Default)]
pub(crate) struct Section<'a> {
    /// The two names of `diff --git`.
    pub(crate) git: Option<(Cow<'a, str>, Cow<'a, str>)>,
    /// The names behind `---` and `+++`.
    pub(crate) old: Option<Cow<'a, str>>,
    pub(crate) new: Option<Cow<'a, str>>,
    /// Where it is moved or copied from, and to.
    pub(crate) from: Option<Cow<'a, str>>,
    pub(crate) to: Option<Cow<'a, str>>,
    /// Other names, which never have a prefix.
    pub(crate) bare: Vec<Cow<'a, str>>,
    /// Whether git's own header stands before it.
    pub(crate) is_git: bool,
    /// Whether it goes on with the file of the section before.
    pub(crate) goes_on: bool,
    /// The modes that it has afterwards.
    pub(crate) modes: Vec<Mode>,
    /// The mode that it keeps.
    pub(crate) kept: Option<Mode>,
    pub(crate) life: Life,
    pub(crate) is_binary: bool,
    pub(crate) hunks: usize,
    pub(crate) added: Vec<&'a str>,
    pub(crate) removed: usize,
    /// What is wrong with its form.
    pub(crate) fault: Option<&'static str>,
}

/// Whether there is a file before and after, as git's headers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Life {
    Begins,
    #[default]
    GoesOn,
    Ends,
}

impl Section<'_> {
    pub(crate) fn faulty(fault: &'static str) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// Its first fault is the one that counts.
    pub(crate) fn blame(&mut self, fault: &'static str) {
        self.fault = self.fault.or(Some(fault));
    }

    pub(crate) fn moves(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// Every name in it, as it stands there.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let git = self.git.iter().flat_map(|(first, second)| [first, second]);
        let all = git.chain(&self.old).chain(&self.new).chain(&self.from).chain(&self.to).chain(&self.bare);
        all.map(AsRef::as_ref).filter(|name| *name != NO_FILE)
    }

    /// The name that the file has afterwards, or had, where it goes.
    pub(crate) fn own_name(&self) -> &str {
        let headers = [self.new.as_deref(), self.old.as_deref(), self.git.as_ref().map(|(_, second)| second.as_ref())];
        let header = || headers.into_iter().flatten().find(|name| *name != NO_FILE).map(without_prefix);
        self.to.as_deref().or_else(header).or_else(|| self.bare.last().map(AsRef::as_ref)).unwrap_or_default()
    }
}
