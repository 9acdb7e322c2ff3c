//! What statements do, in a few classes that a policy can name.

use serde::Deserialize;

/// What a statement does.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Class {
    /// It reads: select, show, explain, describe.
    Read,
    /// It changes rows: insert, merge, and update and delete with a condition.
    Write,
    /// It changes every row: update or delete without a condition, or with one that is always true.
    Unbounded,
    /// It makes or changes definitions: create, alter, comment, and drop of what holds no data.
    Define,
    /// It loses data for good: drop of a table, schema or database, of a column or partition, and truncate.
    Destroy,
    /// It changes who may do what: grant, revoke, roles, users, policies, and settings of the whole server.
    Control,
    /// It reads or writes files, or another server.
    File,
    /// It runs something that nobody sees here: call, execute, extensions, untrusted languages.
    Program,
    /// It concerns the session alone: begin, commit, set, use, vacuum.
    Session,
    /// Several statements in one string, unless they are a migration.
    Several,
    /// Anything else.
    Other,
}

impl Class {
    pub(crate) const ALL: &[Self] = &[
        Self::Read,
        Self::Write,
        Self::Unbounded,
        Self::Define,
        Self::Destroy,
        Self::Control,
        Self::File,
        Self::Program,
        Self::Session,
        Self::Several,
        Self::Other,
    ];
    /// What a policy that says nothing allows.
    pub(crate) const USUAL: &[Self] = &[Self::Read, Self::Write, Self::Define, Self::Session];

    /// As a policy writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Unbounded => "unbounded",
            Self::Define => "define",
            Self::Destroy => "destroy",
            Self::Control => "control",
            Self::File => "file",
            Self::Program => "program",
            Self::Session => "session",
            Self::Several => "several",
            Self::Other => "other",
        }
    }
}

/// A class, and what about the statement put it there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Deed {
    pub(crate) class: Class,
    /// As in "it drops a table".
    pub(crate) what: &'static str,
}

impl Deed {
    pub(crate) const fn new(class: Class, what: &'static str) -> Self {
        Self { class, what }
    }
}
