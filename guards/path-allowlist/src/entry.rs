//! The folders and patterns that a policy allows.

use chio_sdk::Call;
use secret_places::{Path, spellings};
use serde::Deserialize;
use wildcards::wildcard;

use crate::reading::{Reading, Root};

/// The longest path of an entry, in bytes.
const MAX_BYTES: usize = 1_024;
/// The most names of an entry: each is one bit of a set.
const MAX_STEPS: usize = 60;

/// One entry, as the policy has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// A folder or a file, with everything below it. `*` and `?` match within a name, `**` any names.
    path: String,
    /// What calls may do there.
    access: Access,
    /// Whose calls; absent for every server's.
    server: Option<String>,
    /// Which tool's; absent for every one.
    tool: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Access {
    Read,
    ReadWrite,
}

/// A tool, by name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tool {
    server: String,
    tool: String,
}

impl Tool {
    pub(crate) fn is_asked(&self, call: &Call) -> bool {
        self.server == call.server && self.tool == call.tool
    }
}

/// An entry, read.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// As the policy has it, for messages.
    pub(crate) text: String,
    pub(crate) may_write: bool,
    root: Root,
    steps: Vec<String>,
    /// The same, as spellings are compared.
    folded: Vec<String>,
}

impl Entry {
    pub(crate) fn is_for(&self, call: &Call) -> bool {
        self.server.as_ref().is_none_or(|server| *server == call.server)
            && self.tool.as_ref().is_none_or(|tool| *tool == call.tool)
    }

    pub(crate) fn read(&self) -> Result<Place, String> {
        let bad = |why: &str| Err(format!("allow: \"{}\" is not a path: {why}", chio_sdk::quote(&self.path)));
        let text = self.path.as_str();
        if text.is_empty() || text.len() > MAX_BYTES {
            return bad("it is empty or longer than 1024 bytes");
        }
        if text.contains(['[', ']', '{', '}', '\\']) {
            return bad(
                "only `*` and `?` are special in it, and `[`, `{` and `\\` are refused lest they be taken for it",
            );
        }
        if text.split('/').any(|name| name == "..") {
            return bad("it climbs");
        }
        if text.split('/').any(|name| name != "**" && name.contains("**")) {
            return bad("`**` stands for whole names alone");
        }
        let Ok(reading) = Reading::of(text) else { return bad("it has a drive or a control character") };
        if reading.names.len() > MAX_STEPS {
            return bad("it has more than 60 names");
        }
        Ok(Place {
            text: self.path.clone(),
            may_write: self.access == Access::ReadWrite,
            root: reading.root,
            folded: reading.names.iter().map(|name| folded(name)).collect(),
            steps: reading.names.into_iter().map(str::to_owned).collect(),
        })
    }
}

/// A name as spellings have it.
fn folded(name: &str) -> String {
    let spelt = spellings(name);
    // A name has no slash in it, so that its first spelling is one name.
    spelt.first().and_then(|path| path.names.first()).map_or_else(|| name.to_owned(), ToString::to_string)
}

impl Place {
    /// Whether the path is this one or below it, letter by letter.
    pub(crate) fn holds(&self, path: &Reading<'_>) -> bool {
        self.root == path.root && begins(&self.steps, path.names.iter().copied())
    }

    /// Whether a spelling of a path that has a reading is this one or below it. Case and composition count for nothing
    /// here: what they are was compared before.
    pub(crate) fn holds_spelling(&self, path: &Path<'_>) -> bool {
        let mut names = path.names.iter().map(AsRef::as_ref).peekable();
        let root = match names.peek() {
            _ if path.from_root => Root::Top,
            Some(&"~") => Root::Home,
            Some(name) if name.starts_with('~') => Root::HomeOf,
            _ => Root::Tool,
        };
        if root == Root::Home {
            names.next();
        }
        self.root == root && begins(&self.folded, names)
    }
}

/// Whether the names begin with what the steps match. The set of the steps that may be next has a bit for each.
fn begins<'a>(steps: &[String], names: impl Iterator<Item = &'a str>) -> bool {
    let is_any = |step: usize| steps.get(step).is_some_and(|step| step == "**");
    // `**` may be no name at all.
    let with_skips = |mut set: u64| {
        for step in 0..steps.len() {
            if set & 1 << step != 0 && is_any(step) {
                set |= 1 << (step + 1);
            }
        }
        set
    };
    let end = 1_u64 << steps.len();
    let mut set = with_skips(1);
    for name in names {
        if set & end != 0 {
            return true;
        }
        let mut next = 0;
        for (at, step) in steps.iter().enumerate() {
            if set & 1 << at == 0 {
                continue;
            }
            if is_any(at) {
                next |= 1 << at;
            } else if wildcard(step, name) {
                next |= 1 << (at + 1);
            }
        }
        set = with_skips(next);
    }
    set & end != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Result<Place, String> {
        Entry { path: path.to_owned(), access: Access::Read, server: None, tool: None }.read()
    }

    fn holds(entry: &str, path: &str) -> bool {
        let place = place(entry).unwrap();
        let exact = place.holds(&Reading::of(path).unwrap());
        let spelt = spellings(path).iter().all(|path| place.holds_spelling(path));
        assert_eq!(exact, spelt, "{entry} {path}");
        exact
    }

    #[test]
    fn folders_end_at_boundaries() {
        for (entry, path) in [
            ("/data", "/data"),
            ("/data/", "/data/a/b"),
            ("/", "/x"),
            (".", "x/y"),
            ("./src", "src/x"),
            ("~/work", "~/work/x"),
            ("~", "~/x"),
            ("/home/*/work", "/home/ann/work/x"),
            ("/data/*.csv", "/data/a.csv"),
            ("/data/**/*.md", "/data/a/b/c.md"),
            ("/data/**/*.md", "/data/c.md"),
            ("**/docs", "a/b/docs/c"),
            ("/data/**", "/data"),
            ("/x?", "/xy/z"),
            ("/Caf\u{e9}", "/Caf\u{e9}/x"),
        ] {
            assert!(holds(entry, path), "{entry} {path}");
        }
        for (entry, path) in [
            ("/data", "/data-evil/x"),
            ("/data", "/dat"),
            ("/data", "data"),
            ("/data", "/x/data"),
            ("data", "/data"),
            (".", "/x"),
            (".", "~/x"),
            ("~/work", "~/other"),
            ("~", "~root/x"),
            ("/data/*.csv", "/data/a/b.csv"),
            ("/data/**/*.md", "/data/a/b.txt"),
            ("/x?", "/x"),
        ] {
            assert!(!holds(entry, path), "{entry} {path}");
        }
    }

    #[test]
    fn letters_count() {
        let place = place("/Data").unwrap();
        assert!(place.holds(&Reading::of("/Data/x").unwrap()) && !place.holds(&Reading::of("/data/x").unwrap()));
    }

    #[test]
    fn what_is_no_entry_says_why() {
        for path in ["", "../x", "/a/../b", "C:\\x", "/a[b]", "/{a,b}", "a\0b", "/a/b**", &"a/".repeat(70)] {
            assert!(place(path).is_err_and(|why| why.contains("is not a path")), "{path}");
        }
    }
}
