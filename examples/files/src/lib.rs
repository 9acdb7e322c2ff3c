//! A tool server for the files of the folders that a policy grants.
//!
//! It sees what the host preopens and nothing else; what leaves a folder, by `..` or by a symbolic link, the sandbox
//! refuses again. A call runs in an instance of its own, so there is no state here.

mod error;
mod folders;
mod list;
mod read;
mod write;

use chio_sdk::{Context, Hints, Output, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use folders::Folders;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListFiles {
    path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    path: String,
    content: String,
}

fn describe() -> Vec<Tool> {
    let path = json!({
        "type": "string",
        "description": "Absolute, or relative to the granted folder.",
        "minLength": 1
    });
    let reading =
        Hints { read_only: Some(true), destructive: Some(false), idempotent: Some(true), open_world: Some(false) };
    let writing =
        Hints { read_only: Some(false), destructive: Some(true), idempotent: Some(true), open_world: Some(false) };
    vec![
        Tool::new(
            "read_file",
            "Returns the text of a file of at most 1 MiB.",
            &object(json!({ "path": path }), &["path"]),
        )
        .with_title("Read a file")
        .with_output_schema(&json!({ "type": "string" }))
        .with_hints(reading),
        Tool::new(
            "list_files",
            "Lists a folder: names, kinds and sizes. Without a path, the granted folder.",
            &object(json!({ "path": path }), &[]),
        )
        .with_title("List a folder")
        .with_output_schema(&list::schema())
        .with_hints(reading),
        Tool::new(
            "write_file",
            "Writes a text file, replacing one that exists. Its folder must exist.",
            &object(json!({ "path": path, "content": { "type": "string" } }), &["path", "content"]),
        )
        .with_title("Write a file")
        .with_output_schema(&write::schema())
        .with_hints(writing),
    ]
}

fn object(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "required": required, "additionalProperties": false });
    schema["properties"] = properties;
    schema
}

fn call(context: &Context, tool: &str, arguments: &str) -> Result<Output, ToolError> {
    run(&Folders::granted(), context, tool, arguments)
}

fn run(folders: &Folders, context: &Context, tool: &str, arguments: &str) -> Result<Output, ToolError> {
    match tool {
        "read_file" => {
            let ReadFile { path } = chio_sdk::arguments(arguments)?;
            read::read(&folders.resolve(&path)?).map(Output::text)
        }
        "list_files" => {
            let ListFiles { path } = chio_sdk::arguments(arguments)?;
            let folder = match path {
                Some(path) => folders.resolve(&path)?,
                None => folders.only()?,
            };
            list::list(&folder).and_then(|listing| Output::serialize(&listing))
        }
        "write_file" => {
            let WriteFile { path, content } = chio_sdk::arguments(arguments)?;
            write::write(&folders.resolve(&path)?, &content, &context.operation_id)
                .and_then(|written| Output::serialize(&written))
        }
        other => Err(ToolError::unknown_tool(other)),
    }
}

chio_sdk::tool_server!(describe, call);

#[cfg(test)]
mod tests;
