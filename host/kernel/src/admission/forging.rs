//! No other crate can make a [`Committed`](super::Committed), nor use one twice, so no other crate can call a tool by itself.
//! These are the attempts, compiled as a stranger's code. The first compiles: names and imports are right, so it is not these
//! that fail. (A stable toolchain checks that the others fail, and not with which error.)
//!
//! ```
//! use chio_host_kernel::admission::Committed;
//! use chio_host_kernel::operation::OperationId;
//! use chio_host_kernel::ports::{Invocation, ToolRan, ToolServer};
//!
//! fn look(committed: &Committed) -> OperationId {
//!     committed.operation().clone()
//! }
//!
//! async fn once(server: &dyn ToolServer, committed: Committed, invocation: Invocation) -> ToolRan {
//!     server.call(committed, invocation.clone()).await
//! }
//! ```
//!
//! By its field:
//!
//! ```compile_fail,E0451
//! use chio_host_kernel::admission::Committed;
//! use chio_host_kernel::operation::OperationId;
//!
//! fn forge(operation: OperationId) -> Committed {
//!     Committed { operation }
//! }
//! ```
//!
//! By its constructor:
//!
//! ```compile_fail,E0624
//! use chio_host_kernel::admission::Committed;
//! use chio_host_kernel::operation::OperationId;
//!
//! fn forge(operation: OperationId) -> Committed {
//!     Committed::new(operation)
//! }
//! ```
//!
//! By copying one:
//!
//! ```compile_fail,E0308
//! use chio_host_kernel::admission::Committed;
//!
//! fn forge(committed: &Committed) -> Committed {
//!     committed.clone()
//! }
//! ```
//!
//! By reading one from somewhere:
//!
//! ```compile_fail,E0277
//! use chio_host_kernel::admission::Committed;
//!
//! fn forge(text: &str) -> Committed {
//!     serde_json::from_str(text).unwrap()
//! }
//! ```
//!
//! By using one twice:
//!
//! ```compile_fail,E0382
//! use chio_host_kernel::admission::Committed;
//! use chio_host_kernel::operation::OperationId;
//! use chio_host_kernel::ports::{Invocation, ToolRan, ToolServer};
//!
//! async fn twice(server: &dyn ToolServer, committed: Committed, invocation: Invocation) -> ToolRan {
//!     server.call(committed, invocation.clone()).await;
//!     server.call(committed, invocation.clone()).await
//! }
//! ```
