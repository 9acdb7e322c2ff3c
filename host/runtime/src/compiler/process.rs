//! The compiler's process, seen from outside.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use chio_host_kernel::canonical::printable;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::child::{COMPILED, REFUSED};
use crate::error::LoadError;
use crate::limits::{Limits, size};

/// Threads that one compilation computes on. Each costs memory, which is limited.
const THREADS: usize = 8;
/// The most that is read of what a process says on stderr, in bytes.
const MAX_SAID: u64 = 16 << 10;
/// The most that is read of why a component is refused, in bytes.
const MAX_REASON: usize = 512;

/// Starts a process for each component that is compiled, and kills it when it takes too long or nobody waits for it any more.
/// What it writes to the pipe is loaded as code, so the program is the host's own.
#[derive(Debug)]
pub struct CompilerProcess {
    /// The program. It calls [`super::compile_for_parent`].
    pub program: PathBuf,
    /// Its arguments; the limit on memory, in bytes, follows them.
    pub arguments: Vec<OsString>,
    /// Whether a component is one that the host compiles itself: its own.
    pub vouched_for: fn(&[u8]) -> bool,
}

/// What a process left behind.
struct Ended {
    status: ExitStatus,
    answer: Vec<u8>,
    said: String,
}

impl CompilerProcess {
    pub(super) async fn compile(&self, bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, LoadError> {
        let failed = |error: std::io::Error| LoadError::Host(format!("the compiler's process: {error}"));
        let mut child = self.start(limits).map_err(failed)?;
        if let Ok(ended) = timeout(limits.compile_time, converse(&mut child, bytes, limits)).await {
            return judge(ended.map_err(failed)?, limits);
        }
        // Waits until it is gone, so that no two of them take what one may.
        child.kill().await.map_err(failed)?;
        Err(LoadError::CompileTime { limit_ms: limits.compile_time.as_millis() })
    }

    /// With an empty environment: a compiler needs nothing of the host's, and the host's may hold secrets.
    fn start(&self, limits: &Limits) -> std::io::Result<Child> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        Command::new(&self.program)
            .args(&self.arguments)
            .arg(limits.compile_memory_bytes.to_string())
            .env_clear()
            .env("RAYON_NUM_THREADS", threads.to_string())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }
}

async fn converse(child: &mut Child, bytes: &[u8], limits: &Limits) -> std::io::Result<Ended> {
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(std::io::Error::other("it has no pipes"));
    };
    let tell = async {
        let length = bytes.len() as u64;
        stdin.write_all(&length.to_be_bytes()).await?;
        stdin.write_all(bytes).await?;
        stdin.flush().await
    };
    // It has not more memory than that to answer from.
    let answer = all(stdout, limits.compile_memory_bytes);
    let (told, answer, said) = tokio::join!(tell, answer, all(stderr, MAX_SAID));
    let (answer, said) = (answer?, said?);
    let status = child.wait().await?;
    // A process that ended early did not read all, and says itself why.
    if status.success() {
        told?;
    }
    drop(stdin);
    Ok(Ended { status, answer, said: printable(&String::from_utf8_lossy(&said), size(MAX_SAID)) })
}

/// All that comes out of a pipe, which is closed where it is more than `most`: whoever writes on finds nobody there.
async fn all(pipe: impl AsyncRead + Unpin, most: u64) -> std::io::Result<Vec<u8>> {
    let mut read = Vec::new();
    pipe.take(most).read_to_end(&mut read).await?;
    Ok(read)
}

fn judge(ended: Ended, limits: &Limits) -> Result<Vec<u8>, LoadError> {
    let Ended { status, answer, said } = ended;
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(COMPILED) => Ok(answer),
        Some(REFUSED) => Err(LoadError::Compile(printable(&String::from_utf8_lossy(&answer), MAX_REASON))),
        _ if ran_out(status, &said) => Err(LoadError::CompileMemory { limit_bytes: limits.compile_memory_bytes }),
        _ => {
            let why = printable(&said, MAX_REASON);
            Err(LoadError::Host(format!("the compiler's process ended with {status}: {why}")))
        }
    }
}

/// Whether a process ended for want of memory. Rust aborts where it gets none, and says so; the system refuses a thread's stack
/// with another word; and a machine that has none left kills.
fn ran_out(status: ExitStatus, said: &str) -> bool {
    let killed = status.signal() == Some(Signal::KILL.as_raw());
    let words = ["memory allocation of", "Cannot allocate memory", "Resource temporarily unavailable", "out of memory"];
    killed || words.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::process::{Pid, test_kill_process};

    use super::*;
    use crate::testing::limits;

    /// What becomes of a process that runs a script.
    async fn compile(script: &str, limits: Limits) -> Result<Vec<u8>, LoadError> {
        let process = CompilerProcess {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            vouched_for: |_| false,
        };
        process.compile(b"component", &limits).await
    }

    async fn refused(script: &str) -> String {
        compile(script, limits()).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn what_it_writes_is_the_code_and_what_it_reads_the_component() {
        // The length, the component; and stdin stays open behind it.
        let echo = "head -c 17";
        assert_eq!(compile(echo, limits()).await.unwrap(), b"\0\0\0\0\0\0\0\x09component");
        assert_eq!(compile("env | grep -c HOME || true", limits()).await.unwrap(), b"0\n");
    }

    #[tokio::test]
    async fn how_it_ends_is_told_apart() {
        assert_eq!(refused("printf 'bad code'; exit 2").await, "it does not compile: bad code");
        let memory = format!("compile memory limit of {} bytes reached", limits().compile_memory_bytes);
        assert_eq!(refused("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$").await, memory);
        assert_eq!(refused("kill -KILL $$").await, memory);
        let other = refused("echo 'no luck' >&2; exit 3").await;
        assert!(other.contains("ended with exit status: 3: no luck"), "{other}");
        let other = refused("kill -SEGV $$").await;
        assert!(
            other.starts_with("the host could not load it: the compiler's process ended with signal: 11"),
            "{other}"
        );
    }

    #[tokio::test]
    async fn one_that_takes_too_long_is_killed() {
        let hurried = Limits { compile_time: Duration::from_millis(50), ..limits() };
        // Neither reads, nor writes, nor ends.
        let error = compile("exec sleep 3600", hurried).await.unwrap_err().to_string();
        assert_eq!(error, "compile time limit of 50 ms reached");
    }

    #[tokio::test]
    async fn one_that_nobody_waits_for_any_more_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("echo $$ > {}; exec sleep 3600", file.display());
        let pid = {
            let mut compiling = std::pin::pin!(compile(&script, limits()));
            loop {
                tokio::select! {
                    ended = &mut compiling => panic!("it has ended: {ended:?}"),
                    pid = tokio::fs::read_to_string(&file) => match pid {
                        Ok(pid) if pid.ends_with('\n') => break pid.trim().parse().unwrap(),
                        _ => {}
                    }
                }
            }
        };
        let pid = Pid::from_raw(pid).unwrap();
        let gone = async {
            while test_kill_process(pid).is_ok() {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_mins(1), gone).await.expect("it lives on");
    }

    #[tokio::test]
    async fn one_that_says_too_much_is_not_read_for_ever() {
        let small = Limits { compile_memory_bytes: 1000, ..limits() };
        compile("while :; do echo xxxxxxxxxxxxxxxx; done", small).await.unwrap_err();
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named_as_the_hosts_fault() {
        let process = CompilerProcess { program: "/none".into(), arguments: Vec::new(), vouched_for: |_| false };
        let error = process.compile(b"", &limits()).await.unwrap_err().to_string();
        assert!(error.starts_with("the host could not load it: the compiler's process: "), "{error}");
    }
}
