//! Plain functions over every type that WIT has: a guest of the host's tests, which knows nothing of the host.

#[allow(missing_docs, unreachable_pub, unsafe_code, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "wit" });
}

use std::cell::Cell;

use bindings::exports::test::kinds::counting::{CounterBorrow, Guest as Counting, GuestCounter};
use bindings::exports::test::kinds::echo::{Color, Everything, Guest as Echo, Shape};

/// What the component is.
pub struct Kinds;

type Many = (u8, i16, u32, u64, f32, f64, char, bool, String, Vec<String>, Option<String>, Color);

impl Echo for Kinds {
    fn all(value: Everything) -> Everything {
        value
    }

    #[allow(clippy::many_single_char_names, reason = "there are more of them than names")]
    fn many(
        a: u8,
        b: i16,
        c: u32,
        d: u64,
        e: f32,
        f: f64,
        g: char,
        h: bool,
        i: String,
        j: Vec<String>,
        k: Option<String>,
        l: Color,
    ) -> Many {
        (a, b, c, d, e, f, g, h, i, j, k, l)
    }

    fn nothing() {}

    fn succeed(value: Shape) -> Result<Shape, Shape> {
        Ok(value)
    }

    fn fail(value: Shape) -> Result<Shape, Shape> {
        Err(value)
    }

    fn fail_with(why: String) -> Result<(), String> {
        Err(why)
    }

    fn fail_silently() -> Result<(), ()> {
        Err(())
    }

    fn zeros(length: u32) -> Vec<u8> {
        vec![0; length as usize]
    }

    fn quotes(length: u32) -> String {
        "\"".repeat(length as usize)
    }

    fn trues(length: u32) -> Vec<bool> {
        vec![true; length as usize]
    }

    fn nan() -> Vec<f64> {
        vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5]
    }
}

/// Its resource.
pub struct Counter(Cell<u32>);

impl GuestCounter for Counter {
    fn new(start: u32) -> Self {
        Self(Cell::new(start))
    }

    fn next(&self) -> u32 {
        self.0.replace(self.0.get() + 1)
    }

    fn of_all() -> u32 {
        0
    }
}

impl Counting for Kinds {
    type Counter = Counter;

    fn sum(counters: Vec<CounterBorrow<'_>>) -> u32 {
        counters.iter().map(|counter| counter.get::<Counter>().next()).sum()
    }

    fn add(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
}

impl bindings::Guest for Kinds {
    fn greet(name: String) -> String {
        format!("Hello, {name}!")
    }
}

#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, reason = "generated")]
mod exports {
    use super::Kinds;

    super::bindings::export!(Kinds with_types_in super::bindings);
}
