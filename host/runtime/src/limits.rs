//! What one run of a plugin may use.

use std::time::Duration;

use chio_host_kernel::canonical::Bounds;
use chio_host_kernel::ports::{Fault, Stop};
use serde::{Serialize, Serializer};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Every limit of a plugin. All of them hold from the first instruction of a start function on.
///
/// Serialised, they are part of a policy's hash, so the names are fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Units of fuel: about one per WebAssembly instruction.
    pub fuel: u64,
    /// Wall-clock time of one run, waiting for a free place not counted.
    #[serde(rename = "deadline_ms", serialize_with = "milliseconds")]
    pub deadline: Duration,
    /// Linear memory, in bytes, over all memories.
    pub memory_bytes: u64,
    /// Elements, over all tables.
    pub table_elements: u64,
    /// Core instances that the component is made of.
    pub instances: u64,
    /// The component's own size, in bytes.
    pub component_bytes: u64,
    /// Wall-clock time of its compilation, where that is in a process of its own.
    #[serde(rename = "compile_time_ms", serialize_with = "milliseconds")]
    pub compile_time: Duration,
    /// Memory of its compilation, in bytes, where that is in a process of its own.
    pub compile_memory_bytes: u64,
    /// What it answers, in bytes.
    pub output_bytes: u64,
    /// What it logs and reports as progress, in bytes.
    pub log_bytes: u64,
    /// What it writes to its standard streams, in bytes.
    pub stdio_bytes: u64,
    /// Runs at the same time.
    pub concurrency: u64,
}

impl Limits {
    /// What a guard gets where the policy says nothing.
    pub const GUARD: Self = Self {
        fuel: 50_000_000,
        deadline: Duration::from_millis(200),
        memory_bytes: 32 * MIB,
        table_elements: 10_000,
        instances: 16,
        component_bytes: 16 * MIB,
        compile_time: Duration::from_mins(2),
        compile_memory_bytes: 1024 * MIB,
        output_bytes: 256 * KIB,
        log_bytes: 0,
        stdio_bytes: 16 * KIB,
        concurrency: 64,
    };

    /// What an output hook gets: it may have to read and to rewrite the largest output.
    pub const HOOK: Self = Self {
        fuel: 1_000_000_000,
        deadline: Duration::from_secs(2),
        memory_bytes: 128 * MIB,
        output_bytes: Bounds::OUTPUT.bytes as u64,
        ..Self::GUARD
    };

    /// What a tool server gets.
    pub const TOOL: Self = Self {
        fuel: 1_000_000_000,
        deadline: Duration::from_secs(30),
        memory_bytes: 256 * MIB,
        table_elements: 20_000,
        instances: 32,
        component_bytes: 32 * MIB,
        compile_time: Duration::from_mins(5),
        compile_memory_bytes: 2048 * MIB,
        output_bytes: Bounds::OUTPUT.bytes as u64,
        log_bytes: 256 * KIB,
        stdio_bytes: 256 * KIB,
        concurrency: 16,
    };

    /// What a payment rail gets.
    pub const RAIL: Self = Self { output_bytes: 256 * KIB, ..Self::TOOL };

    /// The fault of a plugin that reached a limit, or `None` for a stop that is no limit of its own. `deadline` is the
    /// one in force, which may be shorter than the plugin's.
    pub(crate) fn fault(&self, stop: Stop, deadline: Duration) -> Option<Fault> {
        let message = match stop {
            Stop::Fuel => format!("fuel limit of {} reached", self.fuel),
            Stop::Deadline => format!("deadline of {} ms exceeded", deadline.as_millis()),
            Stop::Memory => format!("memory limit of {} bytes reached", self.memory_bytes),
            Stop::Tables => format!("table limit of {} elements reached", self.table_elements),
            Stop::Instances => format!("instance limit of {} reached", self.instances),
            Stop::OutputBytes => format!("output limit of {} bytes reached", self.output_bytes),
            Stop::LogBytes => format!("log limit of {} bytes reached", self.log_bytes),
            Stop::StdioBytes => format!("stdio limit of {} bytes reached", self.stdio_bytes),
            Stop::Concurrency => {
                format!(
                    "no place was free within {} ms; at most {} run at once",
                    deadline.as_millis(),
                    self.concurrency
                )
            }
            Stop::Depth | Stop::Trap | Stop::Answer | Stop::Error | Stop::Host => return None,
        };
        Some(Fault::new(stop, &message))
    }
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// As a size in memory; what does not fit is as good as no limit.
pub(crate) fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A renamed field would change every policy's hash.
    #[test]
    fn the_names_are_those_of_the_policy() {
        let text = serde_json::to_string(&Limits::GUARD).unwrap();
        assert_eq!(
            text,
            "{\"fuel\":50000000,\"deadline_ms\":200,\"memory_bytes\":33554432,\"table_elements\":10000,\"instances\":16,\
             \"component_bytes\":16777216,\"compile_time_ms\":120000,\"compile_memory_bytes\":1073741824,\"output_bytes\":262144,\"log_bytes\":0,\"stdio_bytes\":16384,\"concurrency\":64}"
        );
    }
}
