use super::*;

#[test]
fn forbidden_in_every_spelling() {
    let places = Places::builtin();
    for path in [
        "/etc/shadow",
        "/etc/passwd",
        "/etc/sudoers",
        "/etc/sudoers.d/x",
        "~/.ssh",
        "~/.ssh/",
        "~/.ssh/config",
        "/home/u/.ssh/id_ed25519",
        "id_rsa",
        "backup/id_rsa.bak",
        "~/.aws/credentials",
        "~/.gnupg/secring.gpg",
        "~/.kube/config",
        "~/.docker/config.json",
        ".netrc",
        "~/.config/gcloud/credentials.db",
        "/proc/self/environ",
        "/proc/1/root/etc/shadow",
        "~/.bash_history",
        "certs/server.pem",
        "tls.key",
        ".env",
        "app/.env.production",
        ".env.local",
        "~/.git-credentials",
        ".npmrc",
        ".pypirc",
        "~/Library/Keychains/login.keychain-db",
        // Spellings.
        "a/../../etc/shadow",
        "../../../../etc/shadow",
        "/etc/./shadow",
        "/etc//shadow",
        "//etc/shadow",
        "/etc/shadow/",
        "\\etc\\shadow",
        "C:\\Users\\u\\.ssh\\id_rsa",
        "\\\\?\\C:\\Users\\u\\.ssh",
        "%2fetc%2fshadow",
        "%252fetc%252fshadow",
        "..%2f..%2fetc%2fshadow",
        "..%c0%af..%c0%afetc/shadow",
        "file:///etc/shadow",
        "FILE:/etc/shadow",
        "file://localhost/etc/shadow",
        "/etc/shadow\0.txt",
        "/etc/shadow%00.txt",
        "/etc/sha\u{1}dow",
        "/etc/sha\u{200b}dow",
        "~/.SSH/ID_RSA",
        "/ETC/Shadow",
        "\u{ff0f}etc\u{ff0f}shadow",
        "~/\u{ff0e}ssh",
        "/x/\u{2025}/etc/shadow",
        ".env ",
        ".env.",
        ".env::$DATA",
        "docs/../.env",
        "%e0%80%ae%e0%80%aessh/..%c0%af.env",
        "\u{2024}env",
        ".\u{17f}sh/config",
        ".e\u{e0067}nv",
        "C:\\Users\\u\\SSH~1\\config",
        // On nobody's first list.
        "~/.config/rclone/rclone.conf",
        "infra/terraform.tfstate",
        "~/.local/share/com.vercel.cli/auth.json",
        "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "/etc/NetworkManager/system-connections/home.nmconnection",
        "/proc/thread-self/environ",
        "/proc/1/task/1/environ",
        "/proc/self/cwd/.env",
        "/proc/self/fd/9",
        "~/.config/Code/User/globalStorage/state.vscdb",
        "AuthKey_ABC.p8",
        ".dev.vars",
        ".env.example/../.env",
    ] {
        assert!(places.find(path).is_some(), "{path:?} was let through");
    }
}

#[test]
fn what_only_looks_like_it_is_allowed() {
    let places = Places::builtin();
    for path in [
        ".env.example",
        ".env.sample",
        ".env.template",
        ".env.local.example",
        "pass",
        "pass/readme.md",
        "docs/ssh-howto.md",
        "/etc/hosts",
        "/etc/shadowy",
        "my-etc/passwords.md",
        "src/environment.rs",
        "ssh/config",
        "keyboard.keymap",
        "id_rsa.pub",
        "monkey",
        "/data/netrc.md",
        "src/.envoy/config",
        "/proc/cpuinfo",
        "/proc/self/status",
        "src/history.ts",
        "infra/main.tf",
        "infra/variables.tfvars.example",
        "docs/service-accounts.md",
        "src/ssh.rs",
        "HEAD~1",
        ".dev.vars.example",
        "secrets.md",
        "credentials/index.ts",
        "%",
        "",
    ] {
        assert_eq!(places.find(path), None, "{path:?}");
    }
}

#[test]
fn a_shells_wildcards_are_seen_through() {
    let places = Places::builtin();
    for word in ["/etc/sha*", "/etc/shado?", "/etc/[s]hadow", "/e??/shadow", "~/.ss*/id_*", "~/.ssh/*"] {
        assert!(places.find_expanded(word).is_some(), "{word}");
    }
    for word in ["~/.env*", "/proc/*/env*", "*_history", "id_*"] {
        assert!(places.find_expanded(word).is_some(), "{word}");
    }
    for word in
        ["*", ".*", "/etc/*", "src/*.rs", "~/*", "*.json", "*.txt", "*.cnf", "*env*", "*keys*", "*.toml", "*.db"]
    {
        assert_eq!(places.find_expanded(word), None, "{word}");
    }
}

#[test]
fn a_policy_adds_replaces_and_makes_exceptions() {
    let list = |items: &[&str]| items.iter().map(ToString::to_string).collect::<Vec<_>>();
    let places =
        Places::configured(&list(&["/data/private", "*.sql"]), false, &list(&["fixtures", "~/.ssh/config"])).unwrap();
    assert!(places.find("/data/private/x").is_some() && places.find("dump.SQL").is_some());
    assert_eq!(places.find("/data/private-not"), None);
    assert_eq!(places.find("/other/data/private"), None);
    assert_eq!(places.find("fixtures/server.pem"), None);
    assert_eq!(places.find("~/.ssh/config"), None);
    // An exception does not reach up, and does not survive traversal.
    assert!(places.find("~/.ssh/fixtures").is_some());
    assert!(places.find("fixtures/../.env").is_some());

    let only = Places::configured(&list(&["*.sql"]), true, &[]).unwrap();
    assert!(only.find("/etc/shadow").is_none() && only.find("a.sql").is_some());
    assert!(Places::configured(&list(&["a/../b"]), false, &[]).is_err());
    assert!(Places::configured(&[], false, &list(&[""])).is_err());
}
