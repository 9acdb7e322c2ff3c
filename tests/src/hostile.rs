//! Guards that misbehave: core modules in the text format, made components of the world `guard`.

use guest_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use guest_parser::Resolve;

const PRELUDE: &str = r#"
    (memory (export "memory") 1)
    (global $free (mut i32) (i32.const 4096))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
        (global.set $free (i32.add (local.get $at) (local.get 3)))
        (local.get $at))"#;

/// A guard whose `check` runs `code`, and answers with what stands at 1024 in its memory: zeros there allow the call.
///
/// # Panics
/// On code that is not WebAssembly in the text format.
#[must_use]
pub fn guard(code: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_source("plugin.wit", include_str!("../../wit/plugin.wit")).expect("the package parses");
    let world = resolve.select_world(&[package], Some("guard")).expect("it has a world `guard`");
    let check =
        r#"(func (export "chio:plugin/guarding@0.1.0#check") (param i32) (result i32) (call $work) (i32.const 1024))"#;
    let text = format!("(module {PRELUDE} (func $work {code}) {check})");
    let mut module = wat::parse_str(text).expect("the code is WebAssembly");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("the world is encoded");
    let mut encoder = ComponentEncoder::default();
    encoder.module(&module).expect("the module is of the world").encode().expect("the component is encoded")
}
