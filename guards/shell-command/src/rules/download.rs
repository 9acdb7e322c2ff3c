//! Running what was downloaded, or what was hidden in an encoding.

use command_lines::{Effective, Simple, is_interpreter, is_shell, lex, operands, unwrap};

use crate::judge::{Danger, Seen};

const DOWNLOADERS: &[&str] =
    &["curl", "wget", "fetch", "aria2c", "http", "https", "lwp-request", "lynx", "iwr", "invoke-webrequest"];

/// Where a pipe's contents come from, if a program should not run them.
fn source(command: &Effective<'_>) -> Option<&'static str> {
    let arguments = &command.arguments;
    let has = |wanted: &[&str]| arguments.iter().any(|argument| wanted.contains(&argument.as_str()));
    match command.name.as_str() {
        name if DOWNLOADERS.contains(&name) => Some("it runs what it downloads"),
        "base64" | "base32" | "basenc" if has(&["-d", "-D", "-di", "--decode", "--d", "--dec"]) => {
            Some("it runs what it decodes")
        }
        "xxd" if arguments.iter().any(|argument| argument.starts_with('-') && argument.contains('r')) => {
            Some("it runs what it decodes")
        }
        "openssl" if has(&["-d", "-base64"]) => Some("it runs what it decodes"),
        "uudecode" => Some("it runs what it decodes"),
        _ => None,
    }
}

/// Whether the program runs what it reads.
fn runs_stdin(command: &Effective<'_>) -> bool {
    let name = command.name.as_str();
    if matches!(name, "source" | ".") {
        return command.arguments.first().is_some_and(|file| file == "/dev/stdin" || file == "/dev/fd/0");
    }
    if !is_shell(name) && !is_interpreter(name) {
        return false;
    }
    let arguments = &command.arguments;
    // `sh -s -- arguments`, `python -`, and no script at all; `sh -c …` and `python -m …` read something else.
    arguments.iter().any(|argument| matches!(argument.as_str(), "-" | "-s" | "/dev/stdin" | "/dev/fd/0"))
        || (operands(arguments).next().is_none()
            && !arguments.iter().any(|argument| matches!(argument.as_str(), "-c" | "-e" | "-m" | "-V" | "-v" | "-h")))
}

pub(crate) fn judge_pipeline(commands: &[(&Simple, Effective<'_>)]) -> Option<Danger> {
    let from = commands.iter().position(|(_, command)| source(command).is_some())?;
    let what = source(&commands[from].1)?;
    let mut rest = commands[from + 1..].iter();
    if rest.any(|(simple, command)| runs_stdin(command) || simple.inner.iter().any(|inner| runs_something(&inner.line)))
    {
        return Danger::certain(what);
    }
    None
}

/// Whether a line, as in `tee >(sh)`, runs its input.
fn runs_something(line: &str) -> bool {
    lex(line).iter().any(|pipeline| pipeline.commands.iter().any(|command| runs_stdin(&unwrap(&command.words))))
}

/// `bash <(curl …)`, `sh -c "$(curl …)"`, `eval`, `source`, and running a file that was downloaded before.
pub(crate) fn judge(simple: &Simple, command: &Effective<'_>, seen: &Seen) -> Option<Danger> {
    let name = command.name.as_str();
    let runs = is_shell(name) || is_interpreter(name) || matches!(name, "eval" | "source" | "." | "iex");
    let is_itself = command.program.starts_with("$()");
    if runs || is_itself {
        let what = simple.inner.iter().find_map(|inner| source_in(&inner.line));
        if let Some(what) = what {
            return Danger::certain(what);
        }
    }
    let file = if runs { operands(&command.arguments).next() } else { Some(command.program) };
    let downloaded = file.is_some_and(|file| seen.downloads.contains(file.trim_start_matches("./")));
    if downloaded { Danger::certain("it runs what it downloads") } else { None }
}

fn source_in(line: &str) -> Option<&'static str> {
    lex(line).iter().flat_map(|pipeline| &pipeline.commands).find_map(|command| source(&unwrap(&command.words)))
}

/// Notes the files that downloads go to.
pub(crate) fn remember(commands: &[(&Simple, Effective<'_>)], seen: &mut Seen) {
    let mut downloads = false;
    for (simple, command) in commands {
        downloads |= DOWNLOADERS.contains(&command.name.as_str());
        if !downloads {
            continue;
        }
        let arguments = &command.arguments;
        let after_option = arguments
            .windows(2)
            .filter(|pair| matches!(pair[0].as_str(), "-o" | "--output" | "-O" | "--output-document"))
            .map(|pair| &pair[1]);
        let own_name =
            arguments.iter().filter_map(|argument| argument.rsplit_once('/')).map(|(_, name)| name.to_owned());
        let names_itself = command.name == "wget"
            || arguments.iter().any(|argument| argument.starts_with('-') && argument.contains('O'));
        let teed = if command.name == "tee" { operands(arguments).map(str::to_owned).collect() } else { Vec::new() };
        let mut files: Vec<String> = after_option.chain(&simple.redirects).cloned().chain(teed).collect();
        if names_itself {
            files.extend(own_name);
        }
        seen.downloads
            .extend(files.iter().map(|file| file.trim_start_matches("./").to_owned()).filter(|file| !file.is_empty()));
    }
}
