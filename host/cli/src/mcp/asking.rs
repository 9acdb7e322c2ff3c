//! From a `tools/call` to the [`Call`] that the kernel mediates.

use chio_host_kernel::call::{Arguments, Call, RequestId};
use chio_host_kernel::canonical::{Bounds, printable};
use rmcp::model::{self, JsonObject};
use serde_json::Value;
use uuid::Uuid;

use super::Tokens;
use super::catalog::Target;

/// The metadata key under which a client may name the call itself, so that it can ask again for the answer.
const REQUEST_ID: &str = "chio/request-id";
/// What reserved metadata keys begin with, in any letter case.
const RESERVED: &str = "chio";

/// Why a `tools/call` does not become a call. Nothing is recorded for one of these: there is no call to record.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum NotAsked {
    /// A reserved metadata key that means nothing.
    #[error("the metadata key \"{0}\" is reserved; the only one that a client may send is \"{REQUEST_ID}\"")]
    Reserved(String),
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
        let arguments = Arguments::new(Value::Object(self.arguments))?;
        let (actual, limit) = (arguments.canonical().len(), Bounds::ARGUMENTS.bytes);
        if actual > limit {
            return Err(NotAsked::TooLong { actual, limit });
        }
        let Target { server, tool } = self.target;
        let token = tokens.token_for(&server, &tool).map_err(NotAsked::Token)?;
        Ok(Call::new(request_id, tokens.agent(), token, server, tool, arguments)?)
    }

    fn request_id(&self) -> Result<RequestId, NotAsked> {
        let reserved = |key: &&String| key.get(..RESERVED.len()).is_some_and(|k| k.eq_ignore_ascii_case(RESERVED));
        if let Some(key) = self.meta.keys().filter(reserved).find(|key| *key != REQUEST_ID) {
            return Err(NotAsked::Reserved(printable(key, 64)));
        }
        match self.meta.get(REQUEST_ID) {
            None => Ok(RequestId::new(of_session(self.session, self.id))?),
            Some(Value::String(id)) => RequestId::new(id.as_str()).map_err(|why| NotAsked::RequestId(why.to_string())),
            Some(_) => Err(NotAsked::RequestId("it is not a string".to_owned())),
        }
    }
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
    fn other_keys_of_ours_are_refused_by_name() {
        for key in ["chio/receipt-id", "chio", "Chio/request-id", "chiopped"] {
            assert_eq!(asked(&json!(1), &json!({ key: "x" })), Err(NotAsked::Reserved(key.into())));
        }
        assert!(asked(&json!(1), &json!({ "progressToken": 1, "io.chio/x": 1, "ch": 1, "chï": 1 })).is_ok());
    }
}
