//! What the receipt of a call will say, as far as it is known.
//!
//! It is kept with the operation from its record on, so that whoever ends the operation, the call itself, the settler or a
//! recovery after a crash, signs the same facts.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::{Call, Namespace};
use crate::canonical;
use crate::nested::ParentCall;
use crate::operation::Operation;
use crate::receipt::{Action, Evidence, RedactionMode};
use crate::settle::Ending;
use crate::trail::Trail;

/// What stands in a receipt for an argument that a guard marked secret.
const SECRET: &str = "[secret argument]";

/// The facts of a call, without its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Draft {
    /// When the call was admitted, in seconds since 1970.
    pub(crate) timestamp: u64,
    pub(crate) capability_id: String,
    pub(crate) server: String,
    pub(crate) tool: String,
    pub(crate) request_id: String,
    pub(crate) mode: Namespace,
    pub(crate) action: Action,
    pub(crate) redaction_mode: RedactionMode,
    pub(crate) policy_hash: String,
    pub(crate) evidence: Vec<Evidence>,
    /// Who asked, under whose capability; null for what no capability covers.
    pub(crate) attribution: Value,
    /// What of `metadata.chio_host` is known on the way: components, hooks, timings, what stopped.
    pub(crate) host: Value,
    /// What a replay of the log needs and the receipt does not hold.
    pub(crate) replay: Value,
    /// The call that it is made in. Not kept: what is durable logs its own receipt.
    #[serde(skip)]
    pub(crate) parent: Option<ParentCall>,
}

/// A draft as it is kept, with the end once that is decided.
#[derive(Debug, Deserialize)]
pub(crate) struct Kept {
    pub(crate) draft: Draft,
    #[serde(default)]
    pub(crate) ending: Option<Ending>,
}

impl Draft {
    pub(crate) fn of(call: &Call, trail: &Trail, policy_hash: &str) -> Self {
        let token = call.capability.body();
        let (parameters, redaction_mode) = without_secrets(call.arguments.value(), &trail.secret_arguments);
        let mut attribution = json!({
            "delegation_depth": token.delegation_chain.len(),
            "issuer_key": token.issuer,
            "subject_key": token.subject,
        });
        let above: Vec<_> = call.capability.ancestors().iter().map(|token| token.body().id.as_str()).collect();
        if !above.is_empty() {
            attribution["delegation_chain"] = json!(above);
        }
        if let Some(index) = trail.grant_index {
            attribution["grant_index"] = index.into();
        }
        let mut host = trail.notes();
        if let Some(parent) = &call.parent {
            host["parent"] = parent.shown();
        }
        Self {
            timestamp: trail.now(),
            capability_id: token.id.clone(),
            server: call.server.clone(),
            tool: call.tool.clone(),
            request_id: call.request_id.as_str().to_owned(),
            mode: call.mode.namespace(),
            action: Action { parameters, parameter_hash: call.arguments.hash().to_owned() },
            redaction_mode,
            policy_hash: policy_hash.to_owned(),
            evidence: trail.evidence.clone(),
            attribution,
            host,
            parent: call.parent.clone(),
            replay: json!({
                "capability": call.capability.to_json(),
                "counters": trail.counters_seen(),
                "time_ms": trail.now_ms,
            }),
        }
    }

    /// The same, with the arguments as an earlier draft of this call had them if that took secret ones out: guards may not
    /// have been asked yet this time.
    pub(crate) fn keeping_secrets_of(self, earlier: &Self) -> Self {
        if earlier.redaction_mode == RedactionMode::None || self.redaction_mode == RedactionMode::Redacted {
            return self;
        }
        Self { action: earlier.action.clone(), redaction_mode: earlier.redaction_mode, ..self }
    }

    /// What an operator or the host itself does: under no capability, and with no tool behind it.
    pub(crate) fn of_mutation(operation: &Operation, parameters: &Value, timestamp: u64) -> Self {
        let binding = &operation.binding;
        Self {
            timestamp,
            capability_id: operation.admission.capability_id.clone(),
            server: binding.server.clone(),
            tool: binding.tool.clone(),
            request_id: binding.request_id.as_str().to_owned(),
            mode: Namespace::Call,
            action: Action { parameters: parameters.clone(), parameter_hash: binding.parameter_hash.clone() },
            redaction_mode: RedactionMode::None,
            policy_hash: operation.admission.policy_hash.clone(),
            evidence: Vec::new(),
            attribution: Value::Null,
            host: json!({}),
            parent: None,
            replay: Value::Null,
        }
    }

    /// As it is kept, with its end where that is decided.
    pub(crate) fn to_kept(&self, ending: Option<&Ending>) -> Vec<u8> {
        #[derive(Serialize)]
        struct Keeping<'a> {
            draft: &'a Draft,
            #[serde(skip_serializing_if = "Option::is_none")]
            ending: Option<&'a Ending>,
        }
        serde_json::to_vec(&Keeping { draft: self, ending }).expect("a draft is plain data")
    }

    /// The replay record that goes with the receipt.
    pub(crate) fn replay_record(&self) -> Option<Vec<u8>> {
        (!self.replay.is_null()).then(|| canonical::to_vec(&self.replay))
    }
}

impl Kept {
    /// Reads what was kept.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|e| e.to_string())
    }
}

/// The arguments as a receipt may hold them.
fn without_secrets(arguments: &Value, secret: &[String]) -> (Value, RedactionMode) {
    let mut shown = arguments.clone();
    let mut mode = RedactionMode::None;
    for pointer in secret {
        if pointer.is_empty() {
            shown = json!({ "redacted": SECRET });
            return (shown, RedactionMode::Redacted);
        }
        if let Some(value) = shown.pointer_mut(pointer) {
            *value = SECRET.into();
            mode = RedactionMode::Redacted;
        }
    }
    (shown, mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_argument_is_replaced_where_it_stands() {
        let arguments = json!({ "a": { "token": "s3cret" }, "b": 1 });
        let (shown, mode) = without_secrets(&arguments, &["/a/token".into(), "/nowhere".into()]);
        assert_eq!((shown, mode), (json!({ "a": { "token": SECRET }, "b": 1 }), RedactionMode::Redacted));
        assert_eq!(without_secrets(&arguments, &[]).1, RedactionMode::None);
        assert!(!without_secrets(&arguments, &[String::new()]).0.to_string().contains("s3cret"));
    }
}
