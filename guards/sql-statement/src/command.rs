//! SQL that a command hands to a database.

use command_lines::{Pipeline, Simple, TooMany, every_pipeline, unwrap};

use crate::certain::Hint;
use crate::rules::Rules;
use crate::{judge_certain, read};

/// A command longer than this, in bytes, is refused: nobody can read it.
const MAX_BYTES: usize = 256 << 10;

/// Programs that send what they are given to a database.
const CLIENTS: &[&str] = &[
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "duckdb",
    "clickhouse-client",
    "clickhouse",
    "sqlcmd",
    "cockroach",
    "mycli",
    "pgcli",
    "litecli",
    "usql",
    "snowsql",
    "bq",
    "trino",
    "presto",
    "beeline",
    "spark-sql",
    "turso",
];

/// Why a line for a shell is refused, if it is.
pub(crate) fn line(rules: &Rules, line: &str) -> Option<String> {
    if line.len() > MAX_BYTES {
        return Some(format!("a command is refused: it is longer than {MAX_BYTES} bytes"));
    }
    match every_pipeline(line) {
        Ok(pipelines) => pipelines.iter().find_map(|pipeline| judge(rules, pipeline)),
        Err(TooMany) => Some("a command is refused: it holds commands within commands, too many to read".to_owned()),
    }
}

/// Why an argument vector is refused, if it is.
pub(crate) fn words(rules: &Rules, words: &[String]) -> Option<String> {
    if let [only] = words {
        return line(rules, only);
    }
    let command = Simple { words: words.to_vec(), ..Simple::default() };
    let own = judge(rules, &Pipeline { commands: vec![command] });
    own.or_else(|| unwrap(words).lines.iter().find_map(|nested| line(rules, nested)))
}

/// Where a database's client is in the pipe, each word and input of its commands may reach it.
fn judge(rules: &Rules, pipeline: &Pipeline) -> Option<String> {
    let is_client = |command: &Simple| CLIENTS.contains(&unwrap(&command.words).name.as_str());
    if !pipeline.commands.iter().any(is_client) {
        return None;
    }
    pipeline.commands.iter().find_map(|command| handed(rules, command))
}

/// A command next to a database's client: each of its words, and what it reads.
fn handed(rules: &Rules, command: &Simple) -> Option<String> {
    command.words.iter().chain(&command.stdin).find_map(|word| {
        // `--command=DROP …`, `-cDROP …`.
        let glued = word.split_once('=').filter(|(option, _)| option.starts_with('-')).map(|(_, value)| value);
        let short = word.get(2..).filter(|_| word.starts_with('-') && !word.starts_with("--"));
        [Some(word.as_str()), glued, short]
            .into_iter()
            .flatten()
            .filter(|text| text.len() <= read::MAX_BYTES)
            .find_map(|text| judge_certain(rules, text, Hint::Query))
    })
}
