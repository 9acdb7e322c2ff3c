//! Marks of nonces that were reserved or consumed. A mark outlives its nonce, and is never given up to make room.

use chio_host_kernel::ledger::{NonceKey, NonceMark, NonceMarks, NonceRefusal, Refused};
use chio_host_kernel::operation::OperationId;

use crate::rows::Rows;

/// How many expired marks go at once. Looking for them costs more than removing them.
const PRUNED_AT_ONCE: usize = 64;

/// Takes a nonce for an operation.
///
/// What has expired is judged by the later of the clock and the last mark that was pruned: a clock that steps back does not
/// revive a nonce whose mark is gone.
pub(crate) fn reserve<R: Rows>(rows: &mut R, key: &NonceKey, by: &OperationId, now: u64) -> Result<(), R::Error> {
    if rows.nonce(key)?.is_some() {
        return Err(refused(key, NonceRefusal::Used).into());
    }
    let mut marks = rows.nonce_marks()?;
    if key.expires_at <= now || key.expires_at <= marks.pruned_to {
        return Err(refused(key, NonceRefusal::Expired).into());
    }
    if marks.oldest <= now {
        prune(rows, &mut marks, now)?;
    }
    if marks.live >= rows.nonce_limit() {
        return Err(refused(key, NonceRefusal::Full).into());
    }
    marks.oldest = if marks.live == 0 { key.expires_at } else { marks.oldest.min(key.expires_at) };
    marks.live += 1;
    rows.put_nonce_marks(marks)?;
    rows.insert_nonce(key, &NonceMark { operation: by.clone(), consumed: false })
}

fn prune<R: Rows>(rows: &mut R, marks: &mut NonceMarks, now: u64) -> Result<(), R::Error> {
    let first = rows.first_nonces(PRUNED_AT_ONCE + 1)?;
    marks.oldest = first.last().map_or(0, |key| key.expires_at);
    for key in first.iter().take(PRUNED_AT_ONCE) {
        if key.expires_at > now {
            marks.oldest = key.expires_at;
            break;
        }
        rows.remove_nonce(key)?;
        marks.live = marks.live.saturating_sub(1);
        marks.pruned_to = marks.pruned_to.max(key.expires_at);
    }
    Ok(())
}

/// Consumes a nonce that the operation reserved.
pub(crate) fn consume<R: Rows>(rows: &mut R, key: &NonceKey, by: &OperationId) -> Result<(), R::Error> {
    owned(rows, key, by)?;
    rows.put_nonce(key, &NonceMark { operation: by.clone(), consumed: true })
}

/// Gives a nonce back that the operation reserved and did not consume.
pub(crate) fn roll_back<R: Rows>(rows: &mut R, key: &NonceKey, by: &OperationId) -> Result<(), R::Error> {
    let mut marks = rows.nonce_marks()?;
    if rows.nonce(key)?.is_none() && key.expires_at <= marks.pruned_to {
        // Expired meanwhile, and its mark with it: nothing is left to give back, and nobody can take it.
        return Ok(());
    }
    owned(rows, key, by)?;
    marks.live = marks.live.saturating_sub(1);
    rows.put_nonce_marks(marks)?;
    rows.remove_nonce(key)
}

fn owned<R: Rows>(rows: &R, key: &NonceKey, by: &OperationId) -> Result<(), R::Error> {
    match rows.nonce(key)? {
        Some(mark) if mark.operation != *by => Err(refused(key, NonceRefusal::NotOwner).into()),
        Some(mark) if mark.consumed => Err(refused(key, NonceRefusal::Used).into()),
        Some(_) => Ok(()),
        None => Err(refused(key, NonceRefusal::NotOwner).into()),
    }
}

fn refused(key: &NonceKey, why: NonceRefusal) -> Refused {
    Refused::Nonce { id: key.id.clone(), why }
}
