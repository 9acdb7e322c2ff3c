//! Where something leads: a host and a port, read as the WHATWG rules read them, whatever the scheme.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use special_networks::special;

use crate::names::{Why, special_name};

/// The longest name that the DNS has, in bytes.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// Where a URL, or an operand of a command, leads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    /// In lower case; absent where only a host was given.
    pub(crate) scheme: Option<String>,
    pub(crate) host: Host,
    /// The port in force, where it is known.
    pub(crate) port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Host {
    /// A name as the DNS has it: lower case, punycode, without the dot at its end.
    Name(String),
    Address(IpAddr),
    /// Something that no resolver knows, such as a placeholder or what a shell fills in.
    Unknown(String),
}

/// Why an authority says nowhere.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unread {
    /// A login stands before this host.
    Login(String),
    /// An address with a zone, which is one of this machine's own links.
    Zone,
    /// Two readers could read it differently.
    Ambiguous,
    /// It does not parse.
    Unparsable,
    /// There is none.
    Empty,
}

/// Schemes whose URLs the WHATWG rules know, with their ports.
const SPECIAL: &[(&str, u16)] = &[("http", 80), ("https", 443), ("ws", 80), ("wss", 443), ("ftp", 21)];

/// Other schemes that connect somewhere, with the ports that they go to. The name in any other scheme's URL may be a
/// bucket, a package or a page of a program.
const CONNECTING: &[(&str, Option<u16>)] = &[
    ("ssh", Some(22)),
    ("sftp", Some(22)),
    ("git+ssh", Some(22)),
    ("ssh+git", Some(22)),
    ("svn+ssh", Some(22)),
    ("scp", Some(22)),
    ("rsync", Some(873)),
    ("git", Some(9418)),
    ("git+http", Some(80)),
    ("git+https", Some(443)),
    ("svn", Some(3690)),
    ("ftps", Some(990)),
    ("tftp", Some(69)),
    ("telnet", Some(23)),
    ("gopher", Some(70)),
    ("dict", Some(2628)),
    ("ldap", Some(389)),
    ("ldaps", Some(636)),
    ("smtp", Some(25)),
    ("smtps", Some(465)),
    ("imap", Some(143)),
    ("imaps", Some(993)),
    ("pop3", Some(110)),
    ("pop3s", Some(995)),
    ("smb", Some(445)),
    ("cifs", Some(445)),
    ("nfs", Some(2049)),
    ("file", None),
    ("postgres", Some(5432)),
    ("postgresql", Some(5432)),
    ("mysql", Some(3306)),
    ("mariadb", Some(3306)),
    ("mongodb", Some(27017)),
    ("mongodb+srv", Some(27017)),
    ("redis", Some(6379)),
    ("rediss", Some(6379)),
    ("amqp", Some(5672)),
    ("amqps", Some(5671)),
    ("mqtt", Some(1883)),
    ("mqtts", Some(8883)),
    ("nats", Some(4222)),
    ("kafka", Some(9092)),
    ("memcached", Some(11211)),
    ("clickhouse", Some(9000)),
    ("rtsp", Some(554)),
    ("rtmp", Some(1935)),
    ("irc", Some(6667)),
    ("ircs", Some(6697)),
    ("vnc", Some(5900)),
    ("rdp", Some(3389)),
    ("tcp", None),
    ("udp", None),
    ("tls", None),
    ("ssl", None),
    ("socks", Some(1080)),
    ("socks4", Some(1080)),
    ("socks4a", Some(1080)),
    ("socks5", Some(1080)),
    ("socks5h", Some(1080)),
    ("grpc", None),
    ("grpcs", None),
];

/// Schemes in which a login is how one connects, not a disguise of the host.
const LOGIN_IS_USUAL: &[&str] = &[
    "ssh",
    "sftp",
    "git+ssh",
    "ssh+git",
    "svn+ssh",
    "scp",
    "rsync",
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "mongodb",
    "mongodb+srv",
    "redis",
    "rediss",
    "amqp",
    "amqps",
    "mqtt",
    "mqtts",
    "nats",
    "smtp",
    "smtps",
    "imap",
    "imaps",
    "ldap",
    "ldaps",
];

/// Whether the WHATWG rules know the scheme, so that any slashes, or none, come before the host.
pub(crate) fn is_special(scheme: &str) -> bool {
    SPECIAL.iter().any(|(name, _)| *name == scheme)
}

/// The port that a scheme goes to where none is written.
pub(crate) fn default_port(scheme: &str) -> Option<u16> {
    let special = SPECIAL.iter().find(|(name, _)| *name == scheme).map(|(_, port)| *port);
    special.or_else(|| CONNECTING.iter().find(|(name, _)| *name == scheme)?.1)
}

/// Whether a login in front of the host is no disguise: it is usual in the scheme, and does not look like a host.
pub(crate) fn is_usual_login(scheme: &str, login: &str) -> bool {
    let user = login.split(':').next().unwrap_or_default();
    LOGIN_IS_USUAL.contains(&scheme) && !login.contains(['@', '/', '\\']) && !user.contains(['.', '%'])
}

impl Target {
    /// Reads what stands between a scheme's slashes and the path.
    pub(crate) fn read(scheme: Option<&str>, authority: &str) -> Result<Self, Unread> {
        let mut rest = authority;
        if let Some((login, host)) = authority.rsplit_once('@') {
            if !scheme.is_some_and(|scheme| is_usual_login(scheme, login)) {
                let host = Host::read(split_port(host).0).map_or_else(|_| String::new(), |host| host.to_string());
                return Err(Unread::Login(host));
            }
            rest = host;
        }
        if rest.is_empty() {
            return Err(Unread::Empty);
        }
        let (host, port) = split_port(rest);
        let host = Host::read(host)?;
        let port = match port {
            // A placeholder, or nonsense: the host is judged all the same.
            Some(port) if !port.is_empty() => port.parse().ok(),
            _ => scheme.and_then(default_port),
        };
        Ok(Self { scheme: scheme.map(str::to_owned), host, port })
    }

    /// Reads `host`, `host:port` or either with a path, as programs that connect take them.
    pub(crate) fn read_bare(text: &str) -> Result<Self, Unread> {
        let end = text.find(['/', '\\', '?', '#']).unwrap_or(text.len());
        Self::read(None, &text[..end])
    }

    /// Why the target is no public host, if the name or the address says so.
    pub(crate) fn special(&self) -> Option<Why> {
        match &self.host {
            Host::Address(address) => special(*address).map(|special| Why {
                kind: special.kind,
                what: special.what,
                address: Some(special.address),
            }),
            Host::Name(_) if self.may_be_a_bucket() => None,
            Host::Name(name) => special_name(name),
            Host::Unknown(_) => None,
        }
    }

    /// Whether the host is a single word under a scheme that need not connect to it (`s3://bucket`).
    pub(crate) fn may_be_a_bucket(&self) -> bool {
        let connects = |scheme: &String| is_special(scheme) || CONNECTING.iter().any(|(name, _)| name == scheme);
        let is_word = matches!(&self.host, Host::Name(name) if !name.contains('.') && name != "localhost");
        is_word && self.scheme.as_ref().is_some_and(|scheme| !connects(scheme))
    }
}

impl Host {
    /// Reads a host in any spelling that a browser would take.
    pub(crate) fn read(text: &str) -> Result<Self, Unread> {
        match url::Host::parse(text) {
            Ok(url::Host::Domain(name)) => Ok(Self::of_name(&name)),
            Ok(url::Host::Ipv4(address)) => Ok(Self::Address(address.into())),
            Ok(url::Host::Ipv6(address)) => Ok(Self::Address(address.into())),
            Err(_) if text.is_empty() => Err(Unread::Empty),
            Err(_) if text.parse::<Ipv6Addr>().is_ok() => {
                text.parse().map(Self::Address).map_err(|_| Unread::Unparsable)
            }
            Err(_) if text.starts_with('[') && text.contains('%') => Err(Unread::Zone),
            Err(_) if is_placeholder(text) => Ok(Self::Unknown(text.to_owned())),
            Err(_) => Err(Unread::Unparsable),
        }
    }

    fn of_name(name: &str) -> Self {
        let bare = name.strip_suffix('.').unwrap_or(name);
        if is_name(bare) { Self::Name(bare.to_owned()) } else { Self::Unknown(name.to_owned()) }
    }

    /// The address as a connection sees it: one that is mapped into IPv6 is an IPv4 address.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Address(address) => Some(address.to_canonical()),
            _ => None,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) | Self::Unknown(name) => f.write_str(&chio_sdk::quote(name)),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// Whether a name can be in the DNS.
pub(crate) fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= MAX_LABEL
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    name.len() <= MAX_NAME && name.split('.').all(is_label)
}

/// Whether a text has a place that somebody else fills in.
fn is_placeholder(text: &str) -> bool {
    text.contains(['$', '{', '}', '<', '>', '*', '%'])
}

/// The host and what stands behind its colon.
fn split_port(text: &str) -> (&str, Option<&str>) {
    let colon = text.rfind(':').filter(|colon| text.rfind(']').is_none_or(|bracket| bracket < *colon));
    // An IPv6 address without brackets is read as one by programs that take a bare host.
    if text.parse::<Ipv6Addr>().is_ok() {
        return (text, None);
    }
    match colon {
        Some(colon) => (&text[..colon], Some(&text[colon + 1..])),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(authority: &str) -> String {
        match Target::read(Some("http"), authority) {
            Ok(target) => format!("{}:{}", target.host, target.port.unwrap_or(0)),
            Err(why) => format!("{why:?}"),
        }
    }

    #[test]
    fn every_spelling_of_a_host() {
        for (authority, expected) in [
            ("EXAMPLE.com", "example.com:80"),
            ("example.com.", "example.com:80"),
            ("example.com:8080", "example.com:8080"),
            ("example.com:", "example.com:80"),
            ("0x7f.1", "127.0.0.1:80"),
            ("017700000001", "127.0.0.1:80"),
            ("2130706433:81", "127.0.0.1:81"),
            ("\u{ff11}\u{ff12}\u{ff17}.0.0.1", "127.0.0.1:80"),
            ("%31%32%37.0.0.1", "127.0.0.1:80"),
            ("[::1]:3000", "::1:3000"),
            ("m\u{fc}nchen.de", "xn--mnchen-3ya.de:80"),
            ("loc\u{ad}alhost", "localhost:80"),
            ("a@b", "Login(\"b\")"),
            ("[fe80::1%25eth0]", "Zone"),
            ("", "Empty"),
            ("a b", "Unparsable"),
            ("[::1", "Unparsable"),
            ("${HOST}", "${host}:80"),
            ("example.com:port", "example.com:0"),
        ] {
            assert_eq!(read(authority), expected, "{authority}");
        }
    }

    #[test]
    fn a_login_is_usual_only_where_it_is() {
        assert!(Target::read(Some("ssh"), "git@example.com").is_ok());
        assert!(Target::read(Some("postgres"), "app:s3cret@example.com:5432").is_ok());
        assert!(Target::read(Some("ssh"), "good.example@example.com").is_err());
        assert!(Target::read(Some("https"), "git@example.com").is_err());
    }

    #[test]
    fn a_bucket_is_no_host() {
        let special = |scheme, authority| Target::read(Some(scheme), authority).unwrap().special();
        assert_eq!(special("s3", "bucket"), None);
        assert!(special("s3", "10.0.0.1").is_some() && special("redis", "cache").is_some());
        assert!(special("x", "localhost").is_some());
    }
}
