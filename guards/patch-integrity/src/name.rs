//! Names of files, as patches write them and as whoever applies them reads them.

use std::borrow::Cow;

use unseen_characters::is_plain_name;

/// What stands for no file.
pub(crate) const NO_FILE: &str = "/dev/null";

/// A name behind `---`, `+++` or another header: quotes undone, and whatever follows a tab left out.
pub(crate) fn read(text: &str) -> Cow<'_, str> {
    let text = text.strip_suffix('\r').unwrap_or(text);
    match text.strip_prefix('"') {
        Some(quoted) => Cow::Owned(unquoted(quoted).0),
        None => Cow::Borrowed(text.split('\t').next().unwrap_or_default().trim_end_matches(' ')),
    }
}

/// The two names of a `diff --git` line. Without quotes a space parts them, and only that they are alike says which.
pub(crate) fn pair(text: &str) -> Option<(String, String)> {
    let text = text.strip_suffix('\r').unwrap_or(text);
    if let Some(quoted) = text.strip_prefix('"') {
        let (first, behind) = unquoted(quoted);
        let second = behind.strip_prefix(' ')?;
        return Some((first, read(second).into_owned()));
    }
    if let Some((first, quoted)) = text.split_once(" \"") {
        return Some((first.to_owned(), unquoted(quoted).0));
    }
    let spaces = || text.match_indices(' ').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let alike = spaces().find(|(first, second)| without_prefix(first) == without_prefix(second));
    let only = || {
        let mut all = spaces();
        all.next().filter(|_| all.next().is_none())
    };
    alike.or_else(only).map(|(first, second)| (first.to_owned(), second.to_owned()))
}

/// Undoes the quotes of C, up to the one that ends them, and gives what is behind.
fn unquoted(text: &str) -> (String, &str) {
    let mut bytes = Vec::new();
    let mut rest = text.bytes().enumerate();
    let mut end = text.len();
    while let Some((at, byte)) = rest.next() {
        match byte {
            b'"' => {
                end = at + 1;
                break;
            }
            b'\\' => {
                let Some((at, escaped)) = rest.next() else { break };
                bytes.push(match escaped {
                    b'a' => 7,
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 11,
                    b'0'..=b'7' => {
                        let digits = text.get(at..).unwrap_or_default().bytes();
                        let digits: Vec<u8> =
                            digits.take(3).take_while(|digit| (b'0'..=b'7').contains(digit)).collect();
                        rest.by_ref().take(digits.len().saturating_sub(1)).for_each(drop);
                        digits.iter().fold(0_u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0'))
                    }
                    other => other,
                });
            }
            other => bytes.push(other),
        }
    }
    (String::from_utf8_lossy(&bytes).into_owned(), text.get(end..).unwrap_or_default())
}

/// A name without the first step that a patch puts before it: `a/`, `b/`, or what git's settings say.
pub(crate) fn without_prefix(name: &str) -> &str {
    ["a/", "b/", "c/", "i/", "o/", "w/"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// What is wrong with a name, whoever strips how many steps of it.
pub(crate) fn fault(name: &str) -> Option<&'static str> {
    let steps = || name.split('/');
    let drive = name.as_bytes();
    if name.is_empty() {
        Some("is empty")
    } else if !is_plain_name(name) {
        Some("has characters that nobody sees")
    } else if name.contains('\\') {
        Some("has a backslash, which some systems take for a slash")
    } else if name.starts_with('/') {
        Some("is absolute")
    } else if drive.get(1) == Some(&b':') && drive.first().is_some_and(u8::is_ascii_alphabetic) {
        Some("begins with a drive")
    } else if steps().any(|step| step.trim_end_matches(' ') == ".." || step == "~") {
        Some("leaves the tree")
    } else if steps().skip(1).any(str::is_empty) {
        Some("has an empty step, behind which it is absolute")
    } else if steps().any(is_git_folder) {
        Some("is a part of .git")
    } else {
        None
    }
}

/// `.git` in the spellings that the file systems of Windows and macOS take for it.
pub(crate) fn is_git_folder(step: &str) -> bool {
    let own = step.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    own.eq_ignore_ascii_case(".git") || own.eq_ignore_ascii_case("git~1")
}

/// Whether a link there leads somewhere in the tree. `name` is without its prefix.
pub(crate) fn stays(name: &str, target: &str) -> bool {
    if target.starts_with(['/', '\\', '~']) || target.contains([':', '\\', '\0']) || target.is_empty() {
        return false;
    }
    let mut depth = name.split('/').count() - 1;
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." if depth == 0 => return false,
            ".." => depth -= 1,
            step if is_git_folder(step) => return false,
            _ => depth += 1,
        }
    }
    true
}
