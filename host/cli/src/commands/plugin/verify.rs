//! `plugin verify`: whether what is there is what was signed, and by whom.

use chio_host_kernel::keys::PublicKey;
use serde_json::{Value, json};

use super::{BUILTIN, read};
use crate::Outcome;
use crate::args::Format;
use crate::error::CliError;
use crate::print;

pub(super) fn run(format: Format, component: &str, signer: Option<&str>) -> Result<Outcome, CliError> {
    let wanted = signer
        .map(|key| PublicKey::from_hex(key).map_err(|e| CliError::Usage(format!("--signer: {e}"))))
        .transpose()?;
    if component.starts_with(BUILTIN) {
        return Err(CliError::Usage(format!("{component}: a built-in has no signature; it is the host's own binary")));
    }
    let parts = read(component)?;
    let (signer, problems) = match (chio_host_policy::verify(&parts), wanted) {
        (Ok(found), Some(wanted)) if found != wanted.hex() => {
            let problem = format!("wrong signer: {found} signed it, and not {}", wanted.hex());
            (Some(found), vec![problem])
        }
        (Ok(found), _) => (Some(found), Vec::new()),
        (Err(problems), _) => (None, problems.iter().map(ToString::to_string).collect()),
    };
    let outcome = if problems.is_empty() { Outcome::Done } else { Outcome::Failed };
    let mut fields = vec![("component", json!(parts.name)), ("digest", json!(parts.digest))];
    match format {
        Format::Json => {
            fields.push(("verified", json!(problems.is_empty())));
            fields.push(("signer", json!(signer)));
            fields.push(("problems", json!(problems)));
        }
        Format::Human => {
            fields.push(("verified", json!(if problems.is_empty() { "yes" } else { "NO" })));
            fields.extend(problems.iter().map(|problem| ("problem", Value::from(problem.as_str()))));
            fields.extend(signer.map(|signer| ("signer", json!(signer))));
        }
    }
    print::fields(format, &fields)?;
    Ok(outcome)
}
