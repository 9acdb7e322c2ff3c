//! Handing a shell to somebody else.

use command_lines::{Effective, Simple, has_option, is_interpreter, is_shell};

use crate::judge::Danger;

const WHAT: &str = "it hands a shell to another machine";

pub(crate) fn judge(simple: &Simple, command: &Effective<'_>) -> Option<Danger> {
    let arguments = &command.arguments;
    let connects = |text: &str| text.contains("/dev/tcp/") || text.contains("/dev/udp/");
    let contains = |text: &str, parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let reverse = match command.name.as_str() {
        "nc" | "ncat" | "netcat" | "nc.traditional" => {
            has_option(arguments, 'e', "exec")
                || has_option(arguments, 'c', "sh-exec")
                || has_option(arguments, '\0', "lua-exec")
        }
        "socat" => arguments.iter().any(|argument| contains(&argument.to_lowercase(), &["exec:", "system:"])),
        name if is_interpreter(name) => {
            let code = arguments.join(" ").to_lowercase();
            code.contains("socket")
                && contains(&code, &["subprocess", "pty.spawn", "dup2", "/bin/sh", "/bin/bash", "exec("])
        }
        _ => false,
    };
    // Only a shell opens these; elsewhere they are words.
    if reverse || simple.redirects.iter().any(|target| connects(target)) { Danger::certain(WHAT) } else { None }
}

/// `nc host port | sh`, `sh < pipe | nc host port > pipe`.
pub(crate) fn judge_pipeline(commands: &[(&Simple, Effective<'_>)]) -> Option<Danger> {
    let connects = |command: &Effective<'_>| match command.name.as_str() {
        "nc" | "ncat" | "netcat" | "nc.traditional" | "telnet" | "socat" => true,
        "openssl" => command.arguments.first().is_some_and(|mode| mode == "s_client"),
        _ => false,
    };
    let any = |is: &dyn Fn(&Effective<'_>) -> bool| commands.iter().any(|(_, command)| is(command));
    // A shell that has a script of its own only talks to the other end.
    let takes_orders =
        |command: &Effective<'_>| is_shell(&command.name) && !has_option(&command.arguments, 'c', "command");
    if any(&connects) && any(&takes_orders) { Danger::certain(WHAT) } else { None }
}
