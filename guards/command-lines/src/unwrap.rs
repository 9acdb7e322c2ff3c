//! What a command comes to, behind the programs that only start another.

use std::borrow::Cow;
use std::ops::Deref;

use crate::lexer::assignment;

/// The most wrappers around one command.
const MAX_WRAPPERS: usize = 16;

/// A command without its wrappers.
#[derive(Debug, Default, PartialEq)]
pub struct Effective<'a> {
    /// The program's name: without folders and `.exe`, in lower case.
    pub name: String,
    /// As it was written.
    pub program: &'a str,
    /// The words after it.
    pub arguments: Arguments<'a>,
    /// Whether more arguments come from standard input.
    pub from_stdin: bool,
    /// Lines that it hands to a shell.
    pub lines: Vec<String>,
}

/// The words after a program's name: mostly those of the line, sometimes with others that a pipe adds.
#[derive(Debug, Default, PartialEq)]
pub struct Arguments<'a>(Cow<'a, [String]>);

impl Arguments<'_> {
    /// The words themselves.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl Deref for Arguments<'_> {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

impl Extend<String> for Arguments<'_> {
    fn extend<T: IntoIterator<Item = String>>(&mut self, words: T) {
        let mut words = words.into_iter().peekable();
        if words.peek().is_some() {
            self.0.to_mut().extend(words);
        }
    }
}

/// A program that starts another: which of its options take a value, and how many operands come before the command.
struct Wrapper {
    name: &'static str,
    valued: &'static [&'static str],
    operands: usize,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, valued, operands }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper(
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user", "--group", "--host",
            "--prompt", "--chdir", "--chroot",
        ],
        0,
    ),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("pkexec", &["--user"], 0),
    wrapper("env", &["-u", "-C", "--unset", "--chdir"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("time", &["-f", "-o", "--format", "--output"], 0),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "-n", "-p", "--class", "--classdata"], 0),
    wrapper("chrt", &["-T", "-P", "-D"], 1),
    wrapper("taskset", &[], 1),
    wrapper("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    wrapper("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    wrapper(
        "xargs",
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-a",
            "-s",
            "-E",
            "--replace",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
        ],
        0,
    ),
    wrapper("parallel", &["-j", "--jobs"], 0),
    wrapper("chroot", &["--userspec", "--groups"], 1),
    wrapper("unshare", &[], 0),
    wrapper("strace", &["-e", "-o", "-p", "-s"], 0),
    wrapper("flock", &["-w", "-E", "--timeout"], 1),
    wrapper("caffeinate", &["-t", "-w"], 0),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
];

/// Words of the shell's grammar that stand before a command.
const RESERVED: &[&str] =
    &["!", "{", "}", "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "coproc", "esac", "[[", "&"];

const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh", "pwsh", "powershell"];

const INTERPRETERS: &[&str] =
    &["python", "python2", "python3", "perl", "ruby", "node", "deno", "bun", "php", "lua", "osascript"];

/// Whether a program of this name is a shell.
#[must_use]
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Whether a program of this name runs programs in a language of its own.
#[must_use]
pub fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name) || name.starts_with("python3.")
}

/// Takes the wrappers off, one by one.
#[must_use]
pub fn unwrap(words: &[String]) -> Effective<'_> {
    let mut words = words;
    let mut found = Effective::default();
    for _ in 0..MAX_WRAPPERS {
        while let [first, rest @ ..] = words
            && (RESERVED.contains(&first.as_str()) || assignment(first).is_some())
        {
            words = rest;
        }
        let [program, arguments @ ..] = words else { return Effective { lines: found.lines, ..Effective::default() } };
        let name = program_name(program);
        found.from_stdin |= matches!(name.as_str(), "xargs" | "parallel");
        if name == "env"
            && let Some(line) = split_string(arguments)
        {
            found.lines.push(line);
        }
        let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else {
            found.lines.extend(lines(&name, arguments));
            return Effective { name, program, arguments: Arguments(Cow::Borrowed(arguments)), ..found };
        };
        // `command -v rm` only asks where it is.
        if name == "command" && arguments.first().is_some_and(|option| matches!(option.as_str(), "-v" | "-V")) {
            return Effective { lines: found.lines, ..Effective::default() };
        }
        words = after_options(arguments, wrapper);
    }
    found
}

/// The arguments after a wrapper's own.
fn after_options<'a>(arguments: &'a [String], wrapper: &Wrapper) -> &'a [String] {
    let mut rest = arguments;
    let mut operands = wrapper.operands;
    while let [first, more @ ..] = rest {
        if first == "--" {
            return more.get(operands..).unwrap_or_default();
        }
        if first.len() > 1 && first.starts_with('-') {
            let takes_next = wrapper.valued.contains(&first.as_str());
            rest = more.get(usize::from(takes_next)..).unwrap_or_default();
        } else if first == "-" || assignment(first).is_some() {
            rest = more;
        } else if operands > 0 {
            operands -= 1;
            rest = more;
        } else {
            break;
        }
    }
    rest
}

/// The line in `env -S 'rm -rf /'`.
fn split_string(arguments: &[String]) -> Option<String> {
    let at = arguments.iter().position(|argument| {
        argument.starts_with("--split-string")
            || (argument.starts_with('-') && !argument.starts_with("--") && argument.contains('S'))
    })?;
    let own = match arguments[at].split_once('=') {
        Some((option, value)) if option.starts_with("--") => value,
        _ => arguments[at].split_once('S').filter(|_| !arguments[at].starts_with("--")).map_or("", |(_, value)| value),
    };
    let rest = arguments[at + 1..].join(" ");
    Some(format!("{own} {rest}"))
}

/// The lines that a program hands to a shell.
fn lines(name: &str, arguments: &[String]) -> Vec<String> {
    let after = |is: &dyn Fn(&str) -> bool| {
        let at = arguments.iter().position(|argument| is(argument))?;
        arguments.get(at + 1).cloned()
    };
    let is_command_option =
        |argument: &str| argument.starts_with('-') && !argument.starts_with("--") && argument.contains('c');
    match name {
        "eval" => vec![arguments.join(" ")],
        "trap" => arguments.first().cloned().into_iter().collect(),
        "watch" => {
            vec![operands(arguments).skip_while(|word| word.parse::<f64>().is_ok()).collect::<Vec<_>>().join(" ")]
        }
        "ssh" => vec![operands(arguments).skip(1).collect::<Vec<_>>().join(" ")],
        "su" | "runuser" | "script" => {
            after(&|argument| is_command_option(argument) || argument == "--command").into_iter().collect()
        }
        "find" | "fd" => executed_by_find(arguments),
        name if is_shell(name) => after(&is_command_option).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The commands in `find … -exec … ;`, as lines. What it fills in for `{}` is where it starts.
fn executed_by_find(arguments: &[String]) -> Vec<String> {
    let start = arguments.first().filter(|first| !first.starts_with('-')).map_or(".", String::as_str);
    let executes = |word: &str| matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir" | "-x");
    arguments
        .split(|word| executes(word))
        .skip(1)
        .map(|words| {
            let words = words.iter().take_while(|word| !matches!(word.as_str(), ";" | "+"));
            words.map(|word| quoted(&word.replace("{}", start))).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The arguments that are no options.
pub fn operands(arguments: &[String]) -> impl Iterator<Item = &str> {
    let mut options = true;
    arguments.iter().map(String::as_str).filter(move |argument| {
        if options && *argument == "--" {
            options = false;
            return false;
        }
        !(options && argument.len() > 1 && argument.starts_with('-'))
    })
}

/// Whether a short option is among the arguments, alone or in a cluster, or a long one, in full or cut as GNU allows.
#[must_use]
pub fn has_option(arguments: &[String], short: char, long: &str) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| match argument.strip_prefix("--") {
        Some(option) => option.len() >= 3 && long.starts_with(option),
        None => argument.starts_with('-') && argument.contains(short),
    })
}

fn program_name(program: &str) -> String {
    let start = program.bytes().rposition(|byte| matches!(byte, b'/' | b'\\')).map_or(0, |slash| slash + 1);
    let name = &program[start..];
    let name = if name.is_ascii() { name.to_ascii_lowercase() } else { name.to_lowercase() };
    match name.strip_suffix(".exe") {
        Some(bare) => bare.to_owned(),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        crate::lexer::lex(line)[0].commands[0].words.clone()
    }

    #[test]
    fn wrappers_come_off() {
        for line in [
            "rm -rf /",
            "/bin/rm -rf /",
            "sudo rm -rf /",
            "sudo -u root -- rm -rf /",
            "A=1 B=2 rm -rf /",
            "env -i A=1 rm -rf /",
            "nohup nice -n 5 timeout -k 1 5 rm -rf /",
            "! rm -rf /",
            "then rm -rf /",
            "command rm -rf /",
            "xargs -n 1 rm -rf /",
            "busybox rm -rf /",
            "stdbuf -oL chroot /mnt rm -rf /",
        ] {
            let words = words(line);
            let found = unwrap(&words);
            assert_eq!(
                (found.name.as_str(), found.arguments.as_slice()),
                ("rm", ["-rf".into(), "/".into()].as_slice()),
                "{line}"
            );
        }
    }

    #[test]
    fn what_only_asks_runs_nothing() {
        for line in ["sudo -l", "env --help", "env", "command -v rm", "A=1"] {
            assert_eq!(unwrap(&words(line)).name, "", "{line}");
        }
    }

    #[test]
    fn lines_for_another_shell() {
        for line in [
            "sh -c 'rm x'",
            "bash -lc 'rm x'",
            "eval rm x",
            "su - root -c 'rm x'",
            "env -S 'rm x'",
            "env -S'rm x'",
            "env --split-string='rm x'",
            "ssh -p22 host rm x",
            "trap 'rm x' EXIT",
        ] {
            assert_eq!(
                unwrap(&words(line)).lines.iter().map(|line| line.trim()).collect::<Vec<_>>(),
                ["rm x"],
                "{line}"
            );
        }
        assert_eq!(unwrap(&words(r"find / -exec rm -rf {} \;")).lines, ["'rm' '-rf' '/'"]);
    }
}
