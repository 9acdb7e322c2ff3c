//! stdout: data, for people or for programs. Nothing else is written there.

use std::io::Write;

use chio_host_kernel::canonical::printable;
use serde_json::Value;

use crate::args::Format;
use crate::error::CliError;

/// Writes a text to stdout as it is.
pub(crate) fn text(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CliError::Stdout)
}

/// Writes lines of `name: value`, the values in one column; or the same as one JSON object a line.
pub(crate) fn fields(format: Format, fields: &[(&str, Value)]) -> Result<(), CliError> {
    match format {
        Format::Human => {
            let lines = fields.iter().map(|(name, value)| {
                let value = shown(value);
                format!("{:<11} {value}\n", format!("{name}:"))
            });
            text(&lines.collect::<String>())
        }
        Format::Json => {
            let object = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            text(&format!("{}\n", Value::Object(object)))
        }
    }
}

/// A value for people. A text stands as it is, unless it holds something that a terminal would obey: then as JSON, without
/// that.
fn shown(value: &Value) -> String {
    match value.as_str() {
        Some(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => {
            let json = value.to_string();
            printable(&json, json.len())
        }
    }
}

/// Writes a JSON document: indented for people, on one line for programs.
pub(crate) fn document(format: Format, value: &Value) -> Result<(), CliError> {
    match format {
        Format::Human => text(&format!("{value:#}\n")),
        Format::Json => text(&format!("{value}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_given_no_orders() {
        assert_eq!(shown(&"plain, with ümlaut".into()), "plain, with ümlaut");
        let orders = shown(&"a\u{1b}[31m\nb\u{9b}31m".into());
        assert!(!orders.chars().any(char::is_control), "{orders}");
    }
}
