//! What every ledger has to do. Each test runs against each implementation.

mod accounts;
mod holds;
mod operations;
mod receipts;
mod requests;

use chio_host_ledger::{MemoryLedger, SledLedger};
use tempfile::TempDir;

use crate::support::Subject;

/// Makes a test of each function, for each implementation, with a ledger of its own.
macro_rules! conforms {
    ($($test:ident),+ $(,)?) => {
        mod in_memory {
            $(#[test]
            fn $test() {
                $crate::conformance::in_memory(super::$test);
            })+
        }

        mod on_disk {
            $(#[test]
            fn $test() {
                $crate::conformance::on_disk(super::$test);
            })+
        }
    };
}
use conforms;

fn in_memory(test: fn(&Subject)) {
    test(&Subject::new(MemoryLedger::new()));
}

fn on_disk(test: fn(&Subject)) {
    let folder = TempDir::new().unwrap();
    test(&Subject::new(SledLedger::open(folder.path().join("ledger")).unwrap()));
}
