//! What components may send: `network`, `secrets` and `rails`.

use chio_host_policy::{NetworkGrant, Policy, Scheme, SecretSource};

use crate::support::{Project, refuse};

/// A server whose manifest asks for the whole network.
fn project() -> Project {
    Project::new()
        .unsigned()
        .file("conf/f.wasm", "x")
        .file("conf/f.manifest.yaml", "name: f\nkind: tool-server\npermissions: { network: any }\n")
        .file("conf/r.wasm", "y")
        .file("conf/r.manifest.yaml", "name: r\nkind: rail\npermissions: { network: [{ host: \"*.bank.example\" }] }\n")
}

fn permissions(permissions: &str) -> String {
    format!("secrets:\n  key: {{ env: PATH }}\nservers: {{ f: {{ component: f.wasm, permissions: {permissions} }} }}")
}

fn accept(policy: &str) -> Policy {
    project().load(policy).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn scheme_and_port_have_defaults_and_hosts_one_spelling() {
    let policy = accept(&permissions(
        "{ network: [{ host: API.Example.com }, { host: \"*.example.com\", scheme: http }, { host: \"::1\", port: 8443 }, \
         { host: bücher.example, private: true }] }",
    ));
    let shown: Vec<String> = policy.servers[0].outbound.network.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "https://api.example.com:443",
            "http://*.example.com:80",
            "https://[::1]:8443",
            "https://xn--bcher-kva.example:443"
        ]
    );
    assert!(policy.servers[0].outbound.network[3].private);
    assert!(accept(&permissions("{ network: [] }")).servers[0].outbound.network.is_empty());
}

#[test]
fn a_wildcard_covers_what_is_under_it() {
    let grant = |host: &str| NetworkGrant { scheme: Scheme::Https, host: host.to_owned(), port: 443, private: false };
    let wildcard = grant("*.example.com");
    for (host, is_covered) in [
        ("a.example.com", true),
        ("a.b.example.com", true),
        ("*.example.com", true),
        ("*.a.example.com", true),
        ("example.com", false),
        ("*.com", false),
        ("badexample.com", false),
        ("a.example.com.evil", false),
        (".example.com", true),
    ] {
        assert_eq!(wildcard.covers_host(host), is_covered, "{host}");
    }
    assert!(!wildcard.covers(&NetworkGrant { port: 8443, ..grant("a.example.com") }));
    assert!(!wildcard.covers(&NetworkGrant { private: true, ..grant("a.example.com") }));
}

#[test]
fn what_is_wrong_with_a_place_or_a_secret_names_its_line() {
    const KEY: &str = "{ name: key, host: api.example.com, header: Authorization }";
    for (written, expected) in [
        ("{ network: [{ scheme: ftp, host: a.example }] }", "network[0].scheme: ftp is not one of https, http"),
        ("{ network: [{ port: 1 }] }", "network[0]: host is missing: a host, such as api.example.com or *.example.com"),
        ("{ network: [{ host: \"https://a.example\" }] }", "network[0].host: \"https://a.example\" is not a host"),
        ("{ network: [{ host: \"a.example:80\" }] }", "network[0].host: \"a.example:80\" is not a host"),
        ("{ network: [{ host: \"*\" }] }", "network[0].host: \"*\" is not a host"),
        ("{ network: [{ host: \"*.com\" }] }", "\"*.com\" would grant every name of a whole domain; name more of it"),
        ("{ network: [{ host: \"a.example.\" }] }", "\"a.example.\" ends with a dot; write it without"),
        ("{ network: [{ host: \"127.1\" }] }", "\"127.1\" is 127.0.0.1 in another spelling; write 127.0.0.1"),
        ("{ network: [{ host: \"0.0.0.0\" }] }", "\"0.0.0.0\" is no host's address"),
        ("{ network: [{ host: \"::ffff:7f00:1\" }] }", "is an IPv4 address inside an IPv6 one; write the IPv4 address"),
        ("{ network: [{ host: a.example, port: 65536 }] }", "65536 is not a whole number from 1 to 65535"),
        (
            "{ network: [{ host: a.example }, { host: A.example }] }",
            "https://a.example:443 stands here twice; keep one",
        ),
        (
            &format!("{{ secrets: [{KEY}] }}"),
            "secrets[0].host: \"api.example.com\" is not granted; name it under network as well",
        ),
        (
            &format!("{{ network: [{{ scheme: http, host: api.example.com }}], secrets: [{KEY}] }}"),
            "\"api.example.com\" is granted over http, where anybody could read a secret; grant it over https",
        ),
        (
            "{ network: [{ host: a.example.com }], secrets: [{ name: kye, host: a.example.com, header: Host }] }",
            "secrets[0].header: host carries no secret; name another header, such as Authorization",
        ),
        (
            "{ network: [{ host: a.example.com }], secrets: [{ name: kye, host: a.example.com, header: x }] }",
            "secrets[0].name: no secret is called \"kye\"; `secrets` names them; did you mean key?",
        ),
        (
            &format!("{{ network: [{{ host: \"*.example.com\" }}], secrets: [{KEY}, {KEY}] }}"),
            "secrets[1]: a second secret as authorization for api.example.com; keep one",
        ),
        (
            "{ network: [{ host: a.example.com }], secrets: [{ name: key, host: a.example.com, header: x, format: Bearer }] }",
            "\"Bearer\" is no format; it is printable ASCII with one {}, such as \"Bearer {}\"",
        ),
    ] {
        let problems = project().refuse(&permissions(written));
        assert!(problems.contains(expected), "{written}\n{problems}");
        assert!(problems.starts_with("conf/policy.yaml:3:"), "{problems}");
    }
}

#[test]
fn a_place_that_the_manifest_does_not_ask_for_is_refused() {
    let project = project().file("conf/quiet.wasm", "z");
    let grant = "permissions: { network: [{ host: evil.example }] }";
    for (policy, expected) in [
        (
            format!("servers: {{ hello: {{ {grant} }} }}"),
            "grants https://evil.example:443, and the manifest does not ask for it (builtin:hello/manifest.yaml:1)",
        ),
        (
            format!("servers: {{ q: {{ component: quiet.wasm, {grant} }} }}"),
            "grants https://evil.example:443, and there is no manifest \"quiet.manifest.yaml\" to ask for it",
        ),
        (
            format!("rails: {{ r: {{ component: r.wasm, {grant} }} }}"),
            "rails.r.permissions.network[0]: grants https://evil.example:443, and the manifest does not ask for it (r.manifest.yaml:3)",
        ),
    ] {
        let problems = project.refuse(&policy);
        assert!(problems.contains(expected), "{problems}");
    }
}

#[test]
fn a_secret_that_is_not_there_refuses_the_load() {
    let project = Project::new().folder("conf/folder");
    let policy = "\
secrets:
  a: { env: CHIO_TEST_THAT_NOBODY_SETS }
  b: { file: none.txt }
  c: { file: folder }
  d: { command: [./none, x] }
  e: { env: PATH, file: x }
  f: { command: [] }
  g: { env: \"A B\" }
";
    assert_eq!(
        project.refuse(policy),
        "\
conf/policy.yaml:2:13: secrets.a.env: the secret \"a\" is not there: the variable CHIO_TEST_THAT_NOBODY_SETS is not set
conf/policy.yaml:3:14: secrets.b.file: the secret \"b\" is not there: the file \"none.txt\" does not exist
conf/policy.yaml:4:14: secrets.c.file: the secret \"c\" is not there: the file \"folder\" is no regular file
conf/policy.yaml:5:8: secrets.d.command: the secret \"d\" is not there: the file \"./none\" does not exist
conf/policy.yaml:6:3: secrets.e: one source is needed: env: VARIABLE, file: PATH or command: [PROGRAM, ARGUMENT]
conf/policy.yaml:7:8: secrets.f.command: a command has 1 to 64 words, such as [pass, show, api-key]
conf/policy.yaml:8:13: secrets.g.env: \"A B\" is no name of an environment variable; API_KEY is"
    );
}

#[test]
fn a_secrets_file_is_protected_from_tools() {
    let project = Project::new().file("conf/work/key.txt", "sesame-open");
    let policy = "secrets: { key: { file: work/key.txt } }\n\
        servers: { files: { permissions: { files: [{ path: work, access: read }] } } }";
    let problems = project.refuse(policy);
    assert!(problems.contains("the folder \"work\" would expose the secret key"), "{problems}");
}

/// Its name and where it comes from are part of the policy, and its value is not.
#[test]
fn a_value_is_no_part_of_the_hash() {
    let granted = |key: &str| {
        format!(
            "{key}\nservers: {{ f: {{ component: f.wasm, permissions: {{ network: [{{ host: a.example.com }}], \
            secrets: [{{ name: key, host: a.example.com, header: x, format: \"T {{}}\" }}] }} }} }}"
        )
    };
    let file = granted("secrets: { key: { file: key.txt } }");
    let hash = |content: &str, policy: &str| {
        project().file("conf/key.txt", content).file("conf/other.txt", content).load(policy).unwrap().policy_hash
    };
    let first = hash("one-value", &file);
    assert_eq!(first, hash("another-value", &file));
    let changed = [
        granted("secrets: { key: { file: other.txt } }"),
        granted("secrets: { key: { env: PATH } }"),
        granted("secrets: { key: { command: [pass] } }"),
        granted("secrets: { key: { command: [pass, show] } }"),
        file.replace("a.example.com", "b.example.com"),
        file.replace("header: x", "header: y"),
        file.replace("T {", "U {"),
        file.replace("{ host: a.example.com }", "{ host: a.example.com, private: true }"),
    ];
    let mut seen = std::collections::HashSet::from([first]);
    for policy in changed {
        assert!(seen.insert(hash("one-value", &policy)), "{policy}");
    }
}

#[test]
fn a_rail_is_resolved_and_hashed_and_accounts_name_it() {
    let policy = "\
secrets: { key: { env: PATH } }
rails:
  bank:
    component: r.wasm
    config: { merchant: m }
    permissions:
      network: [{ host: api.bank.example }]
      secrets: [{ name: key, host: api.bank.example, header: Authorization }]
accounts: { agent: { total: 5, currency: USD, rail: bank } }";
    let loaded = accept(policy);
    let rail = &loaded.rails[0];
    assert_eq!((rail.plugin.name.as_str(), rail.outbound.secrets[0].header.as_str()), ("bank", "authorization"));
    assert_eq!(loaded.accounts[0].rail.as_deref(), Some("bank"));
    assert_eq!(loaded.secrets[0].source, SecretSource::Env("PATH".to_owned()));
    let mut seen = std::collections::HashSet::from([loaded.policy_hash]);
    for other in [
        policy.replace(", rail: bank", ""),
        policy.replace("merchant: m", "merchant: n"),
        policy.replace("    permissions", "    limits: { fuel: 5 }\n    permissions"),
    ] {
        assert!(seen.insert(accept(&other).policy_hash), "{other}");
    }
}

#[test]
fn what_is_wrong_with_a_rail_names_its_line() {
    for (policy, expected) in [
        (
            "rails: { bank: { component: r.wasm } }\naccounts: { a: { total: 1, currency: USD, rail: bnak } }",
            "conf/policy.yaml:2:49: accounts.a.rail: no payment rail is called \"bnak\"; `rails` names them; did you mean bank?",
        ),
        (
            "rails: { bank: {} }",
            "conf/policy.yaml:1:10: rails.bank: no built-in payment rail has this name, and a payment rail of your own needs component: PATH",
        ),
        (
            "rails: { bank: { component: builtin:x } }",
            "conf/policy.yaml:1:29: rails.bank.component: no built-in payment rail is called \"x\"; there is none",
        ),
        (
            "rails: { bank: { component: f.wasm } }",
            "f.manifest.yaml:2:7: kind: is a tool server, and the policy uses it as a payment rail",
        ),
        (
            "rails: { bank: { component: r.wasm, permissions: { files: [{ path: x, access: read }] } } }",
            "conf/policy.yaml:1:68: rails.bank.permissions.files[0].path: a payment rail has no files; remove it",
        ),
    ] {
        assert_eq!(project().refuse(policy), expected, "{policy}");
    }
    assert!(refuse("rails: []").starts_with("1:1: rails: a list is not a mapping of payment rails"));
}
