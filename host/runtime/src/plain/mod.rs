//! Components that nobody wrote for this host: each function that such a component exports is a tool, its types are JSON
//! Schemas, and arguments and results are converted both ways.
//!
//! | WIT | JSON |
//! |---|---|
//! | `bool`, `string` | boolean, string |
//! | `char` | a string of one character |
//! | `u8` to `s32` | an integer in range |
//! | `u64`, `s64` | an integer up to 2^53 - 1; a string of its digits beyond, and taken for any |
//! | `f32`, `f64` | a number, or `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | `list<u8>` | a string of base64, with padding |
//! | `list`, `tuple` | an array |
//! | `record` | an object; an option may be left out, and is `null` in results |
//! | `variant` | `{"tag": case, "value": payload}`; no `value` where the case has none |
//! | `enum`, `flags` | its name; an array of the names that are set |
//! | `option` | `null` or the value; in an option, `{"some": value}` |
//! | `result` in a value | a variant of `ok` and `err` |
//! | `result` of a function | `ok` is the output; `err` is a failed call, with the error as its message |
//! | no result | `null` |
//!
//! A function with a resource, stream, future, error-context, map or list of fixed length is left out, as are async functions,
//! those of resources, and WASI's own entry points. Each of a result's values takes about 40 bytes of the host's memory while it
//! is converted, of which a call has four times its limit on output: a result of bytes alone may have about 1.6 million.

#[cfg(test)]
mod argument_tests;
mod arguments;
mod docs;
mod names;
mod output;
mod read;
#[cfg(test)]
mod round_trip;
mod schema;
#[cfg(test)]
mod tests;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use chio_host_kernel::canonical::{self, printable};
use chio_host_kernel::ports::{Fault, Hints, OutputFormat, Stop, ToolDescription, ToolError, ToolOutput};
use serde_json::{Value, json};
use wasmtime::component::{Component, ComponentExportIndex, Val};

use self::docs::Docs;
use self::output::Refused;
use self::read::{Exported, Signature};
use self::types::{Sides, Type};
use crate::answer;
use crate::error::LoadError;
use crate::limits::size;
use crate::run::Run;
use crate::server::describe::{MAX_DESCRIPTION, MAX_SCHEMA, MAX_TOOLS, NAME_RULE, is_name};

/// All schemas of one component, in bytes: a client is shown them all at once.
const MAX_SCHEMAS: usize = 4 << 20;
/// The host's memory that a result may take for each byte of output that it may become.
const MEMORY_PER_BYTE: u64 = 4;

/// What a component without a world of this host offers.
#[derive(Clone, Debug)]
pub struct PlainFunctions {
    /// Its functions, as tools.
    pub tools: Vec<PlainTool>,
    /// Those that are none, and why.
    pub left_out: Vec<LeftOut>,
}

/// A function as a tool.
#[derive(Clone, Debug)]
pub struct PlainTool {
    /// As a client sees it.
    pub description: ToolDescription,
    /// The interface that the function is in, by full name.
    pub interface: Option<String>,
    /// The function's own name.
    pub name: String,
    signature: Signature,
}

/// A function that is no tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name, behind its interface's where it has one.
    pub function: String,
    /// Why.
    pub why: String,
}

/// Reads what a component offers, without compiling or running it.
///
/// # Errors
/// Bytes that are no component, functions that would have the same name as tools, and more of them than a client could use.
pub fn plain_functions(bytes: &[u8]) -> Result<PlainFunctions, LoadError> {
    let exported = read::functions(bytes)?;
    let docs = Docs::of(bytes);
    let usable = exported.iter().filter(|function| function.signature.is_ok());
    let called = names::interfaces(usable.filter_map(|function| function.interface.as_deref()));
    let (mut tools, mut left_out, mut schemas) = (Vec::new(), Vec::new(), 0_usize);
    let mut by_name: BTreeMap<String, String> = BTreeMap::new();
    for Exported { interface, name, signature } in &exported {
        let function = full(interface.as_deref(), name);
        let short = interface.as_deref().and_then(|interface| called.get(interface)).map(String::as_str);
        let tool = signature.clone().and_then(|signature| {
            let docs = docs.function(interface.as_deref(), name);
            let (description, length) = describe(names::tool(short, name), &function, docs, &signature)?;
            Ok((PlainTool { description, interface: interface.clone(), name: name.clone(), signature }, length))
        });
        match tool {
            Err(why) => left_out.push(LeftOut { function, why }),
            Ok((tool, length)) => {
                if let Some(first) = by_name.insert(tool.description.name.clone(), function.clone()) {
                    let name = &tool.description.name;
                    return Err(LoadError::Description(format!(
                        "its functions {first} and {function} would both be the tool \"{name}\""
                    )));
                }
                schemas += length;
                tools.push(tool);
            }
        }
    }
    let unusable = |why| Err(LoadError::Description(why));
    if tools.len() > MAX_TOOLS {
        return unusable(format!("{} of its functions would be tools; at most {MAX_TOOLS} may be", tools.len()));
    }
    if schemas > MAX_SCHEMAS {
        return unusable(format!("the schemas of its functions have {schemas} bytes; at most {MAX_SCHEMAS} may be"));
    }
    Ok(PlainFunctions { tools, left_out })
}

/// How messages name a function.
fn full(interface: Option<&str>, name: &str) -> String {
    let name = printable(name, 128);
    interface.map_or_else(|| name.clone(), |interface| format!("{}#{name}", printable(interface, 128)))
}

/// A tool, with the length of its schemas; or why no client could use it.
fn describe(
    name: String,
    function: &str,
    docs: Option<&str>,
    signature: &Signature,
) -> Result<(ToolDescription, usize), String> {
    if !is_name(&name) {
        let shown = printable(&name, 128);
        return Err(format!("it would be the tool \"{shown}\", and clients take names of {NAME_RULE}"));
    }
    let input_schema = schema::object(&signature.parameters);
    let returned = match &signature.result {
        Some(Type::Result(sides)) => sides.ok.as_ref(),
        other => other.as_ref(),
    };
    let output_schema = Some(returned.map_or_else(|| json!({ "type": "null" }), schema::of));
    let mut length = 0;
    for schema in [Some(&input_schema), output_schema.as_ref()].into_iter().flatten() {
        let bytes = canonical::to_vec(schema).len();
        if bytes > MAX_SCHEMA {
            return Err(format!("the JSON Schema of its types has {bytes} bytes; at most {MAX_SCHEMA} may be"));
        }
        length += bytes;
    }
    let description = docs.map_or_else(|| format!("Calls the function {function}."), ToOwned::to_owned);
    let description = ToolDescription {
        name,
        title: None,
        description: answer::lines(&description, MAX_DESCRIPTION),
        input_schema,
        output_schema,
        hints: Hints::default(),
    };
    Ok((description, length))
}

/// A function, and where it is in its component.
pub(crate) struct Function {
    signature: Signature,
    index: ComponentExportIndex,
}

/// The functions of a component, by the names of the tools that they are.
pub(crate) type Functions = BTreeMap<String, Arc<Function>>;

impl PlainFunctions {
    /// The tools and what is behind them, in a component that was compiled.
    pub(crate) fn of(self, component: &Component) -> Result<(Vec<ToolDescription>, Functions), LoadError> {
        if self.tools.is_empty() {
            let why = self.left_out.iter().take(3).map(|LeftOut { function, why }| format!("; {function}: {why}"));
            let why = format!("none of its functions can be a tool{}", why.collect::<String>());
            return Err(LoadError::Description(why));
        }
        for LeftOut { function, why } in &self.left_out {
            tracing::info!(function, why, "a function is no tool");
        }
        let (mut tools, mut functions) = (Vec::new(), BTreeMap::new());
        for PlainTool { description, interface, name, signature } in self.tools {
            let interface = interface.map(|name| component.get_export_index(None, &name).ok_or(name)).transpose();
            let index = interface.and_then(|within| component.get_export_index(within.as_ref(), &name).ok_or(name));
            let index =
                index.map_err(|name| LoadError::Host(format!("the export {} is gone", printable(&name, 128))))?;
            functions.insert(description.name.clone(), Arc::new(Function { signature, index }));
            tools.push(description);
        }
        Ok((tools, functions))
    }
}

impl Function {
    /// Where it is.
    pub(crate) fn index(&self) -> &ComponentExportIndex {
        &self.index
    }

    /// What it is called with.
    ///
    /// # Errors
    /// What is wrong with the arguments, and where.
    pub(crate) fn arguments(&self, given: &Value) -> Result<Vec<Val>, String> {
        arguments::arguments(&self.signature.parameters, given)
    }

    /// Room for what it returns.
    pub(crate) fn results(&self) -> Vec<Val> {
        self.signature.result.iter().map(|_| Val::Bool(false)).collect()
    }

    /// What it returned.
    ///
    /// # Errors
    /// More than the limit on output.
    pub(crate) fn returned(&self, results: Vec<Val>, run: &Run<'_>) -> Result<Result<ToolOutput, ToolError>, Fault> {
        let bytes = size(run.limits.output_bytes);
        let convert = |ty: &Type, value| output::output(ty, value, bytes).map_err(|refused| fault(&refused, run));
        let value = match (&self.signature.result, results.into_iter().next()) {
            (None, None) => Value::Null,
            (Some(Type::Result(sides)), Some(Val::Result(result))) => {
                let Sides { ok, err } = &**sides;
                let (is_ok, ty, value) = match result {
                    Ok(value) => (true, ok, value),
                    Err(value) => (false, err, value),
                };
                let value = match (ty, value) {
                    (None, None) => Value::Null,
                    (Some(ty), Some(value)) => convert(ty, *value)?,
                    _ => return Err(fault(&Refused::Type, run)),
                };
                if !is_ok {
                    return Ok(Err(ToolError::Failed(words(&value))));
                }
                value
            }
            (Some(ty), Some(value)) => convert(ty, value)?,
            _ => return Err(fault(&Refused::Type, run)),
        };
        Ok(Ok(ToolOutput { value, format: OutputFormat::Json, cost: None }))
    }
}

/// The memory that the results of one call may take while they are converted.
pub(crate) fn memory(run: &Run<'_>) -> u64 {
    run.limits.output_bytes.saturating_mul(MEMORY_PER_BYTE)
}

/// An error as a message: a text as it is, anything else as JSON.
fn words(error: &Value) -> String {
    let text = match error {
        Value::Null => "it failed, and gave no reason".to_owned(),
        Value::String(text) => answer::lines(text, answer::MAX_MESSAGE),
        other => answer::lines(&canonical::to_string(other), answer::MAX_MESSAGE),
    };
    if text.trim().is_empty() { "no reason given".to_owned() } else { text }
}

fn fault(refused: &Refused, run: &Run<'_>) -> Fault {
    match refused {
        Refused::TooLong => run.fault(Stop::OutputBytes, "its output is too long"),
        Refused::TooMany => answer::nonsense("its output has too many values"),
        Refused::Type => Fault::new(Stop::Host, "its result is not of the type that it was declared with"),
    }
}
