//! What a tool server may import, and what it can do with it.

use chio_host_kernel::call::EffectClass;

use crate::error::LoadError;
use crate::files::{Access, FileGrant};
use crate::inspect::{Inspection, is_interface, split};

/// The interfaces of the world `tool-server`.
const OWN: [&str; 4] = ["types", "configuration", "host", "nested"];
/// The packages of WASI 0.2 that are linked. What was not granted is there and leads nowhere: no folder is open, no
/// address may be reached, the environment is empty.
const WASI: [&str; 6] = ["cli", "clocks", "filesystem", "io", "random", "sockets"];

/// Refuses imports that the host does not offer.
pub(super) fn check_imports(inspection: &Inspection) -> Result<(), LoadError> {
    let is_offered = |name: &str| OWN.iter().any(|i| is_interface(name, i)) || WASI.iter().any(|p| is_wasi(name, p));
    match inspection.imports.iter().find(|name| !is_offered(name)) {
        None => Ok(()),
        Some(import) => Err(LoadError::Import {
            import: import.clone(),
            why: "this host does not offer to tool servers; it offers chio:plugin and WASI 0.2 (cli, clocks, filesystem, \
                  io, random, sockets)",
        }),
    }
}

/// What the tools can do, from those of their imports that lead somewhere. Clocks, random numbers and the standard streams
/// change nothing, and sockets lead nowhere.
pub(super) fn class(inspection: &Inspection, files: &[FileGrant]) -> EffectClass {
    let imports = |is: &dyn Fn(&str) -> bool| inspection.imports.iter().any(|name| is(name));
    if imports(&|name| is_interface(name, "nested")) {
        return EffectClass::SideEffecting;
    }
    if files.is_empty() || !imports(&|name| is_wasi(name, "filesystem")) {
        EffectClass::Pure
    } else if files.iter().any(|grant| grant.access() == Access::ReadWrite) {
        EffectClass::SideEffecting
    } else {
        EffectClass::ReadOnly
    }
}

/// Whether `name` is an interface of this package of WASI 0.2.
fn is_wasi(name: &str, package: &str) -> bool {
    split("wasi:", name).is_some_and(|(found, version)| {
        (version.major, version.minor) == (0, 2) && found.split_once('/').is_some_and(|(found, _)| found == package)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Kind;

    fn importing(names: &[&str]) -> Inspection {
        Inspection {
            digest: String::new(),
            kind: Kind::ToolServer,
            imports: names.iter().map(|&name| name.to_owned()).collect(),
            exports: Vec::new(),
            size: 0,
        }
    }

    #[test]
    fn the_class_is_read_off_what_is_imported_and_granted() {
        let folder = tempfile::tempdir().unwrap();
        let grant = |access| vec![FileGrant::new(folder.path(), "/work", access).unwrap()];
        let files = importing(&["wasi:filesystem/types@0.2.6", "wasi:clocks/wall-clock@0.2.6", "wasi:io/poll@0.2.6"]);
        assert_eq!(class(&files, &[]), EffectClass::Pure);
        assert_eq!(class(&files, &grant(Access::Read)), EffectClass::ReadOnly);
        assert_eq!(class(&files, &grant(Access::ReadWrite)), EffectClass::SideEffecting);
        let harmless = importing(&["chio:plugin/host@0.1.0", "wasi:random/random@0.2.6", "wasi:cli/stdout@0.2.6"]);
        assert_eq!(class(&harmless, &grant(Access::ReadWrite)), EffectClass::Pure);
        assert_eq!(class(&importing(&["chio:plugin/nested@0.1.0"]), &[]), EffectClass::SideEffecting);
    }

    #[test]
    fn what_is_not_offered_is_named() {
        let error =
            check_imports(&importing(&["wasi:io/poll@0.2.6", "wasi:http/types@0.2.6"])).unwrap_err().to_string();
        assert!(error.contains("wasi:http/types@0.2.6"), "{error}");
        check_imports(&importing(&["wasi:io/poll@0.3.0"])).unwrap_err();
        check_imports(&importing(&["wasi:clifford/x@0.2.0"])).unwrap_err();
    }
}
