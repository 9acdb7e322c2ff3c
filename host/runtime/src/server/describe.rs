//! Asking a server for its tools, once, when it is loaded.
//!
//! It is asked outside any call, so there is nothing that it may do: every import leads to a trap, and what it says is a
//! constant of the component.

use std::collections::HashSet;

use chio_host_kernel::canonical::{self, Bounds, printable};
use chio_host_kernel::ports::{Fault, Hints, Ran, Stop, ToolDescription};
use serde_json::Value;
use tokio::time::timeout;
use wasmtime::component::Linker;

use crate::answer;
use crate::bindings::server::ToolServerPre;
use crate::bindings::server::exports::chio::plugin::serving as wit;
use crate::error::{LoadError, one_line};
use crate::inspect::Kind;
use crate::limits::Limits;
use crate::meter::{Meter, Metered};
use crate::run::{Failure, Run};
use crate::runtime::Compiled;

/// The most tools of one server.
pub(crate) const MAX_TOOLS: usize = 256;
/// The longest name, in bytes: what MCP clients take (wassette#56).
const MAX_NAME: usize = 64;
/// The longest title, in bytes.
const MAX_TITLE: usize = 256;
/// What a tool's name may be, in words.
pub(crate) const NAME_RULE: &str = "1 to 64 of A-Z, a-z, 0-9, _ and -";
/// The longest description, in bytes.
pub(crate) const MAX_DESCRIPTION: usize = 16 << 10;
/// The largest schema, in bytes.
pub(crate) const MAX_SCHEMA: usize = 256 << 10;

struct Describing(Meter);

impl Metered for Describing {
    fn meter(&mut self) -> &mut Meter {
        &mut self.0
    }
}

/// Asks, under the server's own limits.
pub(super) async fn ask(compiled: &Compiled, limits: &Limits) -> Result<Vec<ToolDescription>, LoadError> {
    let types = |e: wasmtime::Error| LoadError::Types(Kind::ToolServer, one_line(&e));
    let failed = |fault: Fault| LoadError::Ran { function: "describe", fault };
    let engine = compiled.places.engine();
    let mut linker = Linker::new(engine);
    linker.define_unknown_imports_as_traps(&compiled.component).map_err(types)?;
    let pre = linker.instantiate_pre(&compiled.component).and_then(ToolServerPre::new).map_err(types)?;
    let run = Run { limits, deadline: limits.deadline };
    let mut store = run.store(engine, Describing(Meter::new(limits))).map_err(failed)?;
    let ended = timeout(run.deadline, async {
        let server = pre.instantiate_async(&mut store).await.map_err(Failure::Start)?;
        server.chio_plugin_serving().call_describe(&mut store).await.map_err(Failure::Call)
    });
    let ended = ended.await;
    let Ran { outcome, .. } = run.ended(&mut store, ended);
    check(outcome.map_err(|fault| failed(explain(fault)))?).map_err(LoadError::Description)
}

/// Says why an import that exists was not there.
fn explain(fault: Fault) -> Fault {
    if fault.stop == Stop::Trap && fault.message.contains("has not been defined") {
        return Fault::new(Stop::Trap, &format!("it uses an import, and `describe` may use none ({})", fault.message));
    }
    fault
}

fn check(tools: Vec<wit::Tool>) -> Result<Vec<ToolDescription>, String> {
    if tools.is_empty() || tools.len() > MAX_TOOLS {
        return Err(format!("it has {} tools; 1 to {MAX_TOOLS} are needed", tools.len()));
    }
    let mut names = HashSet::new();
    let mut checked = Vec::with_capacity(tools.len());
    for tool in tools {
        let tool = self::tool(tool)?;
        if !names.insert(tool.name.clone()) {
            return Err(format!("two tools are called \"{}\"", tool.name));
        }
        checked.push(tool);
    }
    Ok(checked)
}

/// Whether every client takes a tool's name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain)
}

fn tool(tool: wit::Tool) -> Result<ToolDescription, String> {
    let name = tool.name;
    if !is_name(&name) {
        let shown = printable(&name, MAX_NAME);
        return Err(format!("\"{shown}\" is no name for a tool; {NAME_RULE} are"));
    }
    if tool.description.len() > MAX_DESCRIPTION {
        return Err(format!("the description of \"{name}\" is longer than {MAX_DESCRIPTION} bytes"));
    }
    Ok(ToolDescription {
        title: tool.title.map(|title| printable(&title, MAX_TITLE)),
        description: answer::lines(&tool.description, MAX_DESCRIPTION),
        input_schema: input_schema(&name, &tool.input_schema)?,
        output_schema: tool.output_schema.map(|text| schema(&name, "output", &text)).transpose()?,
        hints: Hints {
            read_only: tool.hints.read_only,
            destructive: tool.hints.destructive,
            idempotent: tool.hints.idempotent,
            open_world: tool.hints.open_world,
        },
        name,
    })
}

/// Arguments are an object (MCP, "Tools"); an output may be any JSON, and its schema then too.
fn input_schema(tool: &str, text: &str) -> Result<Value, String> {
    let schema = schema(tool, "input", text)?;
    if schema["type"] == "object" {
        return Ok(schema);
    }
    Err(unusable(tool, "input", "a JSON Schema with `\"type\": \"object\"` is needed"))
}

fn schema(tool: &str, which: &str, text: &str) -> Result<Value, String> {
    let bounds = Bounds { bytes: MAX_SCHEMA, ..Bounds::ARGUMENTS };
    let schema = canonical::parse(text.as_bytes(), bounds).map_err(|e| unusable(tool, which, &e.to_string()))?;
    if schema.is_object() {
        return Ok(schema);
    }
    Err(unusable(tool, which, "a JSON Schema is an object"))
}

fn unusable(tool: &str, which: &str, why: &str) -> String {
    format!("the {which} schema of \"{tool}\" is not usable: {why}")
}
