//! Constraints of a grant. Each is enforced, or the call is refused because it is not.

use regex_lite::RegexBuilder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Arguments;
use crate::canonical::printable;
use crate::facts::{Fact, FactKind, HostKind, PathFact, UrlFact, normalise};
use crate::money::Money;
use crate::reservation::RuntimeReservation;

/// One condition of a grant, as it is signed: a type and, mostly, a value.
///
/// | type | value | the call, or its output |
/// |---|---|---|
/// | `path_prefix` | a path, or `{ argument, prefix }` | every path lies at or below it, and there is one |
/// | `domain_exact` | a host, or `{ argument, domain }` | every URL leads there, and there is one |
/// | `domain_glob` | `*.` and a host, or `{ argument, domain }` | every URL leads to a name below it, and there is one |
/// | `regex_match` | `{ argument, pattern }` | the argument is a string that matches from end to end |
/// | `max_length` | characters, or `{ argument, max }` | no string is longer |
/// | `max_args_size` | bytes | the canonical arguments are no larger |
/// | `require_approval_above` | `{ units, currency }` | a human approves one that can cost more |
/// | `output_digest_sha256` | 64 hex digits | the output's canonical JSON has this SHA-256 |
/// | `runtime_reservation` | `{ kind, id }` | the call takes this single-use id |
///
/// `argument` is a JSON pointer, and covers what stands below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// One of the table, or a type that this host does not know.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the type says it is.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
}

/// Why a constraint is not met.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unmet {
    /// The host has no way to enforce it, so nothing passes it.
    #[error("constraint {0} is not one that this host enforces")]
    Unknown(String),
    /// Its value makes no sense.
    #[error("constraint {0} needs {1}")]
    Value(&'static str, &'static str),
    /// The call does not satisfy it.
    #[error("{0}")]
    Violated(String),
}

const PATH_PREFIX: &str = "path_prefix";
const DOMAIN_EXACT: &str = "domain_exact";
const DOMAIN_GLOB: &str = "domain_glob";
const REGEX_MATCH: &str = "regex_match";
const MAX_LENGTH: &str = "max_length";
const MAX_ARGS_SIZE: &str = "max_args_size";
const APPROVAL_ABOVE: &str = "require_approval_above";
const OUTPUT_DIGEST: &str = "output_digest_sha256";
const RESERVATION: &str = "runtime_reservation";

/// The largest compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 18;

/// A constraint, read.
#[derive(Debug, PartialEq)]
enum Rule {
    PathPrefix {
        at: Option<String>,
        prefix: String,
    },
    /// `under` for names below it, else that host alone.
    Domain {
        at: Option<String>,
        domain: String,
        under: bool,
    },
    Regex {
        at: String,
        pattern: String,
    },
    MaxLength {
        at: Option<String>,
        max: u64,
    },
    MaxArgsSize(u64),
    ApprovalAbove(Money),
    OutputDigest(String),
    Reservation(RuntimeReservation),
}

impl Constraint {
    /// Every path in the call's arguments lies at or below `prefix`.
    #[must_use]
    pub fn path_prefix(prefix: &str) -> Self {
        Self { kind: PATH_PREFIX.into(), value: prefix.into() }
    }

    /// The output's canonical JSON has this SHA-256.
    #[must_use]
    pub fn output_digest(sha256_hex: &str) -> Self {
        Self { kind: OUTPUT_DIGEST.into(), value: sha256_hex.into() }
    }

    /// A call takes this single-use id.
    #[must_use]
    pub fn takes(reservation: &RuntimeReservation) -> Self {
        let value = serde_json::to_value(reservation).expect("a reservation is plain data");
        Self { kind: RESERVATION.into(), value }
    }

    /// Whether the host knows the constraint, and its value makes sense.
    ///
    /// # Errors
    /// It does not.
    pub fn check(&self) -> Result<(), Unmet> {
        self.rule().map(drop)
    }

    /// Checks what can be checked before the call runs.
    ///
    /// # Errors
    /// The constraint is violated, malformed, or unknown.
    pub fn admit(&self, arguments: &Arguments, facts: &[Fact]) -> Result<(), Unmet> {
        match self.rule()? {
            Rule::PathPrefix { at, prefix } => admit_paths(facts, at.as_deref(), &prefix),
            Rule::Domain { at, domain, under } => admit_domains(facts, at.as_deref(), &domain, under),
            Rule::Regex { at, pattern } => admit_match(arguments.value(), &at, &pattern),
            Rule::MaxLength { at, max } => admit_lengths(arguments.value(), at.as_deref().unwrap_or_default(), max),
            Rule::MaxArgsSize(max) => admit_size(arguments, max),
            // Asked for where the cost is known; taken at admission; compared with the output.
            Rule::ApprovalAbove(_) | Rule::Reservation(_) | Rule::OutputDigest(_) => Ok(()),
        }
    }

    /// The digest that the output must have, where this is such a constraint.
    #[must_use]
    pub fn expected_output_digest(&self) -> Option<String> {
        match self.rule() {
            Ok(Rule::OutputDigest(digest)) => Some(digest),
            _ => None,
        }
    }

    /// The single-use id that a call under the grant takes, where this is such a constraint.
    #[must_use]
    pub fn reservation(&self) -> Option<RuntimeReservation> {
        match self.rule() {
            Ok(Rule::Reservation(reservation)) => Some(reservation),
            _ => None,
        }
    }

    /// What a call may cost without a human's approval, where this is such a constraint.
    #[must_use]
    pub fn approval_above(&self) -> Option<Money> {
        match self.rule() {
            Ok(Rule::ApprovalAbove(amount)) => Some(amount),
            _ => None,
        }
    }

    /// Whether whatever satisfies this satisfies `wider` too, as far as the two say so by themselves.
    #[must_use]
    pub fn implies(&self, wider: &Self) -> bool {
        if self == wider {
            return true;
        }
        let (Ok(own), Ok(wider)) = (self.rule(), wider.rule()) else { return false };
        match (own, wider) {
            (Rule::PathPrefix { at, prefix }, Rule::PathPrefix { at: wide_at, prefix: wide }) => {
                at == wide_at && is_within(&prefix, &wide)
            }
            (Rule::Domain { at, domain, under }, Rule::Domain { at: wide_at, domain: wide, under: wide_under }) => {
                let below = || domain.strip_suffix(&wide).is_some_and(|rest| rest.ends_with('.'));
                at == wide_at && ((domain == wide && under == wide_under) || (wide_under && below()))
            }
            (Rule::MaxLength { at, max }, Rule::MaxLength { at: wide_at, max: wide }) => at == wide_at && max <= wide,
            (Rule::MaxArgsSize(max), Rule::MaxArgsSize(wide)) => max <= wide,
            (Rule::ApprovalAbove(amount), Rule::ApprovalAbove(wide)) => {
                amount.currency == wide.currency && amount.units <= wide.units
            }
            (own, wide) => own == wide,
        }
    }

    fn rule(&self) -> Result<Rule, Unmet> {
        let value = &self.value;
        match self.kind.as_str() {
            PATH_PREFIX => path_prefix(value),
            DOMAIN_EXACT => domain(value, false).ok_or(Unmet::Value(DOMAIN_EXACT, "a host, such as api.example.com")),
            DOMAIN_GLOB => {
                domain(value, true).ok_or(Unmet::Value(DOMAIN_GLOB, "a host below which, such as *.example.com"))
            }
            REGEX_MATCH => regex(value),
            MAX_LENGTH => max_length(value).ok_or(Unmet::Value(MAX_LENGTH, "a number, or { argument, max }")),
            MAX_ARGS_SIZE => {
                value.as_u64().map(Rule::MaxArgsSize).ok_or(Unmet::Value(MAX_ARGS_SIZE, "a number of bytes"))
            }
            APPROVAL_ABOVE => serde_json::from_value(value.clone())
                .map(Rule::ApprovalAbove)
                .map_err(|_| Unmet::Value(APPROVAL_ABOVE, "{ units: …, currency: … }")),
            OUTPUT_DIGEST => {
                let is_digest = |d: &&str| d.len() == 64 && d.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
                let digest = value.as_str().filter(is_digest);
                digest
                    .map(|d| Rule::OutputDigest(d.to_owned()))
                    .ok_or(Unmet::Value(OUTPUT_DIGEST, "64 lower-case hex digits"))
            }
            RESERVATION => {
                let needs = "{ kind: destructive_lease | treaty_continuation | swarm_continuation, id: … }";
                let named = serde_json::from_value::<RuntimeReservation>(value.clone()).ok().filter(|r| r.of.is_none());
                named.map(Rule::Reservation).ok_or(Unmet::Value(RESERVATION, needs))
            }
            other => Err(Unmet::Unknown(printable(other, 64))),
        }
    }
}

/// A value that stands for itself, or for one argument: `{ argument: POINTER, KEY: … }`.
fn of_argument<'v>(value: &'v Value, key: &str) -> Option<(Option<String>, &'v Value)> {
    let Some(named) = value.as_object() else { return Some((None, value)) };
    let pointer = named.get("argument")?.as_str().filter(|p| p.starts_with('/'))?;
    (named.len() == 2).then(|| Some((Some(pointer.to_owned()), named.get(key)?)))?
}

fn path_prefix(value: &Value) -> Result<Rule, Unmet> {
    let read = of_argument(value, "prefix").and_then(|(at, prefix)| Some((at, normalise(prefix.as_str()?)?)));
    read.map(|(at, prefix)| Rule::PathPrefix { at, prefix }).ok_or(Unmet::Value(PATH_PREFIX, "a path"))
}

fn domain(value: &Value, under: bool) -> Option<Rule> {
    let (at, text) = of_argument(value, "domain")?;
    let text = text.as_str()?;
    let text = if under { text.strip_prefix("*.")? } else { text };
    // As a URL would spell it: lower case, punycode. What it changes beyond that is no plain host.
    let parsed = UrlFact::new(&format!("https://{text}/")).parsed?;
    let is_plain = parsed.host_kind != HostKind::None
        && parsed.path == "/"
        && !parsed.has_credentials
        && parsed.port == Some(443)
        && !text.contains([':', '/', '?', '#', '@', '*'])
        && !(under && parsed.host_kind != HostKind::Domain);
    is_plain.then_some(Rule::Domain { at, domain: parsed.host, under })
}

fn regex(value: &Value) -> Result<Rule, Unmet> {
    let needs = Unmet::Value(REGEX_MATCH, "{ argument, pattern }, with a pattern that compiles");
    let Some((Some(at), Some(pattern))) = of_argument(value, "pattern").map(|(at, p)| (at, p.as_str())) else {
        return Err(needs);
    };
    if compiled(pattern).is_none() {
        return Err(needs);
    }
    Ok(Rule::Regex { at, pattern: pattern.to_owned() })
}

/// The pattern, from end to end. Matching takes time linear in the text.
fn compiled(pattern: &str) -> Option<regex_lite::Regex> {
    // By itself first: a pattern that closes the group which it is put in would not be bound to both ends.
    RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build().ok()?;
    RegexBuilder::new(&format!("^(?:{pattern})$")).size_limit(MAX_PATTERN).build().ok()
}

fn max_length(value: &Value) -> Option<Rule> {
    let (at, max) = of_argument(value, "max")?;
    Some(Rule::MaxLength { at, max: max.as_u64()? })
}

/// Whether a pointer leads to `at` or below it.
fn covers(at: Option<&str>, pointer: &str) -> bool {
    at.is_none_or(|at| pointer.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

fn admit_paths(facts: &[Fact], at: Option<&str>, prefix: &str) -> Result<(), Unmet> {
    let path = |fact: &'_ Fact| match &fact.kind {
        FactKind::Path(path) if covers(at, &fact.at) => Some(path.clone()),
        _ => None,
    };
    let paths: Vec<PathFact> = facts.iter().filter_map(path).collect();
    for path in &paths {
        if !path.normalised.as_deref().is_some_and(|p| is_within(p, prefix)) {
            return Err(Unmet::Violated(format!("path {} is not under {prefix}", printable(&path.raw, 128))));
        }
    }
    // A rule on an argument that is not there must not turn a refusal into a pass.
    if paths.is_empty() {
        return Err(Unmet::Violated(format!("no argument is known to be a path under {prefix}")));
    }
    Ok(())
}

fn admit_domains(facts: &[Fact], at: Option<&str>, domain: &str, under: bool) -> Result<(), Unmet> {
    let shown = if under { format!("*.{domain}") } else { domain.to_owned() };
    let mut seen = false;
    for fact in facts {
        let FactKind::Url(url) = &fact.kind else { continue };
        if !covers(at, &fact.at) {
            continue;
        }
        seen = true;
        let leads_there = url.parsed.as_ref().is_some_and(|url| {
            let below = || url.host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'));
            if under { url.host_kind == HostKind::Domain && below() } else { url.host == domain }
        });
        if !leads_there {
            return Err(Unmet::Violated(format!("URL {} does not lead to {shown}", printable(&url.raw, 128))));
        }
    }
    if seen { Ok(()) } else { Err(Unmet::Violated(format!("no argument is known to be a URL of {shown}"))) }
}

fn admit_match(arguments: &Value, at: &str, pattern: &str) -> Result<(), Unmet> {
    let text = arguments.pointer(at).and_then(Value::as_str);
    let matches = text.is_some_and(|text| compiled(pattern).is_some_and(|regex| regex.is_match(text)));
    if matches {
        return Ok(());
    }
    Err(Unmet::Violated(format!("argument {} is no text that matches {}", printable(at, 64), printable(pattern, 128))))
}

fn admit_lengths(arguments: &Value, at: &str, max: u64) -> Result<(), Unmet> {
    fn too_long(value: &Value, max: u64) -> bool {
        let is_long = |text: &str| text.chars().count() as u64 > max;
        match value {
            Value::String(text) => is_long(text),
            Value::Array(items) => items.iter().any(|v| too_long(v, max)),
            Value::Object(map) => map.iter().any(|(k, v)| is_long(k) || too_long(v, max)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    match arguments.pointer(at) {
        Some(value) if too_long(value, max) => {
            let whose = if at.is_empty() { "a text in the arguments".to_owned() } else { format!("argument {at}") };
            Err(Unmet::Violated(format!("{} is longer than {max} characters", printable(&whose, 80))))
        }
        _ => Ok(()),
    }
}

fn admit_size(arguments: &Arguments, max: u64) -> Result<(), Unmet> {
    let size = arguments.canonical().len() as u64;
    if size <= max {
        Ok(())
    } else {
        Err(Unmet::Violated(format!("the arguments are {size} bytes, and {max} at most")))
    }
}

/// Whether a normalised path is `folder` or lies below it, compared step by step.
fn is_within(path: &str, folder: &str) -> bool {
    match folder {
        "/" => path.starts_with('/'),
        "." => !path.starts_with('/') && !path.starts_with(".."),
        _ => path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::facts::{ArgumentFact, ArgumentKind, extract};

    fn constraint(kind: &str, value: Value) -> Constraint {
        Constraint { kind: kind.into(), value }
    }

    fn admit(constraint: &Constraint, arguments: Value) -> Result<(), Unmet> {
        let described = [
            ArgumentFact { at: "/path".into(), is: ArgumentKind::Path },
            ArgumentFact { at: "/to".into(), is: ArgumentKind::Path },
            ArgumentFact { at: "/url".into(), is: ArgumentKind::Url },
        ];
        let facts = extract(&arguments, &described);
        constraint.admit(&Arguments::new(arguments).unwrap(), &facts)
    }

    fn is_violated(constraint: &Constraint, arguments: Value) -> bool {
        matches!(admit(constraint, arguments), Err(Unmet::Violated(_)))
    }

    #[test]
    fn a_prefix_ends_at_a_step() {
        let data = |folder: &str, path: &str| admit(&Constraint::path_prefix(folder), json!({ "path": path }));
        assert_eq!(data("/data/", "/data/x"), Ok(()));
        assert_eq!(data("/data", "/data"), Ok(()));
        for outside in ["/data-evil/x", "/data/../etc", "/etc", "data/x", "%2e%2e/data"] {
            assert!(matches!(data("/data", outside), Err(Unmet::Violated(_))), "{outside}");
        }
    }

    #[test]
    fn a_constraint_of_one_argument_is_about_that_one() {
        let to = constraint(PATH_PREFIX, json!({ "argument": "/to", "prefix": "/out" }));
        assert_eq!(admit(&to, json!({ "path": "/etc/hosts", "to": "/out/x" })), Ok(()));
        assert!(is_violated(&to, json!({ "path": "/out/x", "to": "/etc/hosts" })));
        assert!(is_violated(&to, json!({ "path": "/out/x" })));
        let short = constraint(MAX_LENGTH, json!({ "argument": "/to", "max": 3 }));
        assert_eq!(admit(&short, json!({ "path": "longer", "to": "abc" })), Ok(()));
        assert!(is_violated(&short, json!({ "to": ["abc", { "deep": "abcd" }] })));
    }

    #[test]
    fn a_url_leads_where_a_browser_would_go() {
        let exact = constraint(DOMAIN_EXACT, json!("api.example.com"));
        let below = constraint(DOMAIN_GLOB, json!("*.example.com"));
        for (url, is_exact, is_below) in [
            ("https://api.example.com/x", true, true),
            ("https://API.Example.com:8443/", true, true),
            ("https://a.b.example.com/", false, true),
            ("https://example.com/", false, false),
            ("https://api.example.com@evil.test/", false, false),
            ("https://evilexample.com/", false, false),
            ("https://api.example.com.evil.test/", false, false),
            ("not a url", false, false),
        ] {
            assert_eq!(admit(&exact, json!({ "url": url })).is_ok(), is_exact, "{url}");
            assert_eq!(admit(&below, json!({ "url": url })).is_ok(), is_below, "{url}");
        }
        assert!(is_violated(&exact, json!({ "other": "https://api.example.com/" })));
    }

    #[test]
    fn a_pattern_is_bound_to_both_ends_and_cannot_escape_them() {
        let digits = constraint(REGEX_MATCH, json!({ "argument": "/id", "pattern": "[0-9]+|x" }));
        assert_eq!(admit(&digits, json!({ "id": "42" })), Ok(()));
        for other in [json!("42; rm"), json!("a42"), json!("xx"), json!(42), Value::Null] {
            assert!(is_violated(&digits, json!({ "id": other })), "{other}");
        }
        for bad in ["a)|(?:b", "(", "(?:a{1000}){1000}"] {
            assert!(constraint(REGEX_MATCH, json!({ "argument": "/id", "pattern": bad })).check().is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_counted() {
        let length = constraint(MAX_LENGTH, json!(3));
        assert_eq!(admit(&length, json!({ "a": "äöü" })), Ok(()));
        assert!(is_violated(&length, json!({ "a": "abcd" })));
        assert!(is_violated(&length, json!({ "abcd": 1 })));
        assert_eq!(admit(&constraint(MAX_ARGS_SIZE, json!(7)), json!({ "a": 1 })), Ok(()));
        assert!(is_violated(&constraint(MAX_ARGS_SIZE, json!(6)), json!({ "a": 1 })));
    }

    #[test]
    fn what_cannot_be_enforced_is_refused() {
        let unknown = constraint("phase_of_moon", Value::Null);
        assert!(matches!(admit(&unknown, json!({})), Err(Unmet::Unknown(_))));
        assert!(is_violated(&Constraint::path_prefix("/x"), json!({})));
        for (kind, value) in [
            (OUTPUT_DIGEST, json!("abc")),
            (PATH_PREFIX, json!({ "argument": "path", "prefix": "/x" })),
            (PATH_PREFIX, json!({ "argument": "/path", "prefix": "/x", "more": 1 })),
            (DOMAIN_EXACT, json!("https://example.com")),
            (DOMAIN_EXACT, json!("example.com:8080")),
            (DOMAIN_GLOB, json!("example.com")),
            (DOMAIN_GLOB, json!("*.127.0.0.1")),
            (MAX_LENGTH, json!(-1)),
            (MAX_ARGS_SIZE, json!("7")),
            (APPROVAL_ABOVE, json!(5)),
            (RESERVATION, json!({ "kind": "lease", "id": "x" })),
        ] {
            let needs = matches!(constraint(kind, value.clone()).check(), Err(Unmet::Value(..)));
            assert!(needs, "{kind} {value}");
        }
    }

    #[test]
    fn only_what_is_narrower_implies() {
        let implies = |kind: &str, own: Value, wider: Value| constraint(kind, own).implies(&constraint(kind, wider));
        assert!(implies(PATH_PREFIX, json!("/a/b"), json!("/a")));
        assert!(!implies(PATH_PREFIX, json!("/a"), json!("/a/b")));
        assert!(!implies(PATH_PREFIX, json!("/ab"), json!("/a")));
        assert!(!implies(PATH_PREFIX, json!({ "argument": "/p", "prefix": "/a/b" }), json!("/a")));
        assert!(implies(DOMAIN_GLOB, json!("*.a.example.com"), json!("*.example.com")));
        assert!(!implies(DOMAIN_GLOB, json!("*.example.com"), json!("*.a.example.com")));
        assert!(!implies(DOMAIN_GLOB, json!("*.evilexample.com"), json!("*.example.com")));
        let exact = constraint(DOMAIN_EXACT, json!("a.example.com"));
        assert!(exact.implies(&constraint(DOMAIN_GLOB, json!("*.example.com"))));
        assert!(
            !constraint(DOMAIN_GLOB, json!("*.example.com")).implies(&constraint(DOMAIN_EXACT, json!("example.com")))
        );
        assert!(implies(MAX_LENGTH, json!(3), json!(4)) && !implies(MAX_LENGTH, json!(5), json!(4)));
        assert!(implies(MAX_ARGS_SIZE, json!(3), json!(4)) && !implies(MAX_ARGS_SIZE, json!(5), json!(4)));
        let usd = |units: u64| json!({ "units": units, "currency": "USD" });
        assert!(implies(APPROVAL_ABOVE, usd(3), usd(4)) && !implies(APPROVAL_ABOVE, usd(5), usd(4)));
        assert!(!implies(APPROVAL_ABOVE, usd(3), json!({ "units": 4, "currency": "EUR" })));
        assert!(!implies(
            REGEX_MATCH,
            json!({ "argument": "/a", "pattern": "a" }),
            json!({ "argument": "/a", "pattern": "a|b" })
        ));
        assert!(!implies(OUTPUT_DIGEST, json!("0".repeat(64)), json!("1".repeat(64))));
        // What the host does not know it cannot compare, unless the two are the same.
        assert!(implies("phase_of_moon", json!("new"), json!("new")));
        assert!(!implies("phase_of_moon", json!("new"), json!("full")));
    }
}
