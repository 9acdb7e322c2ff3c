//! `plugins`: whose components may take part, and which never.

use super::{path, public_key};
use crate::problem::{Located, quote};
use crate::yaml::Cursor;

/// The section, as written.
#[derive(Debug, Default)]
pub(crate) struct TrustEntry {
    /// Whether the policy has the section, so that a message says where a line goes.
    pub(crate) is_written: bool,
    pub(crate) signers: Vec<String>,
    pub(crate) allow_unsigned: bool,
    pub(crate) blocklist: Blocklist,
}

/// Digests that are refused, as written.
#[derive(Debug)]
pub(crate) enum Blocklist {
    /// In the policy.
    Digests(Vec<String>),
    /// In a file, one a line.
    File(Located<String>),
}

impl Default for Blocklist {
    fn default() -> Self {
        Self::Digests(Vec::new())
    }
}

pub(super) fn read(section: &Cursor<'_>) -> Option<TrustEntry> {
    section.fields("a mapping, such as { signers: [PUBLIC KEY] }", |f| TrustEntry {
        is_written: true,
        signers: f.or("signers", Vec::new(), |c| {
            let keys = c.list("a list of public keys, each 64 lower-case hex digits")?;
            Some(keys.iter().filter_map(public_key).collect())
        }),
        allow_unsigned: f.or("allow_unsigned", false, |c| c.boolean()),
        blocklist: f.or("blocklist", Blocklist::default(), |c| blocklist(&c)),
    })
}

/// `[DIGEST]`, or the path of a file of them.
fn blocklist(cursor: &Cursor<'_>) -> Option<Blocklist> {
    if !cursor.is_list() {
        return path(cursor).map(|path| Blocklist::File(cursor.locate(path.to_owned())));
    }
    let digests = cursor.list("a list of digests, or a file of them")?;
    let digest = |item: &Cursor<'_>| {
        let text = item.text("a component's digest: 64 lower-case hex digits")?;
        if !is_digest(text) {
            item.refuse(format!(
                "{} is no digest; 64 lower-case hex digits are, as `plugin inspect` shows",
                quote(text)
            ));
        }
        is_digest(text).then(|| text.to_owned())
    };
    Some(Blocklist::Digests(digests.iter().filter_map(digest).collect()))
}

/// SHA-256 in its one spelling.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
