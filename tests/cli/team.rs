//! The example of a team: an agent, a sub-agent with half of its budget, a human who approves, a tool that calls others. And the
//! same agent, trying to do without the human.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Done, Place, shared};

const EXAMPLE: &str = include_str!("../../examples/policies/team.yaml");

fn place() -> Place {
    let place = Place::new();
    let key = place.run(&["approvals", "key", "--key", "approver.key"]);
    assert_eq!(key.code, 0, "{key:?}");
    place.write("team.yaml", EXAMPLE.replace("approvers: []", &format!("approvers: [{}]", key.stdout.trim())));
    place.write("workspace/guests.txt", "Ada\nGrace\n");
    place
}

fn call(place: &Place, agent: &str, capability: &str, tool: (&str, &str), params: &Value, more: &[&str]) -> Done {
    let params = params.to_string();
    let asked = ["call", "--policy", "team.yaml", "--server", tool.0, "--tool", tool.1, "--params", &params];
    place.run(&[&asked[..], &["--agent", agent, "--capability", capability], more].concat())
}

/// Runs a command that prints a token, and keeps that in a file.
#[track_caller]
fn token(place: &Place, file: &str, args: &[&str]) {
    let done = place.run(&[&["capability"], args].concat());
    assert_eq!(done.code, 0, "{done:?}");
    place.write(file, &done.stdout);
}

const WRITE: (&str, &str) = ("files", "write_file");

#[test]
fn a_team_works_under_one_capability_and_its_receipts_are_one_tree() {
    let place = place();
    token(&place, "root.json", &["issue", "--policy", "team.yaml"]);
    let narrower = ["--tool", "reception/greet_all", "--tool", "hello/hello_world", "--tool", "files/read_file"];
    let derive = ["attenuate", "root.json", "--to", "worker", "--max-total-cost", "6"];
    token(&place, "worker.json", &[&derive[..], &narrower].concat());

    // The sub-agent's tool calls two others for it, and that takes all that it may spend on greetings.
    let greet = ("reception", "greet_all");
    let guests = json!({ "guests": "/workspace/guests.txt" });
    let greeted = call(&place, "worker", "worker.json", greet, &guests, &[]);
    assert_eq!(greeted.code, 0, "{greeted:?}");
    assert!(greeted.field("output").contains("Hello, Ada!") && greeted.field("output").contains("Hello, Grace!"));
    let chio = json!({ "name": "Chio" });
    let spent = call(&place, "worker", "worker.json", ("hello", "hello_world"), &chio, &[]);
    assert!(spent.code == 2 && spent.field("reason").starts_with("cost budget exhausted"), "{spent:?}");
    let write = json!({ "path": "/workspace/report.txt", "content": "done" });
    let narrow = call(&place, "worker", "worker.json", WRITE, &write, &[]);
    assert!(narrow.code == 2 && narrow.field("reason").contains("is not in capability scope"), "{narrow:?}");

    // The agent has the other half, and a human's word for what it writes.
    assert_eq!(call(&place, "agent", "root.json", ("hello", "hello_world"), &chio, &[]).code, 0);
    let id = ["--request-id", "report"];
    let pending = call(&place, "agent", "root.json", WRITE, &write, &id);
    assert_eq!((pending.code, pending.field("verdict")), (3, "PENDING"), "{pending:?}");
    assert!(!place.path().join("workspace/report.txt").exists());
    let approve =
        ["approvals", "approve", pending.field("operation"), "--policy", "team.yaml", "--key", "approver.key"];
    let approved = place.run(&approve);
    assert_eq!(approved.code, 0, "{approved:?}");
    let written = call(&place, "agent", "root.json", WRITE, &write, &id);
    assert_eq!(written.code, 0, "{written:?}");
    assert_eq!(fs::read_to_string(place.path().join("workspace/report.txt")).unwrap(), "done");

    let tree = place.run(&["receipt", "explain", "--tree", written.field("receipt_id")]);
    assert_eq!(tree.code, 0, "{tree:?}");
    let shapes: Vec<String> = tree.stdout.lines().map(shape).collect();
    let expected = [
        "capability",
        "├─ allow hello/hello_world",
        "├─ pending files/write_file",
        "├─ allow files/write_file",
        "└─ capability",
        "   ├─ allow reception/greet_all",
        "   │  ├─ allow files/read_file",
        "   │  ├─ allow hello/hello_world",
        "   │  └─ allow hello/hello_world",
        "   ├─ deny hello/hello_world",
        "   └─ deny files/write_file",
    ];
    assert_eq!(shapes, expected, "{}", tree.stdout);
    assert!(tree.stdout.contains("approved by approval-"), "{}", tree.stdout);
    // From whichever receipt it is asked for, it is the same tree.
    let again = place.run(&["receipt", "explain", "--tree", spent.field("receipt_id")]);
    assert_eq!(again.stdout, tree.stdout);
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);
    let budget = place.run(&["budget", "show", "--format", "json"]).stdout;
    assert!(budget.contains("\"spent\":12"), "1 + 1 + 3 + 3 by the sub-agent, 3 + 1 by the agent: {budget}");
}

/// The branch and the first two words of a line.
fn shape(line: &str) -> String {
    let branch: String = line.chars().take_while(|c| "│├└─ ".contains(*c)).collect();
    let words: Vec<&str> = line[branch.len()..].split_whitespace().collect();
    if words[0] == "capability" { format!("{branch}capability") } else { format!("{branch}{} {}", words[0], words[1]) }
}

/// An agent with a file server and a tool that runs others over its working folder tries what such an agent would.
#[test]
fn an_agent_cannot_approve_itself_read_a_key_or_change_the_policy() {
    let place = place();
    token(&place, "root.json", &["issue", "--policy", "team.yaml"]);
    let write = json!({ "path": "/workspace/report.txt", "content": "done" });
    let pending = call(&place, "agent", "root.json", WRITE, &write, &["--request-id", "report"]);
    assert_eq!(pending.code, 3, "{pending:?}");
    let policy = fs::read_to_string(place.path().join("team.yaml")).unwrap();
    let operation = pending.field("operation").to_owned();

    // Through its tools: by every spelling, and by a link that somebody left in the folder.
    let keys = shared("keys");
    #[cfg(unix)]
    for (link, to) in [("state", place.path().join(".chio")), ("keys", keys.clone()), ("up", place.path().to_owned())] {
        std::os::unix::fs::symlink(to, place.path().join("workspace").join(link)).unwrap();
    }
    let key = fs::read_to_string(keys.join("agent.key")).unwrap();
    let outside = [
        "/workspace/../team.yaml",
        "../team.yaml",
        "/workspace/up/team.yaml",
        "/workspace/keys/agent.key",
        "/workspace/keys/kernel.key",
        "/workspace/state/ledger/store/db",
        "/workspace/state/ledger/journal/0000000001.journal",
        "/workspace/up/approver.key",
        "/etc/passwd",
        "/proc/self/environ",
    ];
    let absolute = keys.join("agent.key").display().to_string();
    for path in outside.into_iter().chain([absolute.as_str()]) {
        let read = call(&place, "agent", "root.json", ("files", "read_file"), &json!({ "path": path }), &[]);
        assert_ne!(read.code, 0, "{path}: {read:?}");
        assert!(!read.stdout.contains(key.trim()), "{path}");
        let listed = call(&place, "agent", "root.json", ("reception", "greet_all"), &json!({ "guests": path }), &[]);
        assert!(listed.code != 0 && !listed.stdout.contains(key.trim()), "{path}: {listed:?}");
    }
    // A folder that holds any of it cannot be granted.
    for folder in [place.path().join(".chio"), keys.clone(), place.path().to_owned()] {
        place.write("wide.yaml", policy.replace("./workspace", &folder.display().to_string()));
        let refused = place.run(&["check", "--policy", "wide.yaml", "--server", "hello", "--tool", "hello_world"]);
        assert!(refused.code == 1 && refused.stderr.contains("permissions"), "{}: {refused:?}", folder.display());
    }

    // With its own key, with the host's, and with one that it just made.
    let mut own = vec![keys.join("agent.key"), keys.join("kernel.key")];
    assert_eq!(place.run(&["approvals", "key", "--key", "self-made.key"]).code, 0);
    own.push(place.path().join("self-made.key"));
    for key in &own {
        let approved = approve(&place, &operation, key, "team.yaml");
        assert_eq!(approved.code, 1, "{}: {approved:?}", key.display());
    }
    // Under a policy of its own, which lists that key.
    let made = place.run(&["approvals", "key", "--key", "self-made.key"]).stdout;
    let listed = policy.split("approvers: [").nth(1).unwrap().split(']').next().unwrap().to_owned();
    place.write("mine.yaml", policy.replace(&listed, made.trim()));
    let approved = approve(&place, &operation, &own[2], "mine.yaml");
    assert!(approved.code == 1 && approved.stderr.contains("under another policy"), "{approved:?}");

    let still = call(&place, "agent", "root.json", WRITE, &write, &["--request-id", "report"]);
    assert_eq!(still.code, 3, "{still:?}");
    assert!(!place.path().join("workspace/report.txt").exists());
    assert_eq!(fs::read_to_string(place.path().join("team.yaml")).unwrap(), policy);
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);
}

fn approve(place: &Place, operation: &str, key: &Path, policy: &str) -> Done {
    place.run(&["approvals", "approve", operation, "--policy", policy, "--key", &key.display().to_string()])
}
