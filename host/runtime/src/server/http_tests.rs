//! Outbound requests of tools, honest and hostile, to servers on this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chio_host_builtin::{Kind, testing::HOSTILE_CLIENT};
use chio_host_kernel::call::{Arguments, EffectClass, Signals};
use chio_host_kernel::ports::{Entry, Fault, Stop, ToolError, ToolRan, ToolServer};
use serde_json::{Value, json};

use super::{Permissions, WasmToolServer};
use crate::files::{Access, FileGrant};
use crate::limits::Limits;
use crate::outbound::{NetworkGrant, Outbound, Scheme, SecretGrant, SecretSource};
use crate::testing::{invocation, patient, plugin, runtime};
use crate::testing_http::{HttpServer, Reply, Vouched, ok};

const ENOUGH: Duration = Duration::from_mins(1);
/// How often what depends on the machine is tried.
const MANY: usize = 20;
const VALUE: &str = "sesame-open-1234";

async fn load(bytes: &[u8], permissions: impl Into<Permissions>) -> WasmToolServer {
    let plugin = plugin(bytes, patient(Limits::TOOL));
    WasmToolServer::load(&runtime(), &plugin, permissions, BTreeMap::new()).await.unwrap()
}

fn fetch() -> &'static [u8] {
    chio_host_builtin::find(Kind::ToolServer, "fetch").unwrap().bytes
}

fn to(network: Vec<NetworkGrant>) -> Permissions {
    Permissions { outbound: Outbound { network, secrets: Vec::new() }, ..Permissions::default() }
}

async fn call(server: &WasmToolServer, tool: &str, arguments: Value, deadline: Duration) -> ToolRan {
    let mut invocation = invocation(deadline, Signals::default());
    let snapshot = Arc::get_mut(&mut invocation.snapshot).unwrap();
    snapshot.tool = tool.to_owned();
    snapshot.arguments = Arguments::new(arguments).unwrap();
    server.run(invocation).await
}

/// What a tool answered: its value, or its message.
async fn answer(server: &WasmToolServer, tool: &str, arguments: Value) -> Result<Value, String> {
    let ran = call(server, tool, arguments, ENOUGH).await;
    assert_eq!(ran.entry, Entry::Entered);
    ran.ran.outcome.unwrap().map(|output| output.value).map_err(|error| match error {
        ToolError::Failed(why) => why,
        other => panic!("{other:?}"),
    })
}

/// A secret of a server's address, and the file that it comes from.
struct Secret {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Secret {
    fn new(value: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, format!("{value}\n")).unwrap();
        Self { _folder: folder, path }
    }

    fn granted(&self, servers: &[&HttpServer], secret_for: &HttpServer) -> Permissions {
        let secret = SecretGrant {
            name: "api_key".to_owned(),
            source: SecretSource::File(self.path.clone()),
            host: secret_for.address.ip().to_string(),
            header: "authorization".to_owned(),
            format: "Bearer {}".to_owned(),
        };
        let network = servers.iter().map(|server| server.grant()).collect();
        Permissions { outbound: Outbound { network, secrets: vec![secret] }, ..Permissions::default() }
    }
}

#[tokio::test]
async fn a_granted_host_is_reached() {
    let host = HttpServer::start(|_| ok("hello")).await;
    let server = load(fetch(), to(vec![host.grant()])).await;
    assert_eq!(server.effect_class(), EffectClass::SideEffecting);
    let arguments = json!({ "url": host.url("/x?y=1"), "method": "POST", "headers": { "X-A": "b" }, "body": "text" });
    let fetched = answer(&server, "fetch", arguments).await.unwrap();
    assert_eq!((fetched["status"].as_u64(), fetched["body"].as_str()), (Some(200), Some("hello")));
    let request = &host.requests()[0];
    assert!(request.starts_with("POST /x?y=1 HTTP/1.1\r\n") && request.ends_with("\r\n\r\ntext"), "{request}");
    assert!(request.contains(&format!("host: {}\r\n", host.address)) && request.contains("x-a: b\r\n"), "{request}");
}

/// A call with folders has an executor of its own.
#[tokio::test]
async fn a_server_with_folders_reaches_its_hosts_too() {
    let host = HttpServer::start(|_| ok("hello")).await;
    let folder = tempfile::tempdir().unwrap();
    let files = vec![FileGrant::new(folder.path(), "/work", Access::Read).unwrap()];
    let server = load(fetch(), Permissions { files, ..to(vec![host.grant()]) }).await;
    let fetched = answer(&server, "fetch", json!({ "url": host.url("/") })).await.unwrap();
    assert_eq!(fetched["body"], "hello");
}

#[tokio::test]
async fn whatever_is_not_granted_is_refused_and_says_what_would_grant_it() {
    let host = HttpServer::start(|_| ok("never")).await;
    let port = host.address.port();
    let server = load(fetch(), to(vec![host.grant()])).await;
    for (url, what, line) in [
        (
            format!("https://127.0.0.1:{port}/"),
            format!("https://127.0.0.1:{port}"),
            format!("host: 127.0.0.1, port: {port}"),
        ),
        (
            "http://127.0.0.1:1/".to_owned(),
            "http://127.0.0.1:1".to_owned(),
            "scheme: http, host: 127.0.0.1, port: 1".to_owned(),
        ),
        (
            format!("http://127.0.0.2:{port}/"),
            format!("http://127.0.0.2:{port}"),
            format!("scheme: http, host: 127.0.0.2, port: {port}"),
        ),
        (
            format!("http://localhost:{port}/"),
            format!("http://localhost:{port}"),
            format!("scheme: http, host: localhost, port: {port}"),
        ),
        ("https://example.com/".to_owned(), "https://example.com:443".to_owned(), "host: example.com".to_owned()),
    ] {
        let error = answer(&server, "fetch", json!({ "url": url })).await.unwrap_err();
        let expected = format!(
            "servers.test may not send requests to {what}; servers.test.permissions.network: [{{ {line} }}] would grant it"
        );
        assert_eq!(error, expected);
    }
    assert!(host.requests().is_empty());
}

#[tokio::test]
async fn without_a_grant_http_leads_nowhere() {
    let host = HttpServer::start(|_| ok("never")).await;
    let server = load(fetch(), Permissions::default()).await;
    assert_eq!(server.effect_class(), EffectClass::Pure);
    let error = answer(&server, "fetch", json!({ "url": host.url("/") })).await.unwrap_err();
    assert!(error.contains("servers.test.permissions.network: [{ scheme: http, host: 127.0.0.1, port: "), "{error}");
    assert!(host.requests().is_empty());
}

/// A name in an attacker's zone, or one that changes what it says, leads nowhere near (DNS rebinding).
#[tokio::test]
async fn a_name_does_not_lead_to_a_private_address() {
    let host = HttpServer::start(|_| ok("hello")).await;
    let url = format!("http://localhost:{}/", host.address.port());
    let named = |private| NetworkGrant { host: "localhost".to_owned(), private, ..host.grant() };
    let server = load(fetch(), to(vec![named(false)])).await;
    let error = answer(&server, "fetch", json!({ "url": url })).await.unwrap_err();
    assert!(
        error.contains(
            "which leads to a loopback address; private: true in its entry of servers.test.permissions.network"
        ),
        "{error}"
    );
    assert!(host.requests().is_empty());
    let server = load(fetch(), to(vec![named(true)])).await;
    assert_eq!(answer(&server, "fetch", json!({ "url": url })).await.unwrap()["body"], "hello");
}

#[tokio::test]
async fn the_host_adds_a_secret_that_the_guest_never_sees() {
    // Gives back what it was told: in a header, in the name of one, and in a body whose chunks cut it anywhere.
    let host = HttpServer::start(|request| {
        let told = request.split("authorization: ").nth(1).unwrap().lines().next().unwrap();
        let echo = format!("<{told}> {told}");
        let chunks = echo.as_bytes().chunks(3).map(|chunk| String::from_utf8(chunk.to_vec()).unwrap()).collect();
        Reply::Chunks("HTTP/1.1 200 OK\r\nX-Echo: sesame-open-1234\r\nX-sesame-open-1234: y", chunks)
    })
    .await;
    let secret = Secret::new(VALUE);
    let server = load(fetch(), secret.granted(&[&host], &host)).await;
    let fetched = answer(&server, "fetch", json!({ "url": host.url("/") })).await.unwrap();
    assert_eq!(fetched["body"], "<Bearer ****************> Bearer ****************");
    assert_eq!(fetched["headers"]["x-echo"], "****************");
    assert!(!fetched.to_string().contains("sesame"), "{fetched}");
    // It is read for each request, so a new value needs no new host.
    std::fs::write(&secret.path, "another-value-5678").unwrap();
    let fetched = answer(&server, "fetch", json!({ "url": host.url("/") })).await.unwrap();
    assert_eq!(fetched["body"], "<Bearer ******************> Bearer ******************");
    let requests = host.requests();
    assert!(
        requests[0].contains("Bearer sesame-open-1234\r\n") && requests[1].contains("Bearer another-value-5678\r\n")
    );
}

#[tokio::test]
async fn what_a_guest_says_in_a_secrets_place_is_not_sent() {
    let host = HttpServer::start(|_| ok("")).await;
    let secret = Secret::new(VALUE);
    let server = load(HOSTILE_CLIENT, secret.granted(&[&host], &host)).await;
    let value = answer(&server, "forge", json!({ "url": host.url("/") })).await.unwrap();
    assert_eq!((&value["host_refused"], &value["answered"]), (&json!(true), &json!("200")));
    let expected = json!([["authorization", "forged"], ["range", "bytes=0-3"], ["accept-encoding", "gzip"]]);
    assert_eq!(value["mine"], expected, "the guest sees what it set, and nothing of the host's");
    let request = &host.requests()[0];
    assert!(
        request.contains(&format!("authorization: Bearer {VALUE}\r\n")) && !request.contains("forged"),
        "{request}"
    );
    assert!(request.contains("accept-encoding: identity\r\n") && !request.contains("range"), "{request}");
}

#[tokio::test]
async fn a_redirect_is_a_new_request_without_the_secret_of_the_first() {
    let other = HttpServer::start_at("127.0.0.2", Vouched::Plain, &[], |_| ok("there")).await;
    let location = other.url("/landed");
    let host = HttpServer::start(move |_| {
        Reply::Whole(format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"))
    })
    .await;
    let secret = Secret::new(VALUE);
    let follow = json!({ "url": host.url("/") });

    let server = load(HOSTILE_CLIENT, secret.granted(&[&host, &other], &host)).await;
    let seen = answer(&server, "follow", follow.clone()).await.unwrap();
    assert_eq!((&seen[0]["status"], &seen[1]["body"]), (&json!(302), &json!("there")));
    assert!(host.requests()[0].contains(VALUE));
    assert!(other.requests()[0].starts_with("GET /landed ") && !other.requests()[0].contains(VALUE));

    let server = load(HOSTILE_CLIENT, secret.granted(&[&host], &host)).await;
    let seen = answer(&server, "follow", follow).await.unwrap();
    assert!(seen[1]["error"].as_str().unwrap().contains("may not send requests to http://127.0.0.2"), "{seen}");
    assert_eq!(other.requests().len(), 1);
}

/// The name is checked that the request was for, and before anything is said.
#[tokio::test]
async fn a_secret_is_told_to_a_server_that_can_prove_its_name() {
    let secret = Secret::new(VALUE);
    for (vouched, names, is_heard) in [
        (Vouched::Trusted, ["localhost"], true),
        (Vouched::Trusted, ["other.example"], false),
        (Vouched::Untrusted, ["localhost"], false),
    ] {
        let host = HttpServer::start_at("127.0.0.1", vouched, &names, |_| ok("hello")).await;
        let mut permissions = secret.granted(&[&host], &host);
        let place = &mut permissions.outbound.network[0];
        *place = NetworkGrant { scheme: Scheme::Https, host: "localhost".to_owned(), private: true, ..place.clone() };
        permissions.outbound.secrets[0].host = "localhost".to_owned();
        let server = load(fetch(), permissions).await;
        let url = format!("https://localhost:{}/", host.address.port());
        let fetched = answer(&server, "fetch", json!({ "url": url })).await;
        if is_heard {
            assert_eq!(fetched.unwrap()["body"], "hello");
            assert!(host.requests()[0].contains(VALUE));
        } else {
            let error = fetched.unwrap_err();
            let expected = format!("no TLS with https://localhost:{}: invalid peer certificate", host.address.port());
            assert!(error.starts_with(&expected), "{error}");
            assert!(host.requests().is_empty());
        }
    }
}

/// Compressed, an echo would not be recognised.
#[tokio::test]
async fn an_encoded_answer_to_a_secret_is_refused() {
    let host = HttpServer::start(|_| {
        Reply::Whole("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd".to_owned())
    })
    .await;
    let secret = Secret::new(VALUE);
    let server = load(fetch(), secret.granted(&[&host], &host)).await;
    let error = answer(&server, "fetch", json!({ "url": host.url("/") })).await.unwrap_err();
    assert!(error.contains("HttpResponseContentCoding"), "{error}");
    let server = load(fetch(), to(vec![host.grant()])).await;
    assert_eq!(answer(&server, "fetch", json!({ "url": host.url("/") })).await.unwrap()["body"], "abcd");
}

/// A server that does not speak HTTP is not quoted.
#[tokio::test]
async fn an_answer_that_is_none_gives_nothing_away() {
    let host = HttpServer::start(|_| Reply::Whole(format!("HTTP/1.1 two hundred {VALUE}\r\n{VALUE}\r\n\r\n"))).await;
    let secret = Secret::new(VALUE);
    let server = load(fetch(), secret.granted(&[&host], &host)).await;
    let error = answer(&server, "fetch", json!({ "url": host.url("/") })).await.unwrap_err();
    assert_eq!(error, "the request failed: ErrorCode::HttpProtocolError");
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_sends_nothing() {
    let host = HttpServer::start(|_| ok("never")).await;
    let secret = Secret::new(VALUE);
    let server = load(fetch(), secret.granted(&[&host], &host)).await;
    std::fs::remove_file(&secret.path).unwrap();
    let error = answer(&server, "fetch", json!({ "url": host.url("/") })).await.unwrap_err();
    assert_eq!(error, "the host cannot read the secret api_key, so nothing was sent; its log says why");
    assert!(host.requests().is_empty());
}

/// zeroclaw#9255: neither fuel nor epoch ends a guest that waits for a server.
#[tokio::test]
async fn case_31_a_server_that_drips_or_is_silent_is_left_at_the_deadline() {
    for (drips, with_folder) in [(true, false), (false, false), (true, true)] {
        let host = HttpServer::start(move |_| if drips { Reply::Drip } else { Reply::Silence }).await;
        let folder = tempfile::tempdir().unwrap();
        let folders = with_folder.then(|| FileGrant::new(folder.path(), "/work", Access::Read).unwrap());
        let permissions = Permissions { files: folders.into_iter().collect(), ..to(vec![host.grant()]) };
        let server = load(fetch(), permissions).await;
        let places = server.turnstile.free();
        // On a machine that is busy a deadline can pass before anything is sent, which says nothing.
        for _ in 0..MANY {
            let ran = call(&server, "fetch", json!({ "url": host.url("/") }), Duration::from_millis(500)).await;
            let fault = ran.ran.outcome.unwrap_err();
            assert_eq!(fault, Fault::new(Stop::Deadline, "deadline of 500 ms exceeded"));
            assert_eq!(ran.entry, Entry::Entered);
            if !host.requests().is_empty() {
                break;
            }
        }
        host.closed(1).await;
        assert_eq!(server.turnstile.free(), places);
    }
}

/// What a tool does not wait for is over when the tool is.
#[tokio::test]
async fn a_request_that_is_left_behind_ends_with_its_call() {
    let host = HttpServer::start(|_| Reply::Silence).await;
    let server = load(HOSTILE_CLIENT, to(vec![host.grant()])).await;
    // Most of them end before they are sent.
    for _ in 0..MANY {
        assert_eq!(answer(&server, "abandon", json!({ "url": host.url("/") })).await.unwrap(), "gone");
        assert_eq!(server.turnstile.free() as u64, Limits::TOOL.concurrency);
    }
    let arrived = u32::try_from(host.requests().len()).unwrap();
    host.closed(arrived).await;
}

#[tokio::test]
async fn requests_of_a_call_are_bounded() {
    let host = HttpServer::start(|_| ok("")).await;
    let server = load(HOSTILE_CLIENT, to(vec![host.grant()])).await;
    let value = answer(&server, "many", json!({ "url": host.url("/"), "number": 20 })).await.unwrap();
    assert!(value["failed"].as_u64().unwrap() >= 1, "{value}");
    assert!(value["error"].as_str().unwrap().contains("servers.test has 8 requests open"), "{value}");
    let methods = answer(&server, "method", json!({ "url": host.url("/") })).await.unwrap();
    assert_eq!(methods, json!([false, false]));
    assert!(!host.requests().iter().any(|request| request.starts_with("CONNECT") || request.starts_with("TRACE")));
}

#[tokio::test]
async fn bodies_of_a_call_are_bounded() {
    // Hears all of a request, and says nothing.
    let host = HttpServer::start(|_| Reply::Silence).await;
    let server = load(HOSTILE_CLIENT, to(vec![host.grant()])).await;
    let value = answer(&server, "flood", json!({ "url": host.url("/"), "number": (16 << 20) + 1 })).await.unwrap();
    assert_eq!(value["error"], "the request failed: ErrorCode::HttpRequestBodySize(Some(16777216))");

    let host = HttpServer::start(|_| ok(&"x".repeat((64 << 20) + 1))).await;
    let server = load(HOSTILE_CLIENT, to(vec![host.grant()])).await;
    let value = answer(&server, "swallow", json!({ "url": host.url("/") })).await.unwrap();
    let error = value["error"].as_str().unwrap();
    assert!(error.contains("response body size") && error.contains("67108864"), "{error}");
}

#[tokio::test]
async fn a_secret_without_a_place_for_its_value_refuses_the_load() {
    let host = HttpServer::start(|_| ok("")).await;
    let mut permissions = Secret::new(VALUE).granted(&[&host], &host);
    permissions.outbound.secrets[0].header = "not a header".to_owned();
    let plugin = plugin(fetch(), Limits::TOOL);
    let loaded = WasmToolServer::load(&runtime(), &plugin, permissions, BTreeMap::new()).await;
    let error = loaded.err().unwrap().to_string();
    assert_eq!(error, "the secret \"api_key\" cannot be added to requests: its header has no usable name");
}
