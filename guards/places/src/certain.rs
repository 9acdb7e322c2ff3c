//! Which parts of a text are paths and can be nothing else.

use crate::candidates::{is_glue, strings};
use crate::spelling::spellings;

/// A text longer than this, in bytes, is not a path: no system opens one of a quarter of it.
const MAX_PATH_BYTES: usize = 16 << 10;
/// A text with white space that is longer than this, in bytes, is not a path: it is prose.
const MAX_SPACED_BYTES: usize = 1 << 10;

/// Characters that end a URL inside a longer word.
const URL_ENDS: &[u8] = b",;|\"'`<>(){}[]";

/// The paths in a text that is a path as a whole, or a word with a path glued to it, or JSON with strings that are paths, as
/// far as each can be nothing else: an
/// absolute one, one of a home, one that climbs, one with a drive, a `file:` URL. Other URLs hold none.
///
/// A relative path that does not climb looks like any word, and stays below the folder that a tool starts in.
#[must_use]
pub fn certain_paths(text: &str) -> Vec<&str> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    if text.is_empty() || text.len() > MAX_PATH_BYTES {
        return Vec::new();
    }
    if text.contains(char::is_whitespace) {
        let is_short = |text: &&str| text.len() <= MAX_SPACED_BYTES && !text.contains('\n');
        let whole = Some(text).filter(|text| is_certain(text) && goes_deeper(text));
        // A document in JSON is full of relative paths that mean its own folder.
        let strings = strings(text).filter(|text| is_rooted(text) && (!text.contains(' ') || goes_deeper(text)));
        return whole.into_iter().chain(strings).filter(is_short).collect();
    }
    let has_sign = text.bytes().any(|byte| matches!(byte, b'/' | b'\\' | b'~' | b'%' | b':') || byte >= 0x80);
    if !has_sign && text != ".." {
        return Vec::new();
    }
    let mut found: Vec<&str> = parts(text).into_iter().filter(|part| is_certain(part)).collect();
    // The glue may be a part of the name.
    if !found.contains(&text) && !text.contains("://") && is_certain(text) {
        found.push(text);
    }
    found
}

/// The paths anywhere in the text of a program, as far as they are certain.
#[must_use]
pub fn certain_paths_anywhere(text: &str) -> Vec<&str> {
    let is_named = |path: &&str| path.bytes().any(|byte| byte.is_ascii_alphanumeric());
    text.split(char::is_whitespace).flat_map(parts).filter(|part| is_certain(part)).filter(is_named).collect()
}

/// The parts of a word, without the URLs in it.
fn parts(word: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let bytes = word.as_bytes();
    let (mut start, mut in_url) = (0, false);
    for at in 0..=bytes.len() {
        let byte = bytes.get(at).copied();
        if byte.is_some_and(|byte| !is_glue(byte)) {
            continue;
        }
        let part = word.get(start..at).unwrap_or_default();
        let is_scheme = byte == Some(b':') && word.get(at..).is_some_and(|rest| rest.starts_with("://"));
        if is_scheme && !in_url {
            in_url = true;
            if part.eq_ignore_ascii_case("file") {
                let end =
                    bytes[at..].iter().position(|byte| URL_ENDS.contains(byte)).map_or(bytes.len(), |end| at + end);
                found.extend(word.get(start..end));
            }
        } else if !in_url && !part.is_empty() {
            found.push(part);
        }
        if byte.is_some_and(|byte| URL_ENDS.contains(&byte)) {
            in_url = false;
        }
        start = at + 1;
    }
    found
}

fn is_certain(part: &str) -> bool {
    let is_file_url = || part.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    let climbs = || part.split(['/', '\\']).any(|name| name == "..");
    // What has to be decoded or folded first says what it is only then.
    let is_disguised = || part.bytes().any(|byte| byte == b'%' || byte >= 0x80);
    // A pattern is no path.
    !part.contains('^')
        && (is_rooted(part)
            || is_file_url()
            || climbs()
            || (is_disguised() && spellings(part).iter().any(|path| path.from_root)))
}

/// Whether a path says where it starts: at the root, in a home, on a drive or a share.
fn is_rooted(part: &str) -> bool {
    let is_slash = |byte: &u8| matches!(byte, b'/' | b'\\');
    match part.as_bytes() {
        [b'/', b'/', b' ', ..] | [b'/', b'*', ..] => false,
        [b'/', ..] | [b'~'] | [b'\\', b'\\', _, ..] => true,
        [b'~', rest @ ..] => {
            rest.iter().position(is_slash).is_some_and(|end| rest.iter().take(end).all(|byte| is_user(*byte)))
        }
        [letter, b':', slash, ..] if letter.is_ascii_alphabetic() => is_slash(slash),
        _ => part.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:/")),
    }
}

fn is_user(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// Whether a text with white space names something below what it begins with. `/help me` does not.
fn goes_deeper(text: &str) -> bool {
    text.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count() > 1 || !text.is_ascii()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_can_be_nothing_but_a_path() {
        for (text, expected) in [
            ("/etc/passwd", &["/etc/passwd"][..]),
            (" ~/x\n", &["~/x"]),
            ("~", &["~"]),
            ("~user/x", &["~user/x"]),
            ("..", &[".."]),
            ("a/../../b", &["a/../../b"]),
            ("..\\x", &["..\\x"]),
            ("C:\\x", &["C:\\x"]),
            ("\\\\server\\share", &["\\\\server\\share"]),
            ("file:///etc/passwd", &["file:///etc/passwd"]),
            ("--file=/etc/passwd", &["/etc/passwd"]),
            ("@/etc/passwd", &["/etc/passwd"]),
            ("/a,/b", &["/a", "/b", "/a,/b"]),
            ("{\"path\":\"/etc\"}", &["/etc"]),
            ("/My Files/x", &["/My Files/x"]),
            ("a/../../My Files/x", &["a/../../My Files/x"]),
            ("%2fetc%2fpasswd", &["%2fetc%2fpasswd"]),
            ("\u{ff0f}etc", &["\u{ff0f}etc"]),
            ("a/\u{ff0e}\u{ff0e}/\u{2025}/b", &["a/\u{ff0e}\u{ff0e}/\u{2025}/b"]),
            ("https://x/y,/etc", &["/etc"]),
            ("{ \"from\": \"a\",\n \"to\": [ \"/etc/x\" ] }", &["/etc/x"]),
        ] {
            assert_eq!(certain_paths(text), expected, "{text}");
        }
    }

    #[test]
    fn what_may_be_something_else() {
        for text in [
            "hello",
            "src/main.rs",
            ".env",
            "https://example.com/a/../b",
            "--url=https://example.com/etc",
            "s3://bucket/key",
            "never read /etc/shadow",
            "see ../other for more",
            "{ \"extends\": \"../tsconfig.json\", \"lib\": \"file:../lib\" }",
            "/help me",
            "// a comment",
            "/* a comment */",
            "/^a$/",
            "~5",
            "\\d+",
            "a:b",
            "50%",
            "HEAD~1",
            "a..b",
            "",
        ] {
            assert!(certain_paths(text).is_empty(), "{text}: {:?}", certain_paths(text));
        }
    }

    #[test]
    fn paths_in_a_program() {
        assert_eq!(certain_paths_anywhere("print(open('/etc/passwd').read()) / 2"), ["/etc/passwd"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[a./\\\\~%2:=,'\" \u{ff0f}\u{0}-]{0,30}|\\PC{0,20}") {
            let _ = (certain_paths(&text), certain_paths_anywhere(&text));
        }
    }
}
