//! The reference file server over real folders.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use chio_host_builtin::Kind;
use chio_host_kernel::call::{Arguments, EffectClass, Signals};
use chio_host_kernel::ports::{Entry, Fault, Stop, ToolRan, ToolServer};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, openat};
use serde_json::{Value, json};

use super::WasmToolServer;
use crate::files::{Access, FileGrant};
use crate::limits::Limits;
use crate::testing::{invocation, patient, plugin, runtime};

const ENOUGH: Duration = Duration::from_mins(1);

async fn server(folder: Option<(&Path, Access)>) -> WasmToolServer {
    let files = chio_host_builtin::find(Kind::ToolServer, "files").unwrap();
    let grants = folder.map(|(path, access)| FileGrant::new(path, "/work", access).unwrap());
    let grants: Vec<_> = grants.into_iter().collect();
    WasmToolServer::load(&runtime(), &plugin(files.bytes, patient(Limits::TOOL)), grants, BTreeMap::new())
        .await
        .unwrap()
}

async fn call(server: &WasmToolServer, tool: &str, arguments: Value, deadline: Duration) -> ToolRan {
    let mut invocation = invocation(deadline, Signals::default());
    let snapshot = Arc::get_mut(&mut invocation.snapshot).unwrap();
    snapshot.tool = tool.to_owned();
    snapshot.arguments = Arguments::new(arguments).unwrap();
    server.run(invocation).await
}

async fn answer(server: &WasmToolServer, tool: &str, arguments: Value) -> Result<Value, String> {
    let ran = call(server, tool, arguments, ENOUGH).await;
    assert_eq!(ran.entry, Entry::Entered);
    ran.ran.outcome.unwrap().map(|output| output.value).map_err(|error| format!("{error:?}"))
}

#[tokio::test]
async fn a_folder_is_read_and_written_as_it_was_granted() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "text").unwrap();
    let write = json!({"path": "b", "content": "more"});

    let reader = server(Some((folder.path(), Access::Read))).await;
    assert_eq!(reader.effect_class(), EffectClass::ReadOnly);
    assert_eq!(answer(&reader, "read_file", json!({"path": "a"})).await, Ok(json!("text")));
    answer(&reader, "write_file", write.clone()).await.unwrap_err();
    assert!(!folder.path().join("b").exists());

    let writer = server(Some((folder.path(), Access::ReadWrite))).await;
    assert_eq!(writer.effect_class(), EffectClass::SideEffecting);
    answer(&writer, "write_file", write).await.unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("b")).unwrap(), "more");
}

#[tokio::test]
async fn without_a_grant_its_imports_lead_nowhere() {
    let server = server(None).await;
    assert_eq!(server.effect_class(), EffectClass::Pure);
    for path in ["/etc/passwd", "etc/passwd", "."] {
        answer(&server, "read_file", json!({ "path": path })).await.unwrap_err();
    }
}

/// wazero#2321: neither `..` nor a link leads out.
#[tokio::test]
async fn nothing_leads_out_of_a_folder() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("granted");
    fs::create_dir(&folder).unwrap();
    fs::write(home.path().join("secret"), "secret").unwrap();
    symlink(home.path().join("secret"), folder.join("absolute")).unwrap();
    symlink("../secret", folder.join("relative")).unwrap();
    symlink("..", folder.join("up")).unwrap();
    let server = server(Some((&folder, Access::ReadWrite))).await;
    for path in ["absolute", "relative", "up/secret", "/work/../secret"] {
        answer(&server, "read_file", json!({ "path": path })).await.unwrap_err();
        answer(&server, "write_file", json!({ "path": path, "content": "" })).await.ok();
    }
    assert_eq!(fs::read_to_string(home.path().join("secret")).unwrap(), "secret");
}

#[tokio::test]
async fn a_folder_that_was_replaced_is_not_entered() {
    let home = tempfile::tempdir().unwrap();
    let (granted, other) = (home.path().join("granted"), home.path().join("other"));
    fs::create_dir(&granted).unwrap();
    fs::create_dir(&other).unwrap();
    let server = server(Some((&granted, Access::Read))).await;
    fs::rename(&granted, home.path().join("away")).unwrap();
    symlink(&other, &granted).unwrap();
    let ToolRan { entry, ran } = call(&server, "list_files", json!({}), ENOUGH).await;
    assert_eq!(entry, Entry::Never);
    assert!(ran.outcome.unwrap_err().message.contains("is not the one that was granted"));
}

/// A pipe, which is not opened before somebody opens its other end.
fn pipe(folder: &Path) -> PathBuf {
    let pipe = folder.join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    pipe
}

/// Opens the other end as soon as somebody waits for it, until the call has given its place back.
async fn release(pipe: &Path, server: &WasmToolServer, places: usize) {
    let give_up = Instant::now() + ENOUGH;
    while server.turnstile.free() < places {
        // Fails while nobody waits.
        openat(CWD, pipe, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()).ok();
        assert!(Instant::now() < give_up, "the place is not given back");
        tokio::task::yield_now().await;
    }
}

/// Nothing can call a file operation off, so the answer says that it goes on.
#[tokio::test]
async fn a_file_operation_that_hangs_is_reported_and_keeps_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = pipe(folder.path());
    let server = server(Some((folder.path(), Access::Read))).await;
    let places = server.turnstile.free();
    let ToolRan { entry, ran } = call(&server, "read_file", json!({"path": "pipe"}), Duration::from_millis(200)).await;
    assert_eq!(entry, Entry::Entered);
    let message = "deadline of 200 ms exceeded; a file operation is still under way";
    assert_eq!(ran.outcome.unwrap_err(), Fault::new(Stop::Deadline, message));
    assert_eq!(server.turnstile.free(), places - 1);
    release(&pipe, &server, places).await;
}

/// A caller that goes away ends the call, at the latest when its file operation ends.
#[tokio::test]
async fn a_dropped_call_gives_its_place_back() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = pipe(folder.path());
    let server = server(Some((folder.path(), Access::Read))).await;
    let places = server.turnstile.free();
    let mut ran = Box::pin(call(&server, "read_file", json!({"path": "pipe"}), ENOUGH));
    let polled = ran.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    drop(ran);
    release(&pipe, &server, places).await;
}
