//! `plugin test`: a component's fixtures, a line each, and what differs.

use std::io::IsTerminal;

use chio_host_kernel::canonical::printable;
use chio_host_policy::fixtures::ExampleOf;
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::{Common, Format, TestArgs};
use crate::error::CliError;
use crate::fixtures::{self, CaseReport, Report, Subject};
use crate::folders::Folders;
use crate::host;
use crate::keys::Keys;
use crate::plugins;
use crate::print;

/// The longest value in a difference, in bytes.
const MAX_SHOWN: usize = 2048;

pub(super) fn run(common: &Common, args: &TestArgs) -> Result<Outcome, CliError> {
    let subject = super::subject(args.component.as_deref())?;
    let fixtures = subject.fixtures(args.fixtures.as_deref())?.ok_or_else(|| subject.no_fixtures())?;
    let folders = Folders::of(common)?;
    let runtime = plugins::runtime(&folders.cache, *Keys::cache(&folders.keys)?, 1)?;
    let report = host::block_on(async {
        let ran = fixtures::run(&runtime, &subject, &fixtures).await;
        ran.map_err(|e| CliError::Plugin(format!("{}: {e}", subject.shown)))
    })?;
    match common.format {
        Format::Human => print::text(&human(&subject, &report, Paint::of_stdout()))?,
        Format::Json => print::document(common.format, &document(&subject, &report))?,
    }
    Ok(if report.failed() == 0 { Outcome::Done } else { Outcome::Failed })
}

/// Colour, for those who can see it.
#[derive(Clone, Copy)]
enum Paint {
    Colour,
    Plain,
}

impl Paint {
    fn of_stdout() -> Self {
        let asked_not_to = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if std::io::stdout().is_terminal() && !asked_not_to { Self::Colour } else { Self::Plain }
    }

    fn green(self, text: &str) -> String {
        self.painted("32", text)
    }

    fn red(self, text: &str) -> String {
        self.painted("31", text)
    }

    fn painted(self, code: &str, text: &str) -> String {
        match self {
            Self::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}

fn human(subject: &Subject, report: &Report, paint: Paint) -> String {
    let mut lines = vec![format!("{} ({})", printable(&subject.shown, 4096), subject.inspection.kind)];
    for case in &report.cases {
        if case.passed() {
            lines.push(format!("  {}    {}", paint.green("ok"), case.name));
            continue;
        }
        lines.push(format!("  {}  {} (line {})", paint.red("FAIL"), case.name, case.line));
        for difference in &case.differences {
            let (expected, got) = (printable(&difference.expected, MAX_SHOWN), printable(&difference.got, MAX_SHOWN));
            lines.push(format!("        {}", difference.what));
            lines.push(format!("          {}", paint.green(&format!("- expected {expected}"))));
            lines.push(format!("          {}", paint.red(&format!("+ got      {got}"))));
        }
    }
    let (failed, all) = (report.failed(), report.cases.len());
    let summary = format!("{} passed, {failed} failed", all - failed);
    lines.push(if failed == 0 { paint.green(&summary) } else { paint.red(&summary) });
    lines.join("\n") + "\n"
}

fn document(subject: &Subject, report: &Report) -> Value {
    let case = |case: &CaseReport| {
        let differences: Vec<_> =
            case.differences.iter().map(|d| json!({ "what": d.what, "expected": d.expected, "got": d.got })).collect();
        let (attack, harmless) = match &case.example_of {
            Some(ExampleOf::Attack(kind)) => (Some(kind), None),
            Some(ExampleOf::Harmless(kind)) => (None, Some(kind)),
            None => (None, None),
        };
        json!({
            "name": case.name, "attack": attack, "harmless": harmless, "line": case.line, "passed": case.passed(), "verdict": case.answer.verdict.as_str(),
            "reason": case.answer.reason, "details": case.answer.details, "fuel": case.answer.fuel, "differences": differences,
        })
    };
    json!({
        "component": subject.shown,
        "world": subject.inspection.kind.as_str(),
        "digest": subject.inspection.digest,
        "passed": report.cases.len() - report.failed(),
        "failed": report.failed(),
        "cases": report.cases.iter().map(case).collect::<Vec<_>>(),
    })
}
