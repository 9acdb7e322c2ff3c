//! What the fuzz targets share: a call made of what the fuzzer came up with, and what must hold of every answer.
//!
//! `cargo +nightly fuzz run TARGET`; `.ci/fuzz` runs each for a minute.

use chio_sdk::testing::{call, with_config};
use chio_sdk::{Call, CommandFact, Fact, FactKind, HookVerdict, PathFact, UrlFact, Verdict};
use serde_json::{Value, json};

/// The longest reason that is still one.
const MAX_REASON: usize = 4 << 10;

/// A call in which `text` stands wherever text can.
fn everywhere(text: &str) -> Call {
    let normalised = chio_host_kernel::facts::normalise(text);
    let parsed = chio_host_kernel::facts::UrlFact::new(text).parsed.map(|url| chio_sdk::Url {
        href: url.href,
        scheme: url.scheme,
        host_kind: match url.host_kind {
            chio_host_kernel::facts::HostKind::Domain => chio_sdk::HostKind::Domain,
            chio_host_kernel::facts::HostKind::Ipv4 => chio_sdk::HostKind::Ipv4,
            chio_host_kernel::facts::HostKind::Ipv6 => chio_sdk::HostKind::Ipv6,
            chio_host_kernel::facts::HostKind::None => chio_sdk::HostKind::None,
        },
        host: url.host,
        port: url.port,
        path: url.path,
        has_credentials: url.has_credentials,
    });
    let words = text.split(' ').map(str::to_owned).collect();
    let mut made = call("server", "tool").arguments(json!({ "text": text, "nested": [{ text: 1 }] })).build();
    let kinds = [
        ("/path", FactKind::Path(PathFact { raw: text.to_owned(), normalised })),
        ("/url", FactKind::Url(UrlFact { raw: text.to_owned(), parsed })),
        ("/line", FactKind::Command(CommandFact::Line(text.to_owned()))),
        ("/words", FactKind::Command(CommandFact::Words(words))),
        ("/content", FactKind::Content(text.to_owned())),
    ];
    made.facts.extend(kinds.map(|(at, kind)| Fact { at: at.to_owned(), kind }));
    made
}

/// Asks a guard about one fact after the other, so that no denial hides what comes after it.
///
/// # Panics
/// A reason is no short line.
pub fn ask(check: fn(&Call) -> Result<Verdict, String>, config: &Value, text: &str) {
    let whole = everywhere(text);
    with_config(config, || {
        for fact in &whole.facts {
            let one = Call { facts: vec![fact.clone()], ..whole.clone() };
            if let Ok(verdict) = check(&one) {
                is_a_reason(verdict.reason());
            }
        }
    });
}

/// Shows a hook an output: the text as a string, and as JSON if it is some.
///
/// # Panics
/// A redaction changes the shape of what it redacts.
pub fn show(inspect: fn(&Call, &str) -> Result<HookVerdict, String>, config: &Value, text: &str) {
    let outputs = [Some(json!({ "output": text, text: [text] })), serde_json::from_str(text).ok()];
    let call = call("server", "tool").build();
    with_config(config, || {
        for output in outputs.into_iter().flatten() {
            match inspect(&call, &output.to_string()) {
                Ok(HookVerdict::Block(reason) | HookVerdict::Escalate(reason)) => is_a_reason(&reason),
                Ok(HookVerdict::Redact(redaction)) => {
                    let value: Value = serde_json::from_str(&redaction.value).expect("a redaction is JSON");
                    assert_eq!(shape(&output), shape(&value), "the shape is another");
                    assert!(!redaction.what.is_empty(), "it says what it took out");
                }
                Ok(HookVerdict::Allow) | Err(_) => {}
            }
        }
    });
}

fn is_a_reason(reason: &str) {
    assert!(reason.len() <= MAX_REASON && !reason.chars().any(char::is_control), "{reason:?}");
}

/// A value without what its leaves and keys say. A number may become a marker, and a marker may sort otherwise than the
/// key whose place it takes.
fn shape(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(map) => {
            let mut inside: Vec<String> = map.values().map(|value| shape(value).to_string()).collect();
            inside.sort();
            json!({ "object": inside })
        }
        _ => Value::Null,
    }
}
