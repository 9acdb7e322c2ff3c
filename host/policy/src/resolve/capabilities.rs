//! Capabilities: every server exists, every ttl is within bounds, every cap can be held to.

use chio_host_kernel::Price;
use chio_host_kernel::capability::{ANY, Grant};
use chio_host_kernel::money::{Currency, Money};
use chio_host_kernel::operation::Role;

use super::Context;
use crate::document::{CostCap, Document, GrantEntry};
use crate::policy::{CapabilityTemplate, Server, TemplateGrant};
use crate::problem::{Located, quote, suggestion};

impl Context<'_> {
    /// The capabilities, and into `servers` the built-in ones that only they name.
    pub(super) fn capabilities(
        &mut self,
        document: &Document,
        servers: &mut Vec<Server>,
    ) -> Option<Vec<CapabilityTemplate>> {
        let grants = || document.capabilities.iter().flat_map(|capability| &capability.grants);
        let invoked = document.servers.iter().flat_map(|server| &server.granted.invoke).map(|invoke| &invoke.server);
        for server in grants().filter_map(|grant| grant.server.as_ref()).chain(invoked) {
            self.find_server(server, document, servers);
        }
        let mut templates = Vec::new();
        for capability in &document.capabilities {
            let grants: Vec<_> = capability.grants.iter().map(|grant| self.grant(grant, document, servers)).collect();
            templates.push(
                grants
                    .into_iter()
                    .collect::<Option<Vec<_>>>()
                    .map(|grants| CapabilityTemplate { name: capability.name.clone(), grants }),
            );
        }
        templates.into_iter().collect()
    }

    fn find_server(&mut self, named: &Located<String>, document: &Document, servers: &mut Vec<Server>) {
        let name = named.value.as_str();
        // One that is written and could not be resolved has its own problem.
        let is_written = document.servers.iter().any(|server| server.name.value == name);
        if name == ANY || is_written || servers.iter().any(|server| server.plugin.name == name) {
            return;
        }
        if let Some(server) = self.implied_server(named) {
            servers.push(server);
        } else if self.host.builtins.find(Role::ToolServer, name).is_none() {
            let written = document.servers.iter().map(|server| server.name.value.as_str());
            let near = suggestion(name, written.chain(self.host.builtins.names(Role::ToolServer)));
            let message = format!("no server is called {}: none of `servers`, and no built-in{near}", quote(name));
            self.report.at(&named.spot, message);
        }
    }

    /// One grant; `None` when a part of it was refused.
    fn grant(&self, entry: &GrantEntry, document: &Document, servers: &[Server]) -> Option<TemplateGrant> {
        let ttl = entry.ttl_secs.as_ref();
        if let (Some(ttl), Some(max)) = (ttl, document.max_capability_ttl)
            && ttl.value > max
        {
            self.report.at(&ttl.spot, format!("{} is more than kernel.max_capability_ttl, {max}", ttl.value));
        }
        let server = entry.server.as_ref()?;
        if server.value == ANY && servers.is_empty() && document.servers.is_empty() {
            self.report.at(&server.spot, "covers nothing: the policy has no server; add one under `servers`");
        }
        let prices = Prices::of(&server.value, document, servers);
        self.check_bounded(entry, &prices);
        let per_call = entry.max_cost_per_invocation.as_ref().map(|cap| self.money(cap, &prices));
        let total = entry.max_total_cost.as_ref().map(|cap| self.money(cap, &prices));
        let grant = Grant {
            server_id: server.value.clone(),
            tool_name: entry.tool.clone()?,
            operations: entry.operations.clone(),
            constraints: entry.constraints.clone(),
            max_invocations: entry.max_invocations,
            max_cost_per_invocation: per_call.transpose().ok()?,
            max_total_cost: total.transpose().ok()?,
            dpop_required: entry.dpop_required.then_some(true),
        };
        Some(TemplateGrant { grant, ttl_secs: ttl?.value })
    }

    /// A total needs to know the most that one call can take: otherwise the last call could overrun it.
    fn check_bounded(&self, entry: &GrantEntry, prices: &Prices<'_>) {
        if let Some(total) = &entry.max_total_cost
            && entry.max_cost_per_invocation.is_none()
            && !matches!(prices, Prices::One(_) | Prices::Unknown)
        {
            let message = "nothing bounds what one call costs; add max_cost_per_invocation, or give the server a price";
            self.report.at(&total.spot, message);
        }
    }

    fn money(&self, cap: &Located<CostCap>, prices: &Prices<'_>) -> Result<Money, Refused> {
        let refuse = |message: String| {
            self.report.at(&cap.spot, message);
            Err(Refused)
        };
        match (&cap.value, prices) {
            (CostCap::Money(money), Prices::One(currency)) if money.currency != **currency => refuse(format!(
                "is in {}, and the server's price in {}; use one currency",
                money.currency.as_str(),
                currency.as_str()
            )),
            (CostCap::Money(money), _) => Ok(money.clone()),
            (CostCap::Units(units), Prices::One(currency)) => {
                Ok(Money { units: *units, currency: (*currency).clone() })
            }
            (CostCap::Units(_), Prices::Unknown) => Err(Refused),
            (CostCap::Units(units), Prices::NotAll) => refuse(format!(
                "{units} of which currency? Give the server a price, or write {{ units: {units}, currency: USD }}"
            )),
        }
    }
}

/// A cap that stands for nothing, which has been reported.
struct Refused;

/// What bounds the cost of a call of the servers that a grant covers.
enum Prices<'a> {
    /// Each has a price, all in this currency.
    One(&'a Currency),
    /// Not each has one, or they are in several currencies.
    NotAll,
    /// A server could not be resolved, so nobody can say.
    Unknown,
}

impl<'a> Prices<'a> {
    fn of(server: &str, document: &Document, servers: &'a [Server]) -> Self {
        let covers = |name: &str| server == ANY || server == name;
        let resolved: Vec<&Server> = servers.iter().filter(|s| covers(&s.plugin.name)).collect();
        let written = document.servers.iter().filter(|s| covers(&s.name.value));
        let is_unresolved = written.into_iter().any(|w| resolved.iter().all(|r| r.plugin.name != w.name.value));
        if is_unresolved || resolved.is_empty() {
            return Self::Unknown;
        }
        let prices: Option<Vec<&Price>> = resolved.iter().map(|server| server.price.as_ref()).collect();
        match prices.as_deref() {
            Some([first, rest @ ..]) if rest.iter().all(|price| price.currency == first.currency) => {
                Self::One(&first.currency)
            }
            _ => Self::NotAll,
        }
    }
}
