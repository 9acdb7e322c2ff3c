//! A guard that denies patches which reach outside their tree, are not what they say, or add what nobody sees.
//!
//! What it judges: unified diffs, those of git with all their headers, mails of `git format-patch`, context and normal diffs,
//! scripts for ed, and the `*** Begin Patch` form that agents write. They are read
//! - in an argument that is called `patch` or `diff`, wherever in it a patch begins;
//! - in any other text or content that begins as a patch does: a manual that shows one is none;
//! - in what a command hands to `git apply`, `git am` or `patch`, or writes to a file beside one of them.
//!
//! git and `patch` do not read alike: `patch` takes indented headers, lines between them, and forms that git has no reader for.
//! What either of them would apply is judged.
//!
//! It denies
//! - a name that leaves the tree, is absolute (but below one of the policy's `roots`), lies in `.git` in any spelling, or has
//!   characters that nobody sees; one that two headers give differently; one that the policy protects (`paths`);
//! - a hunk that is longer or shorter than it says, out of order, or in no file, unless another argument names it; lines in no
//!   hunk; a file that is new and loses lines; a patch that ends in the middle; a line that some readers take for several;
//! - a link that leads out of the tree or into `.git`, or whose target is not to be seen; a file that is written through or
//!   behind a link of the same patch; a new submodule; a mode that no file of git has; new executables where the policy says so;
//! - added lines that are drawn in another order than they are read, that have text nobody sees, or that the policy's `patterns`
//!   match; settings of submodules that run commands; more files or lines than anybody reviews.
//!
//! A bare `@@` counts nothing and so lies about nothing: what stands behind it is judged, and not counted.
//!
//! The reader is our own: published ones take what they do not understand for a comment, and have no names but the last.
//!
//! What it does not stop: harm in plain code; a link that the tree has already; a patch that is built from pieces or read from a
//! file; one for a tool that takes more for a patch than git and `patch` do.

mod command;
mod content;
mod envelope;
mod hunks;
mod judge;
mod lines;
mod mode;
mod name;
mod reader;
mod section;
mod start;

use chio_sdk::{Call, CommandFact, Fact, FactKind, Verdict, quote};
use json_scan::{Custom, Patterns};
use serde::Deserialize;

use judge::{Rules, Strip};
use reader::Named;

/// The most globs that a policy can give.
const MAX_PATHS: usize = 256;
/// The most that a limit can be: nobody hands over more lines.
const MOST: usize = 1 << 20;

/// The guard's `config`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// What no added line may match, beside what no line may hold at all.
    patterns: Vec<Custom>,
    /// Files that no patch may touch, beside `.git`: `*` and `?` stand for any characters, slashes included. A name counts as it
    /// is and without its first step; in a command, which says how many steps are left out, without any number of them.
    paths: Vec<String>,
    /// Absolute folders that patches may name: below one, a name is judged by what follows.
    roots: Vec<String>,
    /// Whether a patch may make files executable.
    executables: Executables,
    /// How many files one patch may touch.
    max_files: usize,
    /// How many lines one patch may add and take away together.
    max_lines: usize,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Executables {
    Allow,
    Deny,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            paths: Vec::new(),
            roots: Vec::new(),
            executables: Executables::Allow,
            max_files: 1_000,
            max_lines: 50_000,
        }
    }
}

impl Config {
    fn rules(self) -> Result<Rules, String> {
        for (name, value) in [("max_files", self.max_files), ("max_lines", self.max_lines)] {
            if !(1..=MOST).contains(&value) {
                return Err(format!("{name} is {value}; it takes 1 to {MOST}"));
            }
        }
        if self.paths.len() > MAX_PATHS {
            return Err(format!("paths has more than {MAX_PATHS} entries"));
        }
        if let Some(wrong) = self.paths.iter().find(|glob| glob.chars().all(|c| matches!(c, '*' | '/'))) {
            return Err(format!("paths: \"{}\" is every file or none", quote(wrong)));
        }
        if self.roots.len() > MAX_PATHS {
            return Err(format!("roots has more than {MAX_PATHS} entries"));
        }
        let is_root = |root: &String| root.strip_prefix('/').is_some_and(|rest| name::fault(rest).is_none());
        if let Some(wrong) = self.roots.iter().find(|root| !is_root(root)) {
            return Err(format!("roots: \"{}\" is no folder's absolute name, as it takes", quote(wrong)));
        }
        Ok(Rules {
            patterns: Patterns::new(&self.patterns, &[])?,
            paths: self.paths,
            roots: self.roots,
            may_make_executables: self.executables == Executables::Allow,
            max_files: self.max_files,
            max_lines: self.max_lines,
        })
    }
}

fn check(call: &Call) -> Result<Verdict, String> {
    let rules = chio_sdk::config::<Config>()?.rules()?;
    let named = if call.facts.iter().any(names_a_file) { Named::Beside } else { Named::Within };
    let denial = call.facts.iter().find_map(|fact| judge_fact(&rules, fact, named));
    Ok(denial.map_or_else(Verdict::allow, |why| Verdict::deny(format!("patch is refused: {why}"))))
}

/// Why the fact is refused, if it is.
fn judge_fact(rules: &Rules, fact: &Fact, named: Named) -> Option<String> {
    match &fact.kind {
        FactKind::Text(text) | FactKind::Content(text) => {
            let patch = if is_called_patch(&fact.at) { start::handed(text) } else { start::at_once(text)? };
            judge::judge(rules, patch, named, Strip::Usual)
        }
        FactKind::Key(text) => judge::judge(rules, start::at_once(text)?, named, Strip::Usual),
        FactKind::Command(CommandFact::Line(line)) => command::line(rules, line),
        FactKind::Command(CommandFact::Words(words)) => command::words(rules, words),
        FactKind::Path(_) | FactKind::Url(_) => None,
    }
}

/// Where a call names a file, its patch may be hunks alone.
fn names_a_file(fact: &Fact) -> bool {
    const NAMES: &[&str] = &["path", "file", "filename", "file_name", "filepath", "file_path"];
    let name = || fact.at.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    matches!(&fact.kind, FactKind::Path(_))
        || matches!(&fact.kind, FactKind::Text(_)) && NAMES.contains(&name().as_str())
}

/// Whether the argument at this pointer is a patch by its name.
fn is_called_patch(at: &str) -> bool {
    /// Words that only sound like it.
    const OTHERS: &[&str] = &["dispatch", "difficult", "differ", "diffus"];
    let name = at.rsplit('/').find(|step| !step.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or_default();
    let name = name.to_ascii_lowercase();
    (name.contains("patch") || name.contains("diff")) && !OTHERS.iter().any(|other| name.contains(other))
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests;
