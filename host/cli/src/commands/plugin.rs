//! `plugin inspect`: what a component is, without running any of it.

use std::path::Path;

use chio_host_runtime::{Kind, PlainFunctions, PlainTool, plain_functions};
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::{Common, Format, PluginArgs, PluginCommand};
use crate::error::CliError;
use crate::plugins;
use crate::print;

pub(crate) fn run(common: &Common, args: PluginArgs) -> Result<Outcome, CliError> {
    let PluginCommand::Inspect { component } = args.command;
    let bytes = match component.strip_prefix("builtin:") {
        Some(name) => builtin(name)?.to_vec(),
        None => plugins::read_component(Path::new(&component))?,
    };
    let seen = chio_host_runtime::inspect(&bytes)
        .map_err(|e| CliError::Plugin(format!("{component}: it is no component that this host can load: {e}")))?;
    let mut fields = vec![
        ("component", json!(component)),
        ("world", json!(seen.kind.as_str())),
        ("digest", json!(seen.digest)),
        ("bytes", json!(seen.size)),
        ("imports", json!(seen.imports)),
        ("exports", json!(seen.exports)),
    ];
    if seen.kind == Kind::Plain {
        let functions = plain_functions(&bytes)
            .map_err(|e| CliError::Plugin(format!("{component}: it cannot be a tool server: {e}")))?;
        fields.extend(offered(common.format, &functions));
    }
    print::fields(common.format, &fields)?;
    Ok(Outcome::Done)
}

/// The functions that are tools and those that are not: two lists for programs, a line for each thing for people.
fn offered(format: Format, functions: &PlainFunctions) -> Vec<(&'static str, Value)> {
    let left_out = functions.left_out.iter();
    if format == Format::Json {
        let tools = functions.tools.iter().map(|tool| {
            let PlainTool { description: told, interface, name, .. } = tool;
            json!({
                "name": told.name, "description": told.description, "function": name, "interface": interface,
                "input_schema": told.input_schema, "output_schema": told.output_schema,
            })
        });
        let left_out = left_out.map(|left| json!({ "function": left.function, "why": left.why }));
        return vec![("tools", tools.collect()), ("left_out", left_out.collect())];
    }
    let tools = functions.tools.iter().flat_map(|PlainTool { description: told, .. }| {
        let mut lines = vec![("tool", json!(told.name)), ("  takes", told.input_schema.clone())];
        lines.extend(told.output_schema.clone().map(|schema| ("  returns", schema)));
        lines
    });
    let left_out = left_out.map(|left| ("left out", json!(format!("{}: {}", left.function, left.why))));
    tools.chain(left_out).collect()
}

fn builtin(name: &str) -> Result<&'static [u8], CliError> {
    let all = chio_host_builtin::all();
    all.iter().find(|b| b.name == name).map(|b| b.bytes).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|b| b.name).collect();
        CliError::Usage(format!("there is no built-in {name}; there are {}", names.join(", ")))
    })
}
