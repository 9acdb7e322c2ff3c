//! The paths in a command.

use command_lines::{Simple, Unopened, every_command, is_interpreter, unwrap};
use secret_places::{Places, anywhere, path_like};

use crate::forbidden;

/// A command longer than this, in bytes, is refused: nobody can read it.
const MAX_BYTES: usize = 256 << 10;

/// Why a line for a shell is refused, if it is.
pub(crate) fn line(places: &Places, line: &str) -> Option<String> {
    if line.len() > MAX_BYTES {
        return Some(format!("a command is refused (it is longer than {MAX_BYTES} bytes)"));
    }
    match every_command(line) {
        Ok(commands) => commands.iter().find_map(|command| judge(places, command)),
        Err(_) => Some("a command is refused (it holds commands within commands, too many to read)".to_owned()),
    }
}

/// Why an argument vector is refused, if it is.
pub(crate) fn words(places: &Places, words: &[String]) -> Option<String> {
    // One word with spaces is a line that somebody put into a list.
    if let [only] = words {
        return line(places, only);
    }
    if words.iter().map(String::len).sum::<usize>() > MAX_BYTES {
        return Some(format!("a command is refused (it is longer than {MAX_BYTES} bytes)"));
    }
    let lines = unwrap(words).lines;
    let command = Simple { words: words.to_vec(), ..Simple::default() };
    judge(places, &command).or_else(|| lines.iter().find_map(|nested| line(places, nested)))
}

fn judge(places: &Places, simple: &Simple) -> Option<String> {
    let command = unwrap(&simple.words);
    let name = command.name.as_str();
    let unopened = Unopened::of(&command);
    let words = simple.words.iter().map(String::as_str).filter(|word| !unopened.contains(word));
    let opened = words.chain(simple.redirects.iter().map(String::as_str));
    opened.into_iter().filter(|word| !places.clears(word)).find_map(|word| {
        let paths = if is_interpreter(name) { anywhere(word) } else { path_like(word) };
        paths.into_iter().find_map(|path| places.find_expanded(path).map(|what| forbidden(path, what)))
    })
}
