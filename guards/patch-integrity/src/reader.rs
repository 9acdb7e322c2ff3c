//! Reading a patch, section by section.

use crate::lines::Lines;
use crate::mode::Mode;
use crate::name;

/// What a patch says of one file.
#[derive(Debug, Default)]
pub(crate) struct Section {
    /// Every name that stands in its headers, as it stands there.
    pub(crate) names: Vec<String>,
    /// Of those, the ones behind `---` and `+++`, and of `diff --git`.
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
    pub(crate) git: Option<(String, String)>,
    /// Whether it is renamed or copied, so that its names differ.
    pub(crate) moves: bool,
    /// Whether it is git's own, and the names have a prefix.
    pub(crate) is_git: bool,
    /// The modes that it has afterwards.
    pub(crate) modes: Vec<Mode>,
    /// The mode that it keeps.
    pub(crate) kept: Option<Mode>,
    pub(crate) life: Life,
    pub(crate) hunks: usize,
    pub(crate) added: Vec<String>,
    pub(crate) removed: usize,
    /// What is wrong with its form.
    pub(crate) fault: Option<&'static str>,
}

/// Whether there is a file before and after, as git's headers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Life {
    Begins,
    #[default]
    GoesOn,
    Ends,
}

/// The range of one hunk in one of the two files.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    start: u64,
    count: u64,
}

/// Reads a patch.
pub(crate) struct Reader<'a> {
    lines: Lines<'a>,
    /// Whether a file was seen, so that a hunk without one is not just a line of a mail.
    has_begun: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(patch: &'a str) -> Self {
        Self { lines: Lines::new(patch), has_begun: false }
    }

    /// The next file that the patch speaks of.
    pub(crate) fn section(&mut self) -> Option<Section> {
        let mut is_first = !self.has_begun;
        loop {
            let line = self.lines.peek()?;
            let next = {
                let mut ahead = self.lines.clone();
                ahead.take();
                ahead.peek().unwrap_or_default()
            };
            if let Some(names) = line.strip_prefix("diff --git ") {
                self.has_begun = true;
                self.lines.take();
                return Some(self.git(names));
            }
            if line.starts_with("--- ") && next.starts_with("+++ ") {
                self.has_begun = true;
                let mut section = Section::default();
                self.header(&mut section);
                self.hunks(&mut section);
                return Some(section);
            }
            if line.trim_end() == "*** Begin Patch" {
                self.has_begun = true;
                self.lines.take();
                return Some(self.envelope());
            }
            if is_envelope_file(line) {
                return Some(self.envelope());
            }
            self.lines.take();
            if line.starts_with("*** ") && next.starts_with("--- ") {
                self.has_begun = true;
                let old = name::read(line.get(4..).unwrap_or_default()).into_owned();
                let new = name::read(next.get(4..).unwrap_or_default()).into_owned();
                return Some(Section { names: vec![old, new], ..Section::default() });
            }
            if let Some(name) = line.strip_prefix("Index: ").filter(|_| next.starts_with("======")) {
                return Some(Section { names: vec![name::read(name).into_owned()], ..Section::default() });
            }
            if line.starts_with("@@ -") && (self.has_begun || is_first) {
                let fault = Some("a hunk belongs to no file");
                self.has_begun = true;
                return Some(Section { fault, ..Section::default() });
            }
            is_first = false;
        }
    }

    /// What follows a `diff --git` line.
    fn git(&mut self, names: &str) -> Section {
        let mut section = Section { is_git: true, git: name::pair(names), ..Section::default() };
        // Names with spaces that differ cannot be told apart here: the headers of a move say where they part.
        if let Some((first, second)) = &section.git {
            section.names.extend([first.clone(), second.clone()]);
        }
        while let Some(line) = self.lines.peek() {
            let value = |prefix: &str| line.strip_prefix(prefix);
            let moved = ["rename from ", "rename to ", "copy from ", "copy to ", "rename old ", "rename new "];
            if line.starts_with("--- ") || line.starts_with("@@ -") {
                break;
            } else if let Some(name) = moved.iter().find_map(|prefix| value(prefix)) {
                section.moves = true;
                section.names.push(name::read(name).into_owned());
            } else if let Some(mode) = value("new file mode ") {
                section.life = Life::Begins;
                section.modes.push(Mode::read(mode));
            } else if let Some(mode) = value("new mode ") {
                section.modes.push(Mode::read(mode));
            } else if value("deleted file mode ").is_some() {
                section.life = Life::Ends;
            } else if let Some(index) = value("index ") {
                section.kept = index.split(' ').nth(1).map(Mode::read);
            } else if line.trim_end() == "GIT binary patch" {
                self.lines.take();
                self.binary();
                return section;
            } else if !["old mode ", "similarity index ", "dissimilarity index ", "Binary files "]
                .iter()
                .any(|prefix| line.starts_with(prefix))
            {
                return section;
            }
            self.lines.take();
        }
        if section.git.is_none() && !section.moves {
            section.fault = Some("its names cannot be told apart");
        }
        self.header(&mut section);
        self.hunks(&mut section);
        section
    }

    /// `---` and `+++`.
    fn header(&mut self, section: &mut Section) {
        for (mark, is_new) in [("--- ", false), ("+++ ", true)] {
            let Some(text) = self.lines.peek().and_then(|line| line.strip_prefix(mark)) else { continue };
            self.lines.take();
            let name = name::read(text).into_owned();
            section.names.push(name.clone());
            *(if is_new { &mut section.new } else { &mut section.old }) = Some(name);
        }
    }

    /// The hunks of one file, and what must not follow them.
    fn hunks(&mut self, section: &mut Section) {
        let mut before: Option<(Range, Range)> = None;
        while let Some(line) = self.lines.peek() {
            if !line.starts_with("@@ -") {
                break;
            }
            self.lines.take();
            let Some((old, new)) = ranges(line) else {
                section.fault = section.fault.or(Some("a hunk does not say which lines it is about"));
                return;
            };
            section.hunks += 1;
            if before.is_some_and(|(o, n)| old.start < o.start + o.count || new.start < n.start + n.count) {
                section.fault = section.fault.or(Some("its hunks overlap, or are out of order"));
            }
            before = Some((old, new));
            let is_none_before = section.life == Life::Begins || section.old.as_deref() == Some(name::NO_FILE);
            let is_none_after = section.life == Life::Ends || section.new.as_deref() == Some(name::NO_FILE);
            if is_none_before && (old.count > 0 || section.hunks > 1) {
                section.fault = section.fault.or(Some("it makes a file, and yet changes one"));
            }
            if is_none_after && (new.count > 0 || section.hunks > 1) {
                section.fault = section.fault.or(Some("it removes a file, and yet leaves one"));
            }
            if let Err(fault) = self.body(section, old.count, new.count) {
                section.fault = section.fault.or(Some(fault));
                return;
            }
        }
        // `-- ` parts a mail's signature.
        let is_more = |line: &str| {
            line.starts_with([' ', '+'])
                || (line.starts_with('-') && !matches!(line.trim_end(), "--" | "---") && !line.starts_with("--- "))
        };
        if section.hunks > 0 && self.lines.peek().is_some_and(is_more) {
            section.fault = section.fault.or(Some("a hunk is longer than it says"));
        }
    }

    /// The lines of one hunk.
    fn body(&mut self, section: &mut Section, old: u64, new: u64) -> Result<(), &'static str> {
        let (mut old, mut new) = (old, new);
        let cut = "it ends in the middle of a hunk";
        while old > 0 || new > 0 {
            let line = self.lines.peek().ok_or(cut)?;
            let (from, to) = match line.as_bytes().first() {
                Some(b' ') | None => (1, 1),
                Some(b'\r') if line.len() == 1 => (1, 1),
                Some(b'-') => (1, 0),
                Some(b'+') => (0, 1),
                Some(b'\\') => (0, 0),
                Some(_) => return Err("a hunk is shorter than it says"),
            };
            if from > old || to > new {
                return Err("a hunk has other lines than it says");
            }
            (old, new) = (old - from, new - to);
            if to > from {
                section.added.push(line.get(1..).unwrap_or_default().to_owned());
            }
            section.removed += usize::from(from > to);
            self.lines.take();
        }
        while self.lines.peek().is_some_and(|line| line.starts_with('\\')) {
            self.lines.take();
        }
        Ok(())
    }

    /// Passes over the base85 of a binary patch. A line with a space is none of it.
    fn binary(&mut self) {
        while let Some(line) = self.lines.peek() {
            let is_size = line.starts_with("literal ") || line.starts_with("delta ");
            if !is_size && line.contains(' ') {
                return;
            }
            self.lines.take();
        }
    }

    /// One file of the form that agents write, up to the next one or the end.
    fn envelope(&mut self) -> Section {
        let mut section = Section::default();
        let Some(line) = self.lines.take() else {
            section.fault = Some("it ends where a file should begin");
            return section;
        };
        let Some((name, is_added)) = envelope_file(line) else {
            if line.trim_end() != "*** End Patch" {
                section.fault = Some("a file should begin where something else does");
            }
            return section;
        };
        section.names.push(name.to_owned());
        loop {
            let Some(line) = self.lines.peek() else {
                section.fault = Some("it has no end");
                return section;
            };
            if is_envelope_file(line) {
                return section;
            }
            self.lines.take();
            if line.trim_end() == "*** End Patch" {
                return section;
            }
            if let Some(to) = line.strip_prefix("*** Move to: ") {
                section.names.push(to.trim_end().to_owned());
            } else if line.trim_end() == "*** End of File" || line.starts_with("@@") {
            } else if line.starts_with("*** ") {
                section.fault = section.fault.or(Some("it has a header that no reader knows"));
            } else if let Some(added) = line.strip_prefix('+') {
                section.added.push(added.to_owned());
            } else if line.starts_with('-') && !is_added {
                section.removed += 1;
            } else if is_added && !line.trim().is_empty() {
                section.fault = section.fault.or(Some("it makes a file, and has lines that it does not add"));
            }
        }
    }
}

fn is_envelope_file(line: &str) -> bool {
    envelope_file(line).is_some()
}

/// The name behind `*** Add File: `, and whether the file is added.
fn envelope_file(line: &str) -> Option<(&str, bool)> {
    [("*** Add File: ", true), ("*** Update File: ", false), ("*** Delete File: ", false)]
        .iter()
        .find_map(|(prefix, is_added)| Some((line.strip_prefix(prefix)?.trim_end(), *is_added)))
}

/// `@@ -1,2 +3,4 @@`.
fn ranges(line: &str) -> Option<(Range, Range)> {
    let inner = line.strip_prefix("@@ -")?;
    let (ranges, _) = inner.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    Some((range(old)?, range(new)?))
}

fn range(text: &str) -> Option<Range> {
    // Nobody's file has a billion lines.
    let number = |text: &str| {
        let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { text.parse::<u64>().ok() } else { None }
    };
    match text.split_once(',') {
        Some((start, count)) => Some(Range { start: number(start)?, count: number(count)? }),
        None => Some(Range { start: number(text)?, count: 1 }),
    }
}
