//! A process that is killed while it writes.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use chio_host_kernel::ledger::{Durability, Ledger, Transition};
use chio_host_ledger::{OpenError, Options, SledLedger};
use tempfile::TempDir;

use crate::support::{append, assert_contiguous, receipt, wait};

/// Tells the test below that it is the child, and where the ledger is.
const LEDGER: &str = "CHIO_TEST_LEDGER";

/// This test again, in a process of its own.
fn spawn(path: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "kill::what_was_acknowledged_survives_a_kill", "--nocapture"])
        .env(LEDGER, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Appends receipts from four threads and prints the id of each that was acknowledged, until it is killed.
fn append_for_ever(path: &Path) {
    // Short, so that it dies in checkpoints and between segments as well.
    let options = Options { checkpoint_rows: 30, segment_bytes: 20_000, ..Options::default() };
    let ledger = SledLedger::open_with(path, &options).unwrap();
    let epoch = ledger.lease_epoch();
    thread::scope(|scope| {
        for t in 0..4 {
            let ledger = &ledger;
            scope.spawn(move || {
                for n in 0.. {
                    let receipt = receipt(epoch << 40 | t << 32 | n);
                    let transition = Transition::of(epoch, vec![append(&receipt)]);
                    wait(ledger.apply(transition, Durability::Synced)).unwrap();
                    // Past the harness, which would keep what is printed. A line is one write.
                    std::io::stdout().write_all(format!("acknowledged {}\n", receipt.id()).as_bytes()).unwrap();
                }
            });
        }
    });
}

/// The ids in what a child prints.
fn acknowledged(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| {
        let id = line.strip_prefix("acknowledged ")?;
        (id.len() == 64).then(|| id.to_owned())
    })
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    if let Some(path) = env::var_os(LEDGER) {
        append_for_ever(&PathBuf::from(path));
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ledger");
    let mut expected = Vec::new();
    for round in 1..=5 {
        let mut child = spawn(&path);
        let mut ids = acknowledged(&mut child);
        expected.extend(ids.by_ref().take(usize::try_from(round * 50).unwrap()));
        if round == 1 {
            is_refused_while_it_is_held(folder.path(), &path, child.id());
        }
        child.kill().unwrap();
        // What it managed to print before it died counts as well.
        expected.extend(ids);
        child.wait().unwrap();
        let ledger = SledLedger::open(&path).unwrap();
        assert_eq!(ledger.lease_epoch(), 2 * round);
        let log = assert_contiguous(&ledger);
        for id in &expected {
            assert!(log.contains(id), "round {round}: {id} was acknowledged and is gone");
        }
        ledger.close().unwrap();
    }
}

/// Also through a symbolic link to the folder, and through a hard link to the data file.
fn is_refused_while_it_is_held(parent: &Path, path: &Path, holder: u32) {
    let mut ways = vec![path.to_owned()];
    #[cfg(unix)]
    {
        let link = parent.join("symbolic");
        std::os::unix::fs::symlink(path, &link).unwrap();
        ways.push(link);
        ways.push(hard_linked(parent, path));
    }
    for way in ways {
        match SledLedger::open(&way).unwrap_err() {
            OpenError::Held { process, .. } => assert_eq!(process, Some(holder), "{}", way.display()),
            other => panic!("{}: {other}", way.display()),
        }
    }
}

/// Another folder, whose data file is the same.
#[cfg(unix)]
fn hard_linked(parent: &Path, path: &Path) -> PathBuf {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    let other = parent.join("hard");
    for folder in ["store", "journal"] {
        fs::create_dir_all(other.join(folder)).unwrap();
    }
    fs::set_permissions(&other, fs::Permissions::from_mode(0o700)).unwrap();
    for name in ["mark", "store/db", "store/conf", "journal/0000000001.journal"] {
        fs::hard_link(path.join(name), other.join(name)).unwrap();
    }
    other
}
