//! `capability inspect`: what a token allows, where it comes from, and whether it holds.

use std::path::Path;

use chio_host_kernel::canonical::printable;
use chio_host_kernel::capability::{ANY, CapabilityToken, Constraint, Grant};
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::Format;
use crate::error::CliError;
use crate::folders::Folders;
use crate::keys::Keys;
use crate::ledger::Reader;
use crate::print;
use crate::wallet;

pub(super) fn run(format: Format, folders: &Folders, path: &Path, now: u64) -> Result<Outcome, CliError> {
    let token = wallet::read(path)?;
    let own = Keys::kernel_key(&folders.keys)?;
    let signatures = token.verify().map_err(|e| e.to_string());
    let attenuation = token.check_attenuation();
    let revoked = revoked(folders, &token)?;
    match format {
        Format::Json => {
            print::document(format, &document(&token, &signatures, &attenuation, &revoked, own.as_deref()))?;
        }
        Format::Human => {
            let mut lines = lines(&token, own.as_deref(), now);
            let holds = |held: &Result<(), String>| {
                held.as_ref().err().map_or("hold".to_owned(), |why| format!("DO NOT HOLD: {why}"))
            };
            lines.push(("signatures", holds(&signatures)));
            let narrower = attenuation.as_ref().err().map(|why| format!("DOES NOT HOLD: {why}"));
            lines.push(("attenuation", narrower.unwrap_or_else(|| "holds".to_owned())));
            lines.push(("revoked", revoked.in_words()));
            let fields: Vec<_> = lines.into_iter().map(|(name, value)| (name, json!(value))).collect();
            print::fields(format, &fields)?;
        }
    }
    Ok(if signatures.is_ok() && attenuation.is_ok() { Outcome::Done } else { Outcome::Failed })
}

/// Which token of the chain was revoked, as far as a ledger is here to say so.
enum Revoked {
    Unknown,
    No,
    Since { id: String, at: u64 },
}

impl Revoked {
    fn in_words(&self) -> String {
        match self {
            Self::Unknown => "not known: there is no ledger here".to_owned(),
            Self::No => "no".to_owned(),
            Self::Since { id, at } => format!("{}, at {}", printable(id, 256), print::time(*at)),
        }
    }
}

fn revoked(folders: &Folders, token: &CapabilityToken) -> Result<Revoked, CliError> {
    if !folders.ledger().is_dir() {
        return Ok(Revoked::Unknown);
    }
    let reader = Reader::open(folders)?;
    for token in chain(token) {
        let id = &token.body().id;
        if let Some(at) = reader.revoked_at(id)? {
            return Ok(Revoked::Since { id: id.clone(), at });
        }
    }
    Ok(Revoked::No)
}

/// From the root on.
fn chain(token: &CapabilityToken) -> impl Iterator<Item = &CapabilityToken> {
    token.ancestors().iter().chain([token])
}

fn document(
    token: &CapabilityToken,
    signatures: &Result<(), String>,
    attenuation: &Result<(), String>,
    revoked: &Revoked,
    own: Option<&str>,
) -> Value {
    let body = token.body();
    let link = |token: &CapabilityToken| {
        let body = token.body();
        json!({ "id": body.id, "issuer": body.issuer, "subject": body.subject, "expires_at": body.expires_at })
    };
    json!({
        "id": body.id,
        "issuer": body.issuer,
        "subject": body.subject,
        "issued_at": body.issued_at,
        "expires_at": body.expires_at,
        "chain": token.ancestors().iter().map(link).collect::<Vec<_>>(),
        "issued_by_this_host": own == Some(token.root().body().issuer.as_str()),
        "grants": body.scope.grants.iter().map(in_words).collect::<Vec<_>>(),
        "signatures": signatures.as_ref().err(),
        "attenuation": attenuation.as_ref().err(),
        "revoked": match revoked {
            Revoked::Unknown => json!("unknown"),
            Revoked::No => json!(false),
            Revoked::Since { id, at } => json!({ "id": id, "at": at }),
        },
    })
}

fn lines(token: &CapabilityToken, own: Option<&str>, now: u64) -> Vec<(&'static str, String)> {
    let body = token.body();
    let text = |value: &str| printable(value, 256);
    let issuer = |token: &CapabilityToken| {
        let issuer = &token.body().issuer;
        let whose = if own == Some(issuer.as_str()) { " (this host)" } else { "" };
        format!("{}{whose}", text(issuer))
    };
    let state = if now < body.issued_at {
        "not yet good"
    } else if now >= body.expires_at {
        "expired"
    } else {
        "good now"
    };
    let mut lines = vec![
        ("capability", text(&body.id)),
        ("issuer", issuer(token)),
        ("subject", text(&body.subject)),
        ("issued", print::time(body.issued_at)),
        ("expires", format!("{} ({state})", print::time(body.expires_at))),
    ];
    lines.extend(token.ancestors().iter().map(|above| {
        let (id, until) = (text(&above.body().id), print::time(above.body().expires_at));
        ("derived from", format!("{id}, by {}, for {}, until {until}", issuer(above), text(&above.body().subject)))
    }));
    lines.extend(body.scope.grants.iter().map(|grant| ("grant", in_words(grant))));
    lines
}

/// What a grant allows, in one line.
fn in_words(grant: &Grant) -> String {
    let operations: Vec<_> = grant.operations.iter().map(|o| json!(o).as_str().unwrap_or("?").to_owned()).collect();
    let all = |name: &str, all: &str| if name == ANY { all.to_owned() } else { printable(name, 128) };
    let mut words = vec![format!(
        "{} {} on {}",
        operations.join(", "),
        all(&grant.tool_name, "any tool"),
        all(&grant.server_id, "any server")
    )];
    words.extend(grant.max_invocations.map(|n| format!("at most {n} call{}", if n == 1 { "" } else { "s" })));
    words.extend(grant.max_cost_per_invocation.as_ref().map(|cost| format!("at most {cost} a call")));
    words.extend(grant.max_total_cost.as_ref().map(|cost| format!("at most {cost} in all")));
    words.extend((grant.dpop_required == Some(true)).then(|| "with a proof of possession".to_owned()));
    words.extend(grant.constraints.iter().map(constraint));
    words.join("; ")
}

fn constraint(constraint: &Constraint) -> String {
    let value = match &constraint.value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let unknown =
        if constraint.check().is_ok() { "" } else { " (which this host does not enforce, so nothing passes)" };
    printable(&format!("{} {value}{unknown}", constraint.kind), 300)
}
