//! Writing over disks.

use command_lines::{Effective, Simple, has_option};

use super::target::is_disk;
use crate::judge::Danger;

const WIPERS: &[&str] =
    &["wipefs", "blkdiscard", "shred", "mke2fs", "mkswap", "sfdisk", "sgdisk", "parted", "hdparm", "cryptsetup", "tee"];

pub(crate) fn judge(simple: &Simple, command: &Effective<'_>) -> Option<Danger> {
    let arguments = &command.arguments;
    let names_disk = || arguments.iter().any(|argument| is_disk(argument));
    let writes = match command.name.as_str() {
        "dd" => arguments.iter().filter_map(|argument| argument.strip_prefix("of=")).any(is_disk),
        "cp" | "mv" => arguments.last().is_some_and(|to| is_disk(to)),
        "sfdisk" | "parted" if has_option(arguments, 'l', "list") => false,
        name if name == "mkfs" || name.starts_with("mkfs.") || WIPERS.contains(&name) => names_disk(),
        _ => false,
    };
    let redirected = simple.redirects.iter().any(|to| is_disk(to));
    if writes || redirected { Danger::certain("it writes over a disk") } else { None }
}
