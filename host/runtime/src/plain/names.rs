//! What a tool is called: its function's name, behind the name of the interface that it is in.
//!
//! Names of WIT have no `_`, so `time_now` is always the function `now` of an interface `time`, and no other function can have
//! that name. Of interfaces that share theirs, each is called by as much of its full name as tells them all apart:
//! `clock_time_now`, `acme_clock_time_now`, `acme_clock_time_1-0-0_now`.

use std::collections::{BTreeMap, HashSet};

/// The parts of an interface's full name, `acme:clock/time@1.0.0`. One that a world defines in place has a plain name alone.
struct Interface<'a> {
    namespace: &'a str,
    package: &'a str,
    name: &'a str,
    version: &'a str,
}

impl<'a> Interface<'a> {
    fn new(full: &'a str) -> Self {
        let (path, version) = full.split_once('@').unwrap_or((full, ""));
        let (package, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (namespace, package) = package.split_once(':').unwrap_or(("", package));
        Self { namespace, package, name, version }
    }

    /// Its name, and more of it the higher the level.
    fn called(&self, level: usize) -> String {
        let parts: &[&str] = match level {
            0 => &[self.name],
            1 => &[self.package, self.name],
            2 => &[self.namespace, self.package, self.name],
            _ => &[self.namespace, self.package, self.name, self.version],
        };
        let parts = parts.iter().filter(|part| !part.is_empty());
        parts.map(|part| part.replace(|c: char| !c.is_ascii_alphanumeric(), "-")).collect::<Vec<_>>().join("_")
    }
}

/// What each of these interfaces is called, by its full name.
pub(super) fn interfaces<'a>(all: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, String> {
    let mut sharing: BTreeMap<&str, Vec<(&str, Interface<'_>)>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for full in all.filter(|full| seen.insert(*full)) {
        let interface = Interface::new(full);
        sharing.entry(interface.name).or_default().push((full, interface));
    }
    let mut called = BTreeMap::new();
    for group in sharing.into_values() {
        let are_apart = |level: &usize| {
            let mut names = HashSet::new();
            group.iter().all(|(_, interface)| names.insert(interface.called(*level)))
        };
        let level = (0..3).find(are_apart).unwrap_or(3);
        called.extend(group.iter().map(|(full, interface)| (*full, interface.called(level))));
    }
    called
}

/// What a function is called.
pub(super) fn tool(interface: Option<&str>, function: &str) -> String {
    match interface {
        None => function.to_owned(),
        Some(interface) => format!("{interface}_{function}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_called_by_what_tells_it_apart() {
        for (all, called) in [
            (&["acme:clock/time@1.0.0", "acme:clock/zones@1.0.0"][..], &["time", "zones"][..]),
            (&["time"], &["time"]),
            (&["acme:clock/time", "acme:watch/time", "acme:clock/zones"], &["clock_time", "watch_time", "zones"]),
            (&["time", "acme:clock/time"], &["time", "clock_time"]),
            (&["acme:clock/time", "other:clock/time"], &["acme_clock_time", "other_clock_time"]),
            (
                &["acme:clock/time@1.0.0", "acme:clock/time@2.0.0-rc.1"],
                &["acme_clock_time_1-0-0", "acme_clock_time_2-0-0-rc-1"],
            ),
        ] {
            let found = interfaces(all.iter().copied());
            let found: Vec<_> = all.iter().map(|full| found[full].as_str()).collect();
            assert_eq!(found, called);
        }
    }

    #[test]
    fn the_order_of_exports_does_not_matter() {
        let all = ["b:x/t@1.0.0", "a:x/t@1.0.0", "a:y/t@1.0.0"];
        let backwards = all.iter().rev().copied();
        assert_eq!(interfaces(all.iter().copied()), interfaces(backwards));
    }
}
