//! From a `tools/call` to the [`Call`] that the kernel mediates.

use chio_host_kernel::call::{AdmissionMetadata, Arguments, Call, MAX_RESERVATIONS, RequestId};
use chio_host_kernel::canonical::{Bounds, printable};
use chio_host_kernel::nonce::ExecutionNonce;
use chio_host_kernel::proof::ProofOfPossession;
use chio_host_kernel::reservation::{ReservationKind, RuntimeReservation};
use rmcp::model::{self, JsonObject};
use serde_json::Value;
use uuid::Uuid;

use super::Tokens;
use super::catalog::Target;

/// The metadata key under which a client may name the call itself, so that it can ask again for the answer.
const REQUEST_ID: &str = "chio/request-id";
/// The metadata key of the nonce that an earlier answer to the same request id handed out.
const NONCE: &str = "chio/nonce";
/// The metadata key of single-use ids that the call takes: an object from kinds to ids.
const RESERVATIONS: &str = "chio/reservations";
/// The metadata key of a proof that the client holds the key of its capability's subject.
const PROOF: &str = "chio/proof";
/// What a client may send of ours.
const KNOWN: [&str; 4] = [REQUEST_ID, NONCE, RESERVATIONS, PROOF];
/// What reserved metadata keys begin with, in any letter case.
const RESERVED: &str = "chio";

/// Why a `tools/call` does not become a call. Nothing is recorded for one of these: there is no call to record.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum NotAsked {
    /// A reserved metadata key that means nothing.
    #[error("the metadata key \"{0}\" is reserved; a client may send {known}", known = KNOWN.join(", "))]
    Reserved(String),
    /// What stands under a key that we know is not what belongs there.
    #[error("the metadata key \"{0}\": {1}")]
    Metadata(&'static str, String),
    /// The client's id for the call is unusable.
    #[error("the metadata key \"{REQUEST_ID}\": {0}")]
    RequestId(String),
    /// Arguments beyond the bound.
    #[error("the arguments are {actual} bytes of JSON; at most {limit} are accepted")]
    TooLong {
        /// Their length.
        actual: usize,
        /// The bound.
        limit: usize,
    },
    /// Names that no receipt can hold, or arguments that are not accepted.
    #[error(transparent)]
    Call(#[from] chio_host_kernel::call::CallError),
    /// The agent has no token.
    #[error("no capability to present: {0}")]
    Token(String),
}

/// What a client asks for.
pub(super) struct Asking<'a> {
    pub(super) session: Uuid,
    /// The JSON-RPC id.
    pub(super) id: &'a model::RequestId,
    pub(super) meta: &'a JsonObject,
    pub(super) target: Target,
    pub(super) arguments: JsonObject,
}

impl Asking<'_> {
    /// The call, with a token of the agent.
    pub(super) fn into_call(self, tokens: &dyn Tokens) -> Result<Call, NotAsked> {
        let request_id = self.request_id()?;
        let admission = self.admission()?;
        let arguments = Arguments::new(Value::Object(self.arguments))?;
        let (actual, limit) = (arguments.canonical().len(), Bounds::ARGUMENTS.bytes);
        if actual > limit {
            return Err(NotAsked::TooLong { actual, limit });
        }
        let Target { server, tool } = self.target;
        let token = tokens.token_for(&server, &tool).map_err(NotAsked::Token)?;
        let mut call = Call::new(request_id, tokens.agent(), token, server, tool, arguments)?;
        call.admission = admission;
        if call.admission.proof.is_none() {
            call.admission.proof = tokens.proof(&call);
        }
        Ok(call)
    }

    /// Whether the client itself proves that it holds the key of its capability's subject.
    pub(super) fn brings_a_proof(&self) -> bool {
        self.meta.contains_key(PROOF)
    }

    fn admission(&self) -> Result<AdmissionMetadata, NotAsked> {
        let nonce = match self.meta.get(NONCE) {
            None => None,
            Some(_) if !self.meta.contains_key(REQUEST_ID) => {
                let why = format!("it comes with the \"{REQUEST_ID}\" of the call that waits for it");
                return Err(NotAsked::Metadata(NONCE, why));
            }
            Some(nonce) => {
                let nonce = ExecutionNonce::from_json(nonce.clone());
                Some(nonce.map_err(|why| NotAsked::Metadata(NONCE, why.to_string()))?)
            }
        };
        let reservations = match self.meta.get(RESERVATIONS) {
            None => Vec::new(),
            Some(reservations) => reservations_of(reservations).map_err(|e| NotAsked::Metadata(RESERVATIONS, e))?,
        };
        let proof = match self.meta.get(PROOF) {
            None => None,
            Some(proof) => {
                let proof = ProofOfPossession::from_value(proof.clone());
                Some(proof.map_err(|why| NotAsked::Metadata(PROOF, why))?)
            }
        };
        Ok(AdmissionMetadata { reservations, nonce, proof })
    }

    fn request_id(&self) -> Result<RequestId, NotAsked> {
        let reserved = |key: &&String| key.get(..RESERVED.len()).is_some_and(|k| k.eq_ignore_ascii_case(RESERVED));
        if let Some(key) = self.meta.keys().filter(reserved).find(|key| !KNOWN.contains(&key.as_str())) {
            return Err(NotAsked::Reserved(printable(key, 64)));
        }
        match self.meta.get(REQUEST_ID) {
            None => Ok(RequestId::new(of_session(self.session, self.id))?),
            Some(Value::String(id)) => RequestId::new(id.as_str()).map_err(|why| NotAsked::RequestId(why.to_string())),
            Some(_) => Err(NotAsked::RequestId("it is not a string".to_owned())),
        }
    }
}

fn reservations_of(value: &Value) -> Result<Vec<RuntimeReservation>, String> {
    let shape = || "an object from kinds to an id, or a list of ids, is needed".to_owned();
    let mut reservations = Vec::new();
    for (kind, ids) in value.as_object().ok_or_else(shape)? {
        let kind = ReservationKind::named(kind)?;
        let ids = ids.as_array().map_or_else(|| std::slice::from_ref(ids), Vec::as_slice);
        for id in ids {
            let id = id.as_str().ok_or_else(shape)?;
            reservations.push(RuntimeReservation::new(kind, id)?);
        }
    }
    if reservations.len() > MAX_RESERVATIONS {
        return Err(format!("at most {MAX_RESERVATIONS} ids are taken by one call"));
    }
    Ok(reservations)
}

/// The id of a call whose client gave it none. JSON-RPC's `1` and `"1"` are two ids, so a string keeps its quotes.
fn of_session(session: Uuid, id: &model::RequestId) -> String {
    match id {
        model::RequestId::Number(id) => format!("{session}:{id}"),
        model::RequestId::String(id) => format!("{session}:{}", Value::from(id.as_ref())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(id: &Value, meta: &Value) -> Result<String, NotAsked> {
        let id = serde_json::from_value(id.clone()).unwrap();
        let asking = Asking {
            session: Uuid::nil(),
            id: &id,
            meta: meta.as_object().unwrap(),
            target: Target { server: "s".into(), tool: "t".into() },
            arguments: JsonObject::new(),
        };
        asking.request_id().map(String::from)
    }

    #[test]
    fn an_id_is_the_clients_or_the_sessions() {
        let session = Uuid::nil().to_string();
        assert_eq!(asked(&json!(1), &json!({})).unwrap(), format!("{session}:1"));
        assert_eq!(asked(&json!("1"), &json!({})).unwrap(), format!("{session}:\"1\""));
        assert_eq!(asked(&json!("a\nb"), &json!({})).unwrap(), format!("{session}:\"a\\nb\""));
        assert_eq!(asked(&json!(1), &json!({ REQUEST_ID: "mine" })).unwrap(), "mine");
        assert!(matches!(asked(&json!("x".repeat(300)), &json!({})), Err(NotAsked::Call(_))));
        for bad in [json!(1), json!(""), json!(null), json!("a\u{0}")] {
            assert!(matches!(asked(&json!(1), &json!({ REQUEST_ID: bad })), Err(NotAsked::RequestId(_))));
        }
    }

    #[test]
    fn single_use_ids_come_by_kind() {
        let ids = json!({ "destructive_lease": "a", "swarm_continuation": ["b", "c"] });
        let shown: Vec<_> = reservations_of(&ids).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["destructive_lease a", "swarm_continuation b", "swarm_continuation c"]);
        for bad in
            [json!([]), json!({ "lease": "a" }), json!({ "destructive_lease": 1 }), json!({ "destructive_lease": "" })]
        {
            assert!(reservations_of(&bad).is_err(), "{bad}");
        }
        assert!(reservations_of(&json!({ "destructive_lease": vec!["x"; 17] })).unwrap_err().contains("at most 16"));
    }

    #[test]
    fn case_35_other_keys_of_ours_are_refused_by_name() {
        for key in ["chio/receipt-id", "chio", "Chio/request-id", "chiopped"] {
            assert_eq!(asked(&json!(1), &json!({ key: "x" })), Err(NotAsked::Reserved(key.into())));
        }
        assert!(asked(&json!(1), &json!({ "progressToken": 1, "io.chio/x": 1, "ch": 1, "chï": 1 })).is_ok());
    }
}
