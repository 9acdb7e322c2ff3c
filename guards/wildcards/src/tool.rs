//! A server's tools, by their names.

use serde::Deserialize;
use unseen_characters::is_plain_name;

use crate::wildcard;

/// The longest name that the host takes, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// `{ server: files, tool: "read_*" }`. Both are written out, so that no rule is wider than it reads; upper and lower case
/// differ.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolPattern {
    /// The server's name.
    pub server: String,
    /// The tool's name.
    pub tool: String,
}

impl ToolPattern {
    /// Whether it stands for this tool of this server.
    #[must_use]
    pub fn matches(&self, server: &str, tool: &str) -> bool {
        wildcard(&self.server, server) && wildcard(&self.tool, tool)
    }

    /// Whether both names can be names at all.
    ///
    /// # Errors
    /// Says which is not, and why.
    pub fn validate(&self) -> Result<(), String> {
        for (what, name) in [("server", &self.server), ("tool", &self.tool)] {
            let why = if name.is_empty() {
                "it is empty"
            } else if name.len() > MAX_NAME_BYTES {
                "it is longer than 128 bytes, and no name is"
            } else if !is_plain_name(name) {
                "it holds a control character or one that nobody sees"
            } else {
                continue;
            };
            let shown: String = name.chars().take(40).filter(|c| is_plain_name(c.encode_utf8(&mut [0; 4]))).collect();
            return Err(format!("the {what} \"{shown}\" is no name: {why}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(server: &str, tool: &str) -> ToolPattern {
        ToolPattern { server: server.into(), tool: tool.into() }
    }

    #[test]
    fn both_names_have_to_match_as_a_whole() {
        assert!(pattern("files", "read_*").matches("files", "read_file"));
        assert!(pattern("*", "*").matches("any", "thing"));
        for (server, tool) in [("files2", "read_file"), ("Files", "read_file"), ("files", "xread_file")] {
            assert!(!pattern("files", "read_*").matches(server, tool), "{server} {tool}");
        }
    }

    #[test]
    fn a_name_that_is_none_is_an_error() {
        for name in ["", "a\u{7}", "a\u{200b}", &"x".repeat(129)] {
            assert!(pattern("s", name).validate().unwrap_err().contains("is no name"), "{name:?}");
            assert!(pattern(name, "t").validate().is_err());
        }
        assert!(pattern("s", "*").validate().is_ok());
    }

    #[test]
    fn both_names_are_needed() {
        for json in [r#"{"server":"s"}"#, r#"{"tool":"t"}"#, r#"{"server":"s","tool":"t","x":1}"#] {
            assert!(serde_json::from_str::<ToolPattern>(json).is_err(), "{json}");
        }
    }
}
