//! What `plugin inspect` says of a component that a policy uses.

use chio_host_builtin::Kind;
use serde_json::Value;

use crate::signing::{is_done, key, sign};
use crate::support::Place;

#[test]
fn inspect_says_who_signed_what_is_asked_and_which_line_would_grant_it() {
    let place = Place::new();
    let files = chio_host_builtin::find(Kind::ToolServer, "files").unwrap();
    place.write("files.wasm", files.bytes);
    place.write("files.manifest.yaml", "name: files\nkind: tool-server\npermissions: { files: read, network: any }\n");
    std::fs::create_dir(place.path().join("w")).unwrap();
    let key = key(&place, "acme.key");
    let inspect =
        |format: &str| place.run(&["plugin", "inspect", "files.wasm", "--policy", "policy.yaml", "--format", format]);
    let entry = |name: &str, more: &str| format!("  {name}: {{ component: files.wasm{more} }}\n");
    place.write(
        "policy.yaml",
        format!(
            "plugins: {{ signers: [{key}] }}\nservers:\n{}{}{}",
            entry("bare", ""),
            entry(
                "wide",
                ", permissions: { files: [{ path: w, access: read-write }], network: [{ host: a.example }] }"
            ),
            "  hello: {}\n"
        ),
    );
    let shown = inspect("human");
    assert_eq!((shown.code, shown.field("signer")), (0, "none: nobody signed it"), "{shown:?}");
    assert_eq!(shown.field("effect"), "pure; read_only with all that it asks for");
    is_done(&sign(&place, "files.wasm"));
    let shown = inspect("json");
    is_done(&shown);
    let whole = shown.json_lines().remove(0);
    assert_eq!((&whole["signature"]["state"], &whole["signature"]["signer"]), (&"valid".into(), &key.into()));
    assert_eq!((&whole["manifest"]["files"], &whole["manifest"]["network"]), (&"read".into(), &"any".into()));
    let uses = whole["uses"].as_array().unwrap();
    let names: Vec<_> = uses.iter().map(|u| (u["entry"].as_str().unwrap(), u["line"].as_u64().unwrap())).collect();
    assert_eq!(names, [("servers.bare", 3), ("servers.wide", 4)]);
    let lines = |entry: &Value| -> Vec<String> {
        entry["gaps"].as_array().unwrap().iter().map(|gap| gap["line"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        lines(&uses[0]),
        [
            "servers.bare.permissions.files: [{ path: ./workspace, access: read }]",
            "servers.bare.permissions.network: [{ host: api.example.com }]"
        ]
    );
    assert_eq!((&uses[0]["effect"], &uses[0]["problems"]), (&"pure".into(), &Value::Array(Vec::new())));
    // What is granted and not asked keeps the policy from loading, and is said all the same.
    assert_eq!(lines(&uses[1]), ["files.manifest.yaml: permissions: { files: read-write }"]);
    assert_eq!(uses[1]["effect"], "side_effecting");
    let problem = uses[1]["problems"][0].as_str().unwrap();
    assert!(problem.starts_with("policy.yaml:4:") && problem.contains("grants read-write"), "{problem}");
    assert_eq!(uses[1]["problems"].as_array().unwrap().len(), 1);
    // A signature that does not hold is shown, not followed.
    place.write("files.manifest.yaml", "name: files\nkind: tool-server\n");
    let shown = inspect("human");
    assert_eq!((shown.code, shown.field("signer")), (0, "NOT VALID"));
    assert!(shown.field("problem").starts_with("manifest altered: "), "{shown:?}");
    // A line that is said to grant something does.
    place.write("files.manifest.yaml", "name: files\nkind: tool-server\npermissions: { files: read, network: any }\n");
    std::fs::create_dir(place.path().join("workspace")).unwrap();
    let line = |text: &str| text.strip_prefix("servers.bare.permissions.").unwrap().to_owned();
    let permissions = lines(&uses[0]).iter().map(|text| line(text)).collect::<Vec<_>>().join(", ");
    place.write(
        "policy.yaml",
        format!(
            "plugins: {{ signers: [{}] }}\nservers:\n{}",
            whole["signature"]["signer"].as_str().unwrap(),
            entry("bare", &format!(", permissions: {{ {permissions} }}"))
        ),
    );
    let entry = &inspect("json").json_lines().remove(0)["uses"][0];
    assert_eq!((lines(entry).len(), entry["problems"].as_array().unwrap().len()), (0, 0), "{entry}");
    place.write("policy.yaml", "guards: { forbidden_path: {} }\n");
    assert_eq!(inspect("human").field("entry"), "none: nothing in policy.yaml uses it");
    place.write("policy.yaml", "gards: {}\n");
    inspect("human").is_error(&["policy.yaml:1:1: gards: unknown key; did you mean guards?"]);
}
