//! Whether a path is one of those that the policy allows.

use chio_sdk::{Call, EffectClass, quote};
use secret_places::spellings;
use serde::Deserialize;

use crate::entry::{Entry, Place, Tool};
use crate::reading::{Reading, Root, Unread, without_scheme};

/// The most entries of a list.
const MAX_ENTRIES: usize = 1_000;
/// A path longer than this, in bytes, is not judged but denied.
const MAX_PATH_BYTES: usize = 16 << 10;
/// How many allowed paths a refusal names.
const SHOWN: usize = 3;

/// The guard's `config`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The paths that calls may name, and no others.
    allow: Option<Vec<Entry>>,
    /// Tools that only read, although their component could write.
    readers: Vec<Tool>,
}

/// What one call may name.
#[derive(Debug)]
pub(crate) struct Rules {
    places: Vec<Place>,
    writes: bool,
}

impl Rules {
    pub(crate) fn new(config: &Config, call: &Call) -> Result<Self, String> {
        let allow = config.allow.as_ref().ok_or(
            "the configuration has no allow: list the folders that calls may name, such as [{ path: /workspace, access: \
             read-write }]; an empty list allows nothing",
        )?;
        if allow.len() > MAX_ENTRIES || config.readers.len() > MAX_ENTRIES {
            return Err(format!("a list has more than {MAX_ENTRIES} entries"));
        }
        // Every entry is read, also those for other calls, so that a wrong one is found when the policy is loaded.
        let mut places = Vec::new();
        for entry in allow {
            let place = entry.read()?;
            if entry.is_for(call) {
                places.push(place);
            }
        }
        let only_reads = || config.readers.iter().any(|tool| tool.is_asked(call));
        let writes = call.effect_class == EffectClass::SideEffecting && !only_reads();
        Ok(Self { places, writes })
    }

    /// Why a path is refused, if it is.
    pub(crate) fn refuse(&self, path: &str) -> Option<String> {
        let shown = quote(path);
        let refuse = |why: &str| Some(format!("path {shown} is not allowed ({why})"));
        if path.len() > MAX_PATH_BYTES {
            return refuse("it is longer than 16384 bytes");
        }
        let reading = match Reading::of(path) {
            Ok(reading) => reading,
            Err(Unread::Climbs) => return refuse("it leaves the folder that it starts in"),
            Err(Unread::Ambiguous) => return refuse("what it names depends on who reads it"),
        };
        let spellings = spellings(without_scheme(path));
        let holding: Vec<&Place> = self.places.iter().filter(|place| place.holds(&reading)).collect();
        if holding.is_empty() {
            return refuse(&self.allowed(reading.root));
        }
        // One place may hold one spelling, and another one the next.
        let is_held = |place: &&Place| spellings.iter().all(|path| place.holds_spelling(path));
        let mut held = holding.into_iter().filter(is_held).peekable();
        if held.peek().is_none() {
            return refuse("it can be read in another way, which leads elsewhere");
        }
        if self.writes && !held.any(|place| place.may_write) {
            return refuse("it may be read, and this call can write");
        }
        None
    }

    /// Why a path is refused that a text or a command holds. There, what is relative is below the tool's own folder.
    pub(crate) fn refuse_certain(&self, path: &str) -> Option<String> {
        let stays_below = Reading::of(path).is_ok_and(|reading| reading.root == Root::Tool)
            && spellings(path).iter().all(|path| !path.from_root);
        if stays_below { None } else { self.refuse(path) }
    }

    fn allowed(&self, root: Root) -> String {
        if root == Root::Tool && !self.places.is_empty() {
            return "no entry for relative paths holds it; { path: . } is the tool's own folder".to_owned();
        }
        let mut shown: Vec<_> = self.places.iter().take(SHOWN).map(|place| quote(&place.text)).collect();
        if self.places.len() > SHOWN {
            shown.push("others".to_owned());
        }
        if shown.is_empty() {
            "the policy allows none".to_owned()
        } else {
            format!("the policy allows {}", shown.join(", "))
        }
    }
}
