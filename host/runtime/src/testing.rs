//! Guests for tests: core modules in the text format, made components of a world.

use std::sync::Arc;

use chio_host_kernel::call::{Arguments, EffectClass, RequestId, Signals, Snapshot};
use chio_host_kernel::capability::Operation;
use chio_host_kernel::ports::Invocation;
use guest_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use guest_parser::Resolve;
use serde_json::Value;

use crate::limits::Limits;
use crate::plugin::Plugin;
use crate::runtime::{Runtime, RuntimeConfig};

/// What is needed of WASI, and a world for each kind of guest. A module that imports less becomes a component that
/// imports less.
const WASI_IO: &str = "package wasi:io@0.2.0;
    interface error { resource error; }
    interface streams {
        use error.{error};
        variant stream-error { last-operation-failed(error), closed }
        resource input-stream { read: func(len: u64) -> result<list<u8>, stream-error>; }
        resource output-stream { blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>; }
    }
    interface poll { resource pollable { block: func(); } }";
const WASI_CLI: &str = "package wasi:cli@0.2.0;
    interface stdin { use wasi:io/streams@0.2.0.{input-stream}; get-stdin: func() -> input-stream; }
    interface stdout { use wasi:io/streams@0.2.0.{output-stream}; get-stdout: func() -> output-stream; }
    interface environment {
        get-environment: func() -> list<tuple<string, string>>;
        get-arguments: func() -> list<string>;
    }
    interface exit { exit: func(status: result); }";
const WASI_CLOCKS: &str = "package wasi:clocks@0.2.0;
    interface monotonic-clock {
        use wasi:io/poll@0.2.0.{pollable};
        now: func() -> u64;
        subscribe-duration: func(when: u64) -> pollable;
    }
    interface wall-clock { record datetime { seconds: u64, nanoseconds: u32 } now: func() -> datetime; }
    interface timezone { utc-offset: func() -> s32; }";
const WASI_RANDOM: &str = "package wasi:random@0.2.0;
    interface random { get-random-bytes: func(len: u64) -> list<u8>; }";
const WASI_FILESYSTEM: &str = "package wasi:filesystem@0.2.0;
    interface types { resource descriptor; }
    interface preopens { use types.{descriptor}; get-directories: func() -> list<tuple<descriptor, string>>; }";
const WASI_SOCKETS: &str = "package wasi:sockets@0.2.0;
    interface network {
        enum ip-address-family { ipv4, ipv6 }
        enum error-code { unknown, access-denied, not-supported, invalid-argument, out-of-memory, timeout,
            concurrency-conflict, not-in-progress, would-block, invalid-state, new-socket-limit, address-not-bindable,
            address-in-use, remote-unreachable, connection-refused, connection-reset, connection-aborted,
            datagram-too-large, name-unresolvable, temporary-resolver-failure, permanent-resolver-failure }
    }
    interface tcp { resource tcp-socket; }
    interface tcp-create-socket {
        use network.{ip-address-family, error-code};
        use tcp.{tcp-socket};
        create-tcp-socket: func(family: ip-address-family) -> result<tcp-socket, error-code>;
    }";
const WORLDS: &str = "package chio:test;
    world guard { include chio:plugin/guard@0.1.0; import chio:plugin/host@0.1.0; }
    world initialised-guard { include chio:plugin/initialised-guard@0.1.0; }
    world wasi-guard {
        include chio:plugin/guard@0.1.0;
        import wasi:cli/environment@0.2.0;
        import wasi:cli/exit@0.2.0;
        import wasi:cli/stdin@0.2.0;
        import wasi:cli/stdout@0.2.0;
        import wasi:clocks/monotonic-clock@0.2.0;
        import wasi:clocks/wall-clock@0.2.0;
        import wasi:clocks/timezone@0.2.0;
        import wasi:filesystem/preopens@0.2.0;
        import wasi:random/random@0.2.0;
        import wasi:sockets/tcp-create-socket@0.2.0;
    }
    world wasi-initialised-guard {
        include chio:plugin/initialised-guard@0.1.0;
        import wasi:clocks/wall-clock@0.2.0;
    }
    world leftover-init { include chio:plugin/guard@0.1.0; export init: func(a: u32, b: u32); }
    world misspelt-init { include chio:plugin/guard@0.1.0; export init: func(config: string) -> result<_, u32>; }
    world rail { include chio:plugin/rail@0.1.0; }
    world hook { include chio:plugin/output-hook@0.1.0; }
    world tool {
        include chio:plugin/tool-server@0.1.0;
        import wasi:io/streams@0.2.0;
        import wasi:io/poll@0.2.0;
        import wasi:cli/stdout@0.2.0;
        import wasi:clocks/monotonic-clock@0.2.0;
    }";

/// Memory of one page whose allocator starts at 4096 and never frees. It is `realloc` for the canonical ABI.
const PRELUDE: &str = r#"
    (memory (export "memory") 1)
    (global $free (mut i32) (i32.const 4096))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
        (global.set $free (i32.add (local.get $at) (local.get 3)))
        (local.get $at))"#;

/// A component of one of the worlds above: imports first, then the rest of its module.
pub(crate) fn component(world: &str, imports: &str, body: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let plugin = include_str!("../../../wit/plugin.wit");
    let wasi = [WASI_IO, WASI_CLI, WASI_CLOCKS, WASI_RANDOM, WASI_FILESYSTEM, WASI_SOCKETS];
    let texts = [&wasi[..], &[plugin, WORLDS]].concat();
    let packages: Vec<_> = texts.into_iter().map(|text| resolve.push_source("test.wit", text).unwrap()).collect();
    let world = resolve.select_world(&packages[packages.len() - 1..], Some(world)).unwrap();
    let mut module = wat::parse_str(format!("(module {imports} {PRELUDE} {body})")).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().encode().unwrap()
}

/// A guard whose `check` runs `code` and answers with what stands at 1024; zeros there allow the call.
pub(crate) fn guard(code: &str) -> Vec<u8> {
    guard_with("", &format!("(func $work {code})"))
}

/// A guard whose `check` calls `$work`, which is among `items`.
pub(crate) fn guard_with(imports: &str, items: &str) -> Vec<u8> {
    let check =
        r#"(func (export "chio:plugin/guarding@0.1.0#check") (param i32) (result i32) (call $work) (i32.const 1024))"#;
    component("guard", imports, &format!("{items} {check}"))
}

/// One tool called `t`, described by a constant at 64 that `describe` returns, and whose `call` runs `$work`.
pub(crate) fn tool(imports: &str, items: &str) -> Vec<u8> {
    tool_with(imports, items, "", r"{\22type\22:\22object\22}")
}

/// The same with code that `describe` runs, and the input schema as a string of the text format.
pub(crate) fn tool_with(imports: &str, items: &str, describe: &str, schema: &str) -> Vec<u8> {
    let length = schema.replace("\\22", "\"").len();
    let body = format!(
        r#"{items}
        (data (i32.const 512) "t")
        (data (i32.const 520) "{schema}")
        (func (export "chio:plugin/serving@0.1.0#describe") (result i32)
            {describe}
            (i32.store (i32.const 64) (i32.const 128)) (i32.store (i32.const 68) (i32.const 1))
            (i32.store (i32.const 128) (i32.const 512)) (i32.store (i32.const 132) (i32.const 1))
            (i32.store (i32.const 156) (i32.const 520)) (i32.store (i32.const 160) (i32.const {length}))
            (i32.const 64))
        (data (i32.const 800) "{{}}")
        (func (export "chio:plugin/serving@0.1.0#call")
            (param i32 i32 i32 i32 i32 i32 i64 i32 i32 i32 i32 i32) (result i32)
            (i32.store (i32.const 1032) (i32.const 800)) (i32.store (i32.const 1036) (i32.const 2))
            (call $work)
            (i32.const 1024))"#
    );
    component("tool", imports, &body)
}

/// Limits that a test can reach quickly, but for time: the machine may be busy.
pub(crate) fn limits() -> Limits {
    Limits { log_bytes: 4096, stdio_bytes: 4096, ..patient(Limits::GUARD) }
}

/// The same limits without hurry.
pub(crate) fn patient(limits: Limits) -> Limits {
    Limits { deadline: std::time::Duration::from_mins(1), ..limits }
}

/// A plugin with no configuration.
pub(crate) fn plugin(bytes: &[u8], limits: Limits) -> Plugin<'_> {
    Plugin { name: "test", bytes, config: &Value::Null, limits }
}

/// A small runtime without a cache.
pub(crate) fn runtime() -> Arc<Runtime> {
    Runtime::new(RuntimeConfig { places: 4, ..RuntimeConfig::default() }).unwrap()
}

/// A call of the tool `t`.
pub(crate) fn snapshot() -> Snapshot {
    Snapshot {
        request_id: RequestId::new("1").unwrap(),
        agent: "agent".to_owned(),
        capability_id: "capability".to_owned(),
        grant_index: 0,
        delegation_depth: 0,
        server: "test".to_owned(),
        tool: "t".to_owned(),
        operation: Operation::Invoke,
        effect_class: EffectClass::Pure,
        arguments: Arguments::parse(b"{}").unwrap(),
        facts: Vec::new(),
        exposure: None,
        time: 1,
        depth: 0,
    }
}

/// An invocation of it, with this much time left.
pub(crate) fn invocation(deadline: std::time::Duration, signals: Signals) -> Invocation {
    Invocation {
        nested: None,
        snapshot: Arc::new(snapshot()),
        operation_id: "operation".to_owned(),
        deadline,
        signals,
        children: chio_host_kernel::admission::ChildReceipts::default(),
    }
}

/// A component of somebody else's: a world in WIT, whose functions all trap.
pub(crate) fn plain(wit: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_source("test.wit", wit).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let mut module = guest_component::dummy_module(
        &resolve,
        world,
        guest_parser::ManglingAndAbi::Legacy(guest_parser::LiftLowerAbi::Sync),
    );
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().encode().unwrap()
}

/// A component that exports a function `f` of these parameters, which it imports itself.
pub(crate) fn exporting(types: &str, parameters: &str) -> Vec<u8> {
    let text = format!(
        "(component {types} (type $f (func {parameters})) (import \"i\" (func $i (type $f))) (export \"f\" (func $i)))"
    );
    wat::parse_str(text).unwrap()
}
