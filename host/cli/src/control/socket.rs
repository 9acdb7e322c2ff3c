//! `control.sock`: one line of JSON asks, one line answers, and the connection ends.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chio_host_kernel::Kernel;
use chio_host_kernel::canonical::{self, Bounds, printable};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::{Request, answer};
use crate::error::CliError;
use crate::folders::{Folders, check_private};
use crate::host::Kernels;

/// The longest request, in bytes.
const MAX_REQUEST: u64 = 1 << 20;
/// The longest answer, in bytes: a withheld output may be 16 MiB of JSON, and its spelling twice that.
const MAX_ANSWER: u64 = 64 << 20;
/// The most connections at one time; others wait to be accepted.
const MAX_CONNECTIONS: usize = 16;
/// How long a peer may take to ask, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long connections have, once the host was told to stop.
const GRACE: Duration = Duration::from_secs(2);
/// How long nobody is let in after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(200);
/// How long an answer may take.
const ANSWERING: Duration = Duration::from_mins(1);

/// The longest path that the system takes for a socket everywhere, in bytes.
#[cfg(target_os = "linux")]
const MAX_PATH: usize = 100;

/// Does something with the socket's path, however deep its folder lies.
#[cfg(target_os = "linux")]
fn at<T>(path: &Path, reach: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    use std::os::fd::AsRawFd;
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) if path.as_os_str().len() > MAX_PATH => {
            let dir = fs::File::open(dir)?;
            reach(&Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name))
        }
        _ => reach(path),
    }
}

#[cfg(not(target_os = "linux"))]
fn at<T>(path: &Path, reach: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    reach(path)
}

fn connect(path: &Path) -> io::Result<std::os::unix::net::UnixStream> {
    at(path, |path| std::os::unix::net::UnixStream::connect(path))
}

fn path(folders: &Folders) -> PathBuf {
    folders.state.join("control.sock")
}

/// A host that listens. The socket's file goes when it [ends](Self::end).
pub(crate) struct Listening {
    path: PathBuf,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Listening {
    /// Listens. The caller holds the ledger of the folder, so there is no other host here: a socket that an earlier one left is
    /// replaced, unless somebody listens on it all the same.
    pub(crate) fn start(folders: &Folders, kernels: Kernels) -> Result<Self, CliError> {
        let path = path(folders);
        let failed = |e: io::Error| CliError::path(&path, format!("the control socket: {e}"));
        check_private(&folders.state)?;
        remove_stale(&path)?;
        let listener = at(&path, |path| UnixListener::bind(path)).map_err(failed)?;
        // The folder lets nobody else in, before this and after.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(serve(listener, kernels, stopped));
        Ok(Self { path, stop, served })
    }

    /// Takes no more connections, ends those there are, and removes the socket. To be awaited while the ledger is still held.
    pub(crate) async fn end(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, "the control socket was not removed");
        }
        // It has ended by itself where nobody hears this.
        let _ = self.stop.send(());
        if let Err(error) = self.served.await {
            tracing::warn!(%error, "the control socket's task broke");
        }
    }
}

fn remove_stale(path: &Path) -> Result<(), CliError> {
    let failed = |e: io::Error| CliError::path(path, e);
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(CliError::path(path, "the host's socket belongs here, and this is none; move it away"));
        }
        Ok(_) => {}
    }
    match connect(path) {
        Ok(_) => Err(CliError::path(path, "another process listens here; stop it")),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(failed),
        Err(error) => Err(failed(error)),
    }
}

async fn serve(listener: UnixListener, kernels: Kernels, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        if connections.len() >= MAX_CONNECTIONS {
            tokio::select! {
                _ = connections.join_next() => {}
                _ = &mut stopped => break,
            }
            continue;
        }
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let kernel = kernels.borrow().clone();
                    connections.spawn(async move {
                        if let Err(error) = converse(stream, &kernel).await {
                            tracing::debug!(%error, "a control connection ended early");
                        }
                    });
                }
                Err(error) => {
                    // The process has no file to spare, or its peer has gone again.
                    tracing::warn!(%error, "a connection to the control socket is not accepted");
                    tokio::select! {
                        () = pause() => {}
                        _ = &mut stopped => break,
                    }
                }
            },
            Some(_) = connections.join_next() => {}
            _ = &mut stopped => break,
        }
    }
    drop(listener);
    // What was asked is answered; a peer that asks nothing, or does not listen, does not keep the host.
    if timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await.is_err() {
        connections.shutdown().await;
    }
}

#[expect(clippy::disallowed_methods, reason = "nobody is told when the process may open files again")]
async fn pause() {
    tokio::time::sleep(PAUSE).await;
}

async fn converse(stream: UnixStream, kernel: &Kernel) -> io::Result<()> {
    let peer = stream.peer_cred()?.uid();
    if peer != rustix::process::geteuid().as_raw() {
        tracing::warn!(peer, "a process of another user was turned away from the control socket");
        return Ok(());
    }
    let (read, mut write) = stream.into_split();
    let mut line = Vec::new();
    let mut bounded = BufReader::new(read.take(MAX_REQUEST + 1));
    timeout(PATIENCE, bounded.read_until(b'\n', &mut line)).await??;
    let said = match timeout(ANSWERING, respond(&line, kernel)).await {
        Ok(Ok(value)) => json!({ "ok": value }),
        Ok(Err(why)) => json!({ "error": why }),
        Err(_) => json!({ "error": "the host did not answer in time" }),
    };
    let mut said = said.to_string();
    if said.len() as u64 >= MAX_ANSWER {
        said = json!({ "error": format!("the answer has more than {MAX_ANSWER} bytes") }).to_string();
    }
    said.push('\n');
    timeout(PATIENCE, write.write_all(said.as_bytes())).await??;
    write.shutdown().await
}

async fn respond(line: &[u8], kernel: &Kernel) -> Result<Value, String> {
    let Some(line) = line.strip_suffix(b"\n") else {
        return Err(format!("a request is one line of at most {MAX_REQUEST} bytes"));
    };
    let value = canonical::parse(line, Bounds::ARGUMENTS).map_err(|e| format!("the request: {e}"))?;
    let request =
        serde_json::from_value(value).map_err(|e| format!("the request: {}", printable(&e.to_string(), 300)))?;
    answer(kernel, request).await.map_err(|e| e.to_string())
}

/// The way to the host that holds the ledger.
pub(crate) struct Client {
    path: PathBuf,
    /// Who holds it, for where nobody listens.
    held: String,
}

impl Client {
    pub(crate) fn of(folders: &Folders, held: String) -> Self {
        Self { path: path(folders), held }
    }

    pub(crate) fn ask(&self, request: &Request) -> Result<Value, CliError> {
        let failed = |e: io::Error| CliError::path(&self.path, format!("the host that runs: {e}"));
        if let Some(dir) = self.path.parent() {
            check_private(dir)?;
        }
        let mut stream = match connect(&self.path) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                return Err(CliError::Held(format!("{}; it takes no requests", self.held)));
            }
            Err(error) => return Err(failed(error)),
        };
        let most = Some(PATIENCE + ANSWERING);
        stream.set_read_timeout(most).and_then(|()| stream.set_write_timeout(most)).map_err(failed)?;
        let line = json!(request).to_string() + "\n";
        if line.len() as u64 > MAX_REQUEST {
            return Err(CliError::Control(format!("the request has more than {MAX_REQUEST} bytes")));
        }
        stream.write_all(line.as_bytes()).map_err(failed)?;
        let mut said = Vec::new();
        stream.take(MAX_ANSWER).read_to_end(&mut said).map_err(failed)?;
        let said =
            said.strip_suffix(b"\n").ok_or_else(|| failed(io::Error::other("it ended before its answer did")))?;
        let mut said: Value = serde_json::from_slice(said).map_err(|e| failed(e.into()))?;
        match (said.get_mut("ok").map(Value::take), said["error"].as_str()) {
            (Some(value), None) => Ok(value),
            (_, Some(why)) => Err(CliError::Control(why.to_owned())),
            (None, None) => Err(failed(io::Error::other("it gave no answer"))),
        }
    }
}
