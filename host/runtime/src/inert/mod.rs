//! The WASI of guards and hooks: everything is there, and nothing leads anywhere.
//!
//! The toolchains of some languages import it whether a guest uses it or not. So that a verdict stays a function of
//! (component, configuration, call), what it answers is one too: the only time is the call's, the only randomness is a
//! fixed sequence, and no file, address, argument or variable exists. What is not in [`INTERFACES`] is not linked.
//!
//! **Invariant:** nothing here holds, or could reach, a clock, a source of randomness or a descriptor of the system. The
//! contexts of wasmtime-wasi that are kept are empty ones, and they offer no way to fill them.

mod own;
#[cfg(test)]
mod tests;

use chio_host_kernel::ports::Stop;
use wasmtime::Result;
use wasmtime::component::{HasData, Linker};
use wasmtime_wasi::ResourceTable;
use wasmtime_wasi::cli::{WasiCli, WasiCliCtx, WasiCliCtxView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io, random, sockets};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsCtx, WasiSocketsCtxView};

use self::own::Waited;
use crate::inspect::split;
use crate::limits::Limits;
use crate::meter::{Budget, Meter};

/// The interfaces of WASI 0.2 that are linked.
const INTERFACES: &[&str] = &[
    "cli/environment",
    "cli/exit",
    "cli/stderr",
    "cli/stdin",
    "cli/stdout",
    "cli/terminal-input",
    "cli/terminal-output",
    "cli/terminal-stderr",
    "cli/terminal-stdin",
    "cli/terminal-stdout",
    "clocks/monotonic-clock",
    "clocks/wall-clock",
    "filesystem/preopens",
    "filesystem/types",
    "io/error",
    "io/poll",
    "io/streams",
    "random/insecure",
    "random/insecure-seed",
    "random/random",
    "sockets/instance-network",
    "sockets/ip-name-lookup",
    "sockets/network",
    "sockets/tcp",
    "sockets/tcp-create-socket",
    "sockets/udp",
    "sockets/udp-create-socket",
];

/// Streams and other handles that are open at the same time.
const MAX_HANDLES: usize = 512;

/// Whether `name` is an interface that is linked.
pub(crate) fn is_inert(name: &str) -> bool {
    split("wasi:", name)
        .is_some_and(|(found, version)| (version.major, version.minor) == (0, 2) && INTERFACES.contains(&found))
}

/// The inert WASI of one run.
pub(crate) struct Inert {
    table: ResourceTable,
    cli: WasiCliCtx,
    filesystem: WasiFilesystemCtx,
    sockets: WasiSocketsCtx,
    stdio: Budget,
    time: u64,
    waited: Waited,
    drawn: u64,
}

impl Inert {
    /// A fresh one, before any call: its clock stands at 1970.
    pub(crate) fn new(limits: &Limits, meter: &Meter) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Self {
            table,
            cli: WasiCliCtx::default(),
            filesystem: WasiFilesystemCtx::default(),
            sockets: WasiSocketsCtx::default(),
            stdio: meter.budget(limits.stdio_bytes, Stop::StdioBytes),
            time: 0,
            waited: Waited::default(),
            drawn: 0,
        }
    }

    /// Sets the clock to the time of the call that is judged, in seconds since 1970. What a guest does before that (start
    /// functions, `init`) does not depend on the call.
    pub(crate) fn set_time(&mut self, time: u64) {
        self.time = time;
    }
}

/// A store's state that has an inert WASI.
pub(crate) trait HasInert: Send + 'static {
    fn inert(&mut self) -> &mut Inert;
}

/// What its own implementations see.
struct Own;

impl HasData for Own {
    type Data<'a> = &'a mut Inert;
}

/// What the streams of wasmtime-wasi see.
struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

/// Defines all of [`INTERFACES`].
pub(crate) fn link<T: HasInert>(l: &mut Linker<T>) -> Result<()> {
    fn table<T: HasInert>(state: &mut T) -> &mut ResourceTable {
        &mut state.inert().table
    }
    fn empty_cli<T: HasInert>(state: &mut T) -> WasiCliCtxView<'_> {
        let Inert { cli: ctx, table, .. } = state.inert();
        WasiCliCtxView { ctx, table }
    }
    fn no_files<T: HasInert>(state: &mut T) -> WasiFilesystemCtxView<'_> {
        let Inert { filesystem: ctx, table, .. } = state.inert();
        WasiFilesystemCtxView { ctx, table }
    }
    fn no_sockets<T: HasInert>(state: &mut T) -> WasiSocketsCtxView<'_> {
        let Inert { sockets: ctx, table, .. } = state.inert();
        WasiSocketsCtxView { ctx, table }
    }
    io::error::add_to_linker::<T, Table>(l, table)?;
    io::poll::add_to_linker::<T, Table>(l, table)?;
    io::streams::add_to_linker::<T, Table>(l, table)?;
    clocks::monotonic_clock::add_to_linker::<T, Own>(l, T::inert)?;
    clocks::wall_clock::add_to_linker::<T, Own>(l, T::inert)?;
    random::random::add_to_linker::<T, Own>(l, T::inert)?;
    random::insecure::add_to_linker::<T, Own>(l, T::inert)?;
    random::insecure_seed::add_to_linker::<T, Own>(l, T::inert)?;
    cli::stdout::add_to_linker::<T, Own>(l, T::inert)?;
    cli::stderr::add_to_linker::<T, Own>(l, T::inert)?;
    cli::stdin::add_to_linker::<T, WasiCli>(l, empty_cli)?;
    cli::environment::add_to_linker::<T, WasiCli>(l, empty_cli)?;
    cli::exit::add_to_linker::<T, WasiCli>(l, empty_cli)?;
    cli::terminal_input::add_to_linker::<T, WasiCli>(l, empty_cli)?;
    cli::terminal_output::add_to_linker::<T, WasiCli>(l, empty_cli)?;
    cli::terminal_stdin::add_to_linker::<T, WasiCli>(l, empty_cli)?;
    cli::terminal_stdout::add_to_linker::<T, WasiCli>(l, empty_cli)?;
    cli::terminal_stderr::add_to_linker::<T, WasiCli>(l, empty_cli)?;
    filesystem::preopens::add_to_linker::<T, WasiFilesystem>(l, no_files)?;
    filesystem::types::add_to_linker::<T, WasiFilesystem>(l, no_files)?;
    // A context that is empty refuses to make a socket before it asks the system for one, and to look up any name.
    let options = sockets::network::LinkOptions::default();
    sockets::network::add_to_linker::<T, WasiSockets>(l, &options, no_sockets)?;
    sockets::instance_network::add_to_linker::<T, WasiSockets>(l, no_sockets)?;
    sockets::ip_name_lookup::add_to_linker::<T, WasiSockets>(l, no_sockets)?;
    sockets::tcp::add_to_linker::<T, WasiSockets>(l, no_sockets)?;
    sockets::tcp_create_socket::add_to_linker::<T, WasiSockets>(l, no_sockets)?;
    sockets::udp::add_to_linker::<T, WasiSockets>(l, no_sockets)?;
    sockets::udp_create_socket::add_to_linker::<T, WasiSockets>(l, no_sockets)
}
