//! `check`: would this call be let in? No hold is taken and no tool runs; the answer is signed and recorded.

use chio_host_kernel::call::Mode;
use serde_json::json;

use super::target;
use crate::Outcome;
use crate::args::{CheckArgs, CheckMode, Common};
use crate::error::CliError;
use crate::folders::Folders;
use crate::host::{self, Host};
use crate::print;

pub(crate) fn run(common: &Common, args: CheckArgs) -> Result<Outcome, CliError> {
    let mode = mode(&args)?;
    let CheckArgs { target, .. } = args;
    let folders = Folders::of(common)?;
    let source = target::source(&target);
    host::block_on(async {
        let host = Host::open(&folders, &source).await?;
        if matches!(mode, Mode::Preflight) && host.rules().has_hooks() {
            return Err(CliError::Usage(format!(
                "{}: this policy has output hooks, and a preflight check has no output to show them; use --mode full \
                 with --output-fixture FILE",
                target.policy.display()
            )));
        }
        let full = matches!(mode, Mode::Full { .. });
        let call = target::call(&host, &target, mode)?;
        let response = host.rules().kernel.evaluate(&call).await?;
        let mut fields = target::fields(&host, &target, &response);
        fields.push(("mode", json!(if full { "full" } else { "preflight" })));
        fields.push(("fixture", json!(full)));
        if let Some(output) = response.output.as_ref().filter(|_| full) {
            fields.push(("output", output.value.clone()));
        }
        host.close().await;
        print::fields(common.format, &fields)?;
        Ok(target::outcome(&response))
    })
}

fn mode(args: &CheckArgs) -> Result<Mode, CliError> {
    match (args.mode, &args.output_fixture) {
        (CheckMode::Preflight, None) => Ok(Mode::Preflight),
        (CheckMode::Full, Some(path)) => Ok(Mode::Full { fixture: target::fixture(path)? }),
        (CheckMode::Preflight, Some(_)) => {
            Err(CliError::Usage("--output-fixture is for --mode full; a preflight check looks at no output".into()))
        }
        (CheckMode::Full, None) => Err(CliError::Usage(
            "--mode full shows the hooks a tool's output: give one with --output-fixture FILE".into(),
        )),
    }
}
