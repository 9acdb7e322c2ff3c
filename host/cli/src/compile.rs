//! Components from outside are compiled by this very program, started once more: a process that can be killed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chio_host_runtime::{COMPILE, Compiler, CompilerProcess, compile_for_parent};

use crate::error::CliError;

/// How the binary compiles. Its own components are compiled in the host: who does not trust them cannot trust it either.
pub(crate) fn compiler() -> Result<Compiler, CliError> {
    let program = this_program().map_err(|e| CliError::System(format!("this program does not find itself: {e}")))?;
    let arguments = vec![COMPILE.into()];
    let vouched_for = |bytes: &[u8]| chio_host_builtin::all().iter().any(|builtin| builtin.bytes == bytes);
    Ok(Compiler::Process(CompilerProcess { program, arguments, vouched_for }))
}

/// By a link that leads to what runs, and not to what may have been installed in its place meanwhile: another version's code
/// would not load.
fn this_program() -> std::io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() { Ok(link.to_owned()) } else { std::env::current_exe() }
}

/// Compiles, if this process was started for that. No command, and in no help: people have no use for it.
pub(crate) fn if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != COMPILE {
        return None;
    }
    let memory_bytes = arguments.next()?.to_str()?.parse().ok()?;
    arguments.next().is_none().then(|| compile_for_parent(memory_bytes))
}
