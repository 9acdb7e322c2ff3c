//! Where commands go.

use command_lines::{Effective, Simple, assignment, every_command, has_option, is_interpreter, unwrap};

use crate::clients::{CLIENTS, Client, Shape, is_client};
use crate::options::{Part, parts};
use crate::rules::{Rules, Sure};
use crate::target::{Host, Target, default_port};
use crate::text::{self, is_certain_host};

/// A command longer than this, in bytes, is refused: nobody can read it. A text so long is not a command.
const MAX_BYTES: usize = 256 << 10;

/// Commands whose words are said, compared or looked for.
const SPEAKERS: &[&str] = &[
    "echo", "printf", "true", ":", "test", "[", "[[", "which", "type", "man", "help", "grep", "egrep", "fgrep", "rg",
    "ag", "ack", "sed", "awk", "gawk", "jq", "yq", "alias", "",
];
/// What git does without reaching anybody.
const LOCAL_GIT: &[&str] = &["commit", "log", "grep", "tag", "notes", "show", "diff", "add", "status"];
/// Variables that send every connection elsewhere.
const PROXIES: &[&str] = &["http_proxy", "https_proxy", "all_proxy", "ftp_proxy"];

/// Why a line for a shell is refused, if it is.
pub(crate) fn line(rules: &Rules, line: &str) -> Option<String> {
    if line.len() > MAX_BYTES {
        return Some(format!("a command is refused (it is longer than {MAX_BYTES} bytes)"));
    }
    match every_command(line) {
        Ok(commands) => commands.iter().find_map(|command| judge(rules, command)),
        Err(_) => Some("a command is refused (it holds commands within commands, too many to read)".to_owned()),
    }
}

/// Why an argument vector is refused, if it is.
pub(crate) fn words(rules: &Rules, words: &[String]) -> Option<String> {
    // One word with spaces is a line that somebody put into a list.
    if let [only] = words {
        return line(rules, only);
    }
    if words.iter().map(String::len).sum::<usize>() > MAX_BYTES {
        return Some(format!("a command is refused (it is longer than {MAX_BYTES} bytes)"));
    }
    let lines = unwrap(words).lines;
    let command = Simple { words: words.to_vec(), ..Simple::default() };
    judge(rules, &command).or_else(|| lines.iter().find_map(|nested| line(rules, nested)))
}

/// Why a text that nobody described is refused, if it reads as a command of a program that connects.
pub(crate) fn text(rules: &Rules, text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let program = words.next().filter(|program| program.len() <= 64)?;
    if !is_client(program) || text.len() > MAX_BYTES {
        return None;
    }
    // In prose about the program come words that are neither options, nor their values, nor places.
    let mut after_option = false;
    let is_command =
        words.take_while(|word| !matches!(*word, "|" | "||" | "&&" | ";" | ">" | ">>" | "&")).all(|word| {
            let is_option = word.starts_with('-');
            let is_place = word == "localhost" || word.contains(|c: char| !c.is_alphabetic() && !",!?".contains(c));
            let fits = is_option || after_option || is_place;
            after_option = is_option;
            fits
        });
    if is_command { line(rules, text) } else { None }
}

fn judge(rules: &Rules, simple: &Simple) -> Option<String> {
    let command = unwrap(&simple.words);
    let name = command.name.as_str();
    device(rules, simple)
        .or_else(|| simple.words.iter().find_map(|word| proxy(rules, word)))
        .or_else(|| simple.redirects.iter().find_map(|target| text::word(rules, target)))
        .or_else(|| match CLIENTS.iter().find(|client| client.names.contains(&name)) {
            Some(client) => connect(rules, client, &command),
            None if SPEAKERS.contains(&name) => None,
            None if is_interpreter(name) => {
                let programs = command.arguments.iter().chain(&simple.stdin);
                programs.into_iter().find_map(|program| text::program(rules, program))
            }
            None => command.arguments.iter().find_map(|word| argument(rules, word)),
        })
}

/// A word of a program that nobody knows. What it sets is not where it goes.
fn argument(rules: &Rules, word: &str) -> Option<String> {
    if assignment(word).is_some() { None } else { text::judge(rules, word) }
}

/// `/dev/tcp/host/port`, which a shell opens as a connection.
fn device(rules: &Rules, simple: &Simple) -> Option<String> {
    simple.words.iter().chain(&simple.redirects).find_map(|word| {
        let rest = ["/dev/tcp/", "/dev/udp/"].iter().find_map(|device| word.split_once(device))?.1;
        let (host, port) = rest.split_once('/')?;
        place(rules, None, host, port.split('/').next())
    })
}

fn proxy(rules: &Rules, word: &str) -> Option<String> {
    let (name, value) = assignment(word)?;
    let is_proxy = PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy));
    if is_proxy && !value.is_empty() { url_or_host(rules, value, any_host) } else { None }
}

fn connect(rules: &Rules, client: &Client, command: &Effective<'_>) -> Option<String> {
    let parts = parts(&command.arguments, &client.valued);
    let operands = || parts.iter().filter_map(|part| if let Part::Operand(word) = part { Some(*word) } else { None });
    let values = |wanted: &'static [&'static str]| {
        parts.iter().filter_map(move |part| match part {
            Part::Value(option, value) if wanted.contains(option) => Some(*value),
            _ => None,
        })
    };
    match client.shape {
        Shape::Fetch => operands()
            .find_map(|operand| {
                // What curl makes of its own braces begins with the first.
                let plain = operand.replace('{', "");
                let is_host = |host: &Host, written: &str| is_certain_host(host, written) || is_word(host, written);
                [operand, &plain].into_iter().find_map(|word| url_or_host(rules, word, is_host))
            })
            .or_else(|| {
                values(&[
                    "x",
                    "--proxy",
                    "--preproxy",
                    "--socks5",
                    "--socks5-hostname",
                    "--socks4",
                    "--url",
                    "--doh-url",
                ])
                .find_map(|value| url_or_host(rules, value, any_host))
            })
            .or_else(|| {
                // `host:port:address` and `host:port:host:port`: what comes after the second colon is where it goes.
                let moved = values(&["--resolve", "--connect-to"]).filter_map(|value| value.splitn(3, ':').nth(2));
                moved.flat_map(|places| places.split(',')).find_map(|place| url_or_host(rules, place, any_host))
            }),
        Shape::HostAndPort { scheme } => {
            // Netcat listens, or talks to a socket of this machine.
            let is_local = scheme.is_none()
                && (has_option(&command.arguments, 'l', "listen") || has_option(&command.arguments, 'U', "unixsock"));
            let mut operands = operands();
            let host = operands.next().filter(|_| !is_local)?;
            let port = operands.next();
            if host.contains("://") { text::word(rules, host) } else { place(rules, scheme, host, port) }
        }
        Shape::Login => {
            let port = values(&["p", "P"]).next();
            let first = operands().next();
            let jumps = values(&["J", "W"]).flat_map(|hosts| hosts.split(','));
            first.into_iter().chain(jumps).find_map(|host| login(rules, host, port))
        }
        Shape::Copy { needs_login } => {
            if command.name == "git" && operands().next().is_some_and(|what| LOCAL_GIT.contains(&what)) {
                return None;
            }
            operands().chain(values(&["--upload-pack"])).find_map(|operand| {
                text::judge(rules, operand).or_else(|| {
                    let (host, _) = operand.split_once(':').filter(|_| !operand.contains("://"))?;
                    // One letter is a drive.
                    let is_remote = host.len() > 1 && !host.contains('/') && (!needs_login || host.contains('@'));
                    if is_remote { login(rules, host, None) } else { None }
                })
            })
        }
        Shape::Relay => command.arguments.iter().find_map(|word| relay(rules, word)),
        Shape::Tls => {
            let pairs = command.arguments.windows(2);
            let places = pairs.filter(|pair| matches!(pair[0].as_str(), "-connect" | "-proxy" | "-host"));
            places.into_iter().find_map(|pair| url_or_host(rules, &pair[1], any_host))
        }
        Shape::Scan => operands().find_map(|operand| {
            let is_number = operand.starts_with(|c: char| c.is_ascii_digit());
            let end = operand.find(|c: char| c == '/' || (is_number && c == '-')).unwrap_or(operand.len());
            url_or_host(rules, &operand[..end].replace('*', "0"), is_certain_host)
        }),
    }
}

/// `tcp:host:port` and its kin, as socat has them.
fn relay(rules: &Rules, word: &str) -> Option<String> {
    const PROTOCOLS: &[&str] = &[
        "tcp",
        "tcp4",
        "tcp6",
        "tcp-connect",
        "udp",
        "udp4",
        "udp6",
        "udp-connect",
        "openssl",
        "openssl-connect",
        "ssl",
        "sctp",
        "socks4",
        "socks5",
        "proxy",
        "proxy-connect",
    ];
    let (protocol, rest) = word.split_once(':')?;
    let rest = rest.split(',').next().unwrap_or(rest);
    let is_connection = PROTOCOLS.iter().any(|known| protocol.eq_ignore_ascii_case(known));
    if is_connection { url_or_host(rules, rest, any_host) } else { None }
}

/// A URL, or a host with or without a port that is one as `is_host` sees it.
fn url_or_host(rules: &Rules, text: &str, is_host: impl Fn(&Host, &str) -> bool) -> Option<String> {
    if text.contains(":/") || text.contains(":\\") {
        return text::judge(rules, text);
    }
    match Target::read_bare(text) {
        Ok(target) if is_host(&target.host, text) => rules.refuse(&target, Sure::Plainly),
        Ok(_) | Err(_) => None,
    }
}

/// The host that one logs in to, perhaps with a name before it.
fn login(rules: &Rules, host: &str, port: Option<&str>) -> Option<String> {
    if host.contains("://") {
        return text::word(rules, host);
    }
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    place(rules, Some("ssh"), host, port)
}

/// A host, and a port in a word of its own.
fn place(rules: &Rules, scheme: Option<&str>, host: &str, port: Option<&str>) -> Option<String> {
    let target = Target::read(None, host).ok()?;
    let port = port.and_then(|port| port.parse().ok()).or(target.port).or_else(|| scheme.and_then(default_port));
    let target = Target { scheme: scheme.map(str::to_owned), port, ..target };
    rules.refuse(&target, Sure::Plainly)
}

/// Where a program takes nothing but hosts.
fn any_host(_: &Host, _: &str) -> bool {
    true
}

/// One word that the program takes for a host, as it takes anything.
fn is_word(host: &Host, written: &str) -> bool {
    matches!(host, Host::Name(_)) && !written.contains('=') || matches!(host, Host::Unknown(_))
}
