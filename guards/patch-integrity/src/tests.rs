use chio_sdk::testing::{CallBuilder, call, with_config};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn reason(call: CallBuilder) -> String {
    check(&call.build()).unwrap().reason().to_owned()
}

fn patch(text: &str) -> String {
    reason(call("git", "apply").arguments(json!({ "patch": text })))
}

fn under(config: &Value, text: &str) -> String {
    with_config(config, || patch(text))
}

/// A change of one line of the file that both names are.
fn change(name: &str) -> String {
    format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-old\n+new\n")
}

#[track_caller]
fn refused(text: &str, why: &str) {
    let reason = patch(text);
    assert!(reason.contains(why) && reason.starts_with("patch is refused: "), "{reason:?} for\n{text}");
}

#[track_caller]
fn allowed(text: &str) {
    assert_eq!(patch(text), "", "for\n{text}");
}

#[test]
fn a_name_stays_in_its_tree_in_every_spelling() {
    for (name, why) in [
        ("../x", "leaves the tree"),
        ("src/../../x", "leaves the tree"),
        ("/etc/passwd", "empty step"),
        ("src//etc", "empty step"),
        ("C:/Windows/x", "drive"),
        (r"..\x", "backslash"),
        (".git/hooks/pre-commit", ".git"),
        (".GIT/config", ".git"),
        ("sub/.git/config", ".git"),
        (".git./config", ".git"),
        (".git /config", ".git"),
        ("GIT~1/config", ".git"),
        (".git::$INDEX_ALLOCATION/config", ".git"),
        (".gi\u{200c}t/config", "nobody sees"),
        ("a\u{202e}b", "nobody sees"),
        ("~/x", "leaves the tree"),
    ] {
        refused(&change(name), why);
        refused(&format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-old\n+new\n"), why);
        // A drive is one at the beginning alone.
        let below = if why == "drive" { "" } else { "x/" };
        refused(&format!("*** Begin Patch\n*** Update File: {below}{name}\n@@\n-a\n+b\n*** End Patch\n"), why);
        refused(&format!("diff --git a/x b/x\nsimilarity index 100%\nrename from x\nrename to {below}{name}\n"), why);
        refused(&format!("*** a/{name}\t2024-01-01\n--- b/{name}\t2024-01-01\n***************\n"), why);
    }
    refused("--- a/x\n+++ \"b/\\056\\056/\\056\\056/etc/passwd\"\n@@ -1 +1 @@\n-a\n+b\n", "leaves the tree");
    refused("diff --git \"a/\\56git/config\" \"b/\\56git/config\"\nnew file mode 100644\n", ".git");
    refused("--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n", "absolute");
    refused("--- a/x\r\n+++ b/../x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", "leaves the tree");
    refused("Index: ../x\n===================================\n", "leaves the tree");
    for name in ["src/a.rs", "a b/c d.txt", ".github/workflows/ci.yml", ".gitignore", "x..y/...z", "ä/ö.txt", "git/x"]
    {
        allowed(&change(name));
    }
    allowed(
        "diff --git \"a/\\303\\244.txt\" \"b/\\303\\244.txt\"\n--- \"a/\\303\\244.txt\"\n+++ \"b/\\303\\244.txt\"\n@@ -1 +1 @@\n-a\n+b\n",
    );
}

#[test]
fn headers_agree() {
    refused("diff --git a/x b/x\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "several files");
    refused("diff --git a/x b/y\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "several files");
    refused("diff --git a/x b/y\nrename from x\nrename to z\n", "several files");
    refused("diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "several files");
    refused("diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", "agree");
    refused("diff --git a/x b/x\nnew file mode 100644\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", "agree");
    refused("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "no file");
    allowed(
        "diff --git a/x y b/x z\nsimilarity index 90%\nrename from x y\nrename to x z\n--- a/x y\n+++ b/x z\n@@ -1 +1 @@\n-a\n+b\n",
    );
    allowed("--- x.orig\t2024-05-17 09:00:00\n+++ x\t2024-05-17 09:00:01\n@@ -1 +1 @@\n-a\n+b\n");
    allowed("diff --git x x\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n");
}

#[test]
fn hunks_are_what_they_say() {
    let head = "--- a/x\n+++ b/x\n";
    for (hunks, why) in [
        ("@@ -1,2 +1,2 @@\n-a\n+b\n", "ends in the middle"),
        ("@@ -1,2 +1,2 @@\n-a\n+b\nrm -rf\n", "shorter"),
        ("@@ -1 +1 @@\n-a\n+b\n+c\n", "longer"),
        ("@@ -1 +1 @@\n-a\n+b\n-c\n", "longer"),
        ("@@ -1 +1 @@\n-a\n+b\n c\n", "longer"),
        ("@@ -1 +1 @@\n+b\n+c\n", "other lines"),
        ("@@ -5,2 +5,2 @@\n a\n-b\n+c\n@@ -1 +1 @@\n-a\n+b\n", "out of order"),
        ("@@ -1,3 +1,3 @@\n a\n b\n-c\n+d\n@@ -2 +2 @@\n-b\n+x\n", "overlap"),
        ("@@ -x +1 @@\n-a\n+b\n", "which lines"),
        ("@@ -1 +1\n-a\n+b\n", "which lines"),
        ("@@ -99999999999999999999 +1 @@\n-a\n+b\n", "which lines"),
        ("@@ -1 +1 @@\n-a\n+b\n\nmore\n@@ -3 +3 @@\n-a\n+b\n", "no file"),
    ] {
        refused(&[head, hunks].concat(), why);
    }
    refused("@@ -1 +1 @@\n-a\n+b\n", "no file");
    refused("--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "makes a file");
    refused("--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "removes a file");
    for hunks in [
        "@@ -1 +1 @@\n-a\n+b\n",
        "@@ -1,3 +1,4 @@ fn main()\n a\n\n+b\n c\n",
        "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
        "@@ -1 +1 @@\n-- -a\n+++b\n",
        "@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-a\n+b\n",
        "@@ -5,0 +6,2 @@\n+a\n+b\n@@ -6 +9 @@\n-a\n+b\n",
        "@@ -1 +1 @@\n-a\n+b\n-- \n2.45.1\n\n",
        "@@ -1 +1 @@\r\n-a\r\n+b\r\n",
    ] {
        allowed(&[head, hunks].concat());
    }
}

#[test]
fn modes_and_links() {
    let new = |mode: &str, target: &str| {
        format!(
            "diff --git a/d/l b/d/l\nnew file mode {mode}\nindex 0000000..1111111\n--- /dev/null\n+++ b/d/l\n@@ -0,0 +1 @@\n+{target}\n\\ No newline at end of file\n"
        )
    };
    for target in
        ["/etc/passwd", "../../x", "..", "../..", "a/../../../x", "~/x", r"..\x", "C:x", "../.git/config", ".git"]
    {
        if target == ".." {
            allowed(&new("120000", target));
        } else {
            refused(&new("120000", target), "out of the tree");
        }
    }
    for target in ["x", "../x", "./a/../b"] {
        allowed(&new("120000", target));
    }
    refused(
        "diff --git a/l b/l\nindex 111..222 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+/etc\n\\ No newline at end of file\n",
        "out of the tree",
    );
    let behind = "diff --git a/d/l/x b/d/l/x\nnew file mode 100644\n--- /dev/null\n+++ b/d/l/x\n@@ -0,0 +1 @@\n+a\n";
    refused(&[&new("120000", "x"), behind].concat(), "behind the link");
    for (mode, why) in
        [("160000", "submodule"), ("104755", "mode"), ("100777", "mode"), ("040000", "mode"), ("x", "mode")]
    {
        refused(&new(mode, "a"), why);
    }
    refused("diff --git a/x b/x\nold mode 100644\nnew mode 106755\n", "mode");
    allowed(&new("100755", "#!/bin/sh"));
    assert!(under(&json!({ "executables": "deny" }), &new("100755", "a")).contains("executable"));
    allowed(
        "diff --git a/v b/v\nindex 111..222 160000\n--- a/v\n+++ b/v\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n",
    );
    allowed(
        "diff --git a/b b/b\nnew file mode 100644\nindex 000..111\nGIT binary patch\nliteral 3\nKcmZ?wbhEHb\n\nliteral 0\nHcmV?d00001\n\n",
    );
    refused(
        &format!("diff --git a/b b/b\nindex 000..111\nGIT binary patch\nliteral 3\nKcmZ?wbhEHb\n\n{}", change("../x")),
        "leaves",
    );
}

#[test]
fn what_is_added() {
    let add = |name: &str, line: &str| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+{line}\n");
    for line in [
        "if (level != \"user\u{202e} \u{2066}// admin\u{2069} \u{2066}\") {",
        "ad\u{200b}min = true",
        "x\u{2060}y",
        "a\u{3164}b()",
        "note \u{e0069}\u{e0067}\u{e006e}\u{e006f}",
        "v\u{fe00}\u{fe01}\u{fe02}\u{fe03}\u{fe04}",
    ] {
        refused(&add("x.c", line), "adds");
    }
    for line in [
        "Grüße",
        "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
        "Donau\u{ad}dampfschiff",
        "می\u{200c}خواهم",
        "❤\u{fe0f}",
        "\u{feff}// x",
    ] {
        allowed(&add("x.md", line));
    }
    for line in
        ["\turl = ext::sh -c x", "url = --upload-pack=x", "path = ../../x", "path = -x", "update = !sh", "URL=\"-x\""]
    {
        refused(&add(".gitmodules", line), "submodule");
    }
    allowed(&add(".gitmodules", "\turl = https://example.com/x.git"));
    let config = json!({ "patterns": [{ "kind": "eval", "regex": "\\beval\\(" }], "paths": ["deploy/*", "*.lock"] });
    assert!(under(&config, &add("x.js", "eval(x)")).contains("pattern eval"));
    assert_eq!(under(&config, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-eval(x)\n+run(x)\n"), "");
    assert!(under(&config, &change("deploy/a/b")).contains("deploy/*"));
    assert!(under(&config, &change("Cargo.lock")).contains("*.lock"));
    assert!(under(&json!({ "max_lines": 1 }), &change("x")).contains("1 lines"));
    assert!(under(&json!({ "max_files": 1 }), &change("x").repeat(2)).contains("1 files"));
}

#[test]
fn only_a_patch_is_judged() {
    let bad = change("../x");
    let shown = format!("# How to\n\nThis shows a diff:\n\n```diff\n{bad}```\n");
    let fact = |at: &str, kind| reason(call("any", "tool").fact(at, kind));
    assert_eq!(fact("/content", FactKind::Content(shown.clone())), "");
    assert_eq!(reason(call("any", "tool").arguments(json!({ "text": shown }))), "");
    assert_ne!(patch(&shown), "", "what is called a patch is one, wherever it begins");
    assert_ne!(fact("/content", FactKind::Content(bad.clone())), "");
    assert_ne!(reason(call("any", "tool").arguments(json!({ "text": format!("\n{bad}") }))), "");
    assert_ne!(reason(call("any", "tool").arguments(json!({ "diffs": [bad] }))), "");
    assert_ne!(reason(call("any", "tool").arguments(json!({ &bad: 1 }))), "");
    for text in ["", "no patch", "--- a line\nof a text", "*** stars ***\nand more", "@@ mention", "-- \nKim"] {
        allowed(text);
        assert_eq!(reason(call("any", "tool").arguments(json!({ "text": text }))), "");
    }
}

#[test]
fn what_a_command_applies_is_judged() {
    let run = |line: &str| reason(call("shell", "run").command_line("/command", line));
    let bad = change("../x");
    for line in [
        format!("git apply <<'EOF'\n{bad}EOF"),
        format!("cd /w && git -C /w apply --index - <<'EOF'\n{bad}EOF"),
        format!("patch -p1 <<'EOF'\n{bad}EOF"),
        format!("cat <<'EOF' | sudo patch -p0\n{bad}EOF"),
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ../x\n+a\n*** End Patch\nEOF".to_owned(),
        format!("echo '{bad}' | git am"),
    ] {
        assert_ne!(run(&line), "", "{line}");
    }
    assert_eq!(run(&format!("cat > notes.txt <<'EOF'\n{bad}EOF")), "");
    assert_eq!(run(&format!("git apply <<'EOF'\n{}EOF", change("x"))), "");
    let words = ["apply_patch", "*** Begin Patch\n*** Add File: /etc/x\n+a\n*** End Patch"];
    assert_ne!(reason(call("shell", "run").command_words("/command", &words)), "");
}

#[test]
fn the_form_of_agents() {
    allowed(
        "*** Begin Patch\n*** Update File: src/a.py\n@@ def f():\n-    a\n+    b\n*** Add File: new.txt\n+line\n*** Delete File: old.txt\n*** End Patch\n",
    );
    allowed("*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n x\n-y\n+z\n*** End of File\n*** End Patch");
    refused("*** Begin Patch\n*** Update File: a\n*** Move to: ../b\n@@\n-y\n+z\n*** End Patch", "leaves");
    refused("*** Begin Patch\n*** Update File: a\n@@\n-y\n+z\n", "no end");
    refused("*** Begin Patch\n*** Run Command: a\n*** End Patch\n", "something else");
    refused("*** Begin Patch\n*** Update File: a\n*** Exec: a\n*** End Patch\n", "no reader knows");
    refused("*** Begin Patch\n*** Add File: a\nx\n*** End Patch\n", "does not add");
    refused("*** Begin Patch\n", "ends");
}

#[test]
fn a_configuration_that_is_none_is_an_error() {
    let built = call("git", "apply").build();
    for config in [
        json!({ "max_lines": 0 }),
        json!({ "max_files": 2_000_000 }),
        json!({ "paths": ["**"] }),
        json!({ "patterns": [{ "kind": "x", "regex": "(" }] }),
        json!({ "executables": "maybe" }),
        json!({ "path": [] }),
    ] {
        assert!(with_config(&config, || check(&built)).is_err(), "{config}");
    }
}

proptest! {
    #[test]
    fn anything_has_an_answer(text in "(?s).{0,200}") {
        patch(&text);
    }

    #[test]
    fn pieces_of_patches_have_an_answer(
        lines in prop::collection::vec(prop::sample::select(&[
            "diff --git a/x b/x", "diff --git \"a/\\", "--- a/x", "+++ b/x", "--- ", "+++ ", "@@ -1 +1 @@", "@@ -1,2 +0,0 @@", "@@",
            "+a", "-a", " a", "", "\\ No newline", "GIT binary patch", "literal 4", "new file mode 120000", "index 1..2 160000",
            "*** Begin Patch", "*** Add File: ", "*** Update File: x", "*** End Patch", "rename from x", "rename to \"", "Index: x", "======", "-- ", "*** x",
        ][..]), 0..20),
    ) {
        patch(&lines.join("\n"));
        let hostile = format!("{}\n", [lines.join("\n"), change("../../etc/cron.d/x")].join("\n\n"));
        prop_assert_ne!(patch(&hostile), "", "{}", hostile);
    }
}
