//! Takes a secret out of what a server answers. What is found is overwritten with stars, so lengths stay what headers say.

use zeroize::Zeroizing;

use super::needles;
use super::secret::Value;

/// How much of a secret's beginning tells something, in bytes.
const TELLING: usize = 4;

/// Looks for secrets in a stream of chunks, however they are cut.
pub(super) struct Scrubber {
    /// The longest first.
    needles: Vec<Value>,
    /// Whether a needle begins with this byte.
    first: [bool; 256],
    /// The end of what was seen, as far as it may be the beginning of a needle.
    held: Value,
}

/// What stands at a place.
enum Found {
    Nothing,
    /// A needle of this length.
    Needle(usize),
    /// As far as there are bytes, a needle; whether it is one, the next will say.
    Perhaps,
}

impl Scrubber {
    /// For the values of all secrets that a request carried.
    pub(super) fn new(values: &[Value]) -> Self {
        let mut needles: Vec<Value> = values.iter().flat_map(needles::of).collect();
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
        let mut first = [false; 256];
        for byte in needles.iter().filter_map(|needle| needle.first()) {
            first[usize::from(*byte)] = true;
        }
        Self { needles, first, held: Zeroizing::new(Vec::new()) }
    }

    /// The next chunk, clean; its end may be held back.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        let mut seen = std::mem::replace(&mut self.held, Zeroizing::new(Vec::new()));
        seen.extend_from_slice(chunk);
        let mut clean = Vec::with_capacity(seen.len());
        let mut at = 0;
        while let Some(byte) = seen.get(at) {
            match self.find(&seen[at..]) {
                Found::Needle(length) => {
                    clean.resize(clean.len() + length, b'*');
                    at += length;
                }
                Found::Perhaps => break,
                Found::Nothing => {
                    clean.push(*byte);
                    at += 1;
                }
            }
        }
        self.held = Zeroizing::new(seen[at..].to_vec());
        clean
    }

    /// What was held back, now that nothing follows. The beginning of a secret is part of it: it does not leave either.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::replace(&mut self.held, Zeroizing::new(Vec::new()));
        if held.len() >= TELLING { vec![b'*'; held.len()] } else { held.to_vec() }
    }

    /// A text that is whole; `None` where there is nothing to take out.
    pub(super) fn whole(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut clean = text.to_vec();
        let mut at = 0;
        while at < text.len() {
            let needle = self.needles.iter().find(|needle| text[at..].starts_with(needle));
            let length = needle.map_or(0, |needle| needle.len());
            clean[at..at + length].fill(b'*');
            at += length.max(1);
        }
        (clean != text).then_some(clean)
    }

    /// Whether a header's name, which is in lower case, gives a secret away.
    pub(super) fn is_in_name(&self, name: &str) -> bool {
        self.needles.iter().any(|needle| {
            let needle = Zeroizing::new(needle.to_ascii_lowercase());
            name.as_bytes().windows(needle.len()).any(|window| window == needle.as_slice())
        })
    }

    fn find(&self, rest: &[u8]) -> Found {
        if !self.first[usize::from(rest[0])] {
            return Found::Nothing;
        }
        // The longest first: one that is not there in full may still come, and then it is the one that counts.
        for needle in &self.needles {
            if rest.starts_with(needle) {
                return Found::Needle(needle.len());
            }
            if needle.starts_with(rest) {
                return Found::Perhaps;
            }
        }
        Found::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubber(values: &[&str]) -> Scrubber {
        Scrubber::new(&values.iter().map(|value| Zeroizing::new(value.as_bytes().to_vec())).collect::<Vec<_>>())
    }

    fn run(values: &[&str], chunks: &[&[u8]]) -> String {
        let mut scrubber = scrubber(values);
        let mut clean = Vec::new();
        for chunk in chunks {
            clean.extend(scrubber.push(chunk));
        }
        clean.extend(scrubber.finish());
        String::from_utf8(clean).unwrap()
    }

    #[test]
    fn a_secret_is_found_however_a_body_is_cut() {
        let (value, body) = ("sesame-1234", "<sesame-1234> sesame sesame-123 sesame-1234sesame-1234!");
        let expected = "<***********> sesame sesame-123 **********************!";
        let body = body.as_bytes();
        for first in 0..=body.len() {
            for second in first..=body.len() {
                let chunks = [&body[..first], &body[first..second], &body[second..]];
                assert_eq!(run(&[value], &chunks), expected, "{first} {second}");
            }
        }
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(run(&[value], &bytes), expected);
    }

    #[test]
    fn the_longer_of_two_secrets_wins_across_a_border() {
        let values = ["sesame-12", "sesame-1234"];
        assert_eq!(run(&values, &[b"sesame-12", b"34 sesame-12", b" "]), "*********** ********* ");
    }

    #[test]
    fn the_beginning_of_a_secret_at_the_end_stays_here() {
        assert_eq!(run(&["sesame-1234"], &[b"x sesame-12"]), "x *********");
        assert_eq!(run(&["sesame-1234"], &[b"x ses"]), "x ses");
    }

    #[test]
    fn headers_are_looked_at_whole() {
        let scrubber = scrubber(&["Sesame-1234"]);
        assert_eq!(scrubber.whole(b"Bearer Sesame-1234").unwrap(), b"Bearer ***********");
        assert!(scrubber.whole(b"harmless").is_none());
        assert!(scrubber.is_in_name("x-sesame-1234-y"));
        assert!(!scrubber.is_in_name("x-sesame"));
    }
}
