//! What a component is, read off its outermost imports and exports, without compiling or running it.

use chio_host_kernel::canonical::{printable, sha256_hex};
use semver::Version;
use wasmparser::component_types::ComponentEntityType;
use wasmparser::{
    ComponentExternalKind, ComponentTypeRef, Encoding, Parser, Payload, TypeBounds, ValidPayload, Validator,
    WasmFeatures,
};

use crate::error::LoadError;
use crate::server::effect;
use crate::{plugin, rail};

/// Which of the worlds a component targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Judges calls: world `guard`.
    Guard,
    /// Judges calls, and is told its configuration once: world `initialised-guard`.
    InitialisedGuard,
    /// Inspects outputs: world `output-hook`.
    OutputHook,
    /// Offers tools: world `tool-server`.
    ToolServer,
    /// A payment provider: world `rail`.
    Rail,
    /// Of no world of this host's, with functions or interfaces of its own: a tool server that nobody wrote for it.
    Plain,
    /// None of these, or more than one.
    Unknown,
}

impl Kind {
    /// The name of its world.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::InitialisedGuard => "initialised-guard",
            Self::OutputHook => "output-hook",
            Self::ToolServer => "tool-server",
            Self::Rail => "rail",
            Self::Plain => "plain",
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What can be said of a component from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// SHA-256 of its bytes, lower-case hex: its identity.
    pub digest: String,
    /// Its world.
    pub kind: Kind,
    /// What it needs, by full name (`wasi:filesystem/types@0.2.6`), in its own order.
    pub imports: Vec<String>,
    /// What it offers, by full name.
    pub exports: Vec<String>,
    /// Its size, in bytes.
    pub size: usize,
}

/// Reads what a component is.
///
/// # Errors
/// Bytes that are no component.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, LoadError> {
    let (imports, exports, offers) = outermost(bytes)?;
    let kind = match kind(&exports) {
        Kind::Unknown if offers && !exports.iter().any(|name| name.starts_with(OWN)) => Kind::Plain,
        Kind::Guard if has(&exports, INIT) && !is_leftover(bytes) => Kind::InitialisedGuard,
        kind => kind,
    };
    Ok(Inspection { digest: sha256_hex(bytes), kind, imports, exports, size: bytes.len() })
}

/// Refuses a component that imports what its world does not offer.
///
/// # Errors
/// Names the import, and what is offered.
pub fn check_imports(inspection: &Inspection) -> Result<(), LoadError> {
    match inspection.kind {
        Kind::Guard | Kind::InitialisedGuard | Kind::OutputHook => plugin::check_imports(inspection),
        Kind::ToolServer | Kind::Plain => effect::check_imports(inspection, effect::OWN),
        Kind::Rail => effect::check_imports(inspection, rail::OWN),
        Kind::Unknown => Ok(()),
    }
}

/// The package of this host's own worlds.
const OWN: &str = "chio:plugin/";

/// What a parser says of bytes that are no component.
pub(crate) fn not_a_component(error: &wasmparser::Error) -> LoadError {
    LoadError::NotAComponent(printable(error.message(), 256))
}

/// The export that tells an initialised guard from another.
const INIT: &str = "init";

fn has(exports: &[String], export: &str) -> bool {
    exports.iter().any(|name| name == export)
}

/// Whether the component's `init` takes more or less than one argument. Such a one is what a toolchain left behind
/// (componentize-qjs does), and no guard's. One argument of whatever type is taken for the configuration, so that a
/// misspelt `init` is refused and not passed over.
fn is_leftover(bytes: &[u8]) -> bool {
    // Function bodies are not looked at: the compiler does that.
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut outermost = None;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map(|payload| validator.payload(&payload)) {
            // Whatever is nested ends before what it is nested in.
            Ok(Ok(ValidPayload::End(types))) => outermost = Some(types),
            Ok(Ok(_)) => {}
            Ok(Err(_)) | Err(_) => return false,
        }
    }
    let Some(types) = outermost else { return false };
    match types.as_ref().component_item_for_export(INIT).map(|item| item.ty) {
        Some(ComponentEntityType::Func(id)) => types[id].params.len() != 1,
        _ => false,
    }
}

/// The names of the outermost imports and exports, and whether functions or interfaces are among these.
fn outermost(bytes: &[u8]) -> Result<(Vec<String>, Vec<String>, bool), LoadError> {
    let not_one = |why: &str| LoadError::NotAComponent(printable(why, 256));
    let (mut imports, mut exports, mut offers, mut depth) = (Vec::new(), Vec::new(), false, 0_usize);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|e| not_a_component(&e))? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(not_one("it is a core module; componentise it, as `wasm-tools component new` does"));
            }
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    let import = import.map_err(|e| not_a_component(&e))?;
                    // A name for a type that the component spells out itself asks nothing of anybody.
                    if !matches!(import.ty, ComponentTypeRef::Type(TypeBounds::Eq(_))) {
                        imports.push(printable(import.name.name, 256));
                    }
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    let export = export.map_err(|e| not_a_component(&e))?;
                    offers |= matches!(export.kind, ComponentExternalKind::Func | ComponentExternalKind::Instance);
                    exports.push(printable(export.name.name, 256));
                }
            }
            _ => {}
        }
    }
    Ok((imports, exports, offers))
}

fn kind(exports: &[String]) -> Kind {
    let offers = |interface: &str| exports.iter().any(|name| is_interface(name, interface));
    let found = [
        (offers("guarding"), Kind::Guard),
        (offers("inspecting"), Kind::OutputHook),
        (offers("serving"), Kind::ToolServer),
        (offers("paying"), Kind::Rail),
    ];
    let mut found = found.into_iter().filter_map(|(is, kind)| is.then_some(kind));
    match (found.next(), found.next()) {
        (Some(kind), None) => kind,
        _ => Kind::Unknown,
    }
}

/// Whether `name` is this interface of the package `chio:plugin`, in a version that this host speaks.
pub(crate) fn is_interface(name: &str, interface: &str) -> bool {
    split("chio:plugin/", name)
        .is_some_and(|(found, version)| found == interface && (version.major, version.minor) == (0, 1))
}

/// The interface and the version in a full name whose beginning is known.
pub(crate) fn split<'a>(prefix: &str, name: &'a str) -> Option<(&'a str, Version)> {
    let (interface, version) = name.strip_prefix(prefix)?.split_once('@')?;
    Some((interface, Version::parse(version).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_component_is_said_in_a_sentence() {
        let module = wat::parse_str("(module)").unwrap();
        for (bytes, says) in [(&b"(component)"[..], "magic"), (&module, "core module"), (b"", "unexpected end")] {
            let error = inspect(bytes).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_component_is_its_exports_and_nested_ones_do_not_count() {
        let world = |exports: &str| {
            let text = format!(
                "(component (component (export \"chio:plugin/serving@0.1.0\" (instance 0)) (instance)) {exports})"
            );
            wat::parse_str(text).map(|bytes| inspect(&bytes).unwrap().kind)
        };
        let instance = |name: &str| format!("(instance) (export \"{name}\" (instance 0))");
        assert_eq!(world("").unwrap(), Kind::Unknown);
        assert_eq!(world(&instance("acme:clock/time@1.0.0")).unwrap(), Kind::Plain);
        assert_eq!(world(&instance("chio:plugin/guarding@0.1.0")).unwrap(), Kind::Guard);
        assert_eq!(world(&instance("chio:plugin/guarding@0.1.3")).unwrap(), Kind::Guard);
        assert_eq!(world(&instance("chio:plugin/guarding@0.2.0")).unwrap(), Kind::Unknown);
        let both = "(instance) (export \"chio:plugin/guarding@0.1.0\" (instance 0)) \
                    (export \"chio:plugin/serving@0.1.0\" (instance 0))";
        assert_eq!(world(both).unwrap(), Kind::Unknown);
    }
}
