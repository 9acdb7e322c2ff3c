//! What is wrong with a file, and where.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use chio_host_kernel::canonical::printable;

/// The most problems that are listed; what is found beyond is counted. Bounds what a hostile file can make us print.
pub const MAX_PROBLEMS: usize = 100;

/// One thing that is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// Counted from 1; 0 when the file as a whole is meant.
    pub line: usize,
    /// Counted from 1, in characters; 0 when the file as a whole is meant.
    pub column: usize,
    /// The way to it: `servers.files.price`, `capabilities.default.tools[0].ttl`. Empty at the top.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Everything that is wrong with a policy or a manifest: at least one problem, in the order of the lines, the file
/// itself before those it names. Displayed one to a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    unlisted: usize,
}

impl Problems {
    /// The problems, sorted by line.
    #[must_use]
    pub fn as_slice(&self) -> &[Problem] {
        &self.list
    }

    /// How many more there are than [`MAX_PROBLEMS`].
    #[must_use]
    pub fn unlisted(&self) -> usize {
        self.unlisted
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.list.iter().enumerate() {
            let newline = if i == 0 { "" } else { "\n" };
            write!(f, "{newline}{problem}")?;
        }
        match self.unlisted {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// A place in a file, for problems that are found after it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) file: Arc<str>,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) path: String,
}

/// A value, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) spot: Spot,
}

impl fmt::Display for Spot {
    /// `file:line`, to point at a second place in a message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Collects problems while a file is read: nothing stops at the first.
#[derive(Debug)]
pub(crate) struct Report {
    file: Arc<str>,
    problems: RefCell<Vec<Problem>>,
    unlisted: Cell<usize>,
}

impl Report {
    pub(crate) fn new(file: &str) -> Self {
        Self { file: printable(file, 256).into(), problems: RefCell::default(), unlisted: Cell::new(0) }
    }

    pub(crate) fn file(&self) -> &Arc<str> {
        &self.file
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.problems.borrow().is_empty()
    }

    /// Whether a further problem would be counted and not listed, so that its words need not be found.
    pub(crate) fn is_full(&self) -> bool {
        self.problems.borrow().len() >= MAX_PROBLEMS
    }

    /// One more problem, which is not listed.
    pub(crate) fn count(&self) {
        self.unlisted.set(self.unlisted.get() + 1);
    }

    /// A problem with the file as a whole.
    pub(crate) fn whole(&self, message: impl Into<String>) {
        self.at(&Spot { file: self.file.clone(), line: 0, column: 0, path: String::new() }, message);
    }

    pub(crate) fn at(&self, spot: &Spot, message: impl Into<String>) {
        let Spot { file, line, column, path } = spot.clone();
        self.push(Problem { file, line, column, path, message: message.into() });
    }

    /// Takes over what was found in another file.
    pub(crate) fn extend(&self, problems: Problems) {
        self.unlisted.set(self.unlisted.get() + problems.unlisted);
        problems.list.into_iter().for_each(|problem| self.push(problem));
    }

    fn push(&self, problem: Problem) {
        if self.is_full() {
            self.count();
        } else {
            self.problems.borrow_mut().push(problem);
        }
    }

    /// What was found, sorted.
    pub(crate) fn all(self) -> Vec<Problem> {
        if self.is_empty() { Vec::new() } else { self.into_problems().list }
    }

    /// `value`, if nothing is wrong.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, Problems> {
        match value {
            Some(value) if self.is_empty() => Ok(value),
            _ => Err(self.into_problems()),
        }
    }

    fn into_problems(self) -> Problems {
        if self.is_empty() {
            // A reader that gives up says why; should one not, its file is refused all the same.
            self.whole("cannot be read");
        }
        let mut list = self.problems.into_inner();
        let main = self.file;
        list.sort_by(|a, b| {
            let key = |p: &Problem| (p.file != main, p.file.clone(), p.line, p.column);
            key(a).cmp(&key(b))
        });
        Problems { list, unlisted: self.unlisted.get() }
    }
}

/// A name or value from a file, quoted for a message.
pub(crate) fn quote(text: &str) -> String {
    format!("\"{}\"", printable(text, 64))
}

/// `; did you mean x?` for the nearest of the known words, or nothing when none is near.
pub(crate) fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // Longer words are no misspelling of any key, and the distance costs their length times a key's.
    if word.len() > 64 {
        return String::new();
    }
    let near = known.into_iter().map(|k| (strsim::osa_distance(word, k), k)).min();
    match near {
        Some((distance, k)) if distance <= 3 && distance * 2 <= k.len().max(2) => format!("; did you mean {k}?"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_known_word_is_suggested_and_nothing_far() {
        let known = ["forbidden_path", "shell_command", "ttl"];
        for (word, expected) in [
            ("forbiden_path", "; did you mean forbidden_path?"),
            ("shell-command", "; did you mean shell_command?"),
            ("tll", "; did you mean ttl?"),
            ("house_rules", ""),
            ("", ""),
            ("x", ""),
        ] {
            assert_eq!(suggestion(word, known), expected, "{word}");
        }
    }

    #[test]
    fn problems_are_sorted_and_bounded() {
        let report = Report::new("p.yaml");
        for line in (1..=MAX_PROBLEMS + 5).rev() {
            let spot = Spot { file: report.file().clone(), line, column: 1, path: String::new() };
            report.at(&spot, "x");
        }
        let problems = report.finish(Some(())).unwrap_err();
        assert_eq!((problems.as_slice().len(), problems.unlisted()), (MAX_PROBLEMS, 5));
        assert!(problems.as_slice().is_sorted_by_key(|p| p.line));
        assert!(problems.to_string().ends_with("… and 5 more"));
    }
}
