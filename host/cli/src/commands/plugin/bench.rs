//! `plugin bench`: what a component costs.

use std::time::Duration;

use chio_host_runtime::Allocation;
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::{BenchArgs, Common, Format};
use crate::error::CliError;
use crate::fixtures::{self, Bench, Measured, Subject};
use crate::host;
use crate::print;

pub(super) fn run(common: &Common, args: &BenchArgs) -> Result<Outcome, CliError> {
    let subject = super::subject(args.component.as_deref())?;
    let fixtures = subject.fixtures(args.fixtures.as_deref())?;
    let calls = usize::try_from(args.calls).unwrap_or(usize::MAX);
    let bench = host::block_on(fixtures::bench(&subject, fixtures, calls))?;
    match common.format {
        Format::Json => print::document(common.format, &document(&subject, &bench, calls))?,
        Format::Human => {
            print::fields(
                common.format,
                &[
                    ("component", json!(subject.shown)),
                    ("world", json!(subject.inspection.kind.as_str())),
                    ("bytes", json!(subject.inspection.size)),
                    ("runs", json!(allocation(bench.allocation).unwrap_or("nobody knows where"))),
                    (
                        "load",
                        json!(format!("{} cold, {} from the cache", shown(bench.load_cold), shown(bench.load_cached))),
                    ),
                    ("calls", json!(format!("{calls} of each, an instance and all"))),
                ],
            )?;
            let rows: Vec<_> = bench.cases.iter().map(row).collect();
            print::text("\n")?;
            print::table(["P50", "P99", "FUEL", "CASE", "ANSWER"], &rows)?;
        }
    }
    Ok(Outcome::Done)
}

fn allocation(allocation: Option<Allocation>) -> Option<&'static str> {
    allocation.map(|allocation| match allocation {
        Allocation::Pooled => "in the pool",
        Allocation::OnDemand => "on demand, beside the pool",
    })
}

fn row(case: &Measured) -> [String; 5] {
    let fuel = case.fuel.map_or_else(|| "-".to_owned(), |fuel| fuel.to_string());
    let time = |time: Option<Duration>| time.map_or_else(|| "-".to_owned(), shown);
    [time(case.p50), time(case.p99), fuel, case.name.clone(), case.answer.clone()]
}

/// With three digits or so.
fn shown(time: Duration) -> String {
    match time.as_micros() {
        micros @ 0..10_000 => format!("{micros} us"),
        micros @ 10_000..10_000_000 => format!("{} ms", micros / 1000),
        micros => format!("{} s", micros / 1_000_000),
    }
}

fn document(subject: &Subject, bench: &Bench, calls: usize) -> Value {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let case = |case: &Measured| {
        json!({
            "name": case.name, "answer": case.answer, "p50_us": case.p50.map(micros),
            "p99_us": case.p99.map(micros),
            "fuel": case.fuel,
        })
    };
    json!({
        "component": subject.shown,
        "world": subject.inspection.kind.as_str(),
        "digest": subject.inspection.digest,
        "bytes": subject.inspection.size,
        "runs": allocation(bench.allocation),
        "load_cold_us": micros(bench.load_cold),
        "load_cached_us": micros(bench.load_cached),
        "calls": calls,
        "cases": bench.cases.iter().map(case).collect::<Vec<_>>(),
    })
}
