//! The signs of many texts that belong together.

use crate::sign::Signs;

/// How many points more than one text several texts need together.
const SPREAD_POINTS: u32 = 2;

/// The signs of a call's arguments, or of a tool's output.
#[derive(Debug, Default)]
pub struct Collected {
    /// The text that has the most, and where it is.
    worst: Option<(String, Signs)>,
    all: Signs,
}

impl Collected {
    /// Takes in a text's signs. `at` says where the text is.
    pub fn add(&mut self, at: &str, signs: Signs) {
        if signs.is_empty() {
            return;
        }
        self.all.merge(&signs);
        let is_worse = self
            .worst
            .as_ref()
            .is_none_or(|(_, worst)| (signs.reach(u32::MAX), signs.points()) > (worst.reach(u32::MAX), worst.points()));
        if is_worse {
            self.worst = Some((at.to_owned(), signs));
        }
    }

    /// What is enough to be taken for an attack, and where: one text, or, where each says too little, all together.
    #[must_use]
    pub fn reach(&self, threshold: u32) -> Option<(&str, &Signs)> {
        let (at, worst) = self.worst.as_ref()?;
        if worst.reach(threshold) {
            return Some((at, worst));
        }
        (self.all.points() >= threshold + SPREAD_POINTS).then_some(("several texts", &self.all))
    }

    /// The signs of one text that consists of these.
    pub(crate) fn into_signs(self) -> Signs {
        let Some((_, worst)) = self.worst else { return self.all };
        if self.all.points() >= worst.points() + SPREAD_POINTS
            && self.all.points() >= crate::DEFAULT_THRESHOLD + SPREAD_POINTS
        {
            self.all
        } else {
            worst
        }
    }
}

/// The signs of a text, region by region.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    before: Signs,
    worst: Signs,
}

impl Regions {
    /// Takes in the next region. It counts together with the one before, since one may end in the middle of an attack.
    pub(crate) fn add(&mut self, region: Signs) {
        if region.is_empty() {
            self.before = region;
            return;
        }
        let mut both = std::mem::replace(&mut self.before, region);
        both.merge(&self.before);
        if both.points() > self.worst.points() {
            self.worst = both;
        }
    }

    /// Those of the two regions that have most.
    pub(crate) fn into_worst(self) -> Signs {
        self.worst
    }
}
