//! The README's examples run, and print what it says.
//!
//! In a block marked `console`, a line that begins with `$ ` is a command, and what follows is its whole output; `…` stands
//! for what differs from run to run. All blocks run in one folder, in order; one marked `console js` where JavaScript's tools are
//! installed. A block marked with a file's path
//! (`rust guards/…/lib.rs`, `yaml examples/…`) is that file, or a contiguous part of it.
//!
//! A reader is told to do a few things by hand, and so does this: `OPERATION` in a command is the operation that was printed
//! last; the key that `approvals key` or `plugin key` prints is put where a shown policy has none, which then lies in the folder
//! under its name; the guard that the page writes is built, and its manifest put beside it, before it is first named; and so
//! is the example of a plain component, with a note to read.

use std::path::Path;

use crate::support::{Place, repository, shared};

struct Block {
    info: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let readme = std::fs::read_to_string(repository("README.md")).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for line in readme.lines() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(info) => {
                blocks.push(Block { info: info.to_owned(), text: String::new() });
                open = true;
            }
            None if open => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    blocks
}

/// Whether a line is as expected, `…` standing for anything.
fn is_like(actual: &str, expected: &str) -> bool {
    let mut rest = actual;
    let mut pieces = expected.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(after) = rest.strip_prefix(first) else { return false };
    rest = after;
    let pieces: Vec<_> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    for piece in middle {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// Words as a shell would split them, without anything else that a shell does.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// A reader of the README's fixtures stands in the repository; everything else is made by the commands themselves.
fn in_repository(word: &str) -> String {
    let is_there = word.starts_with("guards/") || word.starts_with("examples/hello/");
    if is_there { repository(word).display().to_string() } else { word.to_owned() }
}

/// What `npm install` would fetch is there already.
fn link(modules: &std::ffi::OsStr, at: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(modules, at).unwrap();
    #[cfg(not(unix))]
    let _ = (modules, at);
}

/// Puts the shown policies that list nobody yet as `people` into a folder, with the holder of this key.
fn list(dir: &Path, people: &str, key: &str) {
    let nobody = format!("{people}: []");
    for block in blocks() {
        let Some((_, path)) = block.info.split_once(' ') else { continue };
        if block.text.contains(&nobody) {
            let name = Path::new(path).file_name().unwrap();
            std::fs::write(dir.join(name), block.text.replace(&nobody, &format!("{people}: [{key}]"))).unwrap();
        }
    }
}

/// Builds the guard of the page, once.
fn build_guard(dir: &Path) {
    let manifest =
        blocks().into_iter().find(|block| block.info.ends_with("examples/house-rules/manifest.yaml")).unwrap();
    std::fs::write(dir.join("house_rules.wasm"), chio_host_builtin::testing::HOUSE_RULES).unwrap();
    std::fs::write(dir.join("house_rules.manifest.yaml"), manifest.text).unwrap();
}

/// Puts the example of a plain component and its policy into a folder.
fn build_notes(dir: &Path) {
    let copy = |from: &str, to: &str| std::fs::copy(repository(from), dir.join(to)).unwrap();
    copy("examples/policies/notes.yaml", "notes.yaml");
    copy("examples/notes/manifest.yaml", "notes.manifest.yaml");
    std::fs::write(dir.join("notes.wasm"), chio_host_builtin::testing::NOTES).unwrap();
    std::fs::create_dir_all(dir.join("notes")).unwrap();
    std::fs::write(dir.join("notes/shopping.txt"), "buy some milk").unwrap();
}

#[test]
fn every_command_prints_what_the_readme_says() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("workspace")).unwrap();
    // Where the README names a file of the repository, it speaks to somebody who has one.
    let mut dir = place.path().to_owned();
    let (mut ran, mut operation) = (0, String::new());
    let modules = std::env::var_os("CHIO_TEST_NODE_MODULES");
    for block in blocks().iter().filter(|b| b.info == "console" || b.info == "console js" && modules.is_some()) {
        let mut lines = block.text.lines().peekable();
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("not a command: {line}"));
            let mut expected = Vec::new();
            while let Some(line) = lines.next_if(|l| !l.starts_with("$ ")) {
                expected.push(line);
            }
            let words = words(&command.replace("OPERATION", &operation));
            let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
            if args.contains(&"notes.wasm") {
                build_notes(&dir);
            }
            let mut file = None;
            if let [.., ">", into] = args.as_slice() {
                file = Some(dir.join(into));
                args.truncate(args.len() - 2);
            }
            if args.contains(&"house_rules.wasm") && !dir.join("house_rules.wasm").exists() {
                build_guard(&dir);
            }
            let output = match args.as_slice() {
                ["cd", to] => {
                    dir = dir.join(to);
                    continue;
                }
                ["cargo", "run", "--", rest @ ..] | ["chio-host", rest @ ..] => {
                    let rest: Vec<_> = rest.iter().map(|word| in_repository(word)).collect();
                    let rest: Vec<_> = rest.iter().map(String::as_str).collect();
                    let mut command = place.command(&rest);
                    command.current_dir(&dir).env("CARGO_TARGET_DIR", shared("projects")).output().unwrap()
                }
                other => panic!("the README runs something that this test does not know: {other:?}"),
            };
            if let ["chio-host", "plugin", "new", name, .., "js"] = args[..] {
                link(modules.as_deref().unwrap_or_default(), &dir.join(name).join("node_modules"));
            }
            let mut actual = String::from_utf8(output.stdout).unwrap();
            if let Some(file) = file {
                std::fs::write(file, std::mem::take(&mut actual)).unwrap();
            }
            match args[..] {
                ["chio-host", "approvals", "key", ..] => list(&dir, "approvers", actual.trim()),
                ["chio-host", "plugin", "key", ..] => list(&dir, "signers", actual.trim()),
                _ => {}
            }
            let printed = actual.lines().find_map(|line| line.strip_prefix("operation:"));
            operation = printed.map_or(operation, |id| id.trim().to_owned());
            let actual: Vec<_> = actual.lines().collect();
            let same = actual.len() == expected.len() && actual.iter().zip(&expected).all(|(a, e)| is_like(a, e));
            assert!(same, "{command}\nexpected:\n{}\nactual:\n{}", expected.join("\n"), actual.join("\n"));
            ran += 1;
        }
    }
    assert!(ran >= 5, "only {ran} commands found");
}

#[test]
fn every_file_shown_is_the_file() {
    let mut seen = 0;
    for block in blocks() {
        let Some((_, path)) = block.info.split_once(' ').filter(|(language, _)| *language != "console") else {
            continue;
        };
        let file = std::fs::read_to_string(repository(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert!(file.contains(&block.text), "the README shows another {path} than there is");
        seen += 1;
    }
    assert!(seen >= 2, "only {seen} files found");
}

#[test]
fn the_wildcard_is_not_too_wild() {
    assert!(is_like("abc", "abc") && is_like("abc", "a…c") && is_like("abc", "…") && is_like("abc", "…c"));
    assert!(!is_like("abc", "ab") && !is_like("abc", "a…d") && !is_like("abc", "b…") && !is_like("", "a…"));
}
