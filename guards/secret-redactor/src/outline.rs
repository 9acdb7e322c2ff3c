//! What is worth a closer look in a text, found in one pass over its bytes.
//!
//! Most texts hold nothing of the kind. Each answer may be yes in vain and is never no in vain: what looks closer finds
//! nothing where this says no.

use crate::{assignment, decode, forms};

/// A closer look that may find something.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    /// [`forms::find`].
    Forms = 1,
    /// [`assignment::find`].
    Assignments = 2,
    /// [`decode::lenient`].
    Hidden = 4,
    /// [`decode::encoded_runs`].
    Encoded = 8,
}

/// Which looks to take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outline(u8);

/// A run of base64 goes on with it.
const RUN: u8 = 1;
/// It is no letter and no digit of ASCII.
const OTHER: u8 = 2;
/// A token may begin with it, unless a letter or a digit comes before it.
const BEGINS: u8 = 4;
/// It has to be looked at wherever it stands.
const MARK: u8 = 8;

static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut at = 0;
    while at < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "there are 256 bytes")]
        let byte = at as u8;
        classes[at] = (if decode::is_run(byte) { RUN } else { 0 })
            | (if byte.is_ascii_alphanumeric() { 0 } else { OTHER })
            | (if forms::may_begin(byte) { BEGINS } else { 0 })
            | (if matches!(byte, b':' | b'=' | b'@') || decode::may_hide(byte) { MARK } else { 0 });
        at += 1;
    }
    classes
};

impl Outline {
    /// Reads a text, word by word.
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut looks = Self::default();
        let (mut has_address, mut has_at) = (false, false);
        let (mut at, mut run_start) = (0, 0);
        let mut names = Names::default();
        loop {
            let start = at;
            while at < bytes.len() && CLASSES[usize::from(bytes[at])] & OTHER == 0 {
                at += 1;
            }
            if start < at && CLASSES[usize::from(bytes[start])] & BEGINS != 0 {
                looks.add(Look::Forms, || forms::begins(&bytes[start..]));
            }
            let Some(byte) = bytes.get(at) else { break };
            let class = CLASSES[usize::from(*byte)];
            if class & RUN == 0 {
                if at - run_start >= decode::MIN_RUN_BYTES {
                    looks.add(Look::Encoded, || decode::may_be_text(&bytes[run_start..at]));
                }
                run_start = at + 1;
            }
            if class & BEGINS != 0 && start == at {
                looks.add(Look::Forms, || forms::begins(&bytes[at..]));
            }
            if class & MARK != 0 {
                match byte {
                    b'@' => has_at = true,
                    b':' | b'=' => {
                        has_address |= bytes[at..].starts_with(b"://");
                        let end = names.end_before(bytes, at);
                        looks.add(Look::Assignments, || assignment::has_telling_name(text, end));
                    }
                    _ => looks.add(Look::Hidden, || decode::is_hidden(text, at)),
                }
            }
            at += 1;
        }
        looks.add(Look::Encoded, || decode::may_be_text(&bytes[run_start..]));
        looks.add(Look::Forms, || has_address && has_at);
        looks
    }

    /// Whether to take this look.
    pub(crate) fn has(self, look: Look) -> bool {
        self.0 & look as u8 != 0
    }

    fn add(&mut self, look: Look, is_worth_it: impl FnOnce() -> bool) {
        if !self.has(look) && is_worth_it() {
            self.0 |= look as u8;
        }
    }
}

/// Where the names before separators end.
#[derive(Default)]
struct Names {
    /// After the last separator that may itself stand between a name and another, and where the name before it ends:
    /// what was gone back over once is not gone back over again.
    known: Option<(usize, usize)>,
}

impl Names {
    fn end_before(&mut self, bytes: &[u8], separator: usize) -> usize {
        let stop = self.known.map_or(0, |(after, _)| after);
        let mut end = separator;
        while end > stop && assignment::is_between(bytes[end - 1]) {
            end -= 1;
        }
        let end = self.known.filter(|(after, _)| *after == end).map_or(end, |(_, name_end)| name_end);
        if assignment::is_between(bytes[separator]) {
            self.known = Some((separator + 1, end));
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// Texts of what secrets are made of, and of what they are not.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            select(vec![
                "AKIAIOSFODNN7EXAMPLE",
                "ghp_aB3dE5fG7haB3dE5fG7haB3dE5fG7h123456",
                "sk-",
                "-----BEGIN ",
                "eyJ",
                "hf_",
                "PRIVATE KEY-----",
                "https://u:p4ss@host",
                "://",
                "@",
                "password",
                "api_key",
                "token",
                "tokens",
                "=",
                ": ",
                "\": \"",
                "\\",
                "\\u0041",
                "%41",
                "%25",
                "%",
                "\u{200b}",
                "\u{ad}",
                "é",
                "—",
                "hunter2!xyz",
                "aGVsbG8gd29ybGQsIHRoaXMgaXMgdGV4dA",
                "68656c6c6f20776f726c642c2074686973206973",
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB",
                "\0",
                "\n",
                " ",
                "\u{7f}",
            ])
            .prop_map(str::to_owned),
            "[a-zA-Z0-9+/_-]{0,40}",
            "[ -~]{0,12}",
            any::<String>().prop_map(|text| text.chars().take(6).collect()),
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn nothing_is_found_where_the_outline_says_no(text in texts()) {
            let outline = Outline::of(&text);
            prop_assert!(outline.has(Look::Forms) || forms::find(&text).is_empty());
            prop_assert!(outline.has(Look::Assignments) || assignment::find(&text).is_empty());
            prop_assert_eq!(outline.has(Look::Hidden), decode::lenient(&text).is_some());
            prop_assert!(outline.has(Look::Encoded) || decode::encoded_runs(&text).is_empty());
        }
    }
}
