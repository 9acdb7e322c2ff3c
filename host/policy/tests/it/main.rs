//! Policies as operators write them, through the public interface alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod capabilities;
mod environment;
mod fixtures;
mod folders;
mod garbage;
mod hashing;
mod manifests;
mod outbound;
mod packages;
mod plugins;
mod shapes;
mod starter;
mod support;
mod trust;
