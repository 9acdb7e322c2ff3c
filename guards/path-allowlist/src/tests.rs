use chio_sdk::EffectClass;
use chio_sdk::testing::{CallBuilder, call, with_config};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A workspace to write in, documents to read, and the tool's own folder.
fn config() -> Value {
    json!({
        "allow": [
            { "path": "/workspace", "access": "read-write" },
            { "path": "/docs/**/*.md", "access": "read" },
            { "path": "~/projects", "access": "read-write" },
            { "path": ".", "access": "read-write", "server": "files" },
        ],
        "readers": [{ "server": "files", "tool": "read_file" }],
    })
}

fn reason(call: CallBuilder) -> String {
    with_config(&config(), || check(&call.build())).unwrap().reason().to_owned()
}

/// As the host would have it, for paths that it normalises.
fn path(raw: &str, normalised: Option<&str>) -> String {
    reason(call("files", "read_file").path("/path", raw, normalised))
}

fn text(text: &str) -> String {
    reason(call("any", "tool").arguments(json!({ "x": text })))
}

fn command(line: &str) -> String {
    reason(call("shell", "run").command_line("/command", line))
}

#[track_caller]
fn all_refused(judge: impl Fn(&str) -> String, all: &[&str]) {
    let allowed: Vec<_> = all.iter().filter(|one| judge(one).is_empty()).collect();
    assert!(allowed.is_empty(), "let through: {allowed:#?}");
}

#[track_caller]
fn all_allowed(judge: impl Fn(&str) -> String, all: &[&str]) {
    let refused: Vec<_> = all.iter().map(|one| (one, judge(one))).filter(|(_, why)| !why.is_empty()).collect();
    assert!(refused.is_empty(), "refused: {refused:#?}");
}

#[test]
fn a_described_path_is_below_an_entry_or_denied() {
    let same = |raw: &str| path(raw, Some(raw));
    all_allowed(
        same,
        &[
            "/workspace",
            "/workspace/a/b.txt",
            "/docs/a/b.md",
            "~/projects/x",
            "notes.txt",
            ".",
            "a b/c",
            "/workspace/[id]/x",
        ],
    );
    all_refused(
        same,
        &[
            "/",
            "/etc/passwd",
            "/workspace-evil/x",
            "/workspac",
            "/docs/a.txt",
            "~/.ssh/id_rsa",
            "~root/x",
            "../x",
            "~/projects-x",
        ],
    );
    assert_eq!(
        same("/etc/passwd"),
        "path /etc/passwd is not allowed (the policy allows /workspace, /docs/**/*.md, ~/projects, others)"
    );
    assert!(same("../x").contains("leaves the folder"));
}

#[test]
fn every_reading_of_a_path_has_to_be_allowed() {
    for (raw, normalised) in [
        ("/workspace/../etc/passwd", Some("/etc/passwd")),
        ("a/../../x", Some("../x")),
        ("/workspace/%2e%2e/etc", None),
        ("/workspace/a\0/x", None),
        ("C:\\workspace\\x", None),
        // What the host does not know to be two dots.
        ("/workspace/\u{fe30}/etc", Some("/workspace/\u{fe30}/etc")),
        ("/workspace/%25252e%25252e/etc", Some("/workspace/%25252e%25252e/etc")),
        ("file://server/workspace/x", Some("server/workspace/x")),
    ] {
        assert!(!path(raw, normalised).is_empty(), "{raw}");
    }
    for (raw, normalised) in [
        ("/workspace//a/./b/", "/workspace/a/b"),
        ("/workspace/a/../b", "/workspace/b"),
        ("file:///workspace/a", "/workspace/a"),
        ("file://localhost/workspace/a", "/workspace/a"),
        ("/workspace/Caf\u{e9}/\u{ff41}.txt", "/workspace/Caf\u{e9}/\u{ff41}.txt"),
        ("/workspace/100% done.txt", "/workspace/100% done.txt"),
    ] {
        assert_eq!(path(raw, Some(normalised)), "", "{raw}");
    }
    // Letters count, although spellings are compared without them.
    assert!(!path("/Workspace/x", Some("/Workspace/x")).is_empty());
}

#[test]
fn a_relative_path_needs_a_relative_entry() {
    let other = |raw: &str| reason(call("other", "read").path("/path", raw, Some(raw)));
    assert!(other("notes.txt").contains("{ path: . }"));
    assert_eq!(other("/workspace/notes.txt"), "");
}

#[test]
fn reading_is_not_writing() {
    let ask = |tool: &str, effect: EffectClass| {
        let mut call = call("files", tool).path("/path", "/docs/a.md", Some("/docs/a.md")).build();
        call.effect_class = effect;
        with_config(&config(), || check(&call)).unwrap().reason().to_owned()
    };
    assert_eq!(ask("list", EffectClass::ReadOnly), "");
    assert_eq!(ask("list", EffectClass::Pure), "");
    assert_eq!(ask("read_file", EffectClass::SideEffecting), "");
    assert!(ask("write_file", EffectClass::SideEffecting).contains("may be read"));
}

#[test]
fn text_is_judged_where_it_can_be_nothing_but_a_path() {
    all_refused(
        text,
        &[
            "/etc/passwd",
            "--file=/etc/passwd",
            "~/.ssh",
            "~",
            "../secret",
            "a/../../b",
            "C:\\Users\\x",
            "\\\\server\\share",
            "file:///etc/passwd",
            "%2fetc%2fpasswd",
            "/workspace,/etc",
            "/Workspace/x",
            "/My Files/x",
            "{\"path\":\"/etc/passwd\"}",
        ],
    );
    all_allowed(
        text,
        &[
            "/workspace/a",
            "file:///workspace/a",
            "src/main.rs",
            "a/../b",
            "hello",
            "never read /etc/passwd",
            "https://example.com/etc/passwd",
            "s3://bucket/etc",
            "/help me",
            "// a comment",
            "HEAD~1",
            "\\d+",
            "",
        ],
    );
    assert!(!reason(call("any", "tool").arguments(json!({ "a": [{ "/etc/shadow": 1 }] }))).is_empty());
    let content = call("files", "write_file").fact("/content", FactKind::Content("/etc/passwd".into()));
    assert_eq!(reason(content), "");
}

#[test]
fn the_certain_words_of_a_command_are_judged() {
    all_refused(
        command,
        &[
            "cat /etc/passwd",
            "cat </etc/passwd",
            "cp a /tmp/x",
            "cat ../x",
            "cd ..",
            "ls ~",
            "cat $HOME/.ssh/id_rsa",
            "cat /workspace/../etc/passwd",
            "cat '/etc/my file'",
            "tar -C /etc -cf - .",
            "tar --directory=/etc -cf - .",
            "sh -c 'cat /etc/passwd'",
            "echo x > /etc/cron.d/x",
            "echo $(cat /etc/passwd)",
            "python3 -c \"print(open('/etc/passwd').read())\"",
            "/tmp/evil",
            "/usr/bin/../../tmp/evil",
            "cat /workspace/{a,../../etc/passwd}",
        ],
    );
    all_allowed(
        command,
        &[
            "git status",
            "cargo test 2>/dev/null",
            "/usr/bin/env python3 x.py",
            "sudo /usr/bin/ls /workspace",
            "cat /workspace/a > /workspace/b",
            "ls src",
            "sed -n '/a/,/b/p' x",
            "grep -r '/api/' src",
            "awk '/x/ {print}' /workspace/x",
            "echo /etc/passwd",
            "curl https://example.com/a -o /workspace/a",
            "head -c 8 /dev/urandom",
            "git diff HEAD..main",
        ],
    );
    let words = |words: &[&str]| reason(call("shell", "run").command_words("/command", words));
    assert!(!words(&["cat", "/etc/passwd"]).is_empty() && !words(&["sh", "-c", "cat /etc/passwd"]).is_empty());
    assert_eq!(words(&["cat", "/workspace/x"]), "");
}

#[test]
fn a_file_url_is_a_path() {
    let url = |raw: &str, scheme: &str, host: &str, path: &str| {
        let parsed = chio_sdk::Url {
            href: raw.into(),
            scheme: scheme.into(),
            host_kind: chio_sdk::HostKind::Domain,
            host: host.into(),
            port: None,
            path: path.into(),
            has_credentials: false,
        };
        reason(call("web", "get").fact("/url", FactKind::Url(UrlFact { raw: raw.into(), parsed: Some(parsed) })))
    };
    assert_eq!(url("file:///workspace/a", "file", "", "/workspace/a"), "");
    assert!(!url("file:///etc/passwd", "file", "", "/etc/passwd").is_empty());
    assert!(!url("file:///workspace/%2e%2e%2fetc", "file", "", "/workspace/%2e%2e%2fetc").is_empty());
    assert!(!url("file://server/workspace", "file", "server", "/workspace").is_empty());
    assert!(!url("c:/workspace", "c", "", "/workspace").is_empty());
    assert_eq!(url("https://example.com/etc/passwd", "https", "example.com", "/etc/passwd"), "");
    assert!(!reason(call("web", "get").unparsed_url("/url", "/etc/passwd")).is_empty());
}

#[test]
fn a_configuration_without_a_list_is_an_error() {
    let ask = |config: &Value| with_config(config, || check(&call("files", "read_file").build()));
    for config in [json!(null), json!({}), json!({ "readers": [] })] {
        assert!(ask(&config).unwrap_err().contains("no allow"), "{config}");
    }
    for config in [
        json!({ "allow": [{ "path": "/x" }] }),
        json!({ "allow": [{ "path": "/x", "access": "write" }] }),
        json!({ "allow": [{ "path": "../x", "access": "read" }] }),
        json!({ "allow": [{ "path": "/x", "access": "read", "more": 1 }] }),
        json!({ "allow": [{ "path": "/[x]", "access": "read", "server": "other" }] }),
        json!({ "allow": ["/x"] }),
        json!({ "allowed": [] }),
        json!({ "allow": [], "readers": [{ "server": "x" }] }),
    ] {
        assert!(ask(&config).is_err(), "{config}");
    }
    let nothing = json!({ "allow": [] });
    assert!(ask(&nothing).unwrap().is_allow());
    let one = call("files", "read_file").path("/path", "x", Some("x")).build();
    let answer = with_config(&nothing, || check(&one)).unwrap();
    assert_eq!(answer.reason(), "path x is not allowed (the policy allows none)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Whatever is written, what is allowed stays below the workspace when it is resolved as systems resolve it.
    #[test]
    fn nothing_leaves_the_workspace(names in prop::collection::vec("\\.\\.|\\.|[a-c]|~|%2e%2e|\u{fe30}|\u{ff0e}{2}|", 0..8)) {
        let raw = format!("/workspace/{}", names.join("/"));
        let mut depth = 0_i32;
        for name in &names {
            match name.as_str() {
                "" | "." => {}
                ".." | "%2e%2e" | "\u{fe30}" | "\u{ff0e}\u{ff0e}" => depth -= 1,
                _ => depth += 1,
            }
            if depth < 0 {
                prop_assert!(!text(&raw).is_empty(), "text {}", raw);
                prop_assert!(!path(&raw, Some(&raw)).is_empty(), "path {}", raw);
                prop_assert!(!command(&format!("cat '{raw}'")).is_empty(), "command {}", raw);
                break;
            }
        }
    }

    #[test]
    fn any_input_has_an_answer(input in "[a./\\\\~%2:=,'\" \u{ff0f}\u{0}-]{0,40}|\\PC{0,30}") {
        path(&input, Some(&input));
        text(&input);
        command(&input);
        reason(call("web", "get").unparsed_url("/url", &input));
    }
}
