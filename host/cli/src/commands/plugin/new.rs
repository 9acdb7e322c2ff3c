//! `plugin new` and `plugin build`: a project, and its component.

use std::path::Path;

use serde_json::json;

use crate::Outcome;
use crate::args::{BuildArgs, Common, Format, NewArgs};
use crate::error::CliError;
use crate::print;
use crate::project::{self, Project, Wanted};

pub(super) fn new(common: &Common, args: &NewArgs) -> Result<Outcome, CliError> {
    let wanted = Wanted::new(&args.name, args.kind, args.lang)?;
    let dir = args.dir.as_deref().unwrap_or(Path::new(&args.name));
    let at = project::lay_out(&wanted, dir)?;
    match common.format {
        Format::Json => print::document(Format::Json, &json!({ "created": at }))?,
        Format::Human => print::text(&format!(
            "created {}\n\nNext steps:\n  cd {}\n  chio-host plugin build\n  chio-host plugin test\n",
            at.display(),
            dir.display()
        ))?,
    }
    Ok(Outcome::Done)
}

pub(super) fn build(common: &Common, args: &BuildArgs) -> Result<Outcome, CliError> {
    let project = Project::open(&args.dir)?;
    let built = project::build(&project)?;
    print::fields(
        common.format,
        &[
            ("component", json!(project.component())),
            ("world", json!(built.kind.as_str())),
            ("digest", json!(built.digest)),
            ("bytes", json!(built.size)),
        ],
    )?;
    Ok(Outcome::Done)
}
