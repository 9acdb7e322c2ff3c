//! What this version does not hold is refused, and never ignored.

use crate::support::refuse;

const KEY: &str = "3dbf7b1230475796d5c78cdcf441c84721d9e3c24362fbbfb4225e307d1b9fb4";

#[test]
fn what_is_not_available_is_refused_in_a_clear_sentence() {
    let money = "money holds are not available in this version; remove prices, accounts and cost caps";
    let grant = "capabilities: { d: { tools: [{ server: hello, tool: t, operations: [invoke], ttl: 1";
    for (policy, expected) in [
        (
            "servers: { hello: { price: { per_call: 0, currency: USD } } }".to_owned(),
            format!("1:21: servers.hello.price: {money}"),
        ),
        ("accounts: { agent: { total: 5_000, currency: USD } }".to_owned(), format!("1:13: accounts.agent: {money}")),
        (
            format!("{grant}, max_cost_per_invocation: {{ units: 1, currency: USD }} }}] }} }}"),
            format!("1:86: capabilities.d.tools[0].max_cost_per_invocation: {money}"),
        ),
        (
            format!("{grant}, dpop_required: true }}] }} }}"),
            "1:101: capabilities.d.tools[0].dpop_required: proof of possession is not available in this version; \
             remove it, or say false"
                .to_owned(),
        ),
        (
            "kernel: { nonce: { require: true } }".to_owned(),
            "1:29: kernel.nonce.require: execution nonces are not available in this version; remove it, or say false"
                .to_owned(),
        ),
        (
            "guards: { g: { component: builtin:forbidden_path, signer: x } }".to_owned(),
            "1:59: guards.g.signer: a built-in has no signer; remove it, or name a file as component".to_owned(),
        ),
    ] {
        assert_eq!(refuse(&policy), expected, "{policy}");
    }
    let signed = refuse(&format!("guards: {{ g: {{ component: nowhere.wasm, signer: {KEY} }} }}"));
    assert!(signed.contains("signatures of plugins are not verified in this version; remove the signer"), "{signed}");
}
