//! Every limit has a component that breaks it: what the error, the receipt and the exit code say then is the page
//! `docs/limits.md`.

mod breaches;

use std::time::Duration;

use chio_host_builtin::testing::INTRUDER;
use chio_host_kernel::MAX_NESTED_DEPTH;
use chio_host_runtime::Limits;
use chio_host_tests::hostile;
use serde_json::{Value, json};

use self::breaches::{By, LOOP};
use crate::session::Session;
use crate::support::Place;
use crate::table::{Met, NOT_LOADED, call, code, holds, table};

const HELLO: &str = "{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }";
const INVOKES: &str = "permissions: { invoke: [{ server: intruder, tool: descend }] }";

/// A folder with a policy that uses the component, and nothing else that could refuse.
fn place(by: &By, limits: &str) -> Place {
    let place = Place::new();
    let (bytes, section, grant) = match by {
        By::Plugin(kind, bytes) => (
            bytes.as_slice(),
            format!("{kind}s: {{ hostile: {{ component: hostile.wasm, limits: {limits} }} }}"),
            HELLO,
        ),
        By::Tool(_) => (
            INTRUDER,
            format!("servers: {{ intruder: {{ component: hostile.wasm, limits: {limits}, {INVOKES} }} }}"),
            "{ server: intruder, tool: \"*\", operations: [invoke, delegate], ttl: 300 }",
        ),
    };
    place.write("hostile.wasm", bytes);
    place.write(
        "policy.yaml",
        format!(
            "plugins: {{ allow_unsigned: true }}\nkernel: {{ nested_depth_limit: 1 }}\n{section}\n\
            capabilities: {{ default: {{ tools: [{grant}] }} }}\n"
        ),
    );
    place
}

fn meet(place: &Place, by: &By) -> Met {
    let done = match by {
        By::Plugin(..) => call(place, "hello", "hello_world", r#"{"name":"Chio"}"#),
        By::Tool(tool) => call(place, "intruder", tool, "{}"),
    };
    let mut met = Met::of(place, &done);
    met.says = met.says.replace(&format!("{}/", place.path().canonicalize().unwrap().display()), "");
    met
}

fn name(by: &By) -> (&'static str, &'static str) {
    match by {
        By::Plugin(kind, _) => (kind, kind),
        By::Tool(_) => ("tool", "tool"),
    }
}

fn row(limit: &str, who: &str, met: &Met, exit: &str) -> [String; 5] {
    let receipt = if met.code == NOT_LOADED { met.code.clone() } else { code(&met.code) };
    [limit.to_owned(), who.to_owned(), code(&met.says), receipt, exit.to_owned()]
}

/// A limit, its key, and its default.
type Limit = (&'static str, &'static str, fn(&Limits) -> String);

/// Every limit of a component, in the order of the page.
const LIMITS: [Limit; 12] = [
    ("fuel", "limits.fuel", |l| count(l.fuel)),
    ("deadline", "limits.deadline", |l| time(l.deadline)),
    ("memory", "limits.memory", |l| bytes(l.memory_bytes)),
    ("tables", "limits.table_elements", |l| format!("{} elements", count(l.table_elements))),
    ("instances", "limits.instances", |l| count(l.instances)),
    ("component size", "limits.component", |l| bytes(l.component_bytes)),
    ("compile time", "limits.compile_time", |l| time(l.compile_time)),
    ("compile memory", "limits.compile_memory", |l| bytes(l.compile_memory_bytes)),
    ("output", "limits.output", |l| bytes(l.output_bytes)),
    ("log", "limits.log", |l| bytes(l.log_bytes)),
    ("stdio", "limits.stdio", |l| bytes(l.stdio_bytes)),
    ("concurrency", "limits.concurrency", |l| count(l.concurrency)),
];
/// The one that is no component's own.
const DEPTH: &str = "nested depth";

fn count(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group)).collect();
    groups.join(",")
}

fn bytes(number: u64) -> String {
    match number {
        0 => "nothing".to_owned(),
        n if n.is_multiple_of(1 << 30) => format!("{} GiB", n >> 30),
        n if n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
        n => format!("{} bytes", count(n)),
    }
}

fn time(duration: Duration) -> String {
    match duration.as_millis() {
        ms if ms.is_multiple_of(60_000) => format!("{} min", ms / 60_000),
        ms if ms.is_multiple_of(1000) => format!("{} s", ms / 1000),
        ms => format!("{ms} ms"),
    }
}

#[test]
fn every_limit_is_on_the_page_with_its_defaults() {
    // A limit that is added is one that the page has to name.
    let known = serde_json::to_value(Limits::GUARD).unwrap();
    assert_eq!(known.as_object().unwrap().len(), LIMITS.len());
    let roles = [Limits::GUARD, Limits::HOOK, Limits::TOOL, Limits::RAIL];
    let rows = LIMITS.iter().map(|(limit, key, default)| {
        let [guard, hook, tool, rail] = roles.each_ref().map(default);
        [(*limit).to_owned(), code(key), guard, hook, tool, rail]
    });
    let depth = format!("{MAX_NESTED_DEPTH}, for all calls");
    let none = |what: &str| format!("none: {what} call no tools");
    let last =
        [DEPTH.to_owned(), code("kernel.nested_depth_limit"), none("guards"), none("hooks"), depth, none("rails")];
    let rows: Vec<_> = rows.chain([last]).collect();
    holds("limits.md", "limits", &table(["limit", "key in the policy", "guard", "hook", "tool", "rail"], &rows));
}

#[test]
fn every_limit_is_broken_and_says_so() {
    let mut rows = Vec::new();
    for breach in breaches::all() {
        let place = place(&breach.by, breach.limits);
        let met = meet(&place, &breach.by);
        let shown = format!("{} {}: {met:?}", breach.limit, breach.does);
        assert!(met.says.contains(breach.says), "{shown}");
        assert_eq!(met.stopped.as_deref(), breach.stop, "{shown}");
        let (who, stage) = name(&breach.by);
        match breach.stop {
            Some(stop) => assert_eq!(met.code, format!("{stage}.{stop}"), "{shown}"),
            None => assert_eq!((met.code.as_str(), met.exit), (NOT_LOADED, 1), "{shown}"),
        }
        // Guards and hooks refuse; a tool that was entered has failed.
        let exit = if breach.stop.is_some() && stage != "tool" { 2 } else { 1 };
        assert_eq!(met.exit, exit, "{shown}");
        rows.push(row(breach.limit, &format!("a {who} that {}", breach.does), &met, &met.exit.to_string()));
    }
    rows.push(too_deep());
    rows.push(too_many_at_once());
    let position = |row: &[String; 5]| LIMITS.iter().position(|(limit, ..)| *limit == row[0]).unwrap_or(LIMITS.len());
    rows.sort_by_key(position);
    for (limit, ..) in &LIMITS {
        assert!(rows.iter().any(|row| row[0] == *limit), "nothing breaks the limit on {limit}");
    }
    let head = ["limit", "broken by", "the error says", "code in the receipt", "exit code"];
    holds("limits.md", "breaches", &table(head, &rows));
}

/// A tool that calls itself, within itself.
fn too_deep() -> [String; 5] {
    let by = By::Tool("descend");
    let place = place(&by, "{ deadline: 2m }");
    let met = meet(&place, &by);
    assert!(met.says.contains("nested calls go at most 1 deep"), "{met:?}");
    assert_eq!((met.code.as_str(), met.exit), ("tool.failed", 1), "{met:?}");
    let inner = receipts(&place).remove(0);
    let own = &inner["metadata"]["chio_host"];
    assert_eq!((&own["code"], &own["stopped"]["by"]), (&json!("tool.depth"), &json!("depth")), "{own}");
    let explained = place.run(&["receipt", "explain", inner["id"].as_str().unwrap()]);
    assert_eq!(explained.field("stopped"), "intruder by depth", "{explained:?}");
    let receipt = format!("{} of the call that is too deep; {} of the outer one", code("tool.depth"), code(&met.code));
    let who = "a tool that calls itself, within itself".to_owned();
    [DEPTH.to_owned(), who, code(&met.says), receipt, met.exit.to_string()]
}

/// Calls that wait for one guard's only place: it is taken until the first has used up its time, and then by the next.
fn too_many_at_once() -> [String; 5] {
    let by = By::Plugin("guard", hostile::guard(LOOP));
    let place = place(&by, "{ concurrency: 1, fuel: 9_000_000_000_000_000, deadline: 2s }");
    let mut session = Session::open(&place, &[]);
    for id in 1..=4 {
        session.call(id, "hello__hello_world", &json!({ "name": "Chio" }), &json!({}));
    }
    for _ in 1..=4 {
        assert_eq!(session.hear()["result"]["isError"], true);
    }
    session.leave();
    let receipts = receipts(&place);
    let refused = receipts.iter().find(|r| r["metadata"]["chio_host"]["code"] == "guard.concurrency");
    let refused = refused.unwrap_or_else(|| panic!("all had a place: {receipts:?}"));
    assert_eq!(refused["metadata"]["chio_host"]["stopped"]["by"], "concurrency");
    let says = refused["decision"]["reason"].as_str().unwrap();
    let who = "a guard that keeps its only place".to_owned();
    ["concurrency".to_owned(), who, code(says), code("guard.concurrency"), "0: `run` answers, and goes on".to_owned()]
}

fn receipts(place: &Place) -> Vec<Value> {
    place.run(&["receipt", "list", "--format", "json"]).json_lines()
}

/// The same components, and all that is wrong with them is what they do.
#[test]
fn what_stays_within_its_limits_is_not_stopped() {
    for by in
        [By::Plugin("guard", hostile::guard("nop")), By::Plugin("hook", hostile::hook("nop")), By::Tool("arguments")]
    {
        let place = place(&by, "{ deadline: 2m }");
        let met = meet(&place, &by);
        assert_eq!((met.exit, met.says.as_str()), (0, ""), "{met:?}");
    }
}
