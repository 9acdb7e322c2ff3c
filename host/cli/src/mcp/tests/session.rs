//! Lines, lifecycle, and the list of tools.

use serde_json::{Value, json};

use super::fixture::{Client, check, text};
use crate::mcp::{CatalogError, ServeError};

#[tokio::test]
async fn a_client_is_told_who_serves_it_and_what_it_may_call() {
    let mut client = Client::connect_to(&[("desk", &["echo", "say", "hidden"]), ("my.desk", &["a/b"])], Vec::new());
    let opened = client.handshake().await;
    assert_eq!(opened["result"]["serverInfo"]["name"], "chio-host");
    assert_eq!(opened["result"]["capabilities"], json!({ "tools": { "listChanged": true } }));
    assert!(opened["result"]["instructions"].as_str().unwrap().contains("mediated"));
    let tools = client.ask(1, "tools/list", json!({})).await["result"]["tools"].take();
    assert_eq!(
        tools,
        json!([
            {
                "name": "desk__echo",
                "title": "Echo",
                "description": "The echo tool.",
                "inputSchema": { "type": "object" },
                "outputSchema": { "type": "object", "required": ["got"] },
                "annotations": { "readOnlyHint": true }
            },
            { "name": "desk__say", "description": "The say tool.", "inputSchema": { "type": "object" } },
            { "name": "my_desk__a_b", "description": "The a/b tool.", "inputSchema": { "type": "object" } }
        ])
    );
    let result = client.call(2, "my_desk__a_b", json!({})).await;
    let receipt = client.receipt(&result["_meta"]["chio/receipt-id"]);
    assert_eq!((&receipt["tool_server"], &receipt["tool_name"]), (&json!("my.desk"), &json!("a/b")));
    for method in ["resources/list", "prompts/list", "nonsense"] {
        assert_eq!(client.ask(3, method, json!({})).await["error"]["code"], -32601, "{method}");
    }
}

/// wassette#56, xagent#1342.
#[test]
fn names_that_clients_would_not_take_are_refused() {
    let long = "x".repeat(60);
    let refused = check(&[("a", &["b__c", "d.e", "d/e", "bent"]), ("a__b", &["c"]), ("s", &[&long])]);
    let Err(ServeError::Catalog(errors)) = refused else { panic!("{refused:?}") };
    assert!(
        matches!(
            &*errors,
            [CatalogError::Collision { .. }, CatalogError::InputSchema { .. }, CatalogError::Collision { .. }]
        ),
        "{errors:?}"
    );
    let text = ServeError::Catalog(errors).to_string();
    assert!(
        text.contains(
            "tool \"b__c\" of server \"a\" and tool \"c\" of server \"a__b\" would both be called \"a__b__c\""
        )
    );
    assert!(text.contains("tool \"d.e\" of server \"a\" and tool \"d/e\" of server \"a\""));

    let error = check(&[("seven_7", &[&"x".repeat(56)])]).unwrap_err().to_string();
    assert!(error.contains("65 characters") && error.contains("shorter name"), "{error}");
}

#[tokio::test]
async fn a_client_is_told_that_the_tools_are_others_and_its_calls_end_as_they_began() {
    let mut client = Client::connect_to(&[("desk", &["hold", "say"])], Vec::new());
    client.handshake().await;
    let call = json!({ "name": "desk__hold", "arguments": {} });
    client.request(1, "tools/call", call.clone()).await;
    client.meeting.entered.acquire().await.unwrap().forget();

    // The same tools under other rules are nothing to tell.
    client.offer(&[("desk", &["hold", "say"])]).await;
    client.offer(&[("counter", &["say"])]).await;
    assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
    let tools = client.ask(2, "tools/list", json!({})).await["result"]["tools"].take();
    assert_eq!((tools.as_array().unwrap().len(), &tools[0]["name"]), (1, &json!("counter__say")));
    let said = client.call(3, "counter__say", json!({})).await;
    assert_eq!(client.receipt(&said["_meta"]["chio/receipt-id"])["policy_hash"], "1".repeat(64));
    let gone = client.call(4, "desk__hold", json!({})).await;
    assert!(gone["isError"] == true && text(&gone).contains("capability scope"), "{gone}");

    client.meeting.gate.add_permits(1);
    let held = client.next().await;
    assert_eq!(held["id"], 1);
    let receipt = client.receipt(&held["result"]["_meta"]["chio/receipt-id"]);
    assert_eq!((&receipt["tool_server"], &receipt["policy_hash"]), (&json!("desk"), &json!("0".repeat(64))));
    client.leave().await.1.unwrap();
}

/// rust-sdk#825, #841.
#[tokio::test]
async fn a_bad_line_is_answered_and_the_session_goes_on() {
    let mut client = Client::connect();
    client.send("not json").await;
    assert_eq!(client.next().await["error"]["code"], -32700);
    client.handshake().await;

    let call =
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"desk__echo","arguments":{"a":1,"a":2}}}"#;
    client.send(call).await;
    let refused = client.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(5), &json!(-32700)), "{refused}");
    assert_eq!(client.receipts(), 0);

    client.send(vec![b'x'; 5 << 20]).await;
    let refused = client.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32700)), "{refused}");

    client.send("").await;
    client.send("\r").await;
    client.send("[]").await;
    let refused = client.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)), "{refused}");

    client.send("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}\r").await;
    assert_eq!(client.next().await, json!({ "jsonrpc": "2.0", "id": 6, "result": {} }));
    let (said, ended) = client.leave().await;
    assert_eq!(said, [Value::Null; 0]);
    ended.unwrap();
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_said_to_be_so() {
    let mut client = Client::open().await;
    for params in [
        json!({}),
        json!({ "name": 7 }),
        json!({ "name": "desk__echo", "arguments": [1] }),
        json!({ "name": "echo" }),
        json!({ "name": "desk__" }),
    ] {
        let answer = client.ask(1, "tools/call", params.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
    let bent = client.call(2, "desk__a\u{1b}b", json!({})).await;
    assert!(bent["isError"] == true && !text(&bent).contains('\u{1b}'), "{bent}");
    assert_eq!(client.receipts(), 0);
}

#[tokio::test]
async fn an_unknown_protocol_version_is_answered_with_a_known_one() {
    for (asked, answered) in [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25"), ("nonsense", "2025-11-25")] {
        let opened = Client::connect().handshake_as(asked).await;
        assert_eq!(opened["result"]["protocolVersion"], answered, "{asked}");
    }
}

#[tokio::test]
async fn nothing_but_a_request_can_end_the_wait_for_one() {
    let mut client = Client::connect();
    client.notify("notifications/initialized", json!({})).await;
    client.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    assert_eq!(client.ask(1, "ping", json!({})).await["result"], json!({}));
    assert!(client.ask(2, "tools/list", json!({})).await["error"].is_object());
    client.handshake().await;
    assert!(client.ask(3, "tools/list", json!({})).await["result"].is_object());
}

/// Protocol 2026-07-28 has no handshake: each request says what its client is.
#[tokio::test]
async fn a_session_may_begin_with_a_call() {
    let mut client = Client::connect();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    client.ask(1, "server/discover", json!({ "_meta": meta })).await;
    let params = json!({ "name": "desk__list", "arguments": {}, "_meta": meta });
    let answer = client.ask(2, "tools/call", params).await;
    assert_eq!(text(&answer["result"]), r#"[1,"a"]"#);
    client.notify("notifications/cancelled", json!({ "requestId": 2 })).await;
    assert!(client.ask(3, "tools/list", json!({ "_meta": meta })).await["result"].is_object());
}

#[tokio::test]
async fn an_id_that_is_open_is_not_taken_twice() {
    let mut client = Client::open().await;
    client.request(1, "tools/call", json!({ "name": "desk__hold" })).await;
    client.meeting.entered.acquire().await.unwrap().forget();
    client.request(1, "ping", json!({})).await;
    let refused = client.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)), "{refused}");
    client.meeting.gate.add_permits(1);
    assert_eq!(text(&client.next().await["result"]), "held");
}

#[tokio::test]
async fn calls_under_way_are_answered_after_the_input_has_ended() {
    let mut client = Client::open().await;
    for id in 1..=3 {
        client.request(id, "tools/call", json!({ "name": "desk__hold" })).await;
    }
    let meeting = client.meeting.clone();
    meeting.entered.acquire_many(3).await.unwrap().forget();
    client.hang_up().await;
    meeting.gate.add_permits(3);
    let (said, ended) = client.rest().await;
    assert_eq!(said.len(), 3, "{said:?}");
    ended.unwrap();
}

#[tokio::test]
async fn told_to_stop_the_host_tells_its_tools_and_ends() {
    let mut client = Client::open().await;
    client.request(1, "tools/call", json!({ "name": "desk__heed" })).await;
    client.meeting.entered.acquire().await.unwrap().forget();
    client.stop();
    let ledger = client.ledger.clone();
    client.rest().await.1.unwrap();
    assert_eq!(chio_host_kernel::ledger::Ledger::log(&*ledger, 0, 9).unwrap().len(), 1);
}

#[tokio::test]
async fn a_host_nobody_speaks_to_ends_with_its_input() {
    let (said, ended) = Client::connect().leave().await;
    assert_eq!(said, [Value::Null; 0]);
    ended.unwrap();
}
