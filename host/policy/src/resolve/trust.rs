//! `plugins`: the blocklist is read, and what it refuses is said where the component is named.

use chio_host_kernel::canonical::printable;

use super::Context;
use crate::document::{Blocklist, TrustEntry, is_digest};
use crate::files;
use crate::parts::Parts;
use crate::policy::Component;
use crate::problem::{Located, Spot, quote};
use crate::protected::absolute;
use crate::trust::{Refusal, Trust};

/// The longest file of a blocklist, in bytes: some 16,000 digests.
const MAX_BLOCKLIST: usize = 1 << 20;

impl Context<'_> {
    /// What `plugins` says, with the blocklist as it is now.
    pub(super) fn read_trust(&mut self, entry: &TrustEntry) -> Trust {
        let mut trust = Trust {
            signers: entry.signers.clone(),
            allow_unsigned: entry.allow_unsigned,
            blocklist: match &entry.blocklist {
                Blocklist::Digests(digests) => digests.clone(),
                Blocklist::File(file) => self.blocklist(file),
            },
        };
        for list in [&mut trust.signers, &mut trust.blocklist] {
            list.sort_unstable();
            list.dedup();
        }
        trust
    }

    /// One digest a line; behind `#` stands whatever people want to say.
    fn blocklist(&mut self, file: &Located<String>) -> Vec<String> {
        let path = absolute(&self.dir.join(&file.value));
        (self.host.note)(&path);
        self.protected.add("the blocklist", &path);
        let refuse = |why: String| self.report.at(&file.spot, format!("the blocklist {} {why}", quote(&file.value)));
        let text = match files::read(&path, MAX_BLOCKLIST).and_then(files::text) {
            Ok(text) => text,
            Err(why) => {
                refuse(why);
                return Vec::new();
            }
        };
        let mut digests = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let digest = line.split('#').next().unwrap_or_default().trim();
            if is_digest(digest) {
                digests.push(digest.to_owned());
            } else if !digest.is_empty() {
                let shown = printable(digest, 80);
                refuse(format!("holds no digest in line {number}: {shown} is not 64 lower-case hex digits"));
            }
        }
        digests
    }

    /// Lets a component take part, or says why not and which line would let it.
    pub(super) fn admit(&self, parts: &Parts, spot: &Spot, signer: Option<&Located<String>>) -> Option<Component> {
        let refusals = match self.trust.admit(parts, signer.map(|signer| signer.value.as_str())) {
            Ok(component) => return Some(component),
            Err(refusals) => refusals,
        };
        let name = quote(&parts.name);
        for refusal in refusals {
            let line = |what: &str| {
                if self.has_plugins { format!("`plugins`: {what}") } else { format!("plugins: {{ {what} }}") }
            };
            let at = match (&refusal, signer) {
                (Refusal::Signer { .. }, Some(signer)) => &signer.spot,
                _ => spot,
            };
            let message = match &refusal {
                Refusal::Signature(problem) => format!("{name} is not what its signer signed: {problem}"),
                Refusal::Unsigned { .. } if signer.is_none() => {
                    format!("{name} {refusal}, or allow it with the line {}", line("allow_unsigned: true"))
                }
                Refusal::Untrusted(key) => {
                    format!("{name} {refusal}; if you do, add the line {}", line(&format!("signers: [{key}]")))
                }
                _ => format!("{name} {refusal}"),
            };
            self.report.at(at, message);
        }
        None
    }
}
