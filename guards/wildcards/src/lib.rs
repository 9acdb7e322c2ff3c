//! Names with `*` and `?`, and pairs of them that stand for a server's tools.
//!
//! A library, not a guard. A `*` stands for any number of characters and a `?` for one; everything else stands for
//! itself, and the whole name has to match.

mod tool;

pub use tool::ToolPattern;

/// Whether the whole `text` matches `glob`, in time linear in each for every `*`.
#[must_use]
pub fn wildcard(glob: &str, text: &str) -> bool {
    let (glob, text) = (glob.as_bytes(), text.as_bytes());
    let (mut g, mut t) = (0, 0);
    // After the last `*`, and where the text begins that it has not taken.
    let mut retry = None;
    while t < text.len() {
        match glob.get(g) {
            Some(b'*') => {
                g += 1;
                retry = Some((g, t));
            }
            Some(b'?') => {
                g += 1;
                t += char_bytes(text[t]);
            }
            Some(byte) if *byte == text[t] => {
                g += 1;
                t += 1;
            }
            _ => {
                // The last `*` takes one character more.
                let Some((star, taken)) = retry else { return false };
                (g, t) = (star, taken + char_bytes(text[taken]));
                retry = Some((g, t));
            }
        }
    }
    glob[g..].iter().all(|byte| *byte == b'*')
}

/// How long a character is that begins with this byte of UTF-8.
fn char_bytes(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by trying everything.
    fn wildcard_by_trial(glob: &[char], text: &[char]) -> bool {
        match (glob, text) {
            ([], []) => true,
            (['*', glob @ ..], text) => (0..=text.len()).any(|taken| wildcard_by_trial(glob, &text[taken..])),
            ([own, glob @ ..], [c, text @ ..]) => (*own == '?' || own == c) && wildcard_by_trial(glob, text),
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn a_wildcard_matches_what_trial_finds(glob in "[ab*?é]{0,8}", text in "[abé*]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(wildcard(&glob, &text), wildcard_by_trial(&chars(&glob), &chars(&text)));
        }
    }

    #[test]
    fn wildcards() {
        for (glob, text) in
            [("*.pem", "a.pem"), ("id_?sa", "id_rsa"), ("*", ""), ("a*b*c", "a12b3bc"), (".env.*", ".env.x.y")]
        {
            assert!(wildcard(glob, text), "{glob} {text}");
        }
        for (glob, text) in [("*.pem", "a.pem.txt"), ("id_?sa", "id_sa"), ("a*b", "acbd"), ("", "a")] {
            assert!(!wildcard(glob, text), "{glob} {text}");
        }
    }
}
