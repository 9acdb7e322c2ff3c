//! Tool servers: components that offer tools, with the host's imports and the folders they were granted.

pub(crate) mod describe;
pub(crate) mod effect;
#[cfg(test)]
mod files_tests;
mod host;
#[cfg(test)]
mod http_tests;
mod output;
mod own_thread;
#[cfg(test)]
mod plain_tests;
mod settings;
pub(crate) mod state;
mod stdio;
mod task;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::admission::Committed;
use chio_host_kernel::call::EffectClass;
use chio_host_kernel::facts::ArgumentFact;
use chio_host_kernel::operation::{Component, Role};
use chio_host_kernel::ports::{
    BoxFuture, Entry, Fault, Invocation, Ran, Stop, ToolDescription, ToolError, ToolRan, ToolServer,
};
use tokio::time::Instant;
use wasmtime::component::{InstancePre, Linker};

use self::state::{Plugged, ToolState};
use self::task::{Enter, Task};
use crate::answer;
use crate::bindings::server::ToolServerPre;
use crate::engines::Allocation;
use crate::error::{LoadError, one_line};
use crate::files::FileGrant;
use crate::inspect::Kind;
use crate::limits::Limits;
use crate::outbound::{Grants, Outbound};
use crate::places::{Place, Turnstile, no_place};
use crate::plain::{Functions, plain_functions};
use crate::plugin::{Plugin, check_world};
use crate::run::Run;
use crate::runtime::{Compiled, Runtime};

/// What a tool server may reach. Nothing by default.
#[derive(Debug, Default)]
pub struct Permissions {
    /// The folders that it may open.
    pub files: Vec<FileGrant>,
    /// What it may send.
    pub outbound: Outbound,
    /// The environment variables that it sees: names and values.
    pub environment: Vec<(String, String)>,
}

impl From<Vec<FileGrant>> for Permissions {
    fn from(files: Vec<FileGrant>) -> Self {
        Self { files, ..Self::default() }
    }
}

/// What a manifest or a policy says of tools beside what their server says. Nothing by default.
#[derive(Clone, Debug, Default)]
pub struct Described {
    /// For each tool, which argument is what.
    pub arguments: BTreeMap<String, Vec<ArgumentFact>>,
    /// For each tool, what it does, in place of the server's own words.
    pub descriptions: BTreeMap<String, String>,
}

impl From<BTreeMap<String, Vec<ArgumentFact>>> for Described {
    fn from(arguments: BTreeMap<String, Vec<ArgumentFact>>) -> Self {
        Self { arguments, descriptions: BTreeMap::new() }
    }
}

/// How a server's tools are entered.
enum Doors {
    /// All by its `call`.
    Serving(ToolServerPre<ToolState>),
    /// Each by a function of its own.
    Plain(InstancePre<ToolState>, Functions),
}

/// Why a tool was not entered.
enum NotEntered {
    /// The call was stopped.
    Stopped(Fault),
    /// Its arguments are not what the tool takes.
    Arguments(String),
}

impl From<Fault> for NotEntered {
    fn from(fault: Fault) -> Self {
        Self::Stopped(fault)
    }
}

/// A tool server in the sandbox. Every call has an instance of its own.
pub struct WasmToolServer {
    component: Component,
    tools: Vec<ToolDescription>,
    arguments: BTreeMap<String, Vec<ArgumentFact>>,
    effect_class: EffectClass,
    allocation: Allocation,
    files: Vec<FileGrant>,
    outbound: Arc<Grants>,
    environment: Vec<(String, String)>,
    config: Arc<str>,
    limits: Limits,
    turnstile: Turnstile,
    doors: Doors,
}

impl WasmToolServer {
    /// Compiles, checks and links a tool server. One of the world `tool-server` is asked for its tools; the functions of one
    /// of no world of this host's are its tools. `permissions` are what it may reach, `described` is what others say of its
    /// tools.
    ///
    /// # Errors
    /// A component that is no tool server, imports what the host does not offer, or describes its tools with the help of
    /// an import or in a way that no client could use; a word about a tool that it does not have; a secret that fits no
    /// header.
    pub async fn load(
        runtime: &Runtime,
        plugin: &Plugin<'_>,
        permissions: impl Into<Permissions>,
        described: impl Into<Described>,
    ) -> Result<Self, LoadError> {
        let Permissions { files, outbound, environment } = permissions.into();
        let outbound = Arc::new(Grants::new(format!("servers.{}", plugin.name), outbound)?);
        let compiled = runtime.compile(plugin.bytes, &plugin.limits).await?;
        let kind = compiled.inspection.kind;
        check_world(&compiled.inspection, &[Kind::ToolServer, Kind::Plain])?;
        effect::check_imports(&compiled.inspection, effect::OWN)?;
        let types = |e: wasmtime::Error| LoadError::Types(kind, one_line(&e));
        let mut linker = Linker::new(compiled.places.engine());
        state::link(&mut linker).map_err(types)?;
        settings::link(&mut linker, &compiled.inspection, plugin.config)?;
        let pre = linker.instantiate_pre(&compiled.component).map_err(types)?;
        let (mut tools, doors) = if kind == Kind::Plain {
            let (tools, functions) = plain_functions(plugin.bytes)?.of(&compiled.component)?;
            (tools, Doors::Plain(pre, functions))
        } else {
            let tools = describe::ask(&compiled, &plugin.limits).await?;
            (tools, Doors::Serving(ToolServerPre::new(pre).map_err(types)?))
        };
        let arguments = tell(&mut tools, described.into())?;
        let Compiled { inspection, places, allocation, .. } = compiled;
        Ok(Self {
            component: plugin.component(Role::ToolServer, &inspection),
            effect_class: effect::class(&inspection, &files, &outbound, &environment),
            tools,
            arguments,
            allocation,
            files,
            outbound,
            environment,
            config: plugin.configuration(),
            limits: plugin.limits,
            turnstile: Turnstile::new(&plugin.limits, &places),
            doors,
        })
    }

    /// Where its runs get their memory from.
    #[must_use]
    pub fn allocation(&self) -> Allocation {
        self.allocation
    }

    /// One run. Whatever ends it before the instance is made leaves the tool never entered.
    async fn run(&self, invocation: Invocation) -> ToolRan {
        match self.admit(&invocation).await {
            Err(not_entered) => {
                let outcome = match not_entered {
                    NotEntered::Stopped(fault) => Err(fault),
                    NotEntered::Arguments(why) => {
                        Ok(Err(ToolError::InvalidArguments(answer::lines(&why, answer::MAX_MESSAGE))))
                    }
                };
                ToolRan { entry: Entry::Never, ran: Ran { outcome, fuel: 0 } }
            }
            Ok((place, task)) => {
                // Only a call that can reach files has anything to wait for once its guest is stopped.
                let ran = if self.effect_class == EffectClass::Pure || self.files.is_empty() {
                    let ran = task.run().await;
                    drop(place);
                    ran
                } else {
                    own_thread::run(task, place).await
                };
                ToolRan { entry: Entry::Entered, ran }
            }
        }
    }

    /// Everything that may fail before the tool is entered.
    async fn admit(&self, invocation: &Invocation) -> Result<(Place, Task), NotEntered> {
        let deadline = invocation.deadline.min(self.limits.deadline);
        let run = Run { limits: &self.limits, deadline };
        let (now, late) = (Instant::now(), || run.fault(Stop::Deadline, "the deadline was exceeded"));
        let tool = &invocation.snapshot.tool;
        if !self.tools.iter().any(|known| known.name == *tool) {
            return Err(Fault::new(Stop::Host, &format!("the server has no tool \"{tool}\"")).into());
        }
        if deadline.is_zero() {
            return Err(late().into());
        }
        let enter = self.enter(invocation)?;
        let until = now + deadline;
        let place = self
            .turnstile
            .enter(until, invocation.snapshot.depth)
            .await
            .ok_or_else(|| no_place(&self.limits, deadline))?;
        if Instant::now() >= until {
            return Err(late().into());
        }
        let plugged = Plugged {
            name: &self.component.name,
            config: &self.config,
            limits: &self.limits,
            files: &self.files,
            outbound: &self.outbound,
            environment: &self.environment,
        };
        let request_id = invocation.snapshot.request_id.as_str();
        let state =
            ToolState::new(&plugged, request_id, invocation.signals.clone())?.calling(invocation.nested.clone());
        Ok((place, Task { enter, state, limits: self.limits, until, deadline }))
    }

    /// What is called, and with what.
    fn enter(&self, invocation: &Invocation) -> Result<Enter, NotEntered> {
        let call = &invocation.snapshot;
        Ok(match &self.doors {
            Doors::Serving(pre) => Enter::Serving {
                pre: pre.clone(),
                snapshot: call.clone(),
                operation_id: invocation.operation_id.clone(),
            },
            Doors::Plain(pre, functions) => {
                let function = functions.get(&call.tool).cloned();
                let function = function.ok_or_else(|| Fault::new(Stop::Host, "the tool has no function"))?;
                let arguments = function.arguments(call.arguments.value()).map_err(NotEntered::Arguments)?;
                Enter::Plain { pre: pre.clone(), function, arguments }
            }
        })
    }
}

/// Puts the descriptions of a manifest in place of the server's; returns what it says of arguments.
fn tell(tools: &mut [ToolDescription], described: Described) -> Result<BTreeMap<String, Vec<ArgumentFact>>, LoadError> {
    let Described { arguments, descriptions } = described;
    if let Some(unknown) = arguments.keys().find(|tool| !tools.iter().any(|t| t.name == **tool)) {
        return Err(LoadError::UnknownTool(unknown.clone()));
    }
    for (tool, text) in descriptions {
        match tools.iter_mut().find(|t| t.name == tool) {
            Some(told) => told.description = answer::lines(&text, describe::MAX_DESCRIPTION),
            None => return Err(LoadError::UnknownTool(tool)),
        }
    }
    Ok(arguments)
}

impl ToolServer for WasmToolServer {
    fn component(&self) -> &Component {
        &self.component
    }

    fn tools(&self) -> &[ToolDescription] {
        &self.tools
    }

    fn effect_class(&self) -> EffectClass {
        self.effect_class
    }

    fn secrets(&self) -> &[String] {
        self.outbound.secret_names()
    }

    fn argument_facts(&self, tool: &str) -> &[ArgumentFact] {
        self.arguments.get(tool).map_or(&[], Vec::as_slice)
    }

    fn deadline(&self) -> Duration {
        self.limits.deadline
    }

    fn fuel_limit(&self) -> u64 {
        self.limits.fuel
    }

    fn call(&self, committed: Committed, invocation: Invocation) -> BoxFuture<'_, ToolRan> {
        let is_this = committed.operation().as_str() == invocation.operation_id;
        drop(committed);
        Box::pin(async move {
            if is_this {
                return self.run(invocation).await;
            }
            let fault = Fault::new(Stop::Host, "the commit is another operation's");
            ToolRan { entry: Entry::Never, ran: Ran { outcome: Err(fault), fuel: 0 } }
        })
    }
}
