//! A tool server: it describes its tools and answers calls. What it may reach, its manifest asks for and a policy grants.

use chio_sdk::{Context, Output, Tool, ToolError};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Greeting {
    name: String,
}

fn describe() -> Vec<Tool> {
    let input = json!({
        "type": "object",
        "properties": { "name": { "type": "string", "description": "Who to greet." } },
        "required": ["name"],
        "additionalProperties": false
    });
    vec![Tool::new("greet", "Greets somebody by name.", &input)]
}

fn call(_context: &Context, tool: &str, arguments: &str) -> Result<Output, ToolError> {
    match tool {
        "greet" => greet(&chio_sdk::arguments(arguments)?),
        other => Err(ToolError::unknown_tool(other)),
    }
}

fn greet(greeting: &Greeting) -> Result<Output, ToolError> {
    match greeting.name.trim() {
        "" => Err(ToolError::invalid_arguments("name is empty")),
        name => Ok(Output::text(format!("Hello, {name}!"))),
    }
}

chio_sdk::tool_server!(describe, call);

#[cfg(test)]
mod tests {
    use chio_sdk::testing::context;

    use super::*;

    /// `cargo test` asks the function; the fixtures ask the component.
    #[test]
    fn nobody_is_not_greeted() {
        assert!(call(&context(), "greet", r#"{"name":" "}"#).is_err());
    }
}
