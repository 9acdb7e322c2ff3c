//! A project in Rust, with the SDK's sources beside its own.

use super::files::{FileOf, source};
use super::wanted::{Kind, Wanted};

/// Where the SDK's dependencies are declared.
const WORKSPACE: &str = include_str!("../../../../Cargo.toml");
const TOOLCHAIN: &str = include_str!("../../../../rust-toolchain.toml");

macro_rules! sdk {
    ($($file:literal),+) => {
        &[$((concat!("sdk/src/", $file), include_str!(concat!("../../../../sdk/src/", $file)))),+]
    };
}

/// The SDK as it is in this build.
const SDK: &[(&str, &str)] = sdk!(
    "bindings.rs",
    "call.rs",
    "config.rs",
    "export.rs",
    "hook.rs",
    "http.rs",
    "lib.rs",
    "testing.rs",
    "tool.rs",
    "verdict.rs"
);

/// The target that a component of this kind is built for: what reaches nothing needs no WASI.
pub(super) fn target(role: chio_host_kernel::operation::Role) -> &'static str {
    use chio_host_kernel::operation::Role;
    match role {
        Role::Guard | Role::OutputHook => "wasm32-unknown-unknown",
        Role::ToolServer | Role::Rail => "wasm32-wasip2",
    }
}

/// A line of the workspace: `serde = { … }`, `edition = "2024"`.
fn declared(name: &str) -> &'static str {
    let is_it = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('='));
    WORKSPACE.lines().find(is_it).unwrap_or_default()
}

pub(super) fn files(wanted: &Wanted) -> Vec<FileOf> {
    let files = [
        ("Cargo.toml", manifest(wanted)),
        ("rust-toolchain.toml", TOOLCHAIN.to_owned()),
        ("src/lib.rs", source(wanted).to_owned()),
        ("sdk/Cargo.toml", sdk_manifest()),
    ];
    let sdk = SDK.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    files.into_iter().map(|(path, text)| (path.to_owned(), text)).chain(sdk).collect()
}

fn manifest(wanted: &Wanted) -> String {
    let name = &wanted.name;
    let serde = ["serde", "serde_json"].map(declared).join("\n");
    let (used, in_tests) = match wanted.kind {
        Kind::Guard => (declared("serde"), declared("serde_json")),
        Kind::Hook | Kind::Tool | Kind::Rail => (serde.as_str(), ""),
    };
    let edition = declared("edition");
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n{edition}\npublish = false\n\n[lib]\nname = \"plugin\"\n\
         crate-type = [\"cdylib\", \"rlib\"]\n\n[dependencies]\nchio-sdk = {{ path = \"sdk\" }}\n{used}\n\n\
         [dev-dependencies]\n{in_tests}\n\n# Small, and fast to load.\n[profile.release]\nopt-level = \"s\"\nlto = \"fat\"\n\
         codegen-units = 1\npanic = \"abort\"\nstrip = \"symbols\"\n\n[workspace]\n"
    )
}

fn sdk_manifest() -> String {
    let used = ["wit-bindgen", "serde", "serde_json"].map(declared).join("\n");
    let (edition, wasi) = (declared("edition"), declared("wasip2"));
    format!(
        "# The SDK of chio-host, as of the host that made this project.\n[package]\nname = \"chio-sdk\"\nversion = \"0.1.0\"\n\
         {edition}\npublish = false\n\n[dependencies]\n{used}\n\n[target.'cfg(target_os = \"wasi\")'.dependencies]\n{wasi}\n"
    )
}
