//! Packages: every kind of plugin comes in one, the same files give the same bytes, and a hostile one gets nowhere.

use chio_host_builtin::Kind;
use chio_host_builtin::testing::{HOUSE_RULES, RAIL};

use crate::signing::{MANIFEST, call, is_done, is_refused, pack, policy, sign, started};
use crate::support::Place;

#[test]
fn hooks_servers_and_rails_come_in_packages_too() {
    let (place, key) = started();
    let builtin = |kind, name| chio_host_builtin::find(kind, name).unwrap();
    let (hook, server) = (builtin(Kind::Hook, "secret_redactor"), builtin(Kind::ToolServer, "hello"));
    for (name, bytes, manifest) in [
        ("hook", hook.bytes, hook.manifest),
        ("server", server.bytes, server.manifest),
        ("rail", RAIL, "name: bank\nkind: rail\npermissions: { network: any }\n"),
    ] {
        place.write(&format!("{name}.wasm"), bytes);
        place.write(&format!("{name}.manifest.yaml"), manifest);
        is_done(&sign(&place, &format!("{name}.wasm")));
        is_done(&pack(&place, &format!("{name}.wasm"), &format!("{name}.chio")));
    }
    place.write(
        "policy.yaml",
        format!(
            "plugins: {{ signers: [{key}] }}\nhooks: {{ redactor: {{ component: hook.chio }} }}\n\
             servers: {{ greeter: {{ component: server.chio }} }}\n\
             rails: {{ bank: {{ component: rail.chio, permissions: {{ network: [{{ host: api.bank.example }}] }} }} }}\n\
             capabilities: {{ d: {{ tools: [{{ server: greeter, tool: hello_world, operations: [invoke], ttl: 300 }}] }} }}\n"
        ),
    );
    let done = place.ask("call", "greeter", "hello_world", r#"{"name":"Chio"}"#);
    assert_eq!((done.code, done.field("output")), (0, "Hello, Chio!"), "{done:?}");
    // The manifest that is in force is the one that was signed: it asks for no folder.
    std::fs::create_dir(place.path().join("w")).unwrap();
    let text = std::fs::read_to_string(place.path().join("policy.yaml")).unwrap();
    let granting = "server.chio, permissions: { files: [{ path: w, access: read }] } }";
    place.write("policy.yaml", text.replace("server.chio }", granting));
    place
        .ask("call", "greeter", "hello_world", "{}")
        .is_error(&["policy.yaml:3:", "grants read, and the manifest asks for no files (server.chio/manifest.yaml:"]);
}

/// An archive of plain files and links, as an attacker would write it.
fn archive(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, kind, bytes) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(*kind);
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_mode(0o644);
        header.set_size(bytes.len() as u64);
        if *kind == tar::EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        archive.append(&header, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

#[test]
fn a_hostile_package_leaves_nothing_behind() {
    let (place, key) = started();
    is_done(&sign(&place, "p/house_rules.wasm"));
    is_done(&pack(&place, "p/house_rules.wasm", "p/rules.chio"));
    let good = std::fs::read(place.path().join("p/rules.chio")).unwrap();
    let signature = std::fs::read(place.path().join("p/house_rules.signature.json")).unwrap();
    let file = tar::EntryType::Regular;
    let honest = [
        ("manifest.yaml", file, MANIFEST.as_bytes()),
        ("signature.json", file, &signature),
        ("component.wasm", file, HOUSE_RULES),
    ];
    let with = |more: (&'static str, tar::EntryType, &'static [u8])| archive(&[&honest[..], &[more]].concat());
    let zeros = vec![0; (64 << 20) + 1];
    for (what, bytes, says) in [
        ("a way out", with(("../../escaped.wasm", file, b"x")), "it holds \"../../escaped.wasm\""),
        ("a duplicate", with(("component.wasm", file, b"x")), "it holds component.wasm twice"),
        ("a link", archive(&[("component.wasm", tar::EntryType::Symlink, b"")]), "is no plain file"),
        ("junk behind the end", [good.as_slice(), b"junk"].concat(), "4 bytes stand behind its end"),
        ("other headers", archive(&honest), "it is not written as `plugin pack` writes it"),
        (
            "too large a component",
            archive(&[honest[0], honest[1], ("component.wasm", file, &zeros)]),
            "is longer than ",
        ),
    ] {
        place.write("p/bad.chio", bytes);
        for command in ["verify", "inspect"] {
            place.run(&["plugin", command, "p/bad.chio"]).is_error(&["\"p/bad.chio\" is no package of a plugin", says]);
        }
        policy(&place, "p/bad.chio", &format!("signers: [{key}], allow_unsigned: true"));
        let refused = call(&place);
        assert!(refused.stderr.contains(says), "{what}: {refused:?}");
        is_refused(&place, &[]);
    }
    let mut names: Vec<_> = std::fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["acme.key", "p", "policy.yaml"], "nothing was unpacked");
}

#[test]
fn a_package_has_the_same_bytes_whenever_and_wherever_it_is_packed() {
    let (place, _) = started();
    place.write("p/house_rules.fixtures.yaml", "- { tool: write_file, deny: true }\n");
    is_done(&sign(&place, "p/house_rules.wasm"));
    is_done(&pack(&place, "p/house_rules.wasm", "p/one.chio"));
    let there = Place::new();
    for name in
        ["house_rules.wasm", "house_rules.manifest.yaml", "house_rules.fixtures.yaml", "house_rules.signature.json"]
    {
        there.write(name, std::fs::read(place.path().join("p").join(name)).unwrap());
    }
    is_done(&pack(&there, "house_rules.wasm", "two.chio"));
    let one = std::fs::read(place.path().join("p/one.chio")).unwrap();
    assert_eq!(one, std::fs::read(there.path().join("two.chio")).unwrap());
    let mut archive = tar::Archive::new(one.as_slice());
    let names: Vec<_> =
        archive.entries().unwrap().map(|e| e.unwrap().path().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["manifest.yaml", "signature.json", "fixtures.yaml", "component.wasm"], "`tar` reads it");
}

#[test]
fn nothing_is_signed_or_packed_that_no_host_would_load() {
    let (place, _) = started();
    let manifest = place.path().join("p/house_rules.manifest.yaml");
    std::fs::remove_file(&manifest).unwrap();
    sign(&place, "p/house_rules.wasm").is_error(&["p/house_rules.manifest.yaml", "no manifest", "`kind: guard`"]);
    std::fs::write(&manifest, "name: h\nkind: tool-server\n").unwrap();
    sign(&place, "p/house_rules.wasm").is_error(&["its kind is tool-server", "a guard"]);
    std::fs::write(&manifest, "name: h\nkind: gard\n").unwrap();
    sign(&place, "p/house_rules.wasm").is_error(&["house_rules.manifest.yaml:2:7", "did you mean guard?"]);
    std::fs::write(&manifest, MANIFEST).unwrap();
    place.write("p/text.wasm", "text");
    sign(&place, "p/text.wasm").is_error(&["p/text.wasm", "not a WebAssembly component"]);
    sign(&place, "p/none.wasm").is_error(&["\"p/none.wasm\" does not exist"]);
    sign(&place, "builtin:hello").is_error(&["builtin:hello", "needs no signature"]);
    place.run(&["plugin", "verify", "builtin:hello"]).is_error(&["a built-in has no signature"]);
    place
        .run(&["plugin", "verify", "p/house_rules.wasm", "--signer", "abc"])
        .is_error(&["--signer", "64 lower-case hex"]);
    assert!(!place.path().join("p/house_rules.signature.json").exists());
    is_done(&sign(&place, "p/house_rules.wasm"));
    pack(&place, "p/house_rules.wasm", "p/rules.wasm").is_error(&["p/rules.wasm", "ends with .chio"]);
    pack(&place, "p/house_rules.wasm", "none/rules.chio").is_error(&["none/rules.chio"]);
    is_done(&pack(&place, "p/house_rules.wasm", "p/rules.chio"));
    sign(&place, "p/rules.chio").is_error(&["p/rules.chio", "packed already"]);
    pack(&place, "p/rules.chio", "p/again.chio").is_error(&["p/rules.chio", "packed already"]);
    let left: Vec<_> = std::fs::read_dir(place.path().join("p")).unwrap().collect();
    assert_eq!(left.len(), 5, "nothing half-written: {left:?}");
}
