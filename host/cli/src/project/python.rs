//! A project in Python.

use super::files::{FileOf, source};
use super::wanted::Wanted;

/// The limits that a Python component needs beyond the host's own, in a policy's words: it has its interpreter with it.
pub(super) const LIMITS: &str = "component: 20MiB";
/// The component model's tools for Python.
const REQUIREMENTS: &str = include_str!("../../../../sdk/templates/python/requirements.txt");

pub(super) fn files(wanted: &Wanted) -> Vec<FileOf> {
    vec![("requirements.txt".to_owned(), REQUIREMENTS.to_owned()), ("app.py".to_owned(), source(wanted).to_owned())]
}
