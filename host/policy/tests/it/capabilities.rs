//! The rules on what a capability may say.

use crate::support::{accept, refuse};

fn tool(grant: &str) -> String {
    format!("capabilities: {{ default: {{ tools: [{{ {grant} }}] }} }}")
}

#[test]
fn a_grant_is_complete_and_within_bounds() {
    // What is granted, where in it the problem stands, the key, and the words.
    for (grant, at, key, expected) in [
        ("tool: t, operations: [invoke], ttl: 1", "{ tool:", "", "server is missing: a tool server's name, or \"*\""),
        ("server: hello, operations: [invoke], ttl: 1", "{ server", "", "tool is missing: a tool's name, or \"*\""),
        ("server: hello, tool: t, ttl: 1", "{ server", "", "operations is missing: a list, such as [invoke]"),
        ("server: hello, tool: t, operations: [invoke]", "{ server", "", "ttl is missing: seconds, such as 300"),
        (
            "server: hello, tool: t, operations: [invoke], ttl: 601",
            "601",
            ".ttl",
            "601 is more than kernel.max_capability_ttl, 600",
        ),
        (
            "server: hello, tool: t, operations: [invoke, invoke], ttl: 1",
            "invoke]",
            ".operations[1]",
            "stands twice; keep one",
        ),
        (
            "server: \"a/b\", tool: t, operations: [invoke], ttl: 1",
            "\"a/b\"",
            ".server",
            "\"a/b\" is no usable name; 1 to 64 of A-Z, a-z, 0-9, _ and - are, or \"*\"",
        ),
        (
            "server: \"*\", tool: t, operations: [invoke], ttl: 1",
            "\"*\"",
            ".server",
            "covers nothing: the policy has no server; add one under `servers`",
        ),
        (
            "server: hello, tool: t, operations: [invoke], ttl: 1, max_invocations: 0",
            "0 }",
            ".max_invocations",
            "0 is not a whole number from 1 to 9007199254740991",
        ),
        (
            "server: hello, tool: t, operations: [invoke], ttl: 1, constraints: [{ type: path_prefix }]",
            "{ type",
            ".constraints[0]",
            "constraint path_prefix needs a path",
        ),
    ] {
        let policy = tool(grant);
        let column = policy.find(at).unwrap() + 1;
        assert_eq!(refuse(&policy), format!("1:{column}: capabilities.default.tools[0]{key}: {expected}"), "{grant}");
    }
}

#[test]
fn a_capability_covers_something() {
    assert_eq!(
        refuse("capabilities: { default: { tools: [] } }"),
        "1:28: capabilities.default.tools: covers nothing; name a tool, or remove the capability"
    );
    assert_eq!(
        refuse("capabilities: { default: }"),
        "1:17: capabilities.default: tools is missing: a list of what the capability covers"
    );
}

#[test]
fn a_policy_without_capabilities_issues_none() {
    assert!(accept("guards: { forbidden_path: {} }").capabilities.is_empty());
}

#[test]
fn case_25_a_total_without_a_bound_on_each_call_is_refused() {
    let policy = "
servers: { hello: { component: builtin:hello } }
capabilities: { d: { tools: [{ server: hello, tool: t, operations: [invoke], ttl: 1, max_total_cost: { units: 5, currency: USD } }] } }
";
    let refused = refuse(policy);
    let expected = "nothing bounds what one call costs; add max_cost_per_invocation, or give the server a price";
    assert!(refused.contains("max_total_cost") && refused.contains(expected), "{refused}");
}
