//! Runs the binary in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_chio-host");

/// A folder with a state of its own. Keys and compiled code are shared between tests, so that each component is compiled
/// once.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    /// Its exit code.
    pub(crate) code: i32,
    /// What it wrote to stdout.
    pub(crate) stdout: String,
    /// What it wrote to stderr.
    pub(crate) stderr: String,
}

impl Done {
    /// What a process did.
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().expect("it was not killed"),
            stdout: String::from_utf8(output.stdout.clone()).expect("stdout is text"),
            stderr: String::from_utf8(output.stderr.clone()).expect("stderr is text"),
        }
    }

    /// The value behind a name in the human output.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> &str {
        let line = self.stdout.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {name}: in {self:?}")).trim_start()
    }

    /// The lines of stdout as JSON.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|l| serde_json::from_str(l).expect("each line is JSON")).collect()
    }

    /// One sentence on stderr that holds all of these, exit code 1, and nothing on stdout.
    #[track_caller]
    pub(crate) fn is_error(&self, parts: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (1, ""), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in {self:?}");
        }
        assert!(!self.stderr.contains("panicked"), "{self:?}");
    }
}

impl Place {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder") }
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file in it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it lies in the folder")).expect("its folder");
        std::fs::write(&path, bytes).expect("the file is written");
        path
    }

    /// The binary with these arguments, to run here.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command
            .args(args)
            .current_dir(self.path())
            .env_remove("CHIO_LOG")
            .env_remove("CHIO_STATE")
            .env("CHIO_KEYS", shared("keys"))
            .env("CHIO_CACHE", shared("compiled"))
            .env("XDG_DATA_HOME", shared("data"))
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary here.
    pub(crate) fn run(&self, args: &[&str]) -> Done {
        Done::of(&self.command(args).output().expect("the binary runs"))
    }

    /// A check or call of a tool under `policy.yaml`.
    pub(crate) fn ask(&self, command: &str, server: &str, tool: &str, params: &str) -> Done {
        self.ask_with(command, server, tool, params, &[])
    }

    /// The same, with more options.
    pub(crate) fn ask_with(&self, command: &str, server: &str, tool: &str, params: &str, more: &[&str]) -> Done {
        let asked = [command, "--policy", "policy.yaml", "--server", server, "--tool", tool, "--params", params];
        self.run(&[&asked, more].concat())
    }
}

/// A folder that all tests of one build share.
pub(crate) fn shared(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
