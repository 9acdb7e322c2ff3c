//! What a policy allows, denies and opens.

use super::*;

#[test]
fn an_allow_list_is_all_there_is() {
    let config =
        json!({ "allow": ["api.example.com", "*.cdn.example.com", "https://github.com", "files.example.com:8443"] });
    under(&config, || {
        let good = [
            "https://api.example.com/v1",
            "http://API.example.com./",
            "https://a.cdn.example.com/",
            "https://github.com/org/repo",
            "https://files.example.com:8443/",
        ];
        all_allowed(url, &good);
        all_allowed(text, &good);
        all_allowed(|raw| command(&format!("curl {raw}")), &good);
        let bad = [
            "https://api.example.com:8443/",
            "http://api.example.com:22/",
            "https://api.example.com.evil.example/",
            "https://evil-api.example.com/",
            "https://cdn.example.com/",
            "https://evilcdn.example.com/",
            "http://github.com/",
            "https://files.example.com/",
            "https://evil.example/",
            "https://\u{430}pi.example.com/",
            "https://8.8.8.8/",
            "ssh://git@github.com/x",
            "http://${HOST}/",
        ];
        all_refused(url, &bad);
        all_refused(text, &bad);
        all_refused(|raw| command(&format!("curl '{raw}'")), &bad);
        all_refused(command, &["curl evil.example", "nc api.example.com 22", "ssh git@github.com", "curl $HOST"]);
        all_allowed(command, &["curl -o out.json api.example.com/x", "git log", "npm test"]);
        assert_eq!(
            url("https://api.example.com:8443/"),
            "port 8443 of host api.example.com is refused (the policy allows api.example.com)"
        );
        assert_eq!(
            url("https://evil.example/"),
            "host evil.example is refused (the policy allows api.example.com, *.cdn.example.com, https://github.com, others)"
        );
    });
    under(&json!({ "allow": [] }), || {
        assert_eq!(url("https://example.com/"), "host example.com is refused (the policy allows none)");
        all_refused(text, &["https://example.com/"]);
        all_refused(command, &["curl example.com", "git clone git@github.com:a/b"]);
        all_allowed(text, &["see https://example.com/", "hello"]);
        all_allowed(url, &["data:,x", "about:blank"]);
    });
}

#[test]
fn internal_networks_are_opened_one_by_one() {
    under(&json!({ "internal": ["10.1.0.0/16", "127.0.0.0/8", "*.corp", "build:8080"] }), || {
        all_allowed(
            url,
            &[
                "http://10.1.2.3/",
                "http://localhost:3000/",
                "http://[::ffff:10.1.2.3]/",
                "http://127.0.0.1.nip.io/",
                "http://git.corp/",
                "http://build:8080/",
            ],
        );
        all_refused(url, &["http://10.2.0.1/", "http://build/", "http://169.254.169.254/", "http://corp.local/"]);
    });
    under(&json!({ "internal": ["100.64.0.0/10", "169.254.0.0/16", "fd00::/8"] }), || {
        all_allowed(url, &["http://100.64.0.1/", "http://169.254.1.1/", "http://[fd00::1]/"]);
        all_refused(url, &["http://100.100.100.200/", "http://169.254.169.254/", "http://[fd00:ec2::254]/"]);
    });
    under(&json!({ "internal": ["169.254.169.254"] }), || {
        all_allowed(url, &["http://169.254.169.254/", "http://0xa9fea9fe/"]);
    });
    under(&json!({ "internal": true }), || {
        all_allowed(url, &["http://localhost/", "http://10.0.0.1/", "http://router/"]);
        all_refused(
            url,
            &["http://169.254.169.254/", "http://metadata.google.internal/", "http://0.0.0.0/", "http://224.0.0.1/"],
        );
    });
    under(&json!({ "allow": ["localhost:3000", "10.0.0.0/24", "*.nip.io", "metadata.google.internal"] }), || {
        all_allowed(
            url,
            &[
                "http://localhost:3000/",
                "http://10.0.0.7/",
                "https://8.8.8.8.nip.io/",
                "http://metadata.google.internal/",
            ],
        );
        all_refused(
            url,
            &["http://localhost:3001/", "http://10.0.1.1/", "http://127.0.0.1.nip.io/", "http://example.com/"],
        );
    });
}

#[test]
fn deny_wins_and_replace_leaves_it_alone() {
    under(&json!({ "allow": ["*.example.com"], "deny": ["bad.example.com", "203.0.0.0/8"] }), || {
        all_allowed(url, &["https://good.example.com/"]);
        all_refused(url, &["https://bad.example.com/", "https://bad.example.com:8443/"]);
    });
    under(&json!({ "deny": ["8.8.8.0/24", "tracker.example"], "replace": true }), || {
        all_allowed(url, &["http://localhost/", "http://169.254.169.254/"]);
        all_refused(
            url,
            &["http://8.8.8.8/", "http://[64:ff9b::808:808]/", "http://tracker.example/", "http://a@localhost/"],
        );
    });
}

#[test]
fn a_wrong_configuration_is_an_error() {
    for config in [
        json!({ "allowed": [] }),
        json!({ "allow": "example.com" }),
        json!({ "allow": ["*"] }),
        json!({ "allow": ["https://example.com/path"] }),
        json!({ "allow": ["example.com:70000"] }),
        json!({ "deny": ["10.0.0.1/8"] }),
        json!({ "internal": 1 }),
        json!({ "internal": ["10.0.0.0/40"] }),
        json!({ "deny": vec!["a.example"; 1001] }),
        json!([]),
    ] {
        let answer = under(&config, || check(&text_call("hello").build()));
        assert!(answer.is_err(), "{config}");
    }
}
