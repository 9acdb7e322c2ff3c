//! What a new project is to be.

use clap::ValueEnum;

use crate::error::CliError;

/// What a component does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Judges calls before they run
    Guard,
    /// Inspects what tools return
    Hook,
    /// Offers tools
    Tool,
    /// Moves money at a provider
    Rail,
}

/// What a component is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Rust, with the SDK: all kinds
    Rust,
    /// JavaScript, in `QuickJS`: guards and hooks
    Js,
    /// Python, in `CPython`: guards and hooks
    Python,
}

impl Kind {
    /// As a manifest says it.
    pub(super) fn in_manifest(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Hook => "hook",
            Self::Tool => "tool-server",
            Self::Rail => "rail",
        }
    }

    /// The section of a policy that names it.
    pub(super) fn section(self) -> &'static str {
        match self {
            Self::Guard => "guards",
            Self::Hook => "hooks",
            Self::Tool => "servers",
            Self::Rail => "rails",
        }
    }
}

/// What a new project is to be.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) language: Language,
}

/// The longest name.
const MAX_NAME: usize = 48;

impl Wanted {
    /// Checks a name, and that the language can be used for such a component.
    pub(crate) fn new(name: &str, kind: Kind, language: Language) -> Result<Self, CliError> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        let is_usable =
            name.len() <= MAX_NAME && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_plain);
        if !is_usable {
            let shown = chio_host_kernel::canonical::printable(name, 64);
            return Err(CliError::Usage(format!(
                "\"{shown}\" is no usable name for a component; 1 to {MAX_NAME} of a-z, 0-9, _ and - are, a letter first"
            )));
        }
        if language != Language::Rust && !matches!(kind, Kind::Guard | Kind::Hook) {
            return Err(CliError::Usage(
                "in JavaScript and Python there are guards and hooks so far; write a tool or a rail with --lang rust"
                    .to_owned(),
            ));
        }
        Ok(Self { name: name.to_owned(), kind, language })
    }
}
