//! What was found in a text, and what it comes to.

/// The kind of a sign, as reasons and evidence name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Orders to whoever reads the text.
    InjectedInstruction,
    /// Text that a human is not shown.
    InvisibleText,
    /// Marks of a conversation's turns, which only the host of a model writes.
    RoleForgery,
}

impl Kind {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InjectedInstruction => "injected-instruction",
            Self::InvisibleText => "invisible-text",
            Self::RoleForgery => "role-forgery",
        }
    }
}

/// What signs have in common. Two of one family say no more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Override,
    NewTask,
    Theft,
    Exfiltrate,
    Hide,
    Address,
    Poison,
    Image,
    Encoded,
    Disguise,
    Markup,
    Role,
    Tags,
    ZeroWidth,
    Direction,
    Variation,
    Concealed,
    Split,
}

const FAMILIES: [Family; 18] = [
    Family::Override,
    Family::NewTask,
    Family::Theft,
    Family::Exfiltrate,
    Family::Hide,
    Family::Address,
    Family::Poison,
    Family::Image,
    Family::Encoded,
    Family::Disguise,
    Family::Markup,
    Family::Role,
    Family::Tags,
    Family::ZeroWidth,
    Family::Direction,
    Family::Variation,
    Family::Concealed,
    Family::Split,
];

impl Family {
    fn kind(self) -> Kind {
        match self {
            Self::Role => Kind::RoleForgery,
            Self::Tags
            | Self::ZeroWidth
            | Self::Direction
            | Self::Variation
            | Self::Concealed
            | Self::Split
            | Self::Markup => Kind::InvisibleText,
            _ => Kind::InjectedInstruction,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Override => "sets instructions aside",
            Self::NewTask => "gives a new task",
            Self::Theft => "asks for the system prompt",
            Self::Exfiltrate => "asks to send secrets away",
            Self::Hide => "asks to hide something from the user",
            Self::Address => "speaks to the machine that reads it",
            Self::Poison => "ties an order to the use of a tool",
            Self::Image => "has an image whose address carries data away",
            Self::Encoded => "is encoded",
            Self::Disguise => "is spelt to be overlooked",
            Self::Markup => "is hidden by markup",
            Self::Role => "forges the marks of a conversation's turns",
            Self::Tags => "is written in tag characters",
            Self::ZeroWidth => "carries data in zero-width characters",
            Self::Direction => "is drawn in another order than it has",
            Self::Variation => "carries data in variation selectors",
            Self::Concealed => "is concealed by terminal codes",
            Self::Split => "has words with unseen characters in them",
        }
    }
}

/// The signs of one text, or of several together.
#[derive(Clone, Debug, Default)]
pub struct Signs {
    plain: [u8; FAMILIES.len()],
    /// By family: found, but only quoted or in a form that ordinary texts have as well.
    hints: u32,
    /// The policy's patterns that matched.
    patterns: Vec<String>,
}

impl Signs {
    /// How much the signs say together. Hints say one point however many they are.
    #[must_use]
    pub fn points(&self) -> u32 {
        let plain: u32 = self.plain.iter().map(|points| u32::from(*points)).sum();
        let has_hint =
            self.hints != 0 && FAMILIES.iter().any(|family| self.hints & bit(*family) != 0 && self.of(*family) == 0);
        plain + u32::from(has_hint)
    }

    /// Whether they are enough. A pattern of the policy is by itself.
    #[must_use]
    pub fn reach(&self, threshold: u32) -> bool {
        !self.patterns.is_empty() || self.points() >= threshold
    }

    /// Whether there are none at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hints == 0 && self.patterns.is_empty() && self.plain == [0; FAMILIES.len()]
    }

    /// The kinds of what was found.
    #[must_use]
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = self.found().map(Family::kind).collect();
        if !self.patterns.is_empty() || kinds.is_empty() {
            kinds.push(Kind::InjectedInstruction);
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// What was found, in words, without a word of the text.
    #[must_use]
    pub fn describe(&self) -> String {
        let patterns = self.patterns.iter().map(|name| format!("matches the pattern {name}"));
        self.found().map(|family| family.as_str().to_owned()).chain(patterns).collect::<Vec<_>>().join(", ")
    }

    /// Takes in what another text has. What several texts say alike counts once.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        for (own, other) in self.plain.iter_mut().zip(other.plain) {
            *own = (*own).max(other);
        }
        self.hints |= other.hints;
        for pattern in &other.patterns {
            self.note_pattern(pattern);
        }
    }

    fn found(&self) -> impl Iterator<Item = Family> {
        FAMILIES.into_iter().filter(|family| self.of(*family) > 0)
    }

    fn of(&self, family: Family) -> u8 {
        self.plain.get(family as usize).copied().unwrap_or(0)
    }

    pub(crate) fn note(&mut self, family: Family, points: u8) {
        if let Some(own) = self.plain.get_mut(family as usize) {
            *own = (*own).max(points);
        }
    }

    /// Notes what is only quoted, or what ordinary texts have as well.
    pub(crate) fn hint(&mut self, family: Family) {
        self.hints |= bit(family);
    }

    pub(crate) fn note_pattern(&mut self, name: &str) {
        if !self.patterns.iter().any(|known| known == name) {
            self.patterns.push(name.to_owned());
        }
    }

    /// Whether another sign of the family, of this many points at most, would change nothing.
    pub(crate) fn is_sure_of(&self, family: Family, most: u8) -> bool {
        self.of(family) >= most || (most == 1 && self.hints & bit(family) != 0)
    }
}

fn bit(family: Family) -> u32 {
    1 << family as u32
}
