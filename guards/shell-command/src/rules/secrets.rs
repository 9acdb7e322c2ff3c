//! Reading secrets, and writing over them.

use command_lines::{Effective, Simple, Unopened, is_interpreter};
use secret_places::{Places, anywhere, path_like};

use crate::judge::Danger;

/// Commands that nobody begins a sentence with, when a path comes next.
const READERS: &[&str] = &[
    "cat", "tac", "head", "tail", "less", "nl", "od", "xxd", "strings", "base64", "cp", "scp", "rsync", "tar", "dd",
    "curl", "wget", "grep", "sed", "awk", "source", "nc",
];

pub(crate) fn judge(places: &Places, simple: &Simple, command: &Effective<'_>) -> Option<Danger> {
    let name = command.name.as_str();
    let unopened = Unopened::of(command);
    let is_program_text = is_interpreter(name);
    let words = command.arguments.iter().map(String::as_str).filter(|word| !unopened.contains(word));
    let opened = words.chain(simple.redirects.iter().map(String::as_str)).find_map(|word| {
        let find = |path: &str| places.find_expanded(path).map(|what| (path.to_owned(), what));
        if places.clears(word) {
            None
        } else if is_program_text {
            anywhere(word).into_iter().find_map(find)
        } else {
            path_like(word).into_iter().find_map(find)
        }
    });
    let (path, what) = opened?;
    let danger = format!("it opens {} ({what})", chio_sdk::quote(&path));
    let says_where = path.starts_with(['/', '~']) || path.contains('/');
    if READERS.contains(&name) && says_where { Danger::certain(danger) } else { Danger::likely(danger) }
}
