//! Modes of files, as git writes them.

/// What a mode says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    File,
    Executable,
    Link,
    Submodule,
    /// No mode that git gives to anything.
    Other,
}

impl Mode {
    pub(crate) fn read(text: &str) -> Self {
        let text = text.trim();
        let is_octal = (5..=6).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        match u32::from_str_radix(text, 8) {
            _ if !is_octal => Self::Other,
            Ok(0o100_644 | 0o100_664 | 0o100_600) => Self::File,
            Ok(0o100_755 | 0o100_775 | 0o100_700) => Self::Executable,
            Ok(0o120_000) => Self::Link,
            Ok(0o160_000) => Self::Submodule,
            _ => Self::Other,
        }
    }
}
