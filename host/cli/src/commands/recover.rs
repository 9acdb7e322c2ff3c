//! `recover`: end what a killed host left open; list and resolve what only an operator can.

use chio_host_kernel::{Resolution, Unresolved};
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::{Common, Format, RecoverArgs, RecoverCommand};
use crate::error::CliError;
use crate::folders::Folders;
use crate::host::{self, Bare};
use crate::print;

pub(crate) fn run(common: &Common, args: &RecoverArgs) -> Result<Outcome, CliError> {
    let folders = Folders::of(common)?;
    if !folders.ledger().exists() {
        return Err(CliError::path(folders.ledger(), "there is no ledger here; name the state folder with --state"));
    }
    host::block_on(async {
        // Opening it ends what can be ended.
        let host = Bare::open(&folders).await?;
        match &args.command {
            Some(RecoverCommand::Resolve { operation, capture, because, .. }) => {
                let resolution = if *capture { Resolution::Capture } else { Resolution::Release };
                let receipt = host.kernel.resolve(operation, resolution, because).await?;
                host.close().await;
                let verdict = receipt.body().decision.verdict().to_uppercase();
                print::fields(
                    common.format,
                    &[
                        ("verdict", json!(verdict)),
                        ("operation", json!(operation)),
                        ("resolution", json!(if *capture { "capture" } else { "release" })),
                        ("receipt_id", json!(receipt.id())),
                    ],
                )?;
            }
            None | Some(RecoverCommand::List) => {
                let unresolved = host.kernel.unresolved()?;
                host.close().await;
                list(common.format, &unresolved)?;
            }
        }
        Ok(Outcome::Done)
    })
}

fn list(format: Format, unresolved: &[Unresolved]) -> Result<(), CliError> {
    if unresolved.is_empty() && format == Format::Human {
        return print::text("Nothing waits for an operator.\n");
    }
    for (number, stuck) in unresolved.iter().enumerate() {
        if number > 0 && format == Format::Human {
            print::text("\n")?;
        }
        print::fields(format, &fields(stuck))?;
    }
    Ok(())
}

fn fields(stuck: &Unresolved) -> Vec<(&'static str, Value)> {
    let mut fields = vec![
        ("operation", json!(stuck.operation)),
        ("state", stuck.state.map_or_else(|| "unreadable".into(), |state| json!(state))),
        ("tool", json!(stuck.tool)),
        ("server", json!(stuck.server)),
        ("request_id", json!(stuck.request_id)),
    ];
    fields.extend(stuck.held.iter().map(|held| ("held", json!(held.to_string()))));
    if !stuck.reservations.is_empty() {
        let shown: Vec<_> = stuck.reservations.iter().map(ToString::to_string).collect();
        fields.push(("reserved", json!(shown.join(", "))));
    }
    fields.extend(stuck.why.iter().map(|why| ("why", json!(why))));
    fields
}
