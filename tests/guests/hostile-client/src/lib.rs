//! Does with HTTP what an honest tool server would not. A guest of the host's tests.

use chio_sdk::http::Request;
use chio_sdk::{Context, Hints, Output, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Wanted {
    url: String,
    #[serde(default)]
    number: usize,
}

fn describe() -> Vec<Tool> {
    let tool = |name| Tool {
        hints: Hints {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(false),
        },
        ..Tool::new(name, "A test.", &json!({ "type": "object" }))
    };
    ["follow", "forge", "many", "abandon", "flood", "swallow", "method"].map(tool).to_vec()
}

fn call(_: &Context, tool: &str, arguments: &str) -> Result<Output, ToolError> {
    let wanted: Wanted = chio_sdk::arguments(arguments)?;
    let value = match tool {
        "follow" => follow(&wanted),
        "forge" => sandbox::forge(&wanted.url),
        "many" => sandbox::many(&wanted.url, wanted.number),
        "abandon" => sandbox::abandon(&wanted.url),
        "flood" => flood(&wanted),
        "swallow" => swallow(&wanted),
        "method" => method(&wanted),
        other => return Err(ToolError::unknown_tool(other)),
    };
    Ok(Output::json(&value))
}

/// Follows one redirect, and says all that it saw.
fn follow(wanted: &Wanted) -> Value {
    let mut seen = Vec::new();
    let mut url = wanted.url.clone();
    for _ in 0..2 {
        match Request::new("GET", url.clone()).send(1 << 20) {
            Err(error) => seen.push(json!({ "error": error.to_string() })),
            Ok(response) => {
                let location =
                    response.headers.iter().find(|(name, _)| name == "location").map(|(_, value)| value.clone());
                seen.push(json!({ "status": response.status, "body": String::from_utf8_lossy(&response.body) }));
                match location.and_then(|location| String::from_utf8(location).ok()) {
                    Some(location) => url = location,
                    None => break,
                }
            }
        }
    }
    json!(seen)
}

/// Sends a body of a number of bytes.
fn flood(wanted: &Wanted) -> Value {
    match Request::new("POST", wanted.url.clone()).with_body(vec![b'x'; wanted.number]).send(1 << 20) {
        Ok(response) => json!({ "status": response.status }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

/// Reads whatever comes.
fn swallow(wanted: &Wanted) -> Value {
    match Request::new("GET", wanted.url.clone()).send(usize::MAX) {
        Ok(response) => json!({ "length": response.body.len() }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

/// Methods that make a server do other things than answer.
fn method(wanted: &Wanted) -> Value {
    ["CONNECT", "TRACE"]
        .map(|method| Request::new(method, wanted.url.clone()).send(1 << 20).is_ok())
        .into_iter()
        .collect()
}

#[cfg(not(target_os = "wasi"))]
mod sandbox {
    use serde_json::Value;

    pub(super) fn forge(_: &str) -> Value {
        Value::Null
    }

    pub(super) fn many(_: &str, _: usize) -> Value {
        Value::Null
    }

    pub(super) fn abandon(_: &str) -> Value {
        Value::Null
    }
}

#[cfg(target_os = "wasi")]
mod sandbox {
    use serde_json::{Value, json};
    use wasip2::http::outgoing_handler::handle;
    use wasip2::http::types::{Fields, FutureIncomingResponse, OutgoingRequest, Scheme};

    fn send(url: &str, headers: &Fields) -> Result<FutureIncomingResponse, String> {
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let request = OutgoingRequest::new(headers.clone());
        request.set_scheme(Some(&Scheme::Http)).map_err(|()| "scheme")?;
        request.set_authority(Some(authority)).map_err(|()| "authority")?;
        request.set_path_with_query(Some(path)).map_err(|()| "path")?;
        handle(request, None).map_err(|code| format!("{code:?}"))
    }

    /// Says who it is itself, asks for compressed parts, and reads its own headers back once they were sent.
    pub(super) fn forge(url: &str) -> Value {
        let headers = Fields::new();
        for (name, value) in [("authorization", "forged"), ("range", "bytes=0-3"), ("accept-encoding", "gzip")] {
            headers.append(name, value.as_bytes()).ok();
        }
        let refused = headers.set("host", &[b"other.example".to_vec()]).is_err();
        let response = match send(url, &headers) {
            Ok(response) => response,
            Err(error) => return json!({ "error": error }),
        };
        response.subscribe().block();
        let answered = match response.get() {
            Some(Ok(Ok(response))) => response.status().to_string(),
            Some(Ok(Err(code))) => format!("{code:?}"),
            _ => "nothing".to_owned(),
        };
        let mine: Vec<_> =
            headers.entries().into_iter().map(|(name, value)| json!([name, String::from_utf8_lossy(&value)])).collect();
        json!({ "host_refused": refused, "answered": answered, "mine": mine })
    }

    /// Opens many requests at the same time, and waits for each; how many failed, and the last error.
    pub(super) fn many(url: &str, number: usize) -> Value {
        let open: Vec<_> = (0..number).map(|_| send(url, &Fields::new())).collect();
        let mut failed = Vec::new();
        for response in open.into_iter().flatten() {
            response.subscribe().block();
            if let Some(Ok(Err(code))) = response.get() {
                failed.push(format!("{code:?}"));
            }
        }
        json!({ "failed": failed.len(), "error": failed.last() })
    }

    /// Sends a request and does not wait.
    pub(super) fn abandon(url: &str) -> Value {
        let response = send(url, &Fields::new());
        std::mem::forget(response);
        json!("gone")
    }
}

chio_sdk::tool_server!(describe, call);
