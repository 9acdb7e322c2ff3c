//! What one call of a tool has: its folders, its streams, its budgets.

use std::sync::Arc;

use chio_host_kernel::call::Signals;
use chio_host_kernel::ports::{Fault, Invocation, NestedCalls, Stop};
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::{FsPerms, ResourceTable, WasiCtx, WasiCtxView, WasiView};

use super::WasmToolServer;
use super::host::Who;
use super::stdio::Sink;
use crate::bindings::guard::chio::plugin::configuration;
use crate::bindings::server::chio::plugin::{host, nested};
use crate::error::one_line;
use crate::files::{Access, FileGrant};
use crate::meter::{Budget, Meter, Metered};

/// Files, streams and other handles that are open at the same time.
const MAX_HANDLES: usize = 512;
/// The most random bytes of one request.
const MAX_RANDOM: u64 = 1 << 20;

/// The state of a tool's store.
pub(super) struct ToolState {
    meter: Meter,
    wasi: WasiCtx,
    table: ResourceTable,
    pub(super) config: Arc<str>,
    pub(super) signals: Signals,
    pub(super) nested: Option<Arc<dyn NestedCalls>>,
    pub(super) log: Budget,
    pub(super) who: Arc<Who>,
}

impl ToolState {
    /// A fresh state, its folders looked at once more.
    pub(super) fn new(server: &WasmToolServer, invocation: &Invocation) -> Result<Self, Fault> {
        let limits = &server.limits;
        let meter = Meter::new(limits);
        let who = Arc::new(Who {
            server: server.component.name.clone(),
            request_id: invocation.snapshot.request_id.as_str().to_owned(),
        });
        let stdio = meter.budget(limits.stdio_bytes, Stop::StdioBytes);
        let sink = |stream| Sink { stream, who: who.clone(), budget: stdio.clone() };
        let wasi = wasi(&server.files, sink("stdout"), sink("stderr"))?;
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Ok(Self {
            log: meter.budget(limits.log_bytes, Stop::LogBytes),
            config: server.config.clone(),
            signals: invocation.signals.clone(),
            nested: invocation.nested.clone(),
            meter,
            wasi,
            table,
            who,
        })
    }
}

/// No arguments, environment, standard input or network; the folders that were granted, and two streams for the log.
fn wasi(files: &[FileGrant], stdout: Sink, stderr: Sink) -> Result<WasiCtx, Fault> {
    let mut wasi = WasiCtx::builder();
    wasi.stdout(stdout).stderr(stderr).allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
    // A call with folders runs on a thread of its own (`own_thread`), which may wait for the disk.
    wasi.max_random_size(MAX_RANDOM).allow_blocking_current_thread(true);
    for grant in files {
        let refused = |why: &str| Fault::new(Stop::Host, why);
        let path = grant.reopen().map_err(|e| refused(&e.to_string()))?;
        let permissions = match grant.access() {
            Access::Read => FsPerms::ReadOnly,
            Access::ReadWrite => FsPerms::ReadWrite,
        };
        wasi.preopened_dir(path, grant.guest_path(), permissions).map_err(|e| refused(&one_line(&e)))?;
    }
    Ok(wasi.build())
}

impl Metered for ToolState {
    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

impl WasiView for ToolState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Defines all that a tool server may import.
pub(super) fn link(linker: &mut Linker<ToolState>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    configuration::add_to_linker::<_, HasSelf<ToolState>>(linker, |state| state)?;
    host::add_to_linker::<_, HasSelf<ToolState>>(linker, |state| state)?;
    nested::add_to_linker::<_, HasSelf<ToolState>>(linker, |state| state)
}
