//! Patches that a command hands to whoever applies them.

use command_lines::{lex, unwrap};

use crate::judge::{self, Rules, Strip};
use crate::reader::Named;
use crate::start;

/// A command longer than this, in bytes, is not read: the guard `shell-command` refuses it.
const MAX_BYTES: usize = 256 << 10;
/// How many lines within lines are read.
const MAX_LINES: usize = 64;

/// Why a line for a shell is refused, if it is.
pub(crate) fn line(rules: &Rules, line: &str) -> Option<String> {
    let may_apply = ["apply", "patch", "git"].iter().any(|word| line.contains(word));
    let may_patch = ["+++", "***", "@@", "diff --git", "Index:"].iter().any(|mark| line.contains(mark));
    if line.len() > MAX_BYTES || !may_apply || !may_patch {
        return None;
    }
    let mut lines = vec![line.to_owned()];
    // What is written to a file may be what another command of the line applies.
    let mut written = Vec::new();
    let mut is_applied = false;
    for _ in 0..MAX_LINES {
        let Some(line) = lines.pop() else { break };
        for mut pipeline in lex(&line) {
            let effective: Vec<_> = pipeline.commands.iter().map(|command| unwrap(&command.words)).collect();
            if pipeline.commands.iter().any(|command| applies(&command.words)) {
                is_applied = true;
                let mut texts = pipeline.commands.iter().flat_map(|command| command.words.iter().chain(&command.stdin));
                let refused = texts.find_map(|text| judge(rules, start::handed(text)));
                if refused.is_some() {
                    return refused;
                }
            }
            lines.extend(effective.into_iter().flat_map(|command| command.lines));
            written.extend(pipeline.commands.iter_mut().flat_map(|command| std::mem::take(&mut command.stdin)));
            lines.extend(pipeline.commands.into_iter().flat_map(|command| command.inner).map(|inner| inner.line));
        }
    }
    let patches = written.iter().filter(|_| is_applied).filter_map(|text| start::at_once(text));
    patches.into_iter().find_map(|patch| judge(rules, patch))
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
