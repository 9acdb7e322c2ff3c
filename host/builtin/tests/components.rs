//! What the embedded components are: what they import and export, how large they are, and that no machine is in them.

use std::collections::BTreeSet;

use chio_host_builtin::{Builtin, Kind, all, find};
use guest_component::DecodedWasm;

/// The interfaces of a component, by name and version.
fn interfaces(builtin: &Builtin) -> (BTreeSet<String>, BTreeSet<String>) {
    let decoded = guest_component::decode(builtin.bytes).expect("the encoder validates what it makes");
    let DecodedWasm::Component(resolve, world) = decoded else {
        panic!("{} is no component", builtin.name);
    };
    let world = &resolve.worlds[world];
    let names = |keys: Vec<_>| keys.into_iter().map(|key| resolve.name_world_key(key)).collect();
    (names(world.imports.keys().collect()), names(world.exports.keys().collect()))
}

#[test]
fn a_pure_component_imports_nothing_but_its_own_worlds_interfaces() {
    for builtin in all().iter().filter(|builtin| !["files", "fetch", "reception"].contains(&builtin.name)) {
        let (imports, _) = interfaces(builtin);
        let allowed: &[&str] = match builtin.kind {
            // `types` and `call` have no functions.
            Kind::Guard | Kind::Hook => &["types", "call", "configuration"],
            Kind::ToolServer => &["types", "call", "configuration", "host"],
        };
        let allowed = allowed.iter().map(|name| format!("chio:plugin/{name}@0.1.0")).collect();
        assert!(imports.is_subset(&allowed), "{} imports {imports:?}", builtin.name);
    }
}

#[test]
fn reception_reaches_other_tools_and_nothing_else() {
    let (imports, _) = interfaces(find(Kind::ToolServer, "reception").unwrap());
    assert!(imports.contains("chio:plugin/nested@0.1.0"), "{imports:?}");
    assert!(imports.iter().all(|name| name.starts_with("chio:plugin/")), "{imports:?}");
}

#[test]
fn files_reaches_files_and_no_network() {
    let (imports, _) = interfaces(find(Kind::ToolServer, "files").unwrap());
    assert!(imports.iter().any(|name| name.starts_with("wasi:filesystem/preopens@")), "{imports:?}");
    for reach in ["wasi:http", "wasi:sockets", "chio:plugin/nested"] {
        assert!(!imports.iter().any(|name| name.starts_with(reach)), "{imports:?}");
    }
}

#[test]
fn fetch_reaches_http_and_no_sockets() {
    let (imports, _) = interfaces(find(Kind::ToolServer, "fetch").unwrap());
    assert!(imports.iter().any(|name| name.starts_with("wasi:http/outgoing-handler@")), "{imports:?}");
    // std brings the imports of its files along, used or not.
    for reach in ["wasi:sockets", "chio:plugin/nested"] {
        assert!(!imports.iter().any(|name| name.starts_with(reach)), "{imports:?}");
    }
}

#[test]
fn each_exports_its_worlds_interface() {
    for builtin in all() {
        let interface = match builtin.kind {
            Kind::Guard => "guarding",
            Kind::Hook => "inspecting",
            Kind::ToolServer => "serving",
        };
        let (_, exports) = interfaces(builtin);
        assert_eq!(exports, BTreeSet::from([format!("chio:plugin/{interface}@0.1.0")]), "{}", builtin.name);
    }
}

/// A digest that depended on the checkout's place would be another on every machine.
#[test]
fn no_path_of_this_machine_is_in_a_component() {
    let contains = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let root = std::fs::canonicalize(root).unwrap();
    let home = std::env::home_dir().unwrap();
    for builtin in all() {
        for folder in [root.as_path(), home.as_path()] {
            let folder = format!("{}/", folder.display());
            assert!(folder.len() < 3 || !contains(builtin.bytes, &folder), "{} contains {folder}", builtin.name);
        }
        assert!(!contains(builtin.bytes, "/.cargo/registry"), "{}", builtin.name);
    }
}

/// A guard is instantiated for every call, and the binary carries them all. Those that read commands have bash's grammar in them;
/// one has that of SQL in its dialects.
#[test]
fn components_are_small() {
    for builtin in all() {
        let most = match builtin.name {
            "sql_statement" => 3_328 << 10,
            "egress" | "forbidden_path" | "patch_integrity" | "path_allowlist" | "shell_command" => 1_280 << 10,
            _ => 512 << 10,
        };
        assert!(builtin.bytes.len() < most, "{} has {} bytes", builtin.name, builtin.bytes.len());
    }
}

#[test]
fn each_manifest_is_its_components() {
    for builtin in all() {
        let kind = match builtin.kind {
            Kind::Guard => "guard",
            Kind::Hook => "hook",
            Kind::ToolServer => "tool-server",
        };
        assert!(builtin.manifest.contains(&format!("name: {}\nkind: {kind}\n", builtin.name)), "{}", builtin.manifest);
    }
}

#[test]
fn names_are_found_by_kind() {
    assert_eq!(find(Kind::Guard, "forbidden_path").map(|builtin| builtin.name), Some("forbidden_path"));
    assert!(find(Kind::Hook, "forbidden_path").is_none() && find(Kind::Guard, "other").is_none());
}
