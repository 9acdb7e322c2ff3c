//! One file per command.

pub(crate) mod approvals;
pub(crate) mod budget;
pub(crate) mod call;
pub(crate) mod capability;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod init;
pub(crate) mod plugin;
pub(crate) mod receipt;
pub(crate) mod recover;
pub(crate) mod revoke;
pub(crate) mod run;
mod target;
