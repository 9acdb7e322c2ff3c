//! `capabilities`: what the host issues to its own agent.

use chio_host_kernel::call::MAX_NAME;
use chio_host_kernel::canonical::MAX_INTEGER;
use chio_host_kernel::capability::{ANY, Constraint, Operation};
use chio_host_kernel::money::Money;
use serde_json::Value;

use super::money::need_currency;
use super::{is_name, named};
use crate::problem::{Located, quote};
use crate::yaml::{Cursor, Fields};

/// One capability, as written.
#[derive(Debug)]
pub(crate) struct CapabilityEntry {
    pub(crate) name: String,
    pub(crate) grants: Vec<GrantEntry>,
}

/// One tool of a capability, as written. `None` where a value was refused or is not there.
#[derive(Debug)]
pub(crate) struct GrantEntry {
    pub(crate) server: Option<Located<String>>,
    pub(crate) tool: Option<String>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) ttl_secs: Option<Located<u64>>,
    pub(crate) max_invocations: Option<u64>,
    pub(crate) max_cost_per_invocation: Option<Located<CostCap>>,
    pub(crate) max_total_cost: Option<Located<CostCap>>,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) dpop_required: bool,
}

/// A cap on costs: in the currency of the server's price, or in its own.
#[derive(Clone, Debug)]
pub(crate) enum CostCap {
    Units(u64),
    Money(Money),
}

pub(super) fn read(section: &Cursor<'_>) -> Option<Vec<CapabilityEntry>> {
    let entries = named(section, "a mapping of capabilities, such as default: { tools: [...] }")?;
    let read = |(name, cursor): (Located<String>, Cursor<'_>)| {
        cursor.fields("a mapping, such as { tools: [...] }", |f| {
            let tools = f.need("tools", "a list of what the capability covers").and_then(|c| tools(&c));
            CapabilityEntry { name: name.value, grants: tools.unwrap_or_default() }
        })
    };
    Some(entries.into_iter().filter_map(read).collect())
}

fn tools(list: &Cursor<'_>) -> Option<Vec<GrantEntry>> {
    const EXAMPLE: &str = "{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }";
    let items = list.list(&format!("a list, such as [{EXAMPLE}]"))?;
    if items.is_empty() {
        list.refuse("covers nothing; name a tool, or remove the capability");
    }
    let grant = |item: &Cursor<'_>| item.fields(&format!("a mapping, such as {EXAMPLE}"), grant);
    Some(items.iter().filter_map(grant).collect())
}

fn grant(f: &mut Fields<'_, '_>) -> GrantEntry {
    GrantEntry {
        server: f.need("server", "a tool server's name, or \"*\"").and_then(|c| server(&c)),
        tool: f.need("tool", "a tool's name, or \"*\"").and_then(|c| tool(&c)),
        operations: f.need("operations", "a list, such as [invoke]").and_then(|c| operations(&c)).unwrap_or_default(),
        ttl_secs: f.need("ttl", "seconds, such as 300").and_then(|c| Some(c.locate(c.integer(1..=MAX_INTEGER)?))),
        max_invocations: f.take("max_invocations").and_then(|c| c.integer(1..=MAX_INTEGER)),
        max_cost_per_invocation: f.take("max_cost_per_invocation").and_then(|c| cost_cap(&c)),
        max_total_cost: f.take("max_total_cost").and_then(|c| cost_cap(&c)),
        constraints: f.or("constraints", Vec::new(), |c| constraints(&c)),
        dpop_required: f.or("dpop_required", false, |c| c.boolean()),
    }
}

fn server(cursor: &Cursor<'_>) -> Option<Located<String>> {
    let name = cursor.text("a tool server's name")?;
    if name != ANY && !is_name(name) {
        let shown = quote(name);
        cursor.refuse(format!("{shown} is no usable name; 1 to 64 of A-Z, a-z, 0-9, _ and - are, or \"*\""));
        return None;
    }
    Some(cursor.locate(name.to_owned()))
}

/// A tool's name, or [`ANY`].
pub(super) fn tool(cursor: &Cursor<'_>) -> Option<String> {
    let name = cursor.text("a tool's name")?;
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        cursor.refuse(format!("is no usable tool name; 1 to {MAX_NAME} bytes without control characters are"));
        return None;
    }
    Some(name.to_owned())
}

fn operations(cursor: &Cursor<'_>) -> Option<Vec<Operation>> {
    const CHOICES: [(&str, Operation); 4] = [
        ("invoke", Operation::Invoke),
        ("read_result", Operation::ReadResult),
        ("subscribe", Operation::Subscribe),
        ("delegate", Operation::Delegate),
    ];
    let items = cursor.list("a list, such as [invoke]")?;
    if items.is_empty() {
        cursor.refuse("allows nothing; name an operation, such as invoke");
    }
    let mut operations = Vec::new();
    for item in &items {
        let Some(operation) = item.choice(&CHOICES) else { continue };
        if operations.contains(&operation) {
            item.refuse("stands twice; keep one");
        }
        operations.push(operation);
    }
    Some(operations)
}

fn cost_cap(cursor: &Cursor<'_>) -> Option<Located<CostCap>> {
    if cursor.is_integer() {
        let units = cursor.integer(0..=MAX_INTEGER)?;
        return Some(cursor.locate(CostCap::Units(units)));
    }
    let money = cursor.fields("minor units, such as 10, or { units: 10, currency: USD }", |f| {
        let units = f.need("units", "minor units, such as 10").and_then(|c| c.integer(0..=MAX_INTEGER));
        let currency = need_currency(f);
        Some(Money { units: units?, currency: currency? })
    })??;
    Some(cursor.locate(CostCap::Money(money)))
}

fn constraints(cursor: &Cursor<'_>) -> Option<Vec<Constraint>> {
    let items = cursor.list("a list, such as [{ type: path_prefix, value: /data }]")?;
    Some(items.iter().filter_map(constraint).collect())
}

fn constraint(item: &Cursor<'_>) -> Option<Constraint> {
    let constraint = item.fields("a mapping, such as { type: path_prefix, value: /data }", |f| {
        let kind = f.need("type", "a constraint's type, such as path_prefix").and_then(|c| c.text("a type"));
        let value = f.or("value", Value::Null, |c| Some(c.json()));
        Some(Constraint { kind: kind?.to_owned(), value })
    })??;
    // The kernel knows what it enforces.
    match constraint.check() {
        Ok(()) => Some(constraint),
        Err(unmet) => {
            item.refuse(unmet.to_string());
            None
        }
    }
}
