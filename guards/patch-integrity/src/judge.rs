//! Judging what a patch says.

use std::collections::BTreeSet;

use chio_sdk::quote;
use json_scan::Patterns;
use wildcards::wildcard;

use crate::content;
use crate::mode::Mode;
use crate::name::{self, NO_FILE, without_prefix};
use crate::reader::{Life, Reader, Section};

/// What the policy says.
pub(crate) struct Rules {
    pub(crate) patterns: Patterns,
    pub(crate) paths: Vec<String>,
    pub(crate) may_make_executables: bool,
    pub(crate) max_files: usize,
    pub(crate) max_lines: usize,
}

/// Why a patch is refused, if it is.
pub(crate) fn judge(rules: &Rules, patch: &str) -> Option<String> {
    let mut reader = Reader::new(patch);
    let mut links = BTreeSet::new();
    let (mut files, mut changes) = (0, 0);
    while let Some(section) = reader.section() {
        files += 1;
        changes += section.added.len() + section.removed;
        let refused = names(rules, &section)
            .or_else(|| modes(rules, &section, &mut links))
            .or_else(|| section.fault.map(|fault| format!("{fault} ({})", shown(&section))))
            .or_else(|| added(rules, &section));
        if refused.is_some() {
            return refused;
        }
        if files > rules.max_files {
            return Some(format!("it touches more than {} files, and nobody reads the rest", rules.max_files));
        }
        if changes > rules.max_lines {
            return Some(format!("it changes more than {} lines, and nobody reads the rest", rules.max_lines));
        }
    }
    None
}

/// The file of a section, for a reason.
fn shown(section: &Section) -> String {
    let named = section.names.iter().rev().find(|name| *name != NO_FILE);
    named.map_or_else(|| "no file is named".to_owned(), |name| quote(name))
}

/// The name that the file has afterwards, without a prefix.
fn own_name(section: &Section) -> &str {
    let name = section.names.iter().rev().find(|name| *name != NO_FILE).map_or("", String::as_str);
    if section.is_git || section.new.is_some() { without_prefix(name) } else { name }
}

fn names(rules: &Rules, section: &Section) -> Option<String> {
    for own in section.names.iter().filter(|own| *own != NO_FILE) {
        if let Some(fault) = name::fault(own).or_else(|| name::fault(without_prefix(own))) {
            return Some(format!("the name {} {fault}", quote(own)));
        }
        let bare = without_prefix(own);
        if let Some(glob) = rules.paths.iter().find(|glob| wildcard(glob, bare) || wildcard(glob, own)) {
            return Some(format!("{} is protected by the policy ({})", quote(bare), quote(glob)));
        }
    }
    // A git header and the two behind it are one file's, or the headers of a move say which two.
    let bare: Vec<&str> = section.names.iter().filter(|own| *own != NO_FILE).map(|own| without_prefix(own)).collect();
    let distinct: BTreeSet<&&str> = bare.iter().collect();
    let most = if section.moves { 2 } else { 1 };
    if section.is_git && distinct.len() > most {
        return Some(format!("its headers name several files ({})", quote(&bare.join(", "))));
    }
    let is_swapped = section.new.as_deref().zip(section.git.as_ref()).is_some_and(|(new, (_, second))| {
        section.moves && new != NO_FILE && without_prefix(new) != without_prefix(second)
    });
    if is_swapped {
        return Some(format!("its headers name several files ({})", quote(&bare.join(", "))));
    }
    let nowhere = |name: Option<&String>| name.is_some_and(|name| name == NO_FILE);
    if section.is_git && section.hunks > 0 {
        let is_odd = ((section.life == Life::Begins) != nowhere(section.old.as_ref()))
            || ((section.life == Life::Ends) != nowhere(section.new.as_ref()));
        if is_odd {
            return Some(format!("its headers do not agree whether there is a file ({})", shown(section)));
        }
    }
    if nowhere(section.old.as_ref()) && nowhere(section.new.as_ref()) {
        return Some("it changes no file into no file".to_owned());
    }
    None
}

fn modes(rules: &Rules, section: &Section, links: &mut BTreeSet<String>) -> Option<String> {
    let own = own_name(section);
    let behind = links.iter().find(|link| own.strip_prefix(link.as_str()).is_some_and(|rest| rest.starts_with('/')));
    if let Some(link) = behind {
        return Some(format!("{} lies behind the link {} that the same patch makes", quote(own), quote(link)));
    }
    let file = || quote(own);
    for mode in &section.modes {
        match mode {
            Mode::Other => return Some(format!("{} gets a mode that no file of git has", file())),
            Mode::Submodule => return Some(format!("{} becomes a submodule, whose code is elsewhere", file())),
            Mode::Executable if !rules.may_make_executables => return Some(format!("{} becomes executable", file())),
            Mode::Executable | Mode::File | Mode::Link => {}
        }
    }
    let is_link = section.modes.contains(&Mode::Link) || section.kept == Some(Mode::Link);
    if !is_link || section.life == Life::Ends {
        return None;
    }
    if section.added.iter().any(|target| !name::stays(own, target)) {
        return Some(format!("{} becomes a link that leads out of the tree", file()));
    }
    links.insert(own.to_owned());
    None
}

fn added(rules: &Rules, section: &Section) -> Option<String> {
    let own = own_name(section);
    section.added.iter().find_map(|line| {
        let fault = content::fault(&rules.patterns, own, line)?;
        Some(format!("{} {fault}", quote(own)))
    })
}
