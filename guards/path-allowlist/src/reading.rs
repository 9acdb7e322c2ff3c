//! What a path says, letter by letter.

/// Where a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// The root of the file system.
    Top,
    /// The home of whoever runs the tool: `~`.
    Home,
    /// Somebody else's, who is the first name: `~ann`.
    HomeOf,
    /// The folder that the tool starts in.
    Tool,
}

/// A path: its names from where it starts, without `.`, empty ones and `..`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading<'a> {
    pub(crate) root: Root,
    pub(crate) names: Vec<&'a str>,
}

/// Why a path has no reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It climbs out of where it starts.
    Climbs,
    /// Its meaning depends on who reads it: a drive, a device, control characters.
    Ambiguous,
}

impl<'a> Reading<'a> {
    /// Reads a path of whatever system.
    pub(crate) fn of(path: &'a str) -> Result<Self, Unread> {
        let path = without_scheme(path);
        let is_drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
        let is_device = [r"\\?\", r"\\.\", r"\??\", "//?/", "//./"].iter().any(|prefix| path.starts_with(prefix));
        if is_drive || is_device || path.chars().any(char::is_control) {
            return Err(Unread::Ambiguous);
        }
        let mut root = if path.starts_with(['/', '\\']) { Root::Top } else { Root::Tool };
        let mut names = Vec::new();
        for (at, name) in path.split(['/', '\\']).enumerate() {
            match name {
                "" | "." => {}
                ".." if names.pop().is_some() => {}
                ".." => return Err(Unread::Climbs),
                home if at == 0 && home.starts_with('~') => {
                    root = if home == "~" { Root::Home } else { Root::HomeOf };
                    names.extend(Some(home).filter(|home| *home != "~"));
                }
                name => names.push(name),
            }
        }
        Ok(Self { root, names })
    }
}

/// A `file:` URL of this machine as the path in it.
pub(crate) fn without_scheme(path: &str) -> &str {
    let is_file = path.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    let Some(rest) = path.get(5..).filter(|_| is_file) else { return path };
    match rest.strip_prefix("//") {
        Some(authority) => {
            authority.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or_else(|| {
                // What stands before the path is another machine, which two slashes at the beginning say as well.
                if authority.starts_with('/') { authority } else { rest }
            })
        }
        None => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> String {
        match Reading::of(path) {
            Ok(reading) => format!("{:?} {}", reading.root, reading.names.join("/")),
            Err(why) => format!("{why:?}"),
        }
    }

    #[test]
    fn each_path_has_one_reading_or_none() {
        for (path, expected) in [
            ("/a//b/./c/../d/", "Top a/b/d"),
            ("a\\b", "Tool a/b"),
            (".", "Tool "),
            ("/", "Top "),
            ("~/x", "Home x"),
            ("~", "Home "),
            ("~ann/x", "HomeOf ~ann/x"),
            ("a/~", "Tool a/~"),
            ("~/../x", "Climbs"),
            ("../x", "Climbs"),
            ("/../x", "Climbs"),
            ("a/../../x", "Climbs"),
            ("C:\\x", "Ambiguous"),
            ("c:x", "Ambiguous"),
            ("\\\\?\\x", "Ambiguous"),
            ("a\0b", "Ambiguous"),
            ("\\\\server\\share", "Top server/share"),
            ("file:///a/b", "Top a/b"),
            ("FILE://localhost/a", "Top a"),
            ("file:/a", "Top a"),
            ("file://server/a", "Top server/a"),
        ] {
            assert_eq!(read(path), expected, "{path}");
        }
    }
}
