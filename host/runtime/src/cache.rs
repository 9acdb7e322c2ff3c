//! Compiled code on disk.
//!
//! Compiled code is loaded unchecked: who can write an entry, runs what he likes in the host. So the folder is private
//! (owner and mode are checked), each entry carries a MAC over its name and its bytes under a key that lives elsewhere, an
//! entry is read once, and the bytes that were checked are the bytes that are loaded. A foreign, damaged or outdated
//! entry is a miss, never an error.

use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use chio_host_kernel::canonical::{self, sha256_hex};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use wasmtime::Engine;
use zeroize::Zeroizing;

use crate::limits::Limits;

const DOMAIN: &[u8] = b"chio.compiled.v1\0";
const MAC_BYTES: usize = 32;
/// The largest entry that is read, in bytes.
const MAX_ENTRY: u64 = 1 << 30;
/// The most entries that are kept; the oldest go first.
const MAX_ENTRIES: usize = 256;

/// Why a folder is not used as a cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// It cannot be made or looked at.
    #[error("the cache folder {path} cannot be used: {error}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Something else than a folder stands there.
    #[error("the cache {0} is not a folder")]
    NotAFolder(PathBuf),
    /// Somebody else's folder.
    #[error(
        "the cache folder {path} belongs to the user {owner}, and the host runs as {us}; compiled code in it is not trusted"
    )]
    Owner {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The host's user.
        us: u32,
    },
    /// A folder that others can open.
    #[error("the cache folder {path} is open to others (mode {mode:o}); `chmod 700` makes it private")]
    Mode {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
}

/// A private folder of compiled components.
pub struct CompiledCache {
    folder: PathBuf,
    key: Zeroizing<[u8; 32]>,
}

impl std::fmt::Debug for CompiledCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompiledCache").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl CompiledCache {
    /// Opens the folder, or makes it. `key` authenticates its entries, and must not live in it.
    ///
    /// # Errors
    /// A folder that is not ours alone.
    pub fn open(folder: &Path, key: [u8; 32]) -> Result<Self, CacheError> {
        let io = |error| CacheError::Io { path: folder.to_owned(), error };
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(io)?;
        }
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(io(e)),
            _ => {}
        }
        let found = fs::symlink_metadata(folder).map_err(io)?;
        let (owner, us, mode) = (found.uid(), rustix::process::geteuid().as_raw(), found.mode() & 0o7777);
        if !found.is_dir() {
            return Err(CacheError::NotAFolder(folder.to_owned()));
        }
        if owner != us {
            return Err(CacheError::Owner { path: folder.to_owned(), owner, us });
        }
        if mode & 0o077 != 0 {
            return Err(CacheError::Mode { path: folder.to_owned(), mode });
        }
        Ok(Self { folder: folder.to_owned(), key: Zeroizing::new(key) })
    }

    /// The compiled code of a component, as an engine like this one wrote it.
    pub(crate) fn get(&self, entry: &EntryName) -> Option<Vec<u8>> {
        let bytes = self.read(entry).inspect_err(|e| {
            if e.kind() != io::ErrorKind::NotFound {
                tracing::warn!(entry = entry.0, error = %e, "cannot read compiled code; compiling again");
            }
        });
        let mut bytes = bytes.ok()?;
        let code = bytes.split_off(bytes.len().min(MAC_BYTES));
        let genuine = self.mac(entry, &code).verify_slice(&bytes).is_ok();
        if !genuine {
            tracing::warn!(entry = entry.0, "compiled code is damaged or not ours; compiling again");
        }
        genuine.then_some(code)
    }

    /// Keeps compiled code. A failure is logged: the host runs without a cache, more slowly.
    pub(crate) fn put(&self, entry: &EntryName, code: &[u8]) {
        if let Err(error) = self.write(entry, code).and_then(|()| self.prune()) {
            tracing::warn!(entry = entry.0, %error, "compiled code is not cached");
        }
    }

    fn read(&self, entry: &EntryName) -> io::Result<Vec<u8>> {
        let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).map_err(io::Error::other)?;
        let file = OpenOptions::new().read(true).custom_flags(no_follow).open(self.folder.join(&entry.0))?;
        let mut bytes = Vec::new();
        file.take(MAX_ENTRY).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, entry: &EntryName, code: &[u8]) -> io::Result<()> {
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(&self.mac(entry, code).finalize().into_bytes())?;
        file.write_all(code)?;
        file.persist(self.folder.join(&entry.0))?;
        Ok(())
    }

    /// The name is under the MAC too, so that one component's code never stands in for another's.
    fn mac(&self, entry: &EntryName, code: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&*self.key).expect("HMAC takes keys of every length");
        mac.update(DOMAIN);
        mac.update(entry.0.as_bytes());
        mac.update(&[0]);
        mac.update(code);
        mac
    }

    /// Drops the oldest entries beyond [`MAX_ENTRIES`]: those of engines that are gone are never asked for again.
    fn prune(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            entries.push((entry.metadata()?.modified()?, entry.path()));
        }
        entries.sort();
        let surplus = entries.len().saturating_sub(MAX_ENTRIES);
        entries.into_iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
    }
}

/// What an entry is called: the component's digest, and the hash of all that decides how this engine compiles it.
#[derive(Clone, Debug)]
pub(crate) struct EntryName(String);

impl EntryName {
    pub(crate) fn new(digest: &str, engine: &Engine) -> Self {
        let mut hasher = Sha256Hasher(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self(format!("{digest}-{}.cwasm", hex::encode(hasher.0.finalize())))
    }
}

impl EntryName {
    /// The same component as its `init` left it: told this configuration, under these limits, within which it may not have
    /// come to its end.
    pub(crate) fn initialised(digest: &str, config: &str, limits: &Limits, engine: &Engine) -> Self {
        let told = serde_json::json!({ "config": sha256_hex(config.as_bytes()), "limits": limits });
        let told = sha256_hex(canonical::to_string(&told).as_bytes());
        Self(format!("{told}-{}", Self::new(digest, engine)))
    }
}

impl std::fmt::Display for EntryName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// SHA-256 behind `std`'s trait: the default hasher has 64 bits, and they may differ between two builds.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest: [u8; 32] = self.0.clone().finalize().into();
        digest.into_iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(byte))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn entry(name: &str) -> EntryName {
        EntryName(name.to_owned())
    }

    #[test]
    fn what_was_kept_is_found_under_its_own_name_and_key_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("state/cache");
        let cache = CompiledCache::open(&folder, [1; 32]).unwrap();
        assert!(cache.get(&entry("a")).is_none());
        cache.put(&entry("a"), b"code");
        assert_eq!(cache.get(&entry("a")).as_deref(), Some(&b"code"[..]));
        fs::copy(folder.join("a"), folder.join("b")).unwrap();
        assert!(cache.get(&entry("b")).is_none(), "the code of another component");
        assert!(CompiledCache::open(&folder, [2; 32]).unwrap().get(&entry("a")).is_none(), "another key");
    }

    #[test]
    fn a_damaged_or_short_entry_is_a_miss() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("cache");
        let cache = CompiledCache::open(&folder, [1; 32]).unwrap();
        cache.put(&entry("a"), b"code");
        let whole = fs::read(folder.join("a")).unwrap();
        for i in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[i] ^= 1;
            fs::write(folder.join("a"), damaged).unwrap();
            assert!(cache.get(&entry("a")).is_none(), "byte {i}");
            fs::write(folder.join("a"), &whole[..i]).unwrap();
            assert!(cache.get(&entry("a")).is_none(), "cut at {i}");
        }
        fs::remove_file(folder.join("a")).unwrap();
        fs::write(home.path().join("elsewhere"), &whole).unwrap();
        symlink(home.path().join("elsewhere"), folder.join("a")).unwrap();
        assert!(cache.get(&entry("a")).is_none(), "a link");
    }

    #[test]
    fn a_folder_that_others_can_open_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("cache");
        CompiledCache::open(&folder, [1; 32]).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).unwrap();
        let error = CompiledCache::open(&folder, [1; 32]).unwrap_err();
        assert!(error.to_string().contains("chmod 700"), "{error}");
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(CompiledCache::open(&file, [1; 32]), Err(CacheError::NotAFolder(_))));
        let link = home.path().join("link");
        symlink(&folder, &link).unwrap();
        assert!(matches!(CompiledCache::open(&link, [1; 32]), Err(CacheError::NotAFolder(_))));
    }

    #[test]
    fn the_oldest_entries_go_first() {
        let home = tempfile::tempdir().unwrap();
        let cache = CompiledCache::open(&home.path().join("cache"), [1; 32]).unwrap();
        for i in 0..MAX_ENTRIES + 3 {
            cache.put(&entry(&i.to_string()), b"code");
        }
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), MAX_ENTRIES);
        assert!(cache.get(&entry(&(MAX_ENTRIES + 2).to_string())).is_some());
    }
}
