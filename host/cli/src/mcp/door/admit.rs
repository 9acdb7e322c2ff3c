//! Which lines are let in.
//!
//! The SDK would keep the last of two equal keys and round large integers, so that the agent, the guards and the tool could
//! each read another call. A line is parsed strictly first, and the SDK gets the value that came of it. It also drops a line
//! that is no JSON without a word, and a client that waits for the answer waits for ever (rust-sdk#825): here it is
//! answered, with its id where that is beyond doubt.

use std::fmt;

use chio_host_kernel::canonical::{self, Bounds, printable};
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, JsonRpcMessage, RequestId};
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};

/// The longest line, in bytes.
pub(super) const MAX_LINE: usize = 4 << 20;

/// A call's arguments stand two levels deep in its message, with a few values beside them.
const MESSAGE: Bounds =
    Bounds { bytes: MAX_LINE, depth: Bounds::ARGUMENTS.depth + 2, values: Bounds::ARGUMENTS.values + 256 };
/// How long an explanation may be, in bytes.
const MAX_WHY: usize = 300;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What becomes of a line.
#[derive(Debug)]
pub(super) enum Admission {
    /// It goes on to the SDK.
    Pass(Box<ClientJsonRpcMessage>),
    /// It is answered here.
    Answer(Refusal),
    /// Nothing: it is blank, or the protocol has no answer for it.
    Ignore,
}

/// An error response to what never became a request.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal {
    code: ErrorCode,
    message: String,
    id: Option<RequestId>,
}

impl Refusal {
    /// A request that breaks the protocol, and cannot be answered under its own id.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { code: ErrorCode::INVALID_REQUEST, message: message.into(), id: None }
    }

    /// A line that was not read to its end.
    pub(super) fn too_long() -> Self {
        Self {
            code: ErrorCode::PARSE_ERROR,
            message: format!("the line is longer than {MAX_LINE} bytes, which is the most for one message"),
            id: None,
        }
    }

    /// As it goes on the wire. The SDK's own type leaves out an id that is not known; JSON-RPC 2.0 wants `null`.
    pub(super) fn to_json(&self) -> Value {
        let error = json!({ "code": self.code.0, "message": self.message });
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error })
    }
}

/// Judges one line.
pub(super) fn admit(line: &[u8]) -> Admission {
    // Some write a byte order mark before the first line, some before each.
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Admission::Ignore;
    }
    let value = match canonical::parse(line, MESSAGE) {
        Ok(value) => value,
        Err(why) => {
            let message = format!("the line is not acceptable JSON: {}", printable(&why.to_string(), MAX_WHY));
            return Admission::Answer(Refusal { code: ErrorCode::PARSE_ERROR, message, id: only_id(line) });
        }
    };
    if value.is_array() {
        return Admission::Answer(Refusal::invalid("batches are not taken; send one message a line"));
    }
    let is_notification = value.get("method").is_some() && value.get("id").is_none();
    let id = value.get("id").and_then(|id| RequestId::deserialize(id).ok());
    match serde_json::from_value(value) {
        // This host asks a client nothing, so there is nothing that a response could answer.
        Ok(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) => Admission::Ignore,
        Ok(message) => Admission::Pass(Box::new(message)),
        Err(_) if is_notification => Admission::Ignore,
        Err(_) => Admission::Answer(Refusal { id, ..Refusal::invalid("the line is not a JSON-RPC 2.0 request") }),
    }
}

/// The id of a message that is not acceptable as a whole, if the message is JSON and has exactly one.
fn only_id(line: &[u8]) -> Option<RequestId> {
    serde_json::from_slice::<OnlyId>(line).ok()?.0
}

struct OnlyId(Option<RequestId>);

impl<'de> Deserialize<'de> for OnlyId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OnlyIdVisitor)
    }
}

struct OnlyIdVisitor;

impl<'de> Visitor<'de> for OnlyIdVisitor {
    type Value = OnlyId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<OnlyId, A::Error> {
        let mut id = None;
        while let Some(key) = entries.next_key::<String>()? {
            if key != "id" {
                entries.next_value::<IgnoredAny>()?;
            } else if id.replace(entries.next_value()?).is_some() {
                return Err(de::Error::duplicate_field("id"));
            }
        }
        Ok(OnlyId(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    fn refusal(line: &[u8]) -> Value {
        match admit(line) {
            Admission::Answer(refusal) => refusal.to_json(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_mark_a_carriage_return_and_blank_lines_do_no_harm() {
        for line in [PING.to_owned(), format!("\u{feff}{PING}"), format!("{PING}\r"), format!("  {PING}\t")] {
            assert!(matches!(admit(line.as_bytes()), Admission::Pass(_)), "{line:?}");
        }
        for line in ["", "\r", " \t ", "\u{feff}"] {
            assert!(matches!(admit(line.as_bytes()), Admission::Ignore), "{line:?}");
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_is_answered() {
        for (params, why) in [
            (r#"{"a":1,"a":2}"#, "stands twice"),
            (r#"{"a":{"b":1,"\u0062":2}}"#, "stands twice"),
            (r#"{"a":9007199254740993}"#, "beyond 2^53"),
            (r#"{"a":"\ud800"}"#, "hex escape"),
        ] {
            let refused = refusal(format!(r#"{{"jsonrpc":"2.0","id":"x","method":"m","params":{params}}}"#).as_bytes());
            assert_eq!(refused["error"]["code"], -32700, "{refused}");
            assert!(refused["error"]["message"].as_str().unwrap().contains(why), "{refused}");
        }
        let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}1{}}}"#, "[".repeat(90), "]".repeat(90));
        assert!(refusal(deep.as_bytes())["error"]["message"].as_str().unwrap().contains("nested too deeply"));
        assert_eq!(refusal(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}")["error"]["code"], -32700);
        assert_eq!(refusal(&vec![b'['; 1 << 20])["error"]["code"], -32700);
    }

    #[test]
    fn the_id_is_given_back_only_where_it_is_beyond_doubt() {
        for (line, id) in [
            (r#"{"id":7,"a":1,"a":2}"#, json!(7)),
            (r#"{"id":"x","a":{"id":1,"id":2}}"#, json!("x")),
            (r#"{"id":7,"a":1,"a":2,"id":8}"#, Value::Null),
            (r#"{"id":7,"\u0069d":8}"#, Value::Null),
            (r#"{"id":7,"a":"#, Value::Null),
            (r#"{"id":{"id":7},"a":1,"a":2}"#, Value::Null),
            ("nonsense", Value::Null),
        ] {
            let refused = refusal(line.as_bytes());
            assert_eq!((&refused["id"], &refused["error"]["code"]), (&id, &json!(-32700)), "{line}");
        }
    }

    #[test]
    fn json_that_is_no_request_is_answered_and_a_notification_never_is() {
        for (line, id) in [
            (r"[]", Value::Null),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, Value::Null),
            (r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, json!(3)),
            (r#"{"id":4}"#, json!(4)),
            ("7", Value::Null),
        ] {
            let refused = refusal(line.as_bytes());
            assert_eq!((&refused["id"], &refused["error"]["code"]), (&id, &json!(-32600)), "{line}");
        }
        for line in [
            r#"{"jsonrpc":"1.0","method":"notifications/cancelled"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
        ] {
            assert!(matches!(admit(line.as_bytes()), Admission::Ignore), "{line}");
        }
    }
}
