//! `call`: one mediated call.

use chio_host_kernel::call::{AdmissionMetadata, MAX_RESERVATIONS, Mode};
use chio_host_kernel::canonical::Bounds;
use chio_host_kernel::nonce::ExecutionNonce;
use chio_host_kernel::reservation::{ReservationKind, RuntimeReservation};
use serde_json::json;

use super::target;
use crate::Outcome;
use crate::args::{CallArgs, Common};
use crate::error::CliError;
use crate::folders::Folders;
use crate::host::{self, Host, Source};
use crate::print;

pub(crate) fn run(common: &Common, args: CallArgs) -> Result<Outcome, CliError> {
    let admission = admission(&args)?;
    let target = args.target;
    let folders = Folders::of(common)?;
    let source = Source { policy: target.policy.clone(), capability: target.capability.clone() };
    host::block_on(async {
        let host = Host::open(&folders, &source).await?;
        let mut call = target::call(&host, &target, Mode::Call)?;
        call.admission = admission;
        let response = host.kernel.evaluate(&call).await?;
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
        host.close().await;
        print::fields(common.format, &fields)?;
        Ok(target::outcome(&response))
    })
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
