//! An output hook that takes personal data out of what a tool returned: payment cards, account numbers, the numbers that
//! states give to persons, telephone numbers and mail addresses of persons.
//!
//! It reads every string, key and number of the output, JSON within strings too: as it is; and without invisible characters,
//! percent-encoding and escapes, with the digits, spaces and dashes of all scripts made plain; and, where something says or
//! shows that a number or an address is cut off, over the border of neighbouring strings. What is found is replaced by
//! `[REDACTED:kind]`.
//!
//! A number is proven by its check digits, not by its look. How much that proves differs:
//!
//! - Enough alone: an account number (mod 97, and its country's length); an Italian, Mexican or Singaporean number, a French,
//!   Swiss or Chinese one, a Finnish one that ends in a letter; a Spanish one in capitals whose digits are no day; a payment
//!   card of the usual length, contiguous or grouped as on a card (Luhn, and its issuer's prefix), that is no part of a
//!   fraction or a longer number.
//! - Enough if written as usual: a Brazilian, Argentine, Belgian, Norwegian or Korean number, a Chilean one with dots, and an
//!   American social security number with dashes, which has no check digit.
//! - Nothing alone, because every tenth number passes: all others, and rare lengths of cards. A word has to say what they are:
//!   in the key, within 48 bytes before, 16 behind, or at the head of the column. A word like `order` right before says
//!   that they are something else.
//!
//! A telephone number begins with a plus and a country's code, or with an area code in parentheses as in North America, or
//! stands under a key or behind a word that says so. Lengths by country are in a table of some lines: the metadata of all
//! dialling plans would be a hundred times this component. Numbers that are reserved for stories are taken for real ones.
//! Of addresses, those of roles (`support@`), machines, logins (`git@`) and `noreply@`, and those at reserved domains
//! (`example.com`, `.test`) are nobody's; top-level domains that hardly anybody has addresses in are not known.
//!
//! What it does not find: names, streets, days of birth, passports; data that is encrypted, compressed or in base64; a weak
//! number without a word beside it, and what is wrong by its own check; a number spread over strings that are nothing but
//! digits without a separator, as lists of ids are, or over lines; an address whose first string ends before its at sign; a
//! key's word that speaks of a number spread over its values.
//!
//! An output that is larger than `max_bytes` is blocked, never passed unread. So is one that is so full of data that to take
//! it out needs more fuel than the hook has: some tens of thousands of numbers and addresses.

mod bytes;
mod card;
mod checks;
mod digits;
mod domains;
mod email;
mod kind;
mod letters;
mod national;
mod personal;
mod phone;
mod runs;
mod scan;
mod vocabulary;
mod words;

use chio_sdk::{Call, HookVerdict};
use json_scan::{Action, Custom};
use serde::Deserialize;

use crate::kind::Kinds;
use crate::personal::Personal;

/// The hook's `config`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// The kinds that are looked for, as they are reported, or `national-id` for all that states give; all of them
    /// without it.
    kinds: Option<Vec<String>>,
    /// More personal data, each with the kind that is reported for it.
    patterns: Vec<Custom>,
    /// Whether `patterns` stand alone, without the built-in kinds.
    replace: bool,
    /// Regular expressions; what one of them matches as a whole is no personal data.
    exceptions: Vec<String>,
    /// What happens to an output that holds personal data.
    action: Action,
    /// An output larger than this is blocked. Much more would take more fuel than a hook has by default.
    max_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            kinds: None,
            patterns: Vec::new(),
            replace: false,
            exceptions: Vec::new(),
            action: Action::Redact,
            max_bytes: 1 << 20,
        }
    }
}

fn inspect(_call: &Call, output: &str) -> Result<HookVerdict, String> {
    let Config { kinds, patterns, replace, exceptions, action, max_bytes } = chio_sdk::config()?;
    let kinds = match kinds {
        Some(names) if replace => return Err(format!("`replace` leaves none of the {} `kinds`", names.len())),
        Some(names) if names.is_empty() && patterns.is_empty() => {
            return Err("no `kinds` leave nothing to look for".to_owned());
        }
        Some(names) => Kinds::named(&names)?,
        None => Kinds::all(),
    };
    let personal = Personal::new(&patterns, replace, &exceptions, kinds)?;
    action.inspect(&personal, "personal data", output, max_bytes)
}

chio_sdk::hook!(inspect);

#[cfg(test)]
mod tests;
