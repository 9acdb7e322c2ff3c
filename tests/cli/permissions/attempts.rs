//! The attempts on permissions.

use serde_json::{Value, json};

use super::{SECRET, VARIABLE};
use crate::support::Place;

/// An attempt.
pub(super) struct Attempt {
    pub(super) permission: &'static str,
    /// What it tries, in words.
    pub(super) tries: String,
    /// What stops it, in words.
    pub(super) stopped_by: &'static str,
    pub(super) server: &'static str,
    pub(super) tool: &'static str,
    pub(super) params: Value,
    /// What its entry grants at first.
    pub(super) granted: String,
    /// What the answer has to say, if not more.
    pub(super) says: String,
    /// What grants it.
    pub(super) grant: Grant,
}

/// What would let an attempt through.
pub(super) enum Grant {
    /// These permissions, of which the page shows the second; and the attempt once more, with these parameters.
    Line { permissions: String, shown: String, params: Value },
    /// Nothing, because of this.
    Never(&'static str),
}

/// The two servers that an attempt may meet, one of which sends whoever asks to the other.
pub(super) struct Hosts {
    pub(super) port: u16,
    pub(super) from: u16,
    /// Where nobody listens.
    pub(super) nowhere: u16,
}

pub(super) fn all(at: &Hosts, place: &Place) -> Vec<Attempt> {
    let mut attempts = files(place);
    attempts.extend(network(at));
    attempts.extend(environment_and_secrets(at));
    attempts.extend(others(at));
    attempts
}

fn files(place: &Place) -> Vec<Attempt> {
    const WORK: &str = "{ path: work, access: read }";
    const PRIVATE: &str = "{ path: private, access: read }";
    let inside = json!({ "folder": "/private", "path": "secret.txt" });
    let attempt = |tries: &str, tool, params: Value, says: &str, grant| Attempt {
        permission: "files",
        tries: tries.to_owned(),
        stopped_by: "WASI: no path leads out of an open folder",
        server: "intruder",
        tool,
        params,
        granted: format!("files: [{WORK}]"),
        says: says.to_owned(),
        grant,
    };
    let private = || Grant::Line {
        permissions: format!("files: [{WORK}, {PRIVATE}]"),
        shown: format!("files: [{PRIVATE}]"),
        params: inside.clone(),
    };
    let at = |path: &str| json!({ "folder": "/work", "path": path });
    let absolute = place.path().join("private/secret.txt");
    let work = |access: &str, path: &str| Grant::Line {
        permissions: format!("files: [{{ path: work, access: {access} }}]"),
        shown: format!("files: [{{ path: work, access: {access} }}]"),
        params: at(path),
    };
    vec![
        Attempt {
            stopped_by: "the host opens no folder that is not granted",
            granted: "files: []".to_owned(),
            ..attempt(
                "a file, without any folder",
                "read",
                at("a.txt"),
                "no such folder is open",
                work("read", "a.txt"),
            )
        },
        attempt("a file outside, by `..`", "read", at("../private/secret.txt"), "not-permitted", private()),
        attempt(
            "a file outside, by its absolute path",
            "read",
            at(absolute.to_str().unwrap()),
            "not-permitted",
            private(),
        ),
        attempt("a file outside, by a symbolic link", "read", at("link"), "not-permitted", private()),
        Attempt {
            stopped_by: "WASI: a folder that is open for reading",
            ..attempt(
                "a new file in a folder granted for reading",
                "write",
                at("new.txt"),
                "not-permitted",
                work("read-write", "new.txt"),
            )
        },
        Attempt {
            stopped_by: "the policy does not load",
            granted: "files: [{ path: ., access: read }]".to_owned(),
            ..attempt(
                "the folder that holds the host's state and policy",
                "read",
                at("policy.yaml"),
                "would expose",
                Grant::Never("nothing: what decides over a component is out of its reach"),
            )
        },
    ]
}

fn network(at: &Hosts) -> Vec<Attempt> {
    let (port, from, nowhere) = (at.port, at.from, at.nowhere);
    let place = |host: &str, port: u16| format!("{{ scheme: http, host: {host}, port: {port} }}");
    let asks = |url: String| json!({ "url": url });
    let attempt = |tries: &str, url: String, granted: String, line: String, says: &str| Attempt {
        permission: "network",
        tries: tries.to_owned(),
        stopped_by: "the host, before it looks a name up or connects",
        server: "fetch",
        tool: "fetch",
        params: asks(url.clone()),
        granted: format!("network: [{granted}]"),
        says: says.to_owned(),
        grant: Grant::Line {
            permissions: format!("network: [{line}]"),
            shown: format!("network: [{line}]"),
            params: asks(url),
        },
    };
    let local = || place("127.0.0.1", port);
    let may_not = "may not send requests to";
    vec![
        attempt("a host, without any grant", format!("http://127.0.0.1:{port}/"), String::new(), local(), may_not),
        attempt(
            "another host than the one granted",
            format!("http://127.0.0.1:{port}/"),
            "{ host: api.example.com }".to_owned(),
            local(),
            may_not,
        ),
        attempt("another port", format!("http://127.0.0.1:{port}/"), place("127.0.0.1", nowhere), local(), may_not),
        attempt(
            "another scheme",
            format!("https://127.0.0.1:{nowhere}/"),
            place("127.0.0.1", nowhere),
            format!("{{ host: 127.0.0.1, port: {nowhere} }}"),
            may_not,
        ),
        Attempt {
            stopped_by: "the host, by the address that the name leads to",
            ..attempt(
                "a private address, by a name",
                format!("http://localhost:{port}/"),
                place("localhost", port),
                format!("{{ scheme: http, host: localhost, port: {port}, private: true }}"),
                "leads to a loopback address",
            )
        },
        Attempt {
            stopped_by: "the host follows no redirect; a component that does sends a request like any other",
            server: "client",
            tool: "follow",
            ..attempt(
                "a host that a granted one redirects to",
                format!("http://127.0.0.1:{from}/"),
                place("127.0.0.1", from),
                format!("{}, {}", place("127.0.0.1", from), local()),
                may_not,
            )
        },
    ]
}

fn environment_and_secrets(at: &Hosts) -> Vec<Attempt> {
    let (name, _) = VARIABLE;
    let (secret, _) = SECRET;
    let port = at.port;
    let attempt = |tries: &str, name: &str, granted: String, says: String, grant| Attempt {
        permission: "environment",
        tries: tries.to_owned(),
        stopped_by: "the component sees the granted variables alone",
        server: "intruder",
        tool: "variable",
        params: json!({ "name": name }),
        granted,
        says,
        grant,
    };
    let line = Grant::Line {
        permissions: format!("environment: [TZ=UTC, {name}]"),
        shown: format!("environment: [{name}]"),
        params: json!({ "name": name }),
    };
    vec![
        attempt(
            "a variable of the host's",
            name,
            "environment: [TZ=UTC]".to_owned(),
            format!("there is no variable {name}"),
            line,
        ),
        Attempt {
            stopped_by: "the policy does not load",
            ..attempt(
                "a variable that a secret comes from",
                secret,
                format!("environment: [{secret}]"),
                "which no component may hold".to_owned(),
                Grant::Never("nothing: `secrets` adds it to requests"),
            )
        },
        Attempt {
            permission: "secrets",
            tries: "the value of a secret, from a server that gives it back".to_owned(),
            stopped_by: "the host stars it out of what it reads",
            server: "fetch",
            tool: "fetch",
            params: json!({ "url": format!("http://127.0.0.1:{port}/") }),
            granted: format!(
                "network: [{{ scheme: http, host: 127.0.0.1, port: {port} }}], \
                 secrets: [{{ name: api_key, host: 127.0.0.1, header: Authorization, format: \"Bearer {{}}\" }}]"
            ),
            says: "authorization: Bearer ****************".to_owned(),
            grant: Grant::Never("nothing: no component sees a secret"),
        },
    ]
}

fn others(at: &Hosts) -> Vec<Attempt> {
    let hello = json!({ "server": "hello", "tool": "hello_world", "arguments": { "name": "Chio" } });
    let attempt = |permission, tries: &str, tool, params: Value, says: &str| Attempt {
        permission,
        tries: tries.to_owned(),
        stopped_by: "WASI: no address may be used, and no name looked up",
        server: "intruder",
        tool,
        params,
        granted: format!("network: [{{ scheme: http, host: 127.0.0.1, port: {} }}]", at.port),
        says: says.to_owned(),
        grant: Grant::Never("nothing: `network` grants requests, and no sockets"),
    };
    vec![
        Attempt {
            stopped_by: "the kernel, when the call is admitted",
            granted: "invoke: [{ server: hello, tool: goodbye }]".to_owned(),
            grant: Grant::Line {
                permissions: "invoke: [{ server: hello, tool: hello_world }]".to_owned(),
                shown: "invoke: [{ server: hello, tool: hello_world }]".to_owned(),
                params: hello.clone(),
            },
            ..attempt(
                "invoke",
                "a tool that its caller may call, and it may not",
                "invoke",
                hello,
                "not in capability scope",
            )
        },
        attempt(
            "sockets",
            "a connection, to a host that requests may go to",
            "connect",
            json!({ "port": at.port }),
            "access-denied",
        ),
        attempt(
            "sockets",
            "the address of a name",
            "resolve",
            json!({ "name": "localhost" }),
            "permanent-resolver-failure",
        ),
    ]
}
