//! Requests that tools send, secrets that the host adds to them, and rails: as an operator writes them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use crate::support::{Done, Place};

const VALUE: &str = "sesame-open-1234";

const POLICY: &str = "
secrets:
  api_key: { env: CHIO_TEST_API_KEY }
servers:
  fetch:
    component: builtin:fetch
    permissions:
      network: [{ scheme: http, host: 127.0.0.1, port: PORT }]
      secrets: [{ name: api_key, host: 127.0.0.1, header: Authorization, format: \"Bearer {}\" }]
capabilities:
  default:
    tools: [{ server: fetch, tool: fetch, operations: [invoke], ttl: 300 }]
";

/// Answers each request with the request itself. It ends with the process.
pub(crate) fn echo() -> (SocketAddr, Receiver<String>) {
    serve(ToOwned::to_owned)
}

/// Answers each request with a text.
fn serve(answer: impl Fn(&str) -> String + Send + 'static) -> (SocketAddr, Receiver<String>) {
    serve_whole(move |request| {
        let body = answer(request);
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    })
}

/// The same with a whole response.
pub(crate) fn serve_whole(answer: impl Fn(&str) -> String + Send + 'static) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, requests) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = String::new();
            let mut byte = [0];
            while !request.ends_with("\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                request.push(byte[0].into());
            }
            // Closed with something unread, a connection may lose what was written.
            let length = request.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
            let mut sent = vec![0; length.unwrap_or(0)];
            stream.read_exact(&mut sent).ok();
            stream.write_all(answer(&request).as_bytes()).ok();
            told.send(request).ok();
        }
    });
    (address, requests)
}

fn call(place: &Place, url: &str) -> Done {
    let params = format!(r#"{{"url":"{url}"}}"#);
    let arguments = [
        "call",
        "--format",
        "json",
        "--policy",
        "policy.yaml",
        "--server",
        "fetch",
        "--tool",
        "fetch",
        "--params",
        &params,
    ];
    let output = place.command(&arguments).env("CHIO_TEST_API_KEY", VALUE).env("CHIO_LOG", "trace").output();
    let output = output.expect("the binary runs");
    Done {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Whether these bytes stand in a file of a folder.
fn is_in(folder: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return is_in(&path, bytes);
        }
        std::fs::read(&path).unwrap().windows(bytes.len()).any(|window| window == bytes)
    })
}

#[test]
fn a_secret_reaches_its_host_and_nobody_else() {
    let (address, requests) = echo();
    let place = Place::new();
    place.write("policy.yaml", POLICY.replace("PORT", &address.port().to_string()));
    let done = call(&place, &format!("http://{address}/x"));
    assert_eq!(done.code, 0, "{done:?}");
    assert!(requests.recv().unwrap().contains(&format!("authorization: Bearer {VALUE}\r\n")));
    let output = &done.json_lines()[0]["output"];
    assert!(output["body"].as_str().unwrap().contains("authorization: Bearer ****************\r\n"), "{output}");
    // Not in what is printed, whatever is logged, and not in the state: receipts, operations, outputs.
    assert!(!done.stdout.contains("sesame") && !done.stderr.contains("sesame"), "{done:?}");
    assert!(is_in(&place.path().join(".chio"), b"fetch") && !is_in(&place.path().join(".chio"), VALUE.as_bytes()));
    let receipts = place.command(&["receipt", "list", "--format", "json"]).output().unwrap();
    assert!(String::from_utf8(receipts.stdout).unwrap().contains("side_effecting"));
}

#[test]
fn what_is_not_granted_is_refused_with_the_line_that_would_grant_it() {
    let (address, requests) = echo();
    let place = Place::new();
    place.write("policy.yaml", POLICY.replace("PORT", &address.port().to_string()));
    let done = call(&place, "https://example.com/");
    assert_ne!(done.code, 0);
    let expected = "servers.fetch may not send requests to https://example.com:443; \
                    servers.fetch.permissions.network: [{ host: example.com }] would grant it";
    assert!(done.stdout.contains(expected), "{done:?}");
    assert!(requests.try_recv().is_err());
}

#[test]
fn a_secret_that_is_not_there_is_said_before_anything_is_served() {
    let place = Place::new();
    place.write("policy.yaml", POLICY.replace("PORT", "80"));
    place.ask("call", "fetch", "fetch", "{}").is_error(&[
        "policy.yaml:3:19: secrets.api_key.env: the secret \"api_key\" is not there: the variable CHIO_TEST_API_KEY is not set",
    ]);
    assert!(!place.path().join(".chio").exists());
}

#[test]
fn a_rail_is_loaded_with_the_policy_and_one_that_is_none_is_refused() {
    let place = Place::new();
    place.write("rails/bank.wasm", chio_host_builtin::testing::RAIL);
    place.write("rails/bank.manifest.yaml", "name: bank\nkind: rail\npermissions: { network: any }\n");
    place.write(
        "policy.yaml",
        "rails: { bank: { component: rails/bank.wasm, permissions: { network: [{ host: api.bank.example }] } } }\n\
         accounts: { agent: { total: 5, currency: USD, rail: bank } }\n\
         capabilities: { d: { tools: [{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }] } }\n\
         plugins: { allow_unsigned: true }\n",
    );
    let done = place.ask("call", "hello", "hello_world", r#"{"name":"Chio"}"#);
    assert_eq!(done.code, 0, "{done:?}");
    let guard = chio_host_builtin::find(chio_host_builtin::Kind::Guard, "forbidden_path").unwrap().bytes;
    place.write("rails/bank.wasm", guard);
    place
        .ask("call", "hello", "hello_world", "{}")
        .is_error(&["rails.bank", "it is of the world guard, and rail is needed"]);
}

/// The whole way: the account's rail is a component, its provider a server, the provider's key a secret.
#[test]
fn a_call_is_paid_through_its_accounts_rail() {
    let (provider, requests) =
        serve(|request| format!("id-of{}", request.split(' ').nth(1).unwrap().replace('/', "-")));
    let place = Place::new();
    place.write("rails/bank.wasm", chio_host_builtin::testing::RAIL);
    place.write("rails/bank.manifest.yaml", "name: bank\nkind: rail\npermissions: { network: any }\n");
    place.write("rails/key.txt", VALUE);
    place.write(
        "policy.yaml",
        format!(
            "secrets: {{ merchant: {{ file: rails/key.txt }} }}
rails:
  bank:
    component: rails/bank.wasm
    config: {{ url: \"http://{provider}\" }}
    permissions:
      network: [{{ scheme: http, host: 127.0.0.1, port: {} }}]
      secrets: [{{ name: merchant, host: 127.0.0.1, header: Authorization, format: \"Bearer {{}}\" }}]
accounts: {{ agent: {{ total: 5_000, currency: USD, rail: bank }} }}
servers: {{ hello: {{ price: {{ per_call: 3, currency: USD }} }} }}
capabilities:
  default:
    tools: [{{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }}]
plugins: {{ allow_unsigned: true }}
",
            provider.port()
        ),
    );
    let done = place.ask("call", "hello", "hello_world", r#"{"name":"Chio"}"#);
    assert_eq!(done.code, 0, "{done:?}");
    for path in ["/authorize", "/capture"] {
        let request = requests.recv().unwrap();
        assert!(request.starts_with(&format!("POST {path} ")), "{request}");
        assert!(request.contains(&format!("authorization: Bearer {VALUE}\r\n")), "{request}");
    }
    assert!(!is_in(&place.path().join(".chio"), VALUE.as_bytes()));
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);
}
