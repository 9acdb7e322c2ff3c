//! The sandbox: runs guards, output hooks and tool servers as WebAssembly components.
//!
//! The only crate that knows wasmtime. It implements the kernel's ports ([`WasmGuard`], [`WasmHook`],
//! [`WasmToolServer`], [`WasmRail`]) and offers what the command line needs beside them: a [`Runtime`] to load them into,
//! [`inspect`] and [`plain_functions`] to look at a component, [`FileGrant`], [`Outbound`] and [`CompiledCache`].
//!
//! **Invariant:** an instance serves one call. Fuel, deadline, memory and the rest are in force before its first
//! instruction, and a stop names the limit that made it.

#![deny(unsafe_code)]

mod answer;
mod bindings;
mod cache;
mod compiler;
mod engines;
mod error;
mod files;
mod guard;
mod hook;
mod inert;
mod initialised;
mod inspect;
mod limits;
mod lines;
mod meter;
mod outbound;
mod places;
mod plain;
mod plugin;
mod rail;
mod run;
mod runtime;
mod server;
mod snapshot;
mod ticker;

#[cfg(test)]
mod builtin_tests;
#[cfg(test)]
mod guard_tests;
#[cfg(test)]
mod rail_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod testing_http;

pub use cache::{CacheError, CompiledCache};
pub use compiler::{COMPILE, Compiler, CompilerProcess, compile_for_parent};
pub use engines::Allocation;
pub use error::LoadError;
pub use files::{Access, FileGrant, GrantError};
pub use guard::WasmGuard;
pub use hook::WasmHook;
pub use inspect::{Inspection, Kind, check_imports, inspect};
pub use limits::Limits;
pub use outbound::{NetworkGrant, Outbound, Scheme, SecretGrant, SecretSource};
pub use plain::{LeftOut, PlainFunctions, PlainTool, plain_functions};
pub use plugin::Plugin;
pub use rail::WasmRail;
pub use runtime::{Runtime, RuntimeConfig, RuntimeError};
pub use server::effect::{Live, calls_tools, effect_class};
pub use server::{Described, Permissions, WasmToolServer};
