//! Judging what a patch says.

use std::borrow::Cow;
use std::collections::BTreeSet;

use chio_sdk::quote;
use json_scan::Patterns;
use wildcards::wildcard;

use crate::content;
use crate::lines::holds_headers;
use crate::mode::Mode;
use crate::name::{self, NO_FILE, without_prefix};
use crate::reader::{Named, Reader};
use crate::section::{Life, Section};

/// What the policy says.
pub(crate) struct Rules {
    pub(crate) patterns: Patterns,
    pub(crate) paths: Vec<String>,
    pub(crate) roots: Vec<String>,
    pub(crate) may_make_executables: bool,
    pub(crate) max_files: usize,
    pub(crate) max_lines: usize,
}

/// How many steps of its names whoever applies a patch leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strip {
    /// None, or the first.
    Usual,
    /// As many as a command says, which the patch's author wrote as well.
    Any,
}

/// Links that a patch makes, in lower case.
#[derive(Default)]
struct Links {
    made: BTreeSet<String>,
    /// What links to somewhere else climb out of: none of it may be a link itself.
    left: BTreeSet<String>,
}

/// Why a patch is refused, if it is.
pub(crate) fn judge(rules: &Rules, patch: &str, named: Named, strip: Strip) -> Option<String> {
    let mut reader = Reader::new(patch, named);
    let mut links = Links::default();
    let (mut files, mut changes) = (0, 0);
    while let Some(section) = reader.section() {
        files += usize::from(!section.goes_on);
        changes += section.added.len() + section.removed;
        let refused = names(rules, &section, strip)
            .or_else(|| agreement(&section))
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
    // A text without a file is no patch, whatever is in its lines.
    (files > 0 && holds_headers(patch)).then(|| "a line of it holds headers that other readers see".to_owned())
}

/// The file of a section, for a reason.
fn shown(section: &Section<'_>) -> String {
    match section.own_name() {
        "" => "no file is named".to_owned(),
        name => quote(name),
    }
}

fn names(rules: &Rules, section: &Section<'_>, strip: Strip) -> Option<String> {
    for own in section.names() {
        // Below a root of the policy's, a name goes on like any other.
        let below = rules.roots.iter().find_map(|root| own.strip_prefix(root.as_str())?.strip_prefix('/'));
        let own = below.unwrap_or(own);
        if let Some(fault) = name::fault(own).or_else(|| name::fault(without_prefix(own))) {
            return Some(format!("the name {} {fault}", quote(own)));
        }
        if let Some(glob) = protected(rules, own, strip) {
            return Some(format!("{} is protected by the policy ({})", quote(without_prefix(own)), quote(glob)));
        }
    }
    None
}

/// The glob that protects the file of this name, whoever leaves steps of it out.
fn protected<'a>(rules: &'a Rules, own: &str, strip: Strip) -> Option<&'a str> {
    if rules.paths.is_empty() {
        return None;
    }
    let plain = name::plain(own);
    // Without a tab behind it, `patch` ends a name at the first space.
    let short = plain.split(' ').next().unwrap_or_default();
    [plain.as_ref(), short].into_iter().find_map(|name| {
        let steps = name.match_indices('/').map(|(at, _)| at + 1);
        let skips = match strip {
            Strip::Usual => 1,
            Strip::Any => usize::MAX,
        };
        let mut rests = [0].into_iter().chain(steps.take(skips)).filter_map(|at| name.get(at..));
        rests.find_map(|rest| rules.paths.iter().find(|glob| wildcard(glob, rest)).map(String::as_str))
    })
}

/// What is wrong where the headers of one file do not say the same.
fn agreement(section: &Section<'_>) -> Option<String> {
    let several = || {
        let names: Vec<&str> = section.names().map(without_prefix).collect();
        Some(format!("its headers name several files ({})", quote(&names.join(", "))))
    };
    let is_there = |name: &Option<Cow<'_, str>>| name.as_deref().filter(|name| *name != NO_FILE).map(str::to_owned);
    let (old, new) = (is_there(&section.old), is_there(&section.new));
    let git = section.git.as_ref().map(|(first, second)| (first.as_ref(), second.as_ref()));
    // A name of a move has no prefix; one of a header may have none.
    let is = |header: &str, bare: &str| header == bare || without_prefix(header) == bare;
    if section.moves() {
        let (Some(from), Some(to)) = (section.from.as_deref(), section.to.as_deref()) else { return several() };
        let olds = old.iter().map(String::as_str).chain(git.map(|(first, _)| first));
        let news = new.iter().map(String::as_str).chain(git.map(|(_, second)| second));
        if olds.into_iter().any(|name| !is(name, from)) || news.into_iter().any(|name| !is(name, to)) {
            return several();
        }
    } else if section.is_git {
        let names: Vec<&str> = section.names().collect();
        let is_same = |prepare: fn(&str) -> &str| names.windows(2).all(|two| prepare(two[0]) == prepare(two[1]));
        if !is_same(|name| name) && !is_same(without_prefix) {
            return several();
        }
    } else if let (Some(old), Some(new)) = (old.as_deref(), new.as_deref()) {
        // Prefixes of git's stand for one file; other names are compared files, one of which is changed.
        let rests = old.strip_prefix("a/").zip(new.strip_prefix("b/"));
        if rests.is_some_and(|(old, new)| old != new) {
            return several();
        }
    }
    let nowhere = |name: &Option<Cow<'_, str>>| name.as_deref() == Some(NO_FILE);
    if section.is_git && section.hunks > 0 {
        let is_odd = ((section.life == Life::Begins) != nowhere(&section.old))
            || ((section.life == Life::Ends) != nowhere(&section.new));
        if is_odd {
            return Some(format!("its headers do not agree whether there is a file ({})", shown(section)));
        }
    }
    if nowhere(&section.old) && nowhere(&section.new) {
        return Some("it changes no file into no file".to_owned());
    }
    None
}

fn modes(rules: &Rules, section: &Section<'_>, links: &mut Links) -> Option<String> {
    let own = section.own_name();
    let file = || quote(own);
    let key = name::plain(own).to_lowercase();
    let mut folders = key.match_indices('/').filter_map(|(at, _)| key.get(..at));
    if let Some(link) = folders.find(|folder| links.made.contains(*folder)) {
        return Some(format!("{} lies behind the link {} that the same patch makes", file(), quote(link)));
    }
    for mode in &section.modes {
        match mode {
            Mode::Other => return Some(format!("{} gets a mode that no file of git has", file())),
            Mode::Submodule => return Some(format!("{} becomes a submodule, whose code is elsewhere", file())),
            Mode::Executable if !rules.may_make_executables => return Some(format!("{} becomes executable", file())),
            Mode::Executable | Mode::File | Mode::Link => {}
        }
    }
    if section.life == Life::Ends {
        links.made.remove(&key);
        return None;
    }
    let becomes = section.modes.contains(&Mode::Link);
    if !becomes && section.kept != Some(Mode::Link) {
        let is_written = !section.added.is_empty() || section.is_binary;
        return (is_written && links.made.contains(&key))
            .then(|| format!("{} is written through the link that the same patch makes", file()));
    }
    if name::is_settings_of_git(own) {
        return Some(format!("{} becomes a link, and git reads it", file()));
    }
    if becomes && (section.life != Life::Begins || section.added.is_empty()) || section.is_binary {
        return Some(format!("{} becomes a link whose target nobody sees", file()));
    }
    for target in &section.added {
        let Some(target) = name::target(own, target) else {
            return Some(format!("{} becomes a link that leads out of the tree", file()));
        };
        if let Some(glob) = rules.paths.iter().find(|glob| wildcard(glob, &target.path)) {
            return Some(format!("{} becomes a link to what the policy protects ({})", file(), quote(glob)));
        }
        links.left.extend(target.left);
    }
    links.made.insert(key);
    // Both orders: the link that is climbed out of may come first or last.
    let climbed = links.left.intersection(&links.made).next();
    climbed.map(|link| format!("a link climbs out of the link {} that the same patch makes", quote(link)))
}

fn added(rules: &Rules, section: &Section<'_>) -> Option<String> {
    let own = section.own_name();
    let fault = content::fault(&rules.patterns, own, &section.added)?;
    Some(format!("{} {fault}", quote(own)))
}
