//! What secrets look like: tokens and keys in their issuers' forms, private keys, and what stands beside `password=` and
//! looks random; as they are, and behind escapes, invisible characters, percent-encoding, base64 and hexadecimal.
//!
//! A library, not a guard: `secret-redactor` asks it about what tools return, `secret-leak` about what they are given. How
//! the JSON around it is walked is `json-scan`'s subject.
//!
//! Not taken for secrets: digests, UUIDs, dates, names, references, code, images in base64, and placeholders. The keys of
//! Amazon's documentation (`AKIAIOSFODNN7EXAMPLE`) have the form, and are secrets unless somebody asks to spare them.
//!
//! What it does not find: a secret without a known form and without a telling name; one that is encrypted or compressed,
//! encoded more than three times, in an encoding not named above, or put together by a program (`"AKIA" + "…"`).

mod assignment;
mod encoded;
mod forms;
mod key;
mod open;
mod outline;
mod secrets;
mod table;
mod value;
mod web;

pub use json_scan::Custom;
pub use secrets::Secrets;
