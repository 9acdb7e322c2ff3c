//! A tool server that sends HTTP requests to the hosts that a policy grants.
//!
//! It follows no redirect: the agent is told where one leads, and asks again, so that guards see every URL.

use std::collections::BTreeMap;

use chio_sdk::http::{Request, Response};
use chio_sdk::{Context, Hints, Output, Tool, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The longest body that is returned, in bytes.
const MAX_BODY: usize = 1 << 20;
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fetch {
    url: String,
    #[serde(default = "get")]
    method: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
}

#[derive(Debug, Serialize)]
struct Fetched {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

fn get() -> String {
    "GET".to_owned()
}

fn describe() -> Vec<Tool> {
    let input = json!({
        "type": "object",
        "properties": {
            "url": { "type": "string", "description": "An http or https URL of a host that the policy grants." },
            "method": { "enum": METHODS, "default": "GET" },
            "headers": { "type": "object", "additionalProperties": { "type": "string" } },
            "body": { "type": "string" }
        },
        "required": ["url"],
        "additionalProperties": false
    });
    let output = json!({
        "type": "object",
        "properties": {
            "status": { "type": "integer" },
            "headers": { "type": "object", "additionalProperties": { "type": "string" } },
            "body": { "type": "string" }
        },
        "required": ["status", "headers", "body"]
    });
    let fetch = Tool::new(
        "fetch",
        "Sends one HTTP request and returns status, headers and body, a text of at most 1 MiB. Redirects are not followed.",
        &input,
    )
    .with_title("Fetch a URL")
    .with_output_schema(&output)
    .with_hints(Hints {
        read_only: Some(false),
        destructive: Some(true),
        idempotent: Some(false),
        open_world: Some(true),
    });
    vec![fetch]
}

fn call(_context: &Context, tool: &str, arguments: &str) -> Result<Output, ToolError> {
    match tool {
        "fetch" => fetch(chio_sdk::arguments(arguments)?).and_then(|fetched| Output::serialize(&fetched)),
        other => Err(ToolError::unknown_tool(other)),
    }
}

fn fetch(wanted: Fetch) -> Result<Fetched, ToolError> {
    if !METHODS.contains(&wanted.method.as_str()) {
        return Err(ToolError::invalid_arguments(format!("method is none of {}", METHODS.join(", "))));
    }
    let request = Request {
        method: wanted.method,
        url: wanted.url,
        headers: wanted.headers.into_iter().collect(),
        body: wanted.body.into_bytes(),
    };
    let response = request.send(MAX_BODY).map_err(|error| ToolError::failed(error.to_string()))?;
    told(response)
}

fn told(response: Response) -> Result<Fetched, ToolError> {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in response.headers {
        let value = String::from_utf8_lossy(&value).into_owned();
        headers.entry(name).and_modify(|all| *all = format!("{all}, {value}")).or_insert(value);
    }
    let body = String::from_utf8(response.body)
        .map_err(|_| ToolError::failed("the request was answered, and the answer is no text"))?;
    Ok(Fetched { status: response.status, headers, body })
}

chio_sdk::tool_server!(describe, call);

#[cfg(test)]
mod tests {
    use chio_sdk::testing::context;

    use super::*;

    #[test]
    fn headers_of_one_name_are_told_together() {
        let headers = [("a", "1"), ("a", "2"), ("b", "3")].map(|(n, v)| (n.to_owned(), v.as_bytes().to_vec())).to_vec();
        let fetched = told(Response { status: 200, headers, body: b"text".to_vec() }).unwrap();
        assert_eq!((fetched.headers["a"].as_str(), fetched.headers["b"].as_str()), ("1, 2", "3"));
        let odd = Response { status: 200, headers: Vec::new(), body: vec![0xff] };
        assert!(told(odd).unwrap_err().message().ends_with("no text"));
    }

    #[test]
    fn arguments_are_checked() {
        let refuse = |arguments: &str| call(&context(), "fetch", arguments).unwrap_err();
        assert!(matches!(refuse(r#"{"url":"https://a.example","method":"CONNECT"}"#), ToolError::InvalidArguments(_)));
        assert!(matches!(refuse(r#"{"url":"https://a.example","mode":"x"}"#), ToolError::InvalidArguments(_)));
        assert!(refuse(r#"{"url":"https://a.example"}"#).message().contains("no network outside"));
    }
}
