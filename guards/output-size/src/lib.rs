//! An output hook that stops output which is larger than anybody reads: it fills a model's context, pushes what was said
//! before out of it, or costs money for nothing.
//!
//! Five measures have a limit each: the bytes of the whole, of its longest string, how many values it has, how deep they lie,
//! and the longest stretch of white space, behind which the rest of a text goes unseen. What is beyond one is blocked, with
//! the measure in the reason. Under `action: cut`, strings that are too long lose their end and say how much; what is still
//! too large is blocked, and so is binary content, of which a part is nothing. An output that was cut keeps its shape.
//!
//! Bytes are those of the output's JSON, so that an escape counts as it is written.
//!
//! What it does not stop: many answers that are each within the limits, which `rate` counts; and nonsense that is short.

mod cut;
mod measure;

use chio_sdk::{Call, HookVerdict};
use serde::Deserialize;
use serde_json::Value;

use measure::{Measure, Size};

/// The most that a limit in bytes or values can be: the host hands over no larger output.
const MOST: usize = 16 << 20;
/// The deepest that anything can be: nothing deeper is read as JSON.
const DEEPEST: usize = 127;
/// The shortest that a cut string can be: what is said of the cut takes some of it.
const SHORTEST: usize = 64;

/// The hook's `config`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// What happens to an output beyond a limit.
    action: Action,
    /// Of the whole.
    max_bytes: usize,
    /// Of any string, keys included.
    max_string_bytes: usize,
    /// Strings, numbers, lists and so on, in all.
    max_values: usize,
    /// How many lists and objects lie within one another.
    max_depth: usize,
    /// White space without anything between.
    max_blank_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            action: Action::Block,
            max_bytes: 1 << 20,
            max_string_bytes: 512 << 10,
            max_values: 50_000,
            max_depth: 64,
            max_blank_bytes: 8 << 10,
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Action {
    Block,
    Cut,
}

impl Config {
    fn read() -> Result<Self, String> {
        let config: Self = chio_sdk::config()?;
        let bounds = [
            ("max_bytes", config.max_bytes, 2, MOST),
            ("max_string_bytes", config.max_string_bytes, SHORTEST, MOST),
            ("max_values", config.max_values, 1, MOST),
            ("max_depth", config.max_depth, 1, DEEPEST),
            ("max_blank_bytes", config.max_blank_bytes, 1, MOST),
        ];
        match bounds.iter().find(|(_, value, least, most)| !(least..=most).contains(&value)) {
            Some((name, value, least, most)) => Err(format!("{name} is {value}; it takes {least} to {most}")),
            None => Ok(config),
        }
    }

    /// The first measure of `size` that is beyond its limit, with the limit.
    fn broken(&self, size: &Size) -> Option<(Measure, usize)> {
        let limit = |measure| match measure {
            Measure::Bytes => self.max_bytes,
            Measure::StringBytes => self.max_string_bytes,
            Measure::Values => self.max_values,
            Measure::Depth => self.max_depth,
            Measure::BlankBytes => self.max_blank_bytes,
        };
        Measure::ALL
            .map(|measure| (measure, limit(measure)))
            .into_iter()
            .find(|(measure, limit)| size.of(*measure) > *limit)
    }
}

fn inspect(_call: &Call, output: &str) -> Result<HookVerdict, String> {
    let config = Config::read()?;
    let size = measure::size(output);
    let Some((measure, limit)) = config.broken(&size) else {
        return Ok(HookVerdict::allow());
    };
    if config.action == Action::Cut
        && let Some((value, count)) = cut_to(&config, output)?
    {
        return Ok(HookVerdict::redact(&value, [("cut".to_owned(), count)]));
    }
    Ok(HookVerdict::block(format!(
        "the output {}, and {} than {limit} is not passed on",
        measure.says(size.of(measure)),
        if measure == Measure::Depth { "deeper" } else { "more" }
    )))
}

/// The output with its strings cut, and how many were; none where that does not bring it within the limits.
fn cut_to(config: &Config, output: &str) -> Result<Option<(Value, u32)>, String> {
    let mut value: Value = serde_json::from_str(output).map_err(|error| format!("the output is not JSON: {error}"))?;
    let count = cut::strings(&mut value, config.max_string_bytes);
    let is_within = count > 0 && config.broken(&measure::size(&value.to_string())).is_none();
    Ok(is_within.then_some((value, count)))
}

chio_sdk::hook!(inspect);

#[cfg(test)]
mod tests;
