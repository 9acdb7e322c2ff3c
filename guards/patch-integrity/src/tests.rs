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
        format!("if true; then git apply <<'EOF'\n{bad}EOF\nfi"),
        format!("p''atch -p1 <<'EOF'\n{bad}EOF"),
        format!("echo $(git apply <<'EOF'\n{bad}EOF\n) {}", "$(a) ".repeat(100)),
        format!("echo +++ {}", "$(".repeat(20)),
        format!("echo +++ {}", "x".repeat(300 << 10)),
    ] {
        assert_ne!(run(&line), "", "{}", &line[..line.len().min(200)]);
    }
    let lines_of_windows = change("x").replace('\n', "\r\n");
    assert_eq!(run(&format!("git apply <<'EOF'\r\n{lines_of_windows}EOF\r\n")), "");
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

/// The same lines, indented.
fn indented(by: &str, text: &str) -> String {
    text.lines().flat_map(|line| [by, line, "\n"]).collect()
}

#[test]
fn what_only_patch_reads_is_judged() {
    let plain = "--- a/x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n";
    for by in ["  ", "\t", "X", "    ", " \t"] {
        refused(&indented(by, plain), "leaves the tree");
        refused(&indented(by, &change("../x")), "leaves the tree");
        refused(&format!("{}\n{}", change("x"), indented(by, &change("../x"))), "leaves the tree");
        refused(&format!("{}\n{}", change("x"), indented(by, plain)), "leaves the tree");
        let reason = reason(call("any", "tool").fact("/content", FactKind::Content(indented(by, plain))));
        assert_eq!(reason.is_empty(), by == "X", "{by:?}");
    }
    for (text, why) in [
        ("--- a/x\nsomething\n+++ b/../x\nelse\n@@ -1 +1 @@\n-a\n+b\n", "no file"),
        ("--- a/x\n  +++ b/../x\n  @@ -1 +1 @@\n  -a\n  +b\n", "leaves the tree"),
        ("Index:../x\n@@ -1 +1 @@\n-a\n+b\n", "no file"),
        ("  Index: ../x\n  @@ -1 +1 @@\n  -a\n  +b\n", "leaves the tree"),
        ("Index: ../x\n1c1\n< a\n---\n> b\n", "leaves the tree"),
        ("Index: ../x\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", "leaves the tree"),
        ("--- x\n+++ x\n1c\n!id\n.\n", "script for ed"),
        ("1,2c\n!id\n.\nw\n", "script for ed"),
        ("diff --git a/x b/x\nwhat\nnew file mode 120000\n", "no reader knows"),
        ("diff --git a/x b/x\n\nnew file mode 120000\n", "mode belongs to no file"),
        ("diff --git a/x b/x\n\nrename to ../x\n", "leaves the tree"),
        ("diff --git a/x b/x\nwhat\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "no reader knows"),
        ("diff --git a/x b/x\n  new file mode 104755\n", "mode"),
        ("--- a/x\n+++  b/../x\n@@ -1 +1 @@\n-a\n+b\n", "leaves the tree"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n\n-a\n+b\n\n@@ -9 +9 @@\n\n", "no file"),
        ("--- a/x\n+++ b/x\n-a\n+b\n", "in no hunk"),
        ("--- a/README.md\n+++ b/Makefile\n@@ -1 +1 @@\n-a\n+b\n", "several files"),
    ] {
        refused(text, why);
    }
    let config = json!({ "patterns": [{ "kind": "eval", "regex": "eval" }], "paths": ["x"] });
    for text in [
        "*** a/y\n--- b/y\n***************\n*** 1 ****\n! a\n--- 1 ----\n! eval\n***************\n*** 7 ****\n! a\n--- 7 ----\n",
        "*** a/y\n--- b/y\n***************\n*** 1 ****\n--- 1,2 ----\n  a\n# b\n+ eval\n",
        "*** a/y\n--- b/y\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n***************\n*** 7 ****\n--- 7,8 ----\n+ eval\n",
        "Index: y\n1c1\n< a\n---\n> eval\n",
        "  --- a/y\n  +++ b/y\n  @@ -1 +1 @@\n  -a\n  +eval\n",
        "  --- a/y\n  +++ b/y\n  @@ -1 +1@\n  -a\n  +eval\n",
        "--- a/y\n+++ b/y\n@@ ... @@\n a\n+eval\n",
        "diff --git a/y b/y\nold mode 100644\nnew mode 100755\n\n***************\n*** 1 ****\n! a\n--- 1 ----\n! eval\n",
    ] {
        assert!(under(&config, text).contains("eval"), "{text}");
    }
    for text in [
        "*** x\n--- y\n***************\n",
        "--- y\n+++ b/./x\n@@ -1 +1 @@\n-a\n+b\n",
        &change("x"),
        "--- x\n+++ x 2024\n@@ -1 +1 @@\n-a\n+b\n",
    ] {
        assert!(under(&config, text).contains("protected"), "{text}");
    }
}

#[test]
fn what_readers_pass_over_is_no_fault() {
    let quoted = "    Fix the count:\n\n    @@ -1,7 +1,7 @@\n    -a\n    +b\n\n    --- a/x\n    +++ b/x\n    @@ -1,7 +1,7 @@\n    -a\n    +b\n";
    let id = "0123456789012345678901234567890123456789";
    for text in [
        &format!("commit {id}\nAuthor: Kim <kim@example.com>\n\n{quoted}\n{}", change("x")),
        &format!(
            "From {id} Mon Sep 17 00:00:00 2001\nSubject: x\n\n@@ -1,7 +1,7 @@\n-a\n+b\n---\n x | 2 +-\n\n{}-- \n2.45.1\n\n",
            change("x")
        ),
        &format!("# HG changeset patch\n# User Kim\nA change\n\n{}", change("x")),
        &format!("diff -u -r1.1 x\n{}", "--- x\t2024-01-01\n+++ x\t2024-01-02\n@@ -1 +1 @@\n-a\n+b\n"),
        &format!("\u{feff}{}", change("x")),
        "--- a/x\n+++ b/x\n@@ ... @@\n-a\n+b\n@@ @@\n-c\n+d\n",
        "diff --cc x\nindex 0000000,0000000..b395aec\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@@ -1,0 -1,0 +1,1 @@@\n++a\n",
        "diff -ru a/x b/x\n--- a/x\t2024-01-01\n+++ b/x\t2024-01-02\n@@ -1 +1 @@\n-a\n+b\nOnly in b: y\n",
        "Binary files a/x and b/x differ\n",
        "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n",
        "diff --git a/c/x b/c/y\nsimilarity index 100%\nrename from c/x\nrename to c/y\n",
        "diff --git c/x c/y\nsimilarity index 90%\nrename from c/x\nrename to c/y\n--- c/x\n+++ c/y\n@@ -1 +1 @@\n-a\n+b\n",
        "diff --git old/x new/x\n--- old/x\n+++ new/x\n@@ -1 +1 @@\n-a\n+b\n",
        "diff --git a/100%25.md b/100%25.md\nold mode 100644\nnew mode 100755\n",
        "diff --git a/https%3A%2F%2Fexample.com b/https%3A%2F%2Fexample.com\nold mode 100644\nnew mode 100755\n",
        "Robot:\n*** Settings ***\n********\n1a2\nsome text\n",
        "1. first\n2. second\n",
        "<<<<<<< SEARCH\n--- old\n=======\n--- new\n>>>>>>> REPLACE\n",
        "*** Begin Patch\n*** Environment ID: main\n*** Update File: a.sql\n@@ -1,3 +1,3 @@\n a\n--- old\n+++ new\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: docs/patches.md\n@@\n diff --git a/x b/x\n --- a/x\n +++ b/x\n @@ -1 +1 @@\n-  a\n+  b\n*** End Patch\n",
    ] {
        allowed(text);
    }
}

#[test]
fn hunks_may_stand_alone_where_the_file_is_named_beside_them() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    let beside =
        |name: &str, patch: &str| reason(call("git", "apply").arguments(json!({ "patch": patch, name: "src/x" })));
    assert_eq!(beside("path", hunk), "");
    assert_eq!(reason(call("git", "apply").arguments(json!({ "patch": hunk })).path("/at", "x", Some("x"))), "");
    assert_ne!(beside("note", hunk), "");
    assert_ne!(beside("path", "@@ -1,2 +1 @@\n-a\n+b\n"), "");
    assert_ne!(beside("path", &[hunk, &change("../x")].concat()), "");
    assert_ne!(beside("path", &[&change("x"), "\n", hunk].concat()), "");
}

#[test]
fn patches_within_patches_have_an_end() {
    let shown = |deep: usize| indented(&" ".repeat(deep), "--- a/x\n+++ b/x\n@@ -1,99 +1,99 @@\n");
    let nested = |most: usize| (1..=most).map(shown).collect::<String>();
    allowed(&nested(20));
    refused(&nested(100), "too many patches");
}

#[test]
fn one_line_is_one_line_for_every_reader() {
    for end in ["\r", "\u{b}", "\u{c}", "\u{1c}", "\u{85}", "\u{2028}", "\u{2029}"] {
        let lines = ["*** Begin Patch\n*** Add File: a\n+x", "*** Add File: ../y", "+z\n*** End Patch\n"];
        refused(&lines.join(end), "other readers");
        let change = format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b{end}diff --git a/y b/y{end}\n");
        refused(&change, "other readers");
        allowed(&format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a{end}b\n+a{end} c\n"));
    }
    allowed("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n--- a\r\n+++ b\r\n");
}

#[test]
fn a_name_that_somebody_decodes_stays_in_its_tree() {
    for name in [
        "\u{ff0e}\u{ff0e}/x",
        "..\u{ff0f}x",
        "\u{2024}\u{2024}/x",
        "..\u{2215}x",
        "%2e%2e/x",
        "..%2fx",
        "..%5Cx",
        "%2Egit/config",
        "\u{ff0e}\u{ff47}\u{ff49}\u{ff54}/config",
    ] {
        refused(&change(name), "decodes");
    }
    refused(&change("x/C:/y"), "drive");
    refused(&change("x/ .. /y"), "leaves");
    for name in ["\u{ff21}.md", "a\u{2024}b", "50%", "a%20b", "%2e/x"] {
        allowed(&change(name));
    }
}

#[test]
fn links_are_followed_within_a_patch() {
    let link = |name: &str, target: &str| {
        format!(
            "diff --git a/{name} b/{name}\nnew file mode 120000\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+{target}\n\\ No newline at end of file\n"
        )
    };
    let (deep, out) = (link("p/q/l", "../.."), link("m", "p/q/l/../x"));
    refused(&[deep.as_str(), &out].concat(), "climbs out of the link p/q/l");
    refused(&[out.as_str(), &deep].concat(), "climbs out of the link p/q/l");
    allowed(&[link("m", "p/q/n/../x"), deep].concat());
    refused(&[link("l", "x"), change("l")].concat(), "written through");
    refused(&[link("L", "x"), change("l/y")].concat(), "behind the link");
    refused(&[link("./l", "x"), change("l/y")].concat(), "behind the link");
    let gone = "diff --git a/l b/l\ndeleted file mode 120000\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n";
    allowed(&[&link("l", "x"), gone, &change("l")].concat());
    let binary = "index 000..111\nGIT binary patch\nliteral 3\nKcmZ?wbhEHb\n\nliteral 0\nHcmV?d00001\n\n";
    refused(&format!("diff --git a/l b/l\nnew file mode 120000\n{binary}"), "nobody sees");
    refused("diff --git a/l b/l\nnew file mode 120000\nindex 000..111\n", "nobody sees");
    refused("diff --git a/l b/l\nold mode 100644\nnew mode 120000\n", "nobody sees");
    refused("diff --git a/l b/l\nindex 111..222 120000\nGIT binary patch\nliteral 3\nKcmZ?wbhEHb\n\n", "nobody sees");
    for name in [".gitmodules", "sub/.gitattributes", ".GITIGNORE", ".mailmap", "GITMOD~1", ".gitmodules ."] {
        refused(&link(name, "x"), "git reads it");
    }
    let config = json!({ "paths": ["deploy/*"] });
    assert!(under(&config, &link("docs/x", "../deploy/prod.yaml")).contains("protects"));
    assert_eq!(under(&config, &link("docs/x", "../src/y")), "");
}

#[test]
fn settings_of_submodules_stay_in_the_tree() {
    let add = |line: &str| format!("--- a/.gitmodules\n+++ b/.gitmodules\n@@ -1 +1,2 @@\n a\n+{line}\n");
    for line in [
        "[submodule \"../../x\"]",
        "[submodule \"a/../../hooks\"]",
        "\tpath = \"x\r\"",
        "\tpath = .git/hooks",
        "\turl = https://example.com/%0Ahost=evil.example/x.git",
    ] {
        refused(&add(line), "submodule");
    }
    refused(&add("\turl = -x").replace(".gitmodules", "GITMOD~1"), "submodule");
    for line in ["[submodule \"vendor/x..y\"]", "\tpath = vendor/x", "\turl = ../x.git", "\tupdate = rebase"] {
        allowed(&add(line));
    }
}

#[test]
fn a_name_below_a_root_of_the_policy_is_judged_by_its_rest() {
    let config = json!({ "roots": ["/workspace"], "paths": ["deploy/*"] });
    let update = |name: &str| format!("*** Begin Patch\n*** Update File: {name}\n@@\n-a\n+b\n*** End Patch\n");
    assert_eq!(under(&config, &update("/workspace/src/x")), "");
    assert_eq!(under(&config, "--- /workspace/x\n+++ /workspace/x\n@@ -1 +1 @@\n-a\n+b\n"), "");
    for name in [
        "/workspace/../x",
        "/workspace-evil/x",
        "/etc/x",
        "/workspace//etc/x",
        "/workspace/.git/x",
        "/workspace/deploy/x",
    ] {
        assert_ne!(under(&config, &update(name)), "", "{name}");
    }
    assert_ne!(patch(&update("/workspace/src/x")), "");
}

#[test]
fn a_command_says_how_much_of_a_name_counts() {
    let run = |line: &str| {
        let config = json!({ "paths": ["deploy/*"] });
        with_config(&config, || reason(call("shell", "run").command_line("/command", line)))
    };
    let deep = change("x/y/deploy/prod.yaml");
    assert_ne!(run(&format!("patch -p3 <<'EOF'\n{deep}EOF")), "");
    assert_eq!(under(&json!({ "paths": ["deploy/*"] }), &deep), "");
    let bad = change("../x");
    assert_ne!(run(&format!("cat > /tmp/fix.patch <<'EOF'\n{bad}EOF\ngit apply /tmp/fix.patch")), "");
    assert_ne!(run("git apply <<'EOF'\ndiff --git a/x b/x\nrename from x\nrename to ../x\nEOF"), "");
    assert_ne!(run("patch -p0 <<'EOF'\nIndex: ../x\n1c1\n< a\n---\n> b\nEOF"), "");
    assert_eq!(run("patch src/x.c <<'EOF'\n@@ -1 +1 @@\n-a\n+b\nEOF"), "");
    assert_eq!(run(&format!("cat > docs/attack.md <<'EOF'\n# How\n{bad}EOF\ngit apply fix.patch")), "");
}

#[test]
fn words_that_only_sound_like_patches_are_none() {
    let shown = format!("It says:\n{}", change("../x"));
    for name in ["dispatch", "difficulty", "what_is_different", "body"] {
        assert_eq!(reason(call("any", "tool").arguments(json!({ name: shown }))), "", "{name}");
    }
    for name in ["patch", "gitDiff", "unified_diff", "Patches"] {
        assert_ne!(reason(call("any", "tool").arguments(json!({ name: [shown] }))), "", "{name}");
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
            "  --- a/x", "\t+++ b/x", "  @@ -1 +1 @@", "  +a", "***************", "*** 1,2 ****", "1c1", "> a", "2a", ".", "new mode 100755", "what", "@@ ... @@",
        ][..]), 0..20),
        by in prop::sample::select(&["", "  ", "\t"][..]),
        ending in prop::sample::select(&["", "*** End Patch\n", "-- \n2.45.1\n"][..]),
    ) {
        patch(&lines.join("\n"));
        let hostile = format!("{}\n", [lines.join("\n"), indented(by, &change("../../etc/cron.d/x")) + ending].join("\n\n"));
        prop_assert_ne!(patch(&hostile), "", "{}", hostile);
    }
}
