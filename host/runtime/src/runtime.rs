//! The engines, and what all plugins share: the cache of compiled code, the ticker, the places to run in.

use std::sync::Arc;

use wasmtime::component::Component;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::cache::{CompiledCache, EntryName};
use crate::compiler::Compiler;
use crate::error::{LoadError, one_line};
use crate::inspect::{Inspection, inspect};
use crate::limits::Limits;
use crate::places::{Places, in_all};
use crate::ticker::Ticker;

/// How much memory each place of the pool keeps for the next run, in bytes: all that an ordinary guest dirties.
const KEPT_MEMORY: usize = 2 << 20;
/// Elements of each table of the pool.
const POOL_TABLE_ELEMENTS: usize = 20_000;
/// Core instances and tables of one component in the pool. A componentised module has three or four of the first and two
/// of the second.
const POOL_CORE_INSTANCES: u32 = 16;
const POOL_TABLES: u32 = 4;
/// Places beyond those that are handed out: a run gives its permit back a little before its memory.
const HEADROOM: u32 = 8;
/// Bytes of a WebAssembly page.
const PAGE: u64 = 64 << 10;
/// Runs at the same time in the engine without a pool.
const ON_DEMAND_PLACES: u32 = 16;

/// How a runtime is made.
#[derive(Debug)]
pub struct RuntimeConfig {
    /// How many runs may go on at the same time, of all plugins together, and half as many again for calls that tools make.
    /// Each reserves 4 GiB of addresses (not of memory).
    pub places: u32,
    /// Where compiled code is kept. Without it every start compiles every component.
    pub cache: Option<CompiledCache>,
    /// How the others are compiled.
    pub compiler: Compiler,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self { places: 128, cache: None, compiler: Compiler::default() }
    }
}

/// Why there is no runtime.
#[derive(Debug, thiserror::Error)]
#[error("the WebAssembly engine does not start: {0}")]
pub struct RuntimeError(String);

/// The sandbox: owns the engines that all plugins of a host run in.
#[derive(Debug)]
pub struct Runtime {
    pub(crate) pooled: Places,
    on_demand: Places,
    cache: Option<Arc<CompiledCache>>,
    compiler: Compiler,
}

/// Where a plugin's runs get their memory from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// From a pool of warm slots.
    Pooled,
    /// From the system, each time: the component is too large for a slot. About five times as slow.
    OnDemand,
}

/// A component that was read, checked and compiled.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) component: Component,
    pub(crate) inspection: Inspection,
    pub(crate) places: Places,
    pub(crate) allocation: Allocation,
}

impl Runtime {
    /// Starts the engines and their ticker.
    ///
    /// # Errors
    /// A machine without the memory, addresses or threads for it.
    pub fn new(config: RuntimeConfig) -> Result<Arc<Self>, RuntimeError> {
        let engine = |allocation| {
            let mut settings = settings();
            settings.allocation_strategy(allocation);
            Engine::new(&settings).map_err(|e| RuntimeError(one_line(&e)))
        };
        let pooled = engine(InstanceAllocationStrategy::Pooling(pool(config.places)))?;
        let on_demand = engine(InstanceAllocationStrategy::OnDemand)?;
        let ticker = Ticker::start(&[&pooled, &on_demand]).map(Arc::new).map_err(|e| RuntimeError(e.to_string()))?;
        let places = |engine, places| Places::new(engine, places, ticker.clone());
        Ok(Arc::new(Self {
            pooled: places(pooled, config.places),
            on_demand: places(on_demand, ON_DEMAND_PLACES),
            cache: config.cache.map(Arc::new),
            compiler: config.compiler,
        }))
    }

    /// Reads, checks and compiles a component, or finds it compiled.
    pub(crate) async fn compile(&self, bytes: &[u8], limits: &Limits) -> Result<Compiled, LoadError> {
        let bytes_in_all = bytes.len() as u64;
        if bytes_in_all > limits.component_bytes {
            return Err(LoadError::TooLarge { size: bytes_in_all, limit: limits.component_bytes });
        }
        let inspection = inspect(bytes)?;
        let entry = EntryName::new(&inspection.digest, self.pooled.engine());
        let cached = self.cache.as_ref().and_then(|cache| cache.get(&entry)).and_then(|code| self.load(&code).ok());
        let (component, allocation) = match cached {
            Some(loaded) => loaded,
            None => self.compile_anew(bytes, limits, &entry).await?,
        };
        check_needs(&component, limits)?;
        let places = match allocation {
            Allocation::Pooled => self.pooled.clone(),
            Allocation::OnDemand => self.on_demand.clone(),
        };
        Ok(Compiled { component, inspection, places, allocation })
    }

    async fn compile_anew(
        &self,
        bytes: &[u8],
        limits: &Limits,
        entry: &EntryName,
    ) -> Result<(Component, Allocation), LoadError> {
        let code = self.compiler.compile(self.pooled.engine(), bytes, limits).await?;
        let loaded = self.load(&code).map_err(|e| LoadError::Host(one_line(&e)))?;
        if let Some(cache) = &self.cache {
            cache.put(entry, &code);
        }
        Ok(loaded)
    }

    /// Loads compiled code into the pool, or beside it where a slot is too small.
    fn load(&self, code: &[u8]) -> wasmtime::Result<(Component, Allocation)> {
        match deserialise(self.pooled.engine(), code) {
            Ok(component) => Ok((component, Allocation::Pooled)),
            Err(error) => {
                let component = deserialise(self.on_demand.engine(), code)?;
                tracing::info!(reason = one_line(&error), "a component does not fit into the pool and runs beside it");
                Ok((component, Allocation::OnDemand))
            }
        }
    }
}

/// What both engines have in common. Everything here decides what a guest computes, how it is stopped, or both.
pub(crate) fn settings() -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        // The machinery of asynchronous components, which nobody here uses, doubles the cost of a call.
        .concurrency_support(false)
        // A verdict is a function of (component, configuration, call), on every machine: the bits of a NaN too.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true);
    config
}

fn pool(places: u32) -> PoolingAllocationConfig {
    let slots = in_all(places).saturating_add(HEADROOM);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_core_instances(slots.saturating_mul(POOL_CORE_INSTANCES))
        .max_core_instances_per_component(POOL_CORE_INSTANCES)
        .total_memories(slots)
        .max_memories_per_component(1)
        .total_tables(slots.saturating_mul(POOL_TABLES))
        .max_tables_per_component(POOL_TABLES)
        .table_elements(POOL_TABLE_ELEMENTS)
        .total_stacks(slots)
        .max_unused_warm_slots(places)
        .linear_memory_keep_resident(KEPT_MEMORY)
        .table_keep_resident(POOL_TABLE_ELEMENTS * size_of::<usize>())
        .pagemap_scan(Enabled::Auto);
    pool
}

#[allow(unsafe_code, reason = "wasmtime has no other way to load code that was compiled before")]
fn deserialise(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the code must be what `precompile_component` returned, unmodified. It comes from the call before, from the pipe
    // of a process of the host's own program that made that call, or from an entry of the cache whose MAC was checked on these
    // very bytes, under a key that only this host has.
    unsafe { Component::deserialize(engine, code) }
}

/// Refuses at load what could never start.
fn check_needs(component: &Component, limits: &Limits) -> Result<(), LoadError> {
    let Some(resources) = component.resources_required() else {
        return Err(LoadError::Compile("it imports core modules, which the host does not offer".to_owned()));
    };
    let needs = |what, needs: Option<u64>, limit| match needs {
        Some(needs) if needs > limit => Err(LoadError::Needs { what, needs, limit }),
        _ => Ok(()),
    };
    let memory = resources.max_initial_memory_size.map(|pages| pages.saturating_mul(PAGE));
    needs("bytes of memory", memory, limits.memory_bytes)?;
    needs("table elements", resources.max_initial_table_size, limits.table_elements)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use chio_host_kernel::ports::Guard;

    use super::*;
    use crate::guard::WasmGuard;
    use crate::testing::{guard, guard_with, plugin, runtime, snapshot};

    #[tokio::test]
    async fn a_component_is_compiled_once_and_a_damaged_entry_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("cache");
        let runtime = || {
            let cache = CompiledCache::open(&folder, [7; 32]).unwrap();
            Runtime::new(RuntimeConfig { places: 1, cache: Some(cache), ..RuntimeConfig::default() }).unwrap()
        };
        let bytes = guard("nop");
        let entry = || std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        runtime().compile(&bytes, &Limits::GUARD).await.unwrap();
        let whole = std::fs::read(entry()).unwrap();
        // Found, so not written again: an entry that is read alone stays as it is.
        std::fs::set_permissions(entry(), std::fs::Permissions::from_mode(0o400)).unwrap();
        runtime().compile(&bytes, &Limits::GUARD).await.unwrap();
        assert_eq!(std::fs::metadata(entry()).unwrap().permissions().mode() & 0o777, 0o400);
        for damage in [&whole[..whole.len() / 2], &b""[..], &b"what is this"[..]] {
            std::fs::remove_file(entry()).unwrap();
            std::fs::write(
                folder.join(format!("{}", EntryName::new(&inspect(&bytes).unwrap().digest, runtime().pooled.engine()))),
                damage,
            )
            .unwrap();
            runtime().compile(&bytes, &Limits::GUARD).await.unwrap();
            assert_eq!(std::fs::read(entry()).unwrap().len(), whole.len());
        }
    }

    /// wasmtime#8846, wasmCloud#4360: neither refused nor unnoticed.
    #[tokio::test]
    async fn a_component_too_large_for_the_pool_runs_beside_it() {
        let runtime = runtime();
        let large = guard_with("", "(table 30000 funcref) (func $work)");
        let limits = Limits { table_elements: 40_000, ..Limits::GUARD };
        let compiled = runtime.compile(&large, &limits).await.unwrap();
        assert_eq!(compiled.allocation, Allocation::OnDemand);
        let small = runtime.compile(&guard("nop"), &limits).await.unwrap();
        assert_eq!(small.allocation, Allocation::Pooled);
        let guard = WasmGuard::load(&runtime, &plugin(&large, limits)).await.unwrap();
        guard.check(&snapshot(), &[]).await.outcome.unwrap();
    }

    #[tokio::test]
    async fn what_does_not_compile_is_said_in_one_line() {
        // A component whose function leaves its stack empty.
        let broken = wat::parse_str("(component (core module (func (result i32))))").unwrap();
        let error = runtime().compile(&broken, &Limits::GUARD).await.err().unwrap().to_string();
        assert!(error.starts_with("it does not compile: ") && !error.contains('\n'), "{error}");
    }

    /// So that one compilation, and one entry of the cache, serves both.
    #[test]
    fn both_engines_read_the_same_code() {
        let runtime = Runtime::new(RuntimeConfig { places: 1, ..RuntimeConfig::default() }).unwrap();
        let name = |places: &Places| format!("{:?}", EntryName::new("d", places.engine()));
        assert_eq!(name(&runtime.pooled), name(&runtime.on_demand));
    }

    #[test]
    fn the_ticker_ends_with_the_runtime() {
        let runtime = Runtime::new(RuntimeConfig { places: 1, ..RuntimeConfig::default() }).unwrap();
        let engine = runtime.pooled.engine().weak();
        drop(runtime);
        assert!(engine.upgrade().is_none());
    }
}
