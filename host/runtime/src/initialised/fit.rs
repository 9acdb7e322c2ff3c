//! Whether a snapshot can be taken of a component at all, and at what cost.

use chio_host_kernel::canonical::printable;
use wasmparser::{Encoding, Parser, Payload, Validator, WasmFeatures};

use crate::error::LoadError;

/// What an initialised guard may be made of: all that leaves its state in numbers and in one kind of memory.
const FEATURES: WasmFeatures = WasmFeatures::WASM2
    .union(WasmFeatures::TAIL_CALL)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::RELAXED_SIMD)
    .union(WasmFeatures::MULTI_MEMORY)
    .union(WasmFeatures::COMPONENT_MODEL);
/// The most mutable globals: each costs a function that reads it. Compilers make a handful.
const MAX_GLOBALS: u32 = 1000;
/// The most memories. A pool's slot has one.
const MAX_MEMORIES: u32 = 1;
/// The export through which the library has the state read.
const ACCESS: &str = "wasmtime:wizer/access";

/// Refuses what no snapshot can be taken of, and what would cost more than a guard is worth.
pub(super) fn check(bytes: &[u8]) -> Result<(), LoadError> {
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
            return Err(unfit(&format!("it has {has} {what}, and may have {most}")));
        }
    }
    Ok(())
}
