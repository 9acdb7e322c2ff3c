//! The rules on money.

use std::borrow::Cow;
use std::path::Path;

use chio_host_kernel::operation::Role;

use super::{Host, resolve};
use crate::builtins::{Builtin, Builtins};
use crate::document::Document;
use crate::limits::{Defaults, Limits};
use crate::policy::Policy;
use crate::problem::{Problems, Report};
use crate::protected::Protected;

struct Servers;

impl Builtins for Servers {
    fn find(&self, role: Role, name: &str) -> Option<Builtin> {
        let known = role == Role::ToolServer && matches!(name, "hello" | "files");
        known.then(|| Builtin {
            bytes: Cow::Borrowed(b"x"),
            manifest: format!("name: {name}\nkind: tool-server").into(),
        })
    }

    fn names(&self, _: Role) -> Vec<&str> {
        vec!["hello", "files"]
    }
}

const LIMITS: Limits = Limits {
    fuel: 3_000_000,
    deadline_ms: 1,
    memory_bytes: 1,
    table_elements: 1,
    instances: 1,
    component_bytes: 1,
    compile_time_ms: 10_000,
    compile_memory_bytes: 1 << 28,
    output_bytes: 1,
    log_bytes: 1,
    stdio_bytes: 1,
    concurrency: 1,
};

fn load(text: &str) -> Result<Policy, Problems> {
    let report = Report::new("p");
    let (defaults, protected) =
        (Defaults { guard: LIMITS, hook: LIMITS, tool: LIMITS, rail: LIMITS }, Protected::default());
    let host =
        Host { builtins: &Servers, defaults: &defaults, protected: &protected, imports: |_| None, note: &|_| () };
    let document = Document::read(text, &report).unwrap();
    let policy = resolve(&document, host, Path::new("/"), Protected::default(), &report);
    report.finish(policy)
}

fn granting(servers: &str, grant: &str) -> String {
    format!(
        "servers: {{ {servers} }}\ncapabilities: {{ d: {{ tools: [{{ tool: t, operations: [invoke], ttl: 1, {grant} }}] }} }}"
    )
}

const PRICED: &str = "hello: { price: { per_call: 1, per_million_fuel: 2, currency: USD } }";
const MIXED: &str =
    "hello: { price: { per_call: 1, currency: USD } }, files: { price: { per_call: 1, currency: EUR } }";

#[test]
fn a_cap_takes_its_currency_from_the_price() {
    let policy = load(&granting(PRICED, "server: hello, max_cost_per_invocation: 10, max_total_cost: 500")).unwrap();
    let grant = &policy.capabilities[0].grants[0].grant;
    assert_eq!(grant.max_cost_per_invocation.as_ref().unwrap().to_string(), "10 USD");
    assert_eq!(grant.max_total_cost.as_ref().unwrap().to_string(), "500 USD");
    assert_eq!(policy.servers[0].price.as_ref().unwrap().at_most(3_000_001).unwrap().to_string(), "8 USD");
}

#[test]
fn a_cap_that_nobody_can_hold_to_is_refused() {
    let unbounded = "nothing bounds what one call costs; add max_cost_per_invocation, or give the server a price";
    for (servers, grant, expected) in [
        ("", "server: hello, max_total_cost: { units: 5, currency: USD }", Some(unbounded)),
        ("hello: {}, files: {}", "server: \"*\", max_total_cost: { units: 5, currency: USD }", Some(unbounded)),
        (PRICED, "server: hello, max_total_cost: 5", None),
        (PRICED, "server: \"*\", max_total_cost: 5", None),
        (
            "",
            "server: hello, max_cost_per_invocation: { units: 1, currency: USD }, max_total_cost: { units: 5, currency: USD }",
            None,
        ),
        ("", "server: hello, max_cost_per_invocation: 5", Some("5 of which currency?")),
        (MIXED, "server: \"*\", max_cost_per_invocation: 5", Some("5 of which currency?")),
        (
            PRICED,
            "server: hello, max_cost_per_invocation: { units: 1, currency: EUR }",
            Some("is in EUR, and the server's price in USD; use one currency"),
        ),
        (
            "hello: { price: { per_million_fuel: 9007199254740991, currency: USD }, limits: { fuel: 9007199254740991 } }",
            "server: hello",
            Some("a call with 9007199254740991 units of fuel could cost more than fits; lower one of them"),
        ),
    ] {
        let problems = load(&granting(servers, grant)).err().map(|problems| problems.to_string());
        match expected {
            None => assert_eq!(problems, None, "{servers} {grant}"),
            Some(expected) => assert!(problems.as_ref().is_some_and(|p| p.contains(expected)), "{grant}: {problems:?}"),
        }
    }
}

#[test]
fn prices_and_accounts_are_hashed() {
    let policies = [
        PRICED.to_owned(),
        PRICED.replace("per_call: 1", "per_call: 2"),
        PRICED.replace("USD", "EUR"),
        "hello: {}".to_owned(),
    ];
    let accounts =
        ["", "\naccounts: { a: { total: 1, currency: USD } }", "\naccounts: { a: { total: 2, currency: USD } }"];
    let mut seen = std::collections::HashSet::new();
    for servers in &policies {
        for account in accounts {
            let text = granting(servers, "server: hello") + account;
            assert!(seen.insert(load(&text).unwrap().policy_hash), "{text}");
        }
    }
}
