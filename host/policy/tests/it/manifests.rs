//! Manifests: the same machinery, and the ones of this repository.

use std::path::Path;

use chio_host_kernel::facts::ArgumentKind;
use chio_host_kernel::operation::Role;
use chio_host_policy::{Access, Manifest};

#[test]
fn a_manifest_says_what_it_asks_and_what_arguments_are() {
    let manifest = Manifest::parse(
        "name: files\nkind: tool-server\ndescription: Files.\npermissions: { files: read-write }\n\
         arguments:\n  write_file:\n    - { at: /path, is: path }\n    - { at: /content, is: content }\n\
         descriptions: { write_file: Writes. }\n",
        "manifest.yaml",
    )
    .unwrap();
    assert_eq!(
        (manifest.name.as_str(), manifest.role, manifest.files),
        ("files", Role::ToolServer, Some(Access::ReadWrite))
    );
    assert_eq!(manifest.arguments["write_file"][1].is, ArgumentKind::Content);
    assert_eq!(manifest.descriptions["write_file"], "Writes.");
    let quiet = Manifest::parse("name: g\nkind: guard\npermissions: { files: none }", "m").unwrap();
    assert_eq!((quiet.files, quiet.arguments.len(), quiet.description.as_str()), (None, 0, ""));
}

#[test]
fn what_is_wrong_with_a_manifest_is_reported_at_once() {
    let text = "kind: guard\nnmae: x\npermissions:\n  files: read\n  secrets: [a]\narguments: { t: [{ at: /a, is: pth }, { at: /b, is: text }, { at: /b, is: path }] }\ndescriptions: { t: x }\n";
    assert_eq!(
        Manifest::parse(text, "manifest.yaml").unwrap_err().to_string(),
        "\
manifest.yaml:1:1: name is missing: the component's name
manifest.yaml:2:1: nmae: unknown key; did you mean name?
manifest.yaml:4:10: permissions.files: guards and hooks have no files; remove it, or say none
manifest.yaml:5:3: permissions.secrets: a component never holds a secret, so it asks for none; the policy adds them to requests
manifest.yaml:6:1: arguments: only a tool-server has tools to describe; remove it
manifest.yaml:6:32: arguments.t[0].is: pth is not one of path, url, command, content, text; did you mean path?
manifest.yaml:6:61: arguments.t[2]: \"/b\" is described twice; keep one
manifest.yaml:7:1: descriptions: only a tool-server has tools to describe; remove it"
    );
}

#[test]
fn every_manifest_of_this_repository_parses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = 0;
    for folder in ["guards", "examples"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path().join("manifest.yaml");
            if let Ok(text) = std::fs::read_to_string(&path) {
                Manifest::parse(&text, &path.display().to_string()).unwrap_or_else(|problems| panic!("{problems}"));
                found += 1;
            }
        }
    }
    assert!(found >= 5, "{found} manifests");
}
