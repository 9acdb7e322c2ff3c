//! `receipt explain`: what a receipt says, in words.

use chio_host_kernel::canonical::printable;
use chio_host_kernel::receipt::{self, SCHEMA};
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::Format;
use crate::error::CliError;
use crate::print;

pub(super) fn run(format: Format, record: &Value) -> Result<Outcome, CliError> {
    let lines = lines(record);
    match format {
        Format::Json => {
            let object = lines.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
            print::document(format, &Value::Object(object))?;
        }
        Format::Human => {
            let shown: Vec<_> = lines.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            print::text(&(shown.join("\n") + "\n"))?;
        }
    }
    Ok(Outcome::Done)
}

/// The seed's lines first, and in its order; then what this host adds.
fn lines(record: &Value) -> Vec<(&'static str, String)> {
    let text = |v: &Value| printable(v.as_str().unwrap_or("?"), 1024);
    let decision = &record["decision"];
    let own = &record["metadata"]["chio_host"];
    let identity = receipt::verify(record).map_or_else(|e| format!("NOT VERIFIED: {e}"), |v| v.id);
    let mut lines = vec![
        ("receipt", text(&record["id"])),
        ("schema", SCHEMA.to_owned()),
        ("identity", identity),
        ("decision", text(&decision["verdict"])),
    ];
    for name in ["reason", "guard"] {
        if let Some(value) = decision[name].as_str() {
            lines.push((name, printable(value, 1024)));
        }
    }
    lines.push(("policy_hash", text(&record["policy_hash"])));
    if decision["verdict"] == "deny" {
        lines.push(("scope_diff", "requested scope vs granted scope is not embedded in this receipt".into()));
    }
    let above = record["metadata"]["attribution"]["delegation_chain"].as_array().map_or(0, Vec::len);
    let parents = above + usize::from(own["parent"].is_object());
    lines.push(("parents", parents.to_string()));
    if let Some(inside) = own["parent"]["request_id"].as_str() {
        let server = own["parent"]["server"].as_str().unwrap_or("?");
        lines.push(("inside", format!("request {}, by {}", printable(inside, 256), printable(server, 128))));
    }
    if let Some(hint) = hint(own["code"].as_str().unwrap_or_default(), decision) {
        lines.push(("repair_hint", hint.to_owned()));
    }
    lines.push(("call", format!("{}/{}", text(&record["tool_server"]), text(&record["tool_name"]))));
    lines.push(("at", super::time(record)));
    for name in ["mode", "effect", "code"] {
        if let Some(value) = own[name].as_str() {
            lines.push((name, printable(value, 128)));
        }
    }
    if let Some(by) = own["stopped"]["by"].as_str() {
        lines.push(("stopped", format!("{} by {}", text(&own["stopped"]["component"]), printable(by, 64))));
    }
    lines.extend(cost(&own["cost"]));
    lines.extend(runtime(&record["metadata"]["chio_runtime"]));
    lines.extend(evidence(record));
    lines.extend(components(own));
    lines
}

fn money(amount: &Value) -> String {
    format!("{} {}", amount["units"], printable(amount["currency"].as_str().unwrap_or("?"), 16))
}

fn cost(cost: &Value) -> Option<(&'static str, String)> {
    let held = cost.get("held").map(money)?;
    let shown = match (cost.get("realized").map(money), cost["overrun"].as_str()) {
        (Some(realized), Some(overrun)) => format!("{realized} of {held} held; overrun: {}", printable(overrun, 256)),
        (Some(realized), None) => format!("{realized} of {held} held"),
        (None, _) => format!("{held} held and frozen until an operator resolves it: chio-host recover list"),
    };
    Some(("cost", shown))
}

/// What is kept, and what could not be given back.
fn runtime(runtime: &Value) -> Vec<(&'static str, String)> {
    let list = |name: &str| runtime[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |v: &Value, name: &str| printable(v[name].as_str().unwrap_or("?"), 256);
    let kept = list("retained_reservations").iter();
    let faults = list("cleanup_faults").iter();
    kept.map(|r| ("kept", format!("{} {}", text(r, "kind"), text(r, "id"))))
        .chain(faults.map(|f| ("cleanup_fault", format!("{}: {}", text(f, "step"), text(f, "reason")))))
        .collect()
}

fn evidence(record: &Value) -> Vec<(&'static str, String)> {
    let entries = record["evidence"].as_array().map(Vec::as_slice).unwrap_or_default();
    let show = |entry: &Value| {
        let passed = if entry["verdict"] == true { "passed" } else { "refused" };
        let details = entry["details"].as_str().map(|d| format!(" ({})", printable(d, 512))).unwrap_or_default();
        format!("{} {passed}{details}", printable(entry["guard_name"].as_str().unwrap_or("?"), 128))
    };
    entries.iter().map(|entry| ("evidence", show(entry))).collect()
}

fn components(own: &Value) -> Vec<(&'static str, String)> {
    let ran = own["components"].as_array().map(Vec::as_slice).unwrap_or_default();
    let show = |c: &Value| {
        let text = |name: &str| printable(c[name].as_str().unwrap_or("?"), 128);
        format!("{} {} sha256:{} fuel {}", text("role"), text("name"), text("digest"), c["fuel"])
    };
    let hooks = own["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let did = |h: &Value| {
        let what = h["what"].as_array().map(Vec::as_slice).unwrap_or_default();
        let what: Vec<_> = what
            .iter()
            .map(|w| format!(" {} x {}", w["count"], printable(w["kind"].as_str().unwrap_or("?"), 64)))
            .collect();
        let text = |name: &str| printable(h[name].as_str().unwrap_or("?"), 128);
        format!("{} said {}{}", text("name"), text("verdict"), what.concat())
    };
    let components = ran.iter().map(|c| ("component", show(c)));
    components.chain(hooks.iter().map(|h| ("hook", did(h)))).collect()
}

/// What would make such a call pass.
fn hint(code: &str, decision: &Value) -> Option<&'static str> {
    if decision["verdict"] == "allow" {
        return None;
    }
    Some(match code.split('.').next().unwrap_or_default() {
        "capability" => "present a capability that this host issued to this caller and that is good now",
        "scope" if code == "scope.constraint" => "send arguments that meet the grant's constraints, or widen the grant",
        "budget" if code == "budget.payment" => "see what the payment rail says; nothing was charged",
        "budget" if code == "budget.account" => {
            "raise the account's total in the policy, or lower what the call may cost"
        }
        "budget" => "raise the grant's limits in the policy, or wait for the next capability",
        "nonce" => "ask with the same request id and the nonce that its first answer handed out, in time",
        "recovery" | "call" => "use a new request id, once you know what the first call did",
        _ if code == "guard.pending" || code == "hook.escalated" => {
            "a human decides it, if the policy lists approvers: chio-host approvals list"
        }
        "approval" => "send the call with a new request id, and have it approved as it is then",
        "guard" if code == "guard.denied" => {
            "read the evidence: the guard says what it saw; change the call, or the guard's config in the policy"
        }
        "guard" => "the guard broke or reached a limit: raise its limits in the policy, or mend it",
        "tool" => "the tool failed or reached a limit: see its message, or raise its limits in the policy",
        "hook" | "output" => "the output was withheld: see the hook's reason",
        "admission" if code == "admission.reserved" => "use a new single-use id: this one is taken",
        "admission" => "use a new request id",
        _ => "inspect the guard and policy_hash, then mint or narrow a matching capability",
    })
}
