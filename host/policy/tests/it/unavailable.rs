//! What this version does not hold is refused, and never ignored.

use crate::support::refuse;

const KEY: &str = "3dbf7b1230475796d5c78cdcf441c84721d9e3c24362fbbfb4225e307d1b9fb4";

#[test]
fn what_is_not_available_is_refused_in_a_clear_sentence() {
    assert_eq!(
        refuse("guards: { g: { component: builtin:forbidden_path, signer: x } }"),
        "1:59: guards.g.signer: a built-in has no signer; remove it, or name a file as component"
    );
    let signed = refuse(&format!("guards: {{ g: {{ component: nowhere.wasm, signer: {KEY} }} }}"));
    assert!(signed.contains("signatures of plugins are not verified in this version; remove the signer"), "{signed}");
}
