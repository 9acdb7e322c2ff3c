//! Mail addresses of persons.

use std::ops::Range;

use crate::domains::is_top;
use crate::kind::Kind;
use crate::scan::Scan;

/// The longest part before the at sign and behind it, in bytes, by RFC 5321.
const MAX_LOCAL: usize = 64;
const MAX_DOMAIN: usize = 253;

/// Providers whose domains are known by their begin, where the rest of one stands in another string.
const PROVIDERS: [&str; 20] = [
    "gmail.com",
    "googlemail.com",
    "outlook.com",
    "hotmail.com",
    "live.com",
    "yahoo.com",
    "icloud.com",
    "me.com",
    "aol.com",
    "proton.me",
    "protonmail.com",
    "gmx.de",
    "gmx.net",
    "gmx.com",
    "web.de",
    "mail.ru",
    "yandex.ru",
    "qq.com",
    "163.com",
    "zoho.com",
];

/// Finds the addresses of a text.
pub(crate) fn find(scan: &mut Scan<'_>) {
    if !scan.wants(Kind::Email) {
        return;
    }
    let text = scan.text;
    let mut done = 0;
    for (at, _) in text.match_indices('@') {
        if let Some(place) = address(text, at..at + 1, done) {
            done = place.end;
            scan.found(place, Kind::Email);
        }
    }
}

/// Finds the addresses of a text whose at sign is spelt out.
pub(crate) fn find_spelt(scan: &mut Scan<'_>) {
    if !scan.wants(Kind::Email) {
        return;
    }
    let text = scan.text;
    for mark in ["[at]", "(at)", "{at}", " at ", "[AT]", "(AT)"] {
        for (at, _) in text.match_indices(mark) {
            if let Some(place) = spelt(text, at..at + mark.len()) {
                scan.found(place, Kind::Email);
            }
        }
    }
}

/// The address around an at sign.
fn address(text: &str, sign: Range<usize>, from: usize) -> Option<Range<usize>> {
    let start = local_start(text, sign.start, from)?;
    let domain = domain_end(text, sign.end);
    let domain = text.get(sign.end..domain)?;
    let local = text.get(start..sign.start)?;
    let is_one = is_domain(domain) && is_person(local, domain) && !is_login(text, start) && !is_message_id(text, start);
    is_one.then(|| start..sign.end + domain.len())
}

/// Where the part before the sign begins.
fn local_start(text: &str, end: usize, from: usize) -> Option<usize> {
    let before = text.get(from..end)?;
    let is_part = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '.' | '_' | '%' | '+' | '-' | '\'')
            || !c.is_ascii() && c.is_alphanumeric()
    };
    let mut length = 0;
    for c in before.chars().rev().take_while(|c| is_part(*c)) {
        length += c.len_utf8();
        if length > MAX_LOCAL {
            return None;
        }
    }
    let mut start = end - length;
    // Behind the backslash of an escape, the first letter is the escape's.
    if text[..start].ends_with('\\') && matches!(text.as_bytes().get(start), Some(b'n' | b't' | b'r')) {
        start += 1;
    }
    let local = text.get(start..end)?;
    let start = end - local.trim_start_matches(['.', '\'', '-', '%', '+']).len();
    (start < end && text[start..end].chars().any(char::is_alphanumeric)).then_some(start)
}

/// Where the part behind the sign ends.
fn domain_end(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-') || !c.is_ascii() && c.is_alphanumeric();
    let length: usize = rest.chars().take(MAX_DOMAIN).take_while(|c| is_part(*c)).map(char::len_utf8).sum();
    start + rest[..length].trim_end_matches(['.', '-']).len()
}

/// Whether labels and a top-level domain make a domain.
fn is_domain(domain: &str) -> bool {
    let is_label =
        |label: &str| !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-');
    // `pkg@0.1.0.md` is a version.
    let is_version = domain.split('.').take(2).all(|label| label.bytes().all(|byte| byte.is_ascii_digit()));
    !is_version
        && domain.len() <= MAX_DOMAIN
        && domain.split('.').all(is_label)
        && domain.rsplit_once('.').is_some_and(|(_, top)| is_top(&top.to_ascii_lowercase()))
}

/// Whether a person is behind an address, and not a role, a machine, a service's login or a placeholder.
fn is_person(local: &str, domain: &str) -> bool {
    const ROLES: [&str; 38] = [
        "git",
        "hg",
        "svn",
        "root",
        "ubuntu",
        "ec2user",
        "admin",
        "administrator",
        "deploy",
        "wwwdata",
        "nobody",
        "abuse",
        "billing",
        "contact",
        "feedback",
        "hello",
        "help",
        "helpdesk",
        "hostmaster",
        "info",
        "jobs",
        "legal",
        "mail",
        "marketing",
        "news",
        "newsletter",
        "office",
        "postmaster",
        "press",
        "privacy",
        "sales",
        "security",
        "service",
        "support",
        "team",
        "webmaster",
        "mailerdaemon",
        "notifications",
    ];
    const PLACEHOLDERS: [&str; 11] = [
        "foo.com",
        "bar.com",
        "baz.com",
        "domain.com",
        "yourdomain.com",
        "your-domain.com",
        "mydomain.com",
        "yourcompany.com",
        "company.com",
        "domain.tld",
        "users.noreply.github.com",
    ];
    let domain = domain.to_ascii_lowercase();
    let mut labels = domain.rsplit('.');
    let (top, second) = (labels.next().unwrap_or_default(), labels.next().unwrap_or_default());
    let is_example = matches!(top, "example" | "test" | "invalid" | "localhost" | "local")
        || second == "example" && matches!(top, "com" | "org" | "net" | "edu");
    // SSH names its algorithms after who came up with them.
    let is_machine = matches!(domain.as_str(), "openssh.com" | "libssh.org")
        || domain.ends_with(".compute.amazonaws.com")
        || domain.ends_with(".iam.gserviceaccount.com");
    // `logo@2x.md` is a picture, and `this@User.name` is Kotlin.
    let first = domain.split('.').next().unwrap_or_default();
    let is_scale = first
        .strip_suffix('x')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    let is_code = matches!(local, "this" | "super" | "return");
    let plain: String = local.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let is_mute = ["noreply", "donotreply"].iter().any(|word| plain.contains(word));
    let is_role = ROLES.contains(&plain.as_str()) || is_mute;
    !(is_example || is_machine || is_scale || is_code || is_role || PLACEHOLDERS.contains(&domain.as_str()))
}

/// Whether what looks like an address is a URL's login and host.
fn is_login(text: &str, start: usize) -> bool {
    const FAR: usize = 256;
    let from = text.floor_char_boundary(start.saturating_sub(FAR));
    let before = text.get(from..start).unwrap_or_default();
    let word = before
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '(' | ','))
        .next()
        .unwrap_or_default();
    word.rsplit_once("://").is_some_and(|(_, login)| !login.contains(['/', '?', '#']))
}

/// Whether an address is the id of a message, which is made as one is.
fn is_message_id(text: &str, start: usize) -> bool {
    const FAR: usize = 64;
    let Some(before) = text.get(..start).and_then(|before| before.strip_suffix('<')) else { return false };
    let line = before.get(before.floor_char_boundary(before.len().saturating_sub(FAR))..).unwrap_or_default();
    let line = line.rsplit('\n').next().unwrap_or_default().trim_start().to_ascii_lowercase();
    ["message-id:", "in-reply-to:", "references:"].iter().any(|header| line.starts_with(header))
}

/// The address around an at sign that is spelt out. Between words, the dot has to be spelt out too.
fn spelt(text: &str, mark: Range<usize>) -> Option<Range<usize>> {
    const DOTS: [&str; 6] = ["[dot]", "(dot)", "{dot}", " dot ", "[DOT]", "(DOT)"];
    let end = text.get(..mark.start)?.trim_end_matches(' ').len();
    let start = local_start(text, end, 0)?;
    let mut at = text.len() - text.get(mark.end..)?.trim_start_matches(' ').len();
    let from = at;
    let mut domain = String::new();
    let mut is_dot_spelt = false;
    loop {
        let stop = domain_end(text, at);
        domain.push_str(text.get(at..stop)?);
        at = stop;
        let rest = text.get(at..)?;
        let Some(dot) = DOTS.iter().find(|dot| {
            rest.trim_start_matches(' ').starts_with(dot.trim_start())
                && (!dot.starts_with(' ') || rest.starts_with(' '))
        }) else {
            break;
        };
        is_dot_spelt = true;
        domain.push('.');
        at = text.len() - rest.trim_start_matches(' ').get(dot.trim_start().len()..)?.trim_start_matches(' ').len();
        if domain.len() > MAX_DOMAIN {
            return None;
        }
    }
    let is_bracketed = !text.get(mark)?.starts_with(' ');
    let is_one =
        (is_bracketed || is_dot_spelt) && from < at && is_domain(&domain) && is_person(text.get(start..end)?, &domain);
    is_one.then_some(start..at)
}

/// Where an address begins that the end of a text cuts off: behind the sign or a dot, or within a domain that many have.
pub(crate) fn open(text: &str) -> Option<usize> {
    let from = text.floor_char_boundary(text.len().saturating_sub(MAX_LOCAL + MAX_DOMAIN));
    let at = from + text.get(from..)?.rfind('@')?;
    let domain = text.get(at + 1..)?;
    let is_domain_part = domain.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    let is_cut = domain.is_empty()
        || domain.len() > 1 && domain.ends_with('.')
        || PROVIDERS.iter().any(|known| known.starts_with(&domain.to_ascii_lowercase()));
    (is_domain_part && is_cut).then(|| local_start(text, at, from)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kinds;

    fn found(text: &str) -> Vec<&str> {
        let mut scan = Scan::new("", text, Kinds::all());
        find(&mut scan);
        find_spelt(&mut scan);
        scan.hits.into_iter().map(|hit| &text[hit.range]).collect()
    }

    #[test]
    fn addresses_of_persons_are_found() {
        for (text, address) in [
            ("write to jane.doe@corp.com.", "jane.doe@corp.com"),
            ("<jane+news@mail.corp.co.uk>", "jane+news@mail.corp.co.uk"),
            ("mailto:o'neill@corp.ie?subject=x", "o'neill@corp.ie"),
            (r#"{"mail":"a@b.de"}"#, "a@b.de"),
            ("jörg@müller.de", "jörg@müller.de"),
            (r"a\njane@corp.com\n", "jane@corp.com"),
            ("jane [at] corp [dot] com now", "jane [at] corp [dot] com"),
            ("jane(at)corp.com", "jane(at)corp.com"),
            ("jane at corp dot com", "jane at corp dot com"),
            ("https://site.com/profile/jane@corp.com", "jane@corp.com"),
            ("用户 zhang@qq.com", "zhang@qq.com"),
        ] {
            assert_eq!(found(text), [address], "{text}");
        }
    }

    #[test]
    fn what_is_no_person_is_left() {
        for text in [
            "user@example.com, a@mail.example.org, b@host.test, c@x.invalid, root@localhost",
            "git@github.com:org/repo.git",
            "noreply@corp.com no-reply@corp.com github-noreply@corp.com support@corp.com",
            "123+jane@users.noreply.github.com",
            "https://user:secret@host.corp.com/path",
            "postgres://app@db.corp.com:5432/x",
            "npm i react@18.2.0 @types/node@latest vue@next lodash@4.17.21.tgz",
            "logo@2x.png icon@3x.md",
            "this@MainActivity.finish() this@User.name",
            "foo@bar @decorator.call a@b a@.com @corp.com",
            "Message-ID: <CAJ123@mail.gmail.com>",
            "ubuntu@ec2-1-2-3-4.compute.amazonaws.com",
            "kex: aes256-gcm@openssh.com, curve25519-sha256@libssh.org",
            "meet at noon. ship at port. look at this dot",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn an_address_is_open_where_it_is_cut() {
        assert_eq!(open("to jane@"), Some(3));
        assert_eq!(open("to jane@corp."), Some(3));
        assert_eq!(open("to jane@gma"), Some(3));
        for text in ["jane@laptop", "jane@corp.com x", "@", "jane", "jane@."] {
            assert_eq!(open(text), None, "{text}");
        }
    }
}
