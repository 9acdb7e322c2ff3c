//! Which tables may be named.

use serde::Deserialize;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

/// The most entries of a list.
const MAX_ENTRIES: usize = 1_000;
/// The most parts of a name: server, database, schema, table.
const MAX_PARTS: usize = 4;

/// The lists, as the policy has them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Lists {
    /// The tables that may be named, and no others; where it is absent, every one.
    allow: Option<Vec<String>>,
    /// Tables that may not be named, whatever `allow` says.
    deny: Vec<String>,
}

/// The same, read.
#[derive(Debug)]
pub(crate) struct Tables {
    allow: Option<Vec<Entry>>,
    deny: Vec<Entry>,
}

/// `table`, `schema.table` or `schema.*`.
#[derive(Debug)]
struct Entry {
    text: String,
    parts: Vec<String>,
}

/// A part of a name that a statement has.
struct Part<'a> {
    text: &'a str,
    is_quoted: bool,
}

impl Tables {
    pub(crate) fn new(lists: &Lists) -> Result<Self, String> {
        let read = |key: &str, texts: &[String]| {
            if texts.len() > MAX_ENTRIES {
                return Err(format!("tables.{key} has more than {MAX_ENTRIES} entries"));
            }
            texts.iter().map(|text| Entry::read(text)).collect::<Result<Vec<_>, _>>()
        };
        let allow = lists.allow.as_deref().map(|texts| read("allow", texts)).transpose()?;
        Ok(Self { allow, deny: read("deny", &lists.deny)? })
    }

    /// Whether anything is said of tables.
    pub(crate) fn are_listed(&self) -> bool {
        self.allow.is_some() || !self.deny.is_empty()
    }

    /// Why a name is refused, if it is.
    pub(crate) fn refuse(&self, name: &ObjectName) -> Option<String> {
        let parts = parts(name);
        let shown = chio_sdk::quote(&name.to_string());
        if self.deny.iter().any(|entry| entry.may_be(&parts)) {
            return Some(format!("table {shown} is denied by this host's policy"));
        }
        let allow = self.allow.as_ref()?;
        if allow.iter().any(|entry| entry.is(&parts)) {
            return None;
        }
        let allowed = match allow.as_slice() {
            [] => "none".to_owned(),
            [only] => chio_sdk::quote(&only.text),
            [first, ..] => format!("{} and others", chio_sdk::quote(&first.text)),
        };
        Some(format!("table {shown} is not one that the policy allows ({allowed})"))
    }
}

impl Entry {
    fn read(text: &str) -> Result<Self, String> {
        let bad = |why: &str| format!("tables: \"{}\" is not a table: {why}", chio_sdk::quote(text));
        let parts: Vec<String> = text.split('.').map(str::to_owned).collect();
        if parts.len() > MAX_PARTS || text.len() > 300 {
            return Err(bad("it has more than four parts or 300 bytes"));
        }
        let is_part = |part: &String| {
            part == "*" || (!part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "_$#- ".contains(c)))
        };
        if !parts.iter().all(is_part) {
            return Err(bad("a name is letters, digits and _ $ # -, without quotes; `*` stands for a whole name"));
        }
        if parts.iter().all(|part| part == "*") {
            return Err(bad("it would be every table"));
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    /// Whether the entry is this name, part by part. What is quoted counts letter by letter, because `"Users"` and `users`
    /// are two tables to some databases.
    fn is(&self, name: &[Part<'_>]) -> bool {
        let fits = |(own, part): (&String, &Part<'_>)| {
            own == "*" || if part.is_quoted { own == part.text } else { is_alike(own, part.text) }
        };
        self.parts.len() == name.len() && self.parts.iter().zip(name).all(fits)
    }

    /// Whether the entry may be this name, in whatever schema it is looked up: the shorter one is the end of the longer one.
    fn may_be(&self, name: &[Part<'_>]) -> bool {
        // `schema.*` says nothing of a name without a schema.
        let is_open = self.parts.last().is_some_and(|last| last == "*") && name.len() < self.parts.len();
        let mut ends = self.parts.iter().rev().zip(name.iter().rev());
        !is_open && !name.is_empty() && ends.all(|(own, part)| own == "*" || is_alike(own, part.text))
    }
}

fn is_alike(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

/// The parts of a name. Some databases take dots in quotes for dots.
fn parts(name: &ObjectName) -> Vec<Part<'_>> {
    let idents = name.0.iter().map(|part| match part {
        ObjectNamePart::Identifier(ident) => ident,
        ObjectNamePart::Function(function) => &function.name,
    });
    idents.flat_map(of_ident).collect()
}

fn of_ident(ident: &Ident) -> impl Iterator<Item = Part<'_>> {
    let is_quoted = ident.quote_style.is_some();
    ident.value.split('.').filter(|text| !text.is_empty()).map(move |text| Part { text, is_quoted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuses(allow: Option<&[&str]>, deny: &[&str], name: &[&str]) -> bool {
        let list = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let tables = Tables::new(&Lists { allow: allow.map(list), deny: list(deny) }).unwrap();
        let ident = |text: &&str| match text.strip_prefix('"') {
            Some(quoted) => Ident::with_quote('"', quoted),
            None => Ident::new(*text),
        };
        tables.refuse(&ObjectName::from(name.iter().map(ident).collect::<Vec<_>>())).is_some()
    }

    #[test]
    fn an_allowed_name_is_the_same_part_by_part() {
        let allow: &[&str] = &["orders", "shop.items", "report.*", "Users"];
        for name in [&["ORDERS"][..], &["shop", "Items"], &["report", "x"], &["\"orders"], &["\"Users"], &["users"]] {
            assert!(!refuses(Some(allow), &[], name), "{name:?}");
        }
        for name in
            [&["items"][..], &["other", "orders"], &["orders_old"], &["\"ORDERS"], &["report"], &["a", "report", "x"]]
        {
            assert!(refuses(Some(allow), &[], name), "{name:?}");
        }
    }

    #[test]
    fn a_denied_name_is_denied_wherever_it_may_be_found() {
        let deny: &[&str] = &["users", "hr.salaries", "audit.*"];
        for name in [
            &["USERS"][..],
            &["public", "users"],
            &["\"Users"],
            &["salaries"],
            &["db", "hr", "salaries"],
            &["audit", "x"],
            &["\"hr.salaries"],
        ] {
            assert!(refuses(None, deny, name), "{name:?}");
        }
        for name in [&["user"][..], &["users_view"], &["sales", "salaries"], &["orders"], &["audits", "x"]] {
            assert!(!refuses(None, deny, name), "{name:?}");
        }
    }

    #[test]
    fn what_is_no_entry_says_why() {
        for text in ["", "*", "*.*", "a.", "a;b", "\"a\"", "a.b.c.d.e"] {
            let lists = Lists { allow: None, deny: vec![text.to_owned()] };
            assert!(Tables::new(&lists).is_err(), "{text}");
        }
    }
}
