//! `init`: a folder with a starter policy.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde_json::json;

use crate::Outcome;
use crate::args::{Common, Format, InitArgs};
use crate::error::CliError;
use crate::print;

/// The first seed's starter policy, as it stands there.
const STARTER: &str = include_str!("starter-policy.yaml");

pub(crate) fn run(common: &Common, args: &InitArgs) -> Result<Outcome, CliError> {
    let dir = &args.path;
    let name = dir.file_name().map(|n| n.to_string_lossy().into_owned()).filter(|n| is_usable(n)).ok_or_else(|| {
        CliError::path(dir, "the folder's name becomes the project's: use letters, digits, '.', '_' and '-'")
    })?;
    fs::create_dir_all(dir).map_err(|e| CliError::path(dir, e))?;
    let policy = dir.join("policy.yaml");
    if policy.exists() {
        return Err(CliError::path(policy, "it exists already, and was left as it is; choose another folder"));
    }
    create(&dir.join(".gitignore"), "/.chio\n").or_else(|e| if exists(&e) { Ok(()) } else { Err(failed(dir, &e)) })?;
    create(&policy, &STARTER.replace("{{PROJECT_NAME}}", &name)).map_err(|e| failed(&policy, &e))?;

    let at = dir.canonicalize().map_err(|e| CliError::path(dir, e))?;
    match common.format {
        Format::Json => print::document(Format::Json, &json!({ "created": at, "policy": at.join("policy.yaml") }))?,
        Format::Human => print::text(&format!(
            "created Chio scaffold at {}\n\nNext steps:\n  cd {}\n  chio-host check --policy policy.yaml --server hello \
             --tool hello_world --params '{{\"name\":\"Chio\"}}'\n  chio-host call --policy policy.yaml --server hello \
             --tool hello_world --params '{{\"name\":\"Chio\"}}'\n",
            at.display(),
            dir.display(),
        ))?,
    }
    Ok(Outcome::Done)
}

fn is_usable(name: &str) -> bool {
    name.len() <= 64 && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Writes a file that must not be there yet.
fn create(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

fn exists(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::AlreadyExists
}

fn failed(path: &Path, error: &std::io::Error) -> CliError {
    CliError::path(path, error)
}
