//! Components from outside are compiled by a process of their own, which is stopped by its limits and ends with its parent.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use chio_host_tests::hostile;

use crate::support::{BINARY, Done, Place};

/// Names a guard from a file, a built-in one, or both, under these limits.
fn policy(place: &Place, guards: &[&str], limits: &str) {
    let entry = |name: &&str| match *name {
        "own" => format!("  own: {{ component: own.wasm, limits: {limits} }}\n"),
        builtin => format!("  {builtin}: {{ limits: {limits} }}\n"),
    };
    let guards: String = guards.iter().map(entry).collect();
    place.write(
        "policy.yaml",
        format!(
            "plugins: {{ allow_unsigned: true }}\nguards:\n{guards}capabilities:\n  default:\n    tools:\n      \
             - {{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }}\n"
        ),
    );
}

/// A check under a cache of its own.
fn check(place: &Place) -> Done {
    place.ask_with("check", "hello", "hello_world", r#"{"name":"Chio"}"#, &["--cache", "compiled"])
}

/// With a byte of memory nothing can be compiled in a process of its own; so whatever loads was not.
const NOTHING: &str = "{ compile_memory: 1, deadline: 2m }";

#[test]
fn what_comes_from_outside_is_compiled_under_its_limits_once() {
    let place = Place::new();
    place.write("own.wasm", hostile::guard("nop"));
    policy(&place, &["own"], NOTHING);
    check(&place).is_error(&["guards.own", "own.wasm): compile memory limit of 1 bytes reached"]);
    policy(&place, &["own"], "{ deadline: 2m }");
    assert_eq!(check(&place).code, 0);
    // What was compiled is kept, and found.
    policy(&place, &["own"], NOTHING);
    let done = check(&place);
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn the_hosts_own_components_are_compiled_in_the_host() {
    let place = Place::new();
    policy(&place, &["forbidden_path"], NOTHING);
    let done = check(&place);
    assert_eq!(done.code, 0, "{done:?}");
    // The same bytes in a file are the same component.
    let guard = chio_host_builtin::find(chio_host_builtin::Kind::Guard, "forbidden_path").unwrap();
    place.write("own.wasm", guard.bytes);
    std::fs::remove_dir_all(place.path().join("compiled")).unwrap();
    policy(&place, &["own"], NOTHING);
    assert_eq!(check(&place).code, 0);
}

/// The process that compiles, with a component that it has read.
fn compile(component: &[u8]) -> Child {
    let mut command = Command::new(BINARY);
    command.args(["compile-component", "4000000000"]).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.as_mut().unwrap();
    stdin.write_all(&(component.len() as u64).to_be_bytes()).unwrap();
    stdin.write_all(component).unwrap();
    child
}

/// How it ended, and what it wrote.
fn ended(mut child: Child) -> (Option<i32>, Vec<u8>) {
    let mut written = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut written).unwrap();
    (child.wait().unwrap().code(), written)
}

#[test]
fn it_answers_with_code_or_with_a_reason() {
    let (code, written) = ended(compile(&hostile::guard("nop")));
    assert!(code == Some(0) && written.starts_with(b"\x7fELF"), "{code:?}");
    for none in [&b"\0asm\x01\0\0\0"[..], b"what is this"] {
        let (code, written) = ended(compile(none));
        assert!(code == Some(2) && !written.is_empty(), "{code:?}");
    }
}

/// A host that is killed leaves no compiler behind.
#[test]
fn it_ends_with_its_parent() {
    let mut child = compile(&hostile::costly_to_compile(1000, 1000));
    // What the system does with a pipe of a process that is gone.
    drop(child.stdin.take());
    assert_eq!(ended(child), (Some(4), Vec::new()));
}

/// Nobody who types the name by chance gets anything but the usual answer.
#[test]
fn it_is_no_command() {
    let place = Place::new();
    place.run(&["compile-component"]).is_error(&["unrecognized subcommand"]);
    place.run(&["compile-component", "much"]).is_error(&["unrecognized subcommand"]);
    assert!(!place.run(&["--help"]).stdout.contains("compile-component"));
    assert!(!place.run(&["completions", "bash"]).stdout.contains("compile-component"));
}
