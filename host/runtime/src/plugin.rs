//! What guards and hooks have in common: no import but their configuration and an inert WASI, and a fresh instance for
//! every call.

use std::sync::Arc;

use chio_host_kernel::canonical;
use chio_host_kernel::operation::{Component, Role};
use serde_json::Value;
use wasmtime::component::{HasSelf, InstancePre, Linker};

use crate::bindings::guard::chio::plugin::configuration;
use crate::engines::Allocation;
use crate::error::{LoadError, one_line};
use crate::inert::{self, HasInert, Inert};
use crate::inspect::{Inspection, Kind, is_interface};
use crate::limits::Limits;
use crate::meter::{Meter, Metered};
use crate::places::{Places, Turnstile};
use crate::runtime::{Compiled, Runtime, read};

/// What every plugin is loaded from.
#[derive(Clone, Copy, Debug)]
pub struct Plugin<'a> {
    /// Its name in the policy.
    pub name: &'a str,
    /// The component.
    pub bytes: &'a [u8],
    /// Its `config` in the policy; `null` where there is none.
    pub config: &'a Value,
    /// What one run of it may use.
    pub limits: Limits,
}

impl Plugin<'_> {
    /// How receipts name it.
    pub(crate) fn component(&self, role: Role, inspection: &Inspection) -> Component {
        Component { role, name: self.name.to_owned(), digest: inspection.digest.clone() }
    }

    /// What `configuration.get` answers.
    pub(crate) fn configuration(&self) -> Arc<str> {
        canonical::to_string(self.config).into()
    }
}

/// A pure plugin, ready to run.
pub(crate) struct Pure {
    pub(crate) component: Component,
    pub(crate) config: Arc<str>,
    pub(crate) limits: Limits,
    pub(crate) places: Places,
    pub(crate) turnstile: Turnstile,
    pub(crate) allocation: Allocation,
    pub(crate) kind: Kind,
}

/// The state of a pure plugin's store.
pub(crate) struct PureState {
    meter: Meter,
    inert: Inert,
    config: Arc<str>,
}

impl PureState {
    pub(crate) fn new(limits: &Limits, config: Arc<str>) -> Self {
        let meter = Meter::new(limits);
        Self { inert: Inert::new(limits, &meter), meter, config }
    }
}

impl Metered for PureState {
    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

impl HasInert for PureState {
    fn inert(&mut self) -> &mut Inert {
        &mut self.inert
    }
}

impl configuration::Host for PureState {
    fn get(&mut self) -> wasmtime::Result<String> {
        Ok(self.config.to_string())
    }
}

impl Pure {
    /// Compiles and links a component that may be of one of the worlds `wanted`.
    pub(crate) async fn load(
        runtime: &Runtime,
        plugin: &Plugin<'_>,
        role: Role,
        wanted: &[Kind],
    ) -> Result<(Self, InstancePre<PureState>), LoadError> {
        let inspection = read(plugin.bytes, &plugin.limits)?;
        check_world(&inspection, wanted)?;
        check_imports(&inspection)?;
        let (kind, config) = (inspection.kind, plugin.configuration());
        let compiled = match kind {
            Kind::InitialisedGuard => {
                runtime.compile_initialised(plugin.bytes, inspection, &plugin.limits, &config).await?
            }
            _ => runtime.compile_read(plugin.bytes, inspection, &plugin.limits).await?,
        };
        let Compiled { component, inspection, places, allocation } = compiled;
        let types = |e: wasmtime::Error| LoadError::Types(kind, one_line(&e));
        let mut linker = Linker::new(places.engine());
        configuration::add_to_linker::<PureState, HasSelf<PureState>>(&mut linker, |state| state).map_err(types)?;
        if inspection.imports.iter().any(|name| inert::is_inert(name)) {
            inert::link(&mut linker).map_err(types)?;
        }
        let ready = linker.instantiate_pre(&component).map_err(types)?;
        let pure = Self {
            component: plugin.component(role, &inspection),
            config,
            limits: plugin.limits,
            turnstile: Turnstile::new(&plugin.limits, &places),
            places,
            allocation,
            kind,
        };
        Ok((pure, ready))
    }

    /// The state of a fresh store.
    pub(crate) fn state(&self) -> PureState {
        PureState::new(&self.limits, self.config.clone())
    }
}

/// Refuses a component of a world that is not one of those wanted.
pub(crate) fn check_world(inspection: &Inspection, wanted: &[Kind]) -> Result<(), LoadError> {
    if wanted.contains(&inspection.kind) {
        return Ok(());
    }
    let exports = match inspection.exports.as_slice() {
        [] => "nothing".to_owned(),
        names => canonical::printable(&names.join(", "), 256),
    };
    Err(LoadError::World { wanted: wanted.first().copied().unwrap_or(Kind::Unknown), found: inspection.kind, exports })
}

/// Guards and hooks see their configuration and the shared types. A WASI that leads nowhere shows them nothing more. An
/// initialised guard is told its configuration, and imports nothing but types.
pub(crate) fn check_imports(inspection: &Inspection) -> Result<(), LoadError> {
    let told = inspection.kind == Kind::InitialisedGuard;
    let is_configuration = |name: &str| is_interface(name, "configuration");
    let is_pure = |name: &str| {
        ["types", "call"].iter().any(|i| is_interface(name, i))
            || (!told && (is_configuration(name) || inert::is_inert(name)))
    };
    let Some(import) = inspection.imports.iter().find(|name| !is_pure(name)) else { return Ok(()) };
    let why = if is_configuration(import) {
        "an initialised guard does not have: its configuration is what its `init` is called with"
    } else {
        "guards and hooks do not have: they see their configuration and the call, and nothing else"
    };
    Err(LoadError::Import { import: import.clone(), why })
}
