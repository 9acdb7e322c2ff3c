use chio_sdk::testing::{call, with_config};
use serde_json::{Value, json};

use super::*;

const AWS: &str = "AKIAIOSFODNN7EXAMPLE";

fn ask(output: &Value) -> HookVerdict {
    inspect(&call("s", "t").build(), &output.to_string()).unwrap()
}

/// What is left of `output`, and what was taken out.
#[track_caller]
fn redacted(output: &Value) -> (Value, Vec<(String, u32)>) {
    match ask(output) {
        HookVerdict::Redact(redaction) => (
            serde_json::from_str(&redaction.value).unwrap(),
            redaction.what.into_iter().map(|removal| (removal.kind, removal.count)).collect(),
        ),
        other => panic!("{output}: {other:?}"),
    }
}

fn github() -> String {
    format!("ghp_{}", "aB3dE5fG7h".repeat(4).get(..36).unwrap())
}

#[test]
fn a_token_is_cut_out_and_the_shape_stays() {
    let (value, what) =
        redacted(&json!({ "a": [1, { "b": format!("key {AWS}, token {} end", github()) }], "c": null }));
    assert_eq!(
        value,
        json!({ "a": [1, { "b": "key [REDACTED:aws-access-key], token [REDACTED:github-token] end" }], "c": null })
    );
    assert_eq!(what, [("aws-access-key".into(), 1), ("github-token".into(), 1)]);
}

#[test]
fn keys_are_read_too_and_none_is_lost() {
    let other = AWS.replace("EXAMPLE", "EXAMPLF");
    let (value, _) = redacted(&json!({ AWS: 1, other: 2 }));
    assert_eq!(value, json!({ "[REDACTED:aws-access-key]": 1, "[REDACTED:aws-access-key] 2": 2 }));
}

#[test]
fn a_telling_key_gives_its_value_away() {
    let (value, _) = redacted(&json!({ "db": { "password": "hunter2!xyz", "user": "hunter2!xyz" } }));
    assert_eq!(value, json!({ "db": { "password": "[REDACTED:assigned-secret]", "user": "hunter2!xyz" } }));
    let (value, what) = redacted(&json!({ "token": github() }));
    assert_eq!(value["token"], "[REDACTED:github-token]");
    assert_eq!(what, [("github-token".into(), 1)]);
}

#[test]
fn encodings_are_undone() {
    use base64::Engine;
    let base64 = base64::prelude::BASE64_STANDARD.encode(format!("the key is {AWS} there"));
    let zero_width = AWS.replace("IOSF", "IO\u{200b}SF");
    let percent = AWS.replace('A', "%41");
    let escaped = AWS.replace('A', "\\u0041");
    for text in [base64, hex::encode(format!("the key is {AWS}")), zero_width, percent, escaped] {
        let (value, what) = redacted(&json!({ "x": format!("see {text} there") }));
        let left = value["x"].as_str().unwrap();
        assert!(left.starts_with("see [REDACTED:aws-access-key]"), "{text}: {left}");
        assert_eq!(what.len(), 1, "{text}");
    }
    // Escapes of the JSON itself are none by the time it is read.
    let verdict = inspect(&call("s", "t").build(), r#"{"x":"\u0041KIAIOSFODNN7EXAMPLE"}"#).unwrap();
    assert!(matches!(verdict, HookVerdict::Redact(_)));
}

#[test]
fn a_token_split_over_neighbours_is_found() {
    let (head, tail) = AWS.split_at(9);
    let (value, _) = redacted(&json!([format!("x {head}"), format!("{tail} y")]));
    assert_eq!(value, json!(["x [REDACTED:aws-access-key]", " y"]));
    let (value, _) =
        redacted(&json!({ "content": [{ "type": "text", "text": head }, { "type": "text", "text": tail }] }));
    assert_eq!(value["content"][0]["text"], "[REDACTED:aws-access-key]");
    assert_eq!(value["content"][1]["text"], "");
}

#[test]
fn keys_of_every_kind() {
    for label in ["", "RSA ", "EC ", "DSA ", "ENCRYPTED ", "OPENSSH "] {
        let pem = format!(
            "-----BEGIN {label}PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END {label}PRIVATE KEY-----\n"
        );
        let (value, _) = redacted(&json!(pem));
        assert_eq!(value, json!("[REDACTED:private-key]\n"));
    }
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
    assert_eq!(redacted(&json!(format!("t={jwt};"))).0, json!("t=[REDACTED:jwt];"));
}

#[test]
fn what_is_no_secret_is_left_alone() {
    for output in [
        json!({ "checksum": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" }),
        json!(
            "integrity: sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
        ),
        json!({ "id": "550e8400-e29b-41d4-a716-446655440000", "token": "550e8400-e29b-41d4-a716-446655440000" }),
        json!(
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        ),
        json!(
            "set API_KEY=<your-key>, or sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, or ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        ),
        json!({ "password": "string", "required": ["password"], "max_tokens": 128_000 }),
        json!(["Hello, Chio!", null, true, 1.5, {}]),
    ] {
        assert_eq!(ask(&output), HookVerdict::Allow, "{output}");
    }
}

#[test]
fn what_cannot_be_read_is_blocked() {
    let large = json!("x".repeat((4 << 20) + 1));
    assert!(matches!(ask(&large), HookVerdict::Block(why) if why.contains("4194304")));
    with_config(&json!({ "max_bytes": 10 }), || assert!(matches!(ask(&json!("0123456789")), HookVerdict::Block(_))));
    assert!(inspect(&call("s", "t").build(), "{").is_err());
    assert!(inspect(&call("s", "t").build(), &"[".repeat(10_000)).is_err());
}

#[test]
fn the_policy_adds_replaces_and_decides() {
    let own = json!([{ "kind": "badge", "regex": "B-[0-9]{4}" }]);
    with_config(&json!({ "patterns": own }), || {
        assert_eq!(
            redacted(&json!([format!("B-1234 {AWS}"), 5])).0,
            json!(["[REDACTED:badge] [REDACTED:aws-access-key]", 5])
        );
    });
    with_config(&json!({ "patterns": own, "replace": true }), || assert_eq!(ask(&json!(AWS)), HookVerdict::Allow));
    with_config(&json!({ "patterns": [{ "kind": "pin", "regex": "^[0-9]{6}$" }] }), || {
        assert_eq!(redacted(&json!([123_456, 12])).0, json!(["[REDACTED:pin]", 12]));
    });
    with_config(&json!({ "action": "block" }), || {
        assert_eq!(ask(&json!(AWS)), HookVerdict::block("the output holds secrets: aws-access-key (1)"));
    });
    with_config(&json!({ "action": "escalate" }), || assert!(matches!(ask(&json!(AWS)), HookVerdict::Escalate(_))));
    for config in [
        json!({ "patterns": [{ "kind": "x", "regex": "(" }] }),
        json!({ "patterns": [{ "kind": "x", "regex": "a*" }] }),
        json!({ "patterns": [{ "kind": "a b", "regex": "a" }] }),
        json!({ "action": "ignore" }),
        json!({ "pattern": [] }),
    ] {
        with_config(&config, || assert!(inspect(&call("s", "t").build(), "1").is_err(), "{config}"));
    }
}

#[test]
fn no_verdict_repeats_the_secret() {
    let output = json!({ "a": AWS, AWS: format!("password={AWS}"), "p": "password=hunter2!xyz" });
    let said = format!("{:?}", ask(&output));
    assert!(!said.contains(AWS) && !said.contains("hunter2"), "{said}");
}
