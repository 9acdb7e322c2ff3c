//! Opening the system to everybody.

use command_lines::{Effective, has_option, operands};

use super::target::{Target, target};
use crate::judge::Danger;

pub(crate) fn judge(command: &Effective<'_>) -> Option<Danger> {
    let arguments = &command.arguments;
    match command.name.as_str() {
        "chmod" => chmod(arguments),
        "chown" | "chgrp" | "setfacl" if is_recursive(arguments) => {
            let aimed = operands(arguments).skip(1).find_map(target).filter(|target| *target != Target::Home)?;
            Danger::certain(format!("it changes who owns {}", aimed.name()))
        }
        _ => None,
    }
}

fn chmod(arguments: &[String]) -> Option<Danger> {
    // A mode may begin with `-`, so it is looked for among all arguments.
    let mode = arguments.iter().find(|argument| is_mode(argument))?;
    if mode.contains("+s") || mode.contains("=s") || (mode.len() == 4 && mode.starts_with(['2', '4', '6'])) {
        return Danger::likely("it lets a program run as its owner");
    }
    if !is_recursive(arguments) {
        return None;
    }
    let open_to_all = mode.ends_with(['7', '6', '3', '2'])
        || mode.starts_with("a+")
        || mode.starts_with("a=")
        || mode.starts_with("o+");
    match operands(arguments).find_map(target)? {
        Target::Home if !open_to_all => None,
        aimed => Danger::certain(format!("it changes the permissions of {}", aimed.name())),
    }
}

fn is_recursive(arguments: &[String]) -> bool {
    has_option(arguments, 'R', "recursive")
}

fn is_mode(argument: &str) -> bool {
    let octal = (3..=5).contains(&argument.len()) && argument.chars().all(|c| c.is_digit(8));
    let symbolic = argument.contains(['+', '=']) && argument.chars().all(|c| "ugoa+-=rwxXst,".contains(c));
    octal || symbolic
}
