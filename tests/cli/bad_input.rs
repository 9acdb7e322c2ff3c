//! Bad input at every door: one clear sentence, exit code 1, nothing half-written.

use crate::support::{Place, shared};

const GOOD: &str = "capabilities:\n  default:\n    tools:\n      \
                    - { server: hello, tool: hello_world, operations: [invoke], ttl: 300 }\n";

fn check(place: &Place, more: &[&str]) -> crate::support::Done {
    let mut args = vec!["check", "--policy", "policy.yaml", "--server", "hello", "--tool", "hello_world"];
    args.extend(more);
    place.run(&args)
}

#[test]
fn a_policy() {
    let place = Place::new();
    check(&place, &[]).is_error(&["policy.yaml", "does not exist"]);
    place.write("policy.yaml", "guards:\n  forbidden_path: { enabeld: true }\nkernle: {}\n");
    check(&place, &[]).is_error(&["policy.yaml:2:", "enabled", "policy.yaml:3:", "kernel"]);
    place.write("policy.yaml", [0xff, 0xfe, 0x00]);
    check(&place, &[]).is_error(&["policy.yaml"]);
    place.write("policy.yaml", "kernel: {}\n");
    check(&place, &[]).is_error(&["capabilities"]);
    assert!(!place.path().join(".chio/ledger").exists(), "the state is not touched for a policy that does not load");
}

#[test]
fn parameters() {
    let place = Place::new();
    place.write("policy.yaml", GOOD);
    for (params, part) in [
        ("{", "EOF"),
        ("[]", "an object is needed"),
        (r#"{"a":1,"a":2}"#, "stands twice"),
        (r#"{"a":9007199254740993}"#, "beyond 2^53"),
        (r#"{"a":"\ud800"}"#, "JSON"),
        ("@none.json", "none.json"),
    ] {
        check(&place, &["--params", params]).is_error(&[part]);
    }
    check(&place, &["--params", &format!("{}1{}", "[".repeat(9000), "]".repeat(9000))])
        .is_error(&["nested too deeply"]);
    check(&place, &["--request-id", "a\nb"]).is_error(&["request id", "control characters"]);
    let listed = place.run(&["receipt", "list"]);
    assert_eq!((listed.code, listed.stdout.as_str()), (0, ""), "none of these left a receipt");
}

#[test]
fn a_capability() {
    let place = Place::new();
    place.write("policy.yaml", GOOD);
    place.write("token.json", "{}");
    check(&place, &["--capability", "token.json"]).is_error(&["token.json", "no signature"]);
    place.write("token.json", r#"{"schema":"chio.capability.v9","signature":"00"}"#);
    check(&place, &["--capability", "token.json"]).is_error(&["token.json"]);
    check(&place, &["--capability", "none.json"]).is_error(&["none.json"]);
}

#[test]
fn a_component() {
    let place = Place::new();
    let with = |component: &str| {
        place.write(
            "policy.yaml",
            format!("guards:\n  mine: {{ component: {component} }}\nplugins: {{ allow_unsigned: true }}\n{GOOD}"),
        );
        check(&place, &[])
    };
    with("none.wasm").is_error(&["none.wasm", "policy.yaml:2:"]);
    place.write("text.wasm", "not wasm");
    with("text.wasm").is_error(&["guards.mine", "text.wasm", "not a WebAssembly component"]);
    let tool = chio_host_builtin::find(chio_host_builtin::Kind::ToolServer, "hello").unwrap().bytes;
    place.write("tool.wasm", tool);
    with("tool.wasm").is_error(&["guards.mine", "tool-server", "guard"]);
    place.run(&["plugin", "inspect", "text.wasm"]).is_error(&["text.wasm", "not a WebAssembly component"]);
    place.run(&["plugin", "inspect", "builtin:nothing"]).is_error(&["nothing", "forbidden_path"]);
}

#[test]
fn a_ledger_folder() {
    let place = Place::new();
    place.write("policy.yaml", GOOD);
    place.run(&["receipt", "list"]).is_error(&["no ledger here yet"]);
    assert!(!place.path().join(".chio").exists(), "looking makes nothing");
    place.write("file", "x");
    check(&place, &["--state", "file"]).is_error(&["file"]);
    assert_eq!(check(&place, &[]).code, 0);
    place.run(&["receipt", "show", "0000000000"]).is_error(&["no receipt 0000000000"]);
    place.run(&["receipt", "show", "xyz"]).is_error(&["no receipt id"]);
}

#[test]
fn folders_that_hold_each_other() {
    let place = Place::new();
    place.write("policy.yaml", GOOD);
    check(&place, &["--state", "s", "--keys", "s/keys"]).is_error(&["must lie apart"]);
}

#[test]
fn a_folder_that_would_expose_the_host() {
    let place = Place::new();
    place.write("plugins/guard.wasm", chio_host_builtin::all()[0].bytes);
    place.write("work/a.txt", "x");
    let granted = |path: &str| {
        place.write(
            "policy.yaml",
            format!(
                "guards:\n  mine: {{ component: plugins/guard.wasm }}\nplugins: {{ allow_unsigned: true }}\nservers:\n  files:\n    component: builtin:files\n    \
                 permissions: {{ files: [{{ path: {path}, at: /workspace, access: read }}] }}\n\
                 capabilities:\n  default:\n    tools:\n      - {{ server: files, tool: \"*\", operations: [invoke], ttl: 60 }}\n"
            ),
        );
        place.run(&[
            "check",
            "--policy",
            "policy.yaml",
            "--server",
            "files",
            "--tool",
            "list_files",
            "--state",
            "state",
        ])
    };
    assert_eq!(granted("./work").code, 0, "{:?}", granted("./work"));
    let (keys, approvers) = (shared("keys"), shared("data/chio-host/approver"));
    let signers = shared("data/chio-host/signer");
    let mut exposing = vec![".", "./plugins", "./state", "/", keys.to_str().unwrap()];
    if cfg!(target_os = "linux") {
        assert_eq!(place.run(&["approvals", "key", "alice"]).code, 0);
        exposing.push(approvers.to_str().unwrap());
        assert_eq!(place.run(&["plugin", "key", "acme"]).code, 0);
        exposing.push(signers.to_str().unwrap());
    }
    for path in exposing {
        let done = granted(path);
        assert_eq!(done.code, 1, "{path}: {done:?}");
        assert!(done.stderr.contains("policy.yaml:7:"), "the line: {done:?}");
    }
}

#[test]
fn what_was_typed() {
    let place = Place::new();
    place.run(&["chek"]).is_error(&["chek", "check"]);
    place.run(&["check"]).is_error(&["--policy"]);
    assert_eq!(place.run(&["--help"]).code, 0);
    assert_eq!(place.run(&["--version"]).code, 0);
}
