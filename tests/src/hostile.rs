//! Components that misbehave: core modules in the text format, made components of a world.

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
    guard_with("", code)
}

/// The same with other items in its module.
///
/// # Panics
/// On code that is not WebAssembly in the text format.
#[must_use]
pub fn guard_with(items: &str, code: &str) -> Vec<u8> {
    component("guard", "chio:plugin/guarding@0.1.0#check", items, code)
}

/// An output hook whose `inspect` runs `code`, and answers in the same way.
///
/// # Panics
/// On code that is not WebAssembly in the text format.
#[must_use]
pub fn hook(code: &str) -> Vec<u8> {
    component("output-hook", "chio:plugin/inspecting@0.1.0#inspect", "", code)
}

fn component(world: &str, export: &str, items: &str, code: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_source("plugin.wit", include_str!("../../wit/plugin.wit")).expect("the package parses");
    let world = resolve.select_world(&[package], Some(world)).expect("the package has the world");
    let export = format!(r#"(func (export "{export}") (param i32) (result i32) (call $work) (i32.const 1024))"#);
    let text = format!("(module {PRELUDE} {items} (func $work {code}) {export})");
    let mut module = wat::parse_str(text).expect("the code is WebAssembly");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("the world is encoded");
    let mut encoder = ComponentEncoder::default();
    encoder.module(&module).expect("the module is of the world").encode().expect("the component is encoded")
}

/// A guard that is small and that takes a compiler long, and much memory: in each of so many loops, one inside the other, each
/// of so many variables may be another, so there are as many values as the product of both.
///
/// # Panics
/// Never: the code is WebAssembly.
#[must_use]
pub fn costly_to_compile(loops: usize, variables: usize) -> Vec<u8> {
    let step = |v| format!("(local.set {v} (i32.add (local.get {v}) (local.get {})))", (v + 1) % variables);
    let steps: Vec<_> = (0..variables).map(step).collect();
    let steps = steps.concat();
    let nested = format!("{}{steps}{}", "(loop ".repeat(loops), "(br_if 0 (local.get 0)))".repeat(loops));
    let locals = "i32 ".repeat(variables);
    guard_with(&format!("(func $slow (local {locals}) {nested})"), "nop")
}
