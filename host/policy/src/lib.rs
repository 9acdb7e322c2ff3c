//! `policy.yaml` to a checked, hashed configuration.
//!
//! [`load()`] reads a policy and what it names, and answers with a [`Policy`] or with everything that is wrong, each
//! [`Problem`] with its line. Three steps, each its own module: `yaml` reads text into a tree with positions,
//! `document` checks shapes, `resolve` looks things up and measures them against each other.
//!
//! **Invariant:** no key, permission or cap is ignored. What this crate does not know, or the host does not enforce, is
//! an error.

#![forbid(unsafe_code)]

mod builtins;
mod document;
pub mod files;
pub mod fixtures;
mod hash;
mod limits;
mod load;
mod manifest;
mod package;
mod parts;
mod policy;
mod problem;
mod protected;
mod resolve;
mod signature;
mod trust;
mod yaml;

pub use builtins::{Builtin, Builtins, Imports};
pub use document::{Document, parse};
pub use limits::{Defaults, Limits};
pub use load::{load, load_str};
pub use manifest::{AskedEnvironment, AskedNetwork, Manifest};
pub use package::{PackageError, pack};
pub use parts::{Beside, Parts, PartsError, is_package};
pub use policy::{
    Access, Account, ApprovalPolicy, CapabilityTemplate, Component, Deadlines, DurableAdmission, Invoke, KernelPolicy,
    NetworkGrant, NoncePolicy, Origin, Outbound, Plugin, Policy, Preopen, Rail, Retention, Scheme, Secret, SecretGrant,
    SecretSource, Server, TemplateGrant, Variable,
};
pub use problem::{MAX_PROBLEMS, Problem, Problems};
pub use protected::{Exposure, Protected};
pub use resolve::{Gap, Host, Use, uses};
pub use signature::{PluginSignature, SignatureBody, SignatureProblem, sign, verify};
pub use trust::{Refusal, Trust};
