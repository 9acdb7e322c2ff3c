//! A policy in force: everything looked up, read, checked and hashed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use chio_host_kernel::capability::{Grant, Scope};
use chio_host_kernel::facts::ArgumentFact;
use chio_host_kernel::money::Money;
use chio_host_kernel::{MAX_NESTED_DEPTH, Price};
use serde::Serialize;
use serde_json::Value;

use crate::limits::Limits;
use crate::protected::Protected;
use crate::trust::Trust;

/// A policy that was loaded. What is serialised of it is what `policy_hash` covers.
#[derive(Clone, Debug)]
pub struct Policy {
    /// What holds for every call.
    pub kernel: KernelPolicy,
    /// Whose components may take part.
    pub trust: Trust,
    /// The guards that take part, in the order in which they judge.
    pub guards: Vec<Plugin>,
    /// The output hooks that take part, in the order in which they inspect.
    pub hooks: Vec<Plugin>,
    /// The tool servers: those of the policy, then the built-in ones that only a capability names.
    pub servers: Vec<Server>,
    /// Where secrets come from.
    pub secrets: Vec<Secret>,
    /// Payment rails.
    pub rails: Vec<Rail>,
    /// Prepaid accounts.
    pub accounts: Vec<Account>,
    /// What the host issues to its own agent.
    pub capabilities: Vec<CapabilityTemplate>,
    /// SHA-256 of the canonical JSON of the policy as resolved, lower-case hex. See [`crate::load()`].
    pub policy_hash: String,
    /// SHA-256 of the file's bytes, lower-case hex.
    pub source_hash: String,
    /// The folder that paths are relative to, canonical.
    pub dir: PathBuf,
    /// What no folder that is granted may expose, to be asked again when one is opened.
    pub protected: Protected,
}

/// `kernel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelPolicy {
    /// The longest lifetime of a capability, in seconds; 600 unless said otherwise.
    pub max_capability_ttl_secs: u64,
    /// How many hands a capability may go through; none unless said otherwise.
    pub delegation_depth_limit: u32,
    /// How deep tools may call tools.
    pub nested_depth_limit: u32,
    /// Whether revocations may be kept in memory alone, and be forgotten by a restart.
    pub allow_ephemeral_revocation_store: bool,
    /// Which calls are recorded durably before they run.
    pub durable_admission: DurableAdmission,
    /// Who may approve.
    pub approvals: ApprovalPolicy,
    /// Execution nonces.
    pub nonce: NoncePolicy,
    /// Time limits of whole stages.
    pub deadlines: Deadlines,
    /// What is kept beyond receipts.
    pub retention: Retention,
}

impl Default for KernelPolicy {
    fn default() -> Self {
        Self {
            max_capability_ttl_secs: 600,
            delegation_depth_limit: 0,
            nested_depth_limit: MAX_NESTED_DEPTH,
            allow_ephemeral_revocation_store: false,
            durable_admission: DurableAdmission::SideEffecting,
            approvals: ApprovalPolicy::default(),
            nonce: NoncePolicy::default(),
            deadlines: Deadlines::default(),
            retention: Retention::default(),
        }
    }
}

/// `kernel.durable_admission`: which calls are recorded durably before they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DurableAdmission {
    /// Calls of tools that can have effects, and all that are counted, held or parked.
    SideEffecting,
    /// Every call.
    All,
}

/// `kernel.approvals`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApprovalPolicy {
    /// Public keys of those who may approve, lower-case hex.
    pub approvers: Vec<String>,
    /// How long a call waits for one of them, in seconds; an hour unless said otherwise.
    pub ttl_secs: u64,
}

impl Default for ApprovalPolicy {
    fn default() -> Self {
        Self { approvers: Vec::new(), ttl_secs: 3600 }
    }
}

/// `kernel.nonce`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NoncePolicy {
    /// Whether a call needs one.
    pub require: bool,
    /// How long one is good, in seconds.
    pub ttl_secs: u64,
}

impl Default for NoncePolicy {
    fn default() -> Self {
        Self { require: false, ttl_secs: 30 }
    }
}

/// `kernel.deadlines`: wall clock for a stage of one call as a whole. The limits of each plugin hold beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Deadlines {
    /// For all guards of a call together, in milliseconds.
    pub guards_ms: Option<u64>,
    /// For the tool, in milliseconds.
    pub tool_ms: Option<u64>,
}

/// `kernel.retention`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Retention {
    /// Whether outputs are kept, for replays of a finished call.
    pub keep_outputs: bool,
}

/// A component's bytes and where they came from. [`Trust::admit`] alone makes one, of the bytes that it checked.
#[derive(Clone, Serialize)]
#[non_exhaustive]
pub struct Component {
    /// The component.
    #[serde(skip)]
    pub bytes: Arc<[u8]>,
    /// SHA-256 of the bytes, lower-case hex.
    pub digest: String,
    /// Where it was found. Not hashed: a component is its bytes.
    #[serde(skip)]
    pub origin: Origin,
    /// Calls on which its maker tried it, if they came with it. Not hashed: they change nothing that it does.
    #[serde(skip)]
    pub fixtures: Option<Arc<[u8]>>,
    /// Who signed it, where somebody did: a public key, lower-case hex. Not hashed: who may is.
    #[serde(skip)]
    pub signed_by: Option<String>,
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component")
            .field("digest", &self.digest)
            .field("origin", &self.origin)
            .field("signed_by", &self.signed_by)
            .field("bytes", &self.bytes.len())
            .field("fixtures", &self.fixtures.as_ref().map(|fixtures| fixtures.len()))
            .finish()
    }
}

/// Where a component was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the host's own binary, under this name.
    Builtin(String),
    /// In this file, canonical: the component's own, or a package.
    File(PathBuf),
}

/// A guard or an output hook.
#[derive(Clone, Debug, Serialize)]
pub struct Plugin {
    /// Its name in the policy.
    pub name: String,
    /// What runs.
    pub component: Component,
    /// Its configuration: an object, or null where the policy gives none.
    pub config: Value,
    /// Its limits, the host's defaults included.
    pub limits: Limits,
    /// The public key that must have signed it, lower-case hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
}

/// A tool server.
#[derive(Clone, Debug, Serialize)]
pub struct Server {
    /// What runs, under the server's name.
    #[serde(flatten)]
    pub plugin: Plugin,
    /// The folders it may open: what its manifest asks and the policy grants.
    pub files: Vec<Preopen>,
    /// What its tools may call themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invoke: Vec<Invoke>,
    /// What it may send, and with which secrets.
    #[serde(flatten)]
    pub outbound: Outbound,
    /// The environment variables that it sees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<Variable>,
    /// What its calls cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// For each tool, which argument is what: the manifest's word, save where the policy says otherwise.
    pub arguments: BTreeMap<String, Vec<ArgumentFact>>,
    /// For each tool of which the manifest says it, what it does.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub descriptions: BTreeMap<String, String>,
}

/// A tool that the tools of a server may call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Invoke {
    /// The server, one of the policy's.
    pub server: String,
    /// The tool's name, or `*`.
    pub tool: String,
}

/// An environment variable that a component sees. No secret: a component that holds one can give it away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value, where the policy gives one. Else it is the host's own, which is not kept, and not hashed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What a tool server may do in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read.
    Read,
    /// Read, write, make and remove.
    ReadWrite,
}

impl Access {
    /// As a policy spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadWrite => "read-write",
        }
    }
}

/// A folder that a tool server may open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preopen {
    /// As the policy writes it; this is what is hashed, so that a project may move as a whole.
    pub path: String,
    /// The same, absolute, links not followed. Follow them again when it is opened, and ask [`Policy::protected`].
    #[serde(skip)]
    pub host: PathBuf,
    /// Where the guest sees it: absolute, normalised.
    pub at: String,
    /// What it may do there.
    pub access: Access,
}

/// What a component may send. Nothing, where both lists are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outbound {
    /// Where to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkGrant>,
    /// What the host adds to requests that go there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretGrant>,
}

/// A scheme of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// As a policy and a URL spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port where none is written.
    #[must_use]
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// A place that requests may go to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NetworkGrant {
    /// How.
    pub scheme: Scheme,
    /// A name in lower case and punycode, an address (IPv6 without brackets), or `*.` and a name: every name under it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether a name may lead to an address that is not public: loopback, private, link-local.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
}

impl NetworkGrant {
    /// Whether a host's name, or `*.` and a name, lies within this one's. Scheme and port are not looked at.
    #[must_use]
    pub fn covers_host(&self, host: &str) -> bool {
        let is_under = |suffix: &str| {
            let name = host.strip_prefix("*.").unwrap_or(host);
            name.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.'))
        };
        self.host == host || self.host.strip_prefix("*.").is_some_and(is_under)
    }

    /// Whether everything that `other` grants is granted here too.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        (self.scheme, self.port) == (other.scheme, other.port)
            && self.private >= other.private
            && self.covers_host(&other.host)
    }
}

impl fmt::Display for NetworkGrant {
    /// As a URL begins: `https://api.example.com:443`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, host, port) = (self.scheme.as_str(), &self.host, self.port);
        if host.contains(':') { write!(f, "{scheme}://[{host}]:{port}") } else { write!(f, "{scheme}://{host}:{port}") }
    }
}

/// A secret, without its value: what is hashed, and what messages say, is its name and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Secret {
    /// Its name in the policy.
    pub name: String,
    /// Where its value is read when it is needed.
    pub source: SecretSource,
}

/// Where a secret's value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretSource {
    /// An environment variable of the host.
    Env(String),
    /// A file's content, without line breaks at its end.
    File {
        /// As the policy writes it; this is what is hashed.
        path: String,
        /// The same, absolute, links not followed.
        #[serde(skip)]
        host: PathBuf,
    },
    /// What a program writes to its standard output, without line breaks at its end.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// The program's file, where its name is a path: absolute, links not followed.
        #[serde(skip)]
        program: Option<PathBuf>,
    },
}

/// A secret that requests to a host carry, added by the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SecretGrant {
    /// The secret's name.
    pub name: String,
    /// The host whose requests carry it, spelt as in [`NetworkGrant::host`].
    pub host: String,
    /// The header that carries it, in lower case.
    pub header: String,
    /// What the header says, with `{}` where the value goes.
    pub format: String,
}

/// A payment rail.
#[derive(Clone, Debug, Serialize)]
pub struct Rail {
    /// What runs, under the rail's name.
    #[serde(flatten)]
    pub plugin: Plugin,
    /// What it may send, and with which secrets.
    #[serde(flatten)]
    pub outbound: Outbound,
}

/// A prepaid account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Its name in the policy.
    pub name: String,
    /// What it holds at first.
    pub total: Money,
    /// Whose it is: a public key, lower-case hex. None for the host's own agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The payment rail that moves its money, one of [`Policy::rails`]. None for the ledger alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rail: Option<String>,
}

/// A capability that the host issues to its own agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CapabilityTemplate {
    /// Its name in the policy.
    pub name: String,
    /// What it covers.
    pub grants: Vec<TemplateGrant>,
}

/// One tool of a [`CapabilityTemplate`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TemplateGrant {
    /// The grant as it will be signed.
    pub grant: Grant,
    /// How long it may live, in seconds.
    pub ttl_secs: u64,
}

impl CapabilityTemplate {
    /// What its token covers.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope { grants: self.grants.iter().map(|g| g.grant.clone()).collect() }
    }

    /// How long its token may live: a token has one expiry, and no grant may outlive what the policy gives it.
    #[must_use]
    pub fn ttl_secs(&self) -> u64 {
        self.grants.iter().map(|g| g.ttl_secs).min().unwrap_or(0)
    }
}
