//! Checks on what a tool returned.

use chio_host_kernel::facts::UrlFact;
use chio_host_kernel::money::{Currency, Money};
use chio_host_kernel::ports::{Elicitation, Fault, OutputFormat, ToolError, ToolOutput};
use serde_json::Value;

use crate::answer;
use crate::bindings::server::chio::plugin::types;
use crate::bindings::server::exports::chio::plugin::serving as wit;
use crate::run::Run;

/// The most addresses that a user is sent to.
const MAX_ELICITATIONS: usize = 16;

/// A tool's output or error as the kernel sees it.
pub(super) fn check(
    answered: Result<wit::Output, wit::ToolError>,
    run: &Run<'_>,
) -> Result<Result<ToolOutput, ToolError>, Fault> {
    match answered {
        Ok(output) => self::output(output, run).map(Ok),
        Err(error) => tool_error(error).map(Err),
    }
}

fn output(output: wit::Output, run: &Run<'_>) -> Result<ToolOutput, Fault> {
    let value = answer::json(&output.value, run)?;
    let format = match output.format {
        wit::OutputFormat::Json => OutputFormat::Json,
        wit::OutputFormat::McpContent if is_content(&value) => OutputFormat::McpContent,
        wit::OutputFormat::McpContent => {
            return Err(answer::nonsense("MCP content is a list of objects that each have a `type`"));
        }
    };
    Ok(ToolOutput { value, format, cost: output.cost.map(money).transpose()? })
}

fn is_content(value: &Value) -> bool {
    value.as_array().is_some_and(|blocks| blocks.iter().all(|block| block["type"].is_string()))
}

fn money(money: types::Money) -> Result<Money, Fault> {
    let currency = Currency::try_from(money.currency).map_err(|e| answer::nonsense(&e.to_string()))?;
    Ok(Money { units: answer::integer(money.units)?, currency })
}

fn tool_error(error: wit::ToolError) -> Result<ToolError, Fault> {
    let text = |text: String| {
        let text = answer::lines(&text, answer::MAX_MESSAGE);
        if text.trim().is_empty() { "no reason given".to_owned() } else { text }
    };
    Ok(match error {
        wit::ToolError::InvalidArguments(why) => ToolError::InvalidArguments(text(why)),
        wit::ToolError::FailedBeforeEffect(why) => ToolError::FailedBeforeEffect(text(why)),
        wit::ToolError::Failed(why) => ToolError::Failed(text(why)),
        wit::ToolError::UrlElicitation(list) => {
            answer::at_most(&list, MAX_ELICITATIONS, "addresses to visit")?;
            ToolError::UrlElicitation(list.into_iter().map(elicitation).collect::<Result<_, _>>()?)
        }
    })
}

/// A client will offer the address to a human, so it is one of the web and nothing else.
fn elicitation(wanted: wit::Elicitation) -> Result<Elicitation, Fault> {
    answer::label(&wanted.id)?;
    let parsed = UrlFact::new(&wanted.url).parsed;
    let url = parsed.filter(|url| matches!(url.scheme.as_str(), "http" | "https") && !url.has_credentials);
    let url = url.ok_or_else(|| answer::nonsense("an address to visit is no plain http or https URL"))?;
    Ok(Elicitation { id: wanted.id, url: url.href, message: answer::reason(&wanted.message) })
}
