//! Stopping the machine, or everything on it.

use command_lines::{Effective, Simple, operands};

use crate::judge::Danger;

pub(crate) fn judge(simple: &Simple, command: &Effective<'_>) -> Option<Danger> {
    let arguments = &command.arguments;
    let first = operands(arguments).next().unwrap_or("");
    let stops = match command.name.as_str() {
        "shutdown" => !arguments.iter().any(|argument| argument == "-c" || argument == "/a"),
        "reboot" | "halt" | "poweroff" | "killall5" => true,
        "init" | "telinit" => matches!(first, "0" | "6"),
        "systemctl" | "loginctl" => matches!(first, "reboot" | "poweroff" | "halt" | "kexec" | "suspend" | "hibernate"),
        "kill" => arguments.len() > 1 && arguments.last().is_some_and(|id| id == "-1" || id == "1"),
        _ => simple.redirects.iter().any(|target| target == "/proc/sysrq-trigger"),
    };
    if stops { Danger::likely("it stops the machine") } else { None }
}
