//! Rules that succeed each other, each recognisable in what is signed under it.

use std::sync::{Arc, Mutex, PoisonError};

use chio_host_kernel::Kernel;
use chio_host_kernel::capability::CapabilityToken;
use chio_host_kernel::ports::{CounterView, GuardDecision, Verdict};
use serde_json::{Value, json};

use crate::{Fixture, FixtureBuilder, NativeGuard};

/// The rules of one generation: two guards that say which it is, with an embedded one between them, a server and a hook.
pub async fn generation(of: FixtureBuilder, number: u64) -> FixtureBuilder {
    let says = move |_: &[CounterView]| {
        let details = Some(number.to_string());
        Ok(Verdict { decision: GuardDecision::Allow(Vec::new()), details, secret_arguments: Vec::new() })
    };
    of.settings(|settings| settings.policy_hash = format!("{number:064x}"))
        .native_guard(Arc::new(NativeGuard::new("first", says).pausing(1)))
        .patient_guard("forbidden_path")
        .await
        .native_guard(Arc::new(NativeGuard::new("last", says).pausing(1)))
        .hello()
        .await
        .patient_hook("secret_redactor")
        .await
}

/// The generation that a call was mediated under, which all that its receipt says has to agree on.
///
/// # Panics
/// It does not.
#[must_use]
pub fn generation_of(record: &Value) -> u64 {
    let hash = record["policy_hash"].as_str().expect("a hash");
    let number = u64::from_str_radix(hash, 16).expect("a small number");
    for guard in ["first", "last"] {
        let evidence = record["evidence"].as_array().expect("a list");
        let said = evidence.iter().find(|e| e["guard_name"] == guard).expect("both were asked");
        assert_eq!(said["details"], number.to_string(), "{guard} judged under another policy: {record}");
    }
    number
}

/// Makes `calls` calls from `callers` tasks and answers the receipts' ids. After every `every` of them the rules are replaced, if
/// `reload` says so, and `seen` is told how many calls were made.
///
/// # Panics
/// A call is refused, or lost.
pub async fn run(
    host: &Arc<Fixture>,
    token: &Arc<CapabilityToken>,
    (callers, calls, every): (usize, usize, usize),
    reload: bool,
    mut seen: impl FnMut(usize),
) -> Vec<String> {
    let in_force = Arc::new(Mutex::new(host.kernel.clone()));
    let now = |in_force: &Mutex<Arc<Kernel>>| in_force.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (made, mut count) = tokio::sync::mpsc::channel(callers);
    for _ in 0..callers {
        let (host, token, made, in_force) = (host.clone(), token.clone(), made.clone(), in_force.clone());
        tokio::spawn(async move {
            for _ in 0..calls / callers {
                let call = host.call(&token, "hello", "hello_world", json!({ "name": "Chio" }));
                let response = now(&in_force).evaluate(&call).await.expect("the kernel answers");
                assert!(response.output.is_some(), "{}", response.receipt.record());
                if made.send(response.receipt.id().to_owned()).await.is_err() {
                    return;
                }
            }
        });
    }
    drop(made);
    let (mut receipts, mut number) = (Vec::new(), 0);
    while let Some(receipt) = count.recv().await {
        receipts.push(receipt);
        if receipts.len() % every != 0 {
            continue;
        }
        if reload {
            number += 1;
            let (settings, plugins) = generation(FixtureBuilder::default(), number).await.rules();
            let next = now(&in_force).succeeded_by(settings, plugins).await.expect("it succeeds");
            *in_force.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        }
        seen(receipts.len());
    }
    receipts
}
