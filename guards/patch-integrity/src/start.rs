//! Where a text begins to be a patch.

use crate::lines::Lines;

/// The text, where its first line with anything on it begins a patch.
pub(crate) fn at_once(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['\u{feff}', '\n', '\r', ' ', '\t']);
    begins(&Lines::new(text)).then_some(text)
}

/// The text from where a patch begins in it.
pub(crate) fn within(text: &str) -> Option<&str> {
    let mut lines = Lines::new(text);
    let mut at = 0;
    loop {
        let line = lines.peek()?;
        if begins(&lines) {
            return text.get(at..);
        }
        lines.take();
        at += line.len() + 1;
    }
}

/// Whether a patch begins with these lines.
fn begins(lines: &Lines<'_>) -> bool {
    let mut lines = lines.clone();
    let first = lines.take().unwrap_or_default();
    let second = || lines.peek().unwrap_or_default();
    first.starts_with("diff --git ")
        || first.trim_end() == "*** Begin Patch"
        || is_mail(first)
        || (first.starts_with("--- ") && second().starts_with("+++ "))
        || (first.starts_with("*** ") && second().starts_with("--- "))
        || (first.starts_with("Index: ") && second().starts_with("======"))
        || (is_hunk(first) && second().starts_with([' ', '+', '-']))
}

/// `@@ -1,2 +3 @@`: a hunk that has no file above it.
fn is_hunk(line: &str) -> bool {
    line.starts_with("@@ -") && line.get(4..).is_some_and(|rest| rest.contains(" @@"))
}

/// `From 0123… Mon Sep 17 00:00:00 2001`.
fn is_mail(line: &str) -> bool {
    line.strip_prefix("From ")
        .and_then(|rest| rest.get(..40))
        .is_some_and(|id| id.bytes().all(|b| b.is_ascii_hexdigit()))
}
