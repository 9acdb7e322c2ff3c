//! What all plugins share: the engines, and the cache of compiled code.

use std::sync::Arc;

use chio_host_kernel::canonical::printable;
use wasmtime::component::Component;

use crate::cache::{CompiledCache, EntryName};
use crate::compiler::Compiler;
use crate::engines::{Allocation, Engines};
use crate::error::{LoadError, one_line};
use crate::initialised;
use crate::inspect::{Inspection, inspect};
use crate::limits::Limits;
use crate::places::Places;

/// Bytes of a WebAssembly page.
pub(crate) const PAGE: u64 = 64 << 10;

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
    pub(crate) engines: Engines,
    cache: Option<Arc<CompiledCache>>,
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
        let engines = Engines::start(config.places, config.compiler).map_err(RuntimeError)?;
        Ok(Arc::new(Self { engines, cache: config.cache.map(Arc::new) }))
    }

    /// Reads, checks and compiles a component, or finds it compiled.
    pub(crate) async fn compile(&self, bytes: &[u8], limits: &Limits) -> Result<Compiled, LoadError> {
        self.compile_read(bytes, read(bytes, limits)?, limits).await
    }

    /// Compiles a component that was read, or finds it compiled.
    pub(crate) async fn compile_read(
        &self,
        bytes: &[u8],
        inspection: Inspection,
        limits: &Limits,
    ) -> Result<Compiled, LoadError> {
        let entry = EntryName::new(&inspection.digest, self.engines.pooled.engine());
        self.obtain(inspection, limits, &entry, self.engines.compile(bytes, limits)).await
    }

    /// Compiles an initialised guard that was read, as its `init` leaves it with this configuration, or finds that compiled.
    pub(crate) async fn compile_initialised(
        &self,
        bytes: &[u8],
        inspection: Inspection,
        limits: &Limits,
        config: &Arc<str>,
    ) -> Result<Compiled, LoadError> {
        let entry = EntryName::initialised(&inspection.digest, config, limits, self.engines.pooled.engine());
        let make = async {
            let (engines, bytes, config, limits_of_init) =
                (self.engines.clone(), bytes.to_vec(), config.clone(), *limits);
            let snapshot = move || initialised::snapshot(&engines, &bytes, &config, &limits_of_init);
            // The other tasks of this thread must not wait for it.
            let initialised = tokio::task::spawn_blocking(snapshot)
                .await
                .map_err(|e| LoadError::Host(printable(&e.to_string(), 512)))??;
            self.engines.compile(&initialised, limits).await
        };
        self.obtain(inspection, limits, &entry, make).await
    }

    /// Finds compiled code, or makes it.
    async fn obtain(
        &self,
        inspection: Inspection,
        limits: &Limits,
        entry: &EntryName,
        make: impl Future<Output = Result<Vec<u8>, LoadError>>,
    ) -> Result<Compiled, LoadError> {
        let cached = self.cache.as_ref().and_then(|cache| cache.get(entry));
        let (component, allocation) = match cached.and_then(|code| self.engines.load(&code).ok()) {
            Some(loaded) => loaded,
            None => self.make(entry, make).await?,
        };
        check_needs(&component, limits)?;
        let places = self.engines.places(allocation).clone();
        Ok(Compiled { component, inspection, places, allocation })
    }

    async fn make(
        &self,
        entry: &EntryName,
        make: impl Future<Output = Result<Vec<u8>, LoadError>>,
    ) -> Result<(Component, Allocation), LoadError> {
        let code = make.await?;
        let loaded = self.engines.load(&code).map_err(|e| LoadError::Host(one_line(&e)))?;
        if let Some(cache) = &self.cache {
            cache.put(entry, &code);
        }
        Ok(loaded)
    }
}

/// Reads what a component is. One that is larger than it may be is not looked at.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Inspection, LoadError> {
    let size = bytes.len() as u64;
    if size > limits.component_bytes {
        return Err(LoadError::TooLarge { size, limit: limits.component_bytes });
    }
    inspect(bytes)
}

/// Refuses at load what could never start.
pub(crate) fn check_needs(component: &Component, limits: &Limits) -> Result<(), LoadError> {
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
                folder.join(format!(
                    "{}",
                    EntryName::new(&inspect(&bytes).unwrap().digest, runtime().engines.pooled.engine())
                )),
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
        assert_eq!(name(&runtime.engines.pooled), name(runtime.engines.places(Allocation::OnDemand)));
    }

    #[test]
    fn the_ticker_ends_with_the_runtime() {
        let runtime = Runtime::new(RuntimeConfig { places: 1, ..RuntimeConfig::default() }).unwrap();
        let engine = runtime.engines.pooled.engine().weak();
        drop(runtime);
        assert!(engine.upgrade().is_none());
    }
}
