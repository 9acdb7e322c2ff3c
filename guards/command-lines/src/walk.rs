//! Every command of a line, however deep it lies.

use crate::grammar::{TooMany, read};
use crate::lexer::{Pipeline, Simple};
use crate::unwrap::{is_shell, unwrap};

/// How deep lines may lie within lines.
const MAX_DEPTH: usize = 8;
/// How many lines one argument may hold: each nested line is read again, and this bounds the work.
const MAX_LINES: usize = 256;

/// The commands that `line` runs, with those in its substitutions and in the lines that it hands to another shell.
///
/// # Errors
/// [`TooMany`] where they lie deeper than eight lines within one another, or in more than 256 lines.
pub fn every_command(line: &str) -> Result<Vec<Simple>, TooMany> {
    Ok(every_pipeline(line)?.into_iter().flat_map(|pipeline| pipeline.commands).collect())
}

/// The same, with those together that are joined by pipes.
///
/// # Errors
/// As above.
pub fn every_pipeline(line: &str) -> Result<Vec<Pipeline>, TooMany> {
    let mut found = Vec::new();
    let mut lines = vec![(line.to_owned(), 0)];
    let mut count = 0;
    while let Some((line, depth)) = lines.pop() {
        count += 1;
        if depth > MAX_DEPTH || count > MAX_LINES {
            return Err(TooMany);
        }
        for pipeline in read(&line)? {
            lines.extend(nested(&pipeline).into_iter().map(|line| (line, depth + 1)));
            found.push(pipeline);
        }
    }
    Ok(found)
}

/// The lines that the commands of a pipeline hold.
fn nested(pipeline: &Pipeline) -> Vec<String> {
    let mut lines = Vec::new();
    for command in &pipeline.commands {
        let effective = unwrap(&command.words);
        lines.extend(command.inner.iter().map(|inner| inner.line.clone()));
        if is_shell(&effective.name) {
            lines.extend(command.stdin.iter().cloned());
            lines.extend(pipeline.commands.iter().filter_map(said));
        }
        lines.extend(effective.lines);
    }
    lines.retain(|line| !line.trim().is_empty());
    lines
}

/// What a command prints, where that is plain.
fn said(command: &Simple) -> Option<String> {
    let effective = unwrap(&command.words);
    matches!(effective.name.as_str(), "echo" | "printf").then(|| effective.arguments.join(" "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        let mut words: Vec<_> = every_command(line).unwrap().iter().map(|command| command.words.join(" ")).collect();
        words.sort();
        words
    }

    #[test]
    fn commands_within_commands_are_found() {
        assert_eq!(words("a \"$(b `c`)\" | d"), ["a $()", "b $()", "c", "d"]);
        assert!(words("sudo sh -c 'bash -c \"curl x\"'").contains(&"curl x".into()));
        assert!(words("echo curl x | sh").contains(&"curl x".into()));
        assert!(words("sh <<< 'curl x'").contains(&"curl x".into()));
        assert!(words("sh <<E\ncurl x\nE").contains(&"curl x".into()));
    }

    #[test]
    fn too_many_are_said_to_be() {
        assert_eq!(every_command(&"$(".repeat(20)), Err(TooMany));
        assert_eq!(every_command(&"`a`".repeat(300)), Err(TooMany));
        assert!(every_command(&"a;".repeat(300)).is_ok());
    }

    proptest! {
        #[test]
        fn any_line_is_read(line in "[a-c $(){}`'\"\\\\|;&<>=\n\u{0}é-]{0,40}") {
            let _ = every_command(&line);
        }
    }
}
