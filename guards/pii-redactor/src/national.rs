//! Numbers that states give to persons, where they are digits alone.

use crate::checks::{complement_11, is_date, is_one_digit, luhn, mod_11_10, modulo, two, verhoeff, weighted};
use crate::kind::Kind;

/// A number of so many digits.
pub(crate) struct Rule {
    pub(crate) kind: Kind,
    /// Whether its check digits are right.
    pub(crate) check: fn(&[u8]) -> bool,
    /// What it is known by, if nothing beside it says what it is.
    pub(crate) alone: Alone,
}

/// What a number is known by alone. One that a single check digit proves is none: every tenth number has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Alone {
    /// By its check digits, which one number in some thousands has.
    Proven,
    /// By the way in which it is written, with the check digits: `0` is any digit.
    Written(&'static [&'static str]),
    /// Not at all.
    Never,
}

const fn rule(kind: Kind, check: fn(&[u8]) -> bool, alone: Alone) -> Rule {
    Rule { kind, check, alone }
}

/// The numbers that have so many digits.
pub(crate) fn rules(digits: usize) -> &'static [Rule] {
    const EIGHT: [Rule; 1] = [rule(Kind::ClRut, chilean, Alone::Written(&["0.000.000-0"]))];
    const NINE: [Rule; 8] = [
        rule(Kind::UsSsn, social_security, Alone::Written(&["000-00-0000"])),
        rule(Kind::UsItin, itin, Alone::Written(&["000-00-0000"])),
        rule(Kind::ClRut, chilean, Alone::Written(&["00.000.000-0"])),
        rule(Kind::CaSin, luhn, Alone::Never),
        rule(Kind::NlBsn, dutch, Alone::Never),
        rule(Kind::AuTfn, australian, Alone::Never),
        rule(Kind::PtNif, portuguese, Alone::Never),
        rule(Kind::IlIdentity, luhn, Alone::Never),
    ];
    const TEN: [Rule; 2] = [
        rule(Kind::GbNhs, health_service, Alone::Never),
        // Written with its dash, it is a day and a time as often.
        rule(Kind::SePersonal, swedish, Alone::Never),
    ];
    const ELEVEN: [Rule; 7] = [
        rule(Kind::BrCpf, cpf, Alone::Written(&["000.000.000-00"])),
        rule(Kind::ArCuit, cuit, Alone::Written(&["00-00000000-0"])),
        rule(Kind::BeNational, belgian, Alone::Written(&["00.00.00-000.00"])),
        rule(Kind::NoBirth, norwegian, Alone::Written(&["000000 00000"])),
        rule(Kind::DeTax, german, Alone::Never),
        rule(Kind::PlPesel, pesel, Alone::Never),
        rule(Kind::TrIdentity, turkish, Alone::Never),
    ];
    const TWELVE: [Rule; 3] = [
        rule(Kind::InAadhaar, aadhaar, Alone::Never),
        rule(Kind::JpMyNumber, my_number, Alone::Never),
        rule(Kind::SePersonal, swedish_century, Alone::Never),
    ];
    const THIRTEEN: [Rule; 3] = [
        rule(Kind::ChAhv, swiss, Alone::Proven),
        rule(Kind::KrResident, korean, Alone::Written(&["000000-0000000"])),
        rule(Kind::ZaIdentity, south_african, Alone::Never),
    ];
    const FOURTEEN: [Rule; 1] = [rule(Kind::BrCnpj, cnpj, Alone::Never)];
    const FIFTEEN: [Rule; 1] = [rule(Kind::FrNir, french, Alone::Proven)];
    const EIGHTEEN: [Rule; 1] = [rule(Kind::CnResident, chinese, Alone::Proven)];
    match digits {
        8 => &EIGHT,
        9 => &NINE,
        10 => &TEN,
        11 => &ELEVEN,
        12 => &TWELVE,
        13 => &THIRTEEN,
        14 => &FOURTEEN,
        15 => &FIFTEEN,
        18 => &EIGHTEEN,
        _ => &[],
    }
}

/// Whether a text is written as a form says.
pub(crate) fn is_written(text: &str, form: &str) -> bool {
    let fits = |(byte, form): (u8, u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
}

fn last(digits: &[u8]) -> u32 {
    digits.last().copied().map_or(u32::MAX, u32::from)
}

fn number(digits: &[u8], from: usize, to: usize) -> u32 {
    digits.get(from..to).unwrap_or_default().iter().fold(0, |number, digit| number * 10 + u32::from(*digit))
}

/// No check digit: areas, groups and serials that are never given, and two numbers that were printed in advertisements.
fn social_security(digits: &[u8]) -> bool {
    let (area, group, serial) = (number(digits, 0, 3), number(digits, 3, 5), number(digits, 5, 9));
    let is_printed = matches!((area, group, serial), (78, 5, 1120) | (219, 9, 9999));
    (1..900).contains(&area) && area != 666 && group != 0 && serial != 0 && !is_printed && !is_one_digit(digits)
}

fn itin(digits: &[u8]) -> bool {
    let group = number(digits, 3, 5);
    digits.first() == Some(&9) && matches!(group, 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

/// The digits are seven or eight, and one to check them, in which 10 is a `K`.
pub(crate) fn chilean(digits: &[u8]) -> bool {
    let Some((check, body)) = digits.split_last() else { return false };
    rut(body) == u32::from(*check) && !is_one_digit(digits)
}

/// The check of a Chilean number, where 10 is a `K`.
pub(crate) fn rut(body: &[u8]) -> u32 {
    let sum = body.iter().rev().zip([2, 3, 4, 5, 6, 7, 2, 3]).map(|(digit, weight)| u32::from(*digit) * weight).sum();
    complement_11(sum, 10)
}

fn dutch(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[9, 8, 7, 6, 5, 4, 3, 2]);
    sum % 11 == last(digits) && !is_one_digit(digits)
}

fn australian(digits: &[u8]) -> bool {
    weighted(digits, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11) && !is_one_digit(digits)
}

fn portuguese(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[9, 8, 7, 6, 5, 4, 3, 2]);
    matches!(digits.first(), Some(1..=3 | 5 | 6 | 8 | 9)) && complement_11(sum, 0) == last(digits)
}

fn health_service(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]);
    complement_11(sum, 10) == last(digits) && !is_one_digit(digits)
}

/// A day of birth, to which 60 is added for who is no resident.
fn swedish(digits: &[u8]) -> bool {
    let day = two(digits, 4);
    is_date(two(digits, 2), if day > 60 { day - 60 } else { day }) && luhn(digits)
}

fn swedish_century(digits: &[u8]) -> bool {
    matches!(two(digits, 0), 18..=20) && digits.get(2..).is_some_and(swedish)
}

fn cpf(digits: &[u8]) -> bool {
    let first = complement_11(weighted(digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]), 0);
    let second = complement_11(weighted(digits, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2]), 0);
    first * 10 + second == two(digits, 9) && !is_one_digit(digits)
}

fn cnpj(digits: &[u8]) -> bool {
    brazilian_company(digits) && !is_one_digit(digits)
}

/// By the values of its characters, which since 2026 may be letters, but the last two.
pub(crate) fn brazilian_company(values: &[u8]) -> bool {
    const WEIGHTS: [u32; 13] = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
    let first = complement_11(weighted(values, &WEIGHTS[1..]), 0);
    let second = complement_11(weighted(values, &WEIGHTS), 0);
    values.len() == 14 && first * 10 + second == two(values, 12)
}

fn cuit(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    matches!(two(digits, 0), 20 | 23..=27 | 30 | 33 | 34) && complement_11(sum, 9) == last(digits)
}

/// A day of birth, whose month may say more by 20 or 40, and a check that knows two centuries.
fn belgian(digits: &[u8]) -> bool {
    let month = two(digits, 2) % 20;
    let is_day = month == 0 || is_date(month, two(digits, 4).max(1));
    let check = u64::from(two(digits, 9));
    let body = digits.get(..9).unwrap_or_default();
    let rest = |century: u64| 97 - (modulo(body, 97) + century * 1_000_000_000) % 97;
    is_day && month <= 12 && (check == rest(0) || check == rest(2))
}

/// A day of birth, to which 40 is added for who is no resident, and two check digits.
fn norwegian(digits: &[u8]) -> bool {
    let (day, month) = (two(digits, 0), two(digits, 2));
    let is_day = is_date(if month > 40 { month - 40 } else { month }, if day > 40 { day - 40 } else { day });
    let first = complement_11(weighted(digits, &[3, 7, 6, 1, 8, 9, 4, 5, 2]), 10);
    let second = complement_11(weighted(digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]), 10);
    is_day && first < 10 && second < 10 && first * 10 + second == two(digits, 9)
}

/// Of its first ten digits one stands there twice or three times, and no other more than once.
fn german(digits: &[u8]) -> bool {
    let mut counts = [0_u8; 10];
    for digit in digits.iter().take(10) {
        if let Some(count) = counts.get_mut(usize::from(*digit)) {
            *count += 1;
        }
    }
    let repeated = counts.iter().filter(|count| **count > 1).count();
    let most = counts.iter().max().copied().unwrap_or_default();
    digits.first() != Some(&0) && repeated == 1 && most <= 3 && mod_11_10(digits)
}

/// A day of birth, whose month says the century by twenties, and a check digit.
fn pesel(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
    is_date(two(digits, 2) % 20, two(digits, 4)) && (10 - sum % 10) % 10 == last(digits)
}

fn turkish(digits: &[u8]) -> bool {
    let odd = weighted(digits, &[1, 0, 1, 0, 1, 0, 1, 0, 1]);
    let even = weighted(digits, &[0, 1, 0, 1, 0, 1, 0, 1]);
    let tenth = (odd * 7 + even * 9) % 10;
    digits.first() != Some(&0) && tenth * 10 + (odd + even + tenth) % 10 == two(digits, 9)
}

fn aadhaar(digits: &[u8]) -> bool {
    matches!(digits.first(), Some(2..=9)) && verhoeff(digits) && !is_one_digit(digits)
}

fn my_number(digits: &[u8]) -> bool {
    let rest = weighted(digits, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    (if rest <= 1 { 0 } else { 11 - rest }) == last(digits) && !is_one_digit(digits)
}

/// The country's number in front, which no article's number has, and the check digit of articles.
fn swiss(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]);
    number(digits, 0, 3) == 756 && (10 - sum % 10) % 10 == last(digits)
}

/// A day of birth, a digit for sex and century, and a check digit, which numbers given since 2020 need not have.
fn korean(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]);
    is_date(two(digits, 2), two(digits, 4)) && (11 - sum % 11) % 10 == last(digits)
}

fn south_african(digits: &[u8]) -> bool {
    is_date(two(digits, 2), two(digits, 4)) && matches!(digits.get(10), Some(0..=2)) && luhn(digits)
}

/// Sex, year and month, a department, and a check by 97.
fn french(digits: &[u8]) -> bool {
    let is_born = matches!(digits.first(), Some(1 | 2)) && (1..=12).contains(&two(digits, 3)) && two(digits, 5) != 0;
    let rest = modulo(digits.get(..13).unwrap_or_default(), 97);
    is_born && 97 - rest == u64::from(two(digits, 13))
}

/// A province, a day of birth, and a check in which 10 is an `X`.
fn chinese(digits: &[u8]) -> bool {
    digits.split_last().is_some_and(|(check, body)| resident(body) == Some(u32::from(*check)))
}

/// The check of a Chinese number, where 10 is an `X`; none where the number has no place or no day of birth.
pub(crate) fn resident(body: &[u8]) -> Option<u32> {
    let province = two(body, 0);
    let is_placed = matches!(province, 11..=15 | 21..=23 | 31..=37 | 41..=46 | 50..=54 | 61..=65 | 71 | 81..=83);
    let is_born = matches!(number(body, 6, 10), 1850..=2099) && is_date(two(body, 10), two(body, 12));
    let sum = weighted(body, &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
    (is_placed && is_born).then_some((12 - sum % 11) % 11)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<&'static str> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
        rules(digits.len()).iter().filter(|rule| (rule.check)(&digits)).map(|rule| rule.kind.name()).collect()
    }

    /// Numbers that authorities or textbooks print as examples.
    const EXAMPLES: [(&str, &str); 28] = [
        ("us-ssn", "123-45-6789"),
        ("us-itin", "912-70-1234"),
        ("ca-sin", "046 454 286"),
        ("br-cpf", "529.982.247-25"),
        ("br-cnpj", "11.222.333/0001-81"),
        ("ar-cuit", "20-12345678-6"),
        ("cl-rut", "12.345.678-5"),
        ("gb-nhs-number", "943 476 5919"),
        ("pt-nif", "501964843"),
        ("fr-nir", "2 55 08 14 168 025 38"),
        ("nl-bsn", "111222333"),
        ("de-tax-id", "86095742719"),
        ("de-tax-id", "36574261809"),
        ("be-national-number", "85.07.30-033.28"),
        ("ch-ahv", "756.9217.0769.85"),
        ("pl-pesel", "44051401359"),
        ("se-personnummer", "811228-9874"),
        ("se-personnummer", "19811228-9874"),
        ("no-fodselsnummer", "151086 95088"),
        ("tr-kimlik", "10000000146"),
        ("il-zehut", "039337423"),
        ("za-id", "7503305044089"),
        ("in-aadhaar", "2341 2341 2346"),
        ("cn-resident-id", "360426199101010071"),
        ("jp-my-number", "123456789018"),
        ("kr-resident-number", "971013-9019902"),
        ("au-tfn", "123 456 782"),
        ("be-national-number", "17.07.30-033.84"),
    ];

    #[test]
    fn examples_pass_their_own_check() {
        for (kind, text) in EXAMPLES {
            assert!(kinds(text).contains(&kind), "{kind} {text}: {:?}", kinds(text));
        }
    }

    #[test]
    fn a_wrong_last_digit_fails() {
        for (kind, text) in EXAMPLES.iter().filter(|(kind, _)| !kind.starts_with("us-")) {
            let (body, last) = text.split_at(text.len() - 1);
            let other = (last.parse::<u8>().unwrap() + 1) % 10;
            let wrong = format!("{body}{other}");
            assert!(!kinds(&wrong).contains(kind), "{kind} {wrong}");
        }
    }

    #[test]
    fn areas_that_are_never_given_are_no_social_security() {
        for text in
            ["000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123-45-0000", "078-05-1120", "111-11-1111"]
        {
            assert!(!kinds(text).contains(&"us-ssn"), "{text}");
        }
    }

    #[test]
    fn forms_are_exact() {
        assert!(is_written("123-45-6789", "000-00-0000"));
        assert!(!is_written("123-45-678", "000-00-0000") && !is_written("123 45 6789", "000-00-0000"));
    }
}
