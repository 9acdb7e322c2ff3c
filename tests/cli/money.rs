//! Prices, accounts and nonces, as an operator writes them and a caller meets them.

use serde_json::json;

use crate::support::Place;

const POLICY: &str = "
kernel: { nonce: { require: NONCE } }
servers:
  hello: { price: { per_call: 3, per_million_fuel: 2, currency: USD }, limits: { fuel: 1_000_000 } }
accounts: { agent: { total: 9, currency: USD } }
capabilities:
  default:
    tools: [{ server: hello, tool: hello_world, operations: [invoke], ttl: 300, max_total_cost: 500 }]
";

fn place(nonce: &str) -> Place {
    let place = Place::new();
    place.write("policy.yaml", POLICY.replace("NONCE", nonce));
    place
}

const CALL: [&str; 11] = [
    "call",
    "--format",
    "json",
    "--policy",
    "policy.yaml",
    "--server",
    "hello",
    "--tool",
    "hello_world",
    "--params",
    r#"{"name":"Chio"}"#,
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&CALL[..], more].concat()
}

#[test]
fn an_account_is_spent_call_by_call_and_then_refuses() {
    let place = place("false");
    // 3, and 2 for each million of fuel: 4 for less than half a million, and 5 while it runs.
    let codes = [(); 3].map(|()| place.run(&CALL).code);
    assert_eq!(codes, [0, 0, 2]);
    let checked = place.run(&[&["check"], &CALL[1..]].concat());
    assert_eq!(checked.code, 2, "a check says the same: {checked:?}");
    let denied = place.run(&CALL);
    let reason = denied.json_lines()[0]["reason"].clone();
    assert_eq!(reason, "durable admission failed: account agent has 1 of USD left, and 5 more are asked for");
    let receipts = place.run(&["receipt", "list", "--format", "json"]).json_lines();
    let of_call = |r: &&serde_json::Value| r["tool_server"] == "hello" && r["decision"]["verdict"] == "allow";
    let cost = &receipts.iter().find(of_call).unwrap()["metadata"]["chio_host"]["cost"];
    assert_eq!(cost["held"], json!({ "units": 5, "currency": "USD" }));
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);
}

#[test]
fn a_call_that_needs_a_nonce_takes_two_steps() {
    let place = place("true");
    let first = place.run(&with(&["--request-id", "mine"]));
    assert_eq!(first.code, 3, "{first:?}");
    let answer = &first.json_lines()[0];
    assert_eq!((&answer["verdict"], answer.get("output")), (&json!("PENDING"), None));
    let nonce = answer["nonce"].to_string();

    let mut forged = answer["nonce"].clone();
    forged["body"]["tool"] = "other".into();
    let refused = place.run(&with(&["--request-id", "mine", "--nonce", &forged.to_string()]));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert_eq!(refused.json_lines()[0]["reason"], "execution nonce rejected: its tool is not this call's");

    place.write("nonce.json", &nonce);
    let second = place.run(&with(&["--request-id", "mine", "--nonce", "@nonce.json"]));
    assert_eq!(second.code, 0, "{second:?}");
    assert_eq!(second.json_lines()[0]["output"], "Hello, Chio!");
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);

    place.run(&with(&["--request-id", "other", "--nonce", "{}"])).is_error(&["--nonce: not an execution nonce"]);
    place.run(&with(&["--nonce", &nonce])).is_error(&["--request-id"]);
}

#[test]
fn a_single_use_id_is_taken_once() {
    let place = place("false");
    let lease = ["--reserve", "destructive_lease=drop-table-7"];
    assert_eq!(place.run(&with(&lease)).code, 0);
    let again = place.run(&with(&lease));
    assert_eq!(again.code, 2);
    let reason = again.json_lines()[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("destructive_lease drop-table-7 is taken by operation "), "{reason}");
    for bad in ["lease=x", "destructive_lease", "destructive_lease="] {
        place.run(&with(&["--reserve", bad])).is_error(&["--reserve", bad]);
    }
}

#[test]
fn a_top_up_survives_the_next_start_and_what_is_owed_stays_covered() {
    let place = place("false");
    place.run(&["budget", "show"]).is_error(&["there is no ledger here"]);
    assert_eq!([(); 3].map(|()| place.run(&CALL).code), [0, 0, 2]);
    let change = |verb: &str, account: &str, units: &str| {
        place.run(&["budget", verb, account, units, "--because", "the week's work"])
    };
    let topped = change("top-up", "agent", "10");
    assert_eq!((topped.code, topped.field("verdict")), (0, "ALLOW"), "{topped:?}");
    assert_eq!((topped.field("total"), topped.field("spent"), topped.field("free")), ("19", "8", "11"));
    assert!(place.run(&["receipt", "show", topped.field("receipt_id")]).stdout.contains("the week's work"));
    assert_eq!([(); 3].map(|()| place.run(&CALL).code), [0, 0, 2], "the policy says what it said before");

    change("limit", "agent", "15").is_error(&["account agent: 15 in all are less than the 16 that are spent and held"]);
    assert_eq!(change("limit", "agent", "16").field("free"), "0");
    change("limit", "agent", "16").is_error(&["it holds 16 USD in all already"]);
    change("top-up", "agent", "0").is_error(&["adding nothing"]);
    change("top-up", "agent", "18446744073709551615").is_error(&["its total does not fit"]);
    change("top-up", "nobody", "1").is_error(&["account nobody: there is none of that name"]);
    place.run(&["budget", "limit", "agent", "20"]).is_error(&["--because"]);
    place.run(&["budget", "show", "nobody"]).is_error(&["there is no account nobody"]);
    let shown = place.run(&["budget", "show", "agent", "--format", "json"]).json_lines().remove(0);
    assert_eq!((&shown["total"], &shown["policy"]), (&json!(16), &json!(9)));

    // A policy that says another total changes it by the difference.
    place.write("policy.yaml", POLICY.replace("NONCE", "false").replace("total: 9", "total: 19"));
    assert_eq!(place.run(&CALL).code, 0);
    assert_eq!(place.run(&["budget", "show", "--format", "json"]).json_lines()[0]["total"], 26);
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);
}

#[test]
fn the_example_of_a_price_works() {
    let place = Place::new();
    place.write("policy.yaml", std::fs::read(crate::support::repository("examples/policies/priced.yaml")).unwrap());
    let done = place.run(&CALL);
    assert_eq!(done.code, 0, "{done:?}");
    let receipt = done.json_lines()[0]["receipt_id"].as_str().unwrap().to_owned();
    let explained = place.run(&["receipt", "explain", &receipt]);
    assert!(explained.stdout.contains("cost") && explained.stdout.contains("USD"), "{explained:?}");
}
