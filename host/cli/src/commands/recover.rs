//! `recover`: end what a killed host left open; list and resolve what only an operator can.

use serde_json::{Value, json};

use crate::Outcome;
use crate::args::{Common, Format, RecoverArgs, RecoverCommand};
use crate::control::operator::Operator;
use crate::control::{Choice, Request};
use crate::error::CliError;
use crate::folders::Folders;
use crate::host;
use crate::print;

pub(crate) fn run(common: &Common, args: &RecoverArgs) -> Result<Outcome, CliError> {
    let folders = Folders::of(common)?;
    host::block_on(async {
        // Opening it ends what can be ended; a host that runs did so when it began.
        let operator = Operator::open(&folders, None).await?;
        match &args.command {
            Some(RecoverCommand::Resolve { operation, capture, because, .. }) => {
                let (resolution, named) =
                    if *capture { (Choice::Capture, "capture") } else { (Choice::Release, "release") };
                let (operation, because) = (operation.clone(), because.clone());
                let asked = Request::Resolve { operation: operation.clone(), resolution, because };
                let receipt = operator.ask(asked).await?;
                operator.close().await;
                let fields = [
                    print::verdict(&receipt),
                    ("operation", json!(operation)),
                    ("resolution", json!(named)),
                    print::receipt_id(&receipt),
                ];
                print::fields(common.format, &fields)?;
            }
            None | Some(RecoverCommand::List) => {
                let unresolved = operator.ask(Request::Unresolved {}).await?;
                operator.close().await;
                list(common.format, unresolved.as_array().map(Vec::as_slice).unwrap_or_default())?;
            }
        }
        Ok(Outcome::Done)
    })
}

const FIELDS: [&str; 8] = ["operation", "state", "tool", "server", "request_id", "held", "reserved", "why"];

fn list(format: Format, unresolved: &[Value]) -> Result<(), CliError> {
    if unresolved.is_empty() && format == Format::Human {
        return print::text("Nothing waits for an operator.\n");
    }
    for (number, stuck) in unresolved.iter().enumerate() {
        if number > 0 && format == Format::Human {
            print::text("\n")?;
        }
        print::fields(format, &print::those(stuck, &FIELDS))?;
    }
    Ok(())
}
