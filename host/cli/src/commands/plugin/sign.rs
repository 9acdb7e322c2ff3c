//! `plugin sign`: somebody vouches for a component and all that stands beside it.

use std::path::Path;

use chio_host_kernel::canonical::sha256_hex;
use chio_host_policy::{Beside, Parts};
use chio_host_runtime::check_imports;
use serde_json::json;

use super::read_loose;
use crate::Outcome;
use crate::args::{Common, SignArgs};
use crate::component::{inspected, kind, manifest, role, write};
use crate::error::CliError;
use crate::folders::Folders;
use crate::people::Person;
use crate::print;

pub(super) fn run(common: &Common, args: &SignArgs) -> Result<Outcome, CliError> {
    let folders = Folders::of(common)?;
    let signer = Person::Signer.key(&folders, args.signer_name.as_deref(), args.key.as_deref())?;
    let parts = read_loose(&args.component, "sign")?;
    check(&parts)?;
    let manifest = parts.file(Beside::Manifest);
    let signature = chio_host_policy::sign(&parts, &signer).ok_or_else(|| {
        CliError::path(&manifest, "there is no manifest; what a component asks for is signed with it")
    })?;
    let file = parts.file(Beside::Signature);
    write(Path::new(&file), &signature.to_bytes())?;
    let mut fields = vec![
        ("component", json!(parts.name)),
        ("digest", json!(parts.digest)),
        ("manifest", json!(manifest)),
        ("signer", json!(signature.body.signer)),
        ("signature", json!(file)),
    ];
    if let Some(fixtures) = &parts.fixtures {
        let (file, digest) = (parts.file(Beside::Fixtures), sha256_hex(fixtures));
        fields.insert(3, ("fixtures", json!(format!("{file} ({digest})"))));
    }
    print::fields(common.format, &fields)?;
    Ok(Outcome::Done)
}

/// Nobody vouches for what no host would load.
fn check(parts: &Parts) -> Result<(), CliError> {
    let seen = inspected(parts)?;
    let refused = |why: String| CliError::Plugin(format!("{}: {why}", parts.name));
    check_imports(&seen).map_err(|e| refused(e.to_string()))?;
    let Some(wanted) = role(&seen) else {
        return Err(refused("it is of none of the worlds of a plugin, so there is nothing to sign it as".to_owned()));
    };
    let file = parts.file(Beside::Manifest);
    let Some(manifest) = manifest(parts)? else {
        let kind = kind(wanted);
        let why = format!(
            "there is no manifest, and what a component asks for is signed with it; the shortest has two lines, \
             `name: NAME` and `kind: {kind}`"
        );
        return Err(CliError::path(file, why));
    };
    if manifest.role == wanted {
        return Ok(());
    }
    let (says, is) = (kind(manifest.role), kind(wanted));
    Err(CliError::path(file, format!("its kind is {says}, and the component's world that of a {is}")))
}
