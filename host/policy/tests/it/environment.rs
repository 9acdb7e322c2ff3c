//! `environment`: which variables a component sees.

use chio_host_policy::{Policy, Variable};

use crate::support::Project;

/// A server whose manifest asks for these variables.
fn project(asked: &str) -> Project {
    Project::new()
        .unsigned()
        .file("conf/f.wasm", "x")
        .file("conf/f.manifest.yaml", format!("name: f\nkind: tool-server\npermissions: {{ environment: {asked} }}\n"))
}

fn granting(variables: &str) -> String {
    format!(
        "secrets: {{ key: {{ env: PATH }} }}\n\
        servers: {{ f: {{ component: f.wasm, permissions: {{ environment: {variables} }} }} }}"
    )
}

fn accept(variables: &str) -> Policy {
    project("any").load(&granting(variables)).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn a_variable_is_the_hosts_own_or_what_is_written() {
    // cargo sets it for every test.
    let policy = accept("[CARGO_PKG_NAME, TZ=UTC, EMPTY=, \"EQUAL=a=b\"]");
    let variable =
        |name: &str, value: Option<&str>| Variable { name: name.to_owned(), value: value.map(ToOwned::to_owned) };
    let expected = [
        variable("CARGO_PKG_NAME", None),
        variable("TZ", Some("UTC")),
        variable("EMPTY", Some("")),
        variable("EQUAL", Some("a=b")),
    ];
    assert_eq!(policy.servers[0].environment, expected);
    assert!(accept("[]").servers[0].environment.is_empty());
}

#[test]
fn what_is_wrong_with_a_variable_names_its_line() {
    let long = "x".repeat(8193);
    for (written, expected) in [
        ("[A B=c]", "environment[0]: \"A B\" is no name of an environment variable; LANG is"),
        ("[\"=x\"]", "environment[0]: \"\" is no name of an environment variable; LANG is"),
        ("[1A=x]", "environment[0]: \"1A\" is no name of an environment variable; LANG is"),
        ("[\"A=\\e[2J\"]", "environment[0]: the value of A is longer than 8192 bytes, or holds control characters"),
        (&format!("[A={long}]"), "environment[0]: the value of A is longer than 8192 bytes"),
        ("[A=1, A=2]", "environment[1]: the variable A stands here twice; keep one"),
        (
            "[CHIO_TEST_THAT_NOBODY_SETS]",
            "the variable CHIO_TEST_THAT_NOBODY_SETS is not set; set it, or write its value here: CHIO_TEST_THAT_NOBODY_SETS=VALUE",
        ),
        ("[PATH]", "the variable PATH is where the secret \"key\" comes from, which no component may hold; remove it"),
        ("[PATH=x]", "the variable PATH is where the secret \"key\" comes from"),
    ] {
        let problems = project("any").refuse(&granting(written));
        assert!(problems.starts_with("conf/policy.yaml:2:") && problems.contains(expected), "{written}\n{problems}");
    }
    let many = (0..65).map(|n| format!("V{n}=x")).collect::<Vec<_>>().join(", ");
    let problems = project("any").refuse(&granting(&format!("[{many}]")));
    assert!(problems.contains("holds 65 variables; at most 64 are read"), "{problems}");
    let rail = "rails: { r: { component: f.wasm, permissions: { environment: [TZ=UTC] } } }";
    let problems = project("any").refuse(rail);
    assert!(problems.contains("environment[0]: a payment rail has no environment"), "{problems}");
}

#[test]
fn a_variable_that_the_manifest_does_not_ask_for_is_refused() {
    project("[TZ, LANG]").load(&granting("[TZ=UTC]")).unwrap();
    for asked in ["none", "[LANG]"] {
        let problems = project(asked).refuse(&granting("[TZ=UTC]"));
        let expected = "grants the variable TZ, and the manifest does not ask for it (f.manifest.yaml:3)";
        assert!(problems.contains(expected), "{problems}");
    }
    let problems = Project::new().unsigned().file("conf/f.wasm", "x").refuse(&granting("[TZ=UTC]"));
    assert!(problems.contains("there is no manifest \"f.manifest.yaml\" to ask for it"), "{problems}");
    for (asked, expected) in [
        ("[A=b]", "environment[0]: \"A=b\" is no name of an environment variable; LANG is"),
        ("some", "environment: \"some\" is not none, any or a list, such as [LANG, TZ]"),
    ] {
        let problems = project(asked).refuse(&granting("[TZ=UTC]"));
        assert!(problems.contains(expected), "{problems}");
    }
    for kind in ["guard", "hook", "rail"] {
        let manifest = format!("name: f\nkind: {kind}\npermissions: {{ environment: any }}\n");
        let problems = Project::new().unsigned().file("conf/f.wasm", "x").file("conf/f.manifest.yaml", manifest);
        let problems = problems.refuse(&granting("[]"));
        assert!(problems.contains("environment: only a tool-server has an environment; remove it"), "{problems}");
    }
}

/// Names, and the values that are written; the host's own are none of the policy's.
#[test]
fn the_hash_covers_what_is_written() {
    let mut seen = std::collections::HashSet::new();
    for variables in ["[]", "[CARGO_PKG_NAME]", "[CARGO_PKG_VERSION]", "[CARGO_PKG_NAME=x]", "[CARGO_PKG_NAME=y]"] {
        assert!(seen.insert(accept(variables).policy_hash), "{variables}");
    }
    // Another value of the host's, as its other variable shows, is the same policy: only the name is hashed.
    let shown = serde_json::to_value(&accept("[CARGO_PKG_NAME]").servers[0].environment).unwrap();
    assert_eq!(shown, serde_json::json!([{ "name": "CARGO_PKG_NAME" }]));
}
