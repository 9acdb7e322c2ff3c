//! The hunks of a unified diff.

use crate::lines::Lines;
use crate::name::NO_FILE;
use crate::section::{Life, Section};

/// The range of one hunk in one of the two files.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    start: u64,
    count: u64,
}

/// Reads the hunks of one file, and sees what must not follow them.
pub(crate) fn read<'a>(lines: &mut Lines<'a>, section: &mut Section<'a>) {
    let mut before: Option<(Range, Range)> = None;
    let is_none_before = section.life == Life::Begins || section.old.as_deref() == Some(NO_FILE);
    let is_none_after = section.life == Life::Ends || section.new.as_deref() == Some(NO_FILE);
    while let Some(line) = lines.peek().filter(|line| line.starts_with("@@ -")) {
        lines.take();
        let Some((old, new)) = ranges(line) else {
            read_uncounted(lines, section);
            return section.blame("a hunk does not say which lines it is about");
        };
        section.hunks += 1;
        if before.is_some_and(|(o, n)| old.start < o.start + o.count || new.start < n.start + n.count) {
            section.blame("its hunks overlap, or are out of order");
        }
        before = Some((old, new));
        if is_none_before && (old.count > 0 || section.hunks > 1) {
            section.blame("it makes a file, and yet changes one");
        }
        if is_none_after && (new.count > 0 || section.hunks > 1) {
            section.blame("it removes a file, and yet leaves one");
        }
        if let Err(fault) = body(lines, section, old.count, new.count) {
            return section.blame(fault);
        }
    }
    if section.hunks > 0 && lines.peek().is_some_and(is_more) {
        section.blame("a hunk is longer than it says");
    }
}

/// Whether a line belongs to a hunk. `-- ` parts a mail's signature.
fn is_more(line: &str) -> bool {
    line.starts_with([' ', '+'])
        || (line.starts_with('-') && !matches!(line.trim_end(), "--" | "---") && !line.starts_with("--- "))
}

/// The lines of one hunk.
fn body<'a>(lines: &mut Lines<'a>, section: &mut Section<'a>, old: u64, new: u64) -> Result<(), &'static str> {
    let (mut old, mut new) = (old, new);
    while old > 0 || new > 0 {
        let line = lines.peek().ok_or("it ends in the middle of a hunk")?;
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
            section.added.push(line.get(1..).unwrap_or_default());
        }
        section.removed += usize::from(from > to);
        lines.take();
    }
    while lines.peek().is_some_and(|line| line.starts_with('\\')) {
        lines.take();
    }
    Ok(())
}

/// What stands behind a bare `@@`, which counts nothing, up to the next header. No line is taken: whoever needs counts reads
/// on behind that mark.
pub(crate) fn read_uncounted<'a>(lines: &Lines<'a>, section: &mut Section<'a>) {
    let mut ahead = lines.clone();
    while let Some(line) = ahead.take() {
        if let Some(added) = line.strip_prefix('+') {
            section.added.push(added);
        } else if line.starts_with("--- ") && ahead.peek().is_some_and(|next| next.starts_with("+++ ")) {
            return;
        } else if line.starts_with('-') {
            section.removed += 1;
        } else if line.starts_with("@@ -") || !line.is_empty() && !line.starts_with([' ', '@', '\r', '\\']) {
            return;
        }
    }
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
