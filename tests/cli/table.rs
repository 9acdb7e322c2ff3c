//! Tables of the pages in `docs/`, which tests make of what happened: of `limits.md` when they broke each limit and tried
//! each permission, of `guards.md` when each attack was tried on the guards.
//!
//! A test compares; with `CHIO_BLESS=1` it writes the page anew.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::support::{Done, Place, repository};

/// What became of a hostile component, as its user sees it.
#[derive(Debug)]
pub(crate) struct Met {
    /// What the error says.
    pub(crate) says: String,
    /// `metadata.chio_host.code` of the receipt, or why there is none.
    pub(crate) code: String,
    /// `metadata.chio_host.stopped.by`.
    pub(crate) stopped: Option<String>,
    /// How the command exits.
    pub(crate) exit: i32,
    /// What the tool returned.
    pub(crate) output: Value,
}

/// What stands for a code where nothing was loaded, so that there was no call.
pub(crate) const NOT_LOADED: &str = "no receipt: nothing is loaded";
/// What stands for one where the call is allowed.
pub(crate) const ALLOWED: &str = "none: the call is allowed";

impl Met {
    /// What the binary did with a call, and what its receipt says.
    pub(crate) fn of(place: &Place, done: &Done) -> Self {
        if done.stdout.is_empty() {
            done.is_error(&["error: "]);
            let says = done.stderr.trim().trim_start_matches("error: ").to_owned();
            return Self { says, code: NOT_LOADED.to_owned(), stopped: None, exit: done.code, output: Value::Null };
        }
        let answer = done.json_lines().remove(0);
        let receipt = place.run(&["receipt", "show", answer["receipt_id"].as_str().unwrap(), "--format", "json"]);
        let own = receipt.json_lines().remove(0)["metadata"]["chio_host"].take();
        Self {
            says: answer["reason"].as_str().unwrap_or_default().to_owned(),
            code: own["code"].as_str().unwrap_or(ALLOWED).to_owned(),
            stopped: own["stopped"]["by"].as_str().map(ToOwned::to_owned),
            exit: done.code,
            output: answer["output"].clone(),
        }
    }
}

/// A call of a tool under `policy.yaml`, as JSON.
pub(crate) fn call(place: &Place, server: &str, tool: &str, params: &str) -> Done {
    let target = ["--policy", "policy.yaml", "--server", server, "--tool", tool, "--params", params];
    place.run(&[&["call", "--format", "json"][..], &target].concat())
}

/// A table in Markdown, every cell of which says something.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        assert!(row.iter().all(|cell| !cell.trim().is_empty()), "an empty cell in {row:?}");
        let cells: Vec<_> = row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        writeln!(text, "| {} |", cells.join(" | ")).unwrap();
    }
    text
}

/// Something that is quoted.
pub(crate) fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Holds a part of a page of `docs/` against what it should be, or writes it. Parts stand between lines that name them.
#[track_caller]
pub(crate) fn holds(page: &str, part: &str, expected: &str) {
    // The tests of one process write one after the other.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let name = format!("docs/{page}");
    let path: PathBuf = repository(&name);
    let page = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {part}: made by tests/cli -->\n\n"), format!("\n<!-- end of {part} -->"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{name} has no part {part}"));
    let (shown, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{part} of {name} has no end"));
    if std::env::var_os("CHIO_BLESS").is_some() {
        std::fs::write(&path, [before, &begin, expected, &end, after].concat()).unwrap();
        return;
    }
    assert!(
        shown == expected,
        "{part} of {name} is not what happens; CHIO_BLESS=1 writes it.\nIt should be:\n{expected}"
    );
}
