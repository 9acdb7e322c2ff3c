//! Removing everything.

use command_lines::{Effective, has_option, operands};

use super::target::{Target, target};
use crate::judge::Danger;

/// Tests of find that leave most files alone.
const NARROWING: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-newer",
    "-mtime",
    "-mmin",
    "-ctime",
    "-atime",
    "-size",
    "-user",
    "-group",
    "-inum",
    "-perm",
    "-empty",
];

pub(crate) fn judge(command: &Effective<'_>) -> Option<Danger> {
    match command.name.as_str() {
        "rm" | "grm" | "srm" => rm(&command.arguments),
        "find" => find(&command.arguments),
        "mv" => mv(&command.arguments),
        "remove-item" | "rd" | "rmdir" | "del" => windows(&command.arguments),
        _ => None,
    }
}

fn rm(arguments: &[String]) -> Option<Danger> {
    if has_option(arguments, '\0', "no-preserve-root") {
        return Danger::certain("it removes the whole file system");
    }
    // GNU takes options after operands too, so all of them count.
    if !has_option(arguments, 'r', "recursive") && !has_option(arguments, 'R', "recursive") {
        return None;
    }
    removes(operands(arguments).find_map(target)?)
}

fn find(arguments: &[String]) -> Option<Danger> {
    if !arguments.iter().any(|argument| argument == "-delete") {
        return None;
    }
    let narrows = |pair: &[String]| NARROWING.contains(&pair[0].as_str()) && pair[1] != "*";
    if arguments.windows(2).any(narrows) {
        return None;
    }
    removes(arguments.iter().take_while(|argument| !argument.starts_with('-')).find_map(|path| target(path))?)
}

fn mv(arguments: &[String]) -> Option<Danger> {
    if arguments.last()? != "/dev/null" {
        return None;
    }
    removes(operands(arguments).find_map(target)?)
}

fn windows(arguments: &[String]) -> Option<Danger> {
    let recursive = arguments
        .iter()
        .any(|argument| argument.eq_ignore_ascii_case("/s") || argument.to_lowercase().starts_with("-r"));
    let is_drive = |argument: &str| argument.contains(':') && target(argument) == Some(Target::Root);
    if recursive && operands(arguments).any(is_drive) { removes(Target::Root) } else { None }
}

fn removes(target: Target) -> Option<Danger> {
    Danger::certain(format!("it removes {}", target.name()))
}
