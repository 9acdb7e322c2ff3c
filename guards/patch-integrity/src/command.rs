//! Patches that a command hands to whoever applies them.

use command_lines::{lex, unwrap};

use crate::judge::{self, Rules};
use crate::start;

/// A command longer than this, in bytes, is not read: the guard `shell-command` refuses it.
const MAX_BYTES: usize = 256 << 10;
/// How many lines within lines are read.
const MAX_LINES: usize = 64;

/// Why a line for a shell is refused, if it is.
pub(crate) fn line(rules: &Rules, line: &str) -> Option<String> {
    let may_apply = ["apply", "patch", "git"].iter().any(|word| line.contains(word));
    if line.len() > MAX_BYTES || !may_apply || !line.contains("+++") && !line.contains("***") && !line.contains("@@") {
        return None;
    }
    let mut lines = vec![line.to_owned()];
    for _ in 0..MAX_LINES {
        let Some(line) = lines.pop() else { break };
        for pipeline in lex(&line) {
            let effective: Vec<_> = pipeline.commands.iter().map(|command| unwrap(&command.words)).collect();
            if pipeline.commands.iter().any(|command| applies(&command.words)) {
                let texts = pipeline.commands.iter().flat_map(|command| command.words.iter().chain(&command.stdin));
                let refused = texts.filter_map(|text| start::within(text)).find_map(|patch| judge::judge(rules, patch));
                if refused.is_some() {
                    return refused;
                }
            }
            lines.extend(effective.into_iter().flat_map(|command| command.lines));
            lines.extend(pipeline.commands.into_iter().flat_map(|command| command.inner).map(|inner| inner.line));
        }
    }
    None
}

/// Why an argument vector is refused, if it is.
pub(crate) fn words(rules: &Rules, words: &[String]) -> Option<String> {
    if let [only] = words {
        return line(rules, only);
    }
    let own = applies(words)
        .then(|| words.iter().filter_map(|word| start::within(word)).find_map(|patch| judge::judge(rules, patch)));
    own.flatten().or_else(|| unwrap(words).lines.iter().find_map(|nested| line(rules, nested)))
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
