//! Mediated calls, and how they end.

use serde_json::{Value, json};

use super::fixture::{Client, Onlooker, TOOLS, text};
use crate::mcp::follow::MAX_CALLS;

#[tokio::test]
async fn an_allowed_call_gives_the_output_and_its_receipt() {
    let mut client = Client::open().await;
    let result = client.call(1, "desk__echo", json!({ "a": 1 })).await;
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"], json!({ "got": { "a": 1 } }));
    assert_eq!(text(&result), r#"{"got":{"a":1}}"#);
    assert_eq!(result["_meta"]["chio/verdict"], "allow");
    let receipt = client.receipt(&result["_meta"]["chio/receipt-id"]);
    assert_eq!(receipt["decision"]["verdict"], "allow");
    let request = receipt["metadata"]["receipt_context"]["request_id"].as_str().unwrap();
    assert!(request.ends_with(":1"), "{request}");
}

#[tokio::test]
async fn outputs_become_content() {
    let mut client = Client::open().await;
    for (tool, texts) in [
        ("say", json!(["words"])),
        ("list", json!([r#"[1,"a"]"#])),
        ("blocks", json!(["a", "b"])),
        ("no_blocks", json!([r#"[{"type":"nonsense"}]"#])),
    ] {
        let result = client.call(tool, &format!("desk__{tool}"), json!({})).await;
        let blocks: Vec<_> = result["content"].as_array().unwrap().iter().map(|block| block["text"].clone()).collect();
        assert_eq!((Value::from(blocks), &result["isError"]), (texts, &json!(false)), "{tool}: {result}");
        assert!(result.get("structuredContent").is_none(), "{tool}: {result}");
    }
}

/// A success without structured content makes the official clients raise where an output schema was declared.
#[tokio::test]
async fn a_tool_that_breaks_its_own_output_schema_ends_in_an_error_with_its_output() {
    let mut client = Client::open().await;
    let result = client.call(1, "desk__lie", json!({})).await;
    assert_eq!((&result["isError"], &result["content"][0]["text"]), (&json!(true), &json!("words")), "{result}");
}

/// arcade-mcp#817, context-forge#4042: no structured content where the call was refused.
#[tokio::test]
async fn a_denial_says_who_refused_and_where_that_is_recorded() {
    let mut client = Client::open().await;
    let result = client.call(1, "desk__echo", json!({ "path": "/etc/shadow" })).await;
    assert_eq!(result["isError"], true);
    assert!(result.get("structuredContent").is_none(), "{result}");
    let id = result["_meta"]["chio/receipt-id"].as_str().unwrap();
    let expected = format!(
        "guard denied the request: guard \"warden\" denied the request\n\
         warden: path /etc/shadow is forbidden\n\
         receipt: {id}"
    );
    assert_eq!(text(&result), expected);
    assert_eq!(
        (&result["_meta"]["chio/verdict"], &result["_meta"]["chio/code"]),
        (&json!("deny"), &json!("guard.denied"))
    );
    assert_eq!(client.receipt(&json!(id))["decision"]["verdict"], "deny");
}

#[tokio::test]
async fn a_tool_that_is_not_covered_is_refused_with_a_receipt() {
    let mut client = Client::open().await;
    for (id, name, server, tool) in [
        (1, "desk__hidden", "desk", "hidden"),
        (2, "desk__drop_tables", "desk", "drop_tables"),
        (3, "nowhere__a__b", "nowhere", "a__b"),
    ] {
        let result = client.call(id, name, json!({})).await;
        let reason = format!("requested tool {tool} on server {server} is not in capability scope\nreceipt: ");
        assert!(text(&result).starts_with(&reason), "{result}");
        assert_eq!(client.receipt(&result["_meta"]["chio/receipt-id"])["tool_name"], tool);
    }
}

#[tokio::test]
async fn what_is_awaited_and_what_failed_are_told() {
    let mut client = Client::open().await;
    let result = client.call(1, "desk__echo", json!({ "then": "ask somebody" })).await;
    assert_eq!((&result["isError"], &result["_meta"]["chio/verdict"]), (&json!(true), &json!("pending")));
    let nobody =
        "somebody has to be asked\nwarden asks for a human, and the call has ended: the policy lists no approvers";
    assert!(text(&result).starts_with(nobody), "{result}");

    let result = client.call(2, "desk__fail", json!({})).await;
    assert_eq!((&result["isError"], &result["_meta"]["chio/verdict"]), (&json!(true), &json!("incomplete")));
    assert!(text(&result).starts_with("tool server error: the disk is full\n"), "{result}");

    let error = client.ask(3, "tools/call", json!({ "name": "desk__visit" })).await["error"].take();
    assert_eq!(error["code"], -32042, "{error}");
    let visit = &error["data"]["elicitations"][0];
    assert_eq!((&visit["mode"], &visit["url"]), (&json!("url"), &json!("https://example.com/consent")));
    assert_eq!(visit["message"], "agree first");
    let receipt = client.receipt(&error["data"]["_meta"]["chio/receipt-id"]);
    let reason = "tool server returned URL elicitation after dispatch; outcome is unknown";
    assert_eq!(receipt["decision"]["reason"], reason);
    assert_eq!(receipt["metadata"]["chio_host"]["effect"], "unknown");
}

#[tokio::test]
async fn a_client_may_name_its_call_and_nothing_else_of_ours() {
    let mut client = Client::open().await;
    let named = |meta: Value| json!({ "name": "desk__say", "arguments": {}, "_meta": meta });
    let first = client.ask(1, "tools/call", named(json!({ "chio/request-id": "mine" }))).await["result"].take();
    assert_eq!(text(&first), "words");
    let again = client.ask(2, "tools/call", named(json!({ "chio/request-id": "mine" }))).await["result"].take();
    assert_eq!(again["_meta"]["chio/receipt-id"], first["_meta"]["chio/receipt-id"]);
    assert_eq!((&again["_meta"]["chio/replayed"], &again["isError"]), (&json!(true), &json!(true)), "{again}");
    assert_eq!(client.receipts(), 1);

    for key in ["chio/receipt-id", "chio/verdict", "chio"] {
        let refused = client.ask(3, "tools/call", named(json!({ key: "x" }))).await["result"].take();
        assert!(refused["isError"] == true && text(&refused).contains(&format!("\"{key}\" is reserved")), "{refused}");
    }
    assert_eq!(client.receipts(), 1);
}

#[tokio::test]
async fn arguments_beyond_the_bound_are_refused() {
    let mut client = Client::open().await;
    let result = client.call(1, "desk__echo", json!({ "a": "x".repeat(2 << 20) })).await;
    assert!(result["isError"] == true && text(&result).contains("at most 1048576"), "{result}");
    assert_eq!(client.receipts(), 0);
}

/// csharp-sdk#112.
#[tokio::test]
async fn a_cancelled_call_gets_no_response_and_is_a_drop() {
    let mut client = Client::open().await;
    client.request(1, "tools/call", json!({ "name": "desk__heed" })).await;
    client.meeting.entered.acquire().await.unwrap().forget();
    client.notify("notifications/cancelled", json!({ "requestId": 1, "reason": "enough" })).await;
    assert_eq!(client.ask(2, "ping", json!({})).await["result"], json!({}));
    let ledger = client.ledger.clone();
    let (said, ended) = client.leave().await;
    assert_eq!(said, [Value::Null; 0]);
    ended.unwrap();
    let log = chio_host_kernel::ledger::Ledger::log(&*ledger, 0, 9).unwrap();
    assert_eq!(log.len(), 1, "it still has its receipt");
    let receipt = chio_host_kernel::ledger::Ledger::receipt(&*ledger, &log[0].receipt_id).unwrap().unwrap();
    assert_eq!(receipt["decision"]["verdict"], "cancelled");
    assert_eq!(receipt["decision"]["reason"], "tool evaluation future dropped after admission");
}

#[tokio::test]
async fn progress_goes_to_a_client_that_asked_for_it() {
    let asks = json!({ "name": "desk__step", "_meta": { "progressToken": "p" } });
    for (hooks, message) in [(Vec::new(), json!("step")), (vec![Onlooker::new() as _], Value::Null)] {
        let mut client = Client::connect_to(&[("desk", TOOLS)], hooks);
        client.handshake().await;
        client.request(1, "tools/call", asks.clone()).await;
        for done in [1.0, 2.5] {
            let report = client.next().await;
            assert_eq!(report["method"], "notifications/progress", "{report}");
            let params = &report["params"];
            assert_eq!((&params["progressToken"], &params["progress"]), (&json!("p"), &json!(done)));
            assert_eq!((&params["total"], &params["message"]), (&json!(3.0), &message));
        }
        assert_eq!(text(&client.next().await["result"]), "stepped");
        assert_eq!(text(&client.call(2, "desk__step", json!({})).await), "stepped");
    }
}

#[tokio::test]
async fn one_call_too_many_is_told_that_the_host_is_busy() {
    let mut client = Client::open().await;
    let meeting = client.meeting.clone();
    for id in 0..MAX_CALLS {
        client.request(id, "tools/call", json!({ "name": "desk__hold" })).await;
    }
    meeting.entered.acquire_many(MAX_CALLS).await.unwrap().forget();
    let busy = client.call("one more", "desk__say", json!({})).await;
    assert!(busy["isError"] == true && text(&busy).starts_with("busy: "), "{busy}");
    meeting.gate.add_permits(MAX_CALLS as usize);
    let (said, ended) = client.leave().await;
    assert_eq!(said.len(), MAX_CALLS as usize);
    ended.unwrap();
}
