//! Payment cards: an issuer's prefix, its lengths, and Luhn's digit.

use crate::checks::{is_one_digit, luhn};

/// How much says that a number is a card's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Card {
    /// Its prefix and length are those of cards that are everywhere.
    Usual,
    /// Other numbers have the same length so often that something beside it has to say what it is.
    Rare,
}

/// Whether the digits are a card's.
pub(crate) fn card(digits: &[u8]) -> Option<Card> {
    let (issuer, lengths, usual) = issuer(digits)?;
    let length = digits.len();
    let is_usual = issuer == Card::Usual && usual == length;
    (lengths.contains(&length) && luhn(digits) && !is_one_digit(digits)).then_some(if is_usual {
        Card::Usual
    } else {
        Card::Rare
    })
}

/// How known the prefix is, which lengths its cards have, and which length is the usual one.
fn issuer(digits: &[u8]) -> Option<(Card, std::ops::RangeInclusive<usize>, usize)> {
    let prefix = digits.get(..4)?.iter().fold(0_u32, |prefix, digit| prefix * 10 + u32::from(*digit));
    Some(match prefix {
        4000..=4999 => (Card::Usual, 13..=19, 16),
        2221..=2720 | 5100..=5599 => (Card::Usual, 16..=16, 16),
        3400..=3499 | 3700..=3799 => (Card::Usual, 15..=15, 15),
        2200..=2204 | 3528..=3589 | 6011 | 6200..=6299 | 6440..=6599 => (Card::Usual, 16..=19, 16),
        3000..=3059 | 3095 | 3600..=3699 | 3800..=3999 => (Card::Rare, 14..=19, 14),
        5000..=5099 | 5600..=6999 | 8100..=8299 => (Card::Rare, 13..=19, 16),
        9792 => (Card::Rare, 16..=16, 16),
        _ => return None,
    })
}

/// Whether the digits may be the first ones of a usual card.
pub(crate) fn may_begin(digits: &[u8]) -> bool {
    matches!(issuer(digits), Some((Card::Usual, lengths, _)) if digits.len() < *lengths.end())
}

/// Whether digits are grouped as they are printed on cards, or, where the card is a usual one, by a rule that only hides
/// them.
pub(crate) fn is_grouped(card: Card, mut lengths: impl Iterator<Item = usize> + Clone) -> bool {
    const PRINTED: [&[usize]; 8] =
        [&[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[4, 4, 4, 3], &[4, 4, 4, 2], &[4, 4, 4, 4, 3], &[8, 8], &[6, 13]];
    PRINTED.iter().any(|printed| printed.iter().copied().eq(lengths.clone()))
        || card == Card::Usual && (lengths.clone().all(|length| length == 1) || lengths.all(|length| length == 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: &str) -> Option<Card> {
        card(&number.bytes().map(|byte| byte - b'0').collect::<Vec<_>>())
    }

    #[test]
    fn a_card_has_prefix_length_and_digit() {
        // Numbers that payment services publish for tests.
        for number in [
            "4111111111111111",
            "4012888888881881",
            "5555555555554444",
            "5105105105105100",
            "2223003122003222",
            "378282246310005",
            "371449635398431",
            "6011111111111117",
            "3530111333300000",
            "6200000000000005",
        ] {
            assert_eq!(of(number), Some(Card::Usual), "{number}");
        }
        for number in ["4222222222222", "30569309025904", "38520000023237", "6759649826438453"] {
            assert_eq!(of(number), Some(Card::Rare), "{number}");
        }
        for number in
            ["4111111111111112", "411111111111111", "1111111111111117", "0000000000000000", "9999999999999995"]
        {
            assert_eq!(of(number), None, "{number}");
        }
    }
}
