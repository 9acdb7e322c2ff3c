//! `revoke`: a capability, and everything that was derived from it, is good no more.

use serde_json::json;

use crate::Outcome;
use crate::args::{Common, RevokeArgs};
use crate::control::Request;
use crate::control::operator::Operator;
use crate::error::CliError;
use crate::folders::Folders;
use crate::host;
use crate::print;

pub(crate) fn run(common: &Common, args: RevokeArgs) -> Result<Outcome, CliError> {
    let folders = Folders::of(common)?;
    let RevokeArgs { id, because } = args;
    host::block_on(async {
        let operator = Operator::open(&folders, None).await?;
        let receipt = operator.ask(Request::Revoke { capability_id: id.clone(), because }).await?;
        operator.close().await;
        let fields = [print::verdict(&receipt), ("revoked", json!(id)), print::receipt_id(&receipt)];
        print::fields(common.format, &fields)?;
        Ok(Outcome::Done)
    })
}
