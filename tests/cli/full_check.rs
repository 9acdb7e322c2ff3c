//! `check --mode full`: the hooks over a fixture, in all their verdicts.

use crate::support::Place;

fn policy(action: &str) -> String {
    format!(
        "hooks:\n  secret_redactor: {{ config: {{ action: {action} }} }}\n\
         capabilities:\n  default:\n    tools:\n      \
         - {{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }}\n"
    )
}

fn full(place: &Place, fixture: &str) -> crate::support::Done {
    place.write("output.json", fixture);
    let more = ["--mode", "full", "--output-fixture", "output.json"];
    place.ask_with("check", "hello", "hello_world", r#"{"name":"Chio"}"#, &more)
}

fn with_secret() -> String {
    format!("{{\"note\":\"key {}\"}}", ["AKIA", "Q3EGWNBV", "7XK2MPLS"].concat())
}

#[test]
fn preflight_refuses_a_policy_with_hooks() {
    let place = Place::new();
    place.write("policy.yaml", policy("redact"));
    place.ask("check", "hello", "hello_world", "{}").is_error(&["output hooks", "--mode full", "--output-fixture"]);
    assert_eq!(place.ask("call", "hello", "hello_world", r#"{"name":"Chio"}"#).code, 0, "a call has an output");
}

#[test]
fn full_mode_shows_allow_redact_block_and_escalate() {
    let place = Place::new();
    place.write("policy.yaml", policy("redact"));
    let allowed = full(&place, "{\"note\":\"nothing here\"}");
    assert_eq!((allowed.code, allowed.field("verdict")), (0, "ALLOW"));
    assert_eq!((allowed.field("mode"), allowed.field("fixture")), ("full", "true"));
    let redacted = full(&place, &with_secret());
    assert_eq!((redacted.code, redacted.field("verdict")), (0, "ALLOW"));
    assert!(redacted.field("output").contains("REDACTED"), "{redacted:?}");

    place.write("policy.yaml", policy("block"));
    let blocked = full(&place, &with_secret());
    assert_eq!((blocked.code, blocked.field("verdict")), (2, "DENY"));
    assert!(blocked.field("reason").starts_with("output hook blocked the output: hook \"secret_redactor\": "));

    place.write("policy.yaml", policy("escalate"));
    let escalated = full(&place, &with_secret());
    assert_eq!((escalated.code, escalated.field("verdict")), (3, "PENDING"));
    for done in [blocked, escalated] {
        assert!(!done.stdout.contains("\noutput:"), "nothing is shown: {done:?}");
    }
}

#[test]
fn a_fixture_and_its_mode_go_together() {
    let place = Place::new();
    place.write("policy.yaml", policy("redact"));
    place.write("output.json", "{\"a\":1,\"a\":2}");
    let with = |more: &[&str]| {
        let mut args = vec!["check", "--policy", "policy.yaml", "--server", "hello", "--tool", "hello_world"];
        args.extend(more);
        place.run(&args)
    };
    with(&["--mode", "full"]).is_error(&["--output-fixture FILE"]);
    with(&["--output-fixture", "output.json"]).is_error(&["--mode full"]);
    with(&["--mode", "full", "--output-fixture", "output.json"]).is_error(&["output.json", "stands twice"]);
    with(&["--mode", "full", "--output-fixture", "none.json"]).is_error(&["none.json"]);
}
