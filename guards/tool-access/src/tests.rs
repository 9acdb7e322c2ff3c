use chio_sdk::Decision;
use chio_sdk::testing::{call, with_config};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// What the guard says of a call under a configuration: `allow`, or the word and the reason.
fn ask(config: &Value, server: &str, tool: &str, arguments: Value) -> String {
    let call = call(server, tool).arguments(arguments).build();
    match with_config(config, || check(&call)) {
        Ok(verdict) => match verdict.decision {
            Decision::Allow(_) => "allow".to_owned(),
            Decision::Deny(why) => format!("deny: {why}"),
            Decision::PendingApproval(why) => format!("ask: {why}"),
        },
        Err(why) => format!("error: {why}"),
    }
}

fn starts(config: &Value, tool: &str, arguments: Value, wanted: &str) {
    let said = ask(config, "files", tool, arguments);
    assert!(said.starts_with(wanted), "{config} {tool}: {said}");
}

#[test]
fn without_rules_everything_is_allowed() {
    starts(&Value::Null, "read_file", json!({ "path": "x" }), "allow");
}

#[test]
fn an_allow_list_leaves_nothing_else() {
    let config = json!({ "allow": [{ "server": "files", "tool": "read_*" }] });
    starts(&config, "read_file", json!({}), "allow");
    for tool in ["write_file", "Read_file", "xread_file", "read", "*", "read_file\u{200b}"] {
        starts(&config, tool, json!({}), "deny");
    }
    assert!(ask(&config, "Files", "read_file", json!({})).starts_with("deny"));
    starts(&json!({ "allow": [] }), "read_file", json!({}), "deny");
}

#[test]
fn deny_comes_before_ask_and_ask_before_allow() {
    let rule = |tool: &str| json!([{ "server": "files", "tool": tool }]);
    let config = json!({ "allow": rule("*"), "ask": rule("write_*"), "deny": rule("write_all") });
    starts(&config, "read_file", json!({}), "allow");
    starts(&config, "write_file", json!({}), "ask: tool write_file of server files is called only after");
    starts(&config, "write_all", json!({}), "deny: tool write_all of server files is denied (rule 1 of deny");
    // What may be asked for need not stand in the list of what is allowed.
    starts(&json!({ "allow": [], "ask": rule("write_*") }), "write_file", json!({}), "ask");
}

#[test]
fn an_absent_argument_never_turns_a_no_into_a_yes() {
    for test in [
        json!({ "equals": true }),
        json!({ "one_of": ["a", "b"] }),
        json!({ "matches": "x" }),
        json!({ "over": 5 }),
        json!({ "present": false }),
    ] {
        let mut condition = test.clone();
        condition["at"] = json!("/force");
        let rules = json!([{ "server": "*", "tool": "push", "arguments": [condition] }]);
        for absent in [json!({}), json!({ "force": null }), json!({ "other": 1 })] {
            starts(&json!({ "deny": rules }), "push", absent.clone(), "deny");
            starts(&json!({ "ask": rules }), "push", absent.clone(), "ask");
            if test.get("present").is_none() {
                starts(&json!({ "allow": rules }), "push", absent, "deny");
            }
        }
    }
    let config =
        json!({ "deny": [{ "server": "*", "tool": "push", "arguments": [{ "at": "/force", "equals": true }] }] });
    assert!(ask(&config, "git", "push", json!({})).contains("what it asks of /force is absent or of another type"));
    starts(&config, "push", json!({ "force": false }), "allow");
    // Another type may be the same to the tool.
    starts(&config, "push", json!({ "force": "true" }), "deny");
}

#[test]
fn present_asks_for_absence_itself() {
    let rules =
        |present: bool| json!([{ "server": "*", "tool": "*", "arguments": [{ "at": "/x", "present": present }] }]);
    starts(&json!({ "deny": rules(true) }), "t", json!({ "x": 1 }), "deny");
    starts(&json!({ "deny": rules(true) }), "t", json!({}), "allow");
    starts(&json!({ "allow": rules(true) }), "t", json!({ "x": 1 }), "allow");
    starts(&json!({ "allow": rules(true) }), "t", json!({}), "deny");
    starts(&json!({ "allow": rules(false) }), "t", json!({}), "allow");
    // Null is a value to some tools and none to others.
    starts(&json!({ "deny": rules(true) }), "t", json!({ "x": null }), "deny");
    starts(&json!({ "allow": rules(false) }), "t", json!({ "x": null }), "deny");
}

#[test]
fn conditions_judge_values() {
    let allow = |test: Value| {
        let mut condition = test;
        condition["at"] = json!("/v");
        json!({ "allow": [{ "server": "*", "tool": "*", "arguments": [condition] }] })
    };
    for (test, good, bad) in [
        (json!({ "equals": 1 }), json!(1), json!(2)),
        (json!({ "equals": { "a": [1] } }), json!({ "a": [1] }), json!({ "a": [2] })),
        (json!({ "one_of": ["main", "dev"] }), json!("dev"), json!("Dev")),
        (json!({ "matches": "git (status|log)" }), json!("git log"), json!("git log; rm -rf /")),
        (json!({ "max": 10.5 }), json!(10), json!(11)),
        (json!({ "max": 10 }), json!(-1), json!("5")),
        (json!({ "over": 1, "max": 3 }), json!(2), json!(1)),
    ] {
        starts(&allow(test.clone()), "t", json!({ "v": good }), "allow");
        starts(&allow(test), "t", json!({ "v": bad }), "deny");
    }
    // In `deny` any part of a text is enough.
    let deny = json!({ "deny": [{ "server": "*", "tool": "*", "arguments": [{ "at": "/v", "matches": "rm -rf" }] }] });
    starts(&deny, "t", json!({ "v": "git log; rm -rf /" }), "deny");
    starts(&deny, "t", json!({ "v": "git log" }), "allow");
}

#[test]
fn a_pattern_cannot_leave_its_anchors() {
    let config =
        json!({ "allow": [{ "server": "*", "tool": "*", "arguments": [{ "at": "/v", "matches": "(?m)^ls$|pwd" }] }] });
    starts(&config, "t", json!({ "v": "ls" }), "allow");
    starts(&config, "t", json!({ "v": "ls\nrm -rf /" }), "deny");
    starts(&config, "t", json!({ "v": "pwd; rm" }), "deny");
    let config =
        json!({ "allow": [{ "server": "*", "tool": "*", "arguments": [{ "at": "/v", "matches": "a)|(b" }] }] });
    starts(&config, "t", json!({ "v": "xb" }), "error");
}

#[test]
fn a_star_in_a_pointer_means_every_value() {
    let test = json!([{ "at": "/edits/*/file", "matches": "src/[a-z]+" }]);
    let allow = json!({ "allow": [{ "server": "*", "tool": "*", "arguments": test }] });
    starts(&allow, "t", json!({ "edits": [{ "file": "src/a" }, { "file": "src/b" }] }), "allow");
    for bad in [
        json!({ "edits": [{ "file": "src/a" }, { "file": "/etc/passwd" }] }),
        json!({ "edits": [{ "file": "src/a" }, {}] }),
        json!({ "edits": [] }),
        json!({}),
    ] {
        starts(&allow, "t", bad, "deny");
    }
    let deny =
        json!({ "deny": [{ "server": "*", "tool": "*", "arguments": [{ "at": "/edits/*/file", "equals": "a" }] }] });
    starts(&deny, "t", json!({ "edits": [{ "file": "b" }, { "file": "a" }] }), "deny");
    starts(&deny, "t", json!({ "edits": [{ "file": "b" }] }), "allow");
    starts(&deny, "t", json!({ "edits": [{ "file": "b" }, {}] }), "deny");
}

#[test]
fn every_condition_of_a_rule_has_to_hold() {
    let config = json!({ "deny": [{ "server": "*", "tool": "*", "arguments": [
        { "at": "/branch", "one_of": ["main"] }, { "at": "/force", "equals": true },
    ] }] });
    starts(&config, "t", json!({ "branch": "main", "force": true }), "deny");
    starts(&config, "t", json!({ "branch": "main" }), "deny");
    starts(&config, "t", json!({ "branch": "dev" }), "allow");
    starts(&config, "t", json!({ "branch": "main", "force": false }), "allow");
}

#[test]
fn large_arguments_do_not_go_through() {
    let text = |n: usize| json!({ "text": "x".repeat(n) });
    let config = json!({ "max_argument_bytes": 100 });
    starts(&config, "t", text(80), "allow");
    starts(&config, "t", text(100), "deny: the arguments of tool t of server files have 111 bytes, and at most 100");
    let rule = |most: u64| json!([{ "server": "files", "tool": "t", "max_argument_bytes": most }]);
    starts(&json!({ "allow": rule(50) }), "t", text(50), "deny: the arguments");
    starts(&json!({ "ask": rule(50) }), "t", text(50), "deny: the arguments");
    starts(&json!({ "ask": rule(50) }), "t", text(5), "ask");
    // Another rule may let more through.
    let two = json!({ "allow": [rule(50)[0], rule(500)[0]] });
    starts(&two, "t", text(50), "allow");
}

#[test]
fn names_that_hide_something_are_denied() {
    for name in ["", "a\u{7}", "a\nb", "rea\u{200d}d", "\u{202e}daer", "a\u{e0041}", "a\u{feff}", "a\u{3164}"] {
        starts(&Value::Null, name, json!({}), "deny: the tool name");
        assert!(ask(&Value::Null, name, "t", json!({})).starts_with("deny: the server name"), "{name:?}");
    }
    starts(&Value::Null, "a.b/c:d", json!({}), "allow");
}

#[test]
fn a_wrong_configuration_is_an_error() {
    let rule = |more: Value| {
        let mut rule = json!({ "server": "s", "tool": "t" });
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rule
    };
    let at = |test: Value| rule(json!({ "arguments": [test] }));
    for config in [
        json!([]),
        json!({ "alow": [] }),
        json!({ "max_argument_bytes": 0 }),
        json!({ "max_argument_bytes": -1 }),
        json!({ "deny": [{ "server": "s" }] }),
        json!({ "deny": [rule(json!({ "server": "" }))] }),
        json!({ "deny": [rule(json!({ "max_argument_bytes": 5 }))] }),
        json!({ "ask": [rule(json!({ "max_argument_bytes": 0 }))] }),
        json!({ "deny": [at(json!({ "at": "/x", "max": 5 }))] }),
        json!({ "deny": [at(json!({ "at": "x", "equals": 5 }))] }),
        json!({ "deny": [at(json!({ "at": "/x" }))] }),
        json!({ "deny": [at(json!({ "at": "/x", "equals": null }))] }),
        json!({ "deny": [at(json!({ "at": "/x", "one_of": [] }))] }),
        json!({ "deny": [at(json!({ "at": "/~2", "equals": 1 }))] }),
        json!({ "deny": [at(json!({ "at": "/x", "matches": "(" }))] }),
        json!({ "deny": [at(json!({ "at": "/x", "present": false, "equals": 1 }))] }),
        json!({ "deny": [at(json!({ "at": "/x", "equal": 1 }))] }),
        json!({ "allow": [rule(json!({ "arguments": vec![json!({ "at": "/x", "present": true }); 33] }))] }),
    ] {
        starts(&config, "t", json!({}), "error");
    }
    let reason = ask(&json!({ "deny": [at(json!({ "at": "/x", "max": 5 }))] }), "s", "t", json!({}));
    assert!(reason.contains("rule 1 of deny") && reason.contains("write over"), "{reason}");
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..3).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab*]", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

fn tests() -> impl Strategy<Value = Value> {
    let test = prop_oneof![
        values().prop_map(|value| json!({ "equals": value })),
        prop::collection::vec(values(), 1..3).prop_map(|values| json!({ "one_of": values })),
        "[ab.]{0,2}".prop_map(|pattern| json!({ "matches": pattern })),
        (-3_i64..3).prop_map(|over| json!({ "over": over })),
    ];
    (test, prop::sample::select(vec!["/a", "/a/b", "/*", "/a/*", "/a/0"])).prop_map(|(mut test, at)| {
        test["at"] = json!(at);
        test
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// What a rule of `allow` lets through, the same rule in `deny` stops; and taking an argument away stops it.
    #[test]
    fn taking_arguments_away_never_opens(test in tests(), value in values()) {
        let arguments = json!({ "a": value });
        let rules = json!([{ "server": "files", "tool": "t", "arguments": [test] }]);
        let denied = ask(&json!({ "deny": rules }), "files", "t", arguments.clone());
        let allowed = ask(&json!({ "allow": rules }), "files", "t", arguments);
        // In `allow` a pattern has to match the whole text, so what it lets through is less.
        if allowed == "allow" {
            prop_assert!(denied.starts_with("deny"), "{}", denied);
        }
        if !denied.starts_with("error") {
            for list in ["deny", "allow"] {
                let without = ask(&json!({ list: rules }), "files", "t", json!({}));
                prop_assert!(without.starts_with("deny"), "{}", without);
            }
        }
    }

    #[test]
    fn any_name_gets_an_answer(server in any::<String>(), tool in any::<String>()) {
        let config = json!({ "allow": [{ "server": "*", "tool": "*" }] });
        let said = ask(&config, &server, &tool, json!({}));
        prop_assert!(!said.starts_with("error"), "{}", said);
    }
}
