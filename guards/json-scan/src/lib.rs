//! Walking JSON for what must not be in it, naming where it stands, and cutting it out.
//!
//! A library, not a guard: what is looked for is a [`Finder`]'s business. `secret-redactor` and `secret-leak` look for
//! secrets, `pii-redactor` for personal data, and all of them walk in the same way: every string, key and number; over
//! the border of strings that are neighbours; with the key that a value stands under.

mod finder;
mod glance;
mod hook;
mod joins;
mod locate;
mod names;
mod patterns;
mod reading;
mod redact;

pub use finder::{Finder, Found, Hit, Joined};
pub use glance::is_clean;
pub use hook::Action;
pub use locate::{Place, locate};
pub use patterns::{Custom, Patterns};
pub use reading::{Reading, hides_at, lenient, may_hide, numerals};
pub use redact::{MAX_KINDS, redact, shown};

#[cfg(test)]
mod testing;
