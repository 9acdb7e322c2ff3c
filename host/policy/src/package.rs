//! A package: a plugin's files in one, `NAME.chio`. An uncompressed tar archive (POSIX ustar), so that `tar` lists and unpacks
//! it, with these entries in this order: `manifest.yaml`, `signature.json`, `fixtures.yaml` if there are any,
//! `component.wasm`.
//!
//! **Invariant:** a package has one spelling. What is read is written again, and has to come out byte by byte: an archive in
//! which two readers could see two plugins is refused, whatever the trick. Nothing is ever unpacked to the disk.

use std::io::Read;

use chio_host_kernel::canonical::{printable, sha256_hex};

use crate::files::MAX_COMPONENT_BYTES;
use crate::parts::{Beside, Parts};
use crate::policy::Origin;

/// The component's name in a package.
const COMPONENT: &str = "component.wasm";
/// What headers, padding and the archive's end take at the most: a block of 512 bytes for each header, less than that for
/// each padding, two for the end.
const MAX_FRAME: usize = 16 * 512;
/// When everything in a package was last changed, in seconds since 1970: the first moment of 1980, the oldest that every tool
/// can show.
const MTIME: u64 = 315_532_800;

/// Why a package is none.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// Bytes that are no archive.
    #[error("it is no tar archive: {0}")]
    Unreadable(String),
    /// A link, a folder, or anything else that is no file.
    #[error("its entry \"{0}\" is no plain file")]
    NoFile(String),
    /// A file that has no place in it.
    #[error(
        "it holds \"{0}\"; manifest.yaml, signature.json, fixtures.yaml and component.wasm are all that a package may hold"
    )]
    Unknown(String),
    /// The same name again.
    #[error("it holds {0} twice")]
    Twice(&'static str),
    /// Longer than it may be.
    #[error("its {file} is longer than {max} bytes")]
    TooLong {
        /// Which.
        file: &'static str,
        /// What it may be.
        max: usize,
    },
    /// The archive ends before an entry does.
    #[error("it ends in the middle of {0}")]
    Short(&'static str),
    /// Something that every package has is not there.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// Something stands behind the archive's end.
    #[error("{0} bytes stand behind its end")]
    Behind(usize),
    /// The same content in another spelling.
    #[error("it is not written as `plugin pack` writes it, byte by byte")]
    Spelling,
}

/// The longest package whose component is this long.
pub(crate) fn max_bytes(max_component: usize) -> usize {
    Beside::ALL.iter().map(|part| part.max()).sum::<usize>() + max_component.min(MAX_COMPONENT_BYTES) + MAX_FRAME
}

/// Packs a plugin's files: the same files give the same bytes.
///
/// # Errors
/// Without a manifest or a signature.
pub fn pack(parts: &Parts) -> Result<Vec<u8>, PackageError> {
    let mut archive = tar::Builder::new(Vec::new());
    for what in Beside::ALL {
        match parts.beside(what) {
            Some(bytes) => append(&mut archive, what.file(), bytes)?,
            None if what == Beside::Fixtures => {}
            None => return Err(PackageError::Missing(what.file())),
        }
    }
    append(&mut archive, COMPONENT, &parts.component)?;
    archive.into_inner().map_err(|e| unreadable(&e))
}

fn append(archive: &mut tar::Builder<Vec<u8>>, name: &str, bytes: &[u8]) -> Result<(), PackageError> {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_path(name).map_err(|e| unreadable(&e))?;
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(MTIME);
    header.set_size(bytes.len() as u64);
    header.set_cksum();
    archive.append(&header, bytes).map_err(|e| unreadable(&e))
}

/// Reads a package. Its name and its origin are for the caller to fill in.
///
/// # Errors
/// Anything that [`pack`] would not have written.
pub(crate) fn read(bytes: &[u8], max_component: usize) -> Result<Parts, PackageError> {
    let mut found = Found::default();
    // Raw: an extension that renames or resizes the entry behind it is an entry like any other, and no plain file.
    for entry in tar::Archive::new(bytes).entries().map_err(|e| unreadable(&e))?.raw(true) {
        found.take(entry.map_err(|e| unreadable(&e))?, max_component)?;
    }
    let component = found.component.ok_or(PackageError::Missing(COMPONENT))?;
    let parts = Parts {
        name: String::new(),
        origin: Origin::File(std::path::PathBuf::new()),
        digest: sha256_hex(&component),
        component: component.into(),
        manifest: found.manifest,
        signature: found.signature,
        fixtures: found.fixtures,
    };
    let written = pack(&parts)?;
    if written == bytes {
        return Ok(parts);
    }
    Err(match bytes.strip_prefix(written.as_slice()) {
        Some(behind) => PackageError::Behind(behind.len()),
        None => PackageError::Spelling,
    })
}

/// What was found so far.
#[derive(Default)]
struct Found {
    component: Option<Vec<u8>>,
    manifest: Option<Vec<u8>>,
    signature: Option<Vec<u8>>,
    fixtures: Option<Vec<u8>>,
}

impl Found {
    fn take(&mut self, entry: tar::Entry<'_, &[u8]>, max_component: usize) -> Result<(), PackageError> {
        let name = entry.header().path_bytes();
        let shown = || printable(&String::from_utf8_lossy(&name), 100);
        if !entry.header().entry_type().is_file() {
            return Err(PackageError::NoFile(shown()));
        }
        let (file, place, max) = match Beside::ALL.into_iter().find(|part| part.file().as_bytes() == &*name) {
            Some(Beside::Manifest) => (Beside::Manifest.file(), &mut self.manifest, Beside::Manifest.max()),
            Some(Beside::Signature) => (Beside::Signature.file(), &mut self.signature, Beside::Signature.max()),
            Some(Beside::Fixtures) => (Beside::Fixtures.file(), &mut self.fixtures, Beside::Fixtures.max()),
            None if &*name == COMPONENT.as_bytes() => (COMPONENT, &mut self.component, max_component),
            None => return Err(PackageError::Unknown(shown())),
        };
        if place.is_some() {
            return Err(PackageError::Twice(file));
        }
        let size = entry.header().entry_size().map_err(|e| unreadable(&e))?;
        if size > max as u64 {
            return Err(PackageError::TooLong { file, max });
        }
        let mut bytes = Vec::new();
        entry.take(size).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
        if bytes.len() as u64 != size {
            return Err(PackageError::Short(file));
        }
        *place = Some(bytes);
        Ok(())
    }
}

fn unreadable(error: &std::io::Error) -> PackageError {
    PackageError::Unreadable(printable(&error.to_string(), 200))
}

#[cfg(test)]
mod tests {
    use chio_host_kernel::keys::Keypair;

    use super::*;
    use crate::signature::{sign, verify};

    fn package() -> Vec<u8> {
        let mut parts = Parts {
            name: String::new(),
            origin: Origin::File(std::path::PathBuf::new()),
            component: b"component".as_slice().into(),
            digest: sha256_hex(b"component"),
            manifest: Some(b"name: x\nkind: guard\n".to_vec()),
            signature: None,
            fixtures: Some(b"- x\n".to_vec()),
        };
        parts.signature = sign(&parts, &Keypair::from_seed(&[7; 32].into())).map(|signature| signature.to_bytes());
        pack(&parts).unwrap()
    }

    /// Whatever byte changes, it is no package, or what it holds is not what was signed.
    #[test]
    fn no_byte_can_change_and_it_cannot_be_cut() {
        let good = package();
        verify(&read(&good, 100).unwrap()).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            let read = read(&bad, 100);
            assert!(read.is_err() || verify(&read.unwrap()).is_err(), "byte {at}");
        }
        for length in 0..good.len() {
            assert!(read(&good[..length], 100).is_err(), "{length} bytes");
        }
    }
}
