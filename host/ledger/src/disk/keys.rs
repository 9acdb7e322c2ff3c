//! The keys. One tree holds all rows, told apart by a key's first byte.
//!
//! | tag | key | value |
//! |---|---|---|
//! | `i` | | [`Identity`](super::identity::Identity): format and ledger id |
//! | `h` | | [`Head`](super::head::Head): lease epoch, applied transitions, length of the log |
//! | `o` | operation id | the operation |
//! | `a` | operation id | nothing: the operation has not ended |
//! | `r` | subject, namespace, request id | the request record |
//! | `d` | hold id | the hold |
//! | `c` | counter key, as it is | the counter |
//! | `m` | account name | the account |
//! | `n` | expiry, big-endian, and nonce id | the mark |
//! | `w` | | how many marks there are, and which are gone |
//! | `s` | kind, caller and id of a reservation | the operation that holds it |
//! | `k` | operation id | the draft of its receipt, until it ends |
//! | `v` | capability id | when it was revoked |
//! | `u` | operation id | the output |
//! | `t` | receipt id | the receipt |
//! | `p` | receipt id | the replay record |
//! | `l` | sequence number, big-endian | the log entry |
//! | `x` | another row's key, part number | a part of that row's value |
//!
//! Whatever a transition needs is found by key: the log's head instead of its last
//! row, an index of open operations instead of a walk. What is listed (`a`, `c`, `l`, `n`; `d` in no order) has a tag of its own and keeps its
//! order. Everything else is only ever looked up, so a long id may stand as its hash.

use chio_host_kernel::ledger::{CounterKey, NonceKey, RequestKey};
use chio_host_kernel::operation::OperationId;
use chio_host_kernel::reservation::RuntimeReservation;
use sha2::{Digest, Sha256};

/// Ids longer than this, in bytes, stand as their hash: index pages hold 256 keys and have to stay small.
const MAX_PLAIN: usize = 160;

pub(super) const IDENTITY: &[u8] = b"i";
pub(super) const HEAD: &[u8] = b"h";
pub(super) const NONCE_MARKS: &[u8] = b"w";
/// With what every key of [`hold`] begins.
pub(super) const ALL_HOLDS: [u8; 1] = [b'd'];
/// With what every key of [`nonce`] begins.
pub(super) const ALL_NONCES: [u8; 1] = [NONCE];
const NONCE: u8 = b'n';
const OPEN: u8 = b'a';
const COUNTER: u8 = b'c';
const LOG: u8 = b'l';

pub(super) fn operation(id: &OperationId) -> Vec<u8> {
    point(b'o', &[id.as_str()])
}

/// An open operation is listed, so its key ends with its id as it is.
pub(super) fn open(id: &OperationId) -> Vec<u8> {
    [&[OPEN], id.as_str().as_bytes()].concat()
}

/// With what every key of [`open`] begins.
pub(super) const ALL_OPEN: [u8; 1] = [OPEN];

/// The id in a key of [`open`].
pub(super) fn open_id(key: &[u8]) -> &[u8] {
    key.get(1..).unwrap_or_default()
}

pub(super) fn request(key: &RequestKey) -> Vec<u8> {
    point(b'r', &[&key.subject, key.namespace.as_str(), key.request_id.as_str()])
}

pub(super) fn hold(id: &str) -> Vec<u8> {
    point(b'd', &[id])
}

pub(super) fn account(name: &str) -> Vec<u8> {
    point(b'm', &[name])
}

/// Nonces are listed, so their key ends with their id as it is.
pub(super) fn nonce(key: &NonceKey) -> Vec<u8> {
    [&[NONCE], &key.expires_at.to_be_bytes()[..], key.id.as_bytes()].concat()
}

/// The nonce in a key of [`nonce`].
pub(super) fn nonce_key(key: &[u8]) -> Option<NonceKey> {
    let (expires_at, id) = key.get(1..)?.split_first_chunk()?;
    Some(NonceKey { expires_at: u64::from_be_bytes(*expires_at), id: String::from_utf8(id.to_vec()).ok()? })
}

pub(super) fn reservation(reservation: &RuntimeReservation) -> Vec<u8> {
    point(b's', &[reservation.kind.as_str(), reservation.of.as_deref().unwrap_or_default(), reservation.id.as_str()])
}

pub(super) fn draft(operation: &OperationId) -> Vec<u8> {
    point(b'k', &[operation.as_str()])
}

pub(super) fn counter(key: &CounterKey) -> Vec<u8> {
    [&[COUNTER], key.as_str().as_bytes()].concat()
}

/// The counter key in a key of [`counter`].
pub(super) fn counter_key(key: &[u8]) -> Option<CounterKey> {
    let text = String::from_utf8(key.get(1..)?.to_vec()).ok()?;
    Some(CounterKey::from_stored(text))
}

pub(super) fn revocation(capability_id: &str) -> Vec<u8> {
    point(b'v', &[capability_id])
}

pub(super) fn output(operation: &OperationId) -> Vec<u8> {
    point(b'u', &[operation.as_str()])
}

pub(super) fn receipt(id: &str) -> Vec<u8> {
    point(b't', &[id])
}

pub(super) fn replay(receipt_id: &str) -> Vec<u8> {
    point(b'p', &[receipt_id])
}

pub(super) fn log(seq: u64) -> [u8; 9] {
    let mut key = [LOG; 9];
    key[1..].copy_from_slice(&seq.to_be_bytes());
    key
}

pub(super) fn part(of: &[u8], number: u32) -> Vec<u8> {
    [b"x", of, &number.to_be_bytes()[..]].concat()
}

/// A key that is looked up and never listed. No two lists of steps share one: each step but the last is preceded by its
/// length, and a hash is marked as one.
fn point(tag: u8, steps: &[&str]) -> Vec<u8> {
    let mut plain = vec![tag, b'.'];
    for (i, step) in steps.iter().enumerate() {
        if i + 1 < steps.len() {
            plain.extend_from_slice(&(step.len() as u64).to_be_bytes()[4..]);
        }
        plain.extend_from_slice(step.as_bytes());
    }
    if plain.len() <= MAX_PLAIN {
        return plain;
    }
    let mut hashed = vec![tag, b'#'];
    hashed.extend_from_slice(&Sha256::digest(&plain));
    hashed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_rows_share_a_key() {
        let long = "x".repeat(1000);
        let keys = [
            point(b'r', &["a", "b", "c"]),
            point(b'r', &["ab", "", "c"]),
            point(b'r', &["a", "", "bc"]),
            point(b'r', &["a\0b", "c"]),
            point(b'r', &[&long, "a", "b"]),
            point(b'r', &[&long, "ab", ""]),
            point(b't', &[&long]),
            point(b'p', &[&long]),
            log(0).to_vec(),
            log(1).to_vec(),
            part(&log(0), 0),
            part(&log(0), 1),
        ];
        assert!(keys.iter().all(|k| k.len() <= MAX_PLAIN));
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    }
}
