//! The two engines, and how code is compiled for both and loaded into one.

use std::sync::Arc;

use wasmtime::component::Component;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::compiler::Compiler;
use crate::error::{LoadError, one_line};
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
/// Runs at the same time in the engine without a pool.
const ON_DEMAND_PLACES: u32 = 16;

/// Where a plugin's runs get their memory from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// From a pool of warm slots.
    Pooled,
    /// From the system, each time: the component is too large for a slot. About five times as slow.
    OnDemand,
}

/// A pool of warm slots, and an engine beside it for components too large for a slot. One compiled code serves both.
#[derive(Clone, Debug)]
pub(crate) struct Engines {
    pub(crate) pooled: Places,
    on_demand: Places,
    compiler: Arc<Compiler>,
}

impl Engines {
    /// Starts both, and their ticker.
    pub(crate) fn start(places: u32, compiler: Compiler) -> Result<Self, String> {
        let engine = |allocation| {
            let mut settings = settings();
            settings.allocation_strategy(allocation);
            Engine::new(&settings).map_err(|e| one_line(&e))
        };
        let pooled = engine(InstanceAllocationStrategy::Pooling(pool(places)))?;
        let on_demand = engine(InstanceAllocationStrategy::OnDemand)?;
        let ticker = Ticker::start(&[&pooled, &on_demand]).map(Arc::new).map_err(|e| e.to_string())?;
        Ok(Self {
            pooled: Places::new(pooled, places, ticker.clone()),
            on_demand: Places::new(on_demand, ON_DEMAND_PLACES, ticker),
            compiler: Arc::new(compiler),
        })
    }

    /// Compiles a component.
    pub(crate) async fn compile(&self, bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, LoadError> {
        self.compiler.compile(self.pooled.engine(), bytes, limits).await
    }

    /// Loads compiled code into the pool, or beside it where a slot is too small.
    pub(crate) fn load(&self, code: &[u8]) -> wasmtime::Result<(Component, Allocation)> {
        match deserialise(self.pooled.engine(), code) {
            Ok(component) => Ok((component, Allocation::Pooled)),
            Err(error) => {
                let component = deserialise(self.on_demand.engine(), code)?;
                tracing::info!(reason = one_line(&error), "a component does not fit into the pool and runs beside it");
                Ok((component, Allocation::OnDemand))
            }
        }
    }

    /// Where components of this kind run.
    pub(crate) fn places(&self, allocation: Allocation) -> &Places {
        match allocation {
            Allocation::Pooled => &self.pooled,
            Allocation::OnDemand => &self.on_demand,
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
