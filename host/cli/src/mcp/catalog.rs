//! The tools that a client sees, and under which names.
//!
//! A tool is always `server__tool`, also where there is one server, so that its name does not change when a second one
//! comes. Clients drop every tool when one name does not match `[A-Za-z0-9_-]{1,64}` (wassette#56), and cut long ones until
//! two are equal (xagent#1342), so such names are refused when the session opens.

use std::collections::BTreeMap;
use std::sync::Arc;

use chio_host_kernel::Plugins;
use chio_host_kernel::canonical::printable;
use chio_host_kernel::ports::ToolDescription;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

use super::Tokens;

/// The longest name that every client takes, in characters.
const MAX_NAME: usize = 64;
/// Between server and tool.
const SEPARATOR: &str = "__";

/// Why a tool cannot be offered.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum CatalogError {
    /// Its name would be too long.
    #[error(
        "{tool} would be called \"{name}\", which has {} characters; clients take {MAX_NAME}: give the server a shorter \
         name in the policy",
        .name.chars().count()
    )]
    TooLong {
        /// The tool.
        tool: Target,
        /// The name.
        name: String,
    },
    /// Its name would be another's.
    #[error("{first} and {second} would both be called \"{name}\": give one of the servers another name in the policy")]
    Collision {
        /// The name.
        name: String,
        /// Who has it.
        first: Target,
        /// Who would have it too.
        second: Target,
    },
    /// Clients refuse its input schema.
    #[error("the input schema of {tool} is not a JSON Schema of type \"object\"")]
    InputSchema {
        /// The tool.
        tool: Target,
    },
}

/// One tool of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The server's name in the policy.
    pub(super) server: String,
    /// The tool's own name.
    pub(super) tool: String,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tool \"{}\" of server \"{}\"", printable(&self.tool, 128), printable(&self.server, 128))
    }
}

/// What a name in a `tools/call` stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) target: Target,
    /// Whether the client was told an output schema, and so expects structured content.
    pub(super) output_schema: bool,
}

/// The tools that the agent may invoke, by the names that its client knows.
#[derive(Debug)]
pub(crate) struct Catalog {
    tools: Vec<Tool>,
    by_name: BTreeMap<String, Resolved>,
    /// Servers' names as they begin a tool's, with their own.
    servers: Vec<(String, String)>,
}

impl Catalog {
    /// Names every covered tool, or says everything that is wrong with the names.
    pub(crate) fn new(plugins: &Plugins, tokens: &dyn Tokens) -> Result<Self, Vec<CatalogError>> {
        let mut catalog = Self { tools: Vec::new(), by_name: BTreeMap::new(), servers: Vec::new() };
        let mut errors = Vec::new();
        for (name, server) in &plugins.servers {
            catalog.servers.push((spell(name) + SEPARATOR, name.clone()));
            for tool in server.tools().iter().filter(|tool| tokens.covers(name, &tool.name)) {
                catalog.add(name, tool).unwrap_or_else(|error| errors.push(error));
            }
        }
        if errors.is_empty() { Ok(catalog) } else { Err(errors) }
    }

    fn add(&mut self, server: &str, described: &ToolDescription) -> Result<(), CatalogError> {
        let target = Target { server: server.to_owned(), tool: described.name.clone() };
        let name = [&spell(server), SEPARATOR, &spell(&described.name)].concat();
        if name.len() > MAX_NAME {
            return Err(CatalogError::TooLong { tool: target, name });
        }
        if let Some(first) = self.by_name.get(&name) {
            return Err(CatalogError::Collision { name, first: first.target.clone(), second: target });
        }
        let Some(input) = object_schema(Some(&described.input_schema)) else {
            return Err(CatalogError::InputSchema { tool: target });
        };
        let output = object_schema(described.output_schema.as_ref());
        self.by_name.insert(name.clone(), Resolved { target, output_schema: output.is_some() });
        self.tools.push(listed(name, described, input, output));
        Ok(())
    }

    /// As `tools/list` shows them.
    pub(super) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// What a name stands for, be it covered or not: a refusal is to be recorded under the names that were meant.
    pub(super) fn resolve(&self, name: &str) -> Option<Resolved> {
        if let Some(known) = self.by_name.get(name) {
            return Some(known.clone());
        }
        let of_known_server = self
            .servers
            .iter()
            .filter_map(|(prefix, server)| Some((server.as_str(), name.strip_prefix(prefix.as_str())?)))
            .min_by_key(|(_, tool)| tool.len());
        let (server, tool) = of_known_server.or_else(|| name.split_once(SEPARATOR))?;
        if server.is_empty() || tool.is_empty() {
            return None;
        }
        let target = Target { server: server.to_owned(), tool: tool.to_owned() };
        Some(Resolved { target, output_schema: false })
    }
}

/// A name with what clients do not take replaced.
fn spell(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

/// A schema that clients of every protocol version take: older ones want objects alone.
fn object_schema(schema: Option<&Value>) -> Option<JsonObject> {
    schema?.as_object().filter(|schema| schema.get("type").is_some_and(|kind| kind == "object")).cloned()
}

fn listed(name: String, described: &ToolDescription, input: JsonObject, output: Option<JsonObject>) -> Tool {
    let hints = described.hints;
    let hints = ToolAnnotations::from_raw(None, hints.read_only, hints.destructive, hints.idempotent, hints.open_world);
    let mut tool = Tool::new(name, described.description.clone(), input);
    tool.title.clone_from(&described.title);
    tool.output_schema = output.map(Arc::new);
    tool.annotations = (hints != ToolAnnotations::default()).then_some(hints);
    tool
}
