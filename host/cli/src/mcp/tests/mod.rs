//! Sessions over pipes, against a kernel with plugins made of closures.

mod calls;
mod fixture;
mod session;
