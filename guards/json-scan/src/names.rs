//! Under which name a value stands, and where in the JSON.

/// The name of the value under `key`: the key; in `{"name": "PASSWORD", "value": "…"}` the name beside it; in
/// `{"password": {"value": "…"}}` the name further out.
pub(crate) fn name_of<'a>(key: &'a str, beside: Option<&'a str>, outer: &'a str) -> &'a str {
    if !matches!(key, "value" | "Value" | "VALUE" | "val") {
        return key;
    }
    beside.or(Some(outer).filter(|outer| !outer.is_empty())).unwrap_or(key)
}

/// Whether a key's value is the name of the value beside it.
pub(crate) fn names_another(key: &str) -> bool {
    matches!(key, "name" | "Name" | "NAME" | "key" | "Key" | "KEY")
}

/// Whether a string says what stands beside it (`"type": "text"`), and so is no part of it.
pub(crate) fn is_label(key: &str, text: &str) -> bool {
    const MOST_BYTES: usize = 32;
    let is_word = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'/' | b'-' | b'_');
    matches!(key, "type" | "role" | "mimeType" | "kind" | "object")
        && text.len() <= MOST_BYTES
        && text.bytes().all(is_word)
}

/// Where a value stands, whatever the indices of lists: the same in all elements of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(u64);

impl Path {
    pub(crate) const ROOT: Self = Self(0xcbf2_9ce4_8422_2325);
    const PRIME: u64 = 0x0100_0000_01b3;

    /// FNV-1a. Two places that fall together join what does not belong together, which finds more and never less.
    pub(crate) fn key(self, key: &str) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(Self::PRIME);
        Self(key.bytes().fold(step(self.0, b'/'), step))
    }

    pub(crate) fn item(self) -> Self {
        Self((self.0 ^ 0x1_002a).wrapping_mul(Self::PRIME))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_name_that_tells_most() {
        assert_eq!(name_of("password", Some("x"), "y"), "password");
        assert_eq!(name_of("value", Some("DB_PASSWORD"), "env"), "DB_PASSWORD");
        assert_eq!(name_of("value", None, "password"), "password");
        assert_eq!(name_of("value", None, ""), "value");
    }

    #[test]
    fn elements_of_a_list_stand_at_the_same_path() {
        let text = |path: Path| path.key("content").item().key("text");
        assert_eq!(text(Path::ROOT), text(Path::ROOT));
        assert_ne!(Path::ROOT.key("a").key("b"), Path::ROOT.key("ab"));
        assert_ne!(Path::ROOT.item(), Path::ROOT.key("*"));
    }
}
