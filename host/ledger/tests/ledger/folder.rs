//! The folder that a ledger is in.

use std::fs;

use chio_host_kernel::ledger::Ledger;
use chio_host_ledger::{OpenError, SledLedger};
use tempfile::TempDir;

#[test]
fn case_16_a_second_opening_is_told_who_holds_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ledger");
    let ledger = SledLedger::open(&path).unwrap();
    let error = SledLedger::open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Held { process: Some(id), .. } if id == std::process::id()), "{error}");
    assert!(error.to_string().contains("is held by this process"), "{error}");
    ledger.close().unwrap();
    SledLedger::open(&path).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_may_enter_is_refused() {
    use std::os::unix::fs::PermissionsExt;

    let folder = TempDir::new().unwrap();
    let path = folder.path().join("deep").join("ledger");
    SledLedger::open(&path).unwrap().close().unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&path), 0o700);
    for mode in [0o750, 0o701, 0o777] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = SledLedger::open(&path).unwrap_err();
        assert!(matches!(error, OpenError::NotPrivate { .. }), "{error}");
        assert!(error.to_string().contains("chmod 700"), "{error}");
    }
}

#[test]
fn a_folder_with_something_else_in_it_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("photos");
    let ledger = SledLedger::open(&path).unwrap();
    ledger.close().unwrap();
    for name in ["mark", "store", "journal"] {
        let part = path.join(name);
        if part.is_dir() { fs::remove_dir_all(part).unwrap() } else { fs::remove_file(part).unwrap() }
    }
    fs::write(path.join("holiday.jpg"), "").unwrap();
    let error = SledLedger::open(&path).unwrap_err();
    assert!(matches!(&error, OpenError::Occupied { found, .. } if found == "holiday.jpg"), "{error}");
    assert!(matches!(SledLedger::open(path.join("holiday.jpg")), Err(OpenError::Io { .. })));
}

#[test]
fn an_interrupted_creation_begins_anew() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ledger");
    let ledger = SledLedger::open(&path).unwrap();
    let id = ledger.id().to_owned();
    ledger.close().unwrap();
    fs::write(path.join("creating"), "").unwrap();
    let db = path.join("store").join("db");
    fs::write(db, "half").unwrap();
    let ledger = SledLedger::open(&path).unwrap();
    assert_ne!(ledger.id(), id);
    assert!(!path.join("creating").exists());
    ledger.close().unwrap();
    SledLedger::open(&path).unwrap();
}

#[test]
fn another_format_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ledger");
    SledLedger::open(&path).unwrap().close().unwrap();
    let mark = path.join("mark");
    let text = fs::read_to_string(&mark).unwrap();
    let of = |format: u32| {
        fs::write(&mark, text.replace("chio-host-ledger 3\n", &format!("chio-host-ledger {format}\n"))).unwrap();
        SledLedger::open(&path).unwrap_err()
    };
    let newer = of(12);
    assert!(matches!(newer, OpenError::Newer { found: 12, supported: 3, .. }), "{newer}");
    assert!(newer.to_string().contains("a newer build is needed"), "{newer}");
    let older = of(2);
    assert!(matches!(older, OpenError::Older { found: 2, supported: 3, .. }), "{older}");
    assert!(older.to_string().contains("with the build that wrote it"), "{older}");
}
