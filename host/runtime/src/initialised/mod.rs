//! Preinitialisation: an initialised guard's `init` runs once, and the component is compiled as it leaves it.
//!
//! What comes out is a component like the shipped one, whose memory and globals begin where `init` ended. It depends on the
//! component and the configuration alone, since neither `init` nor anything else in a guard has an import. The component is
//! hostile, and the library that writes the snapshot trusts its input, so [`fit`] refuses first what that one would
//! stumble over, and everything runs in a task whose panic refuses the load.

mod fit;
mod reader;

#[cfg(test)]
mod cache_tests;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::time::timeout;
use wasmtime::Store;
use wasmtime::component::{Component, Instance, Linker};
use wasmtime_wizer::Wizer;

use crate::answer;
use crate::engines::Engines;
use crate::error::{LoadError, one_line};
use crate::inspect::Kind;
use crate::limits::Limits;
use crate::plugin::PureState;
use crate::run::{Failure, Run};
use crate::runtime::check_needs;

use self::reader::Reader;

/// Runs `init` with this configuration in an instance of the component, and returns the component as that left it.
///
/// Seconds of computing: call it where that may block, in a runtime.
pub(crate) fn snapshot(
    engines: &Engines,
    bytes: &[u8],
    config: &Arc<str>,
    limits: &Limits,
) -> Result<Vec<u8>, LoadError> {
    fit::check(bytes)?;
    let mut wizer = Wizer::new();
    // Taking the export out would renumber the component's functions; nobody calls it a second time.
    wizer.init_func("init").keep_init_func(true);
    let unfit = |e: wasmtime::Error| LoadError::Unfit(one_line(&e));
    let (context, readable) = wizer.instrument_component(bytes).map_err(unfit)?;
    let loaded = engines.load(&Handle::current().block_on(engines.compile(&readable, limits))?);
    let (component, allocation) = loaded.map_err(|e| LoadError::Host(one_line(&e)))?;
    check_needs(&component, limits)?;
    // The instance that reads the others is one more.
    let one_more = Limits { instances: limits.instances.saturating_add(1), ..*limits };
    Handle::current().block_on(async {
        let run = Run { limits, deadline: limits.deadline };
        let state = PureState::new(&one_more, config.clone());
        let store = run.store(engines.places(allocation).engine(), state);
        let mut store = store.map_err(|fault| LoadError::Ran { function: "init", fault })?;
        let instance = tell(&run, &mut store, &component, config).await?;
        let mut reader = Reader::new(store, instance, limits.component_bytes)?;
        let snapshot = wizer.snapshot_component(&context, &mut reader).await;
        if let Some(refused) = reader.refused {
            return Err(refused);
        }
        let snapshot = snapshot.map_err(unfit)?;
        at_most(snapshot.len() as u64, limits.component_bytes)?;
        Ok(snapshot)
    })
}

/// Runs the component's start functions and `init`, under the plugin's limits.
async fn tell(
    run: &Run<'_>,
    store: &mut Store<PureState>,
    component: &Component,
    config: &str,
) -> Result<Instance, LoadError> {
    let types = |e: wasmtime::Error| LoadError::Types(Kind::InitialisedGuard, one_line(&e));
    let ready = Linker::new(store.engine()).instantiate_pre(component).map_err(types)?;
    let mut function = "instantiation";
    let ended = timeout(run.deadline, async {
        let instance = ready.instantiate_async(&mut *store).await.map_err(Failure::Start)?;
        function = "init";
        let init = match instance.get_typed_func::<(&str,), (Result<(), String>,)>(&mut *store, "init") {
            Ok(init) => init,
            Err(error) => return Ok(Err(types(error))),
        };
        let (told,) = init.call_async(&mut *store, (config,)).await.map_err(Failure::Call)?;
        Ok(told.map(|()| instance).map_err(|why| LoadError::Ran { function: "init", fault: answer::error(&why) }))
    });
    let ended = ended.await;
    run.ended(store, ended).outcome.unwrap_or_else(|fault| Err(LoadError::Ran { function, fault }))
}

fn at_most(size: u64, limit: u64) -> Result<(), LoadError> {
    if size > limit { Err(LoadError::Leaves { size, limit }) } else { Ok(()) }
}
