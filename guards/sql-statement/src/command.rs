//! SQL that a command hands to a database.

use command_lines::{Simple, lex, unwrap};

use crate::certain::Hint;
use crate::rules::Rules;
use crate::{judge_certain, read};

/// A command longer than this, in bytes, is not read: the guard `shell-command` refuses it.
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
        return None;
    }
    let mut lines = vec![line.to_owned()];
    for _ in 0..64 {
        let Some(line) = lines.pop() else { break };
        for pipeline in lex(&line) {
            let names: Vec<_> = pipeline.commands.iter().map(|command| unwrap(&command.words)).collect();
            let has_client = names.iter().any(|command| CLIENTS.contains(&command.name.as_str()));
            let refused = pipeline.commands.iter().filter(|_| has_client).find_map(|command| judge(rules, command));
            if refused.is_some() {
                return refused;
            }
            lines.extend(names.into_iter().flat_map(|command| command.lines));
            lines.extend(pipeline.commands.into_iter().flat_map(|command| command.inner).map(|inner| inner.line));
        }
    }
    None
}

/// Why an argument vector is refused, if it is.
pub(crate) fn words(rules: &Rules, words: &[String]) -> Option<String> {
    if let [only] = words {
        return line(rules, only);
    }
    let effective = unwrap(words);
    let is_client = CLIENTS.contains(&effective.name.as_str());
    let command = Simple { words: words.to_vec(), ..Simple::default() };
    let own = if is_client { judge(rules, &command) } else { None };
    own.or_else(|| effective.lines.iter().find_map(|nested| line(rules, nested)))
}

/// A command next to a database's client: each of its words, and what it reads.
fn judge(rules: &Rules, command: &Simple) -> Option<String> {
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
