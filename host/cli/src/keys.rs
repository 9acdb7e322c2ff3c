//! Key files: one seed each, in hex, readable by their owner only. Made on first use.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use chio_host_kernel::canonical::printable;
use chio_host_kernel::keys::{Keypair, PublicKey};
use zeroize::Zeroizing;

use crate::error::CliError;
use crate::folders::{check_private, make_private};

/// The keys of a host.
pub(crate) struct Keys {
    /// Signs receipts, and issues the policy's default capabilities.
    pub(crate) kernel: Keypair,
    /// The subject of the policy's default capabilities: the local agent.
    pub(crate) agent: Keypair,
    /// Seals compiled code.
    pub(crate) cache: Zeroizing<[u8; 32]>,
}

impl Keys {
    /// Reads the keys of a folder, making those that are not there yet.
    pub(crate) fn open(dir: &Path) -> Result<Self, CliError> {
        make_private(dir)?;
        let seed = |name: &str| read_or_make(&dir.join(name));
        Ok(Self {
            kernel: Keypair::from_seed(&seed("kernel.key")?),
            agent: Keypair::from_seed(&seed("agent.key")?),
            cache: seed("cache.key")?,
        })
    }

    /// The key that seals compiled code, made if it is not there yet.
    pub(crate) fn cache(dir: &Path) -> Result<Zeroizing<[u8; 32]>, CliError> {
        make_private(dir)?;
        read_or_make(&dir.join("cache.key"))
    }

    /// The key of a local agent, made if it is not there yet.
    pub(crate) fn agent(dir: &Path, name: &str) -> Result<Keypair, CliError> {
        check_name(name)?;
        make_private(dir)?;
        Ok(Keypair::from_seed(&read_or_make(&file(dir, name))?))
    }

    /// The public key of whoever is meant: a local agent by its name, or anybody by 64 hex digits.
    pub(crate) fn subject(dir: &Path, who: &str) -> Result<String, CliError> {
        if who.len() == 64 {
            let key = PublicKey::from_hex(who).map_err(|e| CliError::Usage(format!("{}: {e}", printable(who, 64))))?;
            return Ok(key.hex().to_owned());
        }
        Ok(Self::agent(dir, who)?.public().hex().to_owned())
    }

    /// The name of the local key whose public half this is, if it is one's.
    pub(crate) fn name_of(dir: &Path, public: &str) -> Result<Option<String>, CliError> {
        for entry in fs::read_dir(dir).map_err(|e| CliError::path(dir, e))? {
            let path = entry.map_err(|e| CliError::path(dir, e))?.path();
            let is_key = path.extension().is_some_and(|extension| extension == "key");
            if is_key && existing_pair_of(&path)?.public().hex() == public {
                return Ok(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
            }
        }
        Ok(None)
    }

    /// The public key that this host's receipts are signed with, where it has one already.
    pub(crate) fn kernel_key(dir: &Path) -> Result<Option<String>, CliError> {
        let path = dir.join("kernel.key");
        let exists = path.try_exists().map_err(|e| CliError::path(&path, e))?;
        Ok(if exists { Some(Keypair::from_seed(&read(&path)?).public().hex().to_owned()) } else { None })
    }
}

/// The host's own, which no agent may have.
const RESERVED: [&str; 2] = ["kernel", "cache"];

/// A name as a policy's are, and not the host's own, on a file system that knows no letter case either.
pub(crate) fn check_name(name: &str) -> Result<(), CliError> {
    let is_usable = (1..64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        && !RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name));
    if is_usable {
        return Ok(());
    }
    let (shown, reserved) = (printable(name, 64), RESERVED.join(" and "));
    Err(CliError::Usage(format!(
        "\"{shown}\" is no usable name for a key; 1 to 63 of A-Z, a-z, 0-9, _ and - are, save {reserved}"
    )))
}

/// Where a key of this name is kept.
pub(crate) fn file(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.key"))
}

/// The key of a file, made if it is not there yet.
pub(crate) fn pair_of(path: &Path) -> Result<Keypair, CliError> {
    Ok(Keypair::from_seed(&read_or_make(path)?))
}

/// The key of a file that has to be there.
pub(crate) fn existing_pair_of(path: &Path) -> Result<Keypair, CliError> {
    Ok(Keypair::from_seed(&read(path)?))
}

fn read_or_make(path: &Path) -> Result<Zeroizing<[u8; 32]>, CliError> {
    if !path.try_exists().map_err(|e| CliError::path(path, e))? {
        make(path)?;
    }
    read(path)
}

fn read(path: &Path) -> Result<Zeroizing<[u8; 32]>, CliError> {
    check_private(path)?;
    let text = Zeroizing::new(fs::read_to_string(path).map_err(|e| CliError::path(path, e))?);
    let mut seed = Zeroizing::new([0; 32]);
    hex::decode_to_slice(text.trim_end(), seed.as_mut())
        .map_err(|_| CliError::path(path, "this is no key file: 64 hex digits are expected"))?;
    Ok(seed)
}

/// Writes the whole file under another name and links it to its own, so that of two who make it at once both read the
/// same key, and nobody reads half of one.
fn make(path: &Path) -> Result<(), CliError> {
    let failed = |e: std::io::Error| CliError::path(path, e);
    let mut seed = Zeroizing::new([0_u8; 32]);
    getrandom::fill(seed.as_mut()).map_err(|e| CliError::System(format!("no randomness for a key: {e}")))?;
    let text = Zeroizing::new(hex::encode(*seed) + "\n");
    let unfinished = path.with_extension(format!("{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&unfinished).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let linked = written.and_then(|()| match fs::hard_link(&unfinished, path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    });
    // It holds a key: it goes, whatever happened.
    let removed = fs::remove_file(&unfinished);
    linked.and(removed).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_made_once_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("keys");
        let first = Keys::open(&dir).unwrap();
        let again = Keys::open(&dir).unwrap();
        assert_eq!(first.kernel.public(), again.kernel.public());
        assert_ne!(first.kernel.public(), first.agent.public());
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 3);
    }

    #[test]
    fn of_many_who_make_it_at_once_all_read_one_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("k");
        make(&path).unwrap();
        let before = read(&path).unwrap();
        make(&path).unwrap();
        assert_eq!(before, read(&path).unwrap());
    }

    #[test]
    fn an_agents_key_has_its_name_and_the_hosts_own_are_nobody_elses() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("keys");
        let worker = Keys::agent(&dir, "worker").unwrap();
        assert_eq!(Keys::subject(&dir, "worker").unwrap(), worker.public().hex());
        assert_eq!(Keys::subject(&dir, worker.public().hex()).unwrap(), worker.public().hex());
        assert!(Keys::subject(&dir, &"0".repeat(64)).is_err(), "a weak key");
        for bad in ["kernel", "Kernel", "cache", "", "a/b", "..", "a.b", &"x".repeat(65)] {
            let error = Keys::agent(&dir, bad).err().unwrap().to_string();
            assert!(error.contains("no usable name"), "{error}");
        }
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("keys");
        Keys::open(&dir).unwrap();
        let path = dir.join("kernel.key");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = Keys::open(&dir).err().unwrap().to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_file_that_is_no_key_is_named_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("keys");
        Keys::open(&dir).unwrap();
        fs::write(dir.join("agent.key"), "half a ke").unwrap();
        let error = Keys::open(&dir).err().unwrap().to_string();
        assert!(error.contains("agent.key") && error.contains("64 hex digits"), "{error}");
        assert_eq!(fs::read_to_string(dir.join("agent.key")).unwrap(), "half a ke");
    }
}
