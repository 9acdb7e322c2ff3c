//! The form of agents: `*** Begin Patch`, files, `*** End Patch`.

use std::borrow::Cow;

use crate::lines::{Lines, unindented};
use crate::name;
use crate::section::Section;

/// Reads one file, up to the next one or the end.
pub(crate) fn read<'a>(lines: &mut Lines<'a>) -> Section<'a> {
    while lines.peek().is_some_and(|line| line.trim().is_empty() || line.starts_with("*** Environment ID: ")) {
        lines.take();
    }
    let Some(line) = lines.take() else { return Section::faulty("it ends where a file should begin") };
    let Some((name, is_added)) = file(line) else {
        let is_end = line.trim_end() == "*** End Patch";
        return if is_end {
            Section::default()
        } else {
            Section::faulty("a file should begin where something else does")
        };
    };
    let own = || Some(Cow::Borrowed(name));
    let mut section = Section { from: own(), to: own(), ..Section::default() };
    // What another reader would take for names, should a hunk of its own follow.
    let mut others: [Option<&str>; 4] = [None; 4];
    loop {
        let Some(line) = lines.peek() else {
            section.blame("it has no end");
            return section;
        };
        if begins_file(line) {
            return section;
        }
        lines.take();
        if line.trim_end() == "*** End Patch" {
            return section;
        }
        // `patch` takes indented headers, and would find a patch of its own in lines that show one.
        let (own, columns) = unindented(line);
        for (mark, name) in ["--- ", "+++ ", "*** ", "Index:"].iter().zip(&mut others) {
            *name = own.strip_prefix(mark).or(*name);
        }
        if own.starts_with("@@ -") || own.starts_with("********") {
            section.bare.extend(others.iter_mut().filter_map(Option::take).map(name::read));
        }
        if let Some((first, second)) = own.strip_prefix("diff --git ").and_then(name::pair) {
            section.bare.extend([first, second]);
        }
        if let Some(to) = line.strip_prefix("*** Move to: ") {
            section.to = Some(Cow::Borrowed(to.trim_end()));
        } else if line.trim_end() == "*** End of File" || line.starts_with("@@") {
        } else if line.starts_with("*** ") {
            section.blame("it has a header that no reader knows");
        } else if columns == 0 && own.starts_with("diff --git ") {
            section.blame("another patch begins within it");
        } else if let Some(added) = line.strip_prefix('+') {
            section.added.push(added);
        } else if line.starts_with('-') && !is_added {
            section.removed += 1;
        } else if is_added && !line.trim().is_empty() {
            section.blame("it makes a file, and has lines that it does not add");
        }
    }
}

pub(crate) fn begins_file(line: &str) -> bool {
    file(line).is_some()
}

/// The name behind `*** Add File: `, and whether the file is added.
fn file(line: &str) -> Option<(&str, bool)> {
    [("*** Add File: ", true), ("*** Update File: ", false), ("*** Delete File: ", false)]
        .iter()
        .find_map(|(mark, is_added)| Some((line.strip_prefix(mark)?.trim_end(), *is_added)))
}
