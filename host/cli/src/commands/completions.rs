//! `completions`: a script for a shell.

use clap::CommandFactory;

use crate::Outcome;
use crate::args::{Args, CompletionsArgs};
use crate::error::CliError;
use crate::print;

pub(crate) fn run(args: &CompletionsArgs) -> Result<Outcome, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "chio-host", &mut script);
    print::text(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
