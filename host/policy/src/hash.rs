//! `policy_hash`: what a receipt says was in force.

use std::collections::BTreeMap;

use chio_host_kernel::canonical;
use serde::Serialize;

use crate::policy::{Account, KernelPolicy, Plugin, Policy, Rail, SecretSource, Server, TemplateGrant};
use crate::trust::Trust;

/// The format of what is hashed; another format gets another name.
const SCHEMA: &str = "chio.policy.v1";

/// The order of guards and hooks matters and is kept. Servers, accounts and capabilities are looked up by name, so
/// their order does not count.
#[derive(Serialize)]
struct Hashed<'a> {
    schema: &'static str,
    kernel: &'a KernelPolicy,
    /// Absent where the policy says nothing of whom it trusts, so that one without keeps its hash.
    #[serde(skip_serializing_if = "Trust::says_nothing")]
    plugins: &'a Trust,
    guards: &'a [Plugin],
    hooks: &'a [Plugin],
    servers: BTreeMap<&'a str, &'a Server>,
    /// Names and sources, never a value. Absent where there is none, so that a policy without keeps its hash.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    secrets: BTreeMap<&'a str, &'a SecretSource>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    rails: BTreeMap<&'a str, &'a Rail>,
    accounts: BTreeMap<&'a str, &'a Account>,
    capabilities: BTreeMap<&'a str, &'a [TemplateGrant]>,
}

/// SHA-256 of the canonical JSON of a resolved policy, lower-case hex. Covers the digest, the configuration and the
/// effective limits of every component that takes part, and not where files were found.
pub(crate) fn policy_hash(policy: &Policy) -> String {
    let hashed = Hashed {
        schema: SCHEMA,
        kernel: &policy.kernel,
        plugins: &policy.trust,
        guards: &policy.guards,
        hooks: &policy.hooks,
        servers: policy.servers.iter().map(|server| (server.plugin.name.as_str(), server)).collect(),
        secrets: policy.secrets.iter().map(|secret| (secret.name.as_str(), &secret.source)).collect(),
        rails: policy.rails.iter().map(|rail| (rail.plugin.name.as_str(), rail)).collect(),
        accounts: policy.accounts.iter().map(|account| (account.name.as_str(), account)).collect(),
        capabilities: policy.capabilities.iter().map(|c| (c.name.as_str(), c.grants.as_slice())).collect(),
    };
    canonical::hash(&serde_json::to_value(hashed).expect("a policy is plain data with text keys"))
}
