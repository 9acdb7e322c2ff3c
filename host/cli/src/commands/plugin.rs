//! `plugin`: what a component is, who vouches for it, and what it answers.

mod bench;
mod inspect;
mod new;
mod pack;
mod sign;
mod test;
mod verify;

use std::path::Path;

use chio_host_policy::{Parts, is_package};

use crate::Outcome;
use crate::args::{Common, PluginArgs, PluginCommand};
use crate::component::{BUILTIN, read};
use crate::error::CliError;
use crate::fixtures::Subject;
use crate::folders::Folders;
use crate::people::Person;
use crate::project::Project;

pub(crate) fn run(common: &Common, args: PluginArgs) -> Result<Outcome, CliError> {
    match args.command {
        PluginCommand::New(args) => new::new(common, &args),
        PluginCommand::Build(args) => new::build(common, &args),
        PluginCommand::Test(args) => test::run(common, &args),
        PluginCommand::Bench(args) => bench::run(common, &args),
        PluginCommand::Inspect { component, policy } => inspect::run(common, &component, policy.as_deref()),
        PluginCommand::Key { name, key } => {
            let folders = Folders::of(common)?;
            Person::Signer.make(common.format, &folders, name.as_deref(), key.as_deref())?;
            Ok(Outcome::Done)
        }
        PluginCommand::Sign(args) => sign::run(common, &args),
        PluginCommand::Verify { component, signer } => verify::run(common.format, &component, signer.as_deref()),
        PluginCommand::Pack { component, output } => pack::run(common.format, &component, &output),
    }
}

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

/// The files of a component of which something is made: neither the host's own nor packed already.
fn read_loose(component: &str, verb: &str) -> Result<Parts, CliError> {
    let refused = |why: &str| Err(CliError::Usage(format!("{component}: {why}")));
    if component.starts_with(BUILTIN) {
        return refused("a built-in is the host's own binary; it needs no signature and no package");
    }
    if is_package(component) {
        return refused(&format!("it is packed already; {verb} the component's own file, and pack that"));
    }
    read(component)
}
