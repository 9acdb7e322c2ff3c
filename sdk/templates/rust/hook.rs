//! An output hook: it sees what a tool returned before the agent does, and its own `config`, and nothing else.

use chio_sdk::{Call, HookVerdict};
use serde::Deserialize;
use serde_json::Value;

/// What stands under `config` in the policy.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Words that nobody may read.
    hide: Vec<String>,
}

fn inspect(_call: &Call, output: &str) -> Result<HookVerdict, String> {
    let config: Config = chio_sdk::config()?;
    let mut value: Value = serde_json::from_str(output).map_err(|e| e.to_string())?;
    let count = hide(&mut value, &config.hide);
    Ok(if count == 0 { HookVerdict::allow() } else { HookVerdict::redact(&value, [("word".to_owned(), count)]) })
}

/// Replaces the words in every text of a value, and says how many.
fn hide(value: &mut Value, words: &[String]) -> u32 {
    match value {
        Value::String(text) => words.iter().filter(|word| !word.is_empty()).fold(0, |count, word| {
            let found = u32::try_from(text.matches(word.as_str()).count()).unwrap_or(u32::MAX);
            if found > 0 {
                *text = text.replace(word.as_str(), "[hidden]");
            }
            count.saturating_add(found)
        }),
        Value::Array(items) => items.iter_mut().map(|item| hide(item, words)).sum(),
        Value::Object(map) => map.values_mut().map(|item| hide(item, words)).sum(),
        _ => 0,
    }
}

chio_sdk::hook!(inspect);

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo test` asks the function; the fixtures ask the component.
    #[test]
    fn words_are_hidden_wherever_they_stand() {
        let mut value = serde_json::json!({ "a": ["project apollo", 1] });
        assert_eq!(hide(&mut value, &["apollo".to_owned()]), 1);
        assert_eq!(value, serde_json::json!({ "a": ["project [hidden]", 1] }));
    }
}
