//! Marks of a conversation's turns: special tokens of models, tags of their hosts, lines that begin with a role.

use crate::context::Context;
use crate::sign::{Family, Signs};

/// The longest name between `<|` and `|>`, in bytes.
const MAX_TOKEN_BYTES: usize = 40;

/// How much may stand before a role on its line, in bytes.
const MAX_HEADING_BYTES: usize = 40;

/// What a mark does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// Begins a turn; whose, comes after it.
    Begin,
    /// Begins a turn of the system.
    BeginSystem,
    /// Ends a turn or what a tool said.
    End,
    /// Makes an order louder, and is in ordinary pages too.
    Emphasis,
}

/// Marks with fixed names, in lower case.
const MARKS: &[(&str, Mark)] = &[
    ("<start_of_turn>", Mark::Begin),
    ("<end_of_turn>", Mark::End),
    ("[inst]", Mark::Begin),
    ("[/inst]", Mark::End),
    ("<<sys>>", Mark::BeginSystem),
    ("<</sys>>", Mark::End),
    ("<system-reminder>", Mark::BeginSystem),
    ("</system-reminder>", Mark::End),
    ("<system_prompt>", Mark::BeginSystem),
    ("<system_message>", Mark::BeginSystem),
    ("<developer_message>", Mark::BeginSystem),
    ("</tool_result>", Mark::End),
    ("</tool_results>", Mark::End),
    ("</tool_output>", Mark::End),
    ("</tool_response>", Mark::End),
    ("</function_result>", Mark::End),
    ("</function_results>", Mark::End),
    ("<function_calls>", Mark::Begin),
    ("<tool_call>", Mark::Begin),
    ("<important>", Mark::Emphasis),
];

/// Who speaks with a system's authority.
const SYSTEM_ROLES: &[&str] = &["system", "developer", "<<sys>>"];
/// Who else speaks.
const ROLES: &[&str] = &["user", "assistant", "model", "human", "tool"];

/// What a line of a role begins with where it gives an order.
const ORDERS: &[&str] = &[
    "ignore",
    "disregard",
    "forget",
    "override",
    "reveal",
    "the user has",
    "all previous",
    "new instruction",
    "from now on",
    "execute",
    "send",
    "approve",
    "grant",
];
/// What it may begin with in an example as well.
const SPEECH: &[&str] = &["you ", "you'", "do not", "don't", "must", "always", "never", "print", "the user", "your "];

/// Notes the marks of a folded text, which may begin at `marks`, and the lines whose role begins at `roles`.
pub(crate) fn find(text: &str, marks: &[u32], roles: &[u32], context: &Context<'_>, signs: &mut Signs) {
    turns(text, marks, context, signs);
    lines(text, roles, context, signs);
}

fn turns(text: &str, marks: &[u32], context: &Context<'_>, signs: &mut Signs) {
    let (mut has_ended, mut has_begun, mut has_system) = (false, false, false);
    for at in marks {
        let at = *at as usize;
        let Some(rest) = text.get(at..) else { continue };
        let Some((mark, length)) = mark(rest).filter(|_| !is_index(text, at)) else { continue };
        if mark == Mark::Emphasis {
            signs.hint(Family::Poison);
            continue;
        }
        if context.quotes_mark(&(at..at + length)) {
            signs.hint(Family::Role);
            continue;
        }
        let (name, after) = rest.split_at_checked(length).unwrap_or_default();
        let is_system = mark == Mark::BeginSystem || (mark == Mark::Begin && begins_with(after, SYSTEM_ROLES));
        let is_turn = is_system
            || (mark == Mark::Begin
                && (begins_with(after, ROLES) || begins_with(name.trim_start_matches("<|"), ROLES)));
        let points = match mark {
            // Out of what a tool said, and into what a system or somebody else says.
            _ if has_ended && (is_system || (is_turn && !has_begun)) => 4,
            _ if is_system => 3,
            // A whole turn of the system.
            Mark::End if has_system => 4,
            _ => 2,
        };
        if name.contains('\u{1}') {
            signs.note(Family::Split, 2);
        }
        has_ended |= mark == Mark::End;
        has_begun |= mark != Mark::End;
        has_system |= is_system;
        signs.note(Family::Role, if context.is_conversation() { 2 } else { points });
        if points == 4 {
            return;
        }
    }
}

/// Whether `[inst]` at `at` says which element of a list is meant, as programs do.
fn is_index(text: &str, at: usize) -> bool {
    let is_lower = text.get(at..).is_some_and(|rest| rest.starts_with("[inst]"));
    is_lower
        && text.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || "_])".contains(c)))
}

/// The mark that `rest` begins with, and how long it is.
fn mark(rest: &str) -> Option<(Mark, usize)> {
    if let Some(name) = rest.strip_prefix("<|").or_else(|| rest.strip_prefix("<\u{1}|")) {
        let opening = rest.len() - name.len();
        let end = name.bytes().take(MAX_TOKEN_BYTES).position(|byte| byte == b'|')?;
        let (name, after) = name.split_at_checked(end)?;
        let is_token = name.len() > 1 && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '\u{1}'));
        if !is_token || !after.starts_with("|>") {
            return None;
        }
        let name = name.to_ascii_lowercase().replace('\u{1}', "");
        let mark = match name.as_str() {
            "system" | "developer" => Mark::BeginSystem,
            name if name.contains("end") || name.contains("eot") || name.contains("return") => Mark::End,
            _ => Mark::Begin,
        };
        return Some((mark, opening + end + 2));
    }
    let starts = |mark: &str| rest.get(..mark.len()).is_some_and(|part| part.eq_ignore_ascii_case(mark));
    MARKS.iter().find(|(mark, _)| starts(mark)).map(|(mark, kind)| (*kind, mark.len()))
}

/// Whether a role of `roles` comes next.
fn begins_with(text: &str, roles: &[&str]) -> bool {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{1}');
    roles.iter().any(|role| text.get(..role.len()).is_some_and(|part| part.eq_ignore_ascii_case(role)))
}

/// Lines such as `System: ignore …`, `### SYSTEM MESSAGE: …`, `[admin] …`.
fn lines(text: &str, roles: &[u32], context: &Context<'_>, signs: &mut Signs) {
    let (mut has_human, mut has_assistant) = (false, false);
    for at in roles {
        let at = *at as usize;
        if !begins_line(text, at) {
            continue;
        }
        let Some((role, rest)) = text.get(at..).and_then(role) else { continue };
        match role {
            Role::Human => has_human = true,
            Role::Assistant => has_assistant = true,
            Role::System => {}
        }
        let begins = |orders: &[&str]| {
            orders.iter().any(|order| rest.get(..order.len()).is_some_and(|part| part.eq_ignore_ascii_case(order)))
        };
        let points = match role {
            Role::System if begins(ORDERS) => 3,
            Role::System if begins(SPEECH) => 2,
            Role::Assistant if begins(ORDERS) => 2,
            _ => continue,
        };
        let range = at..text.len() - rest.len();
        if context.quotes_mark(&range) {
            signs.hint(Family::Role);
        } else {
            signs.note(Family::Role, points);
        }
    }
    if has_human && has_assistant {
        signs.hint(Family::Role);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    System,
    Assistant,
    Human,
}

/// Whether nothing but marks of headings, lists and the like stands on the line before.
fn begins_line(text: &str, at: usize) -> bool {
    let is_ornament =
        |byte: &u8| matches!(byte, b' ' | b'\t' | b'#' | b'*' | b'>' | b'[' | b'<' | b'(' | b'-' | b'=' | 1);
    let mut before = text.get(..at).unwrap_or_default().bytes().rev().take(MAX_HEADING_BYTES).skip_while(is_ornament);
    before.next().is_none_or(|byte| byte == b'\n')
}

/// The role that `line` begins with, and what comes after it.
fn role(line: &str) -> Option<(Role, &str)> {
    let end = line.bytes().position(|byte| !byte.is_ascii_alphabetic())?;
    let (word, rest) = line.split_at_checked(end)?;
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    let role = if is("system") || is("developer") || is("admin") || is("administrator") {
        Role::System
    } else if is("assistant") {
        Role::Assistant
    } else if is("human") || is("user") {
        Role::Human
    } else {
        return None;
    };
    // `System message:`, `SYSTEM NOTICE –`.
    let rest = rest.trim_start_matches([' ', '_', '-']);
    let second = rest.bytes().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (noun, after) = rest.split_at_checked(second)?;
    let is_noun = ["message", "prompt", "note", "notice", "instruction", "instructions", "override", "alert", "update"]
        .iter()
        .any(|known| noun.eq_ignore_ascii_case(known));
    let rest = if is_noun { after } else { rest };
    let colon = rest.trim_start_matches(['*', ']', '>', ')', ' ']);
    let has_bracket = colon.len() < rest.len() && rest.starts_with([']', '>', ')']);
    let after = match colon.strip_prefix(':') {
        Some(after) => after,
        None if has_bracket => colon,
        None => return None,
    };
    Some((role, after.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '"' | '\u{1}'))))
}
