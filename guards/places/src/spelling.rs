//! One path, many spellings: what it may come to, in each way that a tool may read it.

use std::iter;

use unicode_normalization::UnicodeNormalization;

/// How often a percent-encoding is undone. Somebody who decodes twice is careless; three times is unheard of.
const DECODINGS: usize = 3;

/// A path as it is judged: folded names, without empty ones, `.`, and `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Its names, from the top.
    pub names: Vec<String>,
    /// Whether it starts at the root; a path that climbs out of where it starts may end there, so it counts too.
    pub from_root: bool,
}

/// Everything that `raw` may mean: as it is, percent-decoded, cut at a NUL as C would, with invisible characters dropped.
#[must_use]
pub fn spellings(raw: &str) -> Vec<Path> {
    let mut found = Vec::new();
    let mut text = raw.to_owned();
    for _ in 0..=DECODINGS {
        let mut add = |text: &str| {
            let path = normal(&fold(text));
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
    text.nfkc()
        .map(|c| match c {
            '\u{2044}' | '\u{2215}' | '\u{29f8}' => '/',
            '\u{2216}' | '\u{29f5}' | '\u{29f9}' => '\\',
            other => other,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Without control characters and those that are drawn as nothing.
fn visible(text: &str) -> String {
    text.chars()
        .filter(|c| {
            !c.is_control()
                && !matches!(c, '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
        })
        .collect()
}

/// Undoes one percent-encoding, also the overlong forms of dot and slash that strict decoders refuse and old ones take.
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
        match rest {
            [0xc0, 0xaf, tail @ ..] => {
                strict.push(b'/');
                rest = tail;
            }
            [0xc0, 0xae, tail @ ..] => {
                strict.push(b'.');
                rest = tail;
            }
            [0xc1, 0x9c, tail @ ..] => {
                strict.push(b'\\');
                rest = tail;
            }
            _ => {
                strict.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&strict).into_owned()
}

/// Splits at either slash and resolves `.` and `..` by name.
fn normal(text: &str) -> Path {
    let text = text.trim();
    let text = text.strip_prefix("file:").unwrap_or(text);
    let text = strip_drive(text);
    let mut from_root = text.starts_with(['/', '\\']);
    let mut names: Vec<String> = Vec::new();
    for name in text.split(['/', '\\']) {
        match windows_name(name) {
            "" | "." => {}
            ".." => {
                if names.pop().is_none() {
                    from_root = true;
                }
            }
            name => names.extend(iter::once(name.to_owned())),
        }
    }
    Path { names, from_root }
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
    let name = name.split_once("::$").map_or(name, |(name, _)| name);
    let name = name.trim_end_matches(' ');
    if name == "." || name == ".." { name } else { name.trim_end_matches(['.', ' ']) }
}

#[cfg(test)]
mod tests {
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
        assert!(names("a\0.txt").contains(&"a".into()));
        assert_eq!(names("\u{ff0f}etc\u{ff0f}\u{2025}\u{2215}x"), ["x"]);
        assert_eq!(names("id_rsa. "), ["id_rsa"]);
        assert_eq!(names(".env::$DATA"), [".env"]);
        assert_eq!(names("%"), ["%"]);
    }

    #[test]
    fn a_path_that_climbs_out_may_end_at_the_root() {
        assert!(spellings("a/../../b")[0].from_root);
        assert!(!spellings("a/../b")[0].from_root);
    }
}
