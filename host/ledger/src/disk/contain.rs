//! sled panics where it finds what cannot be. A panic of its must not take a call's task with it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; a panic becomes its message.
pub(super) fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // Whoever gets a message here fails the ledger, so nothing looks at what the panic left half done.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it panicked").to_owned()
}
