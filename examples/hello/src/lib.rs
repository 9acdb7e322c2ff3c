//! The smallest tool server: one tool, no permissions, no effect.

use chio_sdk::{Context, Hints, Output, Tool, ToolError};
use serde::Deserialize;
use serde_json::json;

/// A name longer than this many characters is nobody's.
const NAME_CHARS: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Greeting {
    name: String,
}

fn describe() -> Vec<Tool> {
    let input = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "Who to greet.", "minLength": 1, "maxLength": NAME_CHARS }
        },
        "required": ["name"],
        "additionalProperties": false
    });
    let hello = Tool::new("hello_world", "Greets somebody by name.", &input)
        .with_title("Hello")
        .with_output_schema(&json!({ "type": "string" }))
        .with_hints(Hints {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(false),
        });
    vec![hello]
}

fn call(_context: &Context, tool: &str, arguments: &str) -> Result<Output, ToolError> {
    match tool {
        "hello_world" => hello_world(&chio_sdk::arguments(arguments)?),
        other => Err(ToolError::unknown_tool(other)),
    }
}

fn hello_world(greeting: &Greeting) -> Result<Output, ToolError> {
    let name = greeting.name.trim();
    if name.is_empty() {
        return Err(ToolError::invalid_arguments("name is empty"));
    }
    if name.chars().count() > NAME_CHARS {
        return Err(ToolError::invalid_arguments(format!("name is longer than {NAME_CHARS} characters")));
    }
    Ok(Output::text(format!("Hello, {name}!")))
}

chio_sdk::tool_server!(describe, call);

#[cfg(test)]
mod tests {
    use chio_sdk::testing::context;
    use serde_json::Value;

    use super::*;

    fn hello(arguments: &Value) -> Result<String, ToolError> {
        call(&context(), "hello_world", &arguments.to_string()).map(|output| output.value)
    }

    #[test]
    fn greets() {
        assert_eq!(hello(&json!({"name": " Chio "})), Ok(r#""Hello, Chio!""#.into()));
    }

    #[test]
    fn refuses_arguments_that_do_not_fit() {
        for arguments in [
            json!({}),
            json!({"name": 1}),
            json!({"name": "  "}),
            json!({"name": "a", "more": 1}),
            json!({"name": "a".repeat(NAME_CHARS + 1)}),
        ] {
            assert!(matches!(hello(&arguments), Err(ToolError::InvalidArguments(_))), "{arguments}");
        }
        assert!(matches!(call(&context(), "other", "{}"), Err(ToolError::InvalidArguments(_))));
    }

    #[test]
    fn describes_what_it_has() {
        let tools = describe();
        assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["hello_world"]);
        let schema: Value = serde_json::from_str(&tools[0].input_schema).unwrap();
        assert_eq!(schema["type"], "object");
    }
}
