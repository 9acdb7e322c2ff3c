//! The plugins of a policy, loaded into the sandbox.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::Plugins;
use chio_host_kernel::ports::{Guard, OutputHook, PaymentRail, ToolServer};
use chio_host_policy::{self as policy, Policy, Protected};
use chio_host_runtime::{
    Access, CompiledCache, Described, FileGrant, Kind, LoadError, NetworkGrant, Outbound, Permissions, Plugin, Runtime,
    RuntimeConfig, Scheme, SecretGrant, SecretSource, WasmGuard, WasmHook, WasmRail, WasmToolServer,
};

use crate::compile;
use crate::error::CliError;
use crate::folders::Folders;
use crate::keys::Keys;

/// The runtime's own limits, in the words of a policy.
pub(crate) fn defaults() -> policy::Defaults {
    let limits = |l: chio_host_runtime::Limits| policy::Limits {
        fuel: l.fuel,
        deadline_ms: u64::try_from(l.deadline.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: l.memory_bytes,
        table_elements: l.table_elements,
        instances: l.instances,
        output_bytes: l.output_bytes,
        log_bytes: l.log_bytes,
        stdio_bytes: l.stdio_bytes,
        component_bytes: l.component_bytes,
        compile_time_ms: u64::try_from(l.compile_time.as_millis()).unwrap_or(u64::MAX),
        compile_memory_bytes: l.compile_memory_bytes,
        concurrency: l.concurrency,
    };
    policy::Defaults {
        guard: limits(chio_host_runtime::Limits::GUARD),
        hook: limits(chio_host_runtime::Limits::HOOK),
        tool: limits(chio_host_runtime::Limits::TOOL),
        rail: limits(chio_host_runtime::Limits::RAIL),
    }
}

pub(crate) fn limits(l: &policy::Limits) -> chio_host_runtime::Limits {
    chio_host_runtime::Limits {
        fuel: l.fuel,
        deadline: Duration::from_millis(l.deadline_ms),
        memory_bytes: l.memory_bytes,
        table_elements: l.table_elements,
        instances: l.instances,
        output_bytes: l.output_bytes,
        log_bytes: l.log_bytes,
        stdio_bytes: l.stdio_bytes,
        concurrency: l.concurrency,
        component_bytes: l.component_bytes,
        compile_time: Duration::from_millis(l.compile_time_ms),
        compile_memory_bytes: l.compile_memory_bytes,
    }
}

/// What a component of no world of this host's can use.
pub(crate) fn imports(bytes: &[u8]) -> Option<policy::Imports> {
    let seen = chio_host_runtime::inspect(bytes).ok().filter(|seen| seen.kind == Kind::Plain)?;
    let has = |package: &str| seen.imports.iter().any(|name| name.starts_with(package));
    Some(policy::Imports {
        files: has("wasi:filesystem/"),
        requests: has("wasi:http/"),
        environment: has("wasi:cli/environment@"),
    })
}

/// A sandbox with the cache of compiled code in this folder.
pub(crate) fn runtime(cache: &Path, key: [u8; 32], places: u32) -> Result<Arc<Runtime>, CliError> {
    let cache = CompiledCache::open(cache, key).map_err(|e| CliError::Plugin(e.to_string()))?;
    let config = RuntimeConfig { places, cache: Some(cache), compiler: compile::compiler()? };
    Runtime::new(config).map_err(|e| CliError::Plugin(e.to_string()))
}

/// Where plugins run, those of every policy that is in force one after the other.
pub(crate) struct Sandbox {
    runtime: Arc<Runtime>,
}

impl Sandbox {
    pub(crate) fn new(folders: &Folders, keys: &Keys) -> Result<Self, CliError> {
        runtime(&folders.cache, *keys.cache, RuntimeConfig::default().places).map(|runtime| Self { runtime })
    }

    /// Where they run.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Loads every plugin of a policy, in its order.
    pub(crate) async fn load(&self, policy: &Policy) -> Result<Plugins, CliError> {
        let runtime = &self.runtime;
        let mut plugins = Plugins::default();
        for plugin in &policy.guards {
            let guard = WasmGuard::load(runtime, &described(plugin)).await;
            let guard: Arc<dyn Guard> = Arc::new(guard.map_err(|e| failed("guards", plugin, &e))?);
            plugins.guards.push(guard);
        }
        for plugin in &policy.hooks {
            let hook = WasmHook::load(runtime, &described(plugin)).await;
            let hook: Arc<dyn OutputHook> = Arc::new(hook.map_err(|e| failed("hooks", plugin, &e))?);
            plugins.hooks.push(hook);
        }
        for server in &policy.servers {
            let plugin = &server.plugin;
            let permissions = Permissions {
                files: grants(server, &policy.protected)?,
                outbound: outbound(&server.outbound, policy, &format!("servers.{}", plugin.name))?,
                environment: environment(server)?,
            };
            let told = Described { arguments: server.arguments.clone(), descriptions: server.descriptions.clone() };
            let loaded = WasmToolServer::load(runtime, &described(plugin), permissions, told).await;
            let loaded: Arc<dyn ToolServer> = Arc::new(loaded.map_err(|e| failed("servers", plugin, &e))?);
            plugins.servers.insert(plugin.name.clone(), loaded);
        }
        for rail in &policy.rails {
            let plugin = &rail.plugin;
            let outbound = outbound(&rail.outbound, policy, &format!("rails.{}", plugin.name))?;
            let loaded = WasmRail::load(runtime, &described(plugin), outbound).await;
            let loaded: Arc<dyn PaymentRail> = Arc::new(loaded.map_err(|e| failed("rails", plugin, &e))?);
            plugins.rails.insert(plugin.name.clone(), loaded);
        }
        Ok(plugins)
    }
}

fn described(plugin: &policy::Plugin) -> Plugin<'_> {
    Plugin {
        name: &plugin.name,
        bytes: &plugin.component.bytes,
        config: &plugin.config,
        limits: limits(&plugin.limits),
    }
}

fn failed(section: &str, plugin: &policy::Plugin, error: &LoadError) -> CliError {
    let from = match &plugin.component.origin {
        policy::Origin::Builtin(name) => format!("builtin:{name}"),
        policy::Origin::File(path) => path.display().to_string(),
    };
    CliError::Plugin(format!("{section}.{} ({from}): {error}", plugin.name))
}

/// The folders of a server, looked at again now that they are opened: links may have changed since the policy was read.
fn grants(server: &policy::Server, protected: &Protected) -> Result<Vec<FileGrant>, CliError> {
    let open = |preopen: &policy::Preopen| {
        let access = match preopen.access {
            policy::Access::Read => Access::Read,
            policy::Access::ReadWrite => Access::ReadWrite,
        };
        let refused = |why: String| CliError::Plugin(format!("servers.{}: {} {why}", server.plugin.name, preopen.path));
        let grant = FileGrant::new(&preopen.host, &preopen.at, access).map_err(|e| refused(e.to_string()))?;
        protected.check(grant.host_path()).map_err(|e| refused(e.to_string()))?;
        Ok(grant)
    };
    server.files.iter().map(open).collect()
}

/// The variables that a server sees, with those values that are the host's own.
fn environment(server: &policy::Server) -> Result<Vec<(String, String)>, CliError> {
    let read = |policy::Variable { name, value }: &policy::Variable| {
        let value = match value {
            Some(value) => value.clone(),
            None => std::env::var(name).map_err(|e| {
                CliError::Plugin(format!("servers.{}: the environment variable {name}: {e}", server.plugin.name))
            })?,
        };
        Ok((name.clone(), value))
    };
    server.environment.iter().map(read).collect()
}

/// What a component may send, in the runtime's words, with the sources of its secrets.
fn outbound(granted: &policy::Outbound, policy: &Policy, who: &str) -> Result<Outbound, CliError> {
    let network = granted.network.iter().map(|place| NetworkGrant {
        scheme: match place.scheme {
            policy::Scheme::Http => Scheme::Http,
            policy::Scheme::Https => Scheme::Https,
        },
        host: place.host.clone(),
        port: place.port,
        private: place.private,
    });
    let secret = |grant: &policy::SecretGrant| {
        let known = policy.secrets.iter().find(|secret| secret.name == grant.name);
        let known = known.ok_or_else(|| CliError::Plugin(format!("{who}: no secret is called {}", grant.name)))?;
        Ok(SecretGrant {
            name: grant.name.clone(),
            source: source(&known.source, &policy.dir),
            host: grant.host.clone(),
            header: grant.header.clone(),
            format: grant.format.clone(),
        })
    };
    let secrets = granted.secrets.iter().map(secret).collect::<Result<_, CliError>>()?;
    Ok(Outbound { network: network.collect(), secrets })
}

/// Where a secret is read. A command runs in the policy's folder, which its paths are relative to.
fn source(source: &policy::SecretSource, dir: &Path) -> SecretSource {
    match source {
        policy::SecretSource::Env(name) => SecretSource::Env(name.clone()),
        policy::SecretSource::File { host, .. } => SecretSource::File(host.clone()),
        policy::SecretSource::Command { words, program } => {
            let mut words = words.iter();
            let named = words.next().map(OsString::from).unwrap_or_default();
            SecretSource::Command {
                program: program.as_ref().map_or(named, |program| program.clone().into_os_string()),
                arguments: words.cloned().collect(),
                dir: dir.to_owned(),
            }
        }
    }
}
