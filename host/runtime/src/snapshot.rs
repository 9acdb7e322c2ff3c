//! The kernel's snapshot of a call as a guest sees it. Nothing is copied but references.

use chio_host_kernel::call::{EffectClass, Snapshot};
use chio_host_kernel::capability::Operation;
use chio_host_kernel::facts::{self, FactKind};
use chio_host_kernel::ports::CounterView;

use crate::bindings::guard::chio::plugin::{call as wit, types};

/// The words of each argument vector among the facts, which the converted facts borrow.
pub(crate) fn words(call: &Snapshot) -> Vec<Vec<&str>> {
    call.facts
        .iter()
        .filter_map(|fact| match &fact.kind {
            FactKind::CommandWords(words) => Some(words.iter().map(String::as_str).collect()),
            _ => None,
        })
        .collect()
}

/// The facts, with the words that [`words`] collected.
pub(crate) fn facts<'a>(call: &'a Snapshot, words: &'a [Vec<&'a str>]) -> Vec<wit::Fact<'a>> {
    let mut words = words.iter();
    call.facts
        .iter()
        .map(|fact| wit::Fact {
            at: &fact.at,
            kind: match &fact.kind {
                FactKind::Path(path) => {
                    wit::FactKind::Path(wit::PathFact { raw: &path.raw, normalised: path.normalised.as_deref() })
                }
                FactKind::Url(url) => {
                    wit::FactKind::Url(wit::UrlFact { raw: &url.raw, parsed: url.parsed.as_ref().map(parsed_url) })
                }
                FactKind::CommandLine(line) => wit::FactKind::Command(wit::CommandFact::Line(line)),
                FactKind::CommandWords(_) => {
                    wit::FactKind::Command(wit::CommandFact::Words(words.next().map_or(&[], Vec::as_slice)))
                }
                FactKind::Content(text) => wit::FactKind::Content(text),
                FactKind::Text(text) => wit::FactKind::Text(text),
                FactKind::Key(key) => wit::FactKind::Key(key),
            },
        })
        .collect()
}

fn parsed_url(url: &facts::ParsedUrl) -> wit::Url<'_> {
    wit::Url {
        href: &url.href,
        scheme: &url.scheme,
        host_kind: match url.host_kind {
            facts::HostKind::Domain => wit::HostKind::Domain,
            facts::HostKind::Ipv4 => wit::HostKind::Ipv4,
            facts::HostKind::Ipv6 => wit::HostKind::Ipv6,
            facts::HostKind::None => wit::HostKind::None,
        },
        host: &url.host,
        port: url.port,
        path: &url.path,
        has_credentials: url.has_credentials,
    }
}

/// The counters of the guard that is asked.
pub(crate) fn counters(counters: &[CounterView]) -> Vec<wit::Counter<'_>> {
    counters
        .iter()
        .map(|counter| wit::Counter { name: &counter.name, window_seconds: counter.window_seconds, used: counter.used })
        .collect()
}

/// The whole, with converted facts and counters.
pub(crate) fn snapshot<'a>(
    call: &'a Snapshot,
    facts: &'a [wit::Fact<'a>],
    counters: &'a [wit::Counter<'a>],
) -> wit::Snapshot<'a> {
    wit::Snapshot {
        request_id: call.request_id.as_str(),
        agent: &call.agent,
        capability_id: &call.capability_id,
        grant_index: call.grant_index,
        delegation_depth: call.delegation_depth,
        server: &call.server,
        tool: &call.tool,
        operation: match call.operation {
            Operation::Invoke => wit::Operation::Invoke,
            Operation::ReadResult => wit::Operation::ReadResult,
            Operation::Subscribe => wit::Operation::Subscribe,
            Operation::Delegate => wit::Operation::Delegate,
        },
        effect_class: match call.effect_class {
            EffectClass::Pure => wit::EffectClass::Pure,
            EffectClass::ReadOnly => wit::EffectClass::ReadOnly,
            EffectClass::SideEffecting => wit::EffectClass::SideEffecting,
        },
        arguments: call.arguments.canonical(),
        parameter_hash: call.arguments.hash(),
        facts,
        counters,
        exposure: call
            .exposure
            .as_ref()
            .map(|money| types::Money { units: money.units, currency: money.currency.as_str() }),
        time: call.time,
        depth: call.depth,
    }
}
