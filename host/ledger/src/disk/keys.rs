//! The keys. One tree holds all rows, told apart by a key's first byte.
//!
//! | tag | key | value |
//! |---|---|---|
//! | `i` | | [`Identity`](super::identity::Identity): format and ledger id |
//! | `j` | | how far of the [journal](super::journal) sled has; in sled alone |
//! | `h` | | [`Head`](super::head::Head): lease epoch, applied transitions, and how far each count is |
//! | `o` | hash of an operation id | the operation's number |
//! | `O` | operation's number | the operation |
//! | `a` | operation's number | its id: the operation has not ended |
//! | `k` | operation's number | the draft of its receipt, until it ends |
//! | `u` | operation's number | its output |
//! | `q` | operation's number | a human's approval of it |
//! | `r` | hash of subject, namespace and request id | the request's number |
//! | `R` | request's number | the request record |
//! | `t` | hash of a receipt id | where the receipt stands in the log |
//! | `T` | sequence number | the receipt |
//! | `p` | sequence number | the replay record |
//! | `l` | sequence number | the log entry |
//! | `d` | hold id | the hold |
//! | `c` | counter key, as it is | the counter |
//! | `e` | counter keys of parent and child | how many calls hold the child's share of the parent's budget |
//! | `m` | account name | the account |
//! | `n` | expiry, big-endian, and nonce id | the mark |
//! | `w` | | how many marks there are, and which are gone |
//! | `s` | kind, caller and id of a reservation | the operation that holds it |
//! | `v` | capability id | when it was revoked |
//!
//! **What grows with every call stands in order of time**, under numbers that count from 0, so that a call only touches
//! pages that the calls just before it touched, however large the ledger is. In sled 64 numbers of `O`, `R`, `T`, `p` and `l` share
//! a [row](super::stored). Ids are as good as random. A row under one dirties a page that nobody else wants, which has been dropped
//! from the cache by then: so all that an id finds is a number, and 17 of those rows make a page of well under a kilobyte.
//!
//! Whatever a transition needs is found by key: the counts in the head instead of the last rows, an index of open
//! operations instead of a walk. What is listed (`a`, `c`, `l`, `m`, `n`; `d` in no order) has a tag of its own and keeps its
//! order.

use chio_host_kernel::ledger::{CounterKey, NonceKey, RequestKey};
use chio_host_kernel::operation::OperationId;
use chio_host_kernel::reservation::RuntimeReservation;
use sha2::{Digest, Sha256};

/// Ids longer than this, in bytes, stand as their hash: index pages hold 256 keys and have to stay small.
const MAX_PLAIN: usize = 160;

/// How many bytes of a hash stand in an index key.
const INDEX_HASH: usize = 20;

pub(super) const IDENTITY: &[u8] = b"i";
pub(super) const POSITION: &[u8] = b"j";
pub(super) const HEAD: &[u8] = b"h";
pub(super) const NONCE_MARKS: &[u8] = b"w";
/// With what every key of [`hold`] begins.
pub(super) const ALL_HOLDS: [u8; 1] = [b'd'];
/// With what every key of [`account`] begins whose name is not too long to be listed.
pub(super) const ALL_ACCOUNTS: [u8; 2] = [ACCOUNT, PLAIN];
/// With what every key of [`nonce`] begins.
pub(super) const ALL_NONCES: [u8; 1] = [NONCE];
const NONCE: u8 = b'n';
const OPEN: u8 = b'a';
const COUNTER: u8 = b'c';
const ACCOUNT: u8 = b'm';
/// Follows the tag of a [`point`] whose steps stand as they are.
const PLAIN: u8 = b'.';

/// Finds the number of an operation.
pub(super) fn operation_number(id: &OperationId) -> Vec<u8> {
    index(b'o', &[id.as_str()])
}

pub(super) fn operation(number: u64) -> Vec<u8> {
    numbered(b'O', number)
}

pub(super) fn open(operation: u64) -> Vec<u8> {
    numbered(OPEN, operation)
}

/// With what every key of [`open`] begins.
pub(super) const ALL_OPEN: [u8; 1] = [OPEN];

/// The operation's number in a key of [`open`].
pub(super) fn open_number(key: &[u8]) -> Option<u64> {
    key.get(1..)?.try_into().ok().map(u64::from_be_bytes)
}

pub(super) fn draft(operation: u64) -> Vec<u8> {
    numbered(b'k', operation)
}

pub(super) fn output(operation: u64) -> Vec<u8> {
    numbered(b'u', operation)
}

pub(super) fn approval(operation: u64) -> Vec<u8> {
    numbered(b'q', operation)
}

/// Finds the number of a request.
pub(super) fn request_number(key: &RequestKey) -> Vec<u8> {
    index(b'r', &[&key.subject, key.namespace.as_str(), key.request_id.as_str()])
}

pub(super) fn request(number: u64) -> Vec<u8> {
    numbered(b'R', number)
}

/// Finds where a receipt stands in the log.
pub(super) fn receipt_seq(id: &str) -> Vec<u8> {
    index(b't', &[id])
}

pub(super) fn receipt(seq: u64) -> Vec<u8> {
    numbered(b'T', seq)
}

pub(super) fn replay(seq: u64) -> Vec<u8> {
    numbered(b'p', seq)
}

pub(super) fn log(seq: u64) -> Vec<u8> {
    numbered(b'l', seq)
}

pub(super) fn hold(id: &str) -> Vec<u8> {
    point(b'd', &[id])
}

/// Accounts are listed: a policy's names, of at most 64 bytes, stand as they are.
pub(super) fn account(name: &str) -> Vec<u8> {
    point(ACCOUNT, &[name])
}

/// The name in a key of [`account`].
pub(super) fn account_name(key: &[u8]) -> Option<String> {
    String::from_utf8(key.strip_prefix(&ALL_ACCOUNTS)?.to_vec()).ok()
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

pub(super) fn counter(key: &CounterKey) -> Vec<u8> {
    [&[COUNTER], key.as_str().as_bytes()].concat()
}

pub(super) fn lease(parent: &CounterKey, child: &CounterKey) -> Vec<u8> {
    point(b'e', &[parent.as_str(), child.as_str()])
}

/// The counter key in a key of [`counter`].
pub(super) fn counter_key(key: &[u8]) -> Option<CounterKey> {
    let text = String::from_utf8(key.get(1..)?.to_vec()).ok()?;
    Some(CounterKey::from_stored(text))
}

pub(super) fn revocation(capability_id: &str) -> Vec<u8> {
    point(b'v', &[capability_id])
}

/// The tag and the number of a key that every call has one of, and whose value is a record.
pub(super) fn every_call(key: &[u8]) -> Option<(u8, u64)> {
    let (&tag, number) = key.split_first()?;
    let number = number.try_into().ok().map(u64::from_be_bytes)?;
    matches!(tag, b'O' | b'R' | b'T' | b'p' | b'l').then_some((tag, number))
}

fn numbered(tag: u8, number: u64) -> Vec<u8> {
    [&[tag], &number.to_be_bytes()[..]].concat()
}

/// A key that is looked up, and listed at most by its tag.
fn point(tag: u8, steps: &[&str]) -> Vec<u8> {
    let mut plain = vec![tag, PLAIN];
    plain.extend(joined(steps));
    if plain.len() <= MAX_PLAIN {
        return plain;
    }
    let mut hashed = vec![tag, b'#'];
    hashed.extend_from_slice(&Sha256::digest(&plain));
    hashed
}

/// A key that is looked up, is never listed, and is so short that sled keeps it in place: it has 22 bytes for that. It
/// takes 2^80 tries to find two ids of one's own that share one, and 2^160 to meet another's.
fn index(tag: u8, steps: &[&str]) -> Vec<u8> {
    let mut key = Sha256::digest(joined(steps)).to_vec();
    key.truncate(INDEX_HASH);
    key.insert(0, tag);
    key
}

/// No two lists of steps are joined to the same: each but the last is preceded by its length.
fn joined(steps: &[&str]) -> Vec<u8> {
    let mut joined = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        if i + 1 < steps.len() {
            joined.extend_from_slice(&(step.len() as u64).to_be_bytes()[4..]);
        }
        joined.extend_from_slice(step.as_bytes());
    }
    joined
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_rows_share_a_key() {
        let long = "x".repeat(1000);
        let keys = [
            point(b's', &["a", "b", "c"]),
            point(b's', &["ab", "", "c"]),
            point(b's', &["a", "", "bc"]),
            point(b's', &["a\0b", "c"]),
            point(b's', &[&long, "a", "b"]),
            point(b's', &[&long, "ab", ""]),
            point(b'd', &[&long]),
            index(b'r', &["a", "b", "c"]),
            index(b'r', &["ab", "", "c"]),
            index(b'r', &["a", "", "bc"]),
            index(b't', &[&long]),
            receipt(0),
            replay(0),
            log(0),
            log(1),
        ];
        assert!(keys.iter().all(|k| k.len() <= MAX_PLAIN));
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    }
}
