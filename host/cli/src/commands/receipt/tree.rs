//! `receipt explain --tree`: everything that was done under one capability, and under those that were derived from it.

use std::collections::{BTreeMap, BTreeSet};

use chio_host_kernel::canonical::printable;
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::Format;
use crate::error::CliError;
use crate::ledger::{Go, Reader};
use crate::print;

/// The most receipts of one tree. What is beyond is said, and not drawn.
const MOST: usize = 10_000;

/// The receipts of one root capability, oldest first.
struct Tree {
    root: String,
    receipts: Vec<Value>,
    left_out: usize,
}

pub(super) fn run(format: Format, ledger: &Reader, record: &Value) -> Result<Outcome, CliError> {
    let root = root(record).to_owned();
    let mut tree = Tree { root, receipts: Vec::new(), left_out: 0 };
    ledger.receipts(|entry| {
        if let Some(receipt) = entry.receipt
            && self::root(&receipt) == tree.root
        {
            if tree.receipts.len() < MOST {
                tree.receipts.push(receipt);
            } else {
                tree.left_out += 1;
            }
        }
        Ok(Go::On)
    })?;
    let drawn = tree.capability(&tree.root, &tree.root);
    match format {
        Format::Json => print::document(format, &drawn)?,
        Format::Human => {
            let mut lines = Vec::new();
            draw(&drawn, "", "", &mut lines);
            if tree.left_out > 0 {
                lines.push(format!("and {} more receipts", tree.left_out));
            }
            print::text(&(lines.join("\n") + "\n"))?;
        }
    }
    Ok(Outcome::Done)
}

fn attribution(receipt: &Value) -> &Value {
    &receipt["metadata"]["attribution"]
}

fn chain(receipt: &Value) -> impl Iterator<Item = &str> {
    let above = attribution(receipt)["delegation_chain"].as_array().map(Vec::as_slice).unwrap_or_default();
    above.iter().filter_map(Value::as_str).chain(receipt["capability_id"].as_str())
}

/// The capability that a trusted issuer signed.
fn root(receipt: &Value) -> &str {
    chain(receipt).next().unwrap_or_default()
}

fn operation(receipt: &Value) -> Option<&str> {
    receipt["metadata"]["chio_host"]["operation_id"].as_str()
}

fn parent(receipt: &Value) -> Option<&str> {
    receipt["metadata"]["chio_host"]["parent"]["operation_id"].as_str()
}

impl Tree {
    /// A capability with the calls under it, then with those that were derived from it. `path` is its chain.
    fn capability(&self, id: &str, path: &str) -> Value {
        let of = |receipt: &&Value| chain(receipt).collect::<Vec<_>>().join("\0") == path;
        let own = self.receipts.iter().filter(of);
        let known: BTreeSet<&str> = own.clone().filter_map(operation).collect();
        // A nested call stands below the call that it was made in.
        let is_top = |receipt: &&Value| parent(receipt).is_none_or(|parent| !known.contains(parent));
        let mut children: Vec<Value> = own.clone().filter(is_top).map(|receipt| self.call(receipt)).collect();
        let depth = path.split('\0').count();
        let below: BTreeMap<&str, String> = self
            .receipts
            .iter()
            .filter_map(|receipt| {
                let chain: Vec<&str> = chain(receipt).collect();
                let is_below = chain.len() > depth && chain[..depth].join("\0") == path;
                is_below.then(|| (chain[depth], chain[..=depth].join("\0")))
            })
            .collect();
        children.extend(below.into_iter().map(|(id, path)| self.capability(id, &path)));
        let subject = own.clone().next().map(|receipt| attribution(receipt)["subject_key"].clone());
        json!({ "capability": id, "subject": subject, "children": children })
    }

    /// A call with what was called in it. An operation has its nested calls under its last receipt.
    fn call(&self, receipt: &Value) -> Value {
        let is_last = self.receipts.iter().rev().find(|r| operation(r) == operation(receipt)) == Some(receipt);
        let nested = operation(receipt).filter(|_| is_last).map(|own| {
            let of = |r: &&Value| parent(r) == Some(own);
            self.receipts.iter().filter(of).map(|r| self.call(r)).collect::<Vec<_>>()
        });
        json!({
            "receipt": receipt["id"],
            "verdict": receipt["decision"]["verdict"],
            "reason": receipt["decision"]["reason"],
            "call": format!("{}/{}", receipt["tool_server"].as_str().unwrap_or("?"), receipt["tool_name"].as_str().unwrap_or("?")),
            "cost": receipt["metadata"]["chio_host"]["cost"]["realized"],
            "approval": receipt["metadata"]["chio_host"]["approval"]["id"],
            "children": nested.unwrap_or_default(),
        })
    }
}

/// One line for a node, and those of its children below it.
fn draw(node: &Value, before: &str, below: &str, lines: &mut Vec<String>) {
    let text = |name: &str| printable(node[name].as_str().unwrap_or_default(), 200);
    let short = |name: &str| text(name).chars().take(16).collect::<String>();
    let line = if node["capability"].is_string() {
        let holder =
            if node["subject"].is_string() { format!(", held by {}", short("subject")) } else { String::new() };
        format!("capability {}{holder}", text("capability"))
    } else {
        let cost = node["cost"]["units"].as_u64().filter(|units| *units > 0);
        let cost = cost.map(|units| format!(", {units} {}", node["cost"]["currency"].as_str().unwrap_or("?")));
        let approval = node["approval"].as_str().map(|id| format!(", approved by {}", printable(id, 64)));
        let reason = node["reason"].as_str().map(|why| format!(": {}", printable(why, 160)));
        format!(
            "{} {}  {}{}{}{}",
            text("verdict"),
            text("call"),
            short("receipt"),
            cost.unwrap_or_default(),
            approval.unwrap_or_default(),
            reason.unwrap_or_default(),
        )
    };
    lines.push(format!("{before}{line}"));
    let children = node["children"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (i, child) in children.iter().enumerate() {
        let (branch, trunk) = if i + 1 < children.len() { ("├─ ", "│  ") } else { ("└─ ", "   ") };
        draw(child, &format!("{below}{branch}"), &format!("{below}{trunk}"), lines);
    }
}
