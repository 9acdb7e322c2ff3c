//! Where a policy expects secrets.

use serde::Deserialize;
use serde_json::Value;

/// The longest pointer, in bytes, and how many entries there may be.
const MAX_POINTER_BYTES: usize = 512;
const MAX_ENTRIES: usize = 256;

/// A place where a secret is expected. At least one of the three is given, and all that are given have to fit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    server: Option<String>,
    tool: Option<String>,
    /// A JSON pointer, with `*` for any one step; what stands below it is covered as well.
    at: Option<String>,
}

/// The entries for one tool.
#[derive(Debug)]
pub(crate) struct Expected {
    anywhere: bool,
    pointers: Vec<Vec<String>>,
}

impl Expected {
    /// Checks all entries, and keeps those for this tool.
    pub(crate) fn new(entries: &[Entry], server: &str, tool: &str) -> Result<Self, String> {
        if entries.len() > MAX_ENTRIES {
            return Err(format!("{} entries under `expected`; at most {MAX_ENTRIES} are taken", entries.len()));
        }
        let mut expected = Self { anywhere: false, pointers: Vec::new() };
        for entry in entries {
            if entry.server.is_none() && entry.tool.is_none() && entry.at.is_none() {
                return Err("an entry under `expected` is empty, which would expect secrets everywhere".to_owned());
            }
            let steps = entry.at.as_deref().map(steps).transpose()?;
            let is_for = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
            if is_for(&entry.server, server) && is_for(&entry.tool, tool) {
                match steps {
                    Some(steps) => expected.pointers.push(steps),
                    None => expected.anywhere = true,
                }
            }
        }
        Ok(expected)
    }

    /// Whether nothing names a place in the tool's arguments.
    pub(crate) fn is_nowhere(&self) -> bool {
        self.pointers.is_empty()
    }

    /// Whether a secret is expected at this pointer.
    pub(crate) fn covers(&self, at: &str) -> bool {
        let fits = |pattern: &[String]| {
            let mut steps = at.split('/').skip(1);
            pattern.iter().all(|wanted| steps.next().is_some_and(|step| fits(wanted, step)))
        };
        self.anywhere || self.pointers.iter().any(|pattern| fits(pattern))
    }

    /// The places in these arguments that the policy names: no receipt holds them, whatever they look like.
    pub(crate) fn places(&self, arguments: &Value) -> Vec<String> {
        let mut places = Vec::new();
        for pattern in &self.pointers {
            collect(pattern, arguments, &mut String::new(), &mut places);
        }
        places
    }
}

fn fits(wanted: &str, step: &str) -> bool {
    wanted == "*" || wanted == step
}

/// The steps of a pointer, escaped as they are written.
fn steps(pointer: &str) -> Result<Vec<String>, String> {
    let has_escapes = pointer.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if pointer.len() > MAX_POINTER_BYTES || !pointer.starts_with('/') || !has_escapes {
        let shown = chio_sdk::quote(pointer);
        return Err(format!("\"{shown}\" is not a place: it takes a JSON pointer, such as /credentials/token"));
    }
    Ok(pointer.split('/').skip(1).map(str::to_owned).collect())
}

/// The depth of the recursion is that of the pattern.
fn collect(pattern: &[String], value: &Value, at: &mut String, places: &mut Vec<String>) {
    let Some((wanted, rest)) = pattern.split_first() else {
        places.push(at.clone());
        return;
    };
    let mut step = |token: &str, value: &Value| {
        if fits(wanted, token) {
            let length = at.len();
            at.push('/');
            at.push_str(token);
            collect(rest, value, at, places);
            at.truncate(length);
        }
    };
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| step(&key.replace('~', "~0").replace('/', "~1"), value));
        }
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| step(&index.to_string(), value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expected(entries: &Value) -> Result<Expected, String> {
        let entries: Vec<Entry> = serde_json::from_value(entries.clone()).unwrap();
        Expected::new(&entries, "vault", "store")
    }

    #[test]
    fn a_pointer_covers_what_is_below_it() {
        let expected = expected(&json!([{ "server": "vault", "at": "/items/*/value" }])).unwrap();
        for (at, is) in [
            ("/items/0/value", true),
            ("/items/0/value/x", true),
            ("/items/0/valuex", false),
            ("/items/0", false),
            ("", false),
        ] {
            assert_eq!(expected.covers(at), is, "{at}");
        }
        let arguments = json!({ "items": [{ "value": 1 }, { "name": 2 }, { "value": { "x": 3 } }] });
        assert_eq!(expected.places(&arguments), ["/items/0/value", "/items/2/value"]);
    }

    #[test]
    fn an_entry_is_for_its_tool() {
        for (entry, is) in [
            (json!({ "server": "vault" }), true),
            (json!({ "server": "vault", "tool": "store" }), true),
            (json!({ "tool": "store" }), true),
            (json!({ "server": "vault", "tool": "read" }), false),
            (json!({ "server": "files" }), false),
        ] {
            assert_eq!(expected(&json!([entry])).unwrap().covers("/anything"), is, "{entry}");
        }
    }

    #[test]
    fn what_is_no_place_is_an_error() {
        for entries in [json!([{}]), json!([{ "at": "token" }]), json!([{ "at": "" }]), json!([{ "at": "/a~2" }])] {
            assert!(expected(&entries).is_err(), "{entries}");
        }
    }
}
