//! A ledger whose files were damaged: a clear error, and never a fresh start.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use chio_host_kernel::ledger::{Durability, Ledger, LedgerError, Transition};
use chio_host_ledger::{OpenError, SledLedger};
use tempfile::TempDir;

use crate::support::{append, receipt, wait};

const RECEIPTS: u64 = 400;

/// A ledger of some receipts, over two openings, so that sled has a snapshot as well.
fn filled(path: &Path) {
    for half in 0..2 {
        let ledger = SledLedger::open(path).unwrap();
        append_each(&ledger, half * RECEIPTS / 2..(half + 1) * RECEIPTS / 2);
        ledger.close().unwrap();
    }
}

fn append_each(ledger: &SledLedger, numbers: Range<u64>) {
    for n in numbers {
        let transition = Transition::of(ledger.lease_epoch(), vec![append(&receipt(n))]);
        wait(ledger.apply(transition, Durability::Synced)).unwrap();
    }
}

fn db(ledger: &Path) -> PathBuf {
    ledger.join("store").join("db")
}

fn journal(ledger: &Path) -> PathBuf {
    ledger.join("journal").join("0000000001.journal")
}

/// Turns 64 bytes of a file into others.
fn flip(path: &Path, at: impl Fn(u64) -> u64) {
    let mut file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let at = SeekFrom::Start(at(file.metadata().unwrap().len()));
    let mut bytes = [0; 64];
    file.seek(at).unwrap();
    file.read_exact(&mut bytes).unwrap();
    file.seek(at).unwrap();
    file.write_all(&bytes.map(|b| !b)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Damages copies of one ledger.
fn damaged(cases: impl FnOnce(&mut dyn FnMut(&str, &dyn Fn(&Path)) -> Result<SledLedger, OpenError>)) {
    let folder = TempDir::new().unwrap();
    let sound = folder.path().join("sound");
    filled(&sound);
    let mut count = 0;
    cases(&mut |_, damage| {
        count += 1;
        let path = folder.path().join(format!("damaged-{count}"));
        copy(&sound, &path);
        damage(&path);
        SledLedger::open(&path)
    });
}

fn cut(path: &Path, keep: impl Fn(u64) -> u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(keep(length)).unwrap();
}

#[test]
fn case_33_what_is_missing_or_cut_short_is_an_error_that_names_it() {
    damaged(|case| {
        let mut expect = |name: &str, damage: &dyn Fn(&Path)| match case(name, damage) {
            Err(error @ OpenError::Damaged { .. }) => {
                let text = error.to_string();
                assert!(text.contains("/damaged-"), "{name}: {text}");
            }
            Err(other) => panic!("{name}: {other}"),
            Ok(_) => panic!("{name}: it opened"),
        };
        expect("no data file", &|path| fs::remove_file(db(path)).unwrap());
        expect("no settings", &|path| fs::remove_file(path.join("store").join("conf")).unwrap());
        expect("no store", &|path| fs::remove_dir_all(path.join("store")).unwrap());
        expect("no mark", &|path| fs::remove_file(path.join("mark")).unwrap());
        expect("an empty mark", &|path| cut(&path.join("mark"), |_| 0));
        expect("an empty data file", &|path| cut(&db(path), |_| 0));
        expect("no journal", &|path| fs::remove_dir_all(path.join("journal")).unwrap());
        expect("no segment", &|path| fs::remove_file(journal(path)).unwrap());
        expect("a segment of another ledger", &|path| flip(&journal(path), |_| 0));
        expect("an empty segment", &|path| cut(&journal(path), |_| 0));
        for tenths in 1..10 {
            expect(&format!("{tenths} tenths of it"), &|path| cut(&journal(path), |length| length * tenths / 10));
        }
        expect("one byte less", &|path| cut(&journal(path), |length| length - 1));
        expect("an older store", &|path| {
            let older = path.join("older");
            SledLedger::open(&older).unwrap().close().unwrap();
            fs::remove_dir_all(path.join("store")).unwrap();
            fs::rename(older.join("store"), path.join("store")).unwrap();
            fs::remove_dir_all(older).unwrap();
        });
    });
}

/// The journal has all that the index has. An index that was cut short is refused, or nothing is missing.
#[test]
fn case_33_an_index_that_was_cut_short_takes_nothing_with_it() {
    damaged(|case| {
        for tenths in 1..10 {
            match case("", &|path| cut(&db(path), |length| length * tenths / 10)) {
                Err(OpenError::Damaged { .. }) => {}
                Err(other) => panic!("{tenths} tenths: {other}"),
                Ok(ledger) => assert!(!is_reported(&ledger, tenths), "{tenths} tenths: opened, and damaged"),
            }
        }
    });
}

/// Wherever a byte is damaged, what was acknowledged is either there or reported, never silently gone: the log names a receipt
/// that is missing, and whoever walks it says so.
#[test]
fn case_33_a_damaged_page_is_reported_and_nothing_vanishes() {
    for file in [db, journal] {
        damaged(|case| {
            let mut reported = 0;
            for fiftieths in 0..50 {
                match case("", &|path| flip(&file(path), |length| length * fiftieths / 50)) {
                    Err(OpenError::Damaged { .. }) => reported += 1,
                    Err(other) => panic!("damaged at {fiftieths}/50: {other}"),
                    Ok(ledger) => reported += usize::from(is_reported(&ledger, fiftieths)),
                }
            }
            assert!(reported > 0, "no damage was noticed");
        });
    }
}

/// What the index does not have yet is read from the journal's end, where a frame that is damaged looks like one that was
/// never written whole.
#[test]
fn case_33_a_damaged_end_is_no_end() {
    let folder = TempDir::new().unwrap();
    let serving = folder.path().join("serving");
    let ledger = SledLedger::open(&serving).unwrap();
    append_each(&ledger, 0..RECEIPTS / 2);
    let images = |name: &str| {
        let image = folder.path().join(name);
        copy(&serving, &image);
        image
    };
    let killed = SledLedger::open(images("killed")).unwrap();
    assert_eq!(killed.log(0, usize::MAX).unwrap().len() as u64, RECEIPTS / 2);
    for twentieths in 1..20 {
        let image = images(&format!("damaged-{twentieths}"));
        flip(&journal(&image), |length| length * twentieths / 20);
        let refused = SledLedger::open(&image).unwrap_err();
        assert!(matches!(&refused, OpenError::Damaged { why, .. } if why.contains("on the disk")), "{refused}");
        // And is left as it was.
        let again = SledLedger::open(&image).unwrap_err();
        assert_eq!(refused.to_string(), again.to_string());
    }
    // What really was not written whole goes.
    let image = images("torn");
    let mut torn = OpenOptions::new().append(true).open(journal(&image)).unwrap();
    torn.write_all(&[7; 100]).unwrap();
    for expected in 0..3 {
        let ledger = SledLedger::open(&image).unwrap();
        append_each(&ledger, 1000 + expected..1001 + expected);
        assert_eq!(ledger.log(0, usize::MAX).unwrap().len() as u64, RECEIPTS / 2 + expected + 1);
        ledger.close().unwrap();
    }
}

/// Reads everything, and tells whether the ledger said that it is damaged.
fn is_reported(ledger: &SledLedger, fiftieths: u64) -> bool {
    let log = match ledger.log(0, usize::MAX) {
        Err(LedgerError::Damaged(_) | LedgerError::Unavailable(_)) => return true,
        Err(other) => panic!("damaged at {fiftieths}/50: {other}"),
        Ok(log) => log,
    };
    assert_eq!(log.len() as u64, RECEIPTS, "damaged at {fiftieths}/50");
    log.iter().any(|entry| match ledger.receipt(&entry.receipt_id) {
        Ok(found) => found.is_none(),
        Err(_) => true,
    })
}
