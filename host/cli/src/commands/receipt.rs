//! `receipt`: list, show, explain, verify.

mod explain;
mod tree;
mod verify;

use std::collections::VecDeque;

use chio_host_kernel::canonical::printable;
use serde_json::Value;

use crate::Outcome;
use crate::args::{Common, Format, ReceiptArgs, ReceiptCommand, VerdictFilter};
use crate::error::CliError;
use crate::folders::Folders;
use crate::ledger::{Entry, Go, Reader};
use crate::print;

pub(crate) fn run(common: &Common, args: ReceiptArgs) -> Result<Outcome, CliError> {
    match args.command {
        ReceiptCommand::List { verdict, last } => list(common, verdict, last),
        ReceiptCommand::Show { id } => {
            print::document(common.format, &find(&open(common)?, &id)?)?;
            Ok(Outcome::Done)
        }
        ReceiptCommand::Explain { id, tree } => {
            let ledger = open(common)?;
            let record = find(&ledger, &id)?;
            if tree { tree::run(common.format, &ledger, &record) } else { explain::run(common.format, &record) }
        }
        ReceiptCommand::Verify { id, file, key } => verify::run(common, id.as_deref(), file.as_deref(), &key),
    }
}

fn open(common: &Common) -> Result<Reader, CliError> {
    Reader::open(&Folders::of(common)?)
}

/// The one receipt whose id begins like this.
fn find(ledger: &Reader, id: &str) -> Result<Value, CliError> {
    let is_hex = (8..=64).contains(&id.len()) && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hex {
        let shown = printable(id, 80);
        return Err(CliError::Usage(format!("\"{shown}\" is no receipt id; give 8 to 64 lower-case hex digits")));
    }
    let mut found = Vec::new();
    if id.len() == 64 {
        found.extend(ledger.receipt(id)?);
    } else {
        ledger.entries(|entry| {
            if entry.receipt_id.starts_with(id) {
                found.extend(ledger.receipt(&entry.receipt_id)?);
            }
            Ok(if found.len() > 1 { Go::Stop } else { Go::On })
        })?;
    }
    match (found.pop(), found.is_empty()) {
        (Some(receipt), true) => Ok(receipt),
        (Some(_), false) => Err(CliError::Usage(format!("more than one receipt begins with {id}; give more of it"))),
        (None, _) => {
            Err(CliError::Usage(format!("no receipt {id} in this ledger; `receipt list` shows what there is")))
        }
    }
}

fn list(common: &Common, verdict: Option<VerdictFilter>, last: Option<usize>) -> Result<Outcome, CliError> {
    let mut tail = VecDeque::new();
    open(common)?.receipts(|Entry { entry, receipt }| {
        let Some(receipt) = receipt else {
            let why = format!("the log names receipt {}, which is missing; run `receipt verify`", entry.receipt_id);
            return Err(CliError::Usage(why));
        };
        if verdict.is_some_and(|v| receipt["decision"]["verdict"] != word(v)) {
            return Ok(Go::On);
        }
        match last {
            None => print_line(common.format, &receipt)?,
            Some(n) => {
                tail.push_back(receipt);
                if tail.len() > n {
                    tail.pop_front();
                }
            }
        }
        Ok(Go::On)
    })?;
    for receipt in &tail {
        print_line(common.format, receipt)?;
    }
    Ok(Outcome::Done)
}

fn word(verdict: VerdictFilter) -> &'static str {
    match verdict {
        VerdictFilter::Allow => "allow",
        VerdictFilter::Deny => "deny",
        VerdictFilter::Cancelled => "cancelled",
        VerdictFilter::Incomplete => "incomplete",
        VerdictFilter::Pending => "pending",
    }
}

fn print_line(format: Format, receipt: &Value) -> Result<(), CliError> {
    if format == Format::Json {
        return print::text(&format!("{receipt}\n"));
    }
    let text = |v: &Value| printable(v.as_str().unwrap_or("?"), 200);
    let reason = receipt["decision"]["reason"].as_str().map(|r| format!("  {}", printable(r, 200)));
    print::text(&format!(
        "{}  {:<10} {}/{}  {}{}\n",
        time(receipt),
        text(&receipt["decision"]["verdict"]),
        text(&receipt["tool_server"]),
        text(&receipt["tool_name"]),
        &text(&receipt["id"]).chars().take(16).collect::<String>(),
        reason.unwrap_or_default(),
    ))
}

/// When it was signed, in UTC.
fn time(receipt: &Value) -> String {
    print::time(receipt["timestamp"].as_u64().unwrap_or_default())
}
