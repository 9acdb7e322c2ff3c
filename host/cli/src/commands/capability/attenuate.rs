//! `capability attenuate`: a narrower token for somebody else. The parent's grants, with what was typed put in; whether that is
//! narrower is the kernel's to say.

use chio_host_kernel::canonical::{self, Bounds, MAX_INTEGER, printable};
use chio_host_kernel::capability::{ANY, CapabilityToken, Constraint, Grant, Narrower, Operation, Scope};
use chio_host_kernel::money::{Currency, Money};

use crate::args::AttenuateArgs;
use crate::error::CliError;
use crate::folders::Folders;
use crate::keys::Keys;
use crate::wallet;

pub(super) fn derive(folders: &Folders, args: &AttenuateArgs, now: u64) -> Result<CapabilityToken, CliError> {
    let path = &args.token;
    let parent = wallet::read(path)?;
    parent.verify().map_err(|error| CliError::Capability { path: path.clone(), error })?;
    let holder = Keys::agent(&folders.keys, &args.holder.name)?;
    let wide = parent.body();
    let mut grants = match args.tool.as_slice() {
        [] => wide.scope.grants.clone(),
        tools => tools.iter().map(|tool| of_tool(&wide.scope, tool)).collect::<Result<Vec<_>, _>>()?.concat(),
    };
    let constraints = constraints(args)?;
    for grant in &mut grants {
        narrow(grant, args, &constraints)?;
    }
    let narrower = Narrower {
        id: wallet::new_id(),
        subject: Keys::subject(&folders.keys, &args.to)?,
        scope: Scope { grants },
        issued_at: now.max(wide.issued_at),
        expires_at: args.ttl.map_or(wide.expires_at, |ttl| now.saturating_add(ttl.as_secs())),
    };
    if narrower.expires_at <= narrower.issued_at {
        return Err(CliError::path(
            path,
            "nothing derived from it would ever be good: its time is over, or --ttl is 0",
        ));
    }
    parent.attenuate(narrower, &holder).map_err(|error| CliError::Attenuation { path: path.clone(), error })
}

/// The parent's grants for a tool, or for all tools of a server, under the name that was typed. Where it has none, one that the
/// kernel refuses.
fn of_tool(parent: &Scope, typed: &str) -> Result<Vec<Grant>, CliError> {
    let wrong = || CliError::Usage(format!("--tool {}: SERVER/TOOL is needed", printable(typed, 80)));
    let (server, tool) = typed.split_once('/').filter(|(s, t)| !s.is_empty() && !t.is_empty()).ok_or_else(wrong)?;
    let named = |grant: &Grant| Grant { server_id: server.to_owned(), tool_name: tool.to_owned(), ..grant.clone() };
    let any = Operation::Invoke;
    if server != ANY && tool != ANY {
        let selected = parent.select(server, tool, any).map(|(_, grant)| named(grant));
        return Ok(vec![selected.unwrap_or_else(|| bare(server, tool))]);
    }
    let within = |own: &str, other: &str| own == ANY || own == other;
    let mut found: Vec<_> =
        parent.grants.iter().filter(|g| within(server, &g.server_id) && within(tool, &g.tool_name)).cloned().collect();
    let is_named = |grant: &Grant| grant.server_id == server && grant.tool_name == tool;
    if !found.iter().any(is_named) {
        let wider = parent.grants.iter().filter(|g| within(&g.server_id, server) && within(&g.tool_name, tool));
        found.extend(wider.max_by_key(|g| g.server_id != ANY).map(named));
    }
    if found.is_empty() {
        found.push(bare(server, tool));
    }
    Ok(found)
}

fn bare(server: &str, tool: &str) -> Grant {
    Grant {
        server_id: server.to_owned(),
        tool_name: tool.to_owned(),
        operations: vec![Operation::Invoke],
        constraints: Vec::new(),
        max_invocations: None,
        max_cost_per_invocation: None,
        max_total_cost: None,
        dpop_required: None,
    }
}

fn constraints(args: &AttenuateArgs) -> Result<Vec<Constraint>, CliError> {
    let mut constraints: Vec<_> = args.path_prefix.iter().map(|prefix| Constraint::path_prefix(prefix)).collect();
    for text in &args.constraint {
        let wrong = |why: String| CliError::Usage(format!("--constraint {}: {why}", printable(text, 120)));
        let value = canonical::parse(text.as_bytes(), Bounds::ARGUMENTS).map_err(|e| wrong(e.to_string()))?;
        let constraint = serde_json::from_value(value);
        constraints
            .push(constraint.map_err(|e| wrong(format!("{e}; such as {{\"type\":\"max_length\",\"value\":100}}")))?);
    }
    for constraint in &constraints {
        constraint.check().map_err(|unmet| CliError::Usage(unmet.to_string()))?;
    }
    Ok(constraints)
}

fn narrow(grant: &mut Grant, args: &AttenuateArgs, constraints: &[Constraint]) -> Result<(), CliError> {
    for constraint in constraints {
        grant.constraints.retain(|stands| !takes_the_place_of(constraint, stands));
        grant.constraints.push(constraint.clone());
    }
    grant.max_invocations = args.max_invocations.or(grant.max_invocations);
    let known = [&grant.max_total_cost, &grant.max_cost_per_invocation].into_iter().flatten().next();
    let currency = known.map(|money| money.currency.clone());
    let cap = |typed: &Option<String>, option: &str| {
        typed.as_ref().map(|text| money(text, option, currency.as_ref())).transpose()
    };
    let (total, each) = (
        cap(&args.max_total_cost, "--max-total-cost")?,
        cap(&args.max_cost_per_invocation, "--max-cost-per-invocation")?,
    );
    grant.max_total_cost = total.or_else(|| grant.max_total_cost.take());
    grant.max_cost_per_invocation = each.or_else(|| grant.max_cost_per_invocation.take());
    if args.no_delegate {
        grant.operations.retain(|operation| *operation != Operation::Delegate);
    }
    Ok(())
}

/// Whether a constraint says anew what another says of the same argument, so that a wider one is refused, and not merely without
/// effect.
fn takes_the_place_of(new: &Constraint, stands: &Constraint) -> bool {
    const BY_DEGREES: [&str; 4] = ["path_prefix", "max_length", "max_args_size", "require_approval_above"];
    let argument = |constraint: &Constraint| constraint.value.get("argument").cloned();
    new.kind == stands.kind && BY_DEGREES.contains(&new.kind.as_str()) && argument(new) == argument(stands)
}

/// `500` in the currency that the grant's caps are in already, or `500 USD`.
fn money(text: &str, option: &str, known: Option<&Currency>) -> Result<Money, CliError> {
    let wrong = |why: &str| CliError::Usage(format!("{option} {}: {why}", printable(text, 40)));
    let (units, currency) = text.trim().split_once(' ').map_or((text.trim(), None), |(u, c)| (u, Some(c.trim())));
    let units = units.parse().ok().filter(|units| *units <= MAX_INTEGER);
    let units = units.ok_or_else(|| wrong("minor units are needed, such as 500, or \"500 USD\""))?;
    let currency = match currency {
        Some(code) => Currency::try_from(code.to_owned()).map_err(|e| wrong(&e.to_string()))?,
        None => known
            .cloned()
            .ok_or_else(|| wrong("the grant has no cap whose currency could be meant; say it, such as \"500 USD\""))?,
    };
    Ok(Money { units, currency })
}
