//! A secret's value: read when a request needs it, and gone with the request.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::runtime::Handle;
use wasmtime_wasi::runtime::AbortOnDropJoinHandle;
use zeroize::Zeroizing;

/// The shortest value, in bytes: a shorter one would be found in every other text.
const MIN_VALUE: usize = 8;
/// The longest value, in bytes.
const MAX_VALUE: usize = 4096;
/// How long a command may take.
const COMMAND_TIME: Duration = Duration::from_secs(10);

/// Where a secret's value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// An environment variable of the host.
    Env(String),
    /// A file's content.
    File(PathBuf),
    /// What a program writes to its standard output, within ten seconds. Its standard error is not looked at.
    Command {
        /// The program: a path, or a name that `PATH` leads to.
        program: OsString,
        /// Its arguments.
        arguments: Vec<String>,
        /// Where it runs.
        dir: PathBuf,
    },
}

/// A value: printable ASCII, 8 to 4096 bytes. Wiped when it is dropped.
pub(super) type Value = Zeroizing<Vec<u8>>;

impl SecretSource {
    /// Reads the value, without line breaks at its end. `host` is where it is read, so that a call that ends waits for no
    /// file. An error says what is wrong with the source, and nothing of the value.
    pub(super) async fn read(&self, host: &Handle) -> Result<Value, String> {
        let raw = match self {
            Self::Env(name) => match std::env::var_os(name) {
                Some(value) => Zeroizing::new(value.into_encoded_bytes()),
                None => return Err(format!("the variable {name} is not set")),
            },
            Self::File(path) => {
                let path = path.clone();
                let read = host.spawn_blocking(move || file(&path));
                read.await.map_err(|_| "its file could not be read".to_owned())??
            }
            Self::Command { program, arguments, dir } => {
                let running = host.spawn(command(program.clone(), arguments.clone(), dir.clone()));
                AbortOnDropJoinHandle::from(running).await?
            }
        };
        check(raw)
    }
}

fn file(path: &Path) -> Result<Value, String> {
    let failed = |error: std::io::Error| format!("the file {} cannot be read: {error}", path.display());
    // Anything else than a file, a pipe say, could block for ever.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(format!("{} is no regular file", path.display()));
    }
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut value = empty();
    file.take(MAX_VALUE as u64 + 3).read_to_end(&mut value).map_err(failed)?;
    Ok(value)
}

async fn command(program: OsString, arguments: Vec<String>, dir: PathBuf) -> Result<Value, String> {
    let shown = program.to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("the command {shown} cannot be run: {error}");
    let mut child = Command::new(&program)
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let output = child.stdout.take();
    let run = async {
        let mut value = empty();
        if let Some(output) = output {
            output.take(MAX_VALUE as u64 + 3).read_to_end(&mut value).await?;
        }
        if value.len() > MAX_VALUE + 2 {
            return Ok(value);
        }
        let status = child.wait().await?;
        if status.success() { Ok(value) } else { Err(std::io::Error::other(format!("it ended with {status}"))) }
    };
    match tokio::time::timeout(COMMAND_TIME, run).await {
        Ok(ended) => ended.map_err(failed),
        Err(_) => Err(format!("the command {shown} took more than {} seconds", COMMAND_TIME.as_secs())),
    }
}

/// Room for the longest value, so that no copy stays behind where it grew.
fn empty() -> Value {
    Zeroizing::new(Vec::with_capacity(MAX_VALUE + 64))
}

fn check(mut value: Value) -> Result<Value, String> {
    while value.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        value.pop();
    }
    let is_printable = value.iter().all(|byte| *byte == b' ' || byte.is_ascii_graphic());
    if value.len() < MIN_VALUE || value.len() > MAX_VALUE || !is_printable {
        return Err(format!("its value is not {MIN_VALUE} to {MAX_VALUE} bytes of printable ASCII on one line"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(source: SecretSource) -> Result<String, String> {
        let value = source.read(&Handle::current()).await?;
        Ok(String::from_utf8(value.to_vec()).unwrap())
    }

    fn shell(script: &str) -> SecretSource {
        let arguments = vec!["-c".to_owned(), script.to_owned()];
        SecretSource::Command { program: "/bin/sh".into(), arguments, dir: "/".into() }
    }

    #[tokio::test]
    async fn a_value_comes_from_a_file_or_a_command() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "open sesame\r\n").unwrap();
        assert_eq!(read(SecretSource::File(path.clone())).await.unwrap(), "open sesame");
        std::fs::write(&path, "changed-since").unwrap();
        assert_eq!(read(SecretSource::File(path)).await.unwrap(), "changed-since");
        assert_eq!(read(shell("echo from-a-command; echo noise >&2")).await.unwrap(), "from-a-command");
    }

    #[tokio::test]
    async fn what_is_wrong_is_said_without_the_value() {
        let folder = tempfile::tempdir().unwrap();
        let file = |content: &[u8]| {
            let path = folder.path().join("key");
            std::fs::write(&path, content).unwrap();
            SecretSource::File(path)
        };
        for content in [&b"short"[..], &[b'x'; 5000], b"two\nlines-of-it", b"not ascii \xc3\xa4\xc3\xb6", b""] {
            let error = read(file(content)).await.unwrap_err();
            assert_eq!(error, "its value is not 8 to 4096 bytes of printable ASCII on one line");
        }
        let error = read(SecretSource::Env("CHIO_TEST_THAT_NOBODY_SETS".to_owned())).await.unwrap_err();
        assert_eq!(error, "the variable CHIO_TEST_THAT_NOBODY_SETS is not set");
        let error = read(SecretSource::File(folder.path().to_owned())).await.unwrap_err();
        assert!(error.ends_with("is no regular file"), "{error}");
        let error = read(shell("echo almost-there; exit 3")).await.unwrap_err();
        assert!(error.contains("it ended with") && !error.contains("almost"), "{error}");
        // Stopped by its size, although it would never end.
        let error = read(shell("while :; do echo xxxxxxxxxxxxxxxx; done")).await.unwrap_err();
        assert!(error.starts_with("its value is not"), "{error}");
    }
}
