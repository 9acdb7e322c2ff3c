//! What changes `policy_hash`, and what does not.

use crate::support::Project;

const BASE: &str = "\
guards:
  own: { component: g.wasm, config: { a: 1, b: [true, x] }, limits: { fuel: 5_000 } }
  forbidden_path: {}
servers:
  files: { permissions: { files: [{ path: ./w, access: read }] } }
  hello: {}
capabilities:
  default: { tools: [{ server: files, tool: \"*\", operations: [invoke], ttl: 300 }] }
plugins: { allow_unsigned: true }
";

fn project() -> Project {
    Project::new().file("conf/g.wasm", "bytes").folder("conf/w")
}

fn hash_in(project: &Project, policy: &str) -> String {
    project.load(policy).unwrap_or_else(|problems| panic!("{policy}\n{problems}")).policy_hash
}

fn hash(policy: &str) -> String {
    hash_in(&project(), policy)
}

#[test]
fn comments_layout_and_place_do_not_change_the_hash() {
    let base = hash(BASE);
    for (what, policy) in [
        ("another folder", BASE.to_owned()),
        ("a comment", format!("# hello\n{BASE}")),
        ("line ends", BASE.replace('\n', "\r\n")),
        ("number spelling", BASE.replace("5_000", "5000")),
        ("quotes", BASE.replace("server: files", "server: 'files'")),
        ("key order", BASE.replace("a: 1, b: [true, x]", "b: [true, x], a: 1")),
        ("server order", BASE.replace("  hello: {}\n", "").replace("servers:\n", "servers:\n  hello: {}\n")),
        ("a default written out", BASE.replace("forbidden_path: {}", "forbidden_path: { enabled: true }")),
        ("a default limit written out", BASE.replace("hello: {}", "hello: { limits: { deadline: 100ms } }")),
        ("a plugin switched off", BASE.replace("guards:\n", "guards:\n  off: { component: x.wasm, enabled: false }\n")),
    ] {
        assert_eq!(hash(&policy), base, "{what}");
    }
}

#[test]
fn whatever_holds_changes_the_hash() {
    let base = hash(BASE);
    let mut seen = std::collections::HashSet::from([base]);
    for (from, to) in [
        ("a: 1", "a: 2"),
        ("a: 1", "a: \"1\""),
        ("[true, x]", "[x, true]"),
        ("fuel: 5_000", "fuel: 5_001"),
        (", limits: { fuel: 5_000 }", ""),
        ("  forbidden_path: {}\n", ""),
        ("  own:", "  other:"),
        ("access: read", "access: read-write"),
        ("access: read", "access: read, at: /v"),
        ("./w", "w"),
        ("hello: {}", "hello: { config: {} }"),
        ("hello: {}", "hello: { arguments: { hello_world: [{ at: /x, is: url }] } }"),
        ("ttl: 300", "ttl: 301"),
        ("ttl: 300", "ttl: 300, max_invocations: 1"),
        ("[invoke]", "[invoke, delegate]"),
        ("guards:", "kernel: { max_capability_ttl: 601 }\nguards:"),
        ("guards:", "hooks: { secret_redactor: {} }\nguards:"),
    ] {
        assert!(BASE.contains(from), "{from}");
        assert!(seen.insert(hash(&BASE.replacen(from, to, 1))), "{from} -> {to}");
    }
    let swapped = BASE.replace("  forbidden_path: {}\n", "").replace("guards:\n", "guards:\n  forbidden_path: {}\n");
    assert!(seen.insert(hash(&swapped)), "guards in another order");
    assert!(seen.insert(hash_in(&project().file("conf/g.wasm", "bytez"), BASE)), "a byte of a component");
    let foreign = |manifest: &str| {
        let project = project().file("conf/f.wasm", "foreign").file("conf/f.manifest.yaml", manifest);
        hash_in(&project, &BASE.replace("hello: {}", "hello: {}\n  f: { component: f.wasm }"))
    };
    let manifest = "name: f\nkind: tool-server\n".to_owned();
    assert!(
        seen.insert(foreign(&manifest)) && seen.insert(foreign(&(manifest + "descriptions: { t: x }"))),
        "a description"
    );
    let mut other = project();
    other.defaults.tool.concurrency += 1;
    assert!(seen.insert(hash_in(&other, BASE)), "a default of the host");
}

#[test]
fn the_source_hash_is_of_the_bytes() {
    let with_comment = format!("# hello\n{BASE}");
    let (a, b) = (project().load(BASE).unwrap(), project().load(&with_comment).unwrap());
    assert_ne!(a.source_hash, b.source_hash);
    assert_eq!(b.source_hash, chio_host_kernel::canonical::sha256_hex(with_comment.as_bytes()));
}
