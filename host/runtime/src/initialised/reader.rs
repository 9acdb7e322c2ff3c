//! Reads what an instance holds, for the library that writes it into the component.

use wasmtime::component::{Instance, Lift, WasmList};
use wasmtime::{Store, Trap};
use wasmtime_wizer::ComponentInstanceState;

use crate::error::{LoadError, one_line};
use crate::meter::Metered;
use crate::plugin::PureState;
use crate::runtime::PAGE;

use super::at_most;

/// The most stretches of memory between zeros. They are listed before neighbours become one.
const MAX_STRETCHES: u64 = 2 << 20;
/// By how much the memory grows while it is read: a page, twice.
const READING: u64 = 2 * PAGE;

/// Reads the state of an instance for the library, which knows no errors: after the first, everything is empty.
pub(super) struct Reader {
    store: Store<PureState>,
    instance: Instance,
    /// The most bytes other than zero in its memory.
    most: u64,
    pub(super) refused: Option<LoadError>,
}

impl Reader {
    /// The guest has had its turn. What follows is the host's own, in a few instructions, and is under no limit of the guest's.
    pub(super) fn new(mut store: Store<PureState>, instance: Instance, most: u64) -> Result<Self, LoadError> {
        store.data_mut().meter().spare(READING);
        store.set_fuel(u64::MAX).map_err(|e| LoadError::Host(one_line(&e)))?;
        store.set_epoch_deadline(u64::MAX / 2);
        store.set_hostcall_fuel(usize::MAX);
        Ok(Self { store, instance, most, refused: None })
    }

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
    match (error.downcast_ref::<Trap>(), store.data_mut().meter().reached().which()) {
        (Some(Trap::UnreachableCodeReached), None) => LoadError::Unfit(
            "its memory has reached its own maximum, and needs two pages (128 KiB) of room to be read".to_owned(),
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
