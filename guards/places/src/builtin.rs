//! The built-in places. Most tell no secret by being known to exist; all do by being read.

use crate::Rule;
use crate::pattern::Pattern;

/// What the places are, and the patterns that name them.
const PLACES: &[(&str, &[&str])] = &[
    (
        "system credentials",
        &[
            "etc/shadow",
            "etc/shadow-",
            "etc/gshadow",
            "etc/gshadow-",
            "etc/passwd",
            "etc/passwd-",
            "etc/master.passwd",
            "etc/sudoers*",
            "etc/security/opasswd",
            "etc/krb5.keytab",
            "*.keytab",
            "etc/ssl/private",
            "etc/kubernetes/*.conf",
            "run/secrets",
            "windows/system32/config",
            "ntds.dit",
        ],
    ),
    ("SSH keys", &[".ssh", "etc/ssh/ssh_host_*_key", "authorized_keys", "*.ppk"]),
    (
        "cloud credentials",
        &[
            ".aws",
            ".azure",
            ".config/gcloud",
            "application_default_credentials.json",
            ".oci",
            ".aliyun",
            ".bluemix",
            ".config/doctl",
            ".config/gh/hosts.yml",
            ".config/hub",
            ".config/rclone",
            ".terraform.d/credentials.tfrc.json",
            ".terraformrc",
            ".boto",
            ".s3cfg",
            ".fly/config.yml",
            ".netlify",
            ".databrickscfg",
            ".snowflake",
            ".vault-token",
            ".kaggle/kaggle.json",
            ".huggingface/token",
            ".cache/huggingface/token",
            ".claude/.credentials.json",
            ".codex/auth.json",
            "appdata/roaming/gcloud",
        ],
    ),
    ("private keys and passwords", &[".gnupg", ".password-store", "*.kdbx", ".1password"]),
    ("cluster and registry credentials", &[".kube", ".docker/config.json", ".dockercfg", "containers/auth.json"]),
    (
        "stored logins",
        &[
            ".netrc",
            "_netrc",
            ".authinfo",
            ".authinfo.gpg",
            ".pgpass",
            ".my.cnf",
            ".mylogin.cnf",
            ".git-credentials",
            ".config/git/credentials",
            ".npmrc",
            ".pypirc",
            ".gem/credentials",
            ".cargo/credentials",
            ".cargo/credentials.toml",
            ".m2/settings.xml",
            ".m2/settings-security.xml",
            ".gradle/gradle.properties",
            ".composer/auth.json",
            ".config/composer/auth.json",
            ".subversion/auth",
            ".htpasswd",
        ],
    ),
    (
        "another process's secrets",
        &["proc/*/environ", "proc/*/task/*/environ", "proc/*/mem", "proc/kcore", "dev/mem", "dev/kmem"],
    ),
    (
        "shell history",
        &[
            ".bash_history",
            ".zsh_history",
            ".zhistory",
            ".histfile",
            ".sh_history",
            ".ksh_history",
            "fish_history",
            ".python_history",
            ".node_repl_history",
            ".psql_history",
            ".mysql_history",
            ".sqlite_history",
            ".rediscli_history",
            ".irb_history",
            "consolehost_history.txt",
        ],
    ),
    ("private keys", &["*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore"]),
    (
        "browser and keychain stores",
        &[
            "library/keychains",
            "*.keychain",
            "*.keychain-db",
            ".local/share/keyrings",
            ".mozilla/firefox",
            "firefox/profiles",
            "application support/firefox",
            ".config/google-chrome",
            ".config/chromium",
            ".config/bravesoftware",
            ".config/microsoft-edge",
            "google/chrome/user data",
            "microsoft/edge/user data",
            "application support/google/chrome",
            "login data",
            "logins.json",
            "key4.db",
            "cookies.sqlite",
            "microsoft/credentials",
            "microsoft/protect",
            "wallet.dat",
            ".ethereum/keystore",
            ".config/solana/id.json",
        ],
    ),
];

/// SSH keys by their usual names, wherever they lie. Their public halves are no secret.
const SSH_KEYS: &[&str] = &["id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "id_xmss*"];
const PUBLIC_HALVES: &[&str] = &["*.pub"];

/// Environment files, and those that are made to be read.
const ENVIRONMENT: &[&str] = &[".env", ".env.*", ".env-*", ".env_*", ".env~", ".envrc"];
const ENVIRONMENT_EXAMPLES: &[&str] = &[".env.*example", ".env.*sample", ".env.*template", ".env.dist"];

pub(crate) fn rules() -> Vec<Rule> {
    let plain = PLACES.iter().flat_map(|(what, names)| names.iter().map(|name| rule(name, &[], what)));
    let keys = SSH_KEYS.iter().map(|name| rule(name, PUBLIC_HALVES, "SSH keys"));
    let environment = ENVIRONMENT.iter().map(|name| rule(name, ENVIRONMENT_EXAMPLES, "environment secrets"));
    plain.chain(keys).chain(environment).collect()
}

fn rule(pattern: &str, except: &[&str], what: &str) -> Rule {
    let parse = |text: &&str| Pattern::parse(text).expect("a test parses every built-in pattern");
    Rule { pattern: parse(&pattern), except: except.iter().map(parse).collect(), what: what.into() }
}
