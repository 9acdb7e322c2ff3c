//! What an operator is shown, and can resolve.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::support::Place;

const POLICY: &str = "
servers:
  hello: { price: { per_call: 3, currency: USD } }
accounts: { agent: { total: 9, currency: USD } }
capabilities:
  default: { tools: [{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }] }
";

const CALL: [&str; 11] = [
    "call",
    "--policy",
    "policy.yaml",
    "--server",
    "hello",
    "--tool",
    "hello_world",
    "--params",
    r#"{"name":"Chio"}"#,
    "--request-id",
    "mine",
];

/// A state in which a host was killed after a tool ran and before that was recorded.
fn killed() -> Place {
    let place = Place::new();
    place.write("policy.yaml", POLICY);
    let mut host = place
        .command(&CALL)
        .env("CHIO_FAILPOINT", "tool.after")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(host.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap() == "failpoint tool.after"));
    host.kill().unwrap();
    host.wait().unwrap();
    place
}

#[test]
fn what_nobody_knows_is_listed_and_resolved_with_a_reason() {
    for (choice, left) in [("--release", 3), ("--capture", 2)] {
        let place = killed();
        let recovered = place.run(&["recover"]);
        assert_eq!(recovered.code, 0, "{recovered:?}");
        assert_eq!((recovered.field("held"), recovered.field("request_id")), ("3 USD", "mine"));
        assert_eq!(recovered.field("state"), "outcome_unknown_after_dispatch");
        assert!(recovered.stderr.contains("calls that an earlier run left open were ended"), "{recovered:?}");
        let listed = place.run(&["recover", "list"]);
        assert_eq!(listed.stdout, recovered.stdout);

        let operation = listed.field("operation").to_owned();
        place.run(&["recover", "resolve", &operation, choice]).is_error(&["--because"]);
        place.run(&["recover", "resolve", &operation, "--because", "x"]).is_error(&["<--release|--capture>"]);
        let resolve = ["recover", "resolve", &operation, choice, "--because", "the tool's own log says so"];
        let resolved = place.run(&resolve);
        assert_eq!((resolved.code, resolved.field("verdict")), (0, "ALLOW"), "{resolved:?}");
        place.run(&resolve).is_error(&["has nothing to resolve"]);
        assert_eq!(place.run(&["recover", "list"]).stdout, "Nothing waits for an operator.\n");
        assert_eq!(place.run(&["receipt", "verify"]).code, 0);

        // The id is answered from the record; the money is there again, or is not.
        let again = place.run(&CALL);
        assert_eq!((again.code, again.field("verdict")), (1, "INCOMPLETE"));
        let ids = ["new-1", "new-2", "new-3", "new-4"];
        let allowed = ids.iter().filter(|id| place.run(&[&CALL[..10], &[**id]].concat()).code == 0).count();
        assert_eq!(allowed, left, "{choice}");
    }
}

#[test]
fn without_a_ledger_there_is_nothing_to_recover() {
    Place::new().run(&["recover"]).is_error(&["there is no ledger here", "--state"]);
}
