//! What a tool server may import, and what it can do with it.

use chio_host_kernel::call::EffectClass;

use crate::error::LoadError;
use crate::files::{Access, FileGrant};
use crate::inspect::{Inspection, is_interface, split};
use crate::outbound::Grants;

/// The interfaces of the world `tool-server`.
pub(crate) const OWN: &[&str] = &["types", "configuration", "host", "nested"];
/// The packages of WASI 0.2 that are linked. What was not granted is there and leads nowhere: no folder is open, no
/// address may be reached, no request is sent, the environment is empty.
const WASI: [&str; 7] = ["cli", "clocks", "filesystem", "http", "io", "random", "sockets"];
/// An interface that is no release yet, in every draft of it: a server's `config`, name by name.
pub(super) const SETTINGS: (&str, &str) = ("config", "store");

/// Refuses imports that the host does not offer.
pub(crate) fn check_imports(inspection: &Inspection, own: &[&str]) -> Result<(), LoadError> {
    let is_offered = |name: &str| {
        let is_own = own.iter().any(|i| is_interface(name, i)) || (own == OWN && is_settings(name));
        is_own || WASI.iter().any(|p| is_wasi(name, p))
    };
    match inspection.imports.iter().find(|name| !is_offered(name)) {
        None => Ok(()),
        Some(import) => Err(LoadError::Import {
            import: import.clone(),
            why: "this host does not offer to it; it offers its world of chio:plugin and WASI 0.2 (cli, clocks, \
                  filesystem, http without incoming requests, io, random, sockets, and config/store for tool servers)",
        }),
    }
}

/// Which of a component's imports lead somewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// The most that it may do with files, if it has any.
    pub files: Option<Access>,
    /// Whether it may send requests to anybody.
    pub network: bool,
    /// Whether it sees a variable of the environment.
    pub environment: bool,
}

/// What a component can do, from those of its imports that lead somewhere. Clocks, random numbers and the standard streams
/// change nothing, and sockets lead nowhere.
#[must_use]
pub fn effect_class(inspection: &Inspection, live: Live) -> EffectClass {
    let imports = |is: &dyn Fn(&str) -> bool| inspection.imports.iter().any(|name| is(name));
    let sends = live.network && imports(&|name| is_wasi(name, "http"));
    let sees = live.environment && imports(&|name| is_wasi_interface(name, "cli", "environment"));
    if calls_tools(inspection) || sends || sees {
        return EffectClass::SideEffecting;
    }
    match live.files.filter(|_| imports(&|name| is_wasi(name, "filesystem"))) {
        None => EffectClass::Pure,
        Some(Access::Read) => EffectClass::ReadOnly,
        Some(Access::ReadWrite) => EffectClass::SideEffecting,
    }
}

/// Whether a component imports the calls of other tools.
#[must_use]
pub fn calls_tools(inspection: &Inspection) -> bool {
    inspection.imports.iter().any(|name| is_interface(name, "nested"))
}

/// The class of a server with these grants.
pub(super) fn class(
    inspection: &Inspection,
    files: &[FileGrant],
    outbound: &Grants,
    environment: &[(String, String)],
) -> EffectClass {
    let access = |grant: &FileGrant| grant.access() == Access::ReadWrite;
    let files = (!files.is_empty()).then(|| if files.iter().any(access) { Access::ReadWrite } else { Access::Read });
    effect_class(inspection, Live { files, network: !outbound.is_empty(), environment: !environment.is_empty() })
}

/// The package and the name of an interface of WASI 0.2.
fn wasi(name: &str) -> Option<(&str, &str)> {
    let (found, version) = split("wasi:", name)?;
    found.split_once('/').filter(|_| (version.major, version.minor) == (0, 2))
}

/// Whether `name` is an interface of this package of WASI 0.2.
fn is_wasi(name: &str, package: &str) -> bool {
    wasi(name).is_some_and(|(found, _)| found == package)
}

/// Whether `name` is the interface by which a component reads its settings.
pub(super) fn is_settings(name: &str) -> bool {
    wasi(name) == Some(SETTINGS)
}

/// Whether `name` is this one.
fn is_wasi_interface(name: &str, package: &str, interface: &str) -> bool {
    wasi(name) == Some((package, interface))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Kind;
    use crate::outbound::{NetworkGrant, Outbound, Scheme};

    fn importing(names: &[&str]) -> Inspection {
        Inspection {
            digest: String::new(),
            kind: Kind::ToolServer,
            imports: names.iter().map(|&name| name.to_owned()).collect(),
            exports: Vec::new(),
            size: 0,
        }
    }

    fn outbound(network: Vec<NetworkGrant>) -> Grants {
        Grants::new(String::new(), Outbound { network, secrets: Vec::new() }).unwrap()
    }

    #[test]
    fn the_class_is_read_off_what_is_imported_and_granted() {
        let folder = tempfile::tempdir().unwrap();
        let grant = |access| vec![FileGrant::new(folder.path(), "/work", access).unwrap()];
        let none = outbound(Vec::new());
        let files = importing(&["wasi:filesystem/types@0.2.6", "wasi:clocks/wall-clock@0.2.6", "wasi:io/poll@0.2.6"]);
        assert_eq!(class(&files, &[], &none, &[]), EffectClass::Pure);
        assert_eq!(class(&files, &grant(Access::Read), &none, &[]), EffectClass::ReadOnly);
        assert_eq!(class(&files, &grant(Access::ReadWrite), &none, &[]), EffectClass::SideEffecting);
        let harmless = importing(&[
            "wasi:config/store@0.2.0-rc.1",
            "chio:plugin/host@0.1.0",
            "wasi:random/random@0.2.6",
            "wasi:cli/stdout@0.2.6",
        ]);
        assert_eq!(class(&harmless, &grant(Access::ReadWrite), &none, &[]), EffectClass::Pure);
        assert_eq!(class(&importing(&["chio:plugin/nested@0.1.0"]), &[], &none, &[]), EffectClass::SideEffecting);
        let place = NetworkGrant { scheme: Scheme::Https, host: "a.example".to_owned(), port: 443, private: false };
        let some = outbound(vec![place]);
        let http = importing(&["wasi:http/types@0.2.6", "wasi:http/outgoing-handler@0.2.6"]);
        assert_eq!(class(&http, &[], &none, &[]), EffectClass::Pure);
        assert_eq!(class(&http, &[], &some, &[]), EffectClass::SideEffecting);
        assert_eq!(class(&harmless, &[], &some, &[]), EffectClass::Pure);
        let variables = [("LANG".to_owned(), "C".to_owned())];
        let reads = importing(&["wasi:cli/environment@0.2.6"]);
        assert_eq!(class(&reads, &[], &none, &[]), EffectClass::Pure);
        assert_eq!(class(&reads, &[], &none, &variables), EffectClass::SideEffecting);
        assert_eq!(class(&harmless, &[], &none, &variables), EffectClass::Pure);
    }

    #[test]
    fn what_is_not_offered_is_named() {
        let refused = |name| check_imports(&importing(&["wasi:io/poll@0.2.6", name]), OWN).unwrap_err().to_string();
        assert!(refused("wasi:keyvalue/store@0.2.0").contains("wasi:keyvalue/store@0.2.0"));
        refused("wasi:io/poll@0.3.0");
        refused("wasi:clifford/x@0.2.0");
        check_imports(&importing(&["wasi:http/outgoing-handler@0.2.6"]), OWN).unwrap();
        check_imports(&importing(&["chio:plugin/nested@0.1.0"]), &["host"]).unwrap_err();
        let settings = importing(&["wasi:config/store@0.2.0-draft"]);
        check_imports(&settings, OWN).unwrap();
        check_imports(&settings, &["host"]).unwrap_err();
    }
}
