//! The paths in a command.

use command_lines::{Simple, every_command, is_interpreter, operands, unwrap};
use secret_places::{certain_paths, certain_paths_anywhere};

use crate::rules::Rules;

/// A command longer than this, in bytes, is refused: nobody can read it.
const MAX_BYTES: usize = 256 << 10;

/// Commands whose words are not opened: they say them, or only ask.
const SPEAKERS: &[&str] = &["echo", "printf", "true", ":", "which", "type", "man", "help", "alias"];
/// Commands whose first operand is a pattern or a program.
const SEARCHERS: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "jq", "yq"];
/// Where a system keeps its programs: running one is the guard `shell-command`'s subject.
const PROGRAMS: &[&str] = &["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/"];
/// Devices that hold nothing.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Why a line for a shell is refused, if it is.
pub(crate) fn line(rules: &Rules, line: &str) -> Option<String> {
    if line.len() > MAX_BYTES {
        return Some(format!("a command is refused (it is longer than {MAX_BYTES} bytes)"));
    }
    match every_command(line) {
        Ok(commands) => commands.iter().find_map(|command| judge(rules, command)),
        Err(_) => Some("a command is refused (it holds commands within commands, too many to read)".to_owned()),
    }
}

/// Why an argument vector is refused, if it is.
pub(crate) fn words(rules: &Rules, words: &[String]) -> Option<String> {
    // One word with spaces is a line that somebody put into a list.
    if let [only] = words {
        return line(rules, only);
    }
    if words.iter().map(String::len).sum::<usize>() > MAX_BYTES {
        return Some(format!("a command is refused (it is longer than {MAX_BYTES} bytes)"));
    }
    let lines = unwrap(words).lines;
    let command = Simple { words: words.to_vec(), ..Simple::default() };
    judge(rules, &command).or_else(|| lines.iter().find_map(|nested| line(rules, nested)))
}

fn judge(rules: &Rules, simple: &Simple) -> Option<String> {
    let command = unwrap(&simple.words);
    let name = command.name.as_str();
    let is_program = |word: &str| {
        (word == command.program || simple.words.first().is_some_and(|first| first == word))
            && PROGRAMS.iter().any(|folder| word.starts_with(folder))
            && !word.contains("..")
    };
    let pattern = SEARCHERS.contains(&name).then(|| operands(&command.arguments).next()).flatten();
    let words = simple.words.iter().map(String::as_str).filter(|_| !SPEAKERS.contains(&name));
    let words = words.filter(|word| !is_program(word) && Some(*word) != pattern);
    words.chain(simple.redirects.iter().map(String::as_str)).find_map(|word| {
        let is_text = is_interpreter(name) && word.contains(|c: char| c.is_whitespace() || c == '(');
        let paths = if is_text { certain_paths_anywhere(word) } else { certain_paths(word) };
        paths.into_iter().filter(|path| !is_device(path)).find_map(|path| rules.refuse_certain(path))
    })
}

fn is_device(path: &str) -> bool {
    let is_open_file = path.strip_prefix("/dev/fd/").is_some_and(|fd| fd.bytes().all(|byte| byte.is_ascii_digit()));
    is_open_file || DEVICES.contains(&path)
}
