//! Proof of possession.

use chio_host_kernel::call::{Call, EffectClass};
use chio_host_kernel::capability::Grant;
use chio_host_kernel::keys::Keypair;
use chio_host_kernel::proof::{ProofOfPossession, SKEW_SECS, TTL_SECS};
use chio_host_tests::{Fixture, FixtureBuilder, NativeServer, grant};
use serde_json::json;

fn host() -> Fixture {
    let tool = NativeServer::new("host", "bash", EffectClass::Pure, |_| Ok(json!({ "done": true })));
    FixtureBuilder::default().native_server(tool).build()
}

fn proven(host: &Fixture) -> Call {
    let token = host.token(vec![Grant { dpop_required: Some(true), ..grant("host", "bash") }]);
    host.call(&token, "host", "bash", json!({ "command": "ls" }))
}

async fn reason(host: &Fixture, call: &Call) -> String {
    host.evaluate(call).await.decision().reason().unwrap_or("none").to_owned()
}

#[tokio::test]
async fn a_grant_that_asks_for_a_proof_gets_one_or_refuses() {
    let host = host();
    let call = proven(&host);
    let missing = "DPoP proof verification failed: the grant asks for a proof, and none was presented";
    assert_eq!(reason(&host, &call).await, missing);

    let now = host.clock.now();
    let sign = |call: &Call, nonce: &str, at: u64, key: &Keypair| {
        Some(ProofOfPossession::sign(call, nonce.to_owned(), at, key))
    };
    let other = Keypair::from_seed(&[77; 32].into());
    let asked = |proof: Option<ProofOfPossession>| {
        let mut fresh = proven(&host);
        fresh.capability = call.capability.clone();
        fresh.admission.proof = proof;
        fresh
    };
    let because = |why: &str| format!("DPoP proof verification failed: {why}");
    let stranger = asked(sign(&call, "n1", now, &other));
    assert_eq!(reason(&host, &stranger).await, because("its signature is invalid"));
    let ahead = asked(sign(&call, "n2", now + SKEW_SECS + 1, &host.agent));
    assert_eq!(reason(&host, &ahead).await, because("it is dated ahead"));
    let old = asked(sign(&call, "n3", now - TTL_SECS, &host.agent));
    assert_eq!(reason(&host, &old).await, because("it has expired"));
    for (what, change) in [
        (
            "capability",
            Box::new(|p: &mut ProofOfPossession| p.body.capability_id = "other".into()) as Box<dyn Fn(&mut _)>,
        ),
        ("server", Box::new(|p: &mut ProofOfPossession| p.body.server = "other".into())),
        ("tool", Box::new(|p: &mut ProofOfPossession| p.body.tool = "other".into())),
        ("parameter hash", Box::new(|p: &mut ProofOfPossession| p.body.parameter_hash = "00".repeat(32))),
    ] {
        let mut proof = sign(&call, "n4", now, &host.agent).unwrap();
        change(&mut proof);
        let bent = asked(Some(proof));
        assert_eq!(reason(&host, &bent).await, because(&format!("its {what} is not this call's")));
    }
    let good = asked(sign(&call, "n5", now, &host.agent));
    assert_eq!(reason(&host, &good).await, "none");
    // The same request again is the same call, and has its answer; another one cannot use the proof.
    assert_eq!(reason(&host, &good).await, "none");
    let again = asked(good.admission.proof.clone());
    assert_eq!(reason(&host, &again).await, because("it was used before"));
}

/// A proof that is dated ahead is good for longer than one that is dated now, and its use is remembered for as long.
#[tokio::test]
async fn case_23_a_proof_dated_ahead_cannot_be_used_twice_at_the_end_of_its_life() {
    let host = host();
    let first = proven(&host);
    let dated = host.clock.now() + SKEW_SECS;
    let proof = ProofOfPossession::sign(&first, "once".to_owned(), dated, &host.agent);
    let with = |base: &Call| {
        let mut call = proven(&host);
        call.capability = base.capability.clone();
        call.admission.proof = Some(proof.clone());
        call
    };
    assert_eq!(reason(&host, &with(&first)).await, "none");
    // Its last good second: everything that a mark dated now would live by is over.
    host.clock.advance_secs(SKEW_SECS + TTL_SECS - 1);
    let again = reason(&host, &with(&first)).await;
    assert_eq!(again, "DPoP proof verification failed: it was used before");
    host.clock.advance_secs(1);
    assert_eq!(reason(&host, &with(&first)).await, "DPoP proof verification failed: it has expired");
}
