//! From what was typed to a call.

use std::fs;
use std::path::Path;

use chio_host_kernel::call::{Arguments, Call, Mode, RequestId};
use chio_host_kernel::canonical::{self, Bounds};
use chio_host_kernel::receipt::Decision;
use chio_host_kernel::response::Response;
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::Target;
use crate::error::CliError;
use crate::host::Host;
use crate::rules::Source;

/// Whose rules the call is under, and who makes it.
pub(super) fn source(target: &Target) -> Source {
    let (policy, capability) = (target.policy.clone(), target.capability.clone());
    Source { policy, capability, agent: target.agent.name.clone() }
}

/// The call that was typed.
pub(super) fn call(host: &Host, target: &Target, mode: Mode) -> Result<Call, CliError> {
    let arguments = arguments(&target.params)?;
    let request_id = match &target.request_id {
        Some(id) => RequestId::new(id.clone())?,
        None => RequestId::new(format!("{}-{}", mode.namespace().as_str(), uuid::Uuid::now_v7()))?,
    };
    let token = host.rules().agent.token_for(&target.server, &target.tool)?;
    let mut call = Call::new(request_id, host.rules().agent.id(), token, &target.server, &target.tool, arguments)?;
    call.mode = mode;
    call.admission.proof = host.rules().agent.proof(&call);
    Ok(call)
}

fn arguments(params: &str) -> Result<Arguments, CliError> {
    let text = text_or_file(params, Bounds::ARGUMENTS.bytes)?;
    Arguments::parse(&text).map_err(|e| match params.strip_prefix('@') {
        Some(path) => CliError::path(path, e),
        None => e.into(),
    })
}

/// What was typed, or what stands in the file that `@FILE` names.
pub(super) fn text_or_file(typed: &str, limit: usize) -> Result<Vec<u8>, CliError> {
    match typed.strip_prefix('@') {
        None => Ok(typed.as_bytes().to_vec()),
        Some(path) => read_bounded(Path::new(path), limit),
    }
}

/// A JSON file that stands for a tool's output.
pub(super) fn fixture(path: &Path) -> Result<Value, CliError> {
    let text = read_bounded(path, Bounds::OUTPUT.bytes)?;
    canonical::parse(&text, Bounds::OUTPUT).map_err(|e| CliError::path(path, e))
}

fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, CliError> {
    use std::io::Read;
    let mut text = Vec::new();
    let file = fs::File::open(path).map_err(|e| CliError::path(path, e))?;
    file.take(limit as u64 + 1).read_to_end(&mut text).map_err(|e| CliError::path(path, e))?;
    if text.len() > limit {
        return Err(CliError::path(path, format!("it is longer than {limit} bytes")));
    }
    Ok(text)
}

/// What is printed of every answer, the seed's lines in the seed's order.
pub(super) fn fields(host: &Host, target: &Target, response: &Response) -> Vec<(&'static str, Value)> {
    let decision = response.decision();
    let mut fields = vec![
        ("verdict", json!(decision.verdict().to_uppercase())),
        ("tool", json!(target.tool)),
        ("server", json!(target.server)),
    ];
    if let Some(reason) = decision.reason() {
        fields.push(("reason", json!(reason)));
    }
    for entry in response.receipt.body().evidence.iter().filter(|e| !e.verdict) {
        fields.push((
            "evidence",
            json!(format!("{}: {}", entry.guard_name, entry.details.as_deref().unwrap_or("refused"))),
        ));
    }
    fields.push(("receipt_id", json!(response.receipt.id())));
    fields.push(("policy", json!(host.rules().policy_hash)));
    fields.push(("source", json!(host.rules().source_hash)));
    fields
}

/// The exit code of an answer.
pub(super) fn outcome(response: &Response) -> Outcome {
    match response.decision() {
        Decision::Allow => Outcome::Done,
        Decision::Deny { .. } => Outcome::Denied,
        Decision::Pending { .. } => Outcome::Pending,
        Decision::Cancelled { .. } | Decision::Incomplete { .. } => Outcome::Failed,
    }
}
