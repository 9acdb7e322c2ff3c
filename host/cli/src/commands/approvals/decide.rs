//! What an approver decides: fetched, shown, signed here, and handed in.

use std::time::Duration;

use chio_host_kernel::approval::{
    ApprovalBody, ApprovalDecision, ApprovalRequest, ApprovalSubject, ApprovalToken, SCHEMA,
};
use chio_host_kernel::canonical::{self, printable};
use chio_host_kernel::ports::Clock;
use serde_json::{Value, json};

use super::{fields, open};
use crate::args::{DecideArgs, Format};
use crate::clock::SystemClock;
use crate::control::{Request, named};
use crate::error::CliError;
use crate::folders::Folders;
use crate::host;
use crate::people::Person;
use crate::print;

/// What was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Approve,
    Deny,
    Release,
}

impl Verb {
    fn decision(self) -> ApprovalDecision {
        match self {
            Self::Approve | Self::Release => ApprovalDecision::Approved,
            Self::Deny => ApprovalDecision::Denied,
        }
    }

    /// Whoever lets a call run must not be surprised by letting an output out.
    fn fits(self, about: ApprovalSubject) -> Result<(), CliError> {
        let right = match (self, about) {
            (Self::Approve, ApprovalSubject::Output) => "release",
            (Self::Release, ApprovalSubject::Call) => "approve",
            _ => return Ok(()),
        };
        let what = named(about);
        Err(CliError::Usage(format!(
            "what waits is the {what}; `approvals {right}` lets it go on, `approvals deny` does not"
        )))
    }
}

pub(super) fn run(format: Format, folders: &Folders, args: &DecideArgs, verb: Verb) -> Result<(), CliError> {
    // Before anything is asked: without a key there is nothing to ask for.
    let approver = Person::Approver.key(folders, args.approver_name.as_deref(), args.key.as_deref())?;
    host::block_on(async {
        let operator = open(folders, &args.which).await?;
        let waits = operator.ask(Request::WaitingOne { operation: args.which.operation.clone() }).await?;
        let request: ApprovalRequest = serde_json::from_value(waits["request"].clone())
            .map_err(|e| CliError::Control(format!("what waits cannot be read: {e}")))?;
        verb.fits(request.about)?;
        check_shown(&waits, &request)?;
        let body = body(args, verb.decision(), request, &waits, approver.public().hex());
        show(&waits, &body);
        let approval = ApprovalToken::sign(body.clone(), &approver).to_json();
        let answer = operator.ask(Request::Decide { says: verb.decision(), approval }).await?;
        operator.close().await;
        print::fields(format, &decided(&body, &answer))
    })
}

/// An approver signs hashes, and is shown what has them. Arguments that a guard keeps secret cannot be shown, which is said.
fn check_shown(waits: &Value, request: &ApprovalRequest) -> Result<(), CliError> {
    let hash_of = |name: &str| waits.get(name).map(canonical::hash);
    if hash_of("output") != request.output_hash {
        let why = "the output that is shown is not the one that would be signed for; nothing was signed";
        return Err(CliError::Control(why.into()));
    }
    if hash_of("arguments").as_deref() != Some(request.parameter_hash.as_str()) {
        print::aside(
            "note: the arguments are shown without what is kept secret of them; what is signed covers all of them\n",
        );
    }
    Ok(())
}

fn body(
    args: &DecideArgs,
    decision: ApprovalDecision,
    request: ApprovalRequest,
    waits: &Value,
    approver: &str,
) -> ApprovalBody {
    let now = SystemClock::new().now_ms() / 1000;
    let until = waits["until"].as_u64().unwrap_or(now);
    let good_for = |duration: Duration| now.saturating_add(duration.as_secs());
    ApprovalBody {
        schema: SCHEMA.to_owned(),
        id: format!("approval-{}", uuid::Uuid::now_v7()),
        approver: approver.to_owned(),
        decision,
        request,
        issued_at: now,
        expires_at: args.good_for.map_or(until, good_for),
        because: args.because.clone(),
    }
}

/// What is signed, and what it is about, for whoever signs.
fn show(waits: &Value, body: &ApprovalBody) {
    let line = |(name, value): (&str, Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{:<14} {}\n", format!("{name}:"), printable(&value, 4096))
    };
    let lines: String = fields(waits).into_iter().map(line).collect();
    let signed = json!(body).to_string();
    print::aside(&format!("{lines}signing:       {}\n", printable(&signed, signed.len())));
}

fn decided(body: &ApprovalBody, answer: &Value) -> Vec<(&'static str, Value)> {
    let request = &body.request;
    let decision = match (body.decision, request.about) {
        (ApprovalDecision::Denied, _) => "denied",
        (ApprovalDecision::Approved, ApprovalSubject::Call) => "approved",
        (ApprovalDecision::Approved, ApprovalSubject::Output) => "released",
    };
    let mut fields = vec![
        ("decision", json!(decision)),
        ("operation", json!(request.operation_id)),
        ("tool", json!(request.tool)),
        ("server", json!(request.server)),
        ("approver", json!(body.approver)),
        ("approval_id", json!(body.id)),
    ];
    fields.extend(print::those(answer, &["verdict", "receipt_id"]));
    let again = |then: &str| {
        json!(format!("the caller sends the call again with the same request id, {}, and {then}", request.request_id))
    };
    match (body.decision, request.about) {
        (ApprovalDecision::Denied, _) => {}
        (ApprovalDecision::Approved, ApprovalSubject::Call) => {
            fields.push(("good_until", json!(print::time(body.expires_at))));
            fields.push(("next", again("it runs; one that waits with --wait-for-approval goes on by itself")));
        }
        (ApprovalDecision::Approved, ApprovalSubject::Output) => fields.push(("next", again("receives the output"))),
    }
    fields
}
