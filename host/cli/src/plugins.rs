//! The plugins of a policy, loaded into the sandbox.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::Plugins;
use chio_host_kernel::ports::{Guard, OutputHook, ToolServer};
use chio_host_policy::{self as policy, Policy, Protected};
use chio_host_runtime::{
    Access, CompiledCache, FileGrant, LoadError, Plugin, Runtime, RuntimeConfig, WasmGuard, WasmHook, WasmToolServer,
};

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
        concurrency: l.concurrency,
    };
    policy::Defaults {
        guard: limits(chio_host_runtime::Limits::GUARD),
        hook: limits(chio_host_runtime::Limits::HOOK),
        tool: limits(chio_host_runtime::Limits::TOOL),
        rail: limits(chio_host_runtime::Limits::RAIL),
    }
}

fn limits(l: &policy::Limits) -> chio_host_runtime::Limits {
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
    }
}

/// Loads every plugin of a policy, in its order.
pub(crate) async fn load(folders: &Folders, keys: &Keys, policy: &Policy) -> Result<Plugins, CliError> {
    let cache = CompiledCache::open(&folders.cache, *keys.cache).map_err(|e| CliError::Plugin(e.to_string()))?;
    let config = RuntimeConfig { cache: Some(cache), ..RuntimeConfig::default() };
    let runtime = Runtime::new(config).map_err(|e| CliError::Plugin(e.to_string()))?;
    let mut plugins = Plugins::default();
    for plugin in &policy.guards {
        let guard = WasmGuard::load(&runtime, &described(plugin)).await;
        let guard: Arc<dyn Guard> = Arc::new(guard.map_err(|e| failed("guards", plugin, &e))?);
        plugins.guards.push(guard);
    }
    for plugin in &policy.hooks {
        let hook = WasmHook::load(&runtime, &described(plugin)).await;
        let hook: Arc<dyn OutputHook> = Arc::new(hook.map_err(|e| failed("hooks", plugin, &e))?);
        plugins.hooks.push(hook);
    }
    for server in &policy.servers {
        let plugin = &server.plugin;
        let files = grants(server, &policy.protected)?;
        let arguments: BTreeMap<_, _> = server.arguments.clone();
        let loaded = WasmToolServer::load(&runtime, &described(plugin), files, arguments).await;
        let loaded: Arc<dyn ToolServer> = Arc::new(loaded.map_err(|e| failed("servers", plugin, &e))?);
        plugins.servers.insert(plugin.name.clone(), loaded);
    }
    Ok(plugins)
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

/// A component's file, as far as a component may be long.
pub(crate) fn read_component(path: &Path) -> Result<Vec<u8>, CliError> {
    let limit = chio_host_runtime::Limits::TOOL.component_bytes;
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| CliError::path(path, e))?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|e| CliError::path(path, e))?;
    if bytes.len() as u64 > limit {
        return Err(CliError::path(path, format!("it is longer than {limit} bytes")));
    }
    Ok(bytes)
}
