//! Plugins that somebody signed: made, altered, exchanged and blocked, as a vendor, an operator and an attacker meet them.

use chio_host_builtin::Kind;
use chio_host_builtin::testing::HOUSE_RULES;
use serde_json::Value;

use crate::support::{Done, Place, shared};

pub(crate) const MANIFEST: &str = "name: house_rules\nkind: guard\n";
const STRANGER: &str = "3dbf7b1230475796d5c78cdcf441c84721d9e3c24362fbbfb4225e307d1b9fb4";

/// A folder with a guard and its manifest, and the public key of `acme`, whose private one is in a file.
pub(crate) fn started() -> (Place, String) {
    let place = Place::new();
    place.write("p/house_rules.wasm", HOUSE_RULES);
    place.write("p/house_rules.manifest.yaml", MANIFEST);
    let key = key(&place, "acme.key");
    (place, key)
}

pub(crate) fn key(place: &Place, file: &str) -> String {
    let made = place.run(&["plugin", "key", "--key", file]);
    assert_eq!(made.code, 0, "{made:?}");
    made.stdout.trim().to_owned()
}

pub(crate) fn sign(place: &Place, component: &str) -> Done {
    place.run(&["plugin", "sign", component, "--key", "acme.key"])
}

pub(crate) fn verify(place: &Place, component: &str) -> Done {
    place.run(&["plugin", "verify", component])
}

pub(crate) fn pack(place: &Place, component: &str, output: &str) -> Done {
    place.run(&["plugin", "pack", component, "-o", output])
}

#[track_caller]
pub(crate) fn is_done(done: &Done) {
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
}

/// What `verify` says is wrong.
#[track_caller]
pub(crate) fn problems(place: &Place, component: &str) -> Vec<String> {
    let done = verify(place, component);
    assert_eq!((done.code, done.field("verified")), (1, "NO"), "{done:?}");
    done.stdout.lines().filter_map(|line| Some(line.strip_prefix("problem:")?.trim().to_owned())).collect()
}

pub(crate) fn policy(place: &Place, component: &str, plugins: &str) {
    place.write(
        "policy.yaml",
        format!(
            "guards:\n  house_rules: {{ component: {component} }}\nplugins: {{ {plugins} }}\n\
             capabilities:\n  default:\n    tools:\n      \
             - {{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }}\n"
        ),
    );
}

pub(crate) fn call(place: &Place) -> Done {
    place.ask("call", "hello", "hello_world", r#"{"name":"Chio"}"#)
}

/// The policy is refused in one line with these words, and nothing is recorded.
#[track_caller]
pub(crate) fn is_refused(place: &Place, parts: &[&str]) {
    let done = call(place);
    done.is_error(&["policy.yaml:2:29: guards.house_rules.component: "]);
    done.is_error(parts);
    assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
    assert!(!place.path().join(".chio").exists(), "nothing is recorded");
}

#[test]
fn a_signed_plugin_takes_part_loose_and_packed() {
    let (place, key) = started();
    let signed = sign(&place, "p/house_rules.wasm");
    is_done(&signed);
    assert_eq!(signed.field("signer"), key);
    assert_eq!(signed.field("signature"), "p/house_rules.signature.json");
    let verified = place.run(&["plugin", "verify", "p/house_rules.wasm", "--signer", &key]);
    is_done(&verified);
    assert_eq!((verified.field("verified"), verified.field("signer")), ("yes", key.as_str()));
    is_done(&pack(&place, "p/house_rules.wasm", "p/rules.chio"));
    is_done(&verify(&place, "p/rules.chio"));
    let mut digests = Vec::new();
    for component in ["p/house_rules.wasm", "p/rules.chio"] {
        policy(&place, component, &format!("signers: [{key}]"));
        let done = call(&place);
        assert_eq!(done.code, 0, "{done:?}");
        let receipt = place.run(&["receipt", "show", done.field("receipt_id")]).whole_json();
        let components = receipt["metadata"]["chio_host"]["components"].as_array().unwrap().clone();
        let rules = components.into_iter().find(|c| c["name"] == "house_rules").unwrap();
        digests.push(rules["digest"].clone());
    }
    assert_eq!(digests, [signed.field("digest"), signed.field("digest")], "packed or not, it is the same component");
}

impl Done {
    fn whole_json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}
#[test]
fn without_a_signature_the_policy_has_to_say_so() {
    let (place, key) = started();
    policy(&place, "p/house_rules.wasm", "");
    is_refused(&place, &["is not signed", "or allow it with the line `plugins`: allow_unsigned: true"]);
    assert_eq!(problems(&place, "p/house_rules.wasm"), ["no signature: there is no p/house_rules.signature.json"]);
    is_done(&sign(&place, "p/house_rules.wasm"));
    is_refused(&place, &[&format!("is signed by {key}, whom the policy does not trust"), &format!("signers: [{key}]")]);
    policy(&place, "p/house_rules.wasm", &format!("signers: [{STRANGER}]"));
    is_refused(&place, &["whom the policy does not trust"]);
    let wrong = place.run(&["plugin", "verify", "p/house_rules.wasm", "--signer", STRANGER]);
    assert_eq!(wrong.code, 1);
    assert_eq!(wrong.field("problem"), format!("wrong signer: {key} signed it, and not {STRANGER}"));
    std::fs::remove_file(place.path().join("p/house_rules.signature.json")).unwrap();
    policy(&place, "p/house_rules.wasm", "allow_unsigned: true");
    assert_eq!(call(&place).code, 0);
}

/// One byte of each file, at its beginning, in its middle and at its end.
#[test]
fn a_changed_byte_anywhere_is_named_and_refused() {
    for (file, says) in [
        ("house_rules.wasm", &["component altered: its SHA-256 is "][..]),
        ("house_rules.manifest.yaml", &["manifest altered: its SHA-256 is "][..]),
        ("house_rules.fixtures.yaml", &["fixtures altered: its SHA-256 is "][..]),
        ("house_rules.signature.json", &["not a signature file: ", "signature invalid: ", "component altered: "][..]),
    ] {
        let (place, key) = started();
        place.write("p/house_rules.fixtures.yaml", "- { tool: write_file, deny: true }\n");
        is_done(&sign(&place, "p/house_rules.wasm"));
        is_done(&pack(&place, "p/house_rules.wasm", "p/rules.chio"));
        let path = place.path().join("p").join(file);
        let good = std::fs::read(&path).unwrap();
        let package = std::fs::read(place.path().join("p/rules.chio")).unwrap();
        let inside = package.windows(good.len()).position(|window| window == good).unwrap();
        for at in [0, good.len() / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            let found = problems(&place, "p/house_rules.wasm");
            let is_named = found.len() == 1 && says.iter().any(|start| found[0].starts_with(start));
            assert!(is_named, "{file}, byte {at}: {found:?}");
            // A trusted signer, and even a policy that needs none, make no difference.
            for plugins in [format!("signers: [{key}]"), "allow_unsigned: true".to_owned()] {
                policy(&place, "p/house_rules.wasm", &plugins);
                is_refused(&place, &["is not what its signer signed: ", &found[0]]);
            }
            pack(&place, "p/house_rules.wasm", "p/bad.chio").is_error(&[&found[0], "plugin sign"]);
            assert!(!place.path().join("p/bad.chio").exists());
            // The same byte in the package.
            let mut bad = package.clone();
            bad[inside + at] ^= 1;
            place.write("p/rules.chio", bad);
            assert_eq!(problems(&place, "p/rules.chio"), found);
            policy(&place, "p/rules.chio", &format!("signers: [{key}]"));
            is_refused(&place, &["is not what its signer signed: ", &found[0]]);
        }
    }
}

#[test]
fn a_signature_belongs_to_one_component_with_one_manifest() {
    let (place, key) = started();
    let other = chio_host_builtin::find(Kind::Guard, "shell_command").unwrap();
    place.write("p/other.wasm", other.bytes);
    place.write("p/other.manifest.yaml", other.manifest);
    is_done(&sign(&place, "p/house_rules.wasm"));
    is_done(&sign(&place, "p/other.wasm"));
    let swap = |a: &str, b: &str| {
        let (a, b) = (place.path().join(a), place.path().join(b));
        let (one, other) = (std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap());
        std::fs::write(a, other).unwrap();
        std::fs::write(b, one).unwrap();
    };
    // The same signer signed both, and still neither stands in for the other.
    swap("p/house_rules.signature.json", "p/other.signature.json");
    for component in ["p/house_rules.wasm", "p/other.wasm"] {
        let found = problems(&place, component);
        let starts: Vec<_> = found.iter().map(|problem| problem.split(':').next().unwrap()).collect();
        assert_eq!(starts, ["component altered", "manifest altered"]);
    }
    swap("p/house_rules.signature.json", "p/other.signature.json");
    swap("p/house_rules.manifest.yaml", "p/other.manifest.yaml");
    let found = problems(&place, "p/house_rules.wasm");
    assert!(found.len() == 1 && found[0].starts_with("manifest altered: "), "{found:?}");
    policy(&place, "p/house_rules.wasm", &format!("signers: [{key}]"));
    is_refused(&place, &["manifest altered"]);
}

#[test]
fn a_blocked_digest_is_refused_whoever_signed_it_and_in_the_hosts_own_binary() {
    let (place, key) = started();
    let digest = sign(&place, "p/house_rules.wasm").field("digest").to_owned();
    is_done(&pack(&place, "p/house_rules.wasm", "p/rules.chio"));
    place.write("blocked.txt", format!("# 1.0 forgets Sundays\n{digest}\n"));
    for component in ["p/house_rules.wasm", "p/rules.chio"] {
        policy(&place, component, &format!("signers: [{key}], allow_unsigned: true, blocklist: blocked.txt"));
        is_refused(&place, &["is blocked", &digest]);
    }
    let inspected = place.run(&["plugin", "inspect", "p/rules.chio", "--policy", "policy.yaml"]);
    assert!(inspected.code == 0 && inspected.field("problem").contains("is blocked"), "{inspected:?}");
    place.write("blocked.txt", "");
    assert_eq!(call(&place).code, 0, "the list is read on every load");
    let hello = place.run(&["plugin", "inspect", "builtin:hello"]).field("digest").to_owned();
    policy(&place, "builtin:forbidden_path", &format!("blocklist: [{hello}]"));
    call(&place).is_error(&["policy.yaml:7:19: capabilities.default.tools[0].server: ", "is blocked", &hello]);
}

#[test]
fn a_signers_key_is_its_owners_and_not_the_hosts() {
    let (place, _) = started();
    place
        .run(&["plugin", "sign", "p/house_rules.wasm", "--key", "none.key"])
        .is_error(&["none.key", "no signer's key"]);
    place.run(&["plugin", "sign", "p/house_rules.wasm"]).is_error(&["--as"]);
    let keys = shared("keys");
    let kernel = keys.join("kernel.key");
    policy(&place, "builtin:forbidden_path", "");
    assert_eq!(call(&place).code, 0, "the host has its keys now");
    place
        .run(&["plugin", "sign", "p/house_rules.wasm", "--key", kernel.to_str().unwrap()])
        .is_error(&["the signer's key must not lie in the host's key folder"]);
    place.run(&["plugin", "key", "kernel"]).is_error(&["no usable name for a key"]);
    // Nor does a policy trust a key that the host, or an agent of it, has.
    let agent = place.run(&["capability", "key"]).stdout.trim().to_owned();
    policy(&place, "builtin:forbidden_path", &format!("signers: [{agent}]"));
    call(&place).is_error(&["plugins.signers", &agent, "an agent could sign plugins of its own", "plugin key"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let key = place.path().join("acme.key");
        assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
        sign(&place, "p/house_rules.wasm").is_error(&["acme.key", "chmod 600"]);
    }
}
