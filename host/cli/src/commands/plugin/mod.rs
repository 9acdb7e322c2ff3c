//! `plugin`: for those who write components.

mod bench;
mod inspect;
mod new;
mod test;

use std::path::Path;

use crate::Outcome;
use crate::args::{Common, PluginArgs, PluginCommand};
use crate::error::CliError;
use crate::fixtures::Subject;
use crate::project::Project;

/// The component that is named, else the one that the project here builds.
fn subject(component: Option<&str>) -> Result<Subject, CliError> {
    if let Some(component) = component {
        return Subject::read(component);
    }
    let built = Project::open(Path::new("."))?.component();
    if !built.exists() {
        return Err(CliError::path(&built, "it is not built yet; run `chio-host plugin build`"));
    }
    // A project's name is a manifest's, which a text can hold.
    Subject::read(&built.to_string_lossy())
}

pub(crate) fn run(common: &Common, args: PluginArgs) -> Result<Outcome, CliError> {
    match args.command {
        PluginCommand::Inspect { component } => inspect::run(common, &component),
        PluginCommand::New(args) => new::new(common, &args),
        PluginCommand::Build(args) => new::build(common, &args),
        PluginCommand::Test(args) => test::run(common, &args),
        PluginCommand::Bench(args) => bench::run(common, &args),
    }
}
