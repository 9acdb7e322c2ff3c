//! Whether a text that nobody described is SQL and can be nothing else.
//!
//! "Delete from cart" and "drop database support" parse as SQL. What is certain is written as SQL is, or stands in an argument
//! that is called so.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

/// How far a first word is looked for behind comments, in bytes.
const MAX_HEAD_BYTES: usize = 2 << 10;

/// Words that statements begin with.
const FIRST: &[&str] = &[
    "SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "DROP", "CREATE", "ALTER", "GRANT",
    "REVOKE", "COPY", "LOAD", "ATTACH", "CALL", "EXEC", "EXECUTE", "EXPLAIN", "SET", "BEGIN", "START", "VALUES",
    "PRAGMA", "RENAME", "PREPARE", "TABLE", "INSTALL", "KILL", "UNLOAD", "EXPORT", "DO", "BULK",
];
/// Those that prose begins with as well, in whatever case: only a bracket or a text behind them tells.
const COMMON: &[&str] =
    &["CALL", "EXEC", "EXECUTE", "LOAD", "SET", "START", "KILL", "INSTALL", "EXPORT", "DO", "BEGIN"];

/// The word that a text begins with, behind comments, if statements begin with it.
pub(crate) fn first_word(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == '(');
    for _ in 0..8 {
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n')?.1
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/")?.1
        } else {
            break;
        };
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == '(');
        if text.len() - rest.len() > MAX_HEAD_BYTES {
            return None;
        }
    }
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let word = rest.get(..end).filter(|word| (2..=9).contains(&word.len()))?;
    // A path, a name or a function begins with letters as well.
    let is_whole = rest.get(end..).is_none_or(|rest| {
        rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r', '/', '(', '*', '"', '`', '[', ';'])
    });
    (is_whole && FIRST.iter().any(|first| word.eq_ignore_ascii_case(first))).then_some(word)
}

/// What the name of an argument says of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hint {
    /// Nothing.
    None,
    /// It is a query or statement of some language.
    Query,
    /// It is SQL, if it is anything.
    Sql,
}

impl Hint {
    /// What the last step of a pointer says.
    pub(crate) fn of(at: &str) -> Self {
        let name = at.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        if name.contains("sql") {
            Self::Sql
        } else if ["query", "queries", "statement", "stmt"].iter().any(|word| name.contains(word)) {
            Self::Query
        } else {
            Self::None
        }
    }
}

/// Whether a text that begins with `first`, and parses, is written as SQL is: in capitals, or with signs that prose has not. A
/// title or a search for "drop table lamps" has neither, so for the rest it counts what the argument is called.
pub(crate) fn is_written_as_sql(first: &str, tokens: &[Token], hint: Hint) -> bool {
    if hint == Hint::Sql {
        return true;
    }
    let has = |is: &dyn Fn(&Token) -> bool| tokens.iter().any(is);
    let is_text = |token: &Token| {
        matches!(token, Token::SingleQuotedString(_) | Token::DollarQuotedString(_) | Token::EscapedStringLiteral(_))
    };
    let is_lower = first.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_title = first.get(1..).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_lowercase())) && !is_lower;
    if COMMON.iter().any(|word| first.eq_ignore_ascii_case(word)) {
        let is_loud = !is_lower && !is_title;
        return has(&|token| is_text(token) || matches!(token, Token::Eq | Token::SemiColon))
            || (is_loud && has(&|token| matches!(token, Token::LParen)));
    }
    let is_sign = |token: &Token| {
        matches!(
            token,
            Token::SemiColon | Token::Eq | Token::Mul | Token::LParen | Token::Number(..) | Token::Placeholder(_)
        )
    };
    (!is_lower && !is_title)
        || has(&|token| is_text(token) || is_sign(token))
        || (hint == Hint::Query && has_second_keyword(tokens, is_title))
}

/// `drop table`, `delete from`, `truncate table`; `Drop Table users`, but no `Drop Table Lamps`, which is a heading, and no
/// `Drop table lamps`.
fn has_second_keyword(tokens: &[Token], is_title: bool) -> bool {
    let Some(Token::Word(second)) = tokens.get(1) else { return false };
    let begins = |token: Option<&Token>, is: fn(&char) -> bool| match token {
        Some(Token::Word(word)) => word.value.starts_with(|c| is(&c)),
        _ => false,
    };
    let is_spelt = !is_title
        || (begins(tokens.get(1), char::is_ascii_uppercase) && begins(tokens.get(2), char::is_ascii_lowercase));
    is_spelt
        && matches!(
            second.keyword,
            Keyword::TABLE
                | Keyword::DATABASE
                | Keyword::SCHEMA
                | Keyword::VIEW
                | Keyword::INDEX
                | Keyword::USER
                | Keyword::ROLE
                | Keyword::INTO
                | Keyword::FROM
                | Keyword::ALL
        )
}

/// What no parser here reads, and what is certain by its words all the same.
pub(crate) fn file_words(tokens: &[Token]) -> bool {
    let is = |token: &Token, word: &str| matches!(token, Token::Word(own) if own.quote_style.is_none() && own.value.eq_ignore_ascii_case(word));
    let is_text =
        |token: Option<&Token>| matches!(token, Some(Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)));
    tokens.windows(3).any(|three| match three {
        [into, file, name] => is(into, "INTO") && (is(file, "OUTFILE") || is(file, "DUMPFILE")) && is_text(Some(name)),
        _ => false,
    }) || (tokens.first().is_some_and(|first| is(first, "LOAD"))
        && tokens.windows(2).any(|two| matches!(two, [infile, name] if is(infile, "INFILE") && is_text(Some(name)))))
        || matches!(tokens, [bulk, insert, ..] if is(bulk, "BULK") && is(insert, "INSERT"))
        || tokens.windows(4).any(|four| match four {
            [insert, into, function, Token::Word(_)] => {
                is(insert, "INSERT") && is(into, "INTO") && is(function, "FUNCTION")
            }
            _ => false,
        })
}

/// `DO $$ … $$` and `EXEC xp_cmdshell …`.
pub(crate) fn program_words(tokens: &[Token]) -> bool {
    match tokens {
        [Token::Word(word), Token::DollarQuotedString(_), ..] => word.value.eq_ignore_ascii_case("DO"),
        [Token::Word(word), Token::Word(name), ..] => {
            let runs = word.value.eq_ignore_ascii_case("EXEC") || word.value.eq_ignore_ascii_case("EXECUTE");
            runs && name.value.to_ascii_lowercase().starts_with("xp_")
        }
        _ => false,
    }
}
