//! A policy as it is written: shapes checked, nothing looked up yet.

mod capabilities;
pub(crate) mod environment;
mod kernel;
pub(crate) mod money;
pub(crate) mod network;
mod plugins;
mod rails;
mod secrets;
mod servers;
mod trust;

use chio_host_kernel::canonical::sha256_hex;
use chio_host_kernel::operation::Role;

use crate::policy::KernelPolicy;
use crate::problem::{Located, Problems, Report, quote};
use crate::yaml::{self, Cursor, Fields};

pub(crate) use capabilities::{CapabilityEntry, CostCap, GrantEntry};
pub(crate) use money::AccountEntry;
pub(crate) use plugins::{PluginEntry, Source};
pub(crate) use rails::RailEntry;
pub(crate) use secrets::{SecretEntry, SecretGrantEntry};
pub(crate) use servers::{FileGrant, Granted, InvokeGrant, ServerEntry};
pub(crate) use trust::{Blocklist, TrustEntry, is_digest};

/// A policy file that was read and whose shape is right. [`crate::load()`] makes a [`crate::Policy`] of one.
#[derive(Debug, Default)]
pub struct Document {
    pub(crate) source_hash: String,
    pub(crate) kernel: KernelPolicy,
    /// `None` where it was refused, so that nothing is measured against it.
    pub(crate) max_capability_ttl: Option<u64>,
    pub(crate) guards: Vec<PluginEntry>,
    pub(crate) hooks: Vec<PluginEntry>,
    pub(crate) servers: Vec<ServerEntry>,
    pub(crate) secrets: Vec<SecretEntry>,
    pub(crate) rails: Vec<RailEntry>,
    pub(crate) accounts: Vec<AccountEntry>,
    pub(crate) capabilities: Vec<CapabilityEntry>,
    pub(crate) trust: TrustEntry,
}

impl Document {
    /// SHA-256 of the file's bytes, lower-case hex.
    #[must_use]
    pub fn source_hash(&self) -> &str {
        &self.source_hash
    }

    /// Reads what can be read; what cannot is in the report.
    pub(crate) fn read(text: &str, report: &Report) -> Option<Self> {
        let tree = yaml::read(text, report)?;
        let mut document = Self { source_hash: sha256_hex(text.as_bytes()), ..Self::default() };
        Cursor::root(&tree, report).fields("a policy: a mapping with guards, servers and capabilities", |f| {
            document.sections(f);
        })?;
        Some(document)
    }

    fn sections(&mut self, f: &mut Fields<'_, '_>) {
        (self.kernel, self.max_capability_ttl) = kernel::read(f.take("kernel"));
        self.guards = f.or("guards", Vec::new(), |c| plugins::read(&c, Role::Guard));
        self.hooks = f.or("hooks", Vec::new(), |c| plugins::read(&c, Role::OutputHook));
        self.servers = f.or("servers", Vec::new(), |c| servers::read(&c));
        self.secrets = f.or("secrets", Vec::new(), |c| secrets::read(&c));
        self.rails = f.or("rails", Vec::new(), |c| rails::read(&c));
        self.accounts = f.or("accounts", Vec::new(), |c| money::accounts(&c));
        self.capabilities = f.or("capabilities", Vec::new(), |c| capabilities::read(&c));
        self.trust = f.or("plugins", TrustEntry::default(), |c| trust::read(&c));
    }
}

/// Reads a policy and checks its shape: keys, types, ranges. `file_name` is what problems call it.
///
/// # Errors
/// Everything that is wrong with the file, sorted by line.
pub fn parse(text: &str, file_name: &str) -> Result<Document, Problems> {
    let report = Report::new(file_name);
    let document = Document::read(text, &report);
    report.finish(document)
}

/// The most entries in one section.
const MAX_ENTRIES: usize = 64;

/// The named entries of a section, with names that a receipt and a log can hold.
fn named<'a>(section: &Cursor<'a>, needed: &str) -> Option<Vec<(Located<String>, Cursor<'a>)>> {
    let entries = section.entries(needed)?;
    if entries.len() > MAX_ENTRIES {
        section.refuse(format!("holds {} entries; at most {MAX_ENTRIES} are read", entries.len()));
        return None;
    }
    for (name, _) in &entries {
        if !is_name(&name.value) {
            let message = format!("{} is no usable name; 1 to 64 of A-Z, a-z, 0-9, _ and - are", quote(&name.value));
            section.report().at(&name.spot, message);
        }
    }
    Some(entries)
}

pub(crate) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// A path on the host or in a guest.
fn path<'a>(cursor: &Cursor<'a>) -> Option<&'a str> {
    let path = cursor.text("a path")?;
    if path.is_empty() || path.len() > 4096 || path.chars().any(char::is_control) {
        cursor.refuse("is no usable path; it is empty, too long, or holds control characters");
        return None;
    }
    Some(path)
}

/// An Ed25519 public key.
pub(crate) fn public_key(cursor: &Cursor<'_>) -> Option<String> {
    let text = cursor.text("a public key: 64 lower-case hex digits")?;
    match chio_host_kernel::keys::PublicKey::from_hex(text) {
        Ok(key) => Some(key.hex().to_owned()),
        Err(error) => {
            cursor.refuse(error.to_string());
            None
        }
    }
}
