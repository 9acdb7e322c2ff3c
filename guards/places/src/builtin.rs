//! The built-in places, and how they are found.
//!
//! They are data, made when the guard is compiled: every call has a fresh instance, so whatever had to be built for them
//! would be built for every call.

use std::borrow::Cow;

use wildcards::wildcard;

use crate::candidates::GLUE;
use crate::list::{ENVIRONMENT, ENVIRONMENT_EXAMPLES, PLACES, PUBLIC_HALVES, SSH_KEYS};
use crate::pattern::{may_match_steps, steps_match, telling_chars};

/// The most names of a pattern.
const MAX_STEPS: usize = 5;

/// A pattern, cut into its names.
#[derive(Clone, Copy, Debug)]
struct Steps {
    names: [&'static str; MAX_STEPS],
    count: usize,
}

impl Steps {
    const NONE: Self = Self { names: [""; MAX_STEPS], count: 0 };

    const fn of(pattern: &'static str) -> Self {
        let mut steps = Self::NONE;
        let mut rest = pattern;
        let mut at = 0;
        while at < rest.len() {
            if rest.as_bytes()[at] == b'/' {
                let (name, after) = rest.split_at(at);
                steps = steps.with(name);
                rest = after.split_at(1).1;
                at = 0;
            } else {
                at += 1;
            }
        }
        steps.with(rest)
    }

    const fn with(mut self, name: &'static str) -> Self {
        self.names[self.count] = name;
        self.count += 1;
        self
    }

    fn names(&self) -> &[&'static str] {
        &self.names[..self.count]
    }
}

/// A rule: what it matches, what it leaves out again, and what to tell the caller.
#[derive(Clone, Copy, Debug)]
struct Rule {
    steps: Steps,
    /// Patterns of one name.
    except: &'static [&'static str],
    what: &'static str,
}

impl Rule {
    fn leaves_out(&self, first: &str) -> bool {
        self.except.iter().any(|pattern| wildcard(pattern, first))
    }
}

const COUNT: usize = {
    let mut count = SSH_KEYS.len() + ENVIRONMENT.len();
    let mut place = 0;
    while place < PLACES.len() {
        count += PLACES[place].1.len();
        place += 1;
    }
    count
};

/// In the order in which they are asked.
static RULES: [Rule; COUNT] = {
    let mut rules = [Rule { steps: Steps::NONE, except: &[], what: "" }; COUNT];
    let mut filled = 0;
    let mut place = 0;
    while place < PLACES.len() {
        let (what, patterns) = PLACES[place];
        filled = fill(&mut rules, filled, patterns, &[], what);
        place += 1;
    }
    filled = fill(&mut rules, filled, SSH_KEYS, PUBLIC_HALVES, "SSH keys");
    filled = fill(&mut rules, filled, ENVIRONMENT, ENVIRONMENT_EXAMPLES, "environment secrets");
    assert!(filled == COUNT, "every rule is filled");
    rules
};

const fn fill(
    rules: &mut [Rule; COUNT],
    mut at: usize,
    patterns: &'static [&'static str],
    except: &'static [&'static str],
    what: &'static str,
) -> usize {
    let mut index = 0;
    while index < patterns.len() {
        rules[at] = Rule { steps: Steps::of(patterns[index]), except, what };
        at += 1;
        index += 1;
    }
    at
}

/// Which rules, a bit each.
#[derive(Clone, Copy)]
struct RuleSet([u64; COUNT.div_ceil(64)]);

impl RuleSet {
    const NONE: Self = Self([0; COUNT.div_ceil(64)]);
    const ALL: Self = {
        let mut all = Self::NONE;
        let mut rule = 0;
        while rule < COUNT {
            all.insert(rule);
            rule += 1;
        }
        all
    };

    const fn insert(&mut self, rule: usize) {
        self.0[rule / 64] |= 1 << (rule % 64);
    }
}

/// The bits that are set, from the lowest.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros() as usize);
        self.0 &= self.0.wrapping_sub(1);
        bit
    }
}

/// The rules whose first step may match a name, by bytes of the name. All bytes beyond ASCII are one, and so is none.
struct Index {
    first: [RuleSet; 129],
    second_last: [RuleSet; 129],
    last: [RuleSet; 129],
}

static INDEX: Index = {
    let mut index =
        Index { first: [RuleSet::NONE; 129], second_last: [RuleSet::NONE; 129], last: [RuleSet::NONE; 129] };
    let mut rule = 0;
    while rule < COUNT {
        let step = RULES[rule].steps.names[0].as_bytes();
        let last = step[step.len() - 1];
        insert(&mut index.first, step[0], rule);
        insert(&mut index.second_last, if last == b'*' { b'*' } else { step[step.len() - 2] }, rule);
        insert(&mut index.last, last, rule);
        rule += 1;
    }
    index
};

/// A step with a wildcard somewhere may match whatever a name has there.
const fn insert(sets: &mut [RuleSet; 129], byte: u8, rule: usize) {
    assert!(byte.is_ascii(), "the built-in patterns are ASCII");
    let any = matches!(byte, b'*' | b'?');
    let mut at = 0;
    while at < sets.len() {
        if any || at == byte as usize {
            sets[at].insert(rule);
        }
        at += 1;
    }
}

/// The bytes of a name that the index knows it by; `None` is any byte.
#[derive(Clone, Copy)]
struct Ends {
    first: Option<u8>,
    second_last: Option<u8>,
    last: Option<u8>,
}

impl Ends {
    /// What stands for no byte, and for all beyond ASCII.
    const OTHER: u8 = 128;

    /// Of a name as it is.
    fn of(name: &str) -> Self {
        let byte = |byte: Option<u8>| Some(byte.unwrap_or(Self::OTHER));
        let mut from_end = name.bytes().rev();
        let (last, second_last) = (byte(from_end.next()), byte(from_end.next()));
        Self { first: byte(name.bytes().next()), second_last, last }
    }

    /// Of what a name may become once its wildcards are expanded.
    fn of_expanded(name: &str) -> Self {
        let own = Self::of(name);
        let literal = |byte: &u8| !matches!(byte, b'*' | b'?' | b'[' | b']');
        // What comes after a bracket that is not closed says nothing.
        let last = own.last.filter(literal).filter(|_| !name.contains('['));
        let second_last = own.second_last.filter(literal).filter(|_| last.is_some());
        Self { first: own.first.filter(literal), second_last, last }
    }

    /// The rules that may match, in their order.
    fn rules(self) -> impl Iterator<Item = &'static Rule> {
        self.sets().enumerate().flat_map(|(word, set)| Bits(set).map(move |bit| &RULES[word * 64 + bit]))
    }

    fn sets(self) -> impl Iterator<Item = u64> {
        let set = |sets: &'static [RuleSet; 129], byte: Option<u8>| {
            byte.map_or(const { &RuleSet::ALL }, |byte| &sets[usize::from(byte.min(Self::OTHER))])
        };
        let first = set(&INDEX.first, self.first);
        let second_last = set(&INDEX.second_last, self.second_last);
        let last = set(&INDEX.last, self.last);
        (0..first.0.len()).map(move |word| first.0[word] & second_last.0[word] & last.0[word])
    }
}

/// What a byte is to somebody who only glances at a text.
#[derive(Clone, Copy, PartialEq)]
enum Glance {
    /// A part of a name, as it is.
    Name,
    /// A part of a name, or what ends a path.
    Glue,
    Slash,
    /// It may be decoded, expanded or dropped: a glance is not enough.
    Unclear,
}

static GLANCES: [Glance; 256] = {
    let mut glances = [Glance::Unclear; 256];
    let mut at = 0;
    while at < GLUE.len() {
        glances[GLUE[at] as usize] = Glance::Glue;
        at += 1;
    }
    let mut byte = b'!';
    while byte <= b'~' {
        match byte {
            b'/' | b'\\' => glances[byte as usize] = Glance::Slash,
            b'%' | b'*' | b'?' | b'[' | b']' => glances[byte as usize] = Glance::Unclear,
            _ if matches!(glances[byte as usize], Glance::Unclear) => glances[byte as usize] = Glance::Name,
            _ => {}
        }
        byte += 1;
    }
    glances
};

/// Whether it is certain at a glance that a text names no built-in place, however it is read, as a whole or in parts:
/// most texts do not, and this takes no memory.
pub(crate) fn names_none(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut name, mut part) = (0, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match GLANCES[usize::from(*byte)] {
            Glance::Name => {}
            Glance::Glue => {
                if !is_no_place(&bytes[part..at]) {
                    return false;
                }
                part = at + 1;
            }
            Glance::Slash => {
                if !is_no_place(&bytes[part..at]) || (name < part && !is_no_place(&bytes[name..at])) {
                    return false;
                }
                (name, part) = (at + 1, at + 1);
            }
            Glance::Unclear => return false,
        }
    }
    is_no_place(&bytes[part..]) && (name == part || is_no_place(&bytes[name..]))
}

/// Whether no place begins with this name.
fn is_no_place(name: &[u8]) -> bool {
    let [first, ..] = name else { return true };
    let byte = |from_end: usize| name.len().checked_sub(from_end).map_or(Ends::OTHER, |at| name[at]);
    let ends = [*first, byte(2), byte(1)].map(|byte| Some(byte.to_ascii_lowercase()));
    // A name loses the dots at its end, and `..` takes another away.
    let is_whole = ends[2] != Some(b'.');
    is_whole && Ends { first: ends[0], second_last: ends[1], last: ends[2] }.sets().all(|set| set == 0)
}

/// What the place is that the names begin with, or something above what they name.
pub(crate) fn find_at(names: &[Cow<'_, str>]) -> Option<&'static str> {
    let name = names.first()?;
    Ends::of(name)
        .rules()
        .find(|rule| steps_match(rule.steps.names(), names) && !rule.leaves_out(name))
        .map(|rule| rule.what)
}

/// What they may begin with once their own wildcards are expanded.
pub(crate) fn find_expanded_at(names: &[Cow<'_, str>]) -> Option<&'static str> {
    let name = names.first().filter(|name| telling_chars(name) > 0)?;
    Ends::of_expanded(name)
        .rules()
        .find(|rule| may_match_steps(rule.steps.names(), names) && !rule.leaves_out(name))
        .map(|rule| rule.what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::candidates::{anywhere, path_like};
    use crate::pattern::Pattern;
    use crate::spelling::spellings;

    /// Nothing parses the built-in patterns, so they have to be what parsing would leave of them.
    #[test]
    fn every_pattern_is_written_as_it_is_matched() {
        for (_, patterns) in PLACES.iter().chain(&[("", SSH_KEYS), ("", ENVIRONMENT)]) {
            for pattern in *patterns {
                let steps = Steps::of(pattern);
                assert_eq!(Pattern::parse(pattern).unwrap(), Pattern::of_steps(steps.names()), "{pattern}");
                assert_eq!(steps.names().join("/"), *pattern);
            }
        }
        for pattern in PUBLIC_HALVES.iter().chain(ENVIRONMENT_EXAMPLES) {
            assert_eq!(Pattern::parse(pattern).unwrap(), Pattern::of_steps(&[pattern]), "{pattern}");
        }
    }

    /// Paths of names that patterns are made of, with wildcards, more or less of them, and other names.
    fn paths() -> impl Strategy<Value = String> {
        let step = select(&RULES[..]).prop_flat_map(|rule| select(rule.steps.names().to_vec()));
        let whole = select(&RULES[..]).prop_map(|rule| rule.steps.names().join("/"));
        let changed = (step.clone(), any::<prop::sample::Index>(), select(vec!["", "*", "?", "[a-z]", "[", "x", "é"]))
            .prop_map(|(step, at, with)| {
                let (head, tail) = step.split_at(at.index(step.len() + 1));
                format!("{head}{with}{}", tail.get(1..).unwrap_or(""))
            });
        let name = prop_oneof![whole, step.prop_map(str::to_owned), changed, "[a-z.*?]{0,6}", "[.]env[.a-z*]{0,9}"];
        prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn a_glance_misses_nothing(text in paths(), glue in select(vec!["=", "@", ":", ",", "'", "(", "", "/", "::$"]),
            more in paths())
        {
            let text = format!("{text}{glue}{more}");
            if names_none(&text) {
                for part in path_like(&text).into_iter().chain(anywhere(&text)).chain([&*text]) {
                    for path in spellings(part) {
                        for start in 0..path.names.len() {
                            prop_assert_eq!(find_at(&path.names[start..]), None);
                            prop_assert_eq!(find_expanded_at(&path.names[start..]), None);
                        }
                    }
                }
            }
        }

        #[test]
        fn the_index_leaves_no_rule_out(text in paths()) {
            for path in spellings(&text) {
                for start in 0..path.names.len() {
                    let names = &path.names[start..];
                    let first = |matches: &dyn Fn(&Rule) -> bool| {
                        RULES.iter().find(|rule| matches(rule) && !rule.leaves_out(&names[0])).map(|rule| rule.what)
                    };
                    prop_assert_eq!(find_at(names), first(&|rule| steps_match(rule.steps.names(), names)));
                    prop_assert_eq!(find_expanded_at(names), first(&|rule| may_match_steps(rule.steps.names(), names)));
                }
            }
        }
    }
}
