//! Programs that connect, and which of their words say where.

use crate::options::Valued;

/// How a program's words say where it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Every operand is a URL, with or without a scheme.
    Fetch,
    /// The first operand is a host, the second a port.
    HostAndPort { scheme: Option<&'static str> },
    /// The first operand is a host with or without a user before it.
    Login,
    /// Operands may be `user@host:path`; where it needs a login, only those with a user are.
    Copy { needs_login: bool },
    /// Words are `tcp:host:port`.
    Relay,
    /// `-connect host:port`.
    Tls,
    /// Every operand is a host or a network.
    Scan,
}

/// Programs of one kind.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) names: &'static [&'static str],
    pub(crate) shape: Shape,
    pub(crate) valued: Valued,
}

/// Long options of curl and wget that take a value.
const FETCH_OPTIONS: &[&str] = &[
    "data",
    "data-ascii",
    "data-binary",
    "data-raw",
    "data-urlencode",
    "json",
    "header",
    "output",
    "request",
    "user",
    "user-agent",
    "referer",
    "cookie",
    "cookie-jar",
    "form",
    "form-string",
    "upload-file",
    "max-time",
    "connect-timeout",
    "retry",
    "retry-delay",
    "retry-max-time",
    "range",
    "write-out",
    "cert",
    "cert-type",
    "key",
    "key-type",
    "cacert",
    "capath",
    "config",
    "dump-header",
    "limit-rate",
    "interface",
    "ciphers",
    "tls-max",
    "output-dir",
    "continue-at",
    "speed-limit",
    "speed-time",
    "max-filesize",
    "max-redirs",
    "time-cond",
    "netrc-file",
    "pass",
    "oauth2-bearer",
    "aws-sigv4",
    "url-query",
    "variable",
    "unix-socket",
    "trace",
    "trace-ascii",
    "stderr",
    "etag-save",
    "etag-compare",
    "proxy",
    "preproxy",
    "socks4",
    "socks4a",
    "socks5",
    "socks5-hostname",
    "proxy-user",
    "noproxy",
    "url",
    "doh-url",
    "resolve",
    "connect-to",
    "dns-servers",
    "local-port",
    "parallel-max",
    "rate",
    "create-file-mode",
    "request-target",
    "output-file",
    "append-output",
    "execute",
    "input-file",
    "base",
    "tries",
    "output-document",
    "timeout",
    "dns-timeout",
    "read-timeout",
    "wait",
    "waitretry",
    "quota",
    "directory-prefix",
    "password",
    "http-user",
    "http-password",
    "ftp-user",
    "ftp-password",
    "post-data",
    "post-file",
    "method",
    "body-data",
    "body-file",
    "load-cookies",
    "save-cookies",
    "accept",
    "reject",
    "domains",
    "exclude-domains",
    "level",
    "include-directories",
    "cut-dirs",
    "exclude-directories",
    "certificate",
    "private-key",
    "ca-certificate",
    "ca-directory",
    "secure-protocol",
];

const NONE: Valued = Valued { letters: "", names: &[] };

/// Where a program that has options of its own stands with other options.
const fn client(names: &'static [&'static str], shape: Shape, letters: &'static str) -> Client {
    Client { names, shape, valued: Valued { letters, ..NONE } }
}

pub(crate) const CLIENTS: &[Client] = &[
    Client {
        names: &["curl", "curlie"],
        shape: Shape::Fetch,
        valued: Valued { letters: "AbcCdDeEFhHKmoPQrtTuUwxXyYz", names: FETCH_OPTIONS },
    },
    Client {
        names: &["wget", "wget2"],
        shape: Shape::Fetch,
        valued: Valued { letters: "aAbBDeiIlOoPQRtTUwX", names: FETCH_OPTIONS },
    },
    client(
        &["nc", "ncat", "netcat", "nc.traditional", "nc.openbsd"],
        Shape::HostAndPort { scheme: None },
        "ceGgiIMmOoPpqsTVWwXx",
    ),
    client(&["telnet"], Shape::HostAndPort { scheme: Some("telnet") }, "abeklnSX"),
    client(&["ftp", "tftp", "lftp"], Shape::HostAndPort { scheme: Some("ftp") }, "eopuPNqrsT"),
    client(&["ssh", "autossh", "mosh", "ssh-copy-id", "slogin"], Shape::Login, "BbcDEeFIiJLlmMOopPQRSWw"),
    client(&["scp", "sftp"], Shape::Copy { needs_login: false }, "BbcDFiJloPRSsX"),
    client(&["rsync"], Shape::Copy { needs_login: false }, "efBTM"),
    client(&["git"], Shape::Copy { needs_login: true }, "Cc"),
    client(&["socat"], Shape::Relay, ""),
    client(&["openssl"], Shape::Tls, ""),
    client(&["nmap", "masscan", "zmap", "hping3", "nikto"], Shape::Scan, "pSDgTeioAx"),
];

/// Whether a program of this name is one of them, whatever folder it is in.
pub(crate) fn is_client(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    CLIENTS.iter().any(|client| client.names.iter().any(|known| name.eq_ignore_ascii_case(known)))
}
