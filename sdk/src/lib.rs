//! What a Rust plugin of chio-host links.
//!
//! A plugin is an ordinary function and one macro line. The macro exports it when the crate is built for WebAssembly;
//! everywhere else the function is called as it is, so a plugin is tested by `cargo test`:
//!
//! ```
//! use chio_sdk::{Call, Verdict};
//!
//! fn check(call: &Call) -> Result<Verdict, String> {
//!     Ok(match call.tool.as_str() {
//!         "delete_everything" => Verdict::deny("nothing may be deleted on this host"),
//!         _ => Verdict::allow(),
//!     })
//! }
//!
//! chio_sdk::guard!(check);
//!
//! let call = chio_sdk::testing::call("files", "delete_everything").build();
//! assert!(check(&call).unwrap().is_deny());
//! ```
//!
//! | world | macro | function |
//! |---|---|---|
//! | `guard` | [`guard!`] | `fn(&Call) -> Result<Verdict, String>` |
//! | `initialised-guard` | [`initialised_guard!`] | `fn(&str) -> Result<S, String>`, `fn(&S, &Call) -> Result<Verdict, String>` |
//! | `output-hook` | [`hook!`] | `fn(&Call, &str) -> Result<HookVerdict, String>` |
//! | `tool-server` | [`tool_server!`] | `fn() -> Vec<Tool>`, `fn(&Context, &str, &str) -> Result<Output, ToolError>` |
//! | `rail` | [`rail!`] | a type that implements [`Rail`] |
//!
//! Guards and hooks are built for `wasm32-unknown-unknown`, so that they import nothing but their configuration; tool
//! servers that use files or [`http`] are built for `wasm32-wasip2`.

mod call;
mod config;
mod export;
mod hook;
pub mod http;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod tool;
mod verdict;

#[doc(hidden)]
pub mod bindings;

pub use bindings::guard::exports::chio::plugin::guarding::{Decision, Reservation, Verdict};
pub use bindings::imports::chio::plugin::call::{
    CommandFact, Counter, EffectClass, Fact, FactKind, HostKind, Operation, PathFact, Snapshot as Call, Url, UrlFact,
};
pub use bindings::imports::chio::plugin::types::{Money, Pointer};
pub use bindings::output_hook::exports::chio::plugin::inspecting::{HookVerdict, Redaction, Removal};
pub use bindings::rail::exports::chio::plugin::paying::{Guest as Rail, Payment, RailError};
pub use bindings::tool_server::exports::chio::plugin::serving::{
    Context, Elicitation, Hints, Output, OutputFormat, Tool, ToolError,
};
pub use config::{config, parse_config};
pub use tool::arguments;
pub use verdict::quote;

/// What a tool server or a rail may tell the host while it works.
pub mod host {
    pub use crate::bindings::imports::chio::plugin::host::{Level, cancelled, log, progress};
}

/// Calls to other tools, mediated by the host like any other. A tool that uses it has side effects by definition.
pub mod nested {
    pub use crate::bindings::imports::chio::plugin::nested::{InvokeError, InvokeOutput, invoke};
}
