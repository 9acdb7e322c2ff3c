//! `environment`: the variables that a component sees, as policies grant them and manifests ask for them.

use crate::policy::Variable;
use crate::problem::{Located, quote};
use crate::yaml::Cursor;

const EXAMPLE: &str = "a list of variables, such as [LANG, TZ=UTC]";
/// The longest name, in bytes.
const MAX_NAME: usize = 256;
/// The longest value, in bytes, written or found.
pub(crate) const MAX_VALUE: usize = 8 << 10;
/// The most variables of one component.
const MAX_VARIABLES: usize = 64;

/// Whether a text can be the name of a variable everywhere.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a component can be shown a value: a C program ends it at a NUL, and nothing of what follows is meant for a terminal.
pub(crate) fn is_value(text: &str) -> bool {
    text.len() <= MAX_VALUE && !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t')
}

/// `[LANG, TZ=UTC]`: the host's own value, and one that is written here.
pub(super) fn grants(section: &Cursor<'_>) -> Option<Vec<Located<Variable>>> {
    let mut variables: Vec<Located<Variable>> = Vec::new();
    for item in items(section)? {
        let Some(variable) = variable(&item) else { continue };
        if variables.iter().any(|earlier| earlier.value.name == variable.name) {
            item.refuse(format!("the variable {} stands here twice; keep one", variable.name));
        }
        variables.push(item.locate(variable));
    }
    Some(variables)
}

/// `[LANG, TZ]`: names alone.
pub(crate) fn names(section: &Cursor<'_>) -> Option<Vec<String>> {
    let name = |item: Cursor<'_>| {
        let name = item.text("a variable's name, such as LANG")?;
        let is_one = is_name(name);
        if !is_one {
            refuse_name(&item, name);
        }
        is_one.then(|| name.to_owned())
    };
    Some(items(section)?.into_iter().filter_map(name).collect())
}

fn items<'a>(section: &Cursor<'a>) -> Option<Vec<Cursor<'a>>> {
    let items = section.list(EXAMPLE)?;
    if items.len() > MAX_VARIABLES {
        section.refuse(format!("holds {} variables; at most {MAX_VARIABLES} are read", items.len()));
        return None;
    }
    Some(items)
}

fn variable(item: &Cursor<'_>) -> Option<Variable> {
    let text = item.text("a variable, such as LANG or TZ=UTC")?;
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    if !is_name(name) {
        refuse_name(item, name);
        return None;
    }
    if !value.is_none_or(is_value) {
        item.refuse(format!("the value of {name} is longer than {MAX_VALUE} bytes, or holds control characters"));
        return None;
    }
    Some(Variable { name: name.to_owned(), value: value.map(ToOwned::to_owned) })
}

fn refuse_name(item: &Cursor<'_>, name: &str) {
    item.refuse(format!("{} is no name of an environment variable; LANG is", quote(name)));
}
