//! Opening a ledger: created once, checked each time, and under a new lease epoch.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sled::{Batch, Db};
use uuid::Uuid;

use super::Options;
use super::contain::contain;
use super::data::Data;
use super::error::OpenError;
use super::flusher::Disk;
use super::folder::{self, Folder};
use super::head::Head;
use super::holder::{self, Lock};
use super::identity::{FORMAT, Identity};
use super::journal::{self, Position, Reader, Writer};
use super::keys;
use super::mark::{Mark, MarkFile};
use super::pending::Pending;
use super::rows;
use super::store::{Opened, Store};
use super::stored::Stored;
use super::values::Pairs as _;

/// sled's page cache, in bytes. It does not grow with the ledger.
const CACHE: u64 = 64 << 20;
/// How often to ask again for a data file that this process itself is about to let go of, and how long to wait between.
const LETTING_GO: (u32, Duration) = (200, Duration::from_millis(10));

/// Opens the ledger in `path`, or creates one. When it returns, the new lease epoch is on the disk.
pub(super) fn open(path: &Path, options: &Options) -> Result<Data, OpenError> {
    let folder = Folder::prepare(path)?;
    let lock = Lock::take(&folder)?;
    if folder.is_blank()? {
        create(&folder)?;
    }
    let mut mark_file = MarkFile::open(&folder.mark())?;
    let mark = mark_file.read(folder.path())?;
    let db = open_sled(&folder)?;
    let read =
        contain(|| read(&folder, db.clone(), &mark)).unwrap_or_else(|panic| Err(format!("sled panicked: {panic}")));
    let (opened, end) = match read {
        Ok(read) => read,
        Err(why) => {
            let_go(db);
            return Err(OpenError::damaged(folder.path(), why));
        }
    };
    drop(db);
    let epoch = opened.head.epoch + 1;
    let id = &mark.identity.id;
    let journal = Writer::open(&folder.journal(), id, end, options.segment_bytes)?;
    let store = Arc::new(Store::new(opened, lock, folder.store(), id.clone(), options.nonce_limit));
    store.take_epoch(epoch);
    let path = folder.db();
    let index = OpenOptions::new().read(true).write(true).open(&path).map_err(|e| OpenError::io(&path, e))?;
    let mut data = Data {
        store,
        journal,
        index: Arc::new(index),
        mark_file,
        mark: Mark { epoch, ..mark },
        failpoints: options.failpoints.clone(),
        checkpoint_rows: options.checkpoint_rows,
        checkpoint: None,
    };
    let synced = contain(|| {
        data.flush()?;
        data.sync()?;
        data.mark()
    });
    if let Err(why) = synced.and_then(|outcome| outcome) {
        let_go(data);
        return Err(OpenError::io(&path, std::io::Error::other(why)));
    }
    folder::sync_folder(&folder.store())?;
    Ok(data)
}

/// Drops what holds a database that failed. sled writes when it is dropped, and panics where that fails too; why it failed
/// is known already.
fn let_go(failed: impl Sized) {
    drop(contain(|| drop(failed)));
}

/// Creates a ledger. The marker comes first and goes last, so that whatever is interrupted begins anew.
fn create(folder: &Folder) -> Result<(), OpenError> {
    let (creating, store) = (folder.creating(), folder.store());
    folder::open_private(&creating)?;
    folder::sync_folder(folder.path())?;
    for part in [&store, &folder.journal()] {
        if part.exists() {
            fs::remove_dir_all(part).map_err(|e| OpenError::io(part, e))?;
        }
    }
    if folder.mark().exists() {
        fs::remove_file(folder.mark()).map_err(|e| OpenError::io(&folder.mark(), e))?;
    }
    let identity = Identity { format: FORMAT, id: Uuid::now_v7().to_string() };
    folder::create_private(&folder.journal()).map_err(|e| OpenError::io(&folder.journal(), e))?;
    Writer::create(&folder.journal(), &identity.id)?;
    let db = open_sled(folder)?;
    let failed = |why: String| OpenError::io(&store, std::io::Error::other(why));
    contain(|| write_identity(&db, &identity)).and_then(|outcome| outcome).map_err(failed)?;
    // sled syncs as it closes, but a panic of its there must not pass for success.
    contain(|| drop(db)).map_err(failed)?;
    for path in [folder.db(), folder.conf()] {
        let file = OpenOptions::new().write(true).open(&path).map_err(|e| OpenError::io(&path, e))?;
        file.sync_all().map_err(|e| OpenError::io(&path, e))?;
    }
    let mark = folder.mark();
    let mut file = MarkFile::open(&mark)?;
    file.write(&Mark { identity, epoch: 0, synced: 0 })
        .and_then(|()| file.sync())
        .map_err(|e| OpenError::io(&mark, e))?;
    folder::sync_folder(&store)?;
    folder::sync_folder(folder.path())?;
    fs::remove_file(&creating).map_err(|e| OpenError::io(&creating, e))?;
    folder::sync_folder(folder.path())?;
    folder.path().parent().map_or(Ok(()), folder::sync_folder)
}

fn write_identity(db: &Db, identity: &Identity) -> Result<(), String> {
    let bytes = serde_json::to_vec(identity).map_err(|e| e.to_string())?;
    let mut rows = Batch::default();
    for (key, value) in [
        (keys::IDENTITY, bytes),
        (keys::HEAD, Head::default().to_row()),
        (keys::POSITION, Position::beginning(&identity.id).to_row()),
    ] {
        rows.insert(key, Stored::Here(&value).to_row());
    }
    db.apply_batch(rows).and_then(|()| db.flush()).map(drop).map_err(|e| e.to_string())
}

/// Reads what the journal holds beyond sled, and checks that both are the mark's and hold at least what it says was synced.
fn read(folder: &Folder, db: Db, mark: &Mark) -> Result<(Opened, Position), String> {
    let (journal, pending) = (Reader::new(folder.journal()), Pending::default());
    let mut opened = Opened { db, journal, pending, head: Head::default() };
    let row = |key| opened.current().row(key).map_err(|halt| halt.to_string());
    let (Some(identity), Some(position)) = (row(keys::IDENTITY)?, row(keys::POSITION)?) else {
        return Err("what was written at its creation is gone: it was truncated or replaced".to_owned());
    };
    let identity: Identity = serde_json::from_slice(&identity).map_err(|e| format!("its identity: {e}"))?;
    if identity != mark.identity {
        return Err(format!("it is ledger {}, and the mark beside it is of ledger {}", identity.id, mark.identity.id));
    }
    let position = Position::from_row(&position).ok_or("it does not say how far it is")?;
    opened.head = Head::read(&opened.current()).map_err(|halt| halt.to_string())?;
    let end = journal::replay(&folder.journal(), &identity.id, position, |rows| {
        opened.pending.replay(rows);
        let head = Head::read(&opened.current()).map_err(|halt| halt.to_string())?;
        if head.applied <= opened.head.applied {
            return Err(format!("change {} follows change {} in the journal", head.applied, opened.head.applied));
        }
        opened.head = head;
        Ok(())
    })?;
    let head = opened.head;
    if head.epoch < mark.epoch || head.applied < mark.synced {
        let (synced, there) = (mark.synced, head.applied);
        return Err(format!("{synced} changes were on the disk, and {there} are left: it was truncated or replaced"));
    }
    if let Some(last) = head.log_length.checked_sub(1) {
        rows::read::<serde_json::Value>(&opened.current(), &keys::log(last))
            .map_err(|halt| halt.to_string())?
            .ok_or_else(|| format!("its log ends before entry {last}"))?;
    }
    Ok((opened, end))
}

/// Opens sled, whose own lock comes second: it finds whoever reaches the data file through a hard link.
fn open_sled(folder: &Folder) -> Result<Db, OpenError> {
    let store = folder.store();
    let config = sled::Config::new()
        .path(&store)
        .cache_capacity(CACHE)
        .mode(sled::Mode::LowSpace)
        .use_compression(false)
        .flush_every_ms(None);
    let (times, pause) = LETTING_GO;
    for _ in 0..times {
        match contain(|| config.open()) {
            Ok(Ok(db)) => return Ok(db),
            Ok(Err(sled::Error::Io(error))) if error.to_string().contains("could not acquire lock") => {
                // sled's own threads may hold on to a database for a moment after it is closed.
                if holder::owner(&folder.db()).is_some_and(|owner| owner != process::id()) {
                    return Err(holder::held(folder, &folder.db()));
                }
                pause_for(pause);
            }
            Ok(Err(sled::Error::Io(error))) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                return Err(OpenError::io(&store, error));
            }
            Ok(Err(error)) => return Err(OpenError::damaged(&store, error.to_string())),
            Err(panic) => return Err(OpenError::damaged(&store, format!("sled panicked: {panic}"))),
        }
    }
    Err(holder::held(folder, &folder.db()))
}

#[expect(clippy::disallowed_methods, reason = "sled tells nobody when its threads let go of a file")]
fn pause_for(pause: Duration) {
    thread::sleep(pause);
}
