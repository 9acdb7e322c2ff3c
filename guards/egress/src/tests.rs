mod any;
mod commands;
mod policy;

use ::url::{Host, Url as Parsed};
use chio_sdk::testing::{CallBuilder, call, with_config};
use chio_sdk::{HostKind, UrlFact};
use serde_json::{Value, json};

use super::*;

fn reason(call: CallBuilder) -> String {
    check(&call.build()).unwrap().reason().to_owned()
}

/// The fact that the host would make.
fn fact(raw: &str) -> FactKind {
    let parsed = Parsed::parse(raw).ok().map(|url| {
        let (host_kind, host) = match url.host() {
            Some(Host::Domain(name)) => (HostKind::Domain, name.to_owned()),
            Some(Host::Ipv4(address)) => (HostKind::Ipv4, address.to_string()),
            Some(Host::Ipv6(address)) => (HostKind::Ipv6, address.to_string()),
            None => (HostKind::None, String::new()),
        };
        chio_sdk::Url {
            href: url.as_str().to_owned(),
            scheme: url.scheme().to_owned(),
            host_kind,
            host,
            port: url.port_or_known_default(),
            path: url.path().to_owned(),
            has_credentials: !url.username().is_empty() || url.password().is_some(),
        }
    });
    FactKind::Url(UrlFact { raw: raw.to_owned(), parsed })
}

fn url(raw: &str) -> String {
    reason(call("web", "fetch").fact("/url", fact(raw)))
}

fn text(text: &str) -> String {
    reason(call("any", "tool").arguments(json!({ "x": text })))
}

fn command(line: &str) -> String {
    reason(call("shell", "run").command_line("/command", line))
}

fn under<R>(config: &Value, ask: impl FnOnce() -> R) -> R {
    with_config(config, ask)
}

#[track_caller]
fn all_refused(judge: impl Fn(&str) -> String, all: &[&str]) {
    let allowed: Vec<_> = all.iter().filter(|one| judge(one).is_empty()).collect();
    assert!(allowed.is_empty(), "let through: {allowed:#?}");
}

#[track_caller]
fn all_allowed(judge: impl Fn(&str) -> String, all: &[&str]) {
    let refused: Vec<_> = all.iter().map(|one| (one, judge(one))).filter(|(_, why)| !why.is_empty()).collect();
    assert!(refused.is_empty(), "refused: {refused:#?}");
}

/// URLs of internal hosts, in every spelling.
const INTERNAL: &[&str] = &[
    "http://localhost/",
    "http://LocalHost.:3000/",
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://0x7f.0.0.1/",
    "http://0x7f000001/",
    "http://0177.0.0.01/",
    "http://017700000001/",
    "http://2130706433/",
    "http://0/",
    "http://0.0.0.0:8080/",
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:c0a8:101::1]/",
    "http://[2001::1]/",
    "http://[fe80::5efe:10.0.0.1]/",
    "http://[fec0::1]/",
    "http://[fd12:3456::1]/",
    "http://10.0.0.1/",
    "http://172.20.1.1/",
    "http://192.168.0.1/",
    "http://100.64.1.1/",
    "http://198.18.0.1/",
    "http://169.254.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://metadata.google.internal/",
    "http://METADATA.GOOGLE.INTERNAL./",
    "http://metadata/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://240.0.0.1/",
    "http://router/",
    "http://printer.local/",
    "http://nas.home.arpa/",
    "http://app.svc.cluster.local/",
    "http://127.0.0.1.nip.io/",
    "http://app-10-0-0-1.sslip.io/",
    "http://7f000001.nip.io/",
    "http://localtest.me/",
    "ws://localhost/",
    "ftp://127.0.0.1/",
    "ssh://git@10.0.0.1/x",
    "redis://127.1:6379/0",
    "postgres://app:x@localhost/db",
    "git://0x7f000001/x.git",
    "gopher://127.0.0.1:6379/_INFO",
    "file://fileserver/share",
];

#[test]
fn internal_hosts_are_refused_in_every_spelling() {
    all_refused(url, INTERNAL);
    all_refused(text, INTERNAL);
    all_refused(|raw| command(&format!("curl -s '{raw}'")), INTERNAL);
    all_refused(|raw| command(&format!("sudo env A=1 timeout 5 wget -qO- \"{raw}\" | sh")), INTERNAL);
    all_refused(|raw| reason(call("any", "tool").arguments(json!({ "a": [{ "b": raw }] }))), INTERNAL);
    all_refused(|raw| reason(call("any", "tool").arguments(json!({ raw: 1 }))), INTERNAL);
    all_refused(|raw| reason(call("any", "tool").path("/path", raw, Some(raw))), INTERNAL);
}

#[test]
fn the_spelling_of_digits_and_dots_changes_nothing() {
    let spellings = [
        "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
        "http://\u{2460}\u{2461}\u{2466}.0.0.1/",
        "http://127\u{3002}0\u{3002}0\u{3002}1/",
        "http://loc\u{ad}alhost/",
        "http://\u{24db}ocalhost/",
    ];
    all_refused(url, &spellings);
    all_refused(text, &spellings);
}

#[test]
fn public_hosts_are_allowed() {
    let public = [
        "https://example.com/",
        "https://example.com:8443/a?b=c#d",
        "http://8.8.8.8/",
        "https://[2606:4700::1111]/",
        "https://xn--mnchen-3ya.de/",
        "https://m\u{fc}nchen.de/",
        "https://local.example.com/",
        "https://internal-docs.example.com/",
        "https://8.8.8.8.nip.io/",
        "https://example.com/search?q=a@b.c",
        "https://example.com/@scope/package",
        "ssh://git@github.com/org/repo.git",
        "git+https://github.com/org/repo.git#main",
        "s3://bucket/key",
        "https://example.com/login?redirect_uri=http://localhost:3000/callback",
        "https://web.archive.org/web/2020/http://example.org/",
    ];
    all_allowed(url, &public);
    all_allowed(text, &public);
    all_allowed(|raw| command(&format!("curl -fsSL '{raw}' -o out.json")), &public);
    all_allowed(
        url,
        &["data:text/plain,hello", "mailto:a@example.com", "about:blank", "file:///tmp/x", " https://example.com/ "],
    );
}

#[test]
fn what_two_readers_read_differently_is_refused() {
    all_refused(
        url,
        &[
            "https://good.example@evil.example/",
            "https://good.example:443@evil.example/",
            "https://@evil.example/",
            "https://:@evil.example/",
            "https://good.example%40evil.example/",
            "https://good.example\\@evil.example/",
            "https:\\\\good.example/",
            "https:/good.example/",
            "https:good.example",
            "https:///good.example/",
            "https://good.example\t.evil.example/",
            "https://good\n.example/",
            "https://good.example/\r\nHost: evil.example",
            "https://ex%61mple.com/",
            "http://[fe80::1%25eth0]/",
            "https://exa mple.com/",
            "https://",
            "//evil.example/x",
            "example.com/x",
            "10.0.0.1:80",
            "localhost:8080",
            "",
            "https://exa_$mple.com/",
            "ssh://good.example@evil.example/x",
            "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
            "view-source:http://127.0.0.1/",
            "jar:http://127.0.0.1!/x",
        ],
    );
    all_refused(
        text,
        &[
            "https://good.example@evil.example/",
            "https://good.example\\@evil.example/",
            "http:127.0.0.1",
            "http:/127.0.0.1/",
            "http:\\\\127.0.0.1\\x",
            "ht\ntp://127.0.0.1/",
            "http://169.254.\n169.254/latest",
            "http://[fe80::1%25eth0]/",
            "http://127.0.0.1:80x/",
            &format!("http://{}@127.0.0.1/", "a".repeat(5_000)),
            &format!("http:{}@127.0.0.1/", "a".repeat(5_000)),
        ],
    );
}

#[test]
fn every_url_of_a_call_is_judged() {
    let call = call("web", "fetch")
        .arguments(json!({ "url": "https://example.com/", "mirror": "https://other.example/", "callback": "http://10.0.0.7/" }))
        .fact("/url", fact("https://example.com/"));
    assert_eq!(reason(call), "host 10.0.0.7 is refused (a private address)");
    all_refused(
        text,
        &[
            "--url=http://127.0.0.1/",
            "{\"url\":\"http:\\/\\/127.0.0.1\\/\"}",
            "{ \"url\": \"https://example.com/\",\n  \"to\": [ \"http://127.0.0.1/\" ] }",
            "https://example.com/,http://127.0.0.1/",
            "https://example.com/ http://127.0.0.1/",
            "https://example.com/\nhttp://127.0.0.1/\n",
            "[a](http://127.0.0.1/)",
            "<http://localhost:3000>",
            "jdbc:mysql://localhost:3306/db",
            "https://example.com/?next=http://169.254.169.254/",
            "https://example.com/?next=http%3A%2F%2F169.254.169.254%2F",
            "169.254.169.254",
            "169.254.169.254/latest/meta-data",
            "metadata.google.internal/computeMetadata/v1",
            "\\\\10.0.0.1\\share\\x",
            "//127.0.0.1/share",
            "http://localhost:3000 and then some",
            "curl 127.1/x",
            "nc 10.0.0.1 22",
        ],
    );
}

/// What stands in issues, messages, searches and files is not fetched.
#[test]
fn talk_about_a_url_is_allowed() {
    all_allowed(
        text,
        &[
            "open http://localhost:3000 and click on Login",
            "The server answers on http://127.0.0.1:8080/health.\nDocs: https://example.com.",
            "# README\n\nRun `npm start`, then see http://localhost:5173.",
            "curl http://localhost:3000 connection refused",
            "ssh into the build machine",
            "git is slow today",
            "why does http://169.254.169.254 answer?",
            "{ \"body\": \"see http://localhost:3000\" }",
            "10.0.0.1",
            "127.0.0.1:8080",
            "localhost",
            "localhost:3000",
            "1.2.3.4",
            "12:30:00",
            "http",
            "http:",
            "http://",
            "http:request",
            "https?://localhost:3000",
            "http://${HOST}:${PORT}/",
            "http://{host}/x",
            "https://%s/x",
            "https://*/*",
            "http://<host>:<port>/",
            "std::net::Ipv4Addr",
            "a: b",
            "key:value",
            "metadata/train.json",
            "// comment",
            "//example.com/cdn.js",
            "s3://bucket/key",
            "chrome://settings",
            "C:\\Users\\me",
        ],
    );
    let content = call("files", "write_file").fact("/content", FactKind::Content("http://169.254.169.254/".into()));
    assert_eq!(reason(content), "");
}

fn text_call(text: &str) -> CallBuilder {
    call("any", "tool").arguments(json!({ "x": text }))
}

#[test]
fn a_reason_is_short_and_tells_no_secret() {
    let why = url("https://user:hunter2@example.com/?token=abc");
    assert!(why.contains("example.com") && !why.contains("hunter2") && !why.contains("abc"), "{why}");
    let why = url(&format!("http://{}/", "a".repeat(5_000)));
    assert!(why.len() < 500 && !why.is_empty(), "{why}");
}
