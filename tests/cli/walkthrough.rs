//! The seed's walkthrough, in our commands.

use crate::support::{Done, Place};

const HEX: fn(&str) -> bool = |s| s.len() == 64 && s.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));

fn started() -> Place {
    let place = Place::new();
    let init = place.run(&["init", "my-agent"]);
    assert_eq!(init.code, 0, "{init:?}");
    assert!(init.stdout.starts_with("created Chio scaffold at "), "{init:?}");
    assert!(init.stdout.contains("\nNext steps:\n  cd my-agent\n"), "{init:?}");
    std::fs::rename(place.path().join("my-agent/policy.yaml"), place.path().join("policy.yaml")).unwrap();
    place
}

fn names(done: &Done) -> Vec<&str> {
    done.stdout.lines().map(|l| l.split(':').next().unwrap()).collect()
}

#[test]
fn a_call_inside_the_scope_is_allowed() {
    let place = started();
    let check = place.ask("check", "hello", "hello_world", r#"{"name":"Chio"}"#);
    assert_eq!(check.code, 0, "{check:?}");
    assert_eq!(
        names(&check),
        ["verdict", "tool", "server", "receipt_id", "policy", "source", "mode", "fixture"],
        "the seed's lines, in the seed's order"
    );
    for (name, value) in [
        ("verdict", "ALLOW"),
        ("tool", "hello_world"),
        ("server", "hello"),
        ("mode", "preflight"),
        ("fixture", "false"),
    ] {
        assert_eq!(check.field(name), value);
    }
    for name in ["receipt_id", "policy", "source"] {
        assert!(HEX(check.field(name)), "{name} in {check:?}");
    }
    assert_eq!(check.stderr, "");
}

#[test]
fn a_call_outside_the_scope_is_denied_and_can_be_read_back() {
    let place = started();
    let check = place.ask("check", "hello", "drop_tables", "{}");
    assert_eq!(check.code, 2, "{check:?}");
    assert_eq!(check.field("verdict"), "DENY");
    let reason = "requested tool drop_tables on server hello is not in capability scope";
    assert_eq!(check.field("reason"), reason);
    assert!(check.stderr.contains(reason), "the seed warns on stderr: {check:?}");

    let id = check.field("receipt_id");
    let explained = place.run(&["receipt", "explain", id]);
    assert_eq!(explained.code, 0, "{explained:?}");
    let seed = format!(
        "receipt: {id}\nschema: chio.receipt.v1\nidentity: {id}\ndecision: deny\nreason: {reason}\nguard: kernel\n\
         policy_hash: {}\n",
        check.field("policy")
    );
    assert!(explained.stdout.starts_with(&seed), "{explained:?}");
    assert!(explained.stdout.contains("\nrepair_hint: "), "{explained:?}");

    let listed = place.run(&["receipt", "list", "--format", "json", "--verdict", "deny"]);
    let [stored] = listed.json_lines().try_into().unwrap();
    assert_eq!(stored["id"], id);
    assert!(stored.get("evidence").is_none(), "no guard ran: {stored}");
    assert_eq!(stored["action"]["parameter_hash"], "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    assert_eq!(place.run(&["receipt", "show", &id[..12]]).json_of(), stored);
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);
}

impl Done {
    fn json_of(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

#[test]
fn a_guards_denial_has_evidence_that_names_it() {
    let place = started();
    let check = place.ask("check", "hello", "hello_world", r#"{"name":"/etc/shadow"}"#);
    assert_eq!(check.code, 2, "{check:?}");
    assert_eq!(check.field("reason"), "guard denied the request: guard \"forbidden_path\" denied the request");
    let stored = place.run(&["receipt", "show", check.field("receipt_id")]).json_of();
    let evidence = stored["evidence"].as_array().unwrap().last().unwrap();
    assert_eq!((&evidence["guard_name"], &evidence["verdict"]), (&"forbidden_path".into(), &false.into()));
}

#[test]
fn a_check_is_never_replayed_for_a_call() {
    let place = started();
    let ask = |command: &str| {
        place.run(&[
            command,
            "--policy",
            "policy.yaml",
            "--server",
            "hello",
            "--tool",
            "hello_world",
            "--params",
            r#"{"name":"Chio"}"#,
            "--request-id",
            "one",
        ])
    };
    let (check, again, call) = (ask("check"), ask("check"), ask("call"));
    assert_eq!(check.field("receipt_id"), again.field("receipt_id"), "the same check");
    assert_ne!(check.field("receipt_id"), call.field("receipt_id"));
    assert!(call.field("output").contains("Chio"), "{call:?}");
    assert_eq!(ask("call").field("receipt_id"), call.field("receipt_id"));
}

#[test]
fn init_never_overwrites() {
    let place = Place::new();
    place.write("my-agent/policy.yaml", "mine");
    place.run(&["init", "my-agent"]).is_error(&["policy.yaml", "exists already"]);
    assert_eq!(std::fs::read_to_string(place.path().join("my-agent/policy.yaml")).unwrap(), "mine");
}

#[test]
fn every_shell_gets_its_completions() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = place.run(&["completions", shell]);
        assert!(done.code == 0 && done.stdout.contains("chio-host"), "{shell}");
    }
}
