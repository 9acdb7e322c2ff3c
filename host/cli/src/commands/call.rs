//! `call`: one mediated call.

use chio_host_kernel::call::Mode;
use serde_json::json;

use super::target;
use crate::Outcome;
use crate::args::{CallArgs, Common};
use crate::error::CliError;
use crate::folders::Folders;
use crate::host::{self, Host, Source};
use crate::print;

pub(crate) fn run(common: &Common, args: CallArgs) -> Result<Outcome, CliError> {
    let target = args.target;
    let folders = Folders::of(common)?;
    let source = Source { policy: target.policy.clone(), capability: target.capability.clone() };
    host::block_on(async {
        let host = Host::open(&folders, &source).await?;
        let call = target::call(&host, &target, Mode::Call)?;
        let response = host.kernel.evaluate(&call).await?;
        let mut fields = target::fields(&host, &target, &response);
        if let Some(output) = &response.output {
            fields.push(("output", output.value.clone()));
        }
        if !response.elicitations.is_empty() {
            fields.push(("visit", json!(response.elicitations)));
        }
        print::fields(common.format, &fields)?;
        Ok(target::outcome(&response))
    })
}
