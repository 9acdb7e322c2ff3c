//! What one call of a tool or a rail has: its folders, its streams, its requests, its budgets.

use std::sync::Arc;

use chio_host_kernel::call::Signals;
use chio_host_kernel::ports::{Fault, NestedCalls, Stop};
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::{FsPerms, ResourceTable, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::host::Who;
use super::stdio::Sink;
use crate::bindings::guard::chio::plugin::configuration;
use crate::bindings::server::chio::plugin::{host, nested};
use crate::error::one_line;
use crate::files::{Access, FileGrant};
use crate::limits::Limits;
use crate::meter::{Budget, Meter, Metered};
use crate::outbound::{Ended, Grants, Requests};

/// Files, streams and other handles that are open at the same time.
const MAX_HANDLES: usize = 512;
/// The most random bytes of one request.
const MAX_RANDOM: u64 = 1 << 20;
/// Names and values of one set of headers, in bytes, with what keeping them costs.
const MAX_FIELDS: usize = 32 << 10;

/// What a plugin gives to each of its calls.
pub(crate) struct Plugged<'a> {
    pub(crate) name: &'a str,
    pub(crate) config: &'a Arc<str>,
    pub(crate) limits: &'a Limits,
    pub(crate) files: &'a [FileGrant],
    pub(crate) outbound: &'a Arc<Grants>,
    pub(crate) environment: &'a [(String, String)],
}

/// The state of a tool's or a rail's store.
pub(crate) struct ToolState {
    meter: Meter,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    requests: Requests,
    table: ResourceTable,
    pub(super) config: Arc<str>,
    pub(super) signals: Signals,
    pub(super) nested: Option<Arc<dyn NestedCalls>>,
    pub(super) log: Budget,
    pub(super) who: Arc<Who>,
}

impl ToolState {
    /// A fresh state, its folders looked at once more.
    pub(crate) fn new(plugin: &Plugged<'_>, request_id: &str, signals: Signals) -> Result<Self, Fault> {
        let limits = plugin.limits;
        let meter = Meter::new(limits);
        let who = Arc::new(Who { server: plugin.name.to_owned(), request_id: request_id.to_owned() });
        let stdio = meter.budget(limits.stdio_bytes, Stop::StdioBytes);
        let sink = |stream| Sink { stream, who: who.clone(), budget: stdio.clone() };
        let wasi = wasi(plugin, sink("stdout"), sink("stderr"))?;
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(MAX_FIELDS);
        Ok(Self {
            log: meter.budget(limits.log_bytes, Stop::LogBytes),
            config: plugin.config.clone(),
            requests: Requests::new(plugin.outbound.clone(), request_id),
            http,
            signals,
            nested: None,
            meter,
            wasi,
            table,
            who,
        })
    }

    /// To wait with, once this is gone, until its requests are too.
    pub(crate) fn ended(&self) -> Ended {
        self.requests.ended()
    }
}

impl ToolState {
    /// The same with a way to other tools.
    pub(crate) fn calling(self, nested: Option<Arc<dyn NestedCalls>>) -> Self {
        Self { nested, ..self }
    }
}

/// No arguments, standard input or network; the folders and variables that were granted, and two streams for the log.
fn wasi(plugin: &Plugged<'_>, stdout: Sink, stderr: Sink) -> Result<WasiCtx, Fault> {
    let mut wasi = WasiCtx::builder();
    wasi.stdout(stdout).stderr(stderr).allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
    // A call with folders runs on a thread of its own (`own_thread`), which may wait for the disk.
    wasi.max_random_size(MAX_RANDOM).allow_blocking_current_thread(true);
    wasi.envs(plugin.environment);
    for grant in plugin.files {
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

impl WasiHttpView for ToolState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.requests }
    }
}

/// Defines all that a tool server may import, and more than a rail may.
pub(crate) fn link(linker: &mut Linker<ToolState>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    configuration::add_to_linker::<_, HasSelf<ToolState>>(linker, |state| state)?;
    host::add_to_linker::<_, HasSelf<ToolState>>(linker, |state| state)?;
    nested::add_to_linker::<_, HasSelf<ToolState>>(linker, |state| state)
}
