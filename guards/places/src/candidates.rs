//! Which parts of a text may be paths.

use crate::spelling::split_at;

/// Characters that end a path inside a longer word (`--file=.env`, `@.env`, `host:.env`, `["a","b"]`).
pub(crate) const GLUE: &[u8] = b"=@:,;!|\"'`<>()[]{}&#?";

static IS_GLUE: [bool; 256] = {
    let mut is = [false; 256];
    let mut at = 0;
    while at < GLUE.len() {
        is[GLUE[at] as usize] = true;
        at += 1;
    }
    is
};

/// Whether a byte ends a path inside a longer word.
pub(crate) fn is_glue(byte: u8) -> bool {
    IS_GLUE[usize::from(byte)]
}

/// A text longer than this, in bytes, is not a path: no system opens one of a quarter of it.
const MAX_PATH_BYTES: usize = 16 << 10;

/// The paths in a text that is a path as a whole, or a word with a path glued to it, or JSON with strings that begin as
/// paths; none when it is prose.
///
/// Prose is what has white space and does not begin as a path does. A text that only mentions a path is not a
/// request to open it, and refusing it would refuse every conversation about security.
#[must_use]
pub fn path_like(text: &str) -> Vec<&str> {
    if text.bytes().all(|byte| byte.is_ascii_graphic()) && text.len() <= MAX_PATH_BYTES {
        // Most are one word.
        return if text.is_empty() || is_web_address(text) { Vec::new() } else { with_parts(text) };
    }
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    if text.is_empty() || text.len() > MAX_PATH_BYTES || is_web_address(text) {
        return Vec::new();
    }
    if !text.contains(char::is_whitespace) {
        return with_parts(text);
    }
    if begins_as_path(text) { vec![text] } else { strings(text).filter(|part| begins_as_path(part)).collect() }
}

/// The strings of an object or a list that is written in JSON; none of any other text.
pub(crate) fn strings(text: &str) -> impl Iterator<Item = &str> {
    let is_json = text.starts_with(['{', '[']) && text.ends_with(['}', ']']);
    let parts = is_json.then(|| text.split('"')).into_iter().flatten();
    // What stands between two strings is a colon, a comma or a bracket, and no path.
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// The paths anywhere in a text, at white space and at every character that ends one: for program text.
#[must_use]
pub fn anywhere(text: &str) -> Vec<&str> {
    text.split(char::is_whitespace).flat_map(with_parts).collect()
}

fn with_parts(word: &str) -> Vec<&str> {
    if is_expression(word) {
        return Vec::new();
    }
    let mut parts = vec![word];
    let glued = split_at(word, is_glue);
    parts.extend(glued.filter(|part| !part.is_empty() && part.len() < word.len()));
    parts
}

/// Whether a word is a regular expression that looks for dots (`process\.env\.`): two backslashes or more, and each of them
/// before a dot and after a letter. A path has other names in it as well, or climbs.
fn is_expression(word: &str) -> bool {
    let mut dots = 0;
    for (at, _) in word.match_indices('\\') {
        let before = word[..at].bytes().next_back().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !before || !word[at + 1..].starts_with('.') {
            return false;
        }
        dots += 1;
    }
    dots >= 2 && !word.contains('/')
}

fn begins_as_path(text: &str) -> bool {
    let slash = |c: char| matches!(c, '/' | '\\' | '\u{ff0f}' | '\u{ff3c}' | '\u{2215}' | '\u{2044}');
    let mut chars = text.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some(first), ..) if slash(first) || first == '~' || first == '%' || first == '\u{ff0e}' => true,
        (Some('.'), Some(second), _) if second == '.' || slash(second) => true,
        (Some(letter), Some(':'), Some(third)) if letter.is_ascii_alphabetic() => slash(third),
        _ => text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")),
    }
}

/// Whether this is an address on the web, whose path is on another machine. One that climbs is not let off: a tool that
/// takes it for a file name would end up elsewhere.
fn is_web_address(text: &str) -> bool {
    let has_scheme = ["http://", "https://", "ws://", "wss://"]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    has_scheme
        && crate::spelling::spellings(text).iter().all(|path| !path.from_root)
        && !text.contains("..")
        && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_has_no_paths() {
        assert!(path_like("never read /etc/shadow").is_empty());
        assert!(path_like("https://example.com/docs/server.pem").is_empty());
        assert!(path_like("{ \"text\": \"never read /etc/shadow\" }").is_empty());
        assert!(path_like(&"x".repeat(MAX_PATH_BYTES + 1)).is_empty());
    }

    #[test]
    fn an_expression_is_no_path() {
        for expression in [r"process\.env\.", r"import\.meta\.env"] {
            assert!(path_like(expression).is_empty(), "{expression}");
        }
        for path in [r"..\..\.env", r"config\.env", r"home\.aws\credentials", r"C:\.ssh\.env", r"a\.b\.env/x"] {
            assert!(!path_like(path).is_empty(), "{path}");
        }
    }

    #[test]
    fn a_word_has_itself_and_its_parts() {
        assert_eq!(path_like("--file=.env"), ["--file=.env", "--file", ".env"]);
        assert_eq!(path_like("/My Files/a"), ["/My Files/a"]);
        assert_eq!(path_like("{ \"n\": 1, \"path\": \"/My Files/a\" }"), ["/My Files/a"]);
        assert!(!path_like("https://x/../../etc/shadow").is_empty());
        assert!(anywhere("open('/etc/shadow').read()").contains(&"/etc/shadow"));
    }
}
