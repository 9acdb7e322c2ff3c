//! Loads a policy: reads it and every file it names, checks all of it, and hashes what comes out.

use std::path::{Path, PathBuf};

use crate::document::Document;
use crate::files;
use crate::policy::Policy;
use crate::problem::{Problems, Report};
use crate::protected::Protected;
use crate::resolve::{Host, resolve};
use crate::yaml::MAX_BYTES;

/// Loads the policy in a file. Paths in it are relative to the file's folder.
///
/// `policy_hash` covers what holds: the kernel's settings, every component that takes part by digest, its configuration
/// and its limits (the host's defaults merged in), permissions, prices, accounts, capabilities, and whose components may
/// take part. Comments, layout and the order of named entries other than guards and hooks do not change it. Neither does
/// where the project lies: a granted folder counts as the policy writes it, and a component as its bytes. A plugin with
/// `enabled: false` takes no part: its shape is checked, its file is not looked for, and it is not hashed.
///
/// # Errors
/// Everything that is wrong with the policy and with the manifests it leads to, in one list.
pub fn load(path: &Path, host: &Host<'_>) -> Result<Policy, Problems> {
    let report = Report::new(&path.display().to_string());
    (host.note)(path);
    let policy = open(path, &report).and_then(|(text, dir)| resolved(&text, &dir, host, Some(path), &report));
    report.finish(policy)
}

/// A policy's text, and the folder that its paths are relative to.
pub(crate) fn open(path: &Path, report: &Report) -> Option<(String, PathBuf)> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let read = files::read(path, MAX_BYTES).and_then(files::text).and_then(|text| {
        let dir = folder.canonicalize().map_err(|e| format!("its folder cannot be opened: {e}"))?;
        Ok((text, dir))
    });
    read.map_err(|why| report.whole(why)).ok()
}

/// Loads a policy that is no file of its own, such as one that the host embeds. Paths in it are relative to `dir`.
///
/// # Errors
/// See [`load()`].
pub fn load_str(text: &str, file_name: &str, dir: &Path, host: &Host<'_>) -> Result<Policy, Problems> {
    let report = Report::new(file_name);
    match dir.canonicalize() {
        Ok(dir) => {
            let policy = resolved(text, &dir, host, None, &report);
            report.finish(policy)
        }
        Err(error) => {
            report.whole(format!("its folder {} cannot be opened: {error}", dir.display()));
            report.finish(None)
        }
    }
}

fn resolved(text: &str, dir: &Path, host: &Host<'_>, policy_file: Option<&Path>, report: &Report) -> Option<Policy> {
    let document = Document::read(text, report)?;
    resolve(&document, *host, dir, protected(host, policy_file), report)
}

/// What the host protects, and the policy itself.
pub(crate) fn protected(host: &Host<'_>, policy_file: Option<&Path>) -> Protected {
    let mut protected = host.protected.clone();
    if let Some(file) = policy_file {
        protected.add("the policy file", file);
    }
    protected
}
