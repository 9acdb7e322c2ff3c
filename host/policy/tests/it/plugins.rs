//! Where components come from, and what goes wrong on the way.

use chio_host_policy::Problems;

use crate::support::{Project, accept, refuse};

#[test]
fn order_is_kept_and_what_is_switched_off_takes_no_part() {
    let policy =
        accept("guards: { shell_command: , off: { component: nowhere.wasm, enabled: false }, forbidden_path: {} }");
    let names: Vec<_> = policy.guards.iter().map(|guard| guard.name.as_str()).collect();
    assert_eq!(names, ["shell_command", "forbidden_path"]);
}

#[test]
fn a_built_in_may_stand_under_other_names() {
    let policy = accept(
        "guards: { a: { component: builtin:forbidden_path }, b: { component: builtin:forbidden_path, config: {} } }",
    );
    assert_eq!(policy.guards[0].component.digest, policy.guards[1].component.digest);
}

#[test]
fn a_component_that_cannot_be_used_is_named() {
    let project = Project::new().folder("conf/folder.wasm").file("conf/big.wasm", vec![0; (1 << 20) + 1]);
    for (policy, expected) in [
        (
            "guards: { g: { component: x.wasm } }",
            "conf/policy.yaml:1:27: guards.g.component: \"x.wasm\" does not exist",
        ),
        (
            "guards: { g: { component: folder.wasm } }",
            "conf/policy.yaml:1:27: guards.g.component: \"folder.wasm\" is no regular file",
        ),
        (
            "guards: { g: { component: big.wasm } }",
            "conf/policy.yaml:1:27: guards.g.component: \"big.wasm\" is longer than 1048576 bytes",
        ),
        (
            "hooks: { forbidden_path: {} }",
            "conf/policy.yaml:1:10: hooks.forbidden_path: no built-in hook has this name, and a hook of your own needs component: PATH",
        ),
        (
            "servers: { s: { component: builtin:ls } }",
            "conf/policy.yaml:1:28: servers.s.component: no built-in tool server is called \"ls\"; there are: hello, files",
        ),
        (
            "guards: { g: { component: \"a\\nb\" } }",
            "conf/policy.yaml:1:27: guards.g.component: is no usable path; it is empty, too long, or holds control characters",
        ),
    ] {
        assert_eq!(project.refuse(policy), expected, "{policy}");
    }
}

#[test]
fn a_manifest_beside_a_component_is_checked_with_the_policy() {
    let project = Project::new()
        .unsigned()
        .file("conf/p/hook.wasm", "x")
        .file("conf/p/hook.manifest.yaml", "name: h\nkind: hook\n")
        .file("conf/p/bad.wasm", "x")
        .file("conf/p/bad.manifest.yaml", "name: bad\nkind: gard\npermissions: { network: x }\n");
    assert_eq!(
        project.refuse(
            "guards:\n  h: { component: p/hook.wasm }\n  b: { component: p/bad.wasm }\n  c: { component: p/c.wasm }"
        ),
        "\
conf/policy.yaml:4:19: guards.c.component: \"p/c.wasm\" does not exist
p/bad.manifest.yaml:2:7: kind: gard is not one of guard, hook, tool-server, rail; did you mean guard?
p/bad.manifest.yaml:3:25: permissions.network: \"x\" is not none, any or a list, such as [{ host: api.example.com }]
p/hook.manifest.yaml:2:7: kind: is a hook, and the policy uses it as a guard"
    );
}

#[test]
fn a_policy_that_cannot_be_read_says_why() {
    let project = Project::new()
        .folder("dir")
        .file("latin.yaml", b"kernel: {}\n# caf\xe9\n")
        .file("big.yaml", vec![b' '; (1 << 20) + 1]);
    let shown = |result: Result<_, Problems>| project.shown(&result.map(|_: chio_host_policy::Policy| ()).unwrap_err());
    for (name, expected) in [
        ("gone.yaml", "gone.yaml: does not exist"),
        ("dir", "dir: is no regular file"),
        ("latin.yaml", "latin.yaml: is not UTF-8 (line 2)"),
        ("big.yaml", "big.yaml: is longer than 1048576 bytes"),
    ] {
        assert_eq!(shown(project.load_file(name)), expected);
    }
}

#[test]
fn a_policy_need_not_be_a_file() {
    let project = Project::new().unsigned().file("conf/g.wasm", "x");
    let policy = "guards: { g: { component: g.wasm } }";
    let (text, file) = (project.load_text(policy, "conf").unwrap(), project.load(policy).unwrap());
    assert_eq!((&text.policy_hash, &text.source_hash, &text.dir), (&file.policy_hash, &file.source_hash, &file.dir));
    let gone = project.shown(&project.load_text(policy, "gone").unwrap_err());
    assert!(gone.starts_with("embedded.yaml: its folder gone cannot be opened: "), "{gone}");
}

#[test]
fn a_section_is_bounded() {
    let guards =
        (0..65).map(|i| format!("  g{i}: {{ component: builtin:forbidden_path }}\n")).collect::<Vec<_>>().concat();
    assert_eq!(refuse(&format!("guards:\n{guards}")), "1:1: guards: holds 65 entries; at most 64 are read");
    let files = "{ path: x, access: read }, ".repeat(257);
    assert_eq!(
        refuse(&format!("servers: {{ files: {{ permissions: {{ files: [{files}] }} }} }}")),
        "1:36: servers.files.permissions.files: holds 257 items; at most 256 are read"
    );
}
