//! Reading a patch, section by section, as git does and as `patch` does.
//!
//! Between files both pass over what they do not know, and they do not know the same: `patch` takes indented headers, names
//! with lines between them, and forms that git has no reader for. So what git would read is taken off the lines, and what
//! `patch` alone would read is looked at ahead, and its lines are read once more for git.

use std::borrow::Cow;

use crate::envelope;
use crate::hunks;
use crate::lines::{Lines, unindented};
use crate::mode::Mode;
use crate::name;
use crate::section::{Life, Section};
use crate::start;

/// Where the name of the file may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// In the patch.
    Within,
    /// Beside the patch, in another argument, so that it may be hunks alone.
    Beside,
}

/// How many indented patches may be malformed: each is looked at to its end, and then its lines are read once more.
const MAX_MALFORMED: usize = 64;

/// How far a patch was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// In what a letter says before its patch, where a hunk is a quotation.
    Letter,
    /// Nowhere: all lines were blank.
    Start,
    Within,
}

/// Reads a patch.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    lines: Lines<'a>,
    named: Named,
    stage: Stage,
    /// Whether a header of git's was read, and no hunk behind it: `patch` takes what follows for more of it.
    is_open: bool,
    /// The names that `patch` has seen since the last hunk: behind `---`, behind `+++` or `***`, behind `Index:`.
    seen: [Option<&'a str>; 3],
    /// Whether those were told of already.
    is_told: bool,
    /// How many indented patches were malformed.
    malformed: usize,
    /// Whether no line of the rest ends a script for ed.
    has_no_script: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(patch: &'a str, named: Named) -> Self {
        let lines = Lines::new(patch);
        Self {
            stage: if start::is_letter(&lines) { Stage::Letter } else { Stage::Start },
            lines,
            named,
            is_open: false,
            seen: [None; 3],
            is_told: false,
            malformed: 0,
            has_no_script: false,
        }
    }

    /// The next file that the patch speaks of.
    pub(crate) fn section(&mut self) -> Option<Section<'a>> {
        loop {
            let line = self.lines.peek()?;
            if let Some(section) = self.taken(line) {
                self.stage = Stage::Within;
                self.is_open = section.is_git && section.hunks == 0;
                return Some(section);
            }
            let ahead = self.ahead(line);
            self.lines.take();
            if self.stage == Stage::Start && !line.trim().is_empty() {
                self.stage = Stage::Within;
            }
            if ahead.is_some() {
                return ahead;
            }
        }
    }

    /// A file that begins with this line for git, or for a tool of agents.
    fn taken(&mut self, line: &'a str) -> Option<Section<'a>> {
        if let Some(names) = line.strip_prefix("diff --git ") {
            self.lines.take();
            return Some(self.git(names));
        }
        if line.starts_with("--- ") && self.lines.second().is_some_and(|next| next.starts_with("+++ ")) {
            let mut section = Section::default();
            self.header(&mut section);
            return Some(section);
        }
        if line.trim_end() == "*** Begin Patch" {
            self.lines.take();
            return Some(envelope::read(&mut self.lines));
        }
        if envelope::begins_file(line) {
            return Some(envelope::read(&mut self.lines));
        }
        if line.starts_with("@@ -") && self.stage == Stage::Start && self.named == Named::Beside {
            let mut section = Section::default();
            hunks::read(&mut self.lines, &mut section);
            return Some(section);
        }
        None
    }

    /// A file that begins with this line for `patch` alone.
    fn ahead(&mut self, line: &'a str) -> Option<Section<'a>> {
        let (own, columns) = unindented(line);
        match own.bytes().next()? {
            b'-' | b'+' | b'*' | b'I' => {
                if own.starts_with("********") {
                    return self.context(columns);
                }
                self.name(own)
            }
            b'@' if own.starts_with("@@ -") => self.stray(columns),
            b'd' => {
                self.is_open &= !own.starts_with("diff ");
                let names = own.strip_prefix("diff --git ")?;
                let mut other = self.clone();
                other.lines = self.lines.outdented(columns);
                other.lines.take();
                let section = other.git(names);
                Some(self.shown(section))
            }
            b'n' | b'r' | b'c' if self.is_open => stray_header(own),
            b'0'..=b'9' => self.command(own, columns),
            _ => None,
        }
    }

    /// What follows a `diff --git` line.
    fn git(&mut self, names: &'a str) -> Section<'a> {
        // Names with spaces that differ cannot be told apart here: the headers of a move say where they part.
        let mut section = Section { is_git: true, git: name::pair(names), ..Section::default() };
        (self.seen, self.is_told) = ([None; 3], true);
        let has_hunks = self.extended(&mut section);
        if section.git.is_none() && !section.moves() {
            section.blame("its names cannot be told apart");
        }
        if has_hunks {
            self.header(&mut section);
        }
        section
    }

    /// Git's own headers. Whether hunks may follow.
    fn extended(&mut self, section: &mut Section<'a>) -> bool {
        while let Some(raw) = self.lines.peek() {
            let (line, _) = unindented(raw);
            let value = |marks: &[&str]| marks.iter().find_map(|mark| line.strip_prefix(mark));
            if line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("@@ -") {
                return true;
            } else if let Some(name) = value(&["rename from ", "copy from ", "rename old "]) {
                section.from = Some(name::read(name));
            } else if let Some(name) = value(&["rename to ", "copy to ", "rename new "]) {
                section.to = Some(name::read(name));
            } else if let Some(mode) = value(&["new file mode "]) {
                section.life = Life::Begins;
                section.modes.push(Mode::read(mode));
            } else if let Some(mode) = value(&["new mode "]) {
                section.modes.push(Mode::read(mode));
            } else if let Some(mode) = value(&["old mode "]) {
                section.kept = Some(Mode::read(mode));
            } else if value(&["deleted file mode "]).is_some() {
                section.life = Life::Ends;
            } else if let Some(index) = value(&["index "]) {
                section.kept = index.split(' ').nth(1).map(Mode::read).or(section.kept);
            } else if line.trim_end() == "GIT binary patch" {
                section.is_binary = true;
                self.lines.take();
                self.binary();
                return false;
            } else if value(&["similarity index ", "dissimilarity index ", "Binary files "]).is_none() {
                if header_goes_on(self.lines.clone()) {
                    section.blame("its header has a line that no reader knows");
                }
                return false;
            }
            self.lines.take();
        }
        true
    }

    /// `---` and `+++`, and the hunks behind them.
    fn header(&mut self, section: &mut Section<'a>) {
        for (at, mark) in ["--- ", "+++ "].into_iter().enumerate() {
            let Some(text) = self.lines.peek().and_then(|line| unindented(line).0.strip_prefix(mark)) else { continue };
            self.lines.take();
            self.seen[at] = Some(text);
            *(if at == 0 { &mut section.old } else { &mut section.new }) = Some(name::read(text));
        }
        let line = self.lines.peek().unwrap_or_default();
        let (own, columns) = unindented(line);
        if line.starts_with("@@ -") {
            hunks::read(&mut self.lines, section);
        } else if own.starts_with("@@ -") {
            // Somebody indented the hunks alone.
            hunks::read(&mut self.lines.outdented(columns), section);
        } else if line.starts_with("@@") {
            hunks::read_uncounted(&self.lines, section);
        } else if section.new.is_some() && line.starts_with(['+', '-']) && !line.starts_with("--") {
            section.blame("it has lines in no hunk");
        }
        if section.hunks > 0 {
            self.seen = [None; 3];
        }
        self.is_told = true;
    }

    /// A name that `patch` remembers until a hunk comes.
    fn name(&mut self, own: &'a str) -> Option<Section<'a>> {
        let bare = own.trim_start_matches("- ");
        let (at, text) =
            [("--- ", 0), ("+++ ", 1), ("*** ", 1), ("Index:", 2)].into_iter().find_map(|(mark, at)| {
                let text = if at == 0 { bare } else { own }.strip_prefix(mark)?;
                Some((at, text))
            })?;
        // `*** 1,3 ****` is a place in a file.
        let is_range =
            text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b' ' | b'*' | b'-' | b'\r'));
        if is_range {
            return None;
        }
        self.seen[at] = Some(text);
        self.is_told = false;
        // What svn and its like write is a header by itself.
        let is_header = at == 2 && self.lines.second().is_some_and(|next| next.starts_with("======"));
        is_header.then(|| Section { bare: vec![name::read(text)], goes_on: true, ..Section::default() })
    }

    /// A section with the names that were seen. The first of them tells of the file, the others go on with it.
    fn named(&mut self) -> Section<'a> {
        let read = |name: Option<&'a str>| name.map(name::read);
        let [old, new, index] = self.seen.map(read);
        let goes_on = std::mem::replace(&mut self.is_told, true);
        Section { old, new, bare: index.into_iter().collect(), goes_on, ..Section::default() }
    }

    /// Whether `patch` knows a file by now.
    fn has_seen(&self) -> bool {
        self.is_open || self.seen.iter().any(Option::is_some)
    }

    /// A hunk that stands in no file of git's.
    fn stray(&mut self, columns: usize) -> Option<Section<'a>> {
        if columns == 0 {
            let is_hunk = self.stage != Stage::Letter || self.has_seen();
            return is_hunk.then(|| Section::faulty("a hunk belongs to no file"));
        }
        if !self.has_seen() {
            return None;
        }
        let mut section = self.named();
        (self.seen, self.is_open) = ([None; 3], false);
        hunks::read(&mut self.lines.outdented(columns), &mut section);
        Some(self.shown(section))
    }

    /// An indented patch. What is wrong with its form, `patch` says, and goes no further; git has never seen it.
    fn shown(&mut self, mut section: Section<'a>) -> Section<'a> {
        self.malformed += usize::from(section.fault.is_some());
        section.fault = (self.malformed > MAX_MALFORMED).then_some("too many patches are shown in it");
        section
    }

    /// One hunk of a context diff.
    fn context(&mut self, columns: usize) -> Option<Section<'a>> {
        if !self.has_seen() && self.stage != Stage::Start {
            return None;
        }
        let mut section = self.named();
        let mut ahead = self.lines.outdented(columns);
        ahead.take();
        while let Some(line) = ahead.take() {
            if line.starts_with("********") || line.starts_with("diff ") || line.starts_with("+++ ") {
                break;
            }
            section.added.extend(["+ ", "! "].iter().find_map(|mark| line.strip_prefix(mark)));
            section.removed += usize::from(line.starts_with("- "));
        }
        Some(section)
    }

    /// One hunk of a diff without context, or of a script for ed: `3,4c3`, `3,4c`.
    fn command(&mut self, own: &'a str, columns: usize) -> Option<Section<'a>> {
        let is_range = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
        let own = own.trim_end();
        let (from, to) = own.split_once(['a', 'c', 'd', 'i'])?;
        if !is_range(from) || !is_range(to) || !self.has_seen() && self.stage != Stage::Start {
            return None;
        }
        let mut ahead = self.lines.outdented(columns);
        ahead.take();
        if to.is_empty() {
            if self.has_no_script {
                return None;
            }
            while let Some(line) = ahead.take() {
                if line.trim_end() == "." {
                    return Some(Section::faulty("it is a script for ed, which runs commands"));
                }
            }
            self.has_no_script = true;
            return None;
        }
        let mut section = self.named();
        while let Some(line) = ahead.take().filter(|line| line.starts_with(['<', '>', '-', '\\'])) {
            section.added.extend(line.strip_prefix("> "));
            section.removed += usize::from(line.starts_with("< "));
        }
        Some(section)
    }

    /// Passes over the base85 of a binary patch.
    fn binary(&mut self) {
        let is_base85 = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&()*+-;<=>?@^_`{|}~".contains(&byte);
        while let Some(line) = self.lines.peek() {
            let own = line.strip_suffix('\r').unwrap_or(line);
            let is_size = own.starts_with("literal ") || own.starts_with("delta ");
            let is_line = own.is_empty() || own.len() % 5 == 1 && own.bytes().all(is_base85);
            if !is_size && !is_line {
                return;
            }
            self.lines.take();
        }
    }
}

/// Whether a header of git's goes on behind lines that are none of it.
fn header_goes_on(mut lines: Lines<'_>) -> bool {
    const MARKS: &[&str] = &[
        "--- ",
        "+++ ",
        "@@ -",
        "rename from ",
        "rename to ",
        "copy from ",
        "copy to ",
        "new file mode ",
        "new mode ",
        "old mode ",
        "deleted file mode ",
        "index ",
        "GIT binary patch",
    ];
    while let Some(line) = lines.take() {
        let (line, _) = unindented(line);
        if line.trim().is_empty() || line.starts_with("diff ") || line.starts_with("From ") || line.trim_end() == "--" {
            return false;
        }
        if MARKS.iter().any(|mark| line.starts_with(mark)) {
            return true;
        }
    }
    false
}

/// A header of git's that belongs to no `diff --git` line, and that `patch` takes for the one before.
fn stray_header(line: &str) -> Option<Section<'_>> {
    let mode = ["new file mode ", "new mode "].iter().find_map(|mark| line.strip_prefix(mark));
    if mode.is_some_and(|mode| mode.trim().bytes().all(|byte| byte.is_ascii_digit())) {
        return Some(Section::faulty("a mode belongs to no file"));
    }
    let name =
        ["rename from ", "rename to ", "copy from ", "copy to "].iter().find_map(|mark| line.strip_prefix(mark))?;
    Some(Section { bare: vec![Cow::Borrowed(name)], goes_on: true, ..Section::default() })
}
