//! What a path stands for: everything, a system folder, a home, a disk.

use secret_places::spellings;

/// What a destructive command is aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The root of the file system.
    Root,
    /// A folder that the system lives in.
    System,
    /// Somebody's home.
    Home,
}

impl Target {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Root => "the whole file system",
            Self::System => "a system folder",
            Self::Home => "a home folder",
        }
    }
}

const SYSTEM: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "opt",
    "proc",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "users",
    "system",
    "library",
    "applications",
    "windows",
    "program files",
];

/// What `path` is, if it is one of these. A trailing `*` stands for its folder: nothing is left of either.
pub(crate) fn target(path: &str) -> Option<Target> {
    let whole = path.strip_suffix(".*").unwrap_or(path.trim_end_matches('*'));
    let whole = if whole.ends_with('/') { whole } else { path };
    // Only a path that says where it starts: `bin` is a folder of the project.
    let absolute =
        path.starts_with(['/', '\\']) || matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let home = path.starts_with('~');
    if !absolute && !home {
        return None;
    }
    spellings(whole).iter().find_map(|path| match path.names.as_slice() {
        [] => Some(Target::Root),
        [name] if name == "*" => Some(Target::Root),
        [name] if absolute && SYSTEM.contains(&&**name) => Some(Target::System),
        [name] if name == "root" || (home && name.starts_with('~')) => Some(Target::Home),
        [parent, _] if absolute && (matches!(&**parent, "home" | "users")) => Some(Target::Home),
        [folder, name] if absolute && folder == "usr" && matches!(&**name, "bin" | "lib" | "sbin" | "local") => {
            Some(Target::System)
        }
        _ => None,
    })
}

/// Whether the path is a disk, whole or in part.
pub(crate) fn is_disk(path: &str) -> bool {
    const DISKS: &[&str] =
        &["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper", "dm-", "md", "loop", "nbd"];
    spellings(path).iter().any(|path| match path.names.as_slice() {
        [dev, name, ..] if path.from_root && dev == "dev" => DISKS.iter().any(|disk| name.starts_with(disk)),
        _ => path.names.first().is_some_and(|name| name == "physicaldrive0"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_path_stands_for() {
        for path in ["/", "//", "/.", "/*", "/./", "/tmp/..", "/.*", "/*/", "C:\\"] {
            assert_eq!(target(path), Some(Target::Root), "{path}");
        }
        for path in ["/etc", "/usr/", "/var/*", "/home", "/usr/bin"] {
            assert_eq!(target(path), Some(Target::System), "{path}");
        }
        for path in ["~", "~/", "~/*", "~root", "/root", "/home/u", "/home/u/"] {
            assert_eq!(target(path), Some(Target::Home), "{path}");
        }
        for path in ["/tmp/x", "build", "./", "*", ".", "/home/u/project", "~/project", "/usr/share/x", "bin", ""] {
            assert_eq!(target(path), None, "{path}");
        }
        assert!(is_disk("/dev/sda1") && is_disk("/dev//nvme0n1") && !is_disk("/dev/null") && !is_disk("/dev/shm/x"));
    }
}
