//! `capability`: keys, tokens issued and handed on, and what stands in one. None of it needs a ledger.

mod attenuate;
mod inspect;

use chio_host_kernel::canonical::printable;
use chio_host_kernel::ports::Clock;

use crate::Outcome;
use crate::args::{CapabilityArgs, CapabilityCommand, Common};
use crate::clock::SystemClock;
use crate::error::CliError;
use crate::folders::Folders;
use crate::keys::Keys;
use crate::print;
use crate::rules;
use crate::wallet;

pub(crate) fn run(common: &Common, args: CapabilityArgs) -> Result<Outcome, CliError> {
    let folders = Folders::of(common)?;
    match args.command {
        CapabilityCommand::Key { name } => {
            let key = Keys::agent(&folders.keys, &name)?;
            print::key(common.format, &name, key.public())?;
        }
        CapabilityCommand::Issue { policy, name, to } => {
            let rules = rules::policy_of(&folders, &policy)?;
            let template = rules.capabilities.iter().find(|template| template.name == name).ok_or_else(|| {
                let there_are: Vec<_> = rules.capabilities.iter().map(|template| template.name.as_str()).collect();
                let there_are = if there_are.is_empty() { "none".to_owned() } else { there_are.join(", ") };
                let why = format!("it gives no capability \"{}\"; it gives {there_are}", printable(&name, 64));
                CliError::path(&policy, why)
            })?;
            let (issuer, subject) = (Keys::open(&folders.keys)?.kernel, Keys::subject(&folders.keys, &to)?);
            let token = wallet::issue(template, &issuer, subject, now());
            print::document(common.format, &token.to_json())?;
        }
        CapabilityCommand::Attenuate(args) => {
            let token = attenuate::derive(&folders, &args, now())?;
            print::document(common.format, &token.to_json())?;
        }
        CapabilityCommand::Inspect { token } => return inspect::run(common.format, &folders, &token, now()),
    }
    Ok(Outcome::Done)
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemClock::new().now_ms() / 1000
}
