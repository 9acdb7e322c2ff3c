//! `demo`: needs no file, shows four calls, and leaves nothing behind.

use chio_host_kernel::receipt;

use crate::support::{Place, repository};

#[test]
fn the_demo_shows_all_four_endings() {
    let place = Place::new();
    let done = place.run(&["demo"]);
    assert_eq!(done.code, 0, "{done:?}");
    for part in [
        "ALLOW",
        "Hello, Chio",
        "guard \"forbidden_path\" denied the request",
        "requested tool drop_tables on server hello is not in capability scope",
        "REDACTED",
        "4 receipts verified",
    ] {
        assert!(done.stdout.contains(part), "no {part:?} in {}", done.stdout);
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn every_receipt_that_the_demo_wrote_can_be_exported_and_verified() {
    let place = Place::new();
    assert_eq!(place.run(&["demo", "--state", "state"]).code, 0);
    let export = place.run(&["receipt", "list", "--state", "state", "--format", "json"]);
    assert_eq!(export.json_lines().len(), 4);
    for record in export.json_lines() {
        receipt::verify(&record).unwrap();
    }
    place.write("export.jsonl", &export.stdout);
    let verified = place.run(&["receipt", "verify", "--file", "export.jsonl"]);
    assert_eq!((verified.code, verified.stdout.as_str()), (0, "4 receipts verified: ids and signatures\n"));
    let whole = place.run(&["receipt", "verify", "--state", "state"]);
    assert_eq!(whole.code, 0, "{whole:?}");
}

#[test]
fn another_kernels_receipts_verify_and_a_changed_byte_does_not() {
    let place = Place::new();
    let export = std::fs::read(repository("tests/vectors/foreign-receipts.jsonl")).unwrap();
    place.write("foreign.jsonl", &export);
    let verify = || place.run(&["receipt", "verify", "--file", "foreign.jsonl"]);
    assert_eq!(verify().code, 0, "{:?}", verify());
    // Every byte is changed in the kernel's own tests; here, a few, through the command line.
    for at in [0, 7, export.len() / 3, export.len() / 2, export.len() - 2, export.len() - 1] {
        let mut changed = export.clone();
        changed[at] ^= 1;
        place.write("foreign.jsonl", &changed);
        let done = verify();
        assert_eq!(done.code, 1, "byte {at}: {done:?}");
        assert!(done.stdout.contains("NOT VERIFIED: foreign.jsonl line "), "{done:?}");
    }
}
