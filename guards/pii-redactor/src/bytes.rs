//! What bytes are, in one table: most texts hold nothing, and are looked at byte by byte to know it.

/// A small letter of ASCII.
pub(crate) const SMALL: u8 = 1;
/// A capital.
pub(crate) const CAPITAL: u8 = 2;
pub(crate) const DIGIT: u8 = 4;
/// A part of a character that is none of ASCII.
pub(crate) const HIGH: u8 = 8;
/// It may stand for something else.
pub(crate) const HIDES: u8 = 16;
/// An at sign.
pub(crate) const SIGN: u8 = 32;
/// A word or a bracket may begin in which the signs of an address are spelt out.
pub(crate) const SPELT: u8 = 64;
/// A telephone number may begin that is known by its begin.
pub(crate) const DIAL: u8 = 128;

static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut at = 0;
    while at < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "there are 256 bytes")]
        let byte = at as u8;
        classes[at] = (if byte.is_ascii_lowercase() { SMALL } else { 0 })
            | (if byte.is_ascii_uppercase() { CAPITAL } else { 0 })
            | (if byte.is_ascii_digit() { DIGIT } else { 0 })
            | (if byte >= 0x80 { HIGH } else { 0 })
            | (if json_scan::may_hide(byte) { HIDES } else { 0 })
            | (if byte == b'@' { SIGN } else { 0 })
            | (if matches!(byte, b'd' | b'(' | b'[' | b'{') { SPELT } else { 0 })
            | (if matches!(byte, b'+' | b'(') { DIAL } else { 0 });
        at += 1;
    }
    classes
};

/// What a byte is.
pub(crate) fn class(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}

/// What the byte at a place is; nothing behind the last one.
pub(crate) fn class_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).map_or(0, |byte| class(*byte))
}

/// Where the next digit is.
pub(crate) fn next_digit(bytes: &[u8], mut at: usize) -> Option<usize> {
    while at < bytes.len() {
        if CLASSES[usize::from(bytes[at])] & DIGIT != 0 {
            return Some(at);
        }
        at += 1;
    }
    None
}
