//! Permissions: the manifest asks, the policy grants, and no folder exposes the host.

use crate::support::Project;

fn grant(path: &str, access: &str) -> String {
    format!("servers: {{ files: {{ permissions: {{ files: [{{ path: {path}, access: {access} }}] }} }} }}")
}

fn project() -> Project {
    Project::new().unsigned().folder("conf/workspace").folder(".chio/db").folder("keys")
}

#[test]
fn what_exposes_the_host_is_refused() {
    let place = "conf/policy.yaml:1:52: servers.files.permissions.files[0].path";
    for (path, expected) in [
        (
            "../.chio",
            "the folder \"../.chio\" would expose the state folder (.chio); grant a folder that does not contain it",
        ),
        ("../.chio/db", "the folder \"../.chio/db\" lies inside the state folder (.chio); grant a folder elsewhere"),
        (
            "../keys",
            "the folder \"../keys\" would expose the key folder (keys); grant a folder that does not contain it",
        ),
        (
            ".",
            "the folder \".\" would expose the policy file (conf/policy.yaml); grant a folder that does not contain it",
        ),
        ("gone", "the folder \"gone\" does not exist; make it first"),
        ("policy.yaml", "\"policy.yaml\" is no folder"),
    ] {
        assert_eq!(project().refuse(&grant(path, "read")), format!("{place}: {expected}"), "{path}");
    }
    for path in ["..", "/"] {
        let problems = project().refuse(&grant(path, "read"));
        assert!(problems.contains("would expose") || problems.contains("at: /workspace"), "{path}: {problems}");
    }
    assert!(project().load(&grant("workspace", "read-write")).is_ok());
}

#[test]
fn a_state_folder_that_is_yet_to_be_made_is_protected_too() {
    let project = Project::new().folder("conf");
    let problems = project.refuse(&grant("..", "read, at: /all"));
    assert!(problems.contains("would expose"), "{problems}");
    // It may be made before the folder is opened, so the loaded policy can be asked again.
    let project = Project::new().folder("conf/workspace");
    let policy = project.load(&grant("workspace", "read")).unwrap();
    let state = project.path(".chio/deep");
    std::fs::create_dir_all(&state).unwrap();
    assert!(policy.protected.check(&state.canonicalize().unwrap()).is_err());
    assert!(policy.protected.check(&policy.servers[0].files[0].host.canonicalize().unwrap()).is_ok());
}

#[test]
fn a_folder_with_a_component_or_its_manifest_is_not_granted() {
    let policy = "guards: { g: { component: workspace/g.wasm } }\n".to_owned() + &grant("workspace", "read");
    let problems = project().file("conf/workspace/g.wasm", "x").refuse(&policy);
    assert!(problems.contains("would expose the component workspace/g.wasm (conf/workspace/g.wasm)"), "{problems}");
}

#[cfg(unix)]
#[test]
fn links_do_not_hide_what_is_exposed() {
    let project = project().folder("plugins").file("plugins/g.wasm", "x");
    std::os::unix::fs::symlink(project.path(".chio"), project.path("conf/innocent")).unwrap();
    assert!(project.refuse(&grant("innocent", "read")).contains("would expose the state folder"));
    // Who may write where the link stands may let it lead elsewhere.
    std::os::unix::fs::symlink(project.path("plugins/g.wasm"), project.path("conf/workspace/g.wasm")).unwrap();
    let policy = "guards: { g: { component: workspace/g.wasm } }\n".to_owned() + &grant("workspace", "read-write");
    assert!(project.refuse(&policy).contains("would expose the component"));
}

#[test]
fn a_policy_grants_only_what_the_manifest_asks() {
    let project = project()
        .file("conf/p/bare.wasm", "x")
        .file("conf/p/foreign.wasm", "foreign: files")
        .file("conf/p/quiet.wasm", "foreign")
        .file("conf/p/modest.wasm", "foreign: files")
        .file("conf/p/modest.manifest.yaml", "name: modest\nkind: tool-server\npermissions:\n  files: read\n")
        .file("conf/p/reads.wasm", "x")
        .file("conf/p/reads.manifest.yaml", "name: reads\nkind: tool-server\npermissions:\n  files: read\n");
    let server = |component: &str, access: &str| {
        format!(
            "servers: {{ s: {{ component: {component}, permissions: {{ files: [{{ path: workspace, access: {access} }}] }} }} }}"
        )
    };
    for (component, access, expected) in [
        ("p/reads.wasm", "read", None),
        (
            "p/reads.wasm",
            "read-write",
            Some("grants read-write, and the manifest asks for read (p/reads.manifest.yaml:4)"),
        ),
        ("p/foreign.wasm", "read-write", None),
        ("p/quiet.wasm", "read", Some("grants read, and the component imports nothing that opens files")),
        (
            "p/modest.wasm",
            "read-write",
            Some("grants read-write, and the manifest asks for read (p/modest.manifest.yaml:4)"),
        ),
        ("p/bare.wasm", "read", Some("grants read, and there is no manifest \"p/bare.manifest.yaml\" to ask for it")),
        (
            "builtin:hello",
            "read",
            Some("grants read, and the manifest asks for no files (builtin:hello/manifest.yaml:1)"),
        ),
        ("builtin:files", "read", None),
    ] {
        let result = project.load(&server(component, access));
        let shown = result.as_ref().err().map(|problems| project.shown(problems));
        let is_as_expected = match (expected, &shown) {
            (None, None) => true,
            (Some(expected), Some(shown)) => {
                shown.ends_with(&format!("servers.s.permissions.files[0].access: {expected}"))
                    && shown.starts_with("conf/policy.yaml:1:")
            }
            _ => false,
        };
        assert!(is_as_expected, "{component} {access}: {shown:?}");
    }
    let least = project.load(&server("builtin:files", "read")).unwrap();
    assert_eq!(least.servers[0].files[0].access.as_str(), "read");
}

#[test]
fn two_folders_cannot_stand_in_one_place() {
    let policy = "servers: { files: { permissions: { files: [{ path: a/w, access: read, at: /w }, { path: w, access: read }] } } }";
    let problems = Project::new().folder("conf/a/w").folder("conf/w").refuse(policy);
    assert_eq!(
        problems,
        "conf/policy.yaml:1:89: servers.files.permissions.files[1].path: a second folder at /w in the sandbox; place it elsewhere with at: /name"
    );
}
