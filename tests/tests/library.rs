//! The library of guards over calls that people really make: `tests/corpus` has none that the example policy may deny.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chio_host_builtin::Kind;
use chio_host_kernel::call::Snapshot;
use chio_host_kernel::facts::{ArgumentFact, ArgumentKind};
use chio_host_kernel::ports::{Guard, GuardDecision};
use chio_host_runtime::{Limits, Plugin, Runtime, RuntimeConfig, WasmGuard};
use chio_host_tests::fixture;
use serde_json::Value;

/// How many tasks ask at once.
const ASKERS: usize = 4;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The guards that the example policy has with nothing but `enabled`.
fn default_guards() -> Vec<String> {
    let policy = std::fs::read_to_string(repository("examples/policies/guarded.yaml")).expect("the example is there");
    let guards = policy.split("guards:").nth(1).and_then(|rest| rest.split("\nhooks:").next()).expect("it has guards");
    let name = |line: &str| {
        let (name, value) = line.strip_prefix("  ")?.split_once(": ")?;
        value.starts_with("{ enabled: true }").then(|| name.to_owned())
    };
    guards.lines().filter_map(name).collect()
}

/// What a manifest would say of the corpus' tools; `tests/corpus/README.md` lists them.
fn described(server: &str, tool: &str) -> Vec<ArgumentFact> {
    let at = |at: &str, is| ArgumentFact { at: at.to_owned(), is };
    match (server, tool) {
        ("shell", "run") => vec![at("/command", ArgumentKind::Command)],
        ("files", _) => vec![at("/path", ArgumentKind::Path), at("/content", ArgumentKind::Content)],
        ("web", "fetch") => vec![at("/url", ArgumentKind::Url)],
        ("git", "apply_patch") => vec![at("/patch", ArgumentKind::Content)],
        _ => Vec::new(),
    }
}

/// Every call of the corpus, with the place where it stands.
fn corpus() -> Vec<(String, Snapshot)> {
    let mut calls = Vec::new();
    for subject in ["shell", "paths", "urls", "patches", "sql", "text"] {
        let file = format!("tests/corpus/{subject}.jsonl");
        let text = std::fs::read_to_string(repository(&file)).expect("the corpus is there");
        for (index, line) in text.lines().enumerate() {
            let mut call: Value = serde_json::from_str(line).expect("a call");
            let name = |key: &str| call[key].as_str().expect("a name").to_owned();
            let (server, tool) = (name("server"), name("tool"));
            let described = described(&server, &tool);
            let snapshot = fixture::described_snapshot(&server, &tool, call["arguments"].take(), &described);
            calls.push((format!("{file}:{}", index + 1), snapshot));
        }
    }
    calls
}

async fn load(name: &str, runtime: &Runtime) -> Arc<WasmGuard> {
    let bytes = chio_host_builtin::find(Kind::Guard, name).unwrap_or_else(|| panic!("{name} is embedded")).bytes;
    // The machine may be busy, and the corpus says nothing of time.
    let limits = Limits { deadline: std::time::Duration::from_mins(1), ..Limits::GUARD };
    let plugin = Plugin { name, bytes, config: &Value::Null, limits };
    Arc::new(WasmGuard::load(runtime, &plugin).await.expect("it loads"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_of_the_corpus_is_denied() {
    let runtime = Runtime::new(RuntimeConfig { places: 8, ..RuntimeConfig::default() }).expect("the engine starts");
    let mut guards = Vec::new();
    for name in default_guards() {
        guards.push(load(&name, &runtime).await);
    }
    assert!(guards.len() >= 5, "the example has a default set");
    let calls = Arc::new(corpus());
    assert!(calls.len() >= 500, "only {} calls", calls.len());
    let guards = Arc::new(guards);
    let tasks: Vec<_> = (0..ASKERS)
        .map(|asker| {
            let (calls, guards) = (calls.clone(), guards.clone());
            tokio::spawn(async move {
                let mut refused = Vec::new();
                for (at, call) in calls.iter().skip(asker).step_by(ASKERS) {
                    for guard in guards.iter() {
                        let name = guard.component().name.clone();
                        let why = match guard.check(call, &[]).await.outcome {
                            Ok(verdict) => match verdict.decision {
                                GuardDecision::Allow(_) => continue,
                                GuardDecision::Deny(why) => why,
                                GuardDecision::PendingApproval(why) => format!("asks: {why}"),
                            },
                            Err(fault) => format!("error: {fault}"),
                        };
                        refused.push((at.clone(), name, why));
                    }
                }
                refused
            })
        })
        .collect();
    let mut refused = Vec::new();
    for task in tasks {
        refused.extend(task.await.expect("no guard panics the host"));
    }
    refused.sort();
    let said = refused.iter().fold(String::new(), |mut said, (at, guard, why)| {
        writeln!(said, "{at}: {guard}: {why}").expect("a string takes it");
        said
    });
    assert!(refused.is_empty(), "{} false alarms over {} calls:\n{said}", refused.len(), calls.len());
}
