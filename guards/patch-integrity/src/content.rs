//! What a patch adds.

use json_scan::Patterns;
use unseen_characters::{Unseen, classify, hidden_tags, longest_variation_run, misleading_direction};

use crate::name::{self, is_modules_file};

/// How many selectors of variants may stand in a row: more of them carry bytes.
const MAX_VARIATIONS: usize = 3;

/// What is wrong with one of the lines that are added to the file of this name.
pub(crate) fn fault(patterns: &Patterns, name: &str, lines: &[&str]) -> Option<String> {
    let is_modules_file = is_modules_file(name);
    lines.iter().find_map(|line| {
        let unseen = if line.is_ascii() { None } else { hidden(line) };
        let fixed = unseen.or_else(|| if is_modules_file { submodule(line) } else { None });
        fixed.map(str::to_owned).or_else(|| {
            let hit = patterns.find(line).into_iter().next()?;
            Some(format!("adds what the policy's pattern {} matches", hit.kind))
        })
    })
}

/// What a reader of the line does not see.
fn hidden(line: &str) -> Option<&'static str> {
    if misleading_direction(line).is_some() {
        return Some("adds a line that is drawn in another order than it is read");
    }
    if !hidden_tags(line).is_empty() || longest_variation_run(line) > MAX_VARIATIONS {
        return Some("adds text that nobody sees");
    }
    // Between letters of ASCII nothing joins or parts them; a soft hyphen does, in prose.
    let is_word = |c: Option<&char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_');
    let chars: Vec<char> = line.chars().collect();
    let is_inside = chars.windows(3).any(|three| match three {
        [before, c, after] => {
            let is_unseen = matches!(classify(*c), Some(Unseen::ZeroWidth | Unseen::Blank)) && *c != '\u{ad}';
            is_unseen && is_word(Some(before)) && is_word(Some(after))
        }
        _ => false,
    });
    is_inside.then_some("adds a word with characters that nobody sees")
}

/// Settings of submodules that run commands, or are taken for options of them.
fn submodule(line: &str) -> Option<&'static str> {
    let climbs = |name: &str| name.split(['/', '\\']).any(|step| step == "..");
    let is_bad = match line.split_once('=') {
        None => line.trim_start().strip_prefix('[').is_some_and(climbs),
        Some((key, value)) => {
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim().trim_matches('"'));
            match key.as_str() {
                // A line break in an address is another host's credentials.
                "url" => {
                    let value = value.to_ascii_lowercase();
                    value.starts_with(['-', '!']) || value.starts_with("ext::") || value.contains("%0a")
                }
                "path" => value.starts_with('-') || name::fault(value).is_some(),
                "update" => value.starts_with('!'),
                _ => false,
            }
        }
    };
    is_bad.then_some("adds a submodule whose settings run a command or leave the tree")
}
