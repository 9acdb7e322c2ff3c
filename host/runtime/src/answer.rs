//! Checks on what guests answer. A guest is not believed: its texts are made printable and cut, its lists are bounded, its
//! JSON is parsed strictly, and what makes no sense is a fault.

use chio_host_kernel::canonical::{self, Bounds, MAX_INTEGER, ParseError, clip, printable};
use chio_host_kernel::ports::{Fault, Stop};
use serde_json::Value;

use crate::limits::size;
use crate::run::Run;

/// The longest reason, in bytes.
pub(crate) const MAX_REASON: usize = 512;
/// The longest text that a tool tells its caller, in bytes.
pub(crate) const MAX_MESSAGE: usize = 4096;
/// The longest name of a counter or a kind, in bytes.
pub(crate) const MAX_LABEL: usize = 64;
/// The longest pointer, in bytes.
const MAX_POINTER: usize = 1024;

/// An answer that makes no sense.
pub(crate) fn nonsense(why: &str) -> Fault {
    Fault::new(Stop::Answer, &format!("its answer makes no sense: {why}"))
}

/// A reason for receipts and people: never empty.
pub(crate) fn reason(text: &str) -> String {
    let text = printable(text, MAX_REASON);
    if text.trim().is_empty() { "no reason given".to_owned() } else { text }
}

/// A text of several lines, each of them printable.
pub(crate) fn lines(text: &str, max: usize) -> String {
    let text = clip(text, max);
    text.split('\n').map(|line| printable(line.trim_end_matches('\r'), max)).collect::<Vec<_>>().join("\n")
}

/// An error of the guest's own.
pub(crate) fn error(text: &str) -> Fault {
    Fault::new(Stop::Error, &reason(text))
}

/// A short name: 1 to [`MAX_LABEL`] printable bytes.
pub(crate) fn label(text: &str) -> Result<(), Fault> {
    let is_one = !text.is_empty() && text.len() <= MAX_LABEL && printable(text, MAX_LABEL) == text;
    is_one.then_some(()).ok_or_else(|| nonsense("a name in it is empty, too long or not printable"))
}

/// A number that JSON can hold.
pub(crate) fn integer(number: u64) -> Result<u64, Fault> {
    (number <= MAX_INTEGER).then_some(number).ok_or_else(|| nonsense("a number in it is beyond 2^53 - 1"))
}

/// A list of at most `max` elements.
pub(crate) fn at_most<T>(list: &[T], max: usize, what: &str) -> Result<(), Fault> {
    (list.len() <= max)
        .then_some(())
        .ok_or_else(|| nonsense(&format!("{} {what}; at most {max} are taken", list.len())))
}

/// An RFC 6901 pointer.
pub(crate) fn pointer(text: &str) -> Result<(), Fault> {
    let has_escapes = |text: &str| text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    let is_one = (text.is_empty() || text.starts_with('/')) && text.len() <= MAX_POINTER && has_escapes(text);
    is_one.then_some(()).ok_or_else(|| nonsense("a secret argument is named by something that is no JSON pointer"))
}

/// JSON within the run's output limit.
pub(crate) fn json(text: &str, run: &Run<'_>) -> Result<Value, Fault> {
    let bounds = Bounds { bytes: size(run.limits.output_bytes), ..Bounds::OUTPUT };
    canonical::parse(text.as_bytes(), bounds).map_err(|error| match error {
        ParseError::TooLong { .. } => run.fault(Stop::OutputBytes, "its output is too long"),
        ParseError::Refused(why) => nonsense(&format!("its JSON is not acceptable: {why}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_made_harmless() {
        assert_eq!(reason("\u{1b}[31mno"), " [31mno");
        assert_eq!(reason(" \n"), "no reason given");
        assert_eq!(lines("a\r\nb\u{7}c", 100), "a\nb c");
        assert!(lines(&"x".repeat(100), 10).len() <= 10 + '…'.len_utf8());
    }

    #[test]
    fn a_pointer_is_one() {
        for good in ["", "/", "/a/0", "/a~1b~0"] {
            pointer(good).unwrap();
        }
        for bad in ["a", "/a~2", "/a~", "#/a"] {
            assert_eq!(pointer(bad).unwrap_err().stop, Stop::Answer, "{bad}");
        }
    }
}
