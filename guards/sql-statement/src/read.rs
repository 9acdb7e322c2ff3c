//! SQL as its statements, in every way that a database may read it.

use sqlparser::ast::Statement;
use sqlparser::dialect::{Dialect, GenericDialect, MsSqlDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};

/// SQL longer than this, in bytes, is refused where it is known to be SQL, and nothing else takes it for that.
pub(crate) const MAX_BYTES: usize = 64 << 10;
/// How deep expressions and queries may lie within one another. Each level takes some of a component's stack.
const MAX_DEPTH: usize = 24;
/// The most operators in one string: a chain of them is as deep as it is long.
const MAX_OPERATORS: usize = 400;

/// Why SQL has no reading.
#[derive(Debug, PartialEq)]
pub(crate) enum Unread {
    TooLong,
    TooDeep,
    /// A comment within a comment, or one that only some databases take for a comment.
    Comment,
    Unparsable,
}

impl Unread {
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::TooLong => "it is longer than 65536 bytes",
            Self::TooDeep => "it is too deep, or has more than 400 operators",
            Self::Comment => "it has a comment that some databases run",
            Self::Unparsable => "it does not parse, so nobody knows what it does",
        }
    }
}

/// Which databases may read it.
pub(crate) enum Dialects {
    /// Any: every reading counts.
    Any,
    One(Box<dyn Dialect>),
}

impl Dialects {
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        if name == "generic" {
            return Ok(Self::Any);
        }
        let found = sqlparser::dialect::dialect_from_str(name).filter(|_| name.chars().all(|c| c.is_ascii_lowercase()));
        found.map(Self::One).ok_or_else(|| format!("\"{}\" is no dialect", chio_sdk::quote(name)))
    }

    /// The readings of `sql`: at least one.
    pub(crate) fn readings(&self, sql: &str) -> Result<Vec<Vec<Statement>>, Unread> {
        if sql.len() > MAX_BYTES {
            return Err(Unread::TooLong);
        }
        match self {
            Self::One(dialect) => Ok(vec![parse(dialect.as_ref(), sql, Comments::AsTheDialectSays)?]),
            Self::Any => {
                let mut readings = Vec::new();
                let generic = parse(&GenericDialect {}, sql, Comments::TheSameEverywhere);
                // What is read differently elsewhere: strings with backslashes or in double quotes, comments, dollars.
                let is_plain = !sql.contains(['\\', '"', '#', '$', '`']) && !sql.contains("--") && !sql.contains("/*");
                let failed = match generic {
                    Ok(statements) if is_plain => return Ok(vec![statements]),
                    Ok(statements) => {
                        readings.push(statements);
                        Unread::Unparsable
                    }
                    Err(unread @ (Unread::TooDeep | Unread::Comment)) => return Err(unread),
                    Err(unread) => unread,
                };
                let others: [&dyn Dialect; 4] =
                    [&MySqlDialect {}, &PostgreSqlDialect {}, &SQLiteDialect {}, &MsSqlDialect {}];
                for dialect in others {
                    match parse(dialect, sql, Comments::TheSameEverywhere) {
                        Ok(statements) if !readings.contains(&statements) => readings.push(statements),
                        Err(unread @ (Unread::TooDeep | Unread::Comment)) => return Err(unread),
                        _ => {}
                    }
                }
                if readings.is_empty() { Err(failed) } else { Ok(readings) }
            }
        }
    }
}

/// Which comments are taken.
#[derive(Clone, Copy, PartialEq)]
enum Comments {
    AsTheDialectSays,
    TheSameEverywhere,
}

fn parse(dialect: &dyn Dialect, sql: &str, comments: Comments) -> Result<Vec<Statement>, Unread> {
    let tokens = tokens(dialect, sql).ok_or(Unread::Unparsable)?;
    if comments == Comments::TheSameEverywhere && tokens.iter().any(|token| is_doubtful_comment(&token.token)) {
        return Err(Unread::Comment);
    }
    if tokens.iter().filter(|token| is_operator(&token.token)).count() > MAX_OPERATORS {
        return Err(Unread::TooDeep);
    }
    let mut parser = Parser::new(dialect).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(tokens);
    let statements = parser.parse_statements().map_err(|error| match error {
        sqlparser::parser::ParserError::RecursionLimitExceeded => Unread::TooDeep,
        _ => Unread::Unparsable,
    })?;
    // The parser is content with what comes before an END.
    let is_whole = parser.peek_token().token == Token::EOF;
    if is_whole && !statements.is_empty() { Ok(statements) } else { Err(Unread::Unparsable) }
}

pub(crate) fn tokens(dialect: &dyn Dialect, sql: &str) -> Option<Vec<TokenWithSpan>> {
    Tokenizer::new(dialect, sql).tokenize_with_location().ok()
}

/// The tokens of a text that nobody knows to be SQL, without white space.
pub(crate) fn plain_tokens(sql: &str) -> Vec<Token> {
    let tokens = tokens(&GenericDialect {}, sql).unwrap_or_default();
    tokens.into_iter().map(|token| token.token).filter(|token| !matches!(token, Token::Whitespace(_))).collect()
}

fn is_doubtful_comment(token: &Token) -> bool {
    match token {
        Token::Whitespace(Whitespace::MultiLineComment(text)) => {
            text.contains("/*") || text.starts_with('!') || text.starts_with("M!")
        }
        _ => false,
    }
}

/// Whether a token may nest what is before it in what is behind it.
fn is_operator(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::AND
                | Keyword::OR
                | Keyword::XOR
                | Keyword::NOT
                | Keyword::IS
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::RLIKE
                | Keyword::REGEXP
                | Keyword::SIMILAR
                | Keyword::BETWEEN
                | Keyword::IN
                | Keyword::DIV
                | Keyword::COLLATE
                | Keyword::AT
                | Keyword::NOTNULL
                | Keyword::OVERLAPS
                | Keyword::OPERATOR
                | Keyword::UNION
                | Keyword::INTERSECT
                | Keyword::EXCEPT
                | Keyword::MINUS
                | Keyword::PIVOT
                | Keyword::UNPIVOT
                | Keyword::MATCH_RECOGNIZE
                | Keyword::PRIOR
        ),
        Token::Comma
        | Token::LParen
        | Token::RParen
        | Token::Period
        | Token::SemiColon
        | Token::EOF
        | Token::Number(..)
        | Token::Placeholder(_)
        | Token::Whitespace(_)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::DollarQuotedString(_) => false,
        _ => true,
    }
}
