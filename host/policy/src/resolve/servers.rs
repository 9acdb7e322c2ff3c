//! Tool servers: what the manifest asks, what the policy grants, and what holds.

use std::collections::BTreeMap;

use chio_host_kernel::facts::ArgumentFact;
use serde_json::Value;

use super::Context;
use super::components::Asked;
use crate::document::{Document, InvokeGrant, ServerEntry};
use crate::policy::{Invoke, Outbound, Plugin, Server};
use crate::problem::Located;

impl Context<'_> {
    pub(super) fn servers(&mut self, document: &Document) -> Vec<Server> {
        document.servers.iter().filter_map(|entry| self.server(entry, document)).collect()
    }

    fn server(&mut self, entry: &ServerEntry, document: &Document) -> Option<Server> {
        let limits = entry.limits.over(&self.host.defaults.tool);
        let (component, asked) = self.component(&entry.wanted(), &limits)?;
        if let Some(price) = &entry.price
            && price.value.at_most(limits.fuel).is_none()
        {
            let message =
                format!("a call with {} units of fuel could cost more than fits; lower one of them", limits.fuel);
            self.report.at(&price.spot, message);
        }
        let files = self.granted(&entry.granted.files, &asked);
        let outbound = self.outbound(&entry.granted, &asked, document);
        Some(Server {
            plugin: Plugin {
                name: entry.name.value.clone(),
                component,
                config: entry.config.clone(),
                limits,
                signer: entry.signer.as_ref().map(|signer| signer.value.clone()),
            },
            files,
            invoke: entry.granted.invoke.iter().map(invoke).collect(),
            outbound,
            environment: self.environment(&entry.granted.environment, &asked, document),
            price: entry.price.as_ref().map(|price| price.value.clone()),
            arguments: described(&asked, &entry.arguments),
            descriptions: descriptions(&asked),
        })
    }

    /// A built-in server of which the policy says nothing: no configuration, no permission, no price.
    pub(super) fn implied_server(&mut self, named: &Located<String>) -> Option<Server> {
        let name = named.value.as_str();
        let (component, asked) = self.implied(name, &named.spot)?;
        Some(Server {
            plugin: Plugin {
                name: name.to_owned(),
                component,
                config: Value::Null,
                limits: self.host.defaults.tool,
                signer: None,
            },
            files: Vec::new(),
            invoke: Vec::new(),
            outbound: Outbound::default(),
            environment: Vec::new(),
            price: None,
            arguments: described(&asked, &BTreeMap::new()),
            descriptions: descriptions(&asked),
        })
    }
}

pub(super) fn invoke(grant: &InvokeGrant) -> Invoke {
    Invoke { server: grant.server.value.clone(), tool: grant.tool.clone() }
}

fn descriptions(asked: &Asked) -> BTreeMap<String, String> {
    match asked {
        Asked::Manifest(manifest) => manifest.descriptions.clone(),
        Asked::Imports(_) | Asked::Nothing(_) => BTreeMap::new(),
    }
}

/// What the manifest says of arguments; of the same one, the policy has the last word.
fn described(asked: &Asked, policy: &BTreeMap<String, Vec<ArgumentFact>>) -> BTreeMap<String, Vec<ArgumentFact>> {
    let mut all = match asked {
        Asked::Manifest(manifest) => manifest.arguments.clone(),
        Asked::Imports(_) | Asked::Nothing(_) => BTreeMap::new(),
    };
    for (tool, facts) in policy {
        let known = all.entry(tool.clone()).or_default();
        known.retain(|fact| facts.iter().all(|f| f.at != fact.at));
        known.extend(facts.iter().cloned());
    }
    all
}
