//! A shell line as the commands that it runs: words, quotes, expansions, pipes, what runs inside and behind wrappers.
//!
//! A library, not a guard: every guard that looks into commands reads them here, so that none is fooled by a spelling
//! that another one knows.

mod cursor;
mod grammar;
mod lexer;
mod unopened;
mod unwrap;
mod walk;

pub use grammar::{TooMany, read};
pub use lexer::{Inner, Pipeline, Simple, assignment, is_plain_word, lex};
pub use unopened::Unopened;
pub use unwrap::{Arguments, Effective, has_option, is_interpreter, is_shell, operands, unwrap};
pub use walk::{every_command, every_pipeline};
