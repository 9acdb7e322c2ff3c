//! `budget`: what accounts hold, and changes of that.

use chio_host_kernel::canonical::printable;
use serde_json::Value;

use crate::Outcome;
use crate::args::{BudgetArgs, BudgetCommand, Common, Format};
use crate::control::Request;
use crate::control::operator::Operator;
use crate::error::CliError;
use crate::folders::Folders;
use crate::host;
use crate::print;

pub(crate) fn run(common: &Common, args: BudgetArgs) -> Result<Outcome, CliError> {
    let folders = Folders::of(common)?;
    host::block_on(async {
        let operator = Operator::open(&folders, None).await?;
        let (account, request) = match args.command {
            BudgetCommand::Show { account } => {
                let accounts = operator.ask(Request::Accounts {}).await?;
                operator.close().await;
                show(common.format, accounts.as_array().map(Vec::as_slice).unwrap_or_default(), account.as_deref())?;
                return Ok(Outcome::Done);
            }
            BudgetCommand::TopUp { account, units, because } => {
                (account.clone(), Request::TopUp { account, units, because })
            }
            BudgetCommand::Limit { account, units, because } => {
                (account.clone(), Request::Limit { account, units, because })
            }
        };
        let receipt = operator.ask(request).await?;
        let accounts = operator.ask(Request::Accounts {}).await?;
        operator.close().await;
        let changed = accounts.as_array().into_iter().flatten().find(|a| a["account"] == *account);
        let mut fields = vec![print::verdict(&receipt)];
        fields.extend(changed.map(|changed| print::those(changed, &FIELDS)).unwrap_or_default());
        fields.push(print::receipt_id(&receipt));
        print::fields(common.format, &fields)?;
        Ok(Outcome::Done)
    })
}

const FIELDS: [&str; 6] = ["account", "total", "spent", "held", "free", "currency"];

fn show(format: Format, accounts: &[Value], only: Option<&str>) -> Result<(), CliError> {
    let meant: Vec<_> = accounts.iter().filter(|a| only.is_none_or(|name| a["account"] == name)).collect();
    if let (Some(name), []) = (only, meant.as_slice()) {
        let shown = printable(name, 64);
        return Err(CliError::Usage(format!("there is no account {shown}; `budget show` shows what there is")));
    }
    if format == Format::Json {
        return meant.iter().try_for_each(|account| print::document(format, account));
    }
    if meant.is_empty() {
        return print::text("There is no account; a policy's section accounts opens them.\n");
    }
    let row = |account: &&Value| {
        FIELDS.map(|name| account[name].as_str().map_or_else(|| account[name].to_string(), str::to_owned))
    };
    print::table(
        FIELDS.map(str::to_uppercase).each_ref().map(String::as_str),
        &meant.iter().map(row).collect::<Vec<_>>(),
    )
}
