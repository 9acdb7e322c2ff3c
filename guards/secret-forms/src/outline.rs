//! What is worth a closer look in a text, found in one pass over its bytes.
//!
//! Most texts hold nothing of the kind. Each answer may be yes in vain and is never no in vain: what looks closer finds
//! nothing where this says no.

use crate::{assignment, encoded, table};

/// A closer look that may find something.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    /// [`crate::forms::find`], and [`crate::open::key_start`].
    Forms = 1,
    /// [`assignment::find`].
    Assignments = 2,
    /// [`json_scan::lenient`].
    Hidden = 4,
    /// [`encoded::readings`].
    Encoded = 8,
    /// [`encoded::pairs`].
    Pairs = 16,
}

/// Which looks to take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outline(u8);

/// Nothing that is looked for is shorter than a password in an address (`://:abcd@`).
const SHORTEST_BYTES: usize = 9;
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
        classes[at] = (if encoded::is_run(byte) { RUN } else { 0 })
            | (if byte.is_ascii_alphanumeric() { 0 } else { OTHER })
            | (if table::is_beginning(byte) { BEGINS } else { 0 })
            | (if matches!(byte, b':' | b'=' | b'@' | b'>' | b'-') || json_scan::may_hide(byte) { MARK } else { 0 });
        at += 1;
    }
    classes
};

impl Outline {
    /// Reads a text, word by word.
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut looks = Self::default();
        if bytes.len() < SHORTEST_BYTES {
            return looks;
        }
        let (mut has_address, mut has_at) = (false, false);
        let (mut at, mut run_start, mut pairs) = (0, 0, 0);
        let mut names = Names::default();
        loop {
            let start = at;
            while at < bytes.len() && CLASSES[usize::from(bytes[at])] & OTHER == 0 {
                at += 1;
            }
            if start < at {
                let word = &bytes[start..at];
                if CLASSES[usize::from(bytes[start])] & BEGINS != 0 {
                    looks.add(Look::Forms, || table::may_hold(&bytes[start..]));
                }
                if word.len() >= encoded::MIN_WORD_BYTES {
                    looks.add(Look::Encoded, || is_encoded(bytes, start, word));
                }
                pairs = if is_pair(word) { pairs + 1 } else { 0 };
                looks.add(Look::Pairs, || pairs >= encoded::MIN_PAIRS);
            }
            let Some(byte) = bytes.get(at) else { break };
            let class = CLASSES[usize::from(*byte)];
            if class & RUN == 0 {
                if at - run_start >= encoded::MIN_RUN_BYTES {
                    looks.add(Look::Encoded, || encoded::may_be_text(&bytes[run_start..]));
                }
                run_start = at + 1;
            }
            if class & BEGINS != 0 {
                looks.add(Look::Forms, || table::may_hold(&bytes[at..]));
            }
            if class & MARK != 0 {
                match byte {
                    b'@' => has_at = true,
                    b':' | b'=' => {
                        has_address |= bytes[at..].starts_with(b"://");
                        looks.add(Look::Forms, || bytes[at..].starts_with(b":AA"));
                        let end = names.end_before(bytes, at);
                        looks.add(Look::Assignments, || assignment::has_telling_name(text, end));
                    }
                    b'>' => looks.add(Look::Assignments, || assignment::is_telling_tag(text, at)),
                    b'-' => looks.add(Look::Assignments, || assignment::begins_telling_flag(text, at)),
                    _ => looks.add(Look::Hidden, || json_scan::hides_at(text, at)),
                }
            }
            at += 1;
        }
        looks.add(Look::Encoded, || encoded::may_be_text(&bytes[run_start..]));
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

fn is_encoded(bytes: &[u8], start: usize, word: &[u8]) -> bool {
    encoded::may_be_text(&bytes[start..])
        || encoded::is_hex_prefix(word) && bytes.get(start + 2..).is_some_and(encoded::may_be_text)
}

fn is_pair(word: &[u8]) -> bool {
    word.len() == 2 && word.iter().all(u8::is_ascii_hexdigit)
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
    use crate::{forms, open};

    /// Texts of what secrets are made of, and of what they are not.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            select(vec![
                "AKIAIOSFODNN7EXAMPLE",
                "ghp_aB3dE5fG7haB3dE5fG7haB3dE5fG7h123456",
                "sk-",
                "-----BEGIN ",
                "---- BEGIN SSH2 ",
                "eyJ",
                "hf_",
                "PRIVATE KEY-----",
                "MIIEvQIBADANBgkqhkiG9w0BAQ",
                "https://u:p4ss@host",
                "123456789:AAaB3dE5fG7haB3dE5fG7haB3dE5fG7h12",
                "://",
                "@",
                "password",
                "api_key",
                "--token",
                "<secret>",
                "token",
                "tokens",
                "=",
                ": ",
                "\": \"",
                "\\",
                "\\u0041",
                "\\x41",
                "&#65;",
                "%41",
                "%25",
                "%",
                "\u{200b}",
                "\u{ad}",
                "\u{e0041}",
                "Ａ",
                "é",
                "—",
                "hunter2!xyz",
                "aGVsbG8gd29ybGQsIHRoaXMgaXMgdGV4dA",
                "68656c6c6f20776f726c642c2074686973206973",
                "0x",
                "68 65 6c 6c 6f 20 77 6f 72 6c 64 ",
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB",
                "\0",
                "\n",
                "/",
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
            prop_assert!(outline.has(Look::Forms) || open::key_start(&text).is_none());
            prop_assert!(outline.has(Look::Assignments) || assignment::find(&text).is_empty());
            let is_short = text.len() < SHORTEST_BYTES;
            prop_assert!(is_short || outline.has(Look::Hidden) == json_scan::lenient(&text).is_some());
            prop_assert!(outline.has(Look::Encoded) || encoded::readings(&text).is_empty());
            prop_assert!(outline.has(Look::Pairs) || encoded::pairs(&text).is_empty());
        }
    }
}
