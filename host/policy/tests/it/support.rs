//! A host with five built-ins, and projects on the disk.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use chio_host_kernel::operation::Role;
use chio_host_policy::{
    Builtin, Builtins, Defaults, Host, Imports, Limits, Policy, Problems, Protected, load, load_str,
};
use tempfile::TempDir;

pub(crate) struct Embedded;

const ALL: [(Role, &str, &str); 5] = [
    (Role::Guard, "forbidden_path", "name: forbidden_path\nkind: guard\n"),
    (Role::Guard, "shell_command", "name: shell_command\nkind: guard\n"),
    (Role::OutputHook, "secret_redactor", "name: secret_redactor\nkind: hook\n"),
    (
        Role::ToolServer,
        "hello",
        "name: hello\nkind: tool-server\narguments: { hello_world: [{ at: /name, is: text }] }\n",
    ),
    (
        Role::ToolServer,
        "files",
        "name: files\nkind: tool-server\npermissions:\n  files: read-write\narguments: { read_file: [{ at: /path, is: path }] }\n",
    ),
];

impl Builtins for Embedded {
    fn find(&self, role: Role, name: &str) -> Option<Builtin> {
        let (_, name, manifest) = ALL.iter().find(|(r, n, _)| *r == role && *n == name)?;
        Some(Builtin { bytes: Cow::Borrowed(name.as_bytes()), manifest: Cow::Borrowed(manifest) })
    }

    fn names(&self, role: Role) -> Vec<&str> {
        ALL.iter().filter(|(r, ..)| *r == role).map(|(_, name, _)| *name).collect()
    }
}

pub(crate) const LIMITS: Limits = Limits {
    fuel: 10_000_000,
    deadline_ms: 100,
    memory_bytes: 16 << 20,
    table_elements: 10_000,
    instances: 10,
    component_bytes: 1 << 20,
    compile_time_ms: 10_000,
    compile_memory_bytes: 1 << 28,
    output_bytes: 1 << 20,
    log_bytes: 4096,
    stdio_bytes: 4096,
    concurrency: 8,
};

pub(crate) const DEFAULTS: Defaults = Defaults { guard: LIMITS, hook: LIMITS, tool: LIMITS, rail: LIMITS };

/// A component whose bytes begin like this is somebody else's, and the rest says what it imports.
fn imports(bytes: &[u8]) -> Option<Imports> {
    let imports = bytes.strip_prefix(b"foreign")?;
    let has = |name: &[u8]| imports.windows(name.len()).any(|found| found == name);
    Some(Imports { files: has(b"files"), requests: has(b"requests"), environment: has(b"environment") })
}

/// A project folder, its state in `.chio` and its keys in `keys`, none of which exists before something is put there.
pub(crate) struct Project {
    folder: TempDir,
    pub(crate) defaults: Defaults,
    /// What stands at the end of every policy.
    end: &'static str,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), defaults: DEFAULTS, end: "" }
    }

    /// Its policies let components take part that nobody signed.
    pub(crate) fn unsigned(self) -> Self {
        Self { end: "\nplugins: { allow_unsigned: true }\n", ..self }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn folder(self, name: &str) -> Self {
        std::fs::create_dir_all(self.path(name)).unwrap();
        self
    }

    /// Loads `policy` from the project's `conf/policy.yaml`.
    pub(crate) fn load(&self, policy: &str) -> Result<Policy, Problems> {
        std::fs::create_dir_all(self.path("conf")).unwrap();
        std::fs::write(self.path("conf/policy.yaml"), format!("{policy}{}", self.end)).unwrap();
        self.load_file("conf/policy.yaml")
    }

    pub(crate) fn load_file(&self, name: &str) -> Result<Policy, Problems> {
        let protected = Protected::new(&self.path(".chio"), &self.path("keys"));
        let host =
            Host { builtins: &Embedded, defaults: &self.defaults, protected: &protected, imports, note: &|_| () };
        load(&self.path(name), &host)
    }

    /// Loads a policy that is no file, with paths relative to the project's `dir`.
    pub(crate) fn load_text(&self, policy: &str, dir: &str) -> Result<Policy, Problems> {
        let host = Host {
            builtins: &Embedded,
            defaults: &self.defaults,
            protected: &Protected::default(),
            imports,
            note: &|_| (),
        };
        load_str(&format!("{policy}{}", self.end), "embedded.yaml", &self.path(dir), &host)
    }

    /// The problems of a policy, one a line, without the folder's name.
    pub(crate) fn refuse(&self, policy: &str) -> String {
        self.shown(&self.load(policy).expect_err("the policy should be refused"))
    }

    pub(crate) fn shown(&self, problems: &Problems) -> String {
        let canonical = self.folder.path().canonicalize().unwrap();
        let without = |text: String, path: &Path| text.replace(&format!("{}/", path.display()), "");
        without(without(problems.to_string(), self.folder.path()), &canonical)
    }
}

/// The problems of a policy that needs no files.
pub(crate) fn refuse(policy: &str) -> String {
    Project::new().refuse(policy).replace("conf/policy.yaml:", "")
}

/// A policy that needs no files.
pub(crate) fn accept(policy: &str) -> Policy {
    Project::new().load(policy).unwrap_or_else(|problems| panic!("{problems}"))
}
