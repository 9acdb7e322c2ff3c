//! stdout: data, for people or for programs. Nothing else is written there.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use chio_host_kernel::canonical::printable;
use chio_host_kernel::keys::PublicKey;
use serde_json::{Value, json};

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
            let width = fields.iter().map(|(name, _)| name.len() + 1).max().unwrap_or(0).max(11);
            let lines = fields.iter().map(|(name, value)| {
                let value = shown(value);
                format!("{:<width$} {value}\n", format!("{name}:"))
            });
            text(&lines.collect::<String>())
        }
        Format::Json => {
            let object = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            text(&format!("{}\n", Value::Object(object)))
        }
    }
}

/// Those of an answer's values that are there, in this order.
pub(crate) fn those<'n>(answer: &Value, names: &[&'n str]) -> Vec<(&'n str, Value)> {
    names.iter().filter_map(|name| Some((*name, answer.get(*name)?.clone()))).collect()
}

/// What a receipt that was answered decides.
pub(crate) fn verdict(answer: &Value) -> (&'static str, Value) {
    ("verdict", json!(answer["verdict"].as_str().unwrap_or_default().to_uppercase()))
}

/// The id of a receipt that was answered.
pub(crate) fn receipt_id(answer: &Value) -> (&'static str, Value) {
    ("receipt_id", answer["receipt_id"].clone())
}

/// Writes rows of cells, the cells in columns. What a terminal would obey is not in them, nor a line's end.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> Result<(), CliError> {
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(|cell| printable(cell, 4096))).collect();
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or_default()
    });
    let line = |cells: [&str; N]| {
        let padded: Vec<_> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let body = rows.iter().map(|row| line(row.each_ref().map(String::as_str)));
    text(&std::iter::once(line(head)).chain(body).collect::<String>())
}

/// Tells whoever looks on something beside the data, on stderr.
pub(crate) fn aside(text: &str) {
    // Nobody may be looking.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
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

/// Writes a public key: alone, so that it can be put where it belongs, or with its name.
pub(crate) fn key(format: Format, name: &str, key: &PublicKey) -> Result<(), CliError> {
    match format {
        Format::Human => text(&format!("{}\n", key.hex())),
        Format::Json => document(format, &json!({ "name": name, "public_key": key.hex() })),
    }
}

/// How much of an operation's id is shown: enough to name it by.
const SHORT: usize = 12;

/// The beginning of an operation's id.
pub(crate) fn short(operation: &str) -> String {
    operation.chars().take(SHORT).collect()
}

/// Seconds since 1970, in UTC.
pub(crate) fn time(seconds: u64) -> String {
    // Year 9999 at the most: what the formatter can write.
    let at = UNIX_EPOCH + Duration::from_secs(seconds.min(253_402_300_799));
    humantime::format_rfc3339_seconds(at).to_string()
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
