//! The WASI of guards and hooks: everything is there, and nothing leads anywhere.
//!
//! The toolchains of some languages import it whether a guest uses it or not. So that a verdict stays a function of
//! (component, configuration, call), what it answers is one too: the only time is the call's, the only randomness is a
//! fixed sequence, and no file, address, argument or variable exists. What is not in [`INTERFACES`] is not linked.
//!
//! **Invariant:** nothing here holds, or could reach, a clock, a source of randomness or a descriptor of the system. The
//! contexts of wasmtime-wasi that are kept are empty ones, and they offer no way to fill them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chio_host_kernel::canonical::printable;
use chio_host_kernel::ports::Stop;
use sha2::{Digest, Sha256};
use wasmtime::component::{HasData, Linker, Resource};
use wasmtime::{Result, bail};
use wasmtime_wasi::ResourceTable;
use wasmtime_wasi::cli::{WasiCli, WasiCliCtx, WasiCliCtxView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io, random, sockets};
use wasmtime_wasi::p2::{DynOutputStream, DynPollable, OutputStream, Pollable, StreamError, StreamResult, subscribe};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsCtx, WasiSocketsCtxView};

use crate::answer::MAX_MESSAGE;
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
/// The most random bytes of one request.
const MAX_RANDOM: u64 = 64 << 10;
/// How much a guest may hand over in one write, in bytes.
const CHUNK: usize = 64 << 10;
/// What the random numbers are made of: the same for every guest and every call.
const SEED: &[u8] = b"chio-host: the random numbers of guards and hooks";
const NANOSECONDS: u64 = 1_000_000_000;

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

    /// The next 32 random bytes.
    fn draw(&mut self) -> [u8; 32] {
        self.drawn += 1;
        Sha256::new().chain_update(SEED).chain_update(self.drawn.to_be_bytes()).finalize().into()
    }

    fn random_u64(&mut self) -> u64 {
        self.draw().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        if length > MAX_RANDOM {
            bail!("{length} random bytes at once; at most {MAX_RANDOM} are given");
        }
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < length {
            bytes.extend_from_slice(&self.draw());
        }
        bytes.truncate(usize::try_from(length)?);
        Ok(bytes)
    }

    fn wait_until(&mut self, when: u64) -> Result<Resource<DynPollable>> {
        let timer = self.table.push(Timer { when, waited: self.waited.clone() })?;
        subscribe(&mut self.table, timer)
    }

    fn stream(&mut self) -> Result<Resource<DynOutputStream>> {
        let stream: DynOutputStream = Box::new(Swallowed(self.stdio.clone()));
        Ok(self.table.push(stream)?)
    }
}

/// Nanoseconds that the guest has waited, which is all that moves its clocks.
#[derive(Clone, Debug, Default)]
struct Waited(Arc<AtomicU64>);

impl Waited {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn until(&self, when: u64) {
        self.0.fetch_max(when, Ordering::Relaxed);
    }
}

/// A moment of the monotonic clock. To wait for it takes no time: the clock moves there, so that a guest that waits for a
/// moment finds it come.
struct Timer {
    when: u64,
    waited: Waited,
}

#[wasmtime_wasi::async_trait]
impl Pollable for Timer {
    async fn ready(&mut self) {
        self.waited.until(self.when);
    }
}

/// Standard output and error: what is written is counted and forgotten, save where somebody debugs a guest.
struct Swallowed(Budget);

impl OutputStream for Swallowed {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.0.take(bytes.len()).map_err(StreamError::Trap)?;
        for line in String::from_utf8_lossy(&bytes).lines().filter(|line| !line.is_empty()) {
            tracing::debug!(target: "chio::plugin", "{}", printable(line, MAX_MESSAGE));
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Swallowed {
    async fn ready(&mut self) {}
}

impl clocks::monotonic_clock::Host for Inert {
    fn now(&mut self) -> Result<u64> {
        Ok(self.waited.get())
    }

    fn resolution(&mut self) -> Result<u64> {
        Ok(1)
    }

    fn subscribe_instant(&mut self, when: u64) -> Result<Resource<DynPollable>> {
        self.wait_until(when)
    }

    fn subscribe_duration(&mut self, when: u64) -> Result<Resource<DynPollable>> {
        self.wait_until(self.waited.get().saturating_add(when))
    }
}

impl clocks::wall_clock::Host for Inert {
    fn now(&mut self) -> Result<clocks::wall_clock::Datetime> {
        let waited = self.waited.get();
        Ok(clocks::wall_clock::Datetime {
            seconds: self.time.saturating_add(waited / NANOSECONDS),
            // Less than a second, which fits.
            nanoseconds: u32::try_from(waited % NANOSECONDS)?,
        })
    }

    fn resolution(&mut self) -> Result<clocks::wall_clock::Datetime> {
        Ok(clocks::wall_clock::Datetime { seconds: 0, nanoseconds: 1 })
    }
}

impl random::random::Host for Inert {
    fn get_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        self.random_bytes(length)
    }

    fn get_random_u64(&mut self) -> Result<u64> {
        Ok(self.random_u64())
    }
}

impl random::insecure::Host for Inert {
    fn get_insecure_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        self.random_bytes(length)
    }

    fn get_insecure_random_u64(&mut self) -> Result<u64> {
        Ok(self.random_u64())
    }
}

impl random::insecure_seed::Host for Inert {
    fn insecure_seed(&mut self) -> Result<(u64, u64)> {
        Ok((self.random_u64(), self.random_u64()))
    }
}

impl cli::stdout::Host for Inert {
    fn get_stdout(&mut self) -> Result<Resource<DynOutputStream>> {
        self.stream()
    }
}

impl cli::stderr::Host for Inert {
    fn get_stderr(&mut self) -> Result<Resource<DynOutputStream>> {
        self.stream()
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
