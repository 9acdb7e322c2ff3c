//! The reference guards, hooks and tool servers, compiled to components by this crate's build script and embedded, so
//! that the host's binary needs no files beside it.
//!
//! A built-in is a component like any other: the same sandbox, the same limits, a digest in every receipt.

/// What a built-in is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Judges calls before they run: world `guard`.
    Guard,
    /// Inspects what tools return: world `output-hook`.
    Hook,
    /// Offers tools: world `tool-server`.
    ToolServer,
}

/// One embedded component.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The name a policy uses: the key under `guards` or `hooks`, or what follows `builtin:` for a server.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The component. Its SHA-256 is its identity.
    pub bytes: &'static [u8],
    /// What it asks for and which argument is what: its `manifest.yaml`.
    pub manifest: &'static str,
}

macro_rules! builtin {
    ($kind:ident, $name:literal, $folder:literal) => {
        Builtin {
            name: $name,
            kind: Kind::$kind,
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".wasm")),
            manifest: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $folder, "/manifest.yaml")),
        }
    };
}

/// Kept in step with the list in `build.rs`; a component that it does not build does not compile here.
static ALL: [Builtin; 18] = [
    builtin!(Guard, "forbidden_path", "guards/forbidden-path"),
    builtin!(Guard, "shell_command", "guards/shell-command"),
    builtin!(Guard, "path_allowlist", "guards/path-allowlist"),
    builtin!(Guard, "egress", "guards/egress"),
    builtin!(Guard, "tool_access", "guards/tool-access"),
    builtin!(Guard, "secret_leak", "guards/secret-leak"),
    builtin!(Guard, "patch_integrity", "guards/patch-integrity"),
    builtin!(Guard, "sql_statement", "guards/sql-statement"),
    builtin!(Guard, "prompt_injection", "guards/prompt-injection"),
    builtin!(Guard, "rate", "guards/rate"),
    builtin!(Hook, "secret_redactor", "guards/secret-redactor"),
    builtin!(Hook, "pii_redactor", "guards/pii-redactor"),
    builtin!(Hook, "output_size", "guards/output-size"),
    builtin!(Hook, "injection_marker", "guards/injection-marker"),
    builtin!(ToolServer, "hello", "examples/hello"),
    builtin!(ToolServer, "files", "examples/files"),
    builtin!(ToolServer, "reception", "examples/reception"),
    builtin!(ToolServer, "fetch", "examples/fetch"),
];

/// Every built-in: guards, then hooks, then servers.
#[must_use]
pub fn all() -> &'static [Builtin] {
    &ALL
}

/// The built-in of this kind and name.
#[must_use]
pub fn find(kind: Kind, name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|builtin| builtin.kind == kind && builtin.name == name)
}

/// Guests of tests, which are no built-ins: no policy can name one. Constants, so that a binary that uses none has none.
#[doc(hidden)]
pub mod testing {
    /// A tool server that does with HTTP what an honest one would not.
    pub const HOSTILE_CLIENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hostile_client.wasm"));
    /// The guard that the README writes, signs and ships.
    pub const HOUSE_RULES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/house_rules.wasm"));
    /// Plain functions over every type that WIT has.
    pub const PLAIN_TYPES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plain_types.wasm"));
    /// A plain function that sends a request.
    pub const PLAIN_FETCH: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plain_fetch.wasm"));
    /// The example that was not written for this host.
    pub const NOTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/notes.wasm"));
    /// A guard that compiles its patterns in every call, and the same one initialised, which compiles them once.
    pub const PATTERNS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/patterns.wasm"));
    /// See [`PATTERNS`].
    pub const PATTERNS_INITIALISED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/patterns_initialised.wasm"));
    /// A tool server that uses more than it may, and reaches for what it was not granted.
    pub const INTRUDER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/intruder.wasm"));
    /// A payment rail over plain HTTP.
    pub const RAIL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/test_rail.wasm"));
}
