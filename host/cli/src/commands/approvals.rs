//! `approvals`: what waits for a human, and what one decides.

mod decide;

use chio_host_kernel::canonical::printable;
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::{ApprovalsArgs, ApprovalsCommand, Common, Format, WhichWaits};
use crate::control::Request;
use crate::control::operator::Operator;
use crate::error::CliError;
use crate::folders::Folders;
use crate::host;
use crate::people::Person;
use crate::print;

use self::decide::Verb;

/// How long a reason, or arguments, may be in a table.
const MAX_CELL: usize = 60;

pub(crate) fn run(common: &Common, args: ApprovalsArgs) -> Result<Outcome, CliError> {
    let folders = Folders::of(common)?;
    match args.command {
        ApprovalsCommand::Key { name, key } => {
            Person::Approver.make(common.format, &folders, name.as_deref(), key.as_deref())?;
        }
        ApprovalsCommand::List { policy } => host::block_on(async {
            let operator = Operator::open(&folders, policy.as_deref()).await?;
            let listed = operator.ask(Request::Waiting {}).await?;
            operator.close().await;
            list(common.format, &listed)
        })?,
        ApprovalsCommand::Show(which) => host::block_on(async {
            let operator = open(&folders, &which).await?;
            let waits = operator.ask(Request::WaitingOne { operation: which.operation }).await?;
            operator.close().await;
            show(common.format, &waits)
        })?,
        ApprovalsCommand::Approve(args) => decide::run(common.format, &folders, &args, Verb::Approve)?,
        ApprovalsCommand::Deny(args) => decide::run(common.format, &folders, &args, Verb::Deny)?,
        ApprovalsCommand::Release(args) => decide::run(common.format, &folders, &args, Verb::Release)?,
    }
    Ok(Outcome::Done)
}

/// What an approver signs names the policy in force, so without a host that runs one has to be named.
async fn open(folders: &Folders, which: &WhichWaits) -> Result<Operator, CliError> {
    let operator = Operator::open(folders, which.policy.as_deref()).await?;
    if which.policy.is_none() && !operator.is_elsewhere() {
        operator.close().await;
        return Err(CliError::Usage(
            "no host runs here, so say with --policy FILE under which policy the call waits; it lists the approvers"
                .into(),
        ));
    }
    Ok(operator)
}

fn list(format: Format, listed: &Value) -> Result<(), CliError> {
    let waiting = listed["waiting"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(more) = listed["more"].as_u64().filter(|more| *more > 0) {
        print::aside(&format!("{more} more wait, which are not listed; these are the ones that end first\n"));
    }
    if format == Format::Json {
        return waiting.iter().try_for_each(|waits| print::document(format, waits));
    }
    if waiting.is_empty() {
        return print::text("Nothing waits for a human.\n");
    }
    let row = |waits: &Value| {
        let text = |name: &str| waits[name].as_str().unwrap_or("?").to_owned();
        let arguments = match waits.get("arguments") {
            Some(arguments) => printable(&arguments.to_string(), MAX_CELL),
            None => format!("{} bytes", waits["arguments_bytes"]),
        };
        let approved = if waits["approved"] == true { " (approved)" } else { "" };
        [
            print::short(&text("operation")),
            format!("{}{approved}", text("about")),
            format!("{}/{}", text("server"), text("tool")),
            askers(waits),
            printable(&text("reason"), MAX_CELL),
            arguments,
            print::time(waits["until"].as_u64().unwrap_or_default()),
        ]
    };
    let rows: Vec<_> = waiting.iter().map(row).collect();
    print::table(["OPERATION", "WHAT", "TOOL", "ASKED BY", "REASON", "ARGUMENTS", "UNTIL"], &rows)
}

fn askers(waits: &Value) -> String {
    let names: Vec<_> = waits["asked_by"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    names.join(", ")
}

fn show(format: Format, waits: &Value) -> Result<(), CliError> {
    if format == Format::Json {
        return print::document(format, waits);
    }
    print::fields(format, &fields(waits))
}

/// All that an approver should know, in words.
fn fields(waits: &Value) -> Vec<(&'static str, Value)> {
    // What is signed is shown from where it is signed, not from beside it.
    let signed = &waits["request"];
    let names = ["operation_id", "about", "server", "tool", "subject", "request_id"];
    let shown_as = ["operation", "about", "server", "tool", "caller", "request_id"];
    let mut fields: Vec<_> = shown_as.into_iter().zip(names.map(|name| signed[name].clone())).collect();
    fields.push(("asked_by", json!(askers(waits))));
    fields.extend(print::those(waits, &["reason", "arguments", "output"]));
    if let Some(cost) = signed.get("max_cost") {
        fields.push(("max_cost", json!(format!("{} {}", cost["units"], cost["currency"].as_str().unwrap_or("?")))));
    }
    fields.push(("until", json!(print::time(waits["until"].as_u64().unwrap_or_default()))));
    fields.push(("approved", waits["approved"].clone()));
    fields.extend(print::those(signed, &["policy_hash", "grant_hash", "parameter_hash", "output_hash"]));
    fields.extend(print::those(waits, &["receipt_id"]));
    fields
}
