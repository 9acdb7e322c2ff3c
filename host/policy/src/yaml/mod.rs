//! YAML, read strictly and with positions: a tree, what its scalars mean, and a cursor that reads typed values off it.

mod cursor;
mod scalar;
mod tree;

pub(crate) use cursor::{Cursor, Fields};
pub(crate) use tree::{MAX_BYTES, read};
