//! Packages: what is packed comes back, and what no honest packer writes is refused.

use chio_host_policy::{Beside, pack, sign};
use tar::EntryType;

use crate::trust::{MANIFEST, key, packed, pair, parts, with};

#[test]
fn a_package_gives_back_what_was_packed_and_twice_the_same_bytes() {
    let project = packed(1).file("conf/g.fixtures.yaml", "- { deny: x }\n");
    let signature = sign(&parts(&project, "g.wasm"), &pair(1)).unwrap();
    let project = project.file("conf/g.signature.json", signature.to_bytes());
    let loose = parts(&project, "g.wasm");
    let package = pack(&loose).unwrap();
    assert_eq!(package, pack(&loose).unwrap());
    let project = project.file("conf/again.chio", &package);
    let read = parts(&project, "again.chio");
    assert_eq!((&read.component, &read.digest), (&loose.component, &loose.digest));
    for what in [Beside::Manifest, Beside::Signature, Beside::Fixtures] {
        assert_eq!(read.beside(what), loose.beside(what), "{what:?}");
    }
    assert_eq!(pack(&read).unwrap(), package);
    let policy = with("again.chio", &format!("plugins: {{ signers: [{}] }}", key(1)));
    let loaded = project.load(&policy).unwrap_or_else(|problems| panic!("{}", project.shown(&problems)));
    assert_eq!(&*loaded.guards[0].component.bytes, b"bytes");
}

type Entry<'a> = (&'a str, EntryType, &'a [u8]);

/// An archive with headers like `pack`'s, whatever it holds.
fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, kind, bytes) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(*kind);
        // Not by `set_path`, which refuses what is tried here.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(315_532_800);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        archive.append(&header, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

/// With other bytes at one place.
fn touched(package: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut touched = package.to_vec();
    touched[at..at + bytes.len()].copy_from_slice(bytes);
    touched
}

/// With another first header, which adds up.
fn with_header(package: &[u8], change: impl FnOnce(&mut tar::Header)) -> Vec<u8> {
    let mut header = tar::Header::from_byte_slice(&package[..512]).clone();
    change(&mut header);
    header.set_cksum();
    touched(package, 0, header.as_bytes())
}

#[test]
fn a_hostile_package_is_refused_in_a_sentence() {
    const FILE: EntryType = EntryType::Regular;
    const ALL: &str = "manifest.yaml, signature.json, fixtures.yaml and component.wasm are all that a package may hold";
    const SPELLING: &str = "it is not written as `plugin pack` writes it, byte by byte";
    const NO_FILE: &str = "its entry \"component.wasm\" is no plain file";
    let project = packed(1);
    let good = std::fs::read(project.path("conf/g.chio")).unwrap();
    let signature = std::fs::read(project.path("conf/g.signature.json")).unwrap();
    let (m, s, c): (Entry<'_>, Entry<'_>, Entry<'_>) = (
        ("manifest.yaml", FILE, MANIFEST.as_bytes()),
        ("signature.json", FILE, &signature),
        ("component.wasm", FILE, b"bytes"),
    );
    assert_eq!(archive(&[m, s, c]), good, "the test writes what `pack` does");
    let other = |name: &'static str| archive(&[m, s, c, (name, FILE, b"x")]);
    let typed = |kind| archive(&[m, s, ("component.wasm", kind, b"")]);
    let long = vec![b'#'; (1 << 20) + 1];
    for (what, bytes, expected) in [
        ("nothing", Vec::new(), "it has no component.wasm"),
        ("zeros", vec![0; 4096], "it has no component.wasm"),
        ("text", b"no archive".repeat(100), "it is no tar archive: "),
        ("a way out", other("../component.wasm"), &format!("it holds \"../component.wasm\"; {ALL}")),
        ("an absolute path", other("/etc/passwd"), &format!("it holds \"/etc/passwd\"; {ALL}")),
        ("another spelling", archive(&[m, s, ("./component.wasm", FILE, b"x")]), "it holds \"./component.wasm\"; "),
        ("another case", archive(&[m, s, ("Component.wasm", FILE, b"x")]), "it holds \"Component.wasm\"; "),
        ("control characters", other("a\u{1b}[31m"), "it holds \"a [31m\"; "),
        ("a duplicate", archive(&[m, s, c, c]), "it holds component.wasm twice"),
        ("another order", archive(&[c, m, s]), SPELLING),
        ("no manifest", archive(&[s, c]), "it has no manifest.yaml"),
        ("no signature", archive(&[m, c]), "it has no signature.json"),
        ("a link", typed(EntryType::Symlink), NO_FILE),
        ("a hard link", typed(EntryType::Link), NO_FILE),
        ("a folder", typed(EntryType::Directory), NO_FILE),
        ("a device", typed(EntryType::Char), NO_FILE),
        ("a sparse file", typed(EntryType::GNUSparse), NO_FILE),
        (
            "a renaming extension",
            archive(&[("component.wasm", EntryType::XHeader, b"18 path=evil.wasm\n"), m, s, c]),
            NO_FILE,
        ),
        ("a long name", archive(&[("component.wasm", EntryType::GNULongName, b"evil"), m, s, c]), NO_FILE),
        (
            "a long manifest",
            archive(&[("manifest.yaml", FILE, &long), s, c]),
            "its manifest.yaml is longer than 1048576 ",
        ),
        (
            "a long signature",
            archive(&[m, ("signature.json", FILE, &long), c]),
            "its signature.json is longer than 4096 ",
        ),
        ("junk behind", [good.as_slice(), b"junk"].concat(), "4 bytes stand behind its end"),
        ("zeros behind", [good.as_slice(), &[0; 512]].concat(), "512 bytes stand behind its end"),
        ("a second archive", good.repeat(2), &format!("{} bytes stand behind its end", good.len())),
        ("junk in the padding", touched(&good, 512 + MANIFEST.len(), b"junk"), SPELLING),
        ("an owner", with_header(&good, |header| header.set_uid(1000)), SPELLING),
        (
            "a size beyond all",
            with_header(&good, |header| header.set_size(1 << 40)),
            "its manifest.yaml is longer than ",
        ),
        (
            "a size beyond the end",
            with_header(&good, |header| header.set_size(1 << 19)),
            "it ends in the middle of manifest.yaml",
        ),
        ("a header that does not add up", touched(&good, 0, b"M"), "it is no tar archive: archive header checksum"),
    ] {
        std::fs::write(project.path("conf/bad.chio"), &bytes).unwrap();
        let plugins = format!("plugins: {{ signers: [{}], allow_unsigned: true }}", key(1));
        let problems = project.refuse(&with("bad.chio", &plugins));
        let place = "conf/policy.yaml:2:19: guards.g.component: \"bad.chio\" is no package of a plugin: ";
        assert!(problems.starts_with(&format!("{place}{expected}")), "{what}: {problems}");
        assert_eq!(problems.lines().count(), 1, "{what}: {problems}");
    }
}

#[test]
fn the_limit_is_the_components_own() {
    let project = packed(1).file("conf/huge.chio", vec![0; 5 << 20]);
    let entry = |name: &str| {
        with(&format!("{name}, limits: {{ component: 4 }}"), &format!("plugins: {{ signers: [{}] }}", key(1)))
    };
    assert!(project.refuse(&entry("g.wasm")).ends_with("\"g.wasm\" is longer than 4 bytes"));
    assert!(project.refuse(&entry("g.chio")).ends_with("its component.wasm is longer than 4 bytes"));
    // No more of it is read than such a package can have.
    assert!(project.refuse(&entry("huge.chio")).contains("\"huge.chio\" is longer than 2"));
}
