//! stdout: data, for people or for programs. Nothing else is written there.

use std::io::Write;

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
            let shown = fields.iter().map(|(name, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                format!("{:<11} {value}\n", format!("{name}:"))
            });
            text(&shown.collect::<String>())
        }
        Format::Json => {
            let object = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            text(&format!("{}\n", Value::Object(object)))
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
