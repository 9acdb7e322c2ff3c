//! Where a text begins to be a patch.

use crate::envelope;
use crate::lines::{Lines, unindented};

/// The text, where its first line with anything on it begins a patch.
pub(crate) fn at_once(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['\u{feff}', '\n', '\r', ' ', '\t']);
    begins(&Lines::new(text)).then_some(text)
}

/// The text, as whoever was handed it as a patch reads it.
pub(crate) fn handed(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

/// Whether a patch begins with these lines.
fn begins(lines: &Lines<'_>) -> bool {
    let first = lines.peek().unwrap_or_default();
    // No text is read further that begins as no patch does.
    if !first.starts_with(['d', '*', '-', 'I', '@', 'F', 'c', '#', 'O', '<']) {
        return false;
    }
    let second = lines.second().unwrap_or_default();
    let (own, _) = unindented(second);
    first.starts_with("diff --git ")
        || first.trim_end() == "*** Begin Patch"
        || envelope::begins_file(first)
        || is_letter(lines)
        || (first.starts_with("diff ") && (own.starts_with("--- ") || own.starts_with("*** ")))
        || (first.starts_with("--- ") && own.starts_with("+++ "))
        || (first.starts_with("*** ") && own.starts_with("--- "))
        || (first.starts_with("Index: ") && own.starts_with("======"))
        || (first.starts_with("@@ -") && first.contains(" @@") && second.starts_with([' ', '+', '-']))
        || (first.starts_with("Only in ") && (own.starts_with("diff ") || own.starts_with("Only in ")))
        || (first.strip_prefix("commit ").is_some_and(is_commit) && second.contains(": "))
        || (first.starts_with("<<") && second.trim_end() == "*** Begin Patch")
}

/// Whether they begin a letter with a patch, or what Mercurial writes before one.
pub(crate) fn is_letter(lines: &Lines<'_>) -> bool {
    /// How far the subject may be from the top.
    const MAX_LINES: usize = 8;
    let first = lines.peek().unwrap_or_default();
    if first.starts_with("# HG changeset patch") || first.strip_prefix("From ").is_some_and(is_commit) {
        return true;
    }
    let mut ahead = lines.clone();
    first.starts_with("From: ")
        && (0..MAX_LINES).filter_map(|_| ahead.take()).any(|line| line.starts_with("Subject: [PATCH"))
}

/// `0123… Mon Sep 17 00:00:00 2001`.
fn is_commit(text: &str) -> bool {
    text.get(..40).is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
