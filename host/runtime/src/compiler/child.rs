//! The compiler's process, seen from inside.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, setrlimit};
use wasmtime::{Engine, InstanceAllocationStrategy};

use crate::engines::settings;
use crate::error::one_line;

/// The first argument of a process that is to compile; the second is its limit on memory, in bytes.
pub const COMPILE: &str = "compile-component";

/// How the process ends that has written compiled code to stdout.
pub(super) const COMPILED: u8 = 0;
/// How it ends when the compiler does not accept the component; stdout says why.
pub(super) const REFUSED: u8 = 2;
/// How it ends when it could not do its work; stderr says why.
const FAILED: u8 = 3;
/// How it ends when nobody waits for it any more.
const ALONE: i32 = 4;

/// Reads a component from stdin, its length in 8 bytes before it, and writes its compiled code to stdout: the whole life of a
/// process that was started as [`COMPILE`].
///
/// The process may take `memory_bytes` of memory, and takes nothing of a component before that holds. It ends when stdin
/// does, which its parent holds open for as long as it waits.
#[must_use]
pub fn compile_for_parent(memory_bytes: u64) -> ExitCode {
    match limit(memory_bytes).and_then(|()| component()) {
        Ok(bytes) => answer(&bytes),
        Err(error) => failed(&error.to_string()),
    }
}

fn failed(why: &str) -> ExitCode {
    // Nobody may be listening.
    let _ = writeln!(io::stderr(), "{why}");
    FAILED.into()
}

/// Private memory that can be written to is what a compilation grows by, and on Linux all of it counts as data. Addresses that
/// are only reserved do not, so a machine with many cores needs no higher limit. A dump would be of somebody else's code.
fn limit(memory_bytes: u64) -> io::Result<()> {
    let at_most = |bytes| Rlimit { current: Some(bytes), maximum: Some(bytes) };
    setrlimit(Resource::Core, at_most(0))?;
    setrlimit(Resource::Data, at_most(memory_bytes))?;
    Ok(())
}

fn component() -> io::Result<Vec<u8>> {
    let mut stdin = io::stdin();
    let mut length = [0; 8];
    stdin.read_exact(&mut length)?;
    let length = usize::try_from(u64::from_be_bytes(length)).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    stdin.read_exact(&mut bytes)?;
    std::thread::Builder::new().name("chio-parent".to_owned()).spawn(end_with_parent)?;
    Ok(bytes)
}

/// Nothing follows the component, so this returns when the parent is gone, killed or not, or has lost interest.
fn end_with_parent() {
    let _ = io::stdin().read(&mut [0]);
    std::process::exit(ALONE);
}

fn answer(bytes: &[u8]) -> ExitCode {
    let mut settings = settings();
    settings.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    let engine = match Engine::new(&settings) {
        Ok(engine) => engine,
        Err(error) => return failed(&one_line(&error)),
    };
    let (said, code) = match engine.precompile_component(bytes) {
        Ok(code) => (code, COMPILED),
        Err(error) => (one_line(&error).into_bytes(), REFUSED),
    };
    let mut stdout = io::stdout();
    match stdout.write_all(&said).and_then(|()| stdout.flush()) {
        Ok(()) => code.into(),
        Err(error) => failed(&error.to_string()),
    }
}
