//! A call: what a caller asks, checked at the door and immutable from then on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::{self, Bounds};
use crate::capability::{CapabilityToken, Operation};
use crate::facts::Fact;
use crate::money::Money;
use crate::nested::ParentCall;
use crate::nonce::ExecutionNonce;
use crate::proof::ProofOfPossession;
use crate::reservation::RuntimeReservation;

/// The longest server or tool name, in bytes.
pub const MAX_NAME: usize = 128;
/// The longest request id, in bytes.
pub const MAX_REQUEST_ID: usize = 256;

/// Why a call cannot even be asked. Nothing is recorded for one of these.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CallError {
    /// A request id, server or tool name that no receipt could hold safely.
    #[error("the {what} \"{shown}\" is not usable: {why}")]
    Name {
        /// Which of the three.
        what: &'static str,
        /// The name, made printable.
        shown: String,
        /// What would be right.
        why: &'static str,
    },
    /// Arguments that are not strict JSON.
    #[error("the arguments are not acceptable JSON: {0}")]
    Json(#[from] canonical::ParseError),
    /// Arguments that are JSON, but no object.
    #[error("the arguments are {0}; an object is needed, such as {{\"name\":\"Chio\"}}")]
    NotAnObject(&'static str),
}

fn check_name(what: &'static str, name: &str, max: usize) -> Result<(), CallError> {
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > max {
        "it is too long"
    } else if name.chars().any(char::is_control) {
        "it holds control characters"
    } else {
        return Ok(());
    };
    Err(CallError::Name { what, shown: canonical::printable(name, 48), why })
}

/// A caller's id for one call. Scoped to the caller and to the mode; the same id again is the same call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RequestId(String);

impl RequestId {
    /// An id of 1 to [`MAX_REQUEST_ID`] bytes without control characters.
    ///
    /// # Errors
    /// Says what is wrong with the id.
    pub fn new(id: impl Into<String>) -> Result<Self, CallError> {
        let id = id.into();
        check_name("request id", &id, MAX_REQUEST_ID)?;
        Ok(Self(id))
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RequestId {
    type Error = CallError;

    fn try_from(id: String) -> Result<Self, CallError> {
        Self::new(id)
    }
}

impl From<RequestId> for String {
    fn from(id: RequestId) -> Self {
        id.0
    }
}

/// A call's arguments: parsed once, canonicalised once, hashed once.
#[derive(Clone, Debug)]
pub struct Arguments {
    value: Value,
    canonical: String,
    hash: String,
}

impl Arguments {
    /// Parses arguments strictly ([`canonical::parse`]).
    ///
    /// # Errors
    /// JSON that is not acceptable, or that is no object.
    pub fn parse(text: &[u8]) -> Result<Self, CallError> {
        Self::new(canonical::parse(text, Bounds::ARGUMENTS)?)
    }

    /// Takes arguments that were parsed strictly before.
    ///
    /// # Errors
    /// Arguments that are no object.
    pub fn new(value: Value) -> Result<Self, CallError> {
        let kind = match &value {
            Value::Object(_) => None,
            Value::Null => Some("null"),
            Value::Bool(_) => Some("a boolean"),
            Value::Number(_) => Some("a number"),
            Value::String(_) => Some("a string"),
            Value::Array(_) => Some("a list"),
        };
        if let Some(kind) = kind {
            return Err(CallError::NotAnObject(kind));
        }
        let canonical = canonical::to_string(&value);
        let hash = canonical::sha256_hex(canonical.as_bytes());
        Ok(Self { value, canonical, hash })
    }

    /// The object.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Its canonical JSON.
    #[must_use]
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// SHA-256 of the canonical JSON, lower-case hex: the receipt's `parameter_hash`.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

/// What the caller wants of the host.
#[derive(Clone, Debug)]
pub enum Mode {
    /// The call itself.
    Call,
    /// Admission only: would the call be let in? No hold is taken and no tool runs.
    Preflight,
    /// Admission, and the output hooks over this output instead of a tool's.
    Full {
        /// What the tool is assumed to have returned.
        fixture: Value,
    },
}

impl Mode {
    /// `call` or `check`: the namespace of the request id, and `metadata.chio_host.mode`.
    #[must_use]
    pub fn namespace(&self) -> Namespace {
        match self {
            Self::Call => Namespace::Call,
            Self::Preflight | Self::Full { .. } => Namespace::Check,
        }
    }
}

/// Which calls a request id is compared with: a `check` is never replayed for a `call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Namespace {
    /// Mediated calls.
    Call,
    /// Checks.
    Check,
}

impl Namespace {
    /// As it stands in keys and receipts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Check => "check",
        }
    }
}

/// What a caller asks of admission beside the call itself.
#[derive(Clone, Debug, Default)]
pub struct AdmissionMetadata {
    /// Single-use ids that the call takes, beside those of its grant. At most [`MAX_RESERVATIONS`].
    pub reservations: Vec<RuntimeReservation>,
    /// The nonce that an earlier answer to the same request id handed out.
    pub nonce: Option<ExecutionNonce>,
    /// That whoever sends the call holds the key of the capability's subject, where the grant asks for that.
    pub proof: Option<ProofOfPossession>,
}

/// The most single-use ids of one call.
pub const MAX_RESERVATIONS: usize = 16;

/// One tool invocation that a caller asks for.
#[derive(Clone, Debug)]
pub struct Call {
    /// The caller's id for it.
    pub request_id: RequestId,
    /// Who asks: an Ed25519 public key, lower-case hex, as the transport authenticated it.
    pub agent: String,
    /// What the caller may do.
    pub capability: Arc<CapabilityToken>,
    /// The tool server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// What for.
    pub operation: Operation,
    /// The tool's arguments.
    pub arguments: Arguments,
    /// Call or check.
    pub mode: Mode,
    /// What the caller asks of admission beside the call itself.
    pub admission: AdmissionMetadata,
    /// How the caller is told of progress, and tells that it gave up.
    pub signals: Signals,
    /// The call that it is made in, for one that a tool makes. Only the kernel makes those.
    pub parent: Option<ParentCall>,
}

impl Call {
    /// A call of a tool by `agent`, as the transport knows it and not as the token says, with names that a receipt can hold.
    ///
    /// # Errors
    /// A name that is empty, too long, or holds control characters.
    pub fn new(
        request_id: RequestId,
        agent: impl Into<String>,
        capability: Arc<CapabilityToken>,
        server: impl Into<String>,
        tool: impl Into<String>,
        arguments: Arguments,
    ) -> Result<Self, CallError> {
        let (server, tool) = (server.into(), tool.into());
        check_name("server", &server, MAX_NAME)?;
        check_name("tool", &tool, MAX_NAME)?;
        Ok(Self {
            request_id,
            agent: agent.into(),
            capability,
            server,
            tool,
            operation: Operation::Invoke,
            arguments,
            mode: Mode::Call,
            admission: AdmissionMetadata::default(),
            signals: Signals::default(),
            parent: None,
        })
    }
}

/// What flows beside a call while its tool runs.
#[derive(Clone, Default)]
pub struct Signals {
    cancelled: Arc<AtomicBool>,
    progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

/// How far a tool is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Work done, in the tool's own unit.
    pub done: f64,
    /// Work in all, where the tool knows.
    pub total: Option<f64>,
    /// A word to the human, made printable by the host.
    pub message: Option<String>,
}

impl Signals {
    /// Signals whose progress goes to `sink`, which must not block.
    pub fn with_progress(sink: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { progress: Some(Arc::new(sink)), ..Self::default() }
    }

    /// The same cancellation, and progress that goes nowhere: for a call that is made inside another.
    pub(crate) fn quiet(&self) -> Self {
        Self { cancelled: self.cancelled.clone(), progress: None }
    }

    /// Tells the tool that the caller gave up.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    /// Whether the caller gave up.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Tells the caller how far the tool is.
    pub fn report(&self, progress: Progress) {
        if let Some(sink) = &self.progress {
            sink(progress);
        }
    }
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signals").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

/// What a tool can do to the world, read off the imports of its component that are linked to something live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Nothing but compute.
    Pure,
    /// Reads files it was granted.
    ReadOnly,
    /// Anything else: writable files, HTTP, environment, a secret, nested calls.
    SideEffecting,
}

/// One immutable picture of a call, which every guard and hook judges alike.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The caller's id.
    pub request_id: RequestId,
    /// The caller's public key, lower-case hex.
    pub agent: String,
    /// The capability.
    pub capability_id: String,
    /// The chosen grant's position in it.
    pub grant_index: u32,
    /// How many hands the capability went through.
    pub delegation_depth: u32,
    /// The tool server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// What for.
    pub operation: Operation,
    /// What the tool can do.
    pub effect_class: EffectClass,
    /// The arguments.
    pub arguments: Arguments,
    /// What the strings in the arguments are.
    pub facts: Vec<Fact>,
    /// The most the call can cost.
    pub exposure: Option<Money>,
    /// When the host admitted the call, in seconds since 1970.
    pub time: u64,
    /// 0 for a caller's own call.
    pub depth: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object_and_nothing_else() {
        for bad in ["null", "[]", "1", "\"x\"", "true"] {
            assert!(matches!(Arguments::parse(bad.as_bytes()), Err(CallError::NotAnObject(_))), "{bad}");
        }
        let arguments = Arguments::parse(br#"{"b":1,"a":[]}"#).unwrap();
        assert_eq!(arguments.canonical(), r#"{"a":[],"b":1}"#);
        assert_eq!(arguments.hash(), canonical::hash(arguments.value()));
    }

    #[test]
    fn names_that_could_break_a_log_are_refused() {
        for bad in ["", "a\nb", "\u{0}", &"x".repeat(MAX_REQUEST_ID + 1)] {
            assert!(RequestId::new(bad).is_err());
        }
        let error = RequestId::new("evil\u{1b}[31m").unwrap_err().to_string();
        assert!(!error.contains('\u{1b}'), "{error}");
    }
}
