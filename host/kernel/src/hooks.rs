//! The output hooks: in policy order, each on what the one before it left; an error is a block.

use std::sync::Arc;

use serde_json::Value;

use crate::approval::Asker;
use crate::call::Snapshot;
use crate::canonical::{self, printable};
use crate::denial::Denial;
use crate::ports::{HookVerdict, OutputHook};
use crate::trail::{HookNote, Trail};

/// What the hooks decided together.
#[derive(Debug, PartialEq)]
pub(crate) enum Inspected {
    /// This may be released.
    Release(Value),
    /// Nothing may.
    Block(Denial),
    /// Nothing may before a human says so.
    Withhold {
        /// Which hooks asked.
        by: Vec<Asker>,
        /// Why; the first reason.
        reason: String,
        /// What is withheld.
        value: Value,
    },
}

/// Shows an output to every hook, until one blocks it. One that asks for a human does not keep the later ones from looking:
/// what the human releases has been through them all.
pub(crate) async fn run(
    hooks: &[Arc<dyn OutputHook>],
    call: &Snapshot,
    mut value: Value,
    trail: &mut Trail,
) -> Inspected {
    let mut asked: Vec<(Asker, String)> = Vec::new();
    for hook in hooks {
        let component = hook.component();
        let name = component.name.clone();
        let ran = hook.inspect(call, &canonical::to_string(&value)).await;
        trail.ran(component, ran.fuel);
        let mut note = |verdict, what| trail.hooks.push(HookNote { name: name.clone(), verdict, what });
        match ran.outcome {
            Ok(HookVerdict::Allow) => note("allow", Vec::new()),
            Ok(HookVerdict::Redact { value: redacted, what }) => {
                note("redact", what);
                value = redacted;
            }
            Ok(HookVerdict::Block(reason)) => {
                note("block", Vec::new());
                return Inspected::Block(Denial::Hook { why: printable(&reason, 512), name });
            }
            Ok(HookVerdict::Escalate(reason)) => {
                note("escalate", Vec::new());
                asked.push((Asker { name, digest: component.digest.clone() }, printable(&reason, 512)));
            }
            Err(fault) => {
                note("error", Vec::new());
                trail.stopped = Some((name.clone(), fault.stop));
                return Inspected::Block(Denial::HookFault { name, fault });
            }
        }
    }
    match asked.first().map(|(_, reason)| reason.clone()) {
        None => Inspected::Release(value),
        Some(reason) => Inspected::Withhold { by: asked.into_iter().map(|(asker, _)| asker).collect(), reason, value },
    }
}
