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

const SINGLE_OF_15: u64 = 0x0111_1111_1111_1111;
const SINGLE_OF_16: u64 = 0x1111_1111_1111_1111;
const PAIRS: u64 = 0x2222_2222;

/// Whether the digits of cards are grouped like this, four bits a group: as they are printed, or by a rule that only hides
/// them.
pub(crate) const fn is_form(form: u64) -> bool {
    matches!(
        form,
        0x4444 | 0x465 | 0x464 | 0x4443 | 0x4442 | 0x4_4443 | 0x88 | 0x6d | SINGLE_OF_15 | SINGLE_OF_16 | PAIRS
    )
}

/// Whether the digits of a card are grouped like this. Of a rare one, nobody hides them.
pub(crate) fn is_grouped(card: Card, form: u64) -> bool {
    is_form(form) && (card == Card::Usual || !matches!(form, SINGLE_OF_15 | SINGLE_OF_16 | PAIRS))
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
