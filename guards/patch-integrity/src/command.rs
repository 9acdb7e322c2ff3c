//! Patches that a command hands to whoever applies them.

use command_lines::{every_pipeline, unwrap};

use crate::judge::{self, Rules, Strip};
use crate::reader::Named;
use crate::start;

/// A command longer than this, in bytes, is refused: nobody can read it.
const MAX_BYTES: usize = 256 << 10;

/// Why a line for a shell is refused, if it is.
pub(crate) fn line(rules: &Rules, line: &str) -> Option<String> {
    if line.len() > MAX_BYTES {
        return Some(format!("its command is longer than {MAX_BYTES} bytes"));
    }
    if !["+++", "***", "@@", "diff --git", "Index:"].iter().any(|mark| line.contains(mark)) {
        return None;
    }
    let Ok(pipelines) = every_pipeline(line) else {
        return Some("its command holds commands within commands, too many to read".to_owned());
    };
    let (appliers, others): (Vec<_>, Vec<_>) =
        pipelines.iter().partition(|pipeline| pipeline.commands.iter().any(|command| applies(&command.words)));
    if appliers.is_empty() {
        return None;
    }
    let mut given = appliers.iter().flat_map(|pipeline| &pipeline.commands);
    // What is written to a file may be what another command of the line applies.
    let mut written = others.iter().flat_map(|pipeline| &pipeline.commands).flat_map(|command| &command.stdin);
    given
        .find_map(|command| {
            command.words.iter().chain(&command.stdin).find_map(|text| judge(rules, start::handed(text)))
        })
        .or_else(|| written.find_map(|text| judge(rules, start::at_once(text)?)))
}

/// Why an argument vector is refused, if it is.
pub(crate) fn words(rules: &Rules, words: &[String]) -> Option<String> {
    if let [only] = words {
        return line(rules, only);
    }
    let own = applies(words).then(|| words.iter().find_map(|word| judge(rules, start::handed(word))));
    own.flatten().or_else(|| unwrap(words).lines.iter().find_map(|nested| line(rules, nested)))
}

/// A command says which file it patches, and how many steps of a name it leaves out.
fn judge(rules: &Rules, patch: &str) -> Option<String> {
    judge::judge(rules, patch, Named::Beside, Strip::Any)
}

/// Whether some word of a command applies patches: `patch`, `git … apply`, `git am`, `apply_patch`.
fn applies(words: &[String]) -> bool {
    let name = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
    let is_git = words.iter().any(|word| name(word) == "git");
    words.iter().any(|word| {
        let name = name(word);
        matches!(name.as_str(), "patch" | "gpatch" | "apply_patch" | "applypatch")
            || is_git && matches!(name.as_str(), "apply" | "am")
    })
}
