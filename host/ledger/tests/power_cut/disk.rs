//! The disk as syncs left it.

#![expect(unsafe_code, reason = "the C library's `fsync` and `fdatasync` are replaced, which is what the test is for")]

use std::collections::HashMap;
use std::fs;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

/// What each file held when its last sync began.
static IMAGES: Mutex<Option<HashMap<PathBuf, Vec<u8>>>> = Mutex::new(None);
static NO_DATA_SYNCS: AtomicBool = AtomicBool::new(false);

/// Begins to take images.
pub(crate) fn watch() {
    *images() = Some(HashMap::new());
}

/// From now on, a data sync does nothing and says that it is done.
pub(crate) fn leave_out_data_syncs() {
    NO_DATA_SYNCS.store(true, Ordering::SeqCst);
}

/// What is left of a folder.
pub(crate) fn restore(of: &Path, into: &Path) {
    let images = images().clone().unwrap_or_default();
    for (path, bytes) in images {
        let Ok(inside) = path.strip_prefix(of) else { continue };
        let path = into.join(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn images() -> MutexGuard<'static, Option<HashMap<PathBuf, Vec<u8>>>> {
    IMAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the image of a file whose sync begins. A folder has none: its files do.
fn image(fd: RawFd) {
    let mut images = images();
    let Some(images) = images.as_mut() else { return };
    let Ok(path) = fs::read_link(format!("/proc/self/fd/{fd}")) else { return };
    if let Ok(bytes) = fs::read(&path) {
        images.insert(path, bytes);
    }
}

fn answer(result: Result<(), Errno>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(_) => -1,
    }
}

/// As `fdatasync(2)`, save that `errno` stays as it was.
///
/// # Safety
/// `fd` is open, as everywhere.
#[unsafe(no_mangle)]
unsafe extern "C" fn fdatasync(fd: RawFd) -> i32 {
    if NO_DATA_SYNCS.load(Ordering::SeqCst) {
        return 0;
    }
    image(fd);
    // SAFETY: whoever syncs a file has it open for as long as that takes.
    answer(rustix::fs::fdatasync(unsafe { BorrowedFd::borrow_raw(fd) }))
}

/// As `fsync(2)`, save that `errno` stays as it was.
///
/// # Safety
/// `fd` is open, as everywhere.
#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(fd: RawFd) -> i32 {
    image(fd);
    // SAFETY: as above.
    answer(rustix::fs::fsync(unsafe { BorrowedFd::borrow_raw(fd) }))
}
