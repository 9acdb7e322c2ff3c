//! A guard that denies SQL which destroys data, changes who may do what, or reaches files, programs and tables that it
//! should not.
//!
//! What it judges:
//! - every argument that the policy says is SQL (`arguments`): there, what does not parse is denied;
//! - a `text`, or an object's key, that is certainly SQL: it begins as a statement, parses as a whole, and is written as SQL is, or
//!   stands in an argument that is called `sql` or `query`;
//! - in a `command`, what is handed to a database's client.
//!
//! Statements have classes. Without a policy it lets through what reads, writes under a condition, defines (`CREATE`, `ALTER`,
//! and `DROP` of what holds no data) and concerns the session; it denies what changes every row, drops tables, schemas, databases
//! and columns, truncates, grants, reaches files or programs, and several statements in one string. A string that begins
//! with a definition, `BEGIN` or `SET` is a script, and may have several. Each statement inside another one is judged too.
//!
//! Where the policy names no dialect, the SQL is read as several databases read it, and every reading has to be allowed.
//!
//! What it does not stop:
//! - `content`: a migration in a file is not run by being written;
//! - a part of a statement that a tool puts into another (`1' OR '1'='1`): tools bind parameters;
//! - what a view, a function, a trigger or a prepared statement does that exists already, and functions that it does not know;
//! - a condition that only the data makes true (`id > 0`), and a table that is rebuilt from nothing (`… WHERE false`);
//! - files of data below the folder that the database works in, and public ones behind `https:`, as `DuckDB` reads them;
//! - SQL that no parser here reads, where nobody said that it is SQL. Where somebody did, that is denied, which is hard on
//!   a few statements of everyday life (`DROP INDEX CONCURRENTLY`).

mod certain;
mod class;
mod command;
mod condition;
mod judge;
mod read;
mod rules;
mod statement;
mod tables;

use chio_sdk::{Call, CommandFact, Fact, FactKind, Verdict};
use sqlparser::tokenizer::Token;

use certain::Hint;
use class::{Class, Deed};
use rules::{Config, Rules};

fn check(call: &Call) -> Result<Verdict, String> {
    let rules = Rules::new(&chio_sdk::config::<Config>()?, call)?;
    let denial = call.facts.iter().find_map(|fact| judge_fact(&rules, fact));
    Ok(denial.map_or_else(Verdict::allow, Verdict::deny))
}

/// Why the fact is refused, if it is.
fn judge_fact(rules: &Rules, fact: &Fact) -> Option<String> {
    if rules.is_sql(&fact.at) && !matches!(fact.kind, FactKind::Key(_)) {
        return judge_sql(rules, &fact.kind.raw());
    }
    match &fact.kind {
        FactKind::Text(text) => judge_certain(rules, text, Hint::of(&fact.at)),
        FactKind::Key(text) => judge_certain(rules, text, Hint::None),
        FactKind::Command(CommandFact::Line(line)) => {
            judge_certain(rules, line, Hint::None).or_else(|| command::line(rules, line))
        }
        FactKind::Command(CommandFact::Words(words)) => command::words(rules, words),
        FactKind::Path(_) | FactKind::Url(_) | FactKind::Content(_) => None,
    }
}

/// Why SQL is refused, if it is.
fn judge_sql(rules: &Rules, sql: &str) -> Option<String> {
    match rules.dialects.readings(sql) {
        Ok(readings) => {
            let refused = readings.iter().find_map(|statements| judge::judge(rules, statements));
            // Some of them are names, aliases and texts to a parser that does not know the words.
            refused.or_else(|| judge_words(rules, &read::plain_tokens(sql)))
        }
        Err(unread) => Some(format!("SQL is refused: {}", unread.what())),
    }
}

/// Why a text is refused that nobody described, if it is certainly SQL.
fn judge_certain(rules: &Rules, text: &str, hint: Hint) -> Option<String> {
    let first = certain::first_word(text).filter(|_| text.len() <= read::MAX_BYTES)?;
    let tokens = read::plain_tokens(text);
    let refused = judge_words(rules, &tokens);
    if refused.is_some() || !certain::is_written_as_sql(first, &tokens, hint) {
        return refused;
    }
    let readings = rules.dialects.readings(text).ok()?;
    readings.iter().find_map(|statements| judge::judge(rules, statements))
}

/// What is certain by its words alone, whether a parser reads it or not.
fn judge_words(rules: &Rules, tokens: &[Token]) -> Option<String> {
    if certain::file_words(tokens) {
        rules.refuse(Deed::new(Class::File, "it reads or writes files of the server"))
    } else if certain::program_words(tokens) {
        rules.refuse(Deed::new(Class::Program, "it runs what nobody sees here"))
    } else {
        None
    }
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests;
