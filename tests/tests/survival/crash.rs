//! Case 11: the process is killed at every failpoint, with and without a sync before it, and started again.
//!
//! The process is this test binary itself, run as a child: it stops at the failpoint, says so, and is killed there
//! (SIGKILL on Unix). What its buffers held is gone; what it had synced has to be enough.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chio_host_kernel::call::EffectClass;
use chio_host_kernel::failpoint::{Action, Failpoints, NAMES};
use chio_host_kernel::operation::State;
use chio_host_kernel::response::Origin;
use chio_host_ledger::{Options, SledLedger};
use chio_host_tests::NativeServer;
use chio_host_tests::invariants::{self, Known};
use serde_json::json;

use crate::world::{World, builder, limited};

/// Says to the child what to do; without it, the test that is the child does nothing.
const ROLE: &str = "CHIO_TEST_CRASH";
const CALL: &str = "call";
const RECOVER: &str = "recover";
const STOPPED: &str = "stopped at the failpoint";
pub(crate) const LEDGER: &str = "ledger";
const ENTRIES: &str = "entries";
/// In the ledger's own round, between its flush and its sync.
const MID_TRANSACTION: &str = "ledger.flushed";

/// Runs a child to its failpoint, and kills it there. It makes one whole call and then one that stops, or recovers and
/// stops; answers whether it got there, or ended before.
fn kill_at(work: &str, failpoint: &str, folder: &Path) -> bool {
    kill_child_at("crash::child", work, failpoint, folder)
}

/// The same with another test of this binary as the child.
pub(crate) fn kill_child_at(child: &str, work: &str, failpoint: &str, folder: &Path) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", child, "--nocapture", "--test-threads=1"])
        .env(ROLE, format!("{work}\n{failpoint}\n{}", folder.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let stopped = lines.any(|line| line.unwrap().contains(STOPPED));
    child.kill().unwrap();
    child.wait().unwrap();
    stopped
}

/// A tool whose entries outlive the process.
fn counted(folder: &Path) -> NativeServer {
    counted_as("host", "bash", folder)
}

/// The same under another name.
pub(crate) fn counted_as(server: &str, tool: &str, folder: &Path) -> NativeServer {
    let path = folder.join(ENTRIES);
    NativeServer::new(server, tool, EffectClass::SideEffecting, move |arguments| {
        let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        file.write_all(b"entered\n").unwrap();
        file.sync_all().unwrap();
        Ok(json!({ "did": arguments, "much": "x".repeat(100_000) }))
    })
    .costing(500_000, None)
}

pub(crate) fn entries(folder: &Path) -> usize {
    fs::read_to_string(folder.join(ENTRIES)).map_or(0, |text| text.lines().count())
}

/// What this process is to do, where it is the child.
pub(crate) struct Role {
    pub(crate) work: String,
    pub(crate) folder: PathBuf,
    /// Whether it stops at its failpoint.
    pub(crate) armed: Arc<AtomicBool>,
    pub(crate) failpoints: Failpoints,
}

impl Role {
    pub(crate) fn of_this_process() -> Option<Self> {
        let role = std::env::var(ROLE).ok()?;
        let (work, rest) = role.split_once('\n').unwrap();
        let (failpoint, folder) = rest.split_once('\n').unwrap();
        let (name, sync) = match failpoint.strip_suffix("+sync") {
            Some(name) => (name.to_owned(), true),
            None => (failpoint.to_owned(), false),
        };
        let armed = Arc::new(AtomicBool::new(false));
        let on = armed.clone();
        let synced = AtomicBool::new(!sync);
        let failpoints = Failpoints::new(move |at| {
            if at != name || !on.load(Ordering::SeqCst) {
                return Action::Continue;
            }
            if !synced.swap(true, Ordering::SeqCst) {
                return Action::Sync;
            }
            let mut out = std::io::stdout().lock();
            out.write_all(format!("\n{STOPPED}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
            Action::Hang
        });
        Some(Self { work: work.to_owned(), folder: Path::new(folder).to_owned(), armed, failpoints })
    }
}

/// Not a test: the child's part.
#[tokio::test]
async fn child() {
    let Some(Role { work, folder, armed, failpoints }) = Role::of_this_process() else { return };
    let options = Options { failpoints: failpoints.clone(), ..Options::default() };
    let ledger = Arc::new(SledLedger::open_with(folder.join(LEDGER), &options).unwrap());
    let builder = builder(ledger, counted(&folder)).settings(|settings| settings.failpoints = failpoints);
    if work == RECOVER {
        armed.store(true, Ordering::SeqCst);
        builder.build().kernel.recover().await.unwrap();
        return;
    }
    let world = World::of(builder, Arc::default(), vec![limited()]).await;
    world.host.evaluate(&world.call("whole")).await;
    armed.store(true, Ordering::SeqCst);
    world.host.evaluate(&world.call("request")).await;
}

/// The host after its restart.
async fn restarted(folder: &Path) -> World {
    let ledger = Arc::new(SledLedger::open(folder.join(LEDGER)).unwrap());
    World::of(builder(ledger, counted(folder)), Arc::default(), vec![limited()]).await
}

/// What does not hold after a restart, and how many receipts say how an operation ended.
fn judge(world: &World, folder: &Path) -> (Vec<String>, usize) {
    let known = Known { entries: Some(entries(folder)), ..world.known() };
    let wrong = invariants::violations(&*world.host.ledger, &known);
    let signed = if wrong.is_empty() { invariants::hold(&*world.host.ledger, &known).terminal.len() } else { 0 };
    (wrong, signed)
}

#[derive(Default)]
struct Row {
    kills: usize,
    violations: Vec<String>,
    signed: usize,
}

#[tokio::test]
async fn case_11_a_kill_at_every_failpoint_leaves_each_call_with_one_signed_end() {
    let mut table: BTreeMap<String, Row> = BTreeMap::new();
    let of_calls = NAMES.iter().filter(|name| !name.starts_with("recover."));
    for name in of_calls.copied().chain([MID_TRANSACTION]) {
        for failpoint in [name.to_owned(), format!("{name}+sync")] {
            if failpoint == format!("{MID_TRANSACTION}+sync") {
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            assert!(kill_at(CALL, &failpoint, folder), "{failpoint} was passed");
            let before = entries(folder);
            let world = restarted(folder).await;
            let (mut violations, signed) = judge(&world, folder);

            // The same id once more: the record of what happened, or a first call where nothing had.
            let open = world.host.kernel.unresolved().unwrap();
            let again = world.host.evaluate(&world.call("request")).await;
            let is_first = again.origin == Origin::Fresh;
            if entries(folder) != before + usize::from(is_first) || (is_first && before > 1) {
                violations.push(format!("{failpoint}: the tool was entered again"));
            }
            let stuck = open.iter().filter(|u| u.state == Some(State::OutcomeUnknownAfterDispatch)).count();
            if stuck > 1 {
                violations.push(format!("{failpoint}: {open:?}"));
            }
            violations.extend(judge(&world, folder).0);
            let row = table.entry(failpoint).or_default();
            row.kills += 1;
            row.signed += signed;
            row.violations.extend(violations);
        }
    }
    for name in NAMES.iter().filter(|name| name.starts_with("recover.")) {
        for failpoint in [(*name).to_owned(), format!("{name}+sync")] {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            assert!(kill_at(CALL, "tool.after", folder));
            let row = table.entry(failpoint.clone()).or_default();
            // Again and again: what one recovery did the next one finds, and adds no second receipt.
            for _ in 0..3 {
                row.kills += usize::from(kill_at(RECOVER, &failpoint, folder));
            }
            let world = restarted(folder).await;
            let (violations, signed) = judge(&world, folder);
            row.violations.extend(violations);
            row.signed += signed;
            assert!(row.kills >= 1, "{failpoint} was passed");
        }
    }
    let line = |name: &str, kills: &str, violations: &str, signed: &str| {
        format!("{name:<24} {kills:>5} {violations:>20} {signed:>24}\n")
    };
    let rows = table.iter().map(|(name, row)| {
        line(name, &row.kills.to_string(), &row.violations.len().to_string(), &row.signed.to_string())
    });
    let head = line("failpoint", "kills", "invariant violations", "signed terminal receipts");
    let report: String = std::iter::once(head).chain(rows).collect();
    std::io::stdout().write_all(format!("\n{report}").as_bytes()).unwrap();
    let wrong: Vec<_> = table.values().flat_map(|row| &row.violations).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
