use std::fs;

use chio_sdk::ToolError;
use chio_sdk::testing::context;
use serde_json::{Value, json};

use super::*;

/// Runs a tool on a fresh folder that holds `notes.txt` and `sub/`.
struct Fixture {
    folder: tempfile::TempDir,
    folders: Folders,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "hello").unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let folders = Folders::at(&[folder.path()]);
        Self { folder, folders }
    }

    #[expect(clippy::needless_pass_by_value, reason = "a literal at every call")]
    fn run(&self, tool: &str, arguments: Value) -> Result<Value, ToolError> {
        run(&self.folders, &context(), tool, &arguments.to_string())
            .map(|output| serde_json::from_str(&output.value).unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().into()
    }
}

#[test]
fn reads_relative_and_absolute_paths() {
    let fixture = Fixture::new();
    for path in ["notes.txt", "./notes.txt", &fixture.path("notes.txt"), &fixture.path("./notes.txt")[1..]] {
        assert_eq!(fixture.run("read_file", json!({ "path": path })), Ok(json!("hello")), "{path}");
    }
}

#[test]
fn a_path_that_leaves_the_folder_is_an_invalid_argument() {
    let fixture = Fixture::new();
    for path in ["../x", "sub/../../x", "sub/..", "..", "/etc/passwd", "", "a\0b", &fixture.path("../x")] {
        for tool in ["read_file", "list_files"] {
            let result = fixture.run(tool, json!({ "path": path }));
            assert!(matches!(result, Err(ToolError::InvalidArguments(_))), "{tool} {path:?}: {result:?}");
        }
        let result = fixture.run("write_file", json!({ "path": path, "content": "" }));
        assert!(matches!(result, Err(ToolError::InvalidArguments(_))), "{path:?}");
    }
}

#[test]
fn a_neighbour_that_begins_with_the_folders_name_is_outside() {
    let fixture = Fixture::new();
    let neighbour = format!("{}-evil/x", fixture.path("").trim_end_matches('/'));
    assert!(matches!(fixture.run("read_file", json!({ "path": neighbour })), Err(ToolError::InvalidArguments(_))));
}

#[test]
fn what_cannot_be_read_says_why() {
    let fixture = Fixture::new();
    fs::write(fixture.path("image"), [0xff, 0xd8]).unwrap();
    fs::write(fixture.path("large"), vec![b'x'; usize::try_from(read::MAX_BYTES).unwrap() + 1]).unwrap();
    for (path, why) in [
        ("image", "is not text"),
        ("large", "larger than 1048576 bytes"),
        ("missing", "does not exist"),
        ("sub", "is a folder"),
    ] {
        let error = fixture.run("read_file", json!({ "path": path })).unwrap_err();
        assert!(error.message().contains(why), "{path}: {error:?}");
    }
}

#[test]
fn writes_and_replaces_and_leaves_nothing_behind() {
    let fixture = Fixture::new();
    for content in ["first", "zweitens ü"] {
        assert_eq!(
            fixture.run("write_file", json!({ "path": "sub/new.txt", "content": content })),
            Ok(json!({ "bytes_written": content.len() }))
        );
        assert_eq!(fs::read_to_string(fixture.path("sub/new.txt")).unwrap(), content);
    }
    assert_eq!(fs::read_dir(fixture.path("sub")).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_written_had_no_effect() {
    let fixture = Fixture::new();
    let write = |path: &str| fixture.run("write_file", json!({ "path": path, "content": "x" }));
    assert!(matches!(write("missing/new.txt"), Err(ToolError::FailedBeforeEffect(_))));
    assert!(matches!(write("sub"), Err(ToolError::InvalidArguments(_))));
    assert!(matches!(write("notes.txt/new"), Err(ToolError::FailedBeforeEffect(_))));
}

#[test]
fn lists_in_order_and_says_when_there_is_more() {
    let fixture = Fixture::new();
    let listing = fixture.run("list_files", json!({})).unwrap();
    assert_eq!(
        listing,
        json!({ "entries": [{ "name": "notes.txt", "kind": "file", "bytes": 5 }, { "name": "sub", "kind": "folder" }],
                "truncated": false })
    );
    for index in 0..=list::MAX_ENTRIES {
        fs::write(fixture.path(&format!("sub/{index}")), "").unwrap();
    }
    let listing = fixture.run("list_files", json!({ "path": "sub" })).unwrap();
    assert_eq!(listing["truncated"], true);
    assert_eq!(listing["entries"].as_array().unwrap().len(), list::MAX_ENTRIES);
}

#[test]
fn without_a_grant_the_error_names_the_line_of_the_policy() {
    for (tool, arguments) in
        [("read_file", r#"{"path":"a"}"#), ("list_files", "{}"), ("write_file", r#"{"path":"a","content":""}"#)]
    {
        let error = call(&context(), tool, arguments).unwrap_err();
        assert!(matches!(&error, ToolError::FailedBeforeEffect(why) if why.contains("permissions.files")), "{error:?}");
    }
}

#[test]
fn several_folders_are_told_apart() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folders = Folders::at(&[a.path(), b.path()]);
    assert_eq!(folders.resolve(b.path().join("x").to_str().unwrap()), Ok(b.path().join("x")));
    assert!(matches!(folders.resolve("x"), Err(ToolError::InvalidArguments(_))));
    assert!(matches!(folders.only(), Err(ToolError::InvalidArguments(_))));
}
