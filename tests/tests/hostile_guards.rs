//! A guard that breaks denies, and the receipt says which limit or fault it was.

use std::time::Duration;

use chio_host_kernel::receipt::Decision;
use chio_host_runtime::Limits;
use chio_host_tests::{FixtureBuilder, hostile};
use serde_json::{Value, json};

/// Limits that are reached quickly, save for time: the machine may be busy.
const LIMITS: Limits =
    Limits { fuel: 1_000_000, memory_bytes: 1 << 20, deadline: Duration::from_mins(1), ..Limits::GUARD };

async fn denied(code: &str, limits: Limits, stop: &str, why: &str) {
    let host = FixtureBuilder::default()
        .guard_component("house_rules", &hostile::guard(code), limits, &Value::Null)
        .await
        .hello()
        .await
        .build();
    let response = host.run(&host.wildcard(), "hello", "hello_world", json!({ "name": "Chio" })).await;
    let Decision::Deny { reason, guard } = response.decision() else { panic!("{code}: {:?}", response.decision()) };
    let begin = "guard denied the request: guard \"house_rules\" error (fail-closed): ";
    assert!(reason.starts_with(begin) && reason.contains(why), "{code}: {reason}");
    assert_eq!(guard, "house_rules");
    assert_eq!(response.code.as_deref(), Some(format!("guard.{stop}").as_str()));
    let record = response.receipt.record();
    assert_eq!(record["evidence"][0]["details"], "action=error; reason=fail-closed");
    assert_eq!(record["metadata"]["chio_host"]["stopped"], json!({ "component": "house_rules", "by": stop }));
    assert_eq!(record["metadata"]["chio_host"]["effect"], "none");
}

#[tokio::test]
async fn one_that_does_nothing_wrong_allows() {
    let bytes = hostile::guard("nop");
    let host = FixtureBuilder::default().guard_component("g", &bytes, LIMITS, &Value::Null).await.hello().await.build();
    let response = host.run(&host.wildcard(), "hello", "hello_world", json!({ "name": "Chio" })).await;
    assert_eq!(response.decision(), &Decision::Allow);
}

#[tokio::test]
async fn one_that_loops() {
    denied("(loop (br 0))", LIMITS, "fuel", "fuel limit of 1000000 reached").await;
}

#[tokio::test]
async fn one_that_loops_with_all_the_fuel_there_is() {
    let hurried = Limits { fuel: u64::MAX / 2, deadline: Duration::from_millis(30), ..LIMITS };
    denied("(loop (br 0))", hurried, "deadline", "deadline of 30 ms exceeded").await;
}

#[tokio::test]
async fn one_that_allocates_without_end() {
    let code = "(loop (drop (memory.grow (i32.const 1))) (br 0))";
    denied(code, LIMITS, "memory", "memory limit of 1048576 bytes reached").await;
}

#[tokio::test]
async fn one_that_traps() {
    denied("unreachable", LIMITS, "trap", "unreachable").await;
}

#[tokio::test]
async fn one_that_answers_nonsense() {
    denied("(i32.store (i32.const 1028) (i32.const 9))", LIMITS, "answer", "").await;
}

/// The record of a call that a guard denied for a reason of its own: the text at 8192 in its memory, of so many bytes.
async fn denied_because(items: &str, code: &str, bytes: usize) -> Value {
    let answer = format!(
        "(i32.store (i32.const 1028) (i32.const 1)) \
         (i32.store (i32.const 1032) (i32.const 8192)) (i32.store (i32.const 1036) (i32.const {bytes}))"
    );
    let guard = hostile::guard_with(items, &[code, &answer].concat());
    let roomy = Limits { memory_bytes: 4 << 20, fuel: 100_000_000, ..LIMITS };
    let host = FixtureBuilder::default()
        .guard_component("house_rules", &guard, roomy, &Value::Null)
        .await
        .hello()
        .await
        .build();
    let response = host.run(&host.wildcard(), "hello", "hello_world", json!({ "name": "Chio" })).await;
    assert!(matches!(response.decision(), Decision::Deny { .. }), "{:?}", response.decision());
    response.receipt.record().clone()
}

#[tokio::test]
async fn one_whose_reason_would_write_somewhere_else() {
    for (reason, shown) in [
        ("\u{1b}[2J\u{1b}[1;1Hallowed", " [2J [1;1Hallowed"),
        ("no\r\n{\"decision\":\"allow\"}", "no  {\"decision\":\"allow\"}"),
        ("no\0yes", "no yes"),
        ("\u{9b}31mno\u{7f}", " 31mno "),
        ("abc\u{202e}cba\u{2066}", "abc cba "),
        ("al\u{200b}low\u{feff}", "al low "),
    ] {
        let bytes = reason.bytes().fold(String::new(), |bytes, byte| bytes + &format!("\\{byte:02x}"));
        let record = denied_because(&format!("(data (i32.const 8192) \"{bytes}\")"), "", reason.len()).await;
        assert_eq!(record["evidence"][0]["details"], shown, "{reason:?}");
    }
}

#[tokio::test]
async fn one_whose_reason_is_a_megabyte() {
    let fill = "(drop (memory.grow (i32.const 20))) (memory.fill (i32.const 8192) (i32.const 97) (i32.const 1048576))";
    let record = denied_because("", fill, 1 << 20).await;
    assert!(record.to_string().len() < 8192, "{record}");
    assert_eq!(record["evidence"][0]["verdict"], false);
}

#[tokio::test]
async fn one_whose_reason_is_no_text() {
    let record = denied_because("(data (i32.const 8192) \"\\ff\\fe\")", "", 2).await;
    assert_eq!(record["evidence"][0]["details"], "action=error; reason=fail-closed");
}
