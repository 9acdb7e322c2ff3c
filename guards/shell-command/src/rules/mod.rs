//! What is dangerous. One file a subject; each looks at a command without its wrappers.

mod devices;
mod download;
mod network;
mod permissions;
mod power;
mod removal;
mod secrets;
mod target;

use command_lines::{Effective, Simple};
use secret_places::Places;

use crate::judge::{Danger, Seen};

pub(crate) use download::remember as remember_downloads;

/// What one command does, in a line that has `seen` others.
pub(crate) fn command(places: &Places, simple: &Simple, command: &Effective<'_>, seen: &Seen) -> Option<Danger> {
    if only_asks(command) {
        return None;
    }
    removal::judge(command)
        .or_else(|| devices::judge(simple, command))
        .or_else(|| network::judge(simple, command))
        .or_else(|| download::judge(simple, command, seen))
        .or_else(|| permissions::judge(command))
        .or_else(|| power::judge(simple, command))
        .or_else(|| secrets::judge(places, simple, command))
}

/// What commands do together.
pub(crate) fn pipeline(commands: &[(&Simple, Effective<'_>)]) -> Option<Danger> {
    download::judge_pipeline(commands).or_else(|| network::judge_pipeline(commands))
}

/// `rm --help` does nothing.
fn only_asks(command: &Effective<'_>) -> bool {
    matches!(command.arguments.as_slice(), [only] if only == "--help" || only == "--version")
}
