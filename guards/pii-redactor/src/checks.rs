//! The arithmetic of check digits. Each takes digits by their value, as many as its number has.

/// ISO/IEC 7812: every second digit twice, from the right.
pub(crate) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let value = u32::from(*digit) << (place % 2);
            if value > 9 { value - 9 } else { value }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// The sum of the digits, each times its weight.
pub(crate) fn weighted(digits: &[u8], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| u32::from(*digit) * weight).sum()
}

/// The digits as a number, by a divisor.
pub(crate) fn modulo(digits: &[u8], divisor: u64) -> u64 {
    digits.iter().fold(0, |rest, digit| (rest * 10 + u64::from(*digit)) % divisor)
}

/// Verhoeff: permutations and multiplications of the symmetries of a pentagon.
pub(crate) fn verhoeff(digits: &[u8]) -> bool {
    const ONCE: [u8; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let mut sum = 0;
    for (place, digit) in digits.iter().rev().enumerate() {
        let permuted = (0..place % 8).fold(*digit, |digit, _| ONCE[usize::from(digit % 10)]);
        sum = product(sum, permuted);
    }
    sum == 0
}

/// In the group of ten symmetries, where 0 to 4 turn and 5 to 9 turn and mirror.
fn product(a: u8, b: u8) -> u8 {
    match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => 5 + (a + b - 5) % 5,
        (false, true) => 5 + (a - b) % 5,
        (false, false) => (a + 5 - b) % 5,
    }
}

/// ISO/IEC 7064, modulo 11 and 10.
pub(crate) fn mod_11_10(digits: &[u8]) -> bool {
    let Some((last, others)) = digits.split_last() else { return false };
    let product = others.iter().fold(10, |product, digit| {
        let sum = (u32::from(*digit) + product) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (11 - product) % 10 == u32::from(*last)
}

/// ISO/IEC 7064, modulo 97, over letters and digits, the letters from 10 on.
pub(crate) fn mod_97(characters: impl Iterator<Item = u8>) -> bool {
    let mut rest = 0_u32;
    for byte in characters {
        rest = match byte {
            b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
            b'A'..=b'Z' => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
            _ => return false,
        };
    }
    rest == 1
}

/// The check digit by modulo 11 whose complement is taken, where 10 and 11 come to `ten` and 0.
pub(crate) fn complement_11(sum: u32, ten: u32) -> u32 {
    match 11 - sum % 11 {
        11 => 0,
        10 => ten,
        digit => digit,
    }
}

/// Whether a month and a day are some year's.
pub(crate) fn is_date(month: u32, day: u32) -> bool {
    let days = match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Two digits as a number.
pub(crate) fn two(digits: &[u8], at: usize) -> u32 {
    match digits.get(at..at + 2) {
        Some([tens, ones]) => u32::from(*tens) * 10 + u32::from(*ones),
        _ => 0,
    }
}

/// Whether a digit stands for all of them: a placeholder.
pub(crate) fn is_one_digit(digits: &[u8]) -> bool {
    digits.iter().all(|digit| Some(digit) == digits.first())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(text: &str) -> Vec<u8> {
        text.bytes().map(|byte| byte - b'0').collect()
    }

    #[test]
    fn every_single_wrong_digit_is_seen() {
        type Check = fn(&[u8]) -> bool;
        let cases: [(&str, Check); 4] = [
            ("4111111111111111", luhn),
            ("234123412346", verhoeff),
            ("86095742719", mod_11_10),
            ("3214282912345698765432161182", |digits| mod_97(digits.iter().map(|digit| digit + b'0'))),
        ];
        for (right, check) in cases {
            let right = digits(right);
            assert!(check(&right), "{right:?}");
            for place in 0..right.len() {
                for digit in 0..10 {
                    let mut wrong = right.clone();
                    wrong[place] = digit;
                    assert_eq!(check(&wrong), wrong == right, "{wrong:?}");
                }
            }
        }
    }

    #[test]
    fn verhoeff_sees_digits_that_changed_places() {
        let right = digits("234123412346");
        for place in 1..right.len() {
            let mut wrong = right.clone();
            wrong.swap(place - 1, place);
            assert_eq!(verhoeff(&wrong), wrong == right, "{wrong:?}");
        }
    }
}
