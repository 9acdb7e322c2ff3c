//! One path, many spellings: what it may come to, in each way that a tool may read it.

use std::borrow::Cow;
use std::iter;

use unicode_normalization::UnicodeNormalization;

/// How often a percent-encoding is undone. Somebody who decodes twice is careless; three times is unheard of.
const DECODINGS: usize = 3;

/// A path as it is judged: folded names, without empty ones, `.`, and `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path<'a> {
    /// Its names, from the top.
    pub names: Vec<Cow<'a, str>>,
    /// Whether it starts at the root; a path that climbs out of where it starts may end there, so it counts too.
    pub from_root: bool,
}

impl Path<'_> {
    fn into_owned(self) -> Path<'static> {
        let names = self.names.into_iter().map(|name| Cow::Owned(name.into_owned())).collect();
        Path { names, from_root: self.from_root }
    }
}

/// Everything that `raw` may mean: as it is, percent-decoded, cut at a NUL as C would, with invisible characters dropped.
#[must_use]
pub fn spellings(raw: &str) -> Vec<Path<'_>> {
    match Letters::of(raw) {
        Letters::Lower => vec![normal(raw)],
        Letters::Mixed => vec![normal(&raw.to_ascii_lowercase()).into_owned()],
        Letters::Ambiguous => all_spellings(raw),
    }
}

/// What a text is made of.
#[derive(Clone, Copy)]
enum Letters {
    /// Printable ASCII without percent-encoding or capitals: what can be read in one way only.
    Lower,
    /// The same, but for its case.
    Mixed,
    /// Anything else.
    Ambiguous,
}

impl Letters {
    fn of(text: &str) -> Self {
        let mut found = Self::Lower;
        for byte in text.bytes() {
            match byte {
                b'A'..=b'Z' => found = Self::Mixed,
                b'%' => return Self::Ambiguous,
                b' '..=b'~' => {}
                _ => return Self::Ambiguous,
            }
        }
        found
    }
}

fn all_spellings(raw: &str) -> Vec<Path<'static>> {
    let mut found = Vec::new();
    let mut text = raw.to_owned();
    for _ in 0..=DECODINGS {
        let mut add = |text: &str| {
            let path = normal(&fold(text)).into_owned();
            if !found.contains(&path) {
                found.push(path);
            }
        };
        add(&visible(&text));
        if let Some((before, _)) = text.split_once('\0') {
            add(&visible(before));
        }
        let decoded = percent_decoded(&text);
        if decoded == text {
            break;
        }
        text = decoded;
    }
    found
}

/// Compatibility forms, other slashes and case made one.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkc()
        .map(|c| match c {
            '\u{2044}' | '\u{2215}' | '\u{29f8}' => '/',
            '\u{2216}' | '\u{29f5}' | '\u{29f9}' => '\\',
            other => other,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Without control characters and those that are drawn as nothing, which some file systems leave out of names.
fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && !is_ignorable(*c)).collect()
}

/// Unicode's `Default_Ignorable_Code_Point`.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Undoes one percent-encoding, also the overlong forms of ASCII that strict decoders refuse and old ones take.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let hex = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                // Two hexadecimal digits fit a byte.
                decoded.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    let mut strict = Vec::with_capacity(decoded.len());
    let mut rest = decoded.as_slice();
    while let [first, tail @ ..] = rest {
        // An ASCII character in two, three or four bytes.
        let (byte, tail) = match rest {
            [0xc0 | 0xc1, low @ 0x80..=0xbf, tail @ ..] => (*first << 6 | low & 0x3f, tail),
            [0xe0, high @ (0x80 | 0x81), low @ 0x80..=0xbf, tail @ ..]
            | [0xf0, 0x80, high @ (0x80 | 0x81), low @ 0x80..=0xbf, tail @ ..] => (*high << 6 | low & 0x3f, tail),
            _ => (*first, tail),
        };
        strict.push(byte);
        rest = tail;
    }
    String::from_utf8_lossy(&strict).into_owned()
}

/// Splits at either slash and resolves `.` and `..` by name.
fn normal(text: &str) -> Path<'_> {
    let text = text.trim();
    let text = text.strip_prefix("file:").unwrap_or(text);
    let text = strip_drive(text);
    let mut from_root = text.starts_with(['/', '\\']);
    let mut names = Vec::new();
    for name in split_at(text, |byte| matches!(byte, b'/' | b'\\')) {
        match windows_name(name) {
            "" | "." => {}
            ".." => {
                if names.pop().is_none() {
                    from_root = true;
                }
            }
            name => names.push(Cow::Borrowed(name)),
        }
    }
    Path { names, from_root }
}

/// Splits at ASCII characters, without reading the others.
pub(crate) fn split_at(text: &str, is_separator: impl Fn(u8) -> bool) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    iter::from_fn(move || {
        let text = rest?;
        let Some(at) = text.bytes().position(&is_separator) else { return rest.take() };
        rest = Some(&text[at + 1..]);
        Some(&text[..at])
    })
}

/// `c:\x` and `c:x` without the drive.
fn strip_drive(text: &str) -> &str {
    match text.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => &text[2..],
        _ => text,
    }
}

/// The name that Windows would open: without a stream, and without trailing dots and spaces.
fn windows_name(name: &str) -> &str {
    let has_colon = name.bytes().any(|byte| byte == b':');
    let name = if has_colon { name.split_once("::$").map_or(name, |(name, _)| name) } else { name };
    let name = name.trim_end_matches(' ');
    if name == "." || name == ".." { name } else { name.trim_end_matches(['.', ' ']) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(raw: &str) -> Vec<String> {
        spellings(raw).iter().map(|path| path.names.join("/")).collect()
    }

    #[test]
    fn each_reading_is_found() {
        assert_eq!(names("/a//b/./c/../d/"), ["a/b/d"]);
        assert_eq!(names("C:\\A\\b"), ["a/b"]);
        assert_eq!(names("file:///A"), ["a"]);
        assert!(names("a%252fb").contains(&"a/b".into()));
        assert!(names("..%c0%af..%c0%afetc").contains(&"etc".into()));
        assert!(names("%e0%80%aeenv").contains(&".env".into()));
        assert!(names("%f0%80%80%afa%f0%80%80%afb").contains(&"a/b".into()));
        assert_eq!(names("a\u{e0041}\u{3164}b"), ["ab"]);
        assert!(names("a\0.txt").contains(&"a".into()));
        assert_eq!(names("\u{ff0f}etc\u{ff0f}\u{2025}\u{2215}x"), ["x"]);
        assert_eq!(names("id_rsa. "), ["id_rsa"]);
        assert_eq!(names(".env::$DATA"), [".env"]);
        assert_eq!(names("%"), ["%"]);
    }

    proptest! {
        #[test]
        fn a_plain_text_has_one_spelling_and_it_is_the_same(
            text in r"[a-c.~/\\:$ A-C]{0,16}|(file:|C:)?[ -~]{0,24}|\PC{0,12}",
        ) {
            prop_assert_eq!(spellings(&text), all_spellings(&text));
        }

        #[test]
        fn folding_ascii_is_folding(text in "[\\x00-\\x7f]{0,24}") {
            prop_assert_eq!(fold(&text), text.nfkc().flat_map(char::to_lowercase).collect::<String>());
        }
    }

    #[test]
    fn a_path_that_climbs_out_may_end_at_the_root() {
        assert!(spellings("a/../../b")[0].from_root);
        assert!(!spellings("a/../b")[0].from_root);
    }
}
