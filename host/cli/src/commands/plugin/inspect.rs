//! `plugin inspect`: what a component is, what it asks for, who signed it, and what a policy grants it.

use std::path::Path;

use chio_host_kernel::call::EffectClass;
use chio_host_policy::{self as policy, AskedEnvironment, AskedNetwork, Beside, Manifest, Origin, Parts, Use};
use chio_host_runtime::{
    Access, Inspection, Kind, Live, PlainFunctions, PlainTool, calls_tools, check_imports, effect_class,
    plain_functions,
};
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::{Common, Format};
use crate::component::{inspected, kind, manifest, read_any, role};
use crate::error::CliError;
use crate::folders::Folders;
use crate::print;
use crate::rules;

pub(super) fn run(common: &Common, component: &str, policy: Option<&Path>) -> Result<Outcome, CliError> {
    let parts = read_any(component)?;
    let seen = inspected(&parts)?;
    let manifest = manifest(&parts)?;
    let uses = match policy {
        Some(path) => Some((path, rules::uses_of(&Folders::of(common)?, path, &parts.digest)?)),
        None => None,
    };
    let functions = match seen.kind {
        Kind::Plain => Some(
            plain_functions(&parts.component)
                .map_err(|e| CliError::Plugin(format!("{component}: it cannot be a tool server: {e}")))?,
        ),
        _ => None,
    };
    let found = Found { parts, seen, manifest, functions };
    match common.format {
        Format::Json => {
            let mut whole = found.json();
            if let Some((_, uses)) = &uses {
                whole["uses"] = uses.iter().map(|entry| found.use_json(entry)).collect();
            }
            print::document(Format::Json, &whole)?;
        }
        Format::Human => {
            let mut fields = found.fields();
            if let Some((path, uses)) = &uses {
                if uses.is_empty() {
                    fields.push(("entry", json!(format!("none: nothing in {} uses it", path.display()))));
                }
                fields.extend(uses.iter().flat_map(|entry| found.use_fields(entry, path)));
            }
            print::fields(Format::Human, &fields)?;
        }
    }
    Ok(Outcome::Done)
}

/// All that is known of a component.
struct Found {
    parts: Parts,
    seen: Inspection,
    manifest: Option<Manifest>,
    /// What it offers, where it was not written for this host.
    functions: Option<PlainFunctions>,
}

impl Found {
    /// Why no host would load it, if none would.
    fn unloadable(&self) -> Option<String> {
        if role(&self.seen).is_none() {
            return Some("it is of none of the worlds of a plugin, or of more than one".to_owned());
        }
        check_imports(&self.seen).err().map(|error| error.to_string())
    }

    fn effect(&self, files: Option<policy::Access>, network: bool, environment: bool) -> EffectClass {
        let files = files.map(|access| match access {
            policy::Access::Read => Access::Read,
            policy::Access::ReadWrite => Access::ReadWrite,
        });
        effect_class(&self.seen, Live { files, network, environment })
    }

    /// What it can do without any grant, and with all that its manifest asks for.
    fn effects(&self) -> (EffectClass, EffectClass) {
        let asked = self.manifest.as_ref();
        let network = asked.is_some_and(|manifest| manifest.network != AskedNetwork::Nothing);
        let environment = asked.is_some_and(|manifest| manifest.environment != AskedEnvironment::Nothing);
        let files = asked.and_then(|manifest| manifest.files);
        (self.effect(None, false, false), self.effect(files, network, environment))
    }

    fn use_effect(&self, entry: &Use) -> EffectClass {
        let files = entry.files.iter().map(|folder| folder.access).max();
        self.effect(files, !entry.network.is_empty(), !entry.environment.is_empty())
    }

    /// Who signed it, or what is wrong with that.
    fn signer(&self) -> Signer {
        match (&self.parts.origin, policy::verify(&self.parts)) {
            (Origin::Builtin(_), _) => Signer::Host,
            (_, Ok(key)) => Signer::Valid(key),
            (_, Err(problems)) => match self.parts.signature {
                None => Signer::None,
                Some(_) => Signer::Wrong(problems.iter().map(ToString::to_string).collect()),
            },
        }
    }

    /// An entry's gaps: those of its grants, and the tools that it cannot call.
    fn gaps(&self, entry: &Use) -> Vec<(String, String)> {
        let mut gaps: Vec<_> = entry.gaps.iter().map(|gap| (gap.what.clone(), gap.line.clone())).collect();
        if calls_tools(&self.seen) && entry.invoke.is_empty() {
            gaps.push((
                "it imports calls of other tools, and is granted none".to_owned(),
                format!("{}.permissions.invoke: [{{ server: hello, tool: hello_world }}]", entry.entry),
            ));
        }
        gaps
    }

    fn json(&self) -> Value {
        let (bare, asked) = self.effects();
        let (state, signer, problems) = match self.signer() {
            Signer::Host => ("host", None, Vec::new()),
            Signer::None => ("none", None, Vec::new()),
            Signer::Valid(key) => ("valid", Some(key), Vec::new()),
            Signer::Wrong(problems) => ("wrong", None, problems),
        };
        let mut whole = json!({
            "component": self.parts.name,
            "world": self.seen.kind.as_str(),
            "digest": self.seen.digest,
            "bytes": self.seen.size,
            "imports": self.seen.imports,
            "exports": self.seen.exports,
            "unloadable": self.unloadable(),
            "effect": { "ungranted": bare, "as_asked": asked },
            "signature": { "state": state, "signer": signer, "problems": problems },
            "manifest": self.manifest.as_ref().map(|manifest| json!({
                "file": self.parts.file(Beside::Manifest),
                "name": manifest.name,
                "kind": kind(manifest.role),
                "description": manifest.description,
                "files": files(manifest),
                "network": network(&manifest.network),
                "environment": environment(&manifest.environment),
                "arguments": manifest.arguments,
            })),
        });
        for (name, value) in self.functions.iter().flat_map(|functions| offered(Format::Json, functions)) {
            whole[name] = value;
        }
        whole
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let (bare, asked) = self.effects();
        let mut fields = vec![
            ("component", json!(self.parts.name)),
            ("world", json!(self.seen.kind.as_str())),
            ("digest", json!(self.seen.digest)),
            ("bytes", json!(self.seen.size)),
            ("imports", json!(self.seen.imports)),
            ("exports", json!(self.seen.exports)),
        ];
        fields.extend(self.functions.iter().flat_map(|functions| offered(Format::Human, functions)));
        fields.extend(self.unloadable().map(|why| ("unloadable", json!(why))));
        fields.push((
            "effect",
            if bare == asked {
                json!(bare)
            } else {
                json!(format!("{}; {} with all that it asks for", text(&json!(bare)), text(&json!(asked))))
            },
        ));
        match self.signer() {
            Signer::Host => fields.push(("signer", json!("none needed: it is the host's own"))),
            Signer::None => fields.push(("signer", json!("none: nobody signed it"))),
            Signer::Valid(key) => fields.push(("signer", json!(key))),
            Signer::Wrong(problems) => {
                fields.push(("signer", json!("NOT VALID")));
                fields.extend(problems.into_iter().map(|problem| ("problem", Value::from(problem))));
            }
        }
        let Some(manifest) = &self.manifest else {
            fields.push(("manifest", json!(format!("none: there is no {}", self.parts.file(Beside::Manifest)))));
            return fields;
        };
        fields.push(("manifest", json!(self.parts.file(Beside::Manifest))));
        fields.push(("files", json!(files(manifest))));
        fields.push(("network", network(&manifest.network)));
        fields.push(("environment", environment(&manifest.environment)));
        let facts = manifest.arguments.iter().flat_map(|(tool, facts)| facts.iter().map(move |fact| (tool, fact)));
        fields.extend(facts.map(|(tool, fact)| {
            let is = json!(fact.is);
            ("argument", json!(format!("{tool} {} is {}", fact.at, text(&is))))
        }));
        fields
    }

    fn use_json(&self, entry: &Use) -> Value {
        let gaps = self.gaps(entry);
        json!({
            "entry": entry.entry,
            "line": entry.line,
            "enabled": entry.enabled,
            "signer": entry.signer,
            "effect": self.use_effect(entry),
            "files": entry.files,
            "network": entry.network,
            "secrets": entry.secrets,
            "environment": entry.environment,
            "invoke": entry.invoke,
            "gaps": gaps.iter().map(|(what, line)| json!({ "what": what, "line": line })).collect::<Vec<_>>(),
            "problems": entry.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }

    fn use_fields(&self, entry: &Use, path: &Path) -> Vec<(&'static str, Value)> {
        let off = if entry.enabled { "" } else { ", switched off" };
        let mut fields = vec![("entry", json!(format!("{} ({}:{}{off})", entry.entry, path.display(), entry.line)))];
        fields.push(("effect", json!(self.use_effect(entry))));
        fields.extend(entry.signer.iter().map(|signer| ("signer", json!(format!("{signer} has to have signed it")))));
        let mut granted: Vec<String> = Vec::new();
        granted.extend(entry.files.iter().map(|f| format!("files: {} at {}, {}", f.path, f.at, f.access.as_str())));
        granted.extend(entry.network.iter().map(|place| format!("network: {place}")));
        granted.extend(entry.secrets.iter().map(|s| format!("secret: {} as {} for {}", s.name, s.header, s.host)));
        granted.extend(entry.environment.iter().map(|v| match &v.value {
            Some(value) => format!("environment: {}={value}", v.name),
            None => format!("environment: {}, the host's own", v.name),
        }));
        granted.extend(entry.invoke.iter().map(|invoke| format!("calls: {}/{}", invoke.server, invoke.tool)));
        if granted.is_empty() {
            granted.push("nothing".to_owned());
        }
        fields.extend(granted.into_iter().map(|granted| ("granted", Value::from(granted))));
        for (what, line) in self.gaps(entry) {
            fields.push(("gap", json!(what)));
            fields.push(("line", json!(line)));
        }
        fields.extend(entry.problems.iter().map(|problem| ("problem", json!(problem.to_string()))));
        fields
    }
}

/// Who vouches for a component.
enum Signer {
    /// The host's own binary holds it.
    Host,
    None,
    Valid(String),
    Wrong(Vec<String>),
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

fn files(manifest: &Manifest) -> &'static str {
    manifest.files.map_or("none", policy::Access::as_str)
}

fn network(asked: &AskedNetwork) -> Value {
    match asked {
        AskedNetwork::Nothing => json!("none"),
        AskedNetwork::Any => json!("any"),
        AskedNetwork::Places(places) => places.iter().map(|place| json!(place.to_string())).collect(),
    }
}

fn environment(asked: &AskedEnvironment) -> Value {
    match asked {
        AskedEnvironment::Nothing => json!("none"),
        AskedEnvironment::Any => json!("any"),
        AskedEnvironment::Names(names) => json!(names),
    }
}

/// A word that is serialised as one.
fn text(word: &Value) -> &str {
    word.as_str().unwrap_or_default()
}
