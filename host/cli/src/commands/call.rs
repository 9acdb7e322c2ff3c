//! `call`: one mediated call.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chio_host_kernel::AwaitsHuman;
use chio_host_kernel::approval::ApprovalSubject;
use chio_host_kernel::call::{AdmissionMetadata, Call, MAX_RESERVATIONS, Mode};
use chio_host_kernel::canonical::Bounds;
use chio_host_kernel::nonce::ExecutionNonce;
use chio_host_kernel::reservation::{ReservationKind, RuntimeReservation};
use chio_host_kernel::response::Response;
use serde_json::{Value, json};

use super::{run, target};
use crate::Outcome;
use crate::args::{CallArgs, Common, Target};
use crate::error::CliError;
use crate::folders::Folders;
use crate::host::{self, Host};
use crate::mcp::{self, Tokens as _};
use crate::print;
use crate::waiting::{self, Patience};

pub(crate) fn run(common: &Common, args: CallArgs) -> Result<Outcome, CliError> {
    let admission = admission(&args)?;
    let (target, wait) = (args.target, args.wait_for_approval);
    let folders = Folders::of(common)?;
    let source = target::source(&target);
    host::block_on(async {
        let host = Host::open(&folders, &source).await?;
        let mut call = target::call(&host, &target, Mode::Call)?;
        call.admission = AdmissionMetadata { proof: call.admission.proof.take(), ..admission };
        let response = match wait {
            None => host.rules().kernel.evaluate(&call).await?,
            Some(most) => match wait_for(&folders, &host, call, most).await {
                Ok(response) => response,
                Err(error) => {
                    host.close().await;
                    return Err(error);
                }
            },
        };
        let mut fields = target::fields(&host, &target, &response);
        if let Some(output) = &response.output {
            fields.push(("output", output.value.clone()));
        }
        if !response.elicitations.is_empty() {
            fields.push(("visit", json!(response.elicitations)));
        }
        if let Some(nonce) = &response.nonce {
            fields.push(("nonce", json!(nonce)));
        }
        if let Some(awaits) = host.rules().kernel.awaits_human(&response)? {
            fields.extend(awaited(&target, &awaits, &response));
        }
        host.close().await;
        print::fields(common.format, &fields)?;
        Ok(target::outcome(&response))
    })
}

/// The call, and where it waits for a human, what it comes to after that. Meanwhile other commands reach the ledger through this
/// process.
async fn wait_for(folders: &Folders, host: &Host, call: Call, most: Duration) -> Result<Response, CliError> {
    let control = run::listen(folders, host);
    let agent = host.rules().agent.clone();
    let told = Mutex::new(None);
    let tell = move |awaits: &AwaitsHuman| {
        let before = told.lock().unwrap_or_else(PoisonError::into_inner).replace(awaits.clone());
        if before.as_ref() != Some(awaits) {
            print::aside(&format!("{}\n", mcp::awaited(awaits)));
        }
    };
    let patience = Patience { most, renew: Box::new(move |call| agent.renew(call)), tell: Box::new(tell) };
    let kernel = host.rules().kernel.clone();
    let evaluated = waiting::evaluate(&kernel, call, Some(patience), std::future::pending());
    // Whoever stops it drops the call: what waits goes on waiting, and what never reached its tool is undone.
    let response = tokio::select! {
        response = evaluated => response.map_err(CliError::from),
        () = run::stop_asked() => Err(CliError::Interrupted),
    };
    if let Some(control) = control {
        control.end().await;
    }
    response
}

/// What is printed of a call that waits for a human.
fn awaited(target: &Target, awaits: &AwaitsHuman, response: &Response) -> Vec<(&'static str, Value)> {
    let verb = match awaits.about {
        ApprovalSubject::Call => "approve",
        ApprovalSubject::Output => "release",
    };
    let metadata = response.receipt.body().metadata.as_ref();
    let request_id = metadata.and_then(|m| m.pointer("/receipt_context/request_id")).cloned().unwrap_or_default();
    let short = print::short(awaits.operation.as_str());
    vec![
        ("operation", json!(awaits.operation)),
        ("request_id", request_id),
        ("until", json!(print::time(awaits.until))),
        (
            "next",
            json!(format!(
                "chio-host approvals {verb} {short} --policy {} --as NAME; then the same call with this --request-id",
                target.policy.display()
            )),
        ),
    ]
}

/// What was typed beside the call itself.
fn admission(args: &CallArgs) -> Result<AdmissionMetadata, CliError> {
    if args.reserve.len() > MAX_RESERVATIONS {
        return Err(CliError::Usage(format!("--reserve: at most {MAX_RESERVATIONS} ids are taken by one call")));
    }
    let reservations = args.reserve.iter().map(|text| reservation(text)).collect::<Result<_, _>>()?;
    let nonce = match &args.nonce {
        None => None,
        Some(text) => {
            let read = target::text_or_file(text, Bounds::RECORD.bytes)?;
            let nonce = ExecutionNonce::parse(&read).map_err(|e| CliError::Usage(format!("--nonce: {e}")))?;
            Some(nonce)
        }
    };
    Ok(AdmissionMetadata { reservations, nonce, proof: None })
}

fn reservation(text: &str) -> Result<RuntimeReservation, CliError> {
    let wrong = |why: &str| CliError::Usage(format!("--reserve {text}: {why}"));
    let (kind, id) = text.split_once('=').ok_or_else(|| wrong("KIND=ID is needed, such as destructive_lease=ID"))?;
    let kind = ReservationKind::named(kind).map_err(|why| wrong(&why))?;
    RuntimeReservation::new(kind, id).map_err(wrong)
}
