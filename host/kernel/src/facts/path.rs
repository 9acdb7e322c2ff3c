//! Paths, normalised once for everybody.

/// A file path as the caller wrote it, and as the host reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFact {
    /// As it was sent.
    pub raw: String,
    /// See [`normalise`]; absent where two readers could disagree.
    pub normalised: Option<String>,
}

impl PathFact {
    /// The fact about a raw path.
    #[must_use]
    pub fn new(raw: &str) -> Self {
        Self { raw: raw.to_owned(), normalised: normalise(raw) }
    }
}

/// One spelling for each path: `/` between the steps, no `.`, no empty step, no trailing slash, and `..` only where a
/// relative path begins by leaving its folder. It is text alone: no disk is asked, so links are not followed.
///
/// Absent where what a tool will open depends on who reads: control characters, percent-encoded separators or dots,
/// look-alikes of `.`, `/` and `\` beyond ASCII, drive letters and device prefixes, a `..` above the root, or nothing.
#[must_use]
pub fn normalise(raw: &str) -> Option<String> {
    let path = raw.strip_prefix("file://").map_or(raw, |rest| rest.strip_prefix("localhost").unwrap_or(rest));
    if path.is_empty() || path.chars().any(is_ambiguous) || has_encoded_structure(path) {
        return None;
    }
    let path = path.replace('\\', "/");
    if is_windows(&path) {
        return None;
    }
    let absolute = path.starts_with('/');
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." if steps.last().is_some_and(|s| *s != "..") => {
                steps.pop();
            }
            ".." if absolute => return None,
            other => steps.push(other),
        }
    }
    let joined = steps.join("/");
    Some(match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    })
}

fn is_ambiguous(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{2024}' | '\u{2025}' | '\u{2026}' | '\u{fe52}' | '\u{ff0e}' | '\u{ff61}' // dots
            | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{ff0f}' // slashes
            | '\u{2216}' | '\u{29f5}' | '\u{29f9}' | '\u{fe68}' | '\u{ff3c}' // backslashes
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// `%2e`, `%2f`, `%5c`, `%25` or an encoded control character.
fn has_encoded_structure(path: &str) -> bool {
    path.as_bytes().windows(3).any(|w| {
        let digit = |b: u8| char::from(b).to_digit(16);
        match (w[0], digit(w[1]), digit(w[2])) {
            (b'%', Some(high), Some(low)) => {
                matches!(high * 16 + low, 0..=0x1f | 0x25 | 0x2e | 0x2f | 0x5c | 0x7f)
            }
            _ => false,
        }
    })
}

fn is_windows(path: &str) -> bool {
    let bytes = path.as_bytes();
    let drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    drive || path.starts_with("//?/") || path.starts_with("//./") || path.starts_with("/??/")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_spelling_for_each_path() {
        for (raw, want) in [
            ("/etc/shadow", "/etc/shadow"),
            ("/a/../etc//./shadow/", "/etc/shadow"),
            ("a/../../etc/shadow", "../etc/shadow"),
            ("./a", "a"),
            ("a/..", "."),
            ("/", "/"),
            ("~/.ssh", "~/.ssh"),
            (r"..\..\etc", "../../etc"),
            ("file:///etc/shadow", "/etc/shadow"),
            ("file://localhost/etc", "/etc"),
            ("100%/done", "100%/done"),
        ] {
            assert_eq!(normalise(raw).as_deref(), Some(want), "{raw}");
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_has_none() {
        for raw in [
            "",
            "a\0b",
            "a\nb",
            "%2e%2e/etc",
            "%2E./x",
            "a%2fb",
            "a%5cb",
            "%252e",
            "%00",
            "．．/etc",
            "a／b",
            r"C:\x",
            "c:x",
            r"\\?\C:\x",
            "/../etc",
            "/a/../../b",
            "a\u{200b}b",
        ] {
            assert_eq!(normalise(raw), None, "{raw:?}");
        }
    }

    proptest! {
        #[test]
        fn normalising_again_changes_nothing(raw in r"[a./\\~%2e]{0,24}") {
            if let Some(once) = normalise(&raw) {
                prop_assert_eq!(normalise(&once), Some(once.clone()));
                prop_assert!(!once.contains("//") && !once.contains("/./") && !once.contains("/../") || once.starts_with("../"));
            }
        }
    }
}
