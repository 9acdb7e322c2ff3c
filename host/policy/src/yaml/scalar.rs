//! What a scalar without quotes means, and sizes and durations.
//!
//! YAML 1.2's core schema, where it and YAML 1.1 agree. What the two read differently (`0777`, `0x1f`) is refused, with
//! one exception: `5_000_000` is a number everywhere.

use chio_host_kernel::canonical::MAX_INTEGER;
use serde_json::Number;

/// A scalar without quotes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Plain {
    Null,
    Bool(bool),
    Number(Number),
    Text,
    /// It could mean two things, or nothing that JSON can hold.
    Refused(&'static str),
}

impl Plain {
    pub(crate) fn read(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Null,
            "true" | "True" | "TRUE" => return Self::Bool(true),
            "false" | "False" | "FALSE" => return Self::Bool(false),
            _ => {}
        }
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if matches!(unsigned, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
            return Self::Refused("is no finite number");
        }
        if unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') { number(text, unsigned) } else { Self::Text }
    }
}

fn number(text: &str, unsigned: &str) -> Plain {
    let Some(digits) = without_underscores(unsigned) else { return Plain::Text };
    let is_integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    // Digits of that base alone: a key or a digest that begins with `0b` is a number to nobody.
    let is_based = [('x', 16), ('X', 16), ('o', 8), ('O', 8), ('b', 2), ('B', 2)].iter().any(|(letter, base)| {
        let rest = digits.strip_prefix('0').and_then(|rest| rest.strip_prefix(*letter));
        rest.is_some_and(|digits| !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(*base)))
    });
    if is_based || (is_integer && digits.len() > 1 && digits.starts_with('0')) {
        return Plain::Refused("is read differently by different readers; write a decimal number, or quote it");
    }
    let negative = text.starts_with('-');
    if is_integer {
        return match digits.parse::<u64>().ok().filter(|n| *n <= MAX_INTEGER) {
            Some(n) if negative => Plain::Number((-i64::try_from(n).unwrap_or(i64::MAX)).into()),
            Some(n) => Plain::Number(n.into()),
            None => Plain::Refused("is beyond 2^53 - 1; quote it"),
        };
    }
    if !is_float(&digits) {
        return Plain::Text;
    }
    let float = digits.parse::<f64>().ok().map(|f| if negative { -f } else { f });
    float.and_then(Number::from_f64).map_or(Plain::Refused("is no finite number"), Plain::Number)
}

/// `5_000_000` without its underscores, which stand between digits only.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |i: Option<usize>| i.and_then(|i| bytes.get(i)).is_some_and(u8::is_ascii_digit);
    let well_placed =
        (0..bytes.len()).all(|i| bytes[i] != b'_' || (is_digit(i.checked_sub(1)) && is_digit(Some(i + 1))));
    well_placed.then(|| text.replace('_', ""))
}

/// The core schema's floats, without their sign: `1.5`, `.5`, `1.`, `1e3`.
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(m, e)| (m, Some(e)));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|e| {
        let e = e.strip_prefix(['-', '+']).unwrap_or(e);
        !e.is_empty() && all_digits(e)
    });
    !(whole.is_empty() && fraction.is_empty()) && all_digits(whole) && all_digits(fraction) && exponent_fits
}

/// `16MiB` in bytes.
pub(super) fn size(text: &str) -> Option<u64> {
    quantity(text, &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)])
}

/// `50ms` in milliseconds.
pub(super) fn duration_ms(text: &str) -> Option<u64> {
    quantity(text, &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)])
}

fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (digits, unit) = units.iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))?;
    match Plain::read(digits.trim_end()) {
        Plain::Number(n) if digits.starts_with(|c: char| c.is_ascii_digit()) => {
            n.as_u64()?.checked_mul(*unit).filter(|n| *n <= MAX_INTEGER)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_mean_what_json_can_hold() {
        let int = |n: i64| Plain::Number(n.into());
        let float = |f: f64| Plain::Number(Number::from_f64(f).unwrap());
        for (text, expected) in [
            ("", Plain::Null),
            ("~", Plain::Null),
            ("true", Plain::Bool(true)),
            ("yes", Plain::Text),
            ("no", Plain::Text),
            ("0", int(0)),
            ("5_000_000", int(5_000_000)),
            ("-7", int(-7)),
            ("+7", int(7)),
            ("9007199254740991", int(9_007_199_254_740_991)),
            ("1.5", float(1.5)),
            (".5", float(0.5)),
            ("1e3", float(1000.0)),
            ("-1.", float(-1.0)),
            ("1__0", Plain::Text),
            ("_1", Plain::Text),
            ("1_", Plain::Text),
            ("1.2.3", Plain::Text),
            ("2026-11-30", Plain::Text),
            ("12:30", Plain::Text),
            ("16MiB", Plain::Text),
            (".", Plain::Text),
            ("1e", Plain::Text),
            ("0x", Plain::Text),
            ("0bb47b6ac63196ba155ae49121f9a3169b32f3d2d6140395c44ae0142b5ab0c2", Plain::Text),
            ("0o19", Plain::Text),
            ("./workspace", Plain::Text),
            ("-", Plain::Text),
            ("+-5", Plain::Text),
        ] {
            assert_eq!(Plain::read(text), expected, "{text}");
        }
        for refused in [".nan", "-.inf", "1e400", "0777", "0x1F", "0o17", "00", "9007199254740992", "0b1"] {
            assert!(matches!(Plain::read(refused), Plain::Refused(_)), "{refused}");
        }
    }

    #[test]
    fn sizes_and_durations_have_units() {
        for (text, expected) in [
            ("16MiB", Some(16 << 20)),
            ("1_024KiB", Some(1 << 20)),
            ("2 GiB", Some(2 << 30)),
            ("16MB", None),
            ("MiB", None),
            ("-1MiB", None),
            ("1.5MiB", None),
            ("9007199254740991GiB", None),
        ] {
            assert_eq!(size(text), expected, "{text}");
        }
        for (text, expected) in
            [("50ms", Some(50)), ("30s", Some(30_000)), ("2m", Some(120_000)), ("1h", Some(3_600_000)), ("5", None)]
        {
            assert_eq!(duration_ms(text), expected, "{text}");
        }
    }
}
