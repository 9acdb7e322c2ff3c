//! `receipt verify`: ids, signatures, and the log that holds them together.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use chio_host_kernel::canonical::printable;
use chio_host_kernel::ledger::LogEntry;
use chio_host_kernel::receipt::{self, Verified};
use serde_json::{Value, json};

use super::find;
use crate::Outcome;
use crate::args::{Common, Format};
use crate::error::CliError;
use crate::folders::Folders;
use crate::keys::Keys;
use crate::ledger::{Entry, Go, Reader};
use crate::print;

/// The longest line of an export, in bytes.
const MAX_LINE: usize = 8 << 20;

pub(super) fn run(
    common: &Common,
    id: Option<&str>,
    file: Option<&Path>,
    keys: &[String],
) -> Result<Outcome, CliError> {
    match (id, file) {
        (_, Some(path)) => of_file(common.format, path, keys),
        (Some(id), None) => of_one(common, id, keys),
        (None, None) => of_ledger(common, keys),
    }
}

/// What was verified, or what is wrong and where.
struct Report {
    verified: u64,
    problem: Option<String>,
}

impl Report {
    fn print(self, format: Format, what: &str) -> Result<Outcome, CliError> {
        match format {
            Format::Json => {
                print::document(format, &json!({ "verified": self.verified, "problem": self.problem }))?;
            }
            Format::Human => {
                let end = match &self.problem {
                    None => format!("{} verified: {what}\n", count(self.verified)),
                    Some(problem) => {
                        format!("NOT VERIFIED: {problem}\n({} before it verified)\n", count(self.verified))
                    }
                };
                print::text(&end)?;
            }
        }
        Ok(if self.problem.is_none() { Outcome::Done } else { Outcome::Failed })
    }
}

fn count(n: u64) -> String {
    format!("{n} receipt{}", if n == 1 { "" } else { "s" })
}

/// The keys that a ledger's receipts may be signed with.
fn own_keys(folders: &Folders, keys: &[String]) -> Result<Vec<String>, CliError> {
    if !keys.is_empty() {
        return Ok(keys.to_vec());
    }
    let own = Keys::kernel_key(&folders.keys)?;
    own.map(|key| vec![key]).ok_or_else(|| {
        CliError::path(&folders.keys, "no key of this host is here; say whose receipts to expect with --key HEX")
    })
}

fn accept(verified: &Verified, keys: &[String]) -> Result<(), String> {
    if keys.is_empty() || keys.contains(&verified.kernel_key) {
        Ok(())
    } else {
        Err(format!("it is signed by {}, which is not a key that was asked for", verified.kernel_key))
    }
}

fn of_one(common: &Common, id: &str, keys: &[String]) -> Result<Outcome, CliError> {
    let folders = Folders::of(common)?;
    let keys = own_keys(&folders, keys)?;
    let record = find(&Reader::open(&folders)?, id)?;
    let problem = check(&record, None, &keys).err();
    Report { verified: u64::from(problem.is_none()), problem }.print(common.format, "id and signature")
}

fn of_ledger(common: &Common, keys: &[String]) -> Result<Outcome, CliError> {
    let folders = Folders::of(common)?;
    let keys = own_keys(&folders, keys)?;
    let mut report = Report { verified: 0, problem: None };
    let mut last: Option<LogEntry> = None;
    Reader::open(&folders)?.receipts(|Entry { entry, receipt }| {
        let at = |why: String| format!("log entry {}: {why}", entry.seq);
        let expected = LogEntry::after(last.as_ref(), &entry.receipt_id);
        let found = if entry == expected {
            receipt
                .ok_or_else(|| format!("receipt {} is missing", entry.receipt_id))
                .and_then(|record| check(&record, Some(&entry.receipt_id), &keys))
        } else if entry.seq != expected.seq {
            Err(format!("a gap: {} was expected here", expected.seq))
        } else {
            Err("it does not follow from the entry before it".to_owned())
        };
        if let Err(why) = found {
            report.problem = Some(at(why));
            return Ok(Go::Stop);
        }
        report.verified += 1;
        last = Some(entry);
        Ok(Go::On)
    })?;
    report.print(common.format, "ids, signatures, and a log without gaps")
}

fn check(record: &Value, id: Option<&str>, keys: &[String]) -> Result<(), String> {
    let verified = receipt::verify(record).map_err(|e| e.to_string())?;
    if id.is_some_and(|id| id != verified.id) {
        return Err(format!("receipt {} stands where another should", verified.id));
    }
    accept(&verified, keys)
}

fn of_file(format: Format, path: &Path, keys: &[String]) -> Result<Outcome, CliError> {
    let failed = |e: std::io::Error| CliError::path(path, e);
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let mut report = Report { verified: 0, problem: None };
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let mut bounded = std::io::Read::take(&mut file, MAX_LINE as u64 + 1);
        if bounded.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            break;
        }
        if let Err(why) = check_line(&line, keys) {
            report.problem = Some(format!("{} line {number}: {why}", printable(&path.display().to_string(), 200)));
            break;
        }
        report.verified += 1;
    }
    if report.verified == 0 && report.problem.is_none() {
        report.problem = Some(format!("{} holds no receipt", path.display()));
    }
    report.print(format, "ids and signatures")
}

fn check_line(line: &[u8], keys: &[String]) -> Result<(), String> {
    let Some(line) = line.strip_suffix(b"\n") else {
        let why = if line.len() > MAX_LINE {
            "it is longer than a receipt can be"
        } else {
            "it does not end in a newline; it was cut"
        };
        return Err(why.to_owned());
    };
    let verified = receipt::verify_line(line).map_err(|e| e.to_string())?;
    accept(&verified, keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_or_padded_export_is_refused() {
        let export = include_bytes!("../../../../../tests/vectors/foreign-receipts.jsonl");
        let line = export.split_inclusive(|b| *b == b'\n').next().unwrap();
        assert_eq!(check_line(line, &[]), Ok(()));
        assert!(check_line(&line[..line.len() - 1], &[]).unwrap_err().contains("cut"));
        assert!(check_line(&[line, b"\n"].concat(), &[]).is_err());
        assert!(check_line(b"\n", &[]).is_err());
        assert!(check_line(line, &["00".repeat(32)]).unwrap_err().contains("not a key"));
    }
}
