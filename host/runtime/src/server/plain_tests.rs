//! Components that nobody wrote for this host, run as tool servers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chio_host_builtin::testing::{NOTES, PLAIN_FETCH, PLAIN_TYPES};
use chio_host_kernel::call::{Arguments, EffectClass, Signals};
use chio_host_kernel::ports::{Entry, Fault, Stop, ToolError, ToolRan, ToolServer};
use serde_json::{Value, json};

use super::{Described, Permissions, WasmToolServer};
use crate::error::LoadError;
use crate::files::{Access, FileGrant};
use crate::limits::Limits;
use crate::outbound::{NetworkGrant, Outbound};
use crate::plugin::Plugin;
use crate::testing::{invocation, patient, plain, plugin, runtime};
use crate::testing_http::{HttpServer, ok};

const ENOUGH: Duration = Duration::from_mins(1);

async fn try_load(bytes: &[u8], permissions: impl Into<Permissions>) -> Result<WasmToolServer, LoadError> {
    let plugin = plugin(bytes, patient(Limits::TOOL));
    WasmToolServer::load(&runtime(), &plugin, permissions, Described::default()).await
}

async fn load(bytes: &[u8], permissions: impl Into<Permissions>) -> WasmToolServer {
    try_load(bytes, permissions).await.unwrap()
}

async fn call(server: &WasmToolServer, tool: &str, arguments: Value) -> ToolRan {
    let mut invocation = invocation(ENOUGH, Signals::default());
    let snapshot = Arc::get_mut(&mut invocation.snapshot).unwrap();
    snapshot.tool = tool.to_owned();
    snapshot.arguments = Arguments::new(arguments).unwrap();
    server.run(invocation).await
}

/// What a tool that was entered answered: its value, or its message.
async fn answer(server: &WasmToolServer, tool: &str, arguments: Value) -> Result<Value, String> {
    let ran = call(server, tool, arguments).await;
    assert_eq!(ran.entry, Entry::Entered);
    assert!(ran.ran.fuel > 0);
    ran.ran.outcome.unwrap().map(|output| output.value).map_err(|error| match error {
        ToolError::Failed(why) => why,
        other => panic!("{other:?}"),
    })
}

async fn fault(server: &WasmToolServer, tool: &str, arguments: Value) -> Fault {
    call(server, tool, arguments).await.ran.outcome.unwrap_err()
}

fn everything() -> Value {
    json!({
        "a-bool": true, "a-u8": 255, "a-s8": -128, "a-u16": 65535, "a-s16": -32768, "a-u32": 4_294_967_295_u32,
        "a-s32": -2_147_483_648_i64, "a-u64": "18446744073709551615", "a-s64": -9_007_199_254_740_991_i64,
        "a-f32": 0.1, "a-f64": "-Infinity", "a-char": "💧", "a-string": "a\u{0}\"ü",
        "bytes": "AP8=",
        "points": [{ "x": 1, "y": 2 }, { "x": -1, "y": null }],
        "pair": ["p", "dark-green"],
        "shape": { "tag": "polygon", "value": [{ "x": 0, "y": null }] },
        "color": "red",
        "access": ["read", "execute"],
        "maybe": null,
        "twice": { "some": null },
        "outcome": { "tag": "err", "value": "no" },
        "bare": { "tag": "ok" },
    })
}

#[tokio::test]
async fn every_type_goes_through_a_component_and_back() {
    let server = load(PLAIN_TYPES, Vec::new()).await;
    assert_eq!(server.effect_class(), EffectClass::Pure);
    let mut given = json!({ "value": everything() });
    assert_eq!(answer(&server, "echo_all", given.clone()).await, Ok(everything()));
    // What is left out is none.
    given["value"].as_object_mut().unwrap().remove("maybe");
    given["value"]["points"][1].as_object_mut().unwrap().remove("y");
    assert_eq!(answer(&server, "echo_all", given).await, Ok(everything()));
    let many = json!({
        "a": 1, "b": -2, "c": 3, "d": 4, "e": 5.5, "f": 6.5, "g": "7", "h": false, "i": "9", "j": ["10", ""], "l": "red",
    });
    let told = json!([1, -2, 3, 4, 5.5, 6.5, "7", false, "9", ["10", ""], null, "red"]);
    assert_eq!(answer(&server, "echo_many", many).await, Ok(told));
    assert_eq!(answer(&server, "greet", json!({ "name": "Chio" })).await, Ok(json!("Hello, Chio!")));
    assert_eq!(answer(&server, "counting_add", json!({ "a": 1, "b": 2 })).await, Ok(json!(3)));
    assert_eq!(answer(&server, "echo_nan", json!({})).await, Ok(json!(["NaN", "Infinity", "-Infinity", 0.5])));
}

#[tokio::test]
async fn a_result_is_an_output_or_a_failed_call() {
    let server = load(PLAIN_TYPES, Vec::new()).await;
    let circle = json!({ "tag": "circle", "value": 1.5 });
    assert_eq!(answer(&server, "echo_nothing", json!({})).await, Ok(Value::Null));
    assert_eq!(answer(&server, "echo_succeed", json!({ "value": circle })).await, Ok(circle.clone()));
    let failed = |tool, arguments| answer(&server, tool, arguments);
    let text = r#"{"tag":"circle","value":1.5}"#;
    assert_eq!(failed("echo_fail", json!({ "value": circle })).await, Err(text.to_owned()));
    assert_eq!(failed("echo_fail-with", json!({ "why": "no\u{1b}[31m" })).await, Err("no [31m".to_owned()));
    assert_eq!(failed("echo_fail-with", json!({ "why": "" })).await, Err("no reason given".to_owned()));
    assert_eq!(failed("echo_fail-silently", json!({})).await, Err("it failed, and gave no reason".to_owned()));
}

#[tokio::test]
async fn wrong_arguments_leave_the_component_never_entered() {
    let server = load(PLAIN_TYPES, Vec::new()).await;
    for (tool, arguments, says) in [
        ("greet", json!({}), "the arguments: the parameter \"name\" is missing"),
        ("greet", json!({ "name": 1 }), "/name: a string is needed, and a number is given"),
        ("counting_add", json!({ "a": 1, "b": 1, "c": 1 }), "there is no parameter \"c\"; there are a, b"),
    ] {
        let ran = call(&server, tool, arguments).await;
        assert_eq!((ran.entry, ran.ran.fuel), (Entry::Never, 0));
        match ran.ran.outcome {
            Ok(Err(ToolError::InvalidArguments(why))) => assert!(why.contains(says), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_output_is_bounded_while_it_is_converted() {
    let limits = Limits { output_bytes: 10_000, ..patient(Limits::TOOL) };
    let plugin = plugin(PLAIN_TYPES, limits);
    let server = WasmToolServer::load(&runtime(), &plugin, Vec::new(), Described::default()).await.unwrap();
    let length = |length: u32| json!({ "length": length });
    let too_long = Fault::new(Stop::OutputBytes, "output limit of 10000 bytes reached");
    // Two bytes of JSON for each.
    answer(&server, "echo_quotes", length(4999)).await.unwrap();
    assert_eq!(fault(&server, "echo_quotes", length(5000)).await, too_long);
    // What the host would need to hold it stops it before that.
    assert_eq!(answer(&server, "echo_zeros", length(900)).await.unwrap().as_str().unwrap().len(), 1200);
    for tool in ["echo_zeros", "echo_trues", "echo_quotes"] {
        assert_eq!(fault(&server, tool, length(1_000_000)).await, too_long, "{tool}");
    }
}

#[tokio::test]
async fn limits_hold_as_for_any_other() {
    let fuel = Limits { fuel: 1000, ..patient(Limits::TOOL) };
    let (runtime, plugin) = (runtime(), plugin(PLAIN_TYPES, fuel));
    let server = WasmToolServer::load(&runtime, &plugin, Vec::new(), Described::default()).await.unwrap();
    let stopped = fault(&server, "echo_zeros", json!({ "length": 100_000 })).await;
    assert_eq!(stopped, Fault::new(Stop::Fuel, "fuel limit of 1000 reached"));
    // A world's functions made to trap.
    let trapping = load(&plain("package t:t; world w { export f: func() -> u8; }"), Vec::new()).await;
    assert_eq!(fault(&trapping, "f", json!({})).await.stop, Stop::Trap);
}

#[tokio::test]
async fn files_are_those_of_the_grant() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("milk"), "buy some milk").unwrap();
    let granted = |access| vec![FileGrant::new(folder.path(), "/notes", access).unwrap()];
    let server = load(NOTES, granted(Access::Read)).await;
    assert_eq!(server.effect_class(), EffectClass::ReadOnly);
    let listed = answer(&server, "list-notes", json!({ "folder": "/notes" })).await;
    assert_eq!(listed, Ok(json!([{ "path": "/notes/milk", "words": 3 }])));
    let read = |path: &str| answer(&server, "read-note", json!({ "path": path }));
    assert_eq!(read("/notes/milk").await, Ok(json!("buy some milk")));
    read("/etc/passwd").await.unwrap_err();
    read("/notes/../../etc/passwd").await.unwrap_err();
    assert_eq!(load(NOTES, granted(Access::ReadWrite)).await.effect_class(), EffectClass::SideEffecting);

    let blind = load(NOTES, Vec::new()).await;
    assert_eq!(blind.effect_class(), EffectClass::Pure);
    answer(&blind, "read-note", json!({ "path": "/notes/milk" })).await.unwrap_err();
}

#[tokio::test]
async fn requests_go_where_they_are_granted() {
    let host = HttpServer::start(|_| ok("sunny")).await;
    let to = |network: Vec<NetworkGrant>| Permissions {
        outbound: Outbound { network, secrets: Vec::new() },
        ..Permissions::default()
    };
    let server = load(PLAIN_FETCH, to(vec![host.grant()])).await;
    assert_eq!(server.effect_class(), EffectClass::SideEffecting);
    let url = json!({ "url": host.url("/weather?q=Bern") });
    assert_eq!(answer(&server, "fetch", url.clone()).await, Ok(json!("sunny")));
    assert!(host.requests()[0].starts_with("GET /weather?q=Bern HTTP/1.1\r\n"));
    let refused = answer(&server, "fetch", json!({ "url": "http://127.0.0.1:1/" })).await.unwrap_err();
    assert!(refused.contains("would grant it"), "{refused}");
    let none = load(PLAIN_FETCH, Vec::new()).await;
    assert_eq!(none.effect_class(), EffectClass::Pure);
    answer(&none, "fetch", url).await.unwrap_err();
    assert_eq!(host.requests().len(), 1);
}

#[tokio::test]
async fn a_manifest_may_describe_the_tools_that_there_are() {
    let told = |tool: &str| Described {
        descriptions: BTreeMap::from([(tool.to_owned(), "Greets\u{7}.".to_owned())]),
        ..Described::default()
    };
    let (runtime, plugin) = (runtime(), plugin(PLAIN_TYPES, Limits::TOOL));
    let server = WasmToolServer::load(&runtime, &plugin, Vec::new(), told("greet")).await.unwrap();
    let described = server.tools().iter().find(|tool| tool.name == "greet").unwrap();
    assert_eq!(described.description, "Greets .");
    let error = WasmToolServer::load(&runtime, &plugin, Vec::new(), told("greets")).await.err().unwrap();
    assert!(matches!(error, LoadError::UnknownTool(tool) if tool == "greets"));
}

#[tokio::test]
async fn what_cannot_be_a_server_is_refused() {
    let refused = async |bytes: &[u8]| try_load(bytes, Vec::new()).await.err().unwrap().to_string();
    let resources = plain("package t:t; interface i { resource r { f: func(); } } world w { export i; }");
    let said = refused(&resources).await;
    assert!(
        said.contains("none of its functions can be a tool; t:t/i#[method]r.f: it belongs to a resource"),
        "{said}"
    );
    let needy = plain("package t:t; world w { import help: func(); export f: func(); }");
    assert!(refused(&needy).await.contains("it imports help, which this host does not offer"));
    let keyvalue = plain(
        "package wasi:keyvalue@0.2.0; interface store { get: func(); } world w { import store; export f: func(); }",
    );
    assert!(refused(&keyvalue).await.contains("it imports wasi:keyvalue/store@0.2.0"));
    // A world of this host's, in a version that it does not speak, is not somebody else's.
    let later = plain("package chio:plugin@0.9.0; interface serving { describe: func(); } world w { export serving; }");
    assert!(refused(&later).await.contains("it is of the world unknown"));
}

/// The world of wassette's `get-weather`, and a component that answers with what it finds in its settings.
fn settings() -> Vec<u8> {
    let text = r#"(component
        (import "wasi:config/store@0.2.0-draft" (instance $store
            (type $error' (variant (case "upstream" string) (case "io" string)))
            (export "error" (type $error (eq $error')))
            (type $found (result (option string) (error $error)))
            (export "get" (func (param "key" string) (result $found)))))
        (alias export $store "get" (func $get))
        (core module $memory (memory (export "memory") 1)
            (global $free (mut i32) (i32.const 1024))
            (func (export "realloc") (param i32 i32 i32 i32) (result i32)
                (global.get $free) (global.set $free (i32.add (global.get $free) (local.get 3)))))
        (core instance $m (instantiate $memory))
        (core func $get (canon lower (func $get) (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
        (core module $main
            (import "m" "memory" (memory 1)) (import "m" "get" (func $get (param i32 i32 i32)))
            ;; The option that stands at 4 in the result becomes the answer.
            (func (export "find") (param i32 i32) (result i32)
                (call $get (local.get 0) (local.get 1) (i32.const 16))
                (i32.const 20)))
        (core instance $i (instantiate $main
            (with "m" (instance (export "memory" (memory $m "memory")) (export "get" (func $get))))))
        (func $find (param "key" string) (result (option string))
            (canon lift (core func $i "find") (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
        (export "find" (func $find)))"#;
    wat::parse_str(text).unwrap()
}

#[tokio::test]
async fn settings_are_read_by_name() {
    let (runtime, bytes) = (runtime(), settings());
    let load = async |config: &Value| {
        let plugin = Plugin { config, ..plugin(&bytes, patient(Limits::TOOL)) };
        WasmToolServer::load(&runtime, &plugin, Vec::new(), Described::default()).await
    };
    let server = load(&json!({ "units": "metric", "days": 3 })).await.unwrap();
    assert_eq!(server.effect_class(), EffectClass::Pure);
    for (key, found) in [("units", json!("metric")), ("days", json!("3")), ("none", Value::Null)] {
        assert_eq!(answer(&server, "find", json!({ "key": key })).await, Ok(found));
    }
    let bare = load(&Value::Null).await.unwrap();
    assert_eq!(answer(&bare, "find", json!({ "key": "units" })).await, Ok(Value::Null));
    assert!(matches!(load(&json!(["units"])).await, Err(LoadError::Settings)));
}
