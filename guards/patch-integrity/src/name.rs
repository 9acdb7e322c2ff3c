//! Names of files, as patches write them and as whoever applies them reads them.

use std::borrow::Cow;

use unseen_characters::is_plain_name;

/// What stands for no file.
pub(crate) const NO_FILE: &str = "/dev/null";

/// A name behind `---`, `+++` or another header: quotes undone, and whatever follows a tab left out.
pub(crate) fn read(text: &str) -> Cow<'_, str> {
    let text = text.strip_suffix('\r').unwrap_or(text).trim_start();
    match text.strip_prefix('"') {
        Some(quoted) => Cow::Owned(unquoted(quoted).0),
        None => Cow::Borrowed(text.split('\t').next().unwrap_or_default().trim_end_matches(' ')),
    }
}

/// The two names of a `diff --git` line. Without quotes a space parts them, and only that they are alike says which.
pub(crate) fn pair(text: &str) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let text = text.trim();
    if let Some(quoted) = text.strip_prefix('"') {
        let (first, behind) = unquoted(quoted);
        let second = behind.strip_prefix(' ')?;
        return Some((Cow::Owned(first), read(second)));
    }
    if let Some((first, quoted)) = text.split_once(" \"") {
        return Some((Cow::Borrowed(first.trim_end()), Cow::Owned(unquoted(quoted).0)));
    }
    let spaces = || text.match_indices(' ').map(|(at, _)| (text[..at].trim_end(), text[at + 1..].trim_start()));
    let alike = spaces().find(|(first, second)| without_prefix(first) == without_prefix(second));
    let only = || {
        let mut all = spaces();
        all.next().filter(|_| all.next().is_none())
    };
    alike.or_else(only).map(|(first, second)| (Cow::Borrowed(first), Cow::Borrowed(second)))
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
    const PREFIXES: &[&str] = &["a/", "b/", "c/", "i/", "o/", "w/", "1/", "2/", "old/", "new/"];
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// A name without steps that lead nowhere.
pub(crate) fn plain(name: &str) -> Cow<'_, str> {
    if !name.contains("./") {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.split('/').filter(|step| *step != ".").collect::<Vec<_>>().join("/"))
}

/// What is wrong with a name, whoever strips how many steps of it.
pub(crate) fn fault(name: &str) -> Option<&'static str> {
    let steps = || name.split('/');
    if name.is_empty() {
        Some("is empty")
    } else if !is_plain_name(name) {
        Some("has characters that nobody sees")
    } else if name.contains('\\') {
        Some("has a backslash, which some systems take for a slash")
    } else if name.starts_with('/') {
        Some("is absolute")
    } else if is_drive(name) || steps().any(|step| step.len() == 2 && is_drive(step)) {
        Some("begins with a drive")
    } else if steps().any(|step| step.trim() == ".." || step == "~") {
        Some("leaves the tree")
    } else if steps().skip(1).any(str::is_empty) {
        Some("has an empty step, behind which it is absolute")
    } else if steps().any(is_git_folder) {
        Some("is a part of .git")
    } else if other_spellings(name).iter().any(|other| other.split('/').any(|step| step == ".." || is_git_folder(step)))
    {
        Some("leaves the tree, or is a part of .git, once somebody decodes it")
    } else {
        None
    }
}

/// `C:`.
fn is_drive(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// A name as those read it who undo percent-encoding, or take characters for those that they look like.
fn other_spellings(name: &str) -> Vec<String> {
    let mut all = Vec::new();
    if !name.is_ascii() {
        all.push(name.chars().map(looks_like).collect());
    }
    if name.contains('%') {
        let mut bytes = Vec::new();
        let mut rest = name.as_bytes();
        while let [first, behind @ ..] = rest {
            let hex = |at: usize| behind.get(at).and_then(|digit| char::from(*digit).to_digit(16));
            if let (b'%', Some(high), Some(low)) = (first, hex(0), hex(1)) {
                bytes.extend(u8::try_from(high * 16 + low));
                rest = &behind[2..];
            } else {
                bytes.push(*first);
                rest = behind;
            }
        }
        all.push(String::from_utf8_lossy(&bytes).replace('\\', "/"));
    }
    all
}

fn looks_like(c: char) -> char {
    match c {
        '\u{2024}' | '\u{fe52}' => '.',
        '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{ff3c}' | '\u{2216}' | '\u{fe68}' | '\u{29f5}' => '/',
        // The full-width ones are ASCII, moved.
        '\u{ff01}'..='\u{ff5e}' => u8::try_from(u32::from(c) - 0xfee0).map_or(c, char::from),
        _ => c,
    }
}

/// A step without what Windows leaves out of it.
fn without_endings(step: &str) -> &str {
    step.split(':').next().unwrap_or_default().trim_end_matches(['.', ' '])
}

/// `.git` in the spellings that the file systems of Windows and macOS take for it.
fn is_git_folder(step: &str) -> bool {
    let own = without_endings(step);
    own.eq_ignore_ascii_case(".git") || own.eq_ignore_ascii_case("git~1")
}

/// Whether git reads settings from a file of this name, so that it refuses a link there.
pub(crate) fn is_settings_of_git(name: &str) -> bool {
    let last = without_endings(name.rsplit('/').next().unwrap_or_default());
    is_modules_file(name)
        || [".gitattributes", ".gitignore", ".mailmap"].iter().any(|own| last.eq_ignore_ascii_case(own))
}

/// `.gitmodules`, in the spellings that Windows takes for it.
pub(crate) fn is_modules_file(name: &str) -> bool {
    let last = without_endings(name.rsplit('/').next().unwrap_or_default()).to_ascii_lowercase();
    let short = last.strip_prefix("gitmod~").or_else(|| last.strip_prefix("gi7eba~"));
    last == ".gitmodules" || short.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Where a link leads.
pub(crate) struct Target {
    /// The place in the tree, without `.` and `..`.
    pub(crate) path: String,
    /// The folders that it enters and leaves again, in lower case.
    pub(crate) left: Vec<String>,
}

/// Where a link there leads, if that is in the tree. `name` is without its prefix.
pub(crate) fn target(name: &str, target: &str) -> Option<Target> {
    /// No system follows a longer one.
    const MAX_BYTES: usize = 4 << 10;
    let target = target.strip_suffix('\r').unwrap_or(target);
    let leads_away = target.starts_with(['/', '~']) || target.contains([':', '\\', '\0']);
    if leads_away || target.is_empty() || target.len() > MAX_BYTES {
        return None;
    }
    let mut steps: Vec<&str> = name.split('/').filter(|step| *step != ".").collect();
    steps.pop();
    let mut kept = steps.len();
    let mut left = Vec::new();
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                if steps.len() > kept {
                    left.push(steps.join("/").to_lowercase());
                }
                steps.pop()?;
                kept = kept.min(steps.len());
            }
            step if is_git_folder(step) => return None,
            step => steps.push(step),
        }
    }
    Some(Target { path: steps.join("/"), left })
}
