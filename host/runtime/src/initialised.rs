//! Preinitialisation: an initialised guard's `init` runs once, and the component is compiled as it leaves it.
//!
//! What comes out is a component like the shipped one, whose memory and globals begin where `init` ended. It depends on the
//! component and the configuration alone, since neither `init` nor anything else in a guard has an import. The component is
//! hostile, and the library that writes the snapshot trusts its input, so [`check`] refuses first what that one would
//! stumble over, and everything runs in a task whose panic refuses the load.

use std::sync::Arc;

use chio_host_kernel::canonical::printable;
use tokio::runtime::Handle;
use tokio::time::timeout;
use wasmparser::{Encoding, Parser, Payload, Validator, WasmFeatures};
use wasmtime::Store;
use wasmtime::component::{Component, Instance, Lift, Linker, WasmList};
use wasmtime_wizer::{ComponentInstanceState, Wizer};

use crate::answer;
use crate::engines::Engines;
use crate::error::{LoadError, one_line};
use crate::inspect::Kind;
use crate::limits::Limits;
use crate::meter::Metered;
use crate::plugin::PureState;
use crate::run::{Failure, Run};
use crate::runtime::{PAGE, check_needs};

/// What an initialised guard may be made of: the second version of WebAssembly and what compilers add to it by themselves.
const FEATURES: WasmFeatures = WasmFeatures::WASM2
    .union(WasmFeatures::TAIL_CALL)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::RELAXED_SIMD)
    .union(WasmFeatures::MULTI_MEMORY)
    .union(WasmFeatures::COMPONENT_MODEL);
/// The most mutable globals: each costs a function that reads it. Compilers make a handful.
const MAX_GLOBALS: u32 = 1000;
/// The most memories.
const MAX_MEMORIES: u32 = 8;
/// The most stretches of memory between zeros. They are listed before neighbours become one.
const MAX_STRETCHES: u64 = 2 << 20;
/// The export through which the library has the state read.
const ACCESS: &str = "wasmtime:wizer/access";
/// By how much a memory grows while it is read: a page, twice.
const READING: u64 = 2 * PAGE;

/// Runs `init` with this configuration in an instance of the component, and returns the component as that left it.
///
/// Seconds of computing: call it where that may block, in a runtime.
pub(crate) fn snapshot(
    engines: &Engines,
    bytes: &[u8],
    config: &Arc<str>,
    limits: &Limits,
) -> Result<Vec<u8>, LoadError> {
    check(bytes)?;
    let mut wizer = Wizer::new();
    // Taking the export out would renumber the component's functions; nobody calls it a second time.
    wizer.init_func("init").keep_init_func(true);
    let unfit = |e: wasmtime::Error| LoadError::Unfit(one_line(&e));
    let (context, readable) = wizer.instrument_component(bytes).map_err(unfit)?;
    let loaded = engines.load(&engines.compile(&readable)?);
    let (component, allocation) = loaded.map_err(|e| LoadError::Host(one_line(&e)))?;
    check_needs(&component, limits)?;
    // The instance that reads the others is one more.
    let limits = Limits { instances: limits.instances.saturating_add(1), ..*limits };
    Handle::current().block_on(async {
        let run = Run { limits: &limits, deadline: limits.deadline };
        let state = PureState::new(&limits, config.clone());
        let store = run.store(engines.places(allocation).engine(), state);
        let mut store = store.map_err(|fault| LoadError::Ran { function: "init", fault })?;
        let instance = tell(&run, &mut store, &component, config).await?;
        // The guest has had its turn. What follows is the host's own, and reads as much as it needs.
        store.data_mut().meter().spare(READING * u64::from(MAX_MEMORIES));
        store.set_fuel(u64::MAX).map_err(|e| LoadError::Host(one_line(&e)))?;
        store.set_epoch_deadline(u64::MAX / 2);
        store.set_hostcall_fuel(usize::MAX);
        let mut reader = Reader { store, instance, most: limits.component_bytes, refused: None };
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

/// Refuses what no snapshot can be taken of, and what would cost more than a guard is worth.
fn check(bytes: &[u8]) -> Result<(), LoadError> {
    let unfit = |why: &str| LoadError::Unfit(printable(why, 512));
    Validator::new_with_features(FEATURES).validate_all(bytes).map_err(|e| unfit(e.message()))?;
    let (mut globals, mut memories) = (0_u32, 0_u32);
    // Of the module that is read: whether it has a state of its own, and whether it has exports.
    let (mut keeps, mut exports) = (false, false);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|e| unfit(e.message()))? {
            Payload::Version { encoding: Encoding::Module, .. } => (keeps, exports) = (false, false),
            Payload::MemorySection(section) => {
                memories = memories.saturating_add(section.count());
                keeps |= section.count() > 0;
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    let mutable = global.map_err(|e| unfit(e.message()))?.ty.mutable;
                    globals = globals.saturating_add(mutable.into());
                    keeps |= mutable;
                }
            }
            Payload::ExportSection(_) => exports = true,
            Payload::ComponentExportSection(section) => {
                for export in section {
                    if export.map_err(|e| unfit(e.message()))?.name.name == ACCESS {
                        return Err(unfit(&format!(
                            "it has an export {ACCESS}, through which its state would be read"
                        )));
                    }
                }
            }
            // The state is read through exports that are added to those that are there.
            Payload::End(_) if keeps && !exports => return Err(unfit("one of its modules has a state and no exports")),
            Payload::End(_) => keeps = false,
            _ => {}
        }
    }
    for (what, has, most) in [("mutable globals", globals, MAX_GLOBALS), ("memories", memories, MAX_MEMORIES)] {
        if has > most {
            return Err(unfit(&format!("it has {has} {what}; at most {most} are accepted")));
        }
    }
    Ok(())
}

fn at_most(size: u64, limit: u64) -> Result<(), LoadError> {
    if size > limit { Err(LoadError::Leaves { size, limit }) } else { Ok(()) }
}

/// Reads the state of an instance for the library, which knows no errors: after the first, everything is empty.
struct Reader {
    store: Store<PureState>,
    instance: Instance,
    /// The most bytes other than zero in one memory.
    most: u64,
    refused: Option<LoadError>,
}

impl Reader {
    async fn call<R: Lift + Send + Sync + 'static>(&mut self, instance: &str, function: &str) -> Option<R> {
        if self.refused.is_some() {
            return None;
        }
        let called: wasmtime::Result<R> = async {
            let missing = || wasmtime::format_err!("{instance}#{function} is not there");
            let instance = self.instance.get_export_index(&mut self.store, None, instance).ok_or_else(missing)?;
            let index = self.instance.get_export_index(&mut self.store, Some(&instance), function);
            let index = index.ok_or_else(missing)?;
            let function = self.instance.get_typed_func::<(), (R,)>(&mut self.store, index)?;
            Ok(function.call_async(&mut self.store, ()).await?.0)
        }
        .await;
        called.map_err(|e| self.refused = Some(unread(&mut self.store, &e))).ok()
    }
}

/// The only way in which reading can fail that is the component's own doing.
fn unread(store: &mut Store<PureState>, error: &wasmtime::Error) -> LoadError {
    match (error.downcast_ref::<wasmtime::Trap>(), store.data_mut().meter().reached().which()) {
        (Some(wasmtime::Trap::UnreachableCodeReached), None) => LoadError::Unfit(
            "a memory has reached its own maximum, and needs two pages (128 KiB) of room to be read".to_owned(),
        ),
        _ => LoadError::Host(one_line(error)),
    }
}

/// Refuses a memory whose snapshot would be too large, before it is made.
fn weigh(memory: &[u8], most: u64) -> Result<(), LoadError> {
    let (mut bytes, mut stretches, mut before) = (0_u64, 0_u64, 0_u8);
    for &byte in memory {
        bytes += u64::from(byte != 0);
        stretches += u64::from(byte != 0 && before == 0);
        before = byte;
    }
    at_most(bytes, most)?;
    if stretches > MAX_STRETCHES {
        return Err(LoadError::Unfit(format!(
            "its `init` leaves {stretches} stretches of memory between zeros; at most {MAX_STRETCHES} are accepted"
        )));
    }
    Ok(())
}

impl ComponentInstanceState for Reader {
    async fn call_func_ret_list_u8(&mut self, instance: &str, func: &str, contents: impl FnOnce(&[u8]) + Send) {
        let Some(list) = self.call::<WasmList<u8>>(instance, func).await else { return contents(&[]) };
        let memory = list.as_le_slice(&self.store);
        match weigh(memory, self.most) {
            Ok(()) => contents(memory),
            Err(refused) => {
                self.refused = Some(refused);
                contents(&[]);
            }
        }
    }

    async fn call_func_ret_s32(&mut self, instance: &str, func: &str) -> i32 {
        self.call(instance, func).await.unwrap_or_default()
    }

    async fn call_func_ret_s64(&mut self, instance: &str, func: &str) -> i64 {
        self.call(instance, func).await.unwrap_or_default()
    }

    async fn call_func_ret_f32(&mut self, instance: &str, func: &str) -> u32 {
        self.call::<f32>(instance, func).await.unwrap_or_default().to_bits()
    }

    async fn call_func_ret_f64(&mut self, instance: &str, func: &str) -> u64 {
        self.call::<f64>(instance, func).await.unwrap_or_default().to_bits()
    }
}
