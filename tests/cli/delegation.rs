//! Capabilities, from hand to hand: issued, narrowed, looked into, used, revoked.

use serde_json::{Value, json};

use crate::session::Session;
use crate::support::{Done, Place};

const POLICY: &str = "
kernel: { delegation_depth_limit: 2 }
servers:
  hello: { price: { per_call: 3, currency: USD } }
  files: { component: builtin:files, permissions: { files: [{ path: ./workspace, access: read-write }] } }
capabilities:
  default:
    tools:
      - { server: hello, tool: hello_world, operations: [invoke, delegate], ttl: 300, max_invocations: 50, max_total_cost: 500 }
      - { server: files, tool: \"*\", operations: [invoke, delegate], ttl: 300, constraints: [{ type: path_prefix, value: /workspace }] }
  bound:
    tools: [{ server: hello, tool: hello_world, operations: [invoke], ttl: 300, max_total_cost: 9, dpop_required: true }]
";

fn place() -> Place {
    let place = Place::new();
    place.write("policy.yaml", POLICY);
    place.write("workspace/a/note.txt", "for a");
    place.write("workspace/b.txt", "for b");
    place
}

/// Runs a command that prints a token, and keeps that in a file.
#[track_caller]
fn token(place: &Place, file: &str, args: &[&str]) -> Value {
    let done = place.run(&[&["capability"], args].concat());
    assert_eq!(done.code, 0, "{done:?}");
    place.write(file, &done.stdout);
    serde_json::from_str(&done.stdout).unwrap()
}

fn issued(place: &Place) -> Value {
    token(place, "root.json", &["issue", "--policy", "policy.yaml"])
}

fn call(place: &Place, agent: &str, capability: &str, server: &str, tool: &str, params: &str) -> Done {
    let of = ["--agent", agent, "--capability", capability];
    let call = ["call", "--policy", "policy.yaml", "--server", server, "--tool", tool, "--params", params];
    place.run(&[&call[..], &of].concat())
}

#[test]
fn a_key_has_a_name_and_is_made_once() {
    let place = place();
    let key = |name: &[&str]| place.run(&[&["capability", "key"], name].concat());
    let (first, again, other) = (key(&["worker"]), key(&["worker"]), key(&[]));
    assert_eq!((first.code, first.stdout.len()), (0, 65), "{first:?}");
    assert!(first.stdout == again.stdout && first.stdout != other.stdout);
    assert_eq!(key(&["agent", "--format", "json"]).json_lines()[0]["public_key"], other.stdout.trim());
    for bad in ["kernel", "cache", "../agent", ""] {
        key(&[bad]).is_error(&["no usable name for a key"]);
    }
    place
        .run(&["check", "--policy", "policy.yaml", "--server", "hello", "--tool", "hello_world", "--agent", "kernel"])
        .is_error(&["no usable name for a key"]);
}

#[test]
fn a_sub_agent_has_what_it_was_handed_and_no_more() {
    let place = place();
    issued(&place);
    let narrowed = token(
        &place,
        "worker.json",
        &[
            "attenuate",
            "root.json",
            "--to",
            "worker",
            "--tool",
            "files/read_file",
            "--path-prefix",
            "/workspace/a",
            "--ttl",
            "2m",
        ],
    );
    assert_eq!(narrowed["scope"]["grants"].as_array().unwrap().len(), 1);
    let read = |agent: &str, path: &str| {
        call(&place, agent, "worker.json", "files", "read_file", &json!({ "path": path }).to_string())
    };
    let allowed = read("worker", "/workspace/a/note.txt");
    assert_eq!((allowed.code, allowed.field("output")), (0, "for a"), "{allowed:?}");
    let outside = read("worker", "/workspace/b.txt");
    assert_eq!(outside.code, 2);
    assert!(outside.field("reason").starts_with("invalid capability constraint: "), "{outside:?}");
    let stranger = read("agent", "/workspace/a/note.txt");
    assert!(
        stranger.code == 2 && stranger.field("reason").contains("does not match capability subject"),
        "{stranger:?}"
    );
    let other = call(&place, "worker", "worker.json", "hello", "hello_world", "{}");
    assert!(other.code == 2 && other.field("reason").contains("is not in capability scope"), "{other:?}");

    // A third hand is one too many for this policy.
    token(&place, "third.json", &["attenuate", "worker.json", "--agent", "worker", "--to", "third"]);
    token(&place, "fourth.json", &["attenuate", "third.json", "--agent", "third", "--to", "fourth"]);
    let read = |agent: &str, file: &str| {
        call(&place, agent, file, "files", "read_file", r#"{"path":"/workspace/a/note.txt"}"#)
    };
    assert_eq!(read("third", "third.json").code, 0);
    let deep = read("fourth", "fourth.json");
    assert!(deep.code == 2 && deep.field("reason").starts_with("delegation admission failed: "), "{deep:?}");
}

#[test]
fn what_would_widen_is_refused_with_the_reason() {
    let place = place();
    issued(&place);
    let from =
        |file: &str, more: &[&str]| place.run(&[&["capability", "attenuate", file, "--to", "worker"], more].concat());
    for (more, part) in [
        (&["--max-invocations", "51"][..], "max_invocations is 51, and the parent's is 50"),
        (&["--max-total-cost", "501", "--tool", "hello/hello_world"], "max_total_cost is 501 USD"),
        (&["--max-total-cost", "5 EUR", "--tool", "hello/hello_world"], "max_total_cost is 5 EUR"),
        (&["--path-prefix", "/"], "path_prefix is missing, or wider"),
        (&["--ttl", "1h"], "its parent at"),
        (&["--tool", "hello/drop_tables"], "drop_tables on hello is not in the parent's scope"),
        (&["--tool", "mail/*"], "* on mail is not in the parent's scope"),
        (&["--agent", "worker"], "was not signed by the subject of"),
    ] {
        from("root.json", more).is_error(&["root.json: nothing was derived from it: ", part]);
    }
    token(&place, "last.json", &["attenuate", "root.json", "--to", "worker", "--no-delegate"]);
    from("last.json", &["--agent", "worker"]).is_error(&["may not be handed on"]);
    for (more, part) in [
        (&["--tool", "hello"][..], "SERVER/TOOL is needed"),
        (&["--constraint", "{}"], "--constraint {}: missing field"),
        (&["--constraint", r#"{"type":"full_moon"}"#], "full_moon is not one that this host enforces"),
        (&["--max-total-cost", "many"], "minor units are needed"),
        (&["--max-total-cost", "5"], "the grant has no cap whose currency could be meant"),
        (&["--ttl", "0s"], "would ever be good"),
    ] {
        from("root.json", more).is_error(&[part]);
    }
    from("none.json", &[]).is_error(&["none.json"]);
    place.write("bad.json", "{}");
    from("bad.json", &[]).is_error(&["bad.json", "no signature"]);
    place.run(&["capability", "attenuate", "root.json", "--to", &"0".repeat(64)]).is_error(&["not usable"]);
    place.run(&["capability", "issue", "--policy", "policy.yaml", "--name", "other"]).is_error(&["default, bound"]);
}

#[test]
fn a_token_is_said_in_words_and_one_that_was_touched_does_not_hold() {
    let place = place();
    let root = issued(&place);
    let mut child =
        token(&place, "child.json", &["attenuate", "root.json", "--to", "worker", "--max-invocations", "1"]);
    let inspect = |file: &str, more: &[&str]| place.run(&[&["capability", "inspect", file], more].concat());
    let shown = inspect("child.json", &[]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let grant = "invoke, delegate hello_world on hello; at most 1 call; at most 500 USD in all";
    assert_eq!((shown.field("grant"), shown.field("capability")), (grant, child["id"].as_str().unwrap()));
    assert!(shown.field("derived from").starts_with(root["id"].as_str().unwrap()), "{shown:?}");
    assert!(shown.field("derived from").contains("(this host)"), "{shown:?}");
    assert_eq!((shown.field("signatures"), shown.field("attenuation")), ("hold", "holds"));
    assert!(shown.field("revoked").contains("no ledger here"), "{shown:?}");
    let json = &inspect("child.json", &["--format", "json"]).json_lines()[0];
    assert_eq!((&json["issued_by_this_host"], &json["revoked"]), (&json!(true), &json!("unknown")));

    child["scope"]["grants"][0]["max_invocations"] = json!(60);
    place.write("forged.json", child.to_string());
    let forged = inspect("forged.json", &[]);
    assert_eq!(forged.code, 1, "{forged:?}");
    assert_eq!(forged.field("signatures"), "DO NOT HOLD: capability signature is invalid");
    assert!(forged.field("attenuation").contains("max_invocations is 60"), "{forged:?}");
}

#[test]
fn revoking_one_revokes_what_was_derived_from_it() {
    let place = place();
    let root = issued(&place);
    token(&place, "child.json", &["attenuate", "root.json", "--to", "worker"]);
    let id = root["id"].as_str().unwrap();
    place.run(&["revoke", id, "--because", "lost"]).is_error(&["there is no ledger here"]);
    let greet = || call(&place, "worker", "child.json", "hello", "hello_world", r#"{"name":"w"}"#);
    assert_eq!(greet().code, 0);
    place.run(&["revoke", id]).is_error(&["--because"]);
    place.run(&["revoke", id, "--because", " "]).is_error(&["a reason"]);
    place.run(&["revoke", "a\nb", "--because", "x"]).is_error(&["no capability id"]);
    let revoked = place.run(&["revoke", id, "--because", "lost"]);
    assert_eq!((revoked.code, revoked.field("revoked")), (0, id), "{revoked:?}");
    let receipt = place.run(&["receipt", "show", revoked.field("receipt_id")]);
    assert!(receipt.stdout.contains("\"lost\""), "{receipt:?}");
    place.run(&["revoke", id, "--because", "lost"]).is_error(&["is revoked already"]);
    let denied = greet();
    assert_eq!(denied.code, 2);
    assert_eq!(denied.field("reason"), format!("delegation chain revoked at ancestor {id}"));
    let shown = place.run(&["capability", "inspect", "child.json"]);
    assert!(shown.field("revoked").starts_with(id), "{shown:?}");
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);
}

#[test]
fn a_grant_that_asks_for_a_proof_gets_one_from_whoever_has_the_key() {
    let place = place();
    token(&place, "bound.json", &["issue", "--policy", "policy.yaml", "--name", "bound", "--to", "worker"]);
    let greet = |agent| call(&place, agent, "bound.json", "hello", "hello_world", r#"{"name":"w"}"#);
    let (held, stolen) = (greet("worker"), greet("thief"));
    assert_eq!((held.code, held.field("output")), (0, "Hello, w!"), "{held:?}");
    assert_eq!(stolen.code, 2, "{stolen:?}");

    let mut session = Session::open(&place, &["--agent", "worker", "--capability", "bound.json"]);
    session.call(1, "hello__hello_world", &json!({ "name": "w" }), &json!({}));
    let result = session.result(1);
    assert_eq!((&result["isError"], &result["content"][0]["text"]), (&json!(false), &json!("Hello, w!")), "{result}");
    session.leave();
}
