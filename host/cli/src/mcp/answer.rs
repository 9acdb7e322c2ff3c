//! How a mediated call's end is told to a client.
//!
//! A refusal is a tool result with `isError` and no structured content: the model reads it, and clients that check a
//! declared output schema do not (arcade-mcp#817, context-forge#4042).

use chio_host_kernel::AwaitsHuman;
use chio_host_kernel::approval::ApprovalSubject;
use chio_host_kernel::canonical::{self, printable};
use chio_host_kernel::ports::{Elicitation, OutputFormat};
use chio_host_kernel::receipt::{Decision, ReceiptBody};
use chio_host_kernel::response::{Origin, Output, Response};
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData, MetaObject};
use serde_json::{Value, json};

use crate::print;

/// MCP's code for an error that names addresses to visit.
const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32042);
/// How long one of a tool's texts may be in a refusal, in bytes.
const MAX_TEXT: usize = 2048;

/// The result of a call that was mediated, and whom it waits for. `output_schema` says whether the client was told one for the
/// tool.
pub(super) fn answer(response: &Response, awaits: Option<&AwaitsHuman>, output_schema: bool) -> CallToolResult {
    let mut result = match (response.decision(), &response.output) {
        (Decision::Allow, Some(output)) => allowed(output, output_schema),
        (Decision::Allow, None) => not_kept(response),
        _ => failed(refusal(response, awaits)),
    };
    let mut meta = meta(response);
    if let Some(awaits) = awaits {
        meta.insert("chio/operation-id".to_owned(), awaits.operation.as_str().into());
        meta.insert("chio/request-id".to_owned(), request_id(response.receipt.body()).into());
    }
    result.meta = Some(meta);
    result
}

/// An error that the model is to read.
pub(super) fn failed(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// The protocol's way to send a user somewhere first (MCP, "URL elicitation required"). The retry is a new call.
pub(super) fn visit_first(response: &Response) -> ErrorData {
    let visit = |e: &Elicitation| {
        json!({
            "mode": "url",
            "elicitationId": printable(&e.id, MAX_TEXT),
            "url": printable(&e.url, MAX_TEXT),
            "message": printable(&e.message, MAX_TEXT),
        })
    };
    let elicitations: Vec<_> = response.elicitations.iter().map(visit).collect();
    let data = json!({ "elicitations": elicitations, "_meta": meta(response) });
    ErrorData::new(URL_ELICITATION_REQUIRED, refusal(response, None), Some(data))
}

fn meta(response: &Response) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert("chio/receipt-id".to_owned(), response.receipt.id().into());
    meta.insert("chio/verdict".to_owned(), response.decision().verdict().into());
    if let Some(code) = &response.code {
        meta.insert("chio/code".to_owned(), code.as_str().into());
    }
    if let Some(nonce) = &response.nonce {
        meta.insert("chio/nonce".to_owned(), json!(nonce));
    }
    if response.origin == Origin::Replayed {
        meta.insert("chio/replayed".to_owned(), true.into());
    }
    meta
}

fn allowed(output: &Output, output_schema: bool) -> CallToolResult {
    let mut result = CallToolResult::success(blocks(output));
    if output.format == OutputFormat::Json && output.value.is_object() {
        result.structured_content = Some(output.value.clone());
    } else if output_schema {
        // A success without structured content makes clients throw away the content as well.
        result.is_error = Some(true);
        result.content.push(ContentBlock::text("the tool declares an output schema, and its output is no JSON object"));
    }
    result
}

fn blocks(output: &Output) -> Vec<ContentBlock> {
    let text = |value: &Value| match value {
        Value::String(text) => ContentBlock::text(text.clone()),
        other => ContentBlock::text(canonical::to_string(other)),
    };
    match output.format {
        OutputFormat::Json => vec![text(&output.value)],
        OutputFormat::McpContent => {
            serde::Deserialize::deserialize(&output.value).unwrap_or_else(|_| vec![text(&output.value)])
        }
    }
}

/// An earlier call with the same id was allowed, and its output is gone.
fn not_kept(response: &Response) -> CallToolResult {
    failed(format!(
        "this request id was answered before, and its output was not kept; use a new one to call again\nreceipt: {}",
        response.receipt.id()
    ))
}

/// What was decided and by whom, what would change it, and where it is recorded: one line each.
fn refusal(response: &Response, awaits: Option<&AwaitsHuman>) -> String {
    let body = response.receipt.body();
    let mut lines: Vec<String> = response.decision().reason().map(str::to_owned).into_iter().collect();
    match response.decision() {
        Decision::Deny { guard, .. } => lines.extend(testimony(body, guard)),
        Decision::Pending { guard, .. } => lines.extend(waits(response, guard, awaits)),
        Decision::Allow | Decision::Cancelled { .. } | Decision::Incomplete { .. } => {}
    }
    lines.extend(response.elicitations.iter().map(visit));
    if effect(body) == Some("unknown") {
        lines.push("effect: unknown; the tool was entered, and nobody can say what it did".to_owned());
    }
    lines.push(format!("receipt: {}", response.receipt.id()));
    lines.join("\n")
}

/// The words of whoever refused.
fn testimony(body: &ReceiptBody, guard: &str) -> Option<String> {
    let evidence = body.evidence.iter().find(|evidence| evidence.guard_name == guard && !evidence.verdict)?;
    evidence.details.as_ref().map(|details| format!("{guard}: {details}"))
}

fn waits(response: &Response, guard: &str, awaits: Option<&AwaitsHuman>) -> Vec<String> {
    if response.code.as_deref() == Some("nonce.pending") {
        return vec!["awaits: the same request id once more, with the nonce that comes with this answer".to_owned()];
    }
    let Some(awaits) = awaits else {
        let nobody = "the call has ended: the policy lists no approvers (kernel.approvals.approvers)";
        return vec![format!("{guard} asks for a human, and {nobody}")];
    };
    let again = match awaits.about {
        ApprovalSubject::Call => "it runs",
        ApprovalSubject::Output => "its output is returned",
    };
    let id = request_id(response.receipt.body());
    vec![
        format!("{}, which {guard} asks for", awaited(awaits)),
        format!("operation: {}", awaits.operation),
        format!("after that: the same call again, with \"chio/request-id\": \"{id}\" in its _meta; then {again}"),
    ]
}

/// What a call waits for, and how a human gives it.
pub(crate) fn awaited(awaits: &AwaitsHuman) -> String {
    let (what, verb) = match awaits.about {
        ApprovalSubject::Call => ("approval of this call", "approve"),
        ApprovalSubject::Output => ("release of the output", "release"),
    };
    let (until, operation) = (print::time(awaits.until), print::short(awaits.operation.as_str()));
    format!("awaits: an approver's {what} until {until} (chio-host approvals {verb} {operation})")
}

fn request_id(body: &ReceiptBody) -> &str {
    let id = body.metadata.as_ref().and_then(|m| m.pointer("/receipt_context/request_id"));
    id.and_then(Value::as_str).unwrap_or_default()
}

fn visit(elicitation: &Elicitation) -> String {
    format!("visit: {} ({})", printable(&elicitation.url, MAX_TEXT), printable(&elicitation.message, MAX_TEXT))
}

fn effect(body: &ReceiptBody) -> Option<&str> {
    body.metadata.as_ref()?.pointer("/chio_host/effect")?.as_str()
}
