//! From a component to compiled code.
//!
//! Compiling is work that a component decides the size of: 16 KB can ask for minutes and for gigabytes (the tests have such a
//! guard), and a compiler that computes cannot be called off. So the binary compiles what comes from outside in a process of its
//! own ([`CompilerProcess`]), which a limit on memory holds from inside and a limit on time from outside.
//!
//! That is a bound on what a compilation costs, and no wall: what the process answers is loaded as code.

mod child;
mod process;

use wasmtime::Engine;

pub use self::child::{COMPILE, compile_for_parent};
pub use self::process::CompilerProcess;
use crate::error::{LoadError, one_line};
use crate::limits::Limits;

/// How components are compiled that no cache holds.
#[derive(Debug, Default)]
pub enum Compiler {
    /// In this process, without limits: for components that somebody vouches for, and for tests.
    #[default]
    InProcess,
    /// In a process of its own, save those that the host vouches for.
    Process(CompilerProcess),
}

impl Compiler {
    /// The compiled code of a component.
    pub(crate) async fn compile(&self, engine: &Engine, bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, LoadError> {
        match self {
            Self::Process(process) if !(process.vouched_for)(bytes) => process.compile(bytes, limits).await,
            Self::InProcess | Self::Process(_) => in_process(engine.clone(), bytes.to_vec()).await,
        }
    }
}

/// Seconds of computing for a large component; the other tasks of this thread must not wait for it.
async fn in_process(engine: Engine, bytes: Vec<u8>) -> Result<Vec<u8>, LoadError> {
    tokio::task::spawn_blocking(move || engine.precompile_component(&bytes))
        .await
        .map_err(|e| LoadError::Host(e.to_string()))?
        .map_err(|e| LoadError::Compile(one_line(&e)))
}
