//! Payment rails, honest and hostile.

use std::time::Duration;

use chio_host_builtin::testing::RAIL;
use chio_host_kernel::money::{Currency, Money};
use chio_host_kernel::operation::Role;
use chio_host_kernel::ports::{Payment, PaymentRail, RailError};
use serde_json::json;
use tokio::time::Instant;

use crate::error::LoadError;
use crate::limits::Limits;
use crate::outbound::{Outbound, SecretGrant, SecretSource};
use crate::plugin::Plugin;
use crate::rail::WasmRail;
use crate::testing::{component, patient, plugin, runtime, tool};
use crate::testing_http::{HttpServer, Reply, ok};

fn payment() -> Payment {
    let currency = Currency::try_from("USD".to_owned()).unwrap();
    Payment { reference: "op-1".to_owned(), account: "agent".to_owned(), amount: Money { units: 500, currency } }
}

/// A rail whose four functions run `$work` and answer with what stands at 1024; zeros there are the id at 0, of no length.
fn rail(items: &str) -> Vec<u8> {
    let function = |name: &str, parameters: &str| {
        format!(
            r#"(func (export "chio:plugin/paying@0.1.0#{name}") (param {parameters}) (result i32) (call $work) (i32.const 1024))"#
        )
    };
    let payment = "i32 i32 i32 i32 i64 i32 i32";
    let functions = [
        function("authorize", payment),
        function("capture", &format!("i32 i32 {payment}")),
        function("release", "i32 i32 i32 i32"),
        function("refund", &format!("i32 i32 {payment}")),
    ];
    component("rail", "", &format!("{items} {}", functions.concat()))
}

async fn load(bytes: &[u8], limits: Limits) -> WasmRail {
    WasmRail::load(&runtime(), &plugin(bytes, limits), Outbound::default()).await.unwrap()
}

async fn authorize(bytes: &[u8], limits: Limits) -> Result<String, RailError> {
    load(bytes, limits).await.authorize(&payment()).await
}

fn ambiguous(answer: Result<String, RailError>) -> String {
    match answer.unwrap_err() {
        RailError::Ambiguous(why) => why,
        definite @ RailError::Definite(_) => panic!("{definite}"),
    }
}

#[tokio::test]
async fn a_rail_asks_its_provider_with_the_hosts_secret() {
    let provider = HttpServer::start(|request| {
        assert!(request.contains("authorization: Bearer a-merchant-key\r\n"), "{request}");
        let path = request.split(' ').nth(1).unwrap();
        ok(&format!("id-of{}", path.replace('/', "-")))
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "a-merchant-key").unwrap();
    let secret = SecretGrant {
        name: "merchant".to_owned(),
        source: SecretSource::File(key),
        host: "127.0.0.1".to_owned(),
        header: "authorization".to_owned(),
        format: "Bearer {}".to_owned(),
    };
    let outbound = Outbound { network: vec![provider.grant()], secrets: vec![secret] };
    let config = json!({ "url": provider.url("") });
    let plugin = Plugin { config: &config, ..plugin(RAIL, patient(Limits::RAIL)) };
    let rail = WasmRail::load(&runtime(), &plugin, outbound).await.unwrap();
    assert_eq!((rail.component().role, rail.component().name.as_str()), (Role::Rail, "test"));
    let payment = payment();
    assert_eq!(rail.authorize(&payment).await.unwrap(), "id-of-authorize");
    assert_eq!(rail.capture("id-of-authorize", &payment).await.unwrap(), "id-of-capture");
    rail.release("id-of-authorize", "op-1").await.unwrap();
    assert_eq!(rail.refund("id-of-capture", &payment).await.unwrap(), "id-of-refund");
    let requests = provider.requests();
    assert!(
        requests[0].ends_with(r#"{"account":"agent","currency":"USD","reference":"op-1","units":500}"#),
        "{}",
        requests[0]
    );
    assert!(requests[1].contains(r#""authorization":"id-of-authorize""#), "{}", requests[1]);
}

#[tokio::test]
async fn what_a_provider_refuses_is_definite_and_what_it_leaves_open_is_not() {
    let provider = HttpServer::start(|request| {
        let status = if request.contains("/authorize") { "402 Payment Required" } else { "500 Oops" };
        Reply::Whole(format!("HTTP/1.1 {status}\r\nContent-Length: 4\r\n\r\npoor"))
    })
    .await;
    let config = json!({ "url": provider.url("") });
    let plugin = Plugin { config: &config, ..plugin(RAIL, patient(Limits::RAIL)) };
    let outbound = Outbound { network: vec![provider.grant()], secrets: Vec::new() };
    let rail = WasmRail::load(&runtime(), &plugin, outbound).await.unwrap();
    assert_eq!(rail.authorize(&payment()).await, Err(RailError::Definite("poor".to_owned())));
    assert_eq!(rail.capture("a", &payment()).await, Err(RailError::Ambiguous("poor".to_owned())));
    // A rail is told why it may not ask, and its own word counts.
    let lonely = WasmRail::load(&runtime(), &plugin, Outbound::default()).await.unwrap();
    let why = ambiguous(lonely.authorize(&payment()).await);
    assert!(why.contains("rails.test.permissions.network: [{ scheme: http, host: 127.0.0.1"), "{why}");
}

#[tokio::test]
async fn a_provider_that_is_silent_leaves_it_open() {
    let provider = HttpServer::start(|_| Reply::Silence).await;
    let config = json!({ "url": provider.url("") });
    let limits = Limits { deadline: Duration::from_millis(500), ..Limits::RAIL };
    let plugin = Plugin { config: &config, ..plugin(RAIL, limits) };
    let outbound = Outbound { network: vec![provider.grant()], secrets: Vec::new() };
    let rail = WasmRail::load(&runtime(), &plugin, outbound).await.unwrap();
    assert_eq!(ambiguous(rail.authorize(&payment()).await), "deadline of 500 ms exceeded");
    if !provider.requests().is_empty() {
        provider.closed(1).await;
    }
}

#[tokio::test]
async fn a_rail_that_breaks_leaves_it_open() {
    let limits = Limits { fuel: 1_000_000, ..patient(Limits::RAIL) };
    let trap = ambiguous(authorize(&rail("(func $work unreachable)"), limits).await);
    assert!(trap.contains("unreachable"), "{trap}");
    let fuel = ambiguous(authorize(&rail("(func $work (loop (br 0)))"), limits).await);
    assert_eq!(fuel, "fuel limit of 1000000 reached");
    // A start function is the component's code as well.
    let start = ambiguous(authorize(&rail("(func $work) (func $s unreachable) (start $s)"), limits).await);
    assert!(start.contains("unreachable"), "{start}");
    let empty = ambiguous(authorize(&rail("(func $work)"), limits).await);
    assert_eq!(empty, "its answer is no id: 1 to 256 printable bytes are");
    load(&rail("(func $work)"), limits).await.release("a", "op-1").await.unwrap();
}

#[tokio::test]
async fn a_rail_that_was_not_entered_did_nothing() {
    let limits = Limits { concurrency: 1, deadline: Duration::from_millis(200), ..Limits::RAIL };
    let rail = load(&rail("(func $work unreachable)"), limits).await;
    let place = rail.turnstile.enter(Instant::now() + Duration::from_mins(1), crate::places::RAILS).await.unwrap();
    let refused = rail.authorize(&payment()).await;
    let why = "the rail was not entered: no place was free within 200 ms; at most 1 run at once";
    assert_eq!(refused, Err(RailError::Definite(why.to_owned())));
    drop(place);
    ambiguous(rail.authorize(&payment()).await);
}

#[tokio::test]
async fn what_is_no_rail_is_not_loaded() {
    let error = WasmRail::load(&runtime(), &plugin(&tool("", "(func $work)"), Limits::RAIL), Outbound::default()).await;
    let error = error.err().unwrap();
    assert!(matches!(error, LoadError::World { .. }), "{error}");
    assert!(error.to_string().contains("it is of the world tool-server, and rail is needed"), "{error}");
}
