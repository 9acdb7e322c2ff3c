//! The reference components in the sandbox.

use std::collections::BTreeMap;

use chio_host_builtin::Kind;
use chio_host_kernel::call::{Arguments, Snapshot};
use chio_host_kernel::facts::{ArgumentFact, ArgumentKind, extract};
use chio_host_kernel::ports::{Guard, GuardDecision, HookVerdict, OutputHook};
use serde_json::json;

use crate::guard::WasmGuard;
use crate::hook::WasmHook;
use crate::limits::Limits;
use crate::server::WasmToolServer;
use crate::testing::{patient, plugin, runtime, snapshot};

#[tokio::test]
async fn every_reference_component_loads_under_the_default_limits() {
    let runtime = runtime();
    for builtin in chio_host_builtin::all() {
        let loaded = match builtin.kind {
            Kind::Guard => WasmGuard::load(&runtime, &plugin(builtin.bytes, patient(Limits::GUARD))).await.err(),
            Kind::Hook => WasmHook::load(&runtime, &plugin(builtin.bytes, patient(Limits::HOOK))).await.err(),
            Kind::ToolServer => {
                let plugin = plugin(builtin.bytes, patient(Limits::TOOL));
                WasmToolServer::load(&runtime, &plugin, Vec::new(), BTreeMap::new()).await.err()
            }
        };
        assert!(loaded.is_none(), "{}: {}", builtin.name, loaded.unwrap());
    }
}

fn reading(path: &str) -> Snapshot {
    let arguments = json!({ "path": path });
    let described = [ArgumentFact { at: "/path".to_owned(), is: ArgumentKind::Path }];
    Snapshot { facts: extract(&arguments, &described), arguments: Arguments::new(arguments).unwrap(), ..snapshot() }
}

/// The whole snapshot goes through the canonical ABI, facts and all.
#[tokio::test]
async fn a_guard_judges_the_facts_of_a_call() {
    let builtin = chio_host_builtin::find(Kind::Guard, "forbidden_path").unwrap();
    let guard = WasmGuard::load(&runtime(), &plugin(builtin.bytes, patient(Limits::GUARD))).await.unwrap();
    let decide = async |path: &str| guard.check(&reading(path), &[]).await.outcome.unwrap().decision;
    assert!(matches!(decide("/etc/shadow").await, GuardDecision::Deny(_)));
    assert_eq!(decide("notes.txt").await, GuardDecision::Allow(Vec::new()));
}

#[tokio::test]
async fn a_hook_redacts_and_its_replacement_is_parsed() {
    let builtin = chio_host_builtin::find(Kind::Hook, "secret_redactor").unwrap();
    let hook = WasmHook::load(&runtime(), &plugin(builtin.bytes, patient(Limits::HOOK))).await.unwrap();
    let ran = hook.inspect(&snapshot(), r#"{"key":"AKIAIOSFODNN7EXAMPLE"}"#).await;
    let HookVerdict::Redact { value, what } = ran.outcome.unwrap() else { panic!("it is not redacted") };
    assert!(!value.to_string().contains("AKIAIOSFODNN7EXAMPLE"));
    assert_eq!(what.iter().map(|removal| removal.count).sum::<u32>(), 1);
    assert_eq!(hook.inspect(&snapshot(), r#""harmless""#).await.outcome, Ok(HookVerdict::Allow));
}
