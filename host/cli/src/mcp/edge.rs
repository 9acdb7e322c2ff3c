//! What a client may ask for: the tools, and calls of them. No resources, no prompts.

use std::sync::Arc;

use chio_host_kernel::canonical::printable;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use uuid::Uuid;

use super::answer::{answer, failed, visit_first};
use super::asking::Asking;
use super::follow::{Calls, Lost, MAX_CALLS, Waits, follow};
use super::progress::Words;
use super::{Offer, Session};

const INSTRUCTIONS: &str = "Every call of a tool is mediated: it is checked against a capability and a policy before it \
                            runs, and its output before it is returned. A denial says who refused and carries the id of \
                            a signed receipt.";

/// One session with one client.
pub(super) struct Edge {
    with: Session,
    session: Uuid,
    calls: Calls,
}

impl Edge {
    pub(super) fn new(with: Session) -> Self {
        Self { with, session: Uuid::now_v7(), calls: Calls::new() }
    }

    /// What is offered at this moment.
    fn offer(&self) -> Arc<Offer> {
        self.with.offers.borrow().clone()
    }

    /// The calls under way.
    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }
}

impl ServerHandler for Edge {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build())
            .with_server_info(Implementation::new("chio-host", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.offer().catalog.tools().to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let offer = self.offer();
        let Offer { kernel, tokens, catalog } = &*offer;
        let words = if kernel.plugins().hooks.is_empty() { Words::Told } else { Words::Withheld };
        let resolved = catalog.resolve(&request.name).ok_or_else(|| unknown(&request.name))?;
        let Some(place) = self.calls.enter() else {
            return Ok(failed(format!("busy: {MAX_CALLS} calls are under way; try again later")).into());
        };
        let asking = Asking {
            session: self.session,
            id: &context.id,
            meta: &context.meta,
            target: resolved.target,
            arguments: request.arguments.unwrap_or_default(),
        };
        // A proof by the client is good for this moment, and cannot be renewed here.
        let most = self.with.wait_for_approval.filter(|_| !asking.brings_a_proof());
        let call = match asking.into_call(&**tokens) {
            Ok(call) => call,
            Err(why) => return Ok(failed(why.to_string()).into()),
        };
        let waits = most.map(|most| Waits { most, tokens: tokens.clone() });
        let followed = follow(kernel, call, (place, &self.calls), &context, words, waits).await;
        let lost = |lost: Lost| ErrorData::internal_error(lost.to_string(), None);
        let response = followed.map_err(lost)?;
        if !response.elicitations.is_empty() {
            return Err(visit_first(&response));
        }
        let awaits = kernel.awaits_human(&response).map_err(|error| lost(error.into()))?;
        Ok(answer(&response, awaits.as_ref(), resolved.output_schema).into())
    }

    /// The SDK gives here what it cannot read as a request that it knows, a misshapen `tools/call` among them.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if matches!(request.method.as_str(), "tools/call" | "tools/list" | "initialize") {
            let why = "the parameters do not fit the method; a tools/call has a name, and arguments that are an object";
            return Err(ErrorData::invalid_params(why, None));
        }
        let method = printable(&request.method, 64);
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("the method {method} is not offered"), None))
    }
}

fn unknown(name: &str) -> ErrorData {
    let name = printable(name, 64);
    ErrorData::invalid_params(format!("\"{name}\" names no tool; names are spelt server__tool"), None)
}
