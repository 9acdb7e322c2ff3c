//! What a policy does with one component: every entry that uses it, what that entry grants, and where that and what the
//! manifest asks for part. For people who look, so it answers for policies that do not load as well.

use std::path::Path;

use chio_host_kernel::operation::Role;

use super::components::{Asked, Wanted};
use super::{Context, Host, resolve};
use crate::document::{Document, Granted, Source};
use crate::limits::Limits;
use crate::load;
use crate::manifest::{AskedEnvironment, AskedNetwork, Manifest};
use crate::parts::{Beside, Parts};
use crate::policy::{Access, Invoke, NetworkGrant, Origin, Preopen, Scheme, SecretGrant, Variable};
use crate::problem::{Located, Problem, Problems, Report, Spot};

/// An entry that uses a component.
#[derive(Clone, Debug)]
pub struct Use {
    /// `servers.files`.
    pub entry: String,
    /// Its line in the policy.
    pub line: usize,
    /// Whether it takes part.
    pub enabled: bool,
    /// The signer that it names.
    pub signer: Option<String>,
    /// The folders that it grants.
    pub files: Vec<Preopen>,
    /// The places that requests may go to.
    pub network: Vec<NetworkGrant>,
    /// The secrets that requests carry.
    pub secrets: Vec<SecretGrant>,
    /// The environment variables that it sees.
    pub environment: Vec<Variable>,
    /// The tools that its tools may call.
    pub invoke: Vec<Invoke>,
    /// What is asked and not granted, and the other way round.
    pub gaps: Vec<Gap>,
    /// What keeps the policy from loading, of this entry and its component.
    pub problems: Vec<Problem>,
}

/// Something that is asked and not granted, or granted and not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// What.
    pub what: String,
    /// The line that would close it, and whose it is.
    pub line: String,
}

/// Every entry of a policy that uses the component with this digest, in the policy's order.
///
/// # Errors
/// A policy that cannot be read, or whose shape is wrong: then nobody can say what it grants.
pub fn uses(path: &Path, host: &Host<'_>, digest: &str) -> Result<Vec<Use>, Problems> {
    let report = Report::new(&path.display().to_string());
    let Some((text, dir)) = load::open(path, &report) else { return report.finish(None) };
    let document = match Document::read(&text, &report) {
        Some(document) if report.is_empty() => document,
        _ => return report.finish(None),
    };
    resolve(&document, *host, &dir, load::protected(host, Some(path)), &report);
    let problems = report.all();
    // Looked at again without anybody being told what is wrong, which is known.
    let quiet = Report::new("");
    let mut context = Context::new(&document, *host, &dir, load::protected(host, Some(path)), &quiet);
    let found = entries(&document, host).into_iter().filter_map(|entry| context.used(&entry, digest, &problems));
    Ok(found.collect())
}

/// An entry of any section.
struct Entry<'a> {
    section: &'static str,
    wanted: Wanted<'a>,
    enabled: bool,
    granted: Option<&'a Granted>,
    limits: Limits,
}

fn entries<'a>(document: &'a Document, host: &Host<'_>) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for (section, role, plugins) in
        [("guards", Role::Guard, &document.guards), ("hooks", Role::OutputHook, &document.hooks)]
    {
        entries.extend(plugins.iter().map(|entry| Entry {
            section,
            wanted: entry.wanted(role),
            enabled: entry.enabled,
            granted: None,
            limits: entry.limits.over(host.defaults.of(role)),
        }));
    }
    entries.extend(document.servers.iter().map(|entry| Entry {
        section: "servers",
        wanted: entry.wanted(),
        enabled: true,
        granted: Some(&entry.granted),
        limits: entry.limits.over(&host.defaults.tool),
    }));
    entries.extend(document.rails.iter().map(|entry| Entry {
        section: "rails",
        wanted: entry.wanted(),
        enabled: true,
        granted: Some(&entry.granted),
        limits: entry.limits.over(&host.defaults.rail),
    }));
    // Built-ins that only a grant names, once each.
    let named =
        document.capabilities.iter().flat_map(|capability| &capability.grants).filter_map(|g| g.server.as_ref());
    let mut implied: Vec<&Located<String>> = Vec::new();
    for name in named {
        let is_known = |other: &Located<String>| other.value == name.value;
        if !document.servers.iter().any(|server| is_known(&server.name)) && !implied.iter().any(|i| is_known(i)) {
            implied.push(name);
        }
    }
    entries.extend(implied.into_iter().map(|name| Entry {
        section: "servers",
        wanted: Wanted { source: &Source::Named, name, role: Role::ToolServer, signer: None },
        enabled: true,
        granted: None,
        limits: host.defaults.tool,
    }));
    entries
}

impl Context<'_> {
    /// What an entry does with the component, if it uses it.
    fn used(&mut self, entry: &Entry<'_>, digest: &str, problems: &[Problem]) -> Option<Use> {
        let (parts, spot) = self.find(&entry.wanted, &entry.limits).filter(|(parts, _)| parts.digest == digest)?;
        let (name, role) = (entry.wanted.name, entry.wanted.role);
        let path = format!("{}.{}", entry.section, name.value);
        let nothing = Granted::default();
        let granted = entry.granted.unwrap_or(&nothing);
        let manifest = match self.asked(&parts, spot, role) {
            Some(Asked::Manifest(manifest)) => Some(manifest),
            _ => None,
        };
        Some(Use {
            line: name.spot.line,
            enabled: entry.enabled,
            signer: entry.wanted.signer.map(|signer| signer.value.clone()),
            files: granted.files.iter().map(|grant| self.preopen(grant)).collect(),
            network: granted.network.iter().map(|grant| grant.value.clone()).collect(),
            secrets: granted.secrets.iter().map(|secret| secret.grant.clone()).collect(),
            environment: granted.environment.iter().map(|variable| variable.value.clone()).collect(),
            invoke: granted.invoke.iter().map(super::servers::invoke).collect(),
            gaps: gaps(&path, granted, manifest.as_deref(), &parts),
            problems: problems.iter().filter(|p| is_about(p, &path, spot, &parts)).cloned().collect(),
            entry: path,
        })
    }
}

/// Whether a problem is one of an entry's: it stands in it, where its component is named, or in its manifest.
fn is_about(problem: &Problem, entry: &str, spot: &Spot, parts: &Parts) -> bool {
    let below = problem.path.strip_prefix(entry);
    let is_in_entry = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let is_at_spot = problem.path == spot.path;
    (problem.file == spot.file && (is_in_entry || is_at_spot)) || *problem.file == parts.file(Beside::Manifest)
}

/// Where the manifest and the entry part.
fn gaps(entry: &str, granted: &Granted, manifest: Option<&Manifest>, parts: &Parts) -> Vec<Gap> {
    let asks = |what: &str| match parts.origin {
        Origin::Builtin(_) => "remove it from the policy: a built-in's manifest is what it is".to_owned(),
        Origin::File(_) => format!("{}: permissions: {{ {what} }}", parts.file(Beside::Manifest)),
    };
    let grants = |what: &str| format!("{entry}.permissions.{what}");
    let mut gaps = files_gaps(granted, manifest, &asks, &grants);
    gaps.extend(network_gaps(granted, manifest, &asks, &grants));
    gaps.extend(environment_gaps(granted, manifest, &asks, &grants));
    gaps
}

/// Writes the line that would close a gap.
type Line<'a> = dyn Fn(&str) -> String + 'a;

fn files_gaps(granted: &Granted, manifest: Option<&Manifest>, asks: &Line<'_>, grants: &Line<'_>) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let asked = manifest.and_then(|manifest| manifest.files);
    let most = granted.files.iter().map(|folder| folder.access.value).max();
    let shown = |access: Option<Access>| access.map_or("none", Access::as_str);
    if let Some(access) = asked.filter(|access| Some(*access) > most) {
        gaps.push(Gap {
            what: format!("it asks for files: {}, and is granted {}", access.as_str(), shown(most)),
            line: grants(&format!("files: [{{ path: ./workspace, access: {} }}]", access.as_str())),
        });
    }
    if let Some(access) = most.filter(|access| Some(*access) > asked) {
        gaps.push(Gap {
            what: format!("it is granted files: {}, and asks for {}", access.as_str(), shown(asked)),
            line: asks(&format!("files: {}", access.as_str())),
        });
    }
    gaps
}

fn network_gaps(granted: &Granted, manifest: Option<&Manifest>, asks: &Line<'_>, grants: &Line<'_>) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let network = manifest.map_or(&AskedNetwork::Nothing, |manifest| &manifest.network);
    match network {
        AskedNetwork::Any if granted.network.is_empty() => gaps.push(Gap {
            what: "it asks for the network, and is granted no host".to_owned(),
            line: grants("network: [{ host: api.example.com }]"),
        }),
        AskedNetwork::Places(places) => {
            let is_granted = |place: &&NetworkGrant| granted.network.iter().any(|grant| grant.value.covers(place));
            gaps.extend(places.iter().filter(|place| !is_granted(place)).map(|place| Gap {
                what: format!("it asks for {place}, and is not granted that"),
                line: grants(&format!("network: [{}]", written(place))),
            }));
        }
        AskedNetwork::Any | AskedNetwork::Nothing => {}
    }
    let not_asked = granted.network.iter().filter(|grant| !network.covers(&grant.value));
    gaps.extend(not_asked.map(|grant| Gap {
        what: format!("it is granted {}, and does not ask for that", grant.value),
        line: asks(&format!("network: [{}]", written(&grant.value))),
    }));
    gaps
}

/// A variable as a policy writes it may hold anything; what is said here are names, which a line can hold as they are.
fn environment_gaps(granted: &Granted, manifest: Option<&Manifest>, asks: &Line<'_>, grants: &Line<'_>) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let asked = manifest.map_or(&AskedEnvironment::Nothing, |manifest| &manifest.environment);
    match asked {
        AskedEnvironment::Any if granted.environment.is_empty() => gaps.push(Gap {
            what: "it asks for environment variables, and is granted none".to_owned(),
            line: grants("environment: [LANG]"),
        }),
        AskedEnvironment::Names(names) => {
            let is_granted = |name: &&String| granted.environment.iter().any(|grant| grant.value.name == **name);
            gaps.extend(names.iter().filter(|name| !is_granted(name)).map(|name| Gap {
                what: format!("it asks for the variable {name}, and is not granted that"),
                line: grants(&format!("environment: [{name}]")),
            }));
        }
        AskedEnvironment::Any | AskedEnvironment::Nothing => {}
    }
    let names = granted.environment.iter().map(|grant| &grant.value.name);
    gaps.extend(names.filter(|name| !asked.covers(name)).map(|name| Gap {
        what: format!("it is granted the variable {name}, and does not ask for that"),
        line: asks(&format!("environment: [{name}]")),
    }));
    gaps
}

/// A place as a policy and a manifest write it.
fn written(place: &NetworkGrant) -> String {
    let mut fields = Vec::new();
    if place.scheme == Scheme::Http {
        fields.push("scheme: http".to_owned());
    }
    // An asterisk in front would be an alias.
    let is_plain = !place.host.starts_with('*') && !place.host.contains(':');
    fields.push(if is_plain { format!("host: {}", place.host) } else { format!("host: \"{}\"", place.host) });
    if place.port != place.scheme.default_port() {
        fields.push(format!("port: {}", place.port));
    }
    format!("{{ {} }}", fields.join(", "))
}
