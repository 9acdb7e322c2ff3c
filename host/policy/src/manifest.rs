//! A component's manifest: what it is, what it asks for, and which of its tools' arguments is what.

use std::collections::BTreeMap;

use chio_host_kernel::call::MAX_NAME;
use chio_host_kernel::facts::{ArgumentFact, ArgumentKind};
use chio_host_kernel::operation::Role;

use crate::document::environment::names;
use crate::document::network::network;
use crate::policy::{Access, NetworkGrant};
use crate::problem::{Located, Problems, Report, Spot, quote};
use crate::yaml::{self, Cursor, Fields};

/// What stands in a `manifest.yaml`, beside the component or embedded with it.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The component's name for itself. A policy may call it something else.
    pub name: String,
    /// What it is: `guard`, `hook` or `tool-server`.
    pub role: Role,
    /// One sentence for people.
    pub description: String,
    /// The most it asks of files; `None` when it asks for none.
    pub files: Option<Access>,
    /// The most it asks of the network.
    pub network: AskedNetwork,
    /// The most it asks of the environment.
    pub environment: AskedEnvironment,
    /// For each tool, which argument is what.
    pub arguments: BTreeMap<String, Vec<ArgumentFact>>,
    /// For each tool that needs one, what it does.
    pub descriptions: BTreeMap<String, String>,
    kind_spot: Spot,
    files_spot: Spot,
    network_spot: Spot,
    environment_spot: Spot,
}

/// What a manifest asks of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AskedNetwork {
    /// Nothing.
    #[default]
    Nothing,
    /// These places.
    Places(Vec<NetworkGrant>),
    /// Whatever a policy grants.
    Any,
}

impl AskedNetwork {
    /// Whether a grant stays within what is asked.
    #[must_use]
    pub fn covers(&self, grant: &NetworkGrant) -> bool {
        match self {
            Self::Nothing => false,
            // Whether a name leads into a private network is for the operator to know, and not for a vendor to ask.
            Self::Places(places) => {
                places.iter().any(|place| NetworkGrant { private: true, ..place.clone() }.covers(grant))
            }
            Self::Any => true,
        }
    }
}

/// What a manifest asks of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AskedEnvironment {
    /// Nothing.
    #[default]
    Nothing,
    /// These variables.
    Names(Vec<String>),
    /// Whatever a policy grants.
    Any,
}

impl AskedEnvironment {
    /// Whether a variable is asked for.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Names(names) => names.iter().any(|asked| asked == name),
            Self::Any => true,
        }
    }
}

impl Manifest {
    /// Reads a manifest. `file_name` is what problems call it.
    ///
    /// # Errors
    /// Everything that is wrong with the file, sorted by line.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, Problems> {
        let report = Report::new(file_name);
        let manifest = yaml::read(text, &report).and_then(|tree| {
            let root = Cursor::root(&tree, &report);
            root.fields("a manifest: a mapping with name, kind and permissions", |f| Self::fields(f, root.spot()))?
        });
        report.finish(manifest)
    }

    fn fields(f: &mut Fields<'_, '_>, top: &Spot) -> Option<Self> {
        const KINDS: [(&str, Role); 4] = [
            ("guard", Role::Guard),
            ("hook", Role::OutputHook),
            ("tool-server", Role::ToolServer),
            ("rail", Role::Rail),
        ];
        let name = f.need("name", "the component's name").and_then(|c| {
            let name = c.text("a name")?;
            let is_usable = super::document::is_name(name);
            if !is_usable {
                c.refuse(format!("{} is no usable name; 1 to 64 of A-Z, a-z, 0-9, _ and - are", quote(name)));
            }
            is_usable.then_some(name)
        });
        let kind = f.need("kind", "guard, hook, tool-server or rail").and_then(|c| Some(c.locate(c.choice(&KINDS)?)));
        let description = f.or("description", "", |c| c.text("a sentence"));
        let Asked { files, network, environment } = f.take("permissions").and_then(|c| asked(&c)).unwrap_or_default();
        let described = f.take("arguments");
        let arguments = described.as_ref().and_then(arguments).unwrap_or_default();
        let told = f.take("descriptions");
        let descriptions = told.as_ref().and_then(descriptions).unwrap_or_default();
        let kind = kind?;
        if kind.value != Role::ToolServer {
            if let Some(files) = files.as_ref().filter(|files| files.value.is_some()) {
                f.report().at(&files.spot, "guards and hooks have no files; remove it, or say none");
            }
            if let Some(network) = network.as_ref().filter(|_| kind.value != Role::Rail) {
                f.report().at(&network.spot, "guards and hooks have no network; remove it");
            }
            if let Some(environment) = &environment {
                f.report().at(&environment.spot, "only a tool-server has an environment; remove it");
            }
            let of_tools = [described.filter(|_| !arguments.is_empty()), told.filter(|_| !descriptions.is_empty())];
            for section in of_tools.into_iter().flatten() {
                section.refuse("only a tool-server has tools to describe; remove it");
            }
        }
        Some(Self {
            name: name?.to_owned(),
            role: kind.value,
            description: description.to_owned(),
            files_spot: files.as_ref().map_or_else(|| top.clone(), |files| files.spot.clone()),
            files: files.and_then(|files| files.value),
            network_spot: network.as_ref().map_or_else(|| top.clone(), |network| network.spot.clone()),
            network: network.map(|network| network.value).unwrap_or_default(),
            environment_spot: environment.as_ref().map_or_else(|| top.clone(), |environment| environment.spot.clone()),
            environment: environment.map(|environment| environment.value).unwrap_or_default(),
            arguments,
            descriptions,
            kind_spot: kind.spot,
        })
    }

    /// Where its kind stands.
    pub(crate) fn kind_spot(&self) -> &Spot {
        &self.kind_spot
    }

    /// Where it says what it asks of files, or the file's beginning where it does not.
    pub(crate) fn files_spot(&self) -> &Spot {
        &self.files_spot
    }

    /// Where it says what it asks of the network, or the file's beginning where it does not.
    pub(crate) fn network_spot(&self) -> &Spot {
        &self.network_spot
    }

    /// Where it says what it asks of the environment, or the file's beginning where it does not.
    pub(crate) fn environment_spot(&self) -> &Spot {
        &self.environment_spot
    }
}

/// What a manifest says under `permissions`.
#[derive(Default)]
struct Asked {
    files: Option<Located<Option<Access>>>,
    network: Option<Located<AskedNetwork>>,
    environment: Option<Located<AskedEnvironment>>,
}

fn asked(section: &Cursor<'_>) -> Option<Asked> {
    section.fields("a mapping, such as { files: read }", |f| {
        if let Some(secrets) = f.take("secrets") {
            secrets.refuse("a component never holds a secret, so it asks for none; the policy adds them to requests");
        }
        let files = f.take("files").and_then(|c| {
            let choices = [("none", None), ("read", Some(Access::Read)), ("read-write", Some(Access::ReadWrite))];
            Some(c.locate(c.choice(&choices)?))
        });
        Asked {
            files,
            network: f.take("network").and_then(|c| Some(c.locate(asked_network(&c)?))),
            environment: f.take("environment").and_then(|c| Some(c.locate(asked_environment(&c)?))),
        }
    })
}

const NETWORK: &str = "none, any or a list, such as [{ host: api.example.com }]";

/// `any`, or what a policy grants in the same words.
fn asked_network(cursor: &Cursor<'_>) -> Option<AskedNetwork> {
    if cursor.is_list() {
        let places = network(cursor)?;
        return Some(AskedNetwork::Places(places.into_iter().map(|place| place.value).collect()));
    }
    match cursor.text(NETWORK)? {
        "none" => Some(AskedNetwork::Nothing),
        "any" => Some(AskedNetwork::Any),
        other => {
            cursor.refuse(format!("{} is not {NETWORK}", quote(other)));
            None
        }
    }
}

const ENVIRONMENT: &str = "none, any or a list, such as [LANG, TZ]";

/// `any`, or names: which value a variable has is for the policy to say.
fn asked_environment(cursor: &Cursor<'_>) -> Option<AskedEnvironment> {
    if cursor.is_list() {
        return names(cursor).map(AskedEnvironment::Names);
    }
    match cursor.text(ENVIRONMENT)? {
        "none" => Some(AskedEnvironment::Nothing),
        "any" => Some(AskedEnvironment::Any),
        other => {
            cursor.refuse(format!("{} is not {ENVIRONMENT}", quote(other)));
            None
        }
    }
}

/// `{ tool: [{ at: /path, is: path }] }`
pub(crate) fn arguments(section: &Cursor<'_>) -> Option<BTreeMap<String, Vec<ArgumentFact>>> {
    let entries = section.entries("a mapping of tools, such as read_file: [{ at: /path, is: path }]")?;
    let mut arguments = BTreeMap::new();
    for (tool, cursor) in entries {
        check_tool(section, &tool);
        if let Some(described) = described(&cursor) {
            arguments.insert(tool.value, described);
        }
    }
    Some(arguments)
}

/// `[{ at: /path, is: path }]`
pub(crate) fn described(cursor: &Cursor<'_>) -> Option<Vec<ArgumentFact>> {
    let mut facts: Vec<ArgumentFact> = Vec::new();
    for item in cursor.list("a list, such as [{ at: /path, is: path }]")? {
        let Some(fact) = argument(&item) else { continue };
        if facts.iter().any(|earlier| earlier.at == fact.at) {
            item.refuse(format!("{} is described twice; keep one", quote(&fact.at)));
        }
        facts.push(fact);
    }
    Some(facts)
}

/// `{ tool: what it does }`
fn descriptions(section: &Cursor<'_>) -> Option<BTreeMap<String, String>> {
    let entries = section.entries("a mapping of tools, such as read_file: Reads a file.")?;
    let mut descriptions = BTreeMap::new();
    for (tool, cursor) in entries {
        check_tool(section, &tool);
        if let Some(text) = cursor.text("a sentence") {
            descriptions.insert(tool.value, text.to_owned());
        }
    }
    Some(descriptions)
}

fn check_tool(section: &Cursor<'_>, tool: &Located<String>) {
    if tool.value.is_empty() || tool.value.len() > MAX_NAME || tool.value.chars().any(char::is_control) {
        section.report().at(&tool.spot, "is no usable tool name");
    }
}

fn argument(item: &Cursor<'_>) -> Option<ArgumentFact> {
    const KINDS: [(&str, ArgumentKind); 5] = [
        ("path", ArgumentKind::Path),
        ("url", ArgumentKind::Url),
        ("command", ArgumentKind::Command),
        ("content", ArgumentKind::Content),
        ("text", ArgumentKind::Text),
    ];
    item.fields("a mapping, such as { at: /path, is: path }", |f| {
        let at = f.need("at", "a JSON pointer, such as /path").and_then(|c| {
            let at = c.text("a JSON pointer, such as /path")?;
            let is_pointer = (at.is_empty() || at.starts_with('/')) && at.len() <= 1024;
            if !is_pointer {
                c.refuse(format!("{} is no JSON pointer; /path is", quote(at)));
            }
            is_pointer.then(|| at.to_owned())
        });
        let is = f.need("is", "path, url, command, content or text").and_then(|c| c.choice(&KINDS));
        Some(ArgumentFact { at: at?, is: is? })
    })?
}
