//! No other crate can make a `Committed`, so no other crate can call a tool.

#[test]
fn nobody_else_makes_a_committed() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
