//! The comments of a component's WIT, where its author left them in: the custom section `package-docs`, JSON after one byte of
//! version. It is believed like any other description, and where it makes no sense there is none.

use chio_host_kernel::canonical::{self, Bounds};
use serde_json::Value;
use wasmparser::{Parser, Payload};

const SECTION: &str = "package-docs";
/// The versions of the section that are the same in what is read here.
const VERSIONS: std::ops::RangeInclusive<u8> = 0..=1;

/// Comments on functions.
#[derive(Default)]
pub(super) struct Docs(Value);

impl Docs {
    /// Of the whole component; those of components in it are not its own.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload {
                Ok(Payload::Version { .. }) => depth += 1,
                Ok(Payload::End(_)) => depth -= 1,
                Ok(Payload::CustomSection(section)) if depth == 1 && section.name() == SECTION => {
                    return match section.data().split_first() {
                        Some((version, json)) if VERSIONS.contains(version) => {
                            Self(canonical::parse(json, Bounds::ARGUMENTS).unwrap_or_default())
                        }
                        _ => Self::default(),
                    };
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        Self::default()
    }

    /// What is said of a function: of the world's own, in whichever world it is; of an interface's, there.
    pub(super) fn function(&self, interface: Option<&str>, name: &str) -> Option<&str> {
        let docs = match interface {
            None => {
                let mut worlds = self.0["worlds"].as_object()?.values();
                worlds.find_map(|world| world["func_exports"][name]["docs"].as_str())
            }
            Some(full) => {
                let path = full.split('@').next().unwrap_or(full);
                let short = path.rsplit('/').next().unwrap_or(path);
                self.0["interfaces"][short]["funcs"][name]["docs"].as_str()
            }
        };
        docs.filter(|text| !text.trim().is_empty())
    }
}
