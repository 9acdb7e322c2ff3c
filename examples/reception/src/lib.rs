//! A tool that calls other tools: it reads a guest list with `files/read_file`, and greets each guest with
//! `hello/hello_world`.
//!
//! Each of those calls is mediated like any other, under the caller's capability, and its receipt is a child of this call's.
//! What it may call, the policy says (`permissions: { invoke: [...] }`), and the caller's grants have to allow `delegate`.

use chio_sdk::nested::{InvokeError, invoke};
use chio_sdk::{Context, Output, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

/// The most guests of one list: each is a call of its own.
const MAX_GUESTS: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GreetAll {
    guests: String,
}

fn describe() -> Vec<Tool> {
    let input = json!({
        "type": "object",
        "properties": {
            "guests": { "type": "string", "description": "A file with a name a line.", "minLength": 1 }
        },
        "required": ["guests"],
        "additionalProperties": false
    });
    let output = json!({ "type": "array", "items": { "type": "string" } });
    let greet = Tool::new("greet_all", "Greets everybody on a guest list of at most 20 names.", &input);
    vec![greet.with_title("Greet all guests").with_output_schema(&output)]
}

fn call(_context: &Context, tool: &str, arguments: &str) -> Result<Output, ToolError> {
    match tool {
        "greet_all" => greet_all(&chio_sdk::arguments(arguments)?),
        other => Err(ToolError::unknown_tool(other)),
    }
}

fn greet_all(asked: &GreetAll) -> Result<Output, ToolError> {
    let list = ask("files", "read_file", &json!({ "path": asked.guests }))?;
    let guests = guests(list.as_str().unwrap_or_default())?;
    let greet = |name: &&str| ask("hello", "hello_world", &json!({ "name": name }));
    let greetings = guests.iter().map(greet).collect::<Result<Vec<Value>, _>>()?;
    Ok(Output::json(&json!(greetings)))
}

fn guests(list: &str) -> Result<Vec<&str>, ToolError> {
    let guests: Vec<&str> = list.lines().map(str::trim).filter(|name| !name.is_empty()).collect();
    if guests.len() > MAX_GUESTS {
        return Err(ToolError::failed_before_effect(format!("the list has more than {MAX_GUESTS} guests")));
    }
    Ok(guests)
}

/// Calls another tool. What the host refuses, this tool passes on.
fn ask(server: &str, tool: &str, arguments: &Value) -> Result<Value, ToolError> {
    let answered = invoke(server, tool, &arguments.to_string());
    let output = answered.map_err(|error| {
        let why = match error {
            InvokeError::Denied(why) => format!("was denied: {why}"),
            InvokeError::Pending(why) => format!("waits for a human: {why}"),
            InvokeError::Failed(why) => format!("failed: {why}"),
        };
        ToolError::failed(format!("{server}/{tool} {why}"))
    })?;
    serde_json::from_str(&output.value).map_err(|e| ToolError::failed(format!("{server}/{tool} answered no JSON: {e}")))
}

chio_sdk::tool_server!(describe, call);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_a_name_a_line() {
        assert_eq!(guests(" Ada \n\nGrace\n").unwrap(), ["Ada", "Grace"]);
        assert!(guests(&"x\n".repeat(MAX_GUESTS + 1)).is_err());
    }
}
