//! What a guard answers.

use crate::{Decision, Pointer, Reservation, Verdict};

impl Verdict {
    /// The call may go on.
    #[must_use]
    pub fn allow() -> Self {
        Self::of(Decision::Allow(Vec::new()))
    }

    /// The call may go on if the host can take these claims on the guard's counters, all of them or none.
    #[must_use]
    pub fn allow_with(reservations: Vec<Reservation>) -> Self {
        Self::of(Decision::Allow(reservations))
    }

    /// The call stops. The caller reads the reason, so it says what was refused and why.
    #[must_use]
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::of(Decision::Deny(reason.into()))
    }

    /// The call waits for a human, who reads the reason.
    #[must_use]
    pub fn pending_approval(reason: impl Into<String>) -> Self {
        Self::of(Decision::PendingApproval(reason.into()))
    }

    /// What the receipt's evidence says of this guard.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// An argument that no receipt may hold, by its JSON pointer.
    #[must_use]
    pub fn with_secret_argument(mut self, at: impl Into<Pointer>) -> Self {
        self.secret_arguments.push(at.into());
        self
    }

    /// Whether the call may go on.
    #[must_use]
    pub fn is_allow(&self) -> bool {
        matches!(self.decision, Decision::Allow(_))
    }

    /// Whether the call stops.
    #[must_use]
    pub fn is_deny(&self) -> bool {
        matches!(self.decision, Decision::Deny(_))
    }

    /// Why the call stops or waits; empty for one that may go on.
    #[must_use]
    pub fn reason(&self) -> &str {
        match &self.decision {
            Decision::Allow(_) => "",
            Decision::Deny(reason) | Decision::PendingApproval(reason) => reason,
        }
    }

    fn of(decision: Decision) -> Self {
        Self { decision, details: None, secret_arguments: Vec::new() }
    }
}

/// The length a reason is cut to, in characters. The host has its own limit; this keeps a hostile argument from filling it.
const REASON_CHARS: usize = 160;

/// A text out of a call, made fit to be quoted in a reason: cut to 160 characters, with every control, format and line
/// separator character replaced, so that it neither fills a receipt nor rewrites a terminal.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut quoted: String =
        text.chars().take(REASON_CHARS).map(|c| if is_unprintable(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(REASON_CHARS).is_some() {
        quoted.push('…');
    }
    quoted
}

/// Controls, and the characters that are drawn as nothing or that change the direction of what follows.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_is_short_and_printable() {
        assert_eq!(quote("/etc/shadow"), "/etc/shadow");
        assert_eq!(quote("a\u{1b}[2Jb\n\u{202e}c"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}c");
        assert_eq!(quote(&"x".repeat(1 << 20)).chars().count(), REASON_CHARS + 1);
    }

    #[test]
    fn a_verdict_says_what_it_is() {
        let verdict = Verdict::pending_approval("large").with_details("d").with_secret_argument("/password");
        assert!(!verdict.is_allow() && !verdict.is_deny());
        assert_eq!((verdict.reason(), verdict.details.as_deref()), ("large", Some("d")));
        assert_eq!(verdict.secret_arguments, ["/password"]);
        assert!(Verdict::allow().is_allow());
    }
}
