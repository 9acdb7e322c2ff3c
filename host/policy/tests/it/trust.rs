//! Whose components may take part: signatures, signers, the blocklist, and packages, as an operator writes them.

use chio_host_kernel::canonical::sha256_hex;
use chio_host_kernel::keys::Keypair;
use chio_host_policy::{Parts, pack, sign};

use crate::support::{Project, refuse};

pub(crate) const MANIFEST: &str = "name: g\nkind: guard\n";

pub(crate) fn pair(seed: u8) -> Keypair {
    Keypair::from_seed(&[seed; 32].into())
}

pub(crate) fn key(seed: u8) -> String {
    pair(seed).public().hex().to_owned()
}

/// A project with a guard that nobody signed, `g.wasm`.
fn project() -> Project {
    Project::new().file("conf/g.wasm", "bytes").file("conf/g.manifest.yaml", MANIFEST)
}

pub(crate) fn parts(project: &Project, name: &str) -> Parts {
    Parts::read(&project.path("conf"), name, usize::MAX).unwrap()
}

/// The same, signed by the holder of the key of this seed.
fn signed(seed: u8) -> Project {
    let project = project();
    let signature = sign(&parts(&project, "g.wasm"), &pair(seed)).unwrap();
    project.file("conf/g.signature.json", signature.to_bytes())
}

/// And packed.
pub(crate) fn packed(seed: u8) -> Project {
    let project = signed(seed);
    let package = pack(&parts(&project, "g.wasm")).unwrap();
    project.file("conf/g.chio", package)
}

pub(crate) fn with(entry: &str, plugins: &str) -> String {
    format!("guards:\n  g: {{ component: {entry} }}\n{plugins}")
}

#[test]
fn a_component_takes_part_if_somebody_vouches_for_it_or_the_policy_says_that_nobody_has_to() {
    let (own, other) = (key(1), key(2));
    let unsigned_line = "sign it with `plugin sign`, or allow it with the line plugins: { allow_unsigned: true }";
    for (project, entry, plugins, expected) in [
        (project(), "g.wasm", String::new(), Some(unsigned_line.to_owned())),
        (
            project(),
            "g.wasm",
            "plugins: { blocklist: [] }".to_owned(),
            Some("or allow it with the line `plugins`: allow_unsigned: true".to_owned()),
        ),
        (project(), "g.wasm", "plugins: { allow_unsigned: true }".to_owned(), None),
        (
            signed(1),
            "g.wasm",
            String::new(),
            Some(format!(
                "\"g.wasm\" is signed by {own}, whom the policy does not trust; if you do, add the line plugins: {{ signers: \
                 [{own}] }}"
            )),
        ),
        (signed(1), "g.wasm", format!("plugins: {{ signers: [{other}, {own}] }}"), None),
        (
            signed(1),
            "g.wasm",
            format!("plugins: {{ signers: [{other}] }}"),
            Some(format!("whom the policy does not trust; if you do, add the line `plugins`: signers: [{own}]")),
        ),
        (signed(1), "g.wasm", "plugins: { allow_unsigned: true }".to_owned(), None),
        (packed(1), "g.chio", format!("plugins: {{ signers: [{own}] }}"), None),
        (packed(1), "g.chio", String::new(), Some(format!("\"g.chio\" is signed by {own}"))),
    ] {
        let loaded = project.load(&with(entry, &plugins));
        match expected {
            None => assert!(loaded.is_ok(), "{entry} {plugins}: {}", project.shown(&loaded.unwrap_err())),
            Some(expected) => {
                let problems = project.shown(&loaded.unwrap_err());
                assert!(problems.starts_with("conf/policy.yaml:2:19: guards.g.component: "), "{problems}");
                assert!(problems.contains(&expected), "{plugins}\n{problems}");
            }
        }
    }
}

#[test]
fn an_entrys_signer_is_the_only_one_that_will_do() {
    let (own, other) = (key(1), key(2));
    let entry = |signer: &str| format!("g.wasm, signer: {signer}");
    // Neither the list nor a permission for the unsigned stands in for it.
    for plugins in [String::new(), format!("plugins: {{ signers: [{own}], allow_unsigned: true }}")] {
        assert!(signed(1).load(&with(&entry(&own), &plugins)).is_ok(), "{plugins}");
        let expected = format!(
            "conf/policy.yaml:2:35: guards.g.signer: \"g.wasm\" is signed by {own}, and not by the signer that is named here"
        );
        assert_eq!(signed(1).refuse(&with(&entry(&other), &plugins)), expected);
        assert_eq!(
            project().refuse(&with(&entry(&own), &plugins)),
            "conf/policy.yaml:2:19: guards.g.component: \"g.wasm\" is not signed: there is no \"g.signature.json\"; sign it with \
             `plugin sign`"
        );
    }
    let loaded = signed(1).load(&with(&entry(&own), "")).unwrap();
    assert_eq!(loaded.guards[0].component.signed_by, Some(own));
}

#[test]
fn every_section_is_held_to_it() {
    let manifest = |kind: &str| format!("name: x\nkind: {kind}\n");
    for (section, kind) in [("guards", "guard"), ("hooks", "hook"), ("servers", "tool-server"), ("rails", "rail")] {
        let policy = format!("{section}: {{ x: {{ component: x.wasm }} }}");
        let project = Project::new().file("conf/x.wasm", "bytes").file("conf/x.manifest.yaml", manifest(kind));
        assert!(project.refuse(&policy).contains("\"x.wasm\" is not signed"), "{section}");
        let signature = sign(&parts(&project, "x.wasm"), &pair(1)).unwrap();
        let project = project.file("conf/x.signature.json", signature.to_bytes());
        let package = pack(&parts(&project, "x.wasm")).unwrap();
        let project = project.file("conf/x.chio", package);
        for component in ["x.wasm", "x.chio"] {
            let policy = format!("{section}: {{ x: {{ component: {component}, signer: {} }} }}", key(1));
            project.load(&policy).unwrap_or_else(|problems| panic!("{}", project.shown(&problems)));
        }
    }
}

#[test]
fn a_signature_that_does_not_hold_is_refused_even_where_none_is_needed() {
    for (name, bytes, expected) in [
        ("conf/g.wasm", "bytez", "component altered: its SHA-256 is "),
        ("conf/g.manifest.yaml", "name: g\nkind: guard\n#\n", "manifest altered: its SHA-256 is "),
        ("conf/g.fixtures.yaml", "", "fixtures not signed: g.fixtures.yaml is not covered by the signature"),
        ("conf/g.signature.json", "{}\n", "not a signature file: missing field `body`"),
        ("conf/g.signature.json", "", "not a signature file: "),
    ] {
        let problems = signed(1).unsigned().file(name, bytes).refuse(&with("g.wasm", ""));
        let expected =
            format!("conf/policy.yaml:2:19: guards.g.component: \"g.wasm\" is not what its signer signed: {expected}");
        assert!(problems.starts_with(&expected) && problems.lines().count() == 1, "{name}\n{problems}");
    }
}

#[test]
fn the_blocklist_holds_for_signed_and_unsigned_files_packages_and_built_ins() {
    let digest = sha256_hex(b"bytes");
    let blocked = format!("is blocked: the policy's blocklist has its digest, {digest}; use another version of it");
    let trusting = format!("signers: [{}], allow_unsigned: true", key(1));
    let list = format!("# found to leak\n\n  {digest}  # g 1.0\n{}\n", sha256_hex(b"other"));
    for blocklist in [format!("[{digest}]"), "blocked.txt".to_owned()] {
        let plugins = format!("plugins: {{ {trusting}, blocklist: {blocklist} }}");
        for (project, entry) in [(project(), "g.wasm"), (signed(1), "g.wasm"), (packed(1), "g.chio")] {
            let problems = project.file("conf/blocked.txt", &list).refuse(&with(entry, &plugins));
            assert_eq!(problems, format!("conf/policy.yaml:2:19: guards.g.component: \"{entry}\" {blocked}"));
        }
    }
    let path = sha256_hex(b"forbidden_path");
    let hello = sha256_hex(b"hello");
    let policy = format!(
        "guards:\n  forbidden_path: {{}}\n  b: {{ component: builtin:forbidden_path }}\n\
         capabilities: {{ d: {{ tools: [{{ server: hello, tool: x, operations: [invoke], ttl: 1 }}] }} }}\n\
         plugins: {{ blocklist: [{path}, {hello}] }}"
    );
    let blocked = |digest: &str| {
        format!("is blocked: the policy's blocklist has its digest, {digest}; use another version of it")
    };
    assert_eq!(
        refuse(&policy),
        format!(
            "2:3: guards.forbidden_path: \"builtin:forbidden_path\" {}\n\
             3:19: guards.b.component: \"builtin:forbidden_path\" {}\n\
             4:40: capabilities.d.tools[0].server: \"builtin:hello\" {}",
            blocked(&path),
            blocked(&path),
            blocked(&hello)
        )
    );
}

#[test]
fn a_blocklist_is_read_anew_on_every_load_and_one_that_cannot_be_read_refuses_the_policy() {
    let project = signed(1).file("conf/blocked.txt", "");
    let policy = with("g.wasm", &format!("plugins: {{ signers: [{}], blocklist: blocked.txt }}", key(1)));
    let before = project.load(&policy).unwrap().policy_hash;
    let project = project.file("conf/blocked.txt", sha256_hex(b"other"));
    assert_ne!(project.load(&policy).unwrap().policy_hash, before);
    let project = project.file("conf/blocked.txt", format!("{}\n{}\n", sha256_hex(b"x"), "no digest"));
    assert_eq!(
        project.refuse(&policy),
        "conf/policy.yaml:3:100: plugins.blocklist: the blocklist \"blocked.txt\" holds no digest in line 2: no digest is not 64 \
         lower-case hex digits"
    );
    std::fs::remove_file(project.path("conf/blocked.txt")).unwrap();
    assert_eq!(
        project.refuse(&policy),
        "conf/policy.yaml:3:100: plugins.blocklist: the blocklist \"blocked.txt\" does not exist"
    );
}

#[test]
fn what_is_wrong_with_the_section_names_its_place() {
    let upper = key(1).to_uppercase();
    for (plugins, expected) in [
        ("plugins: []", "1:1: plugins: a list is not a mapping, such as { signers: [PUBLIC KEY] }".to_owned()),
        ("plugins: { signer: [] }", "1:12: plugins.signer: unknown key; did you mean signers?".to_owned()),
        ("plugins: { signers: x }", "1:21: plugins.signers: x is not a list of public keys, each 64 lower-case hex digits".to_owned()),
        (
            &format!("plugins: {{ signers: [{upper}] }}"),
            "1:22: plugins.signers[0]: the public key is not 64 lower-case hex digits".to_owned(),
        ),
        (
            "plugins: { signers: [\"0000000000000000000000000000000000000000000000000000000000000000\"] }",
            "1:22: plugins.signers[0]: the public key is not usable: it is a weak point, for which anybody can make signatures"
                .to_owned(),
        ),
        ("plugins: { allow_unsigned: yes }", "1:28: plugins.allow_unsigned: yes is not true or false".to_owned()),
        (
            "plugins: { blocklist: [abc] }",
            "1:24: plugins.blocklist[0]: \"abc\" is no digest; 64 lower-case hex digits are, as `plugin inspect` shows".to_owned(),
        ),
        (
            "guards: { g: { component: builtin:forbidden_path, signer: x } }",
            "1:59: guards.g.signer: a built-in has no signer; remove it, or name a file as component".to_owned(),
        ),
    ] {
        assert_eq!(refuse(plugins), expected, "{plugins}");
    }
}

#[test]
fn whom_a_policy_trusts_is_part_of_its_hash_and_the_order_is_not() {
    let digests = [sha256_hex(b"x"), sha256_hex(b"y")];
    let hash = |plugins: &str| signed(1).load(&with("g.wasm", plugins)).unwrap().policy_hash;
    let (one, two) = (key(1), key(2));
    let base = hash(&format!("plugins: {{ signers: [{one}, {two}], blocklist: [{}, {}] }}", digests[0], digests[1]));
    let turned = format!("plugins: {{ signers: [{two}, {one}, {two}], blocklist: [{}, {}] }}", digests[1], digests[0]);
    assert_eq!(hash(&turned), base);
    let mut seen = std::collections::HashSet::from([base]);
    for plugins in [
        format!("plugins: {{ signers: [{one}] }}"),
        format!("plugins: {{ signers: [{one}], allow_unsigned: true }}"),
        format!("plugins: {{ signers: [{one}], blocklist: [{}] }}", digests[0]),
    ] {
        assert!(seen.insert(hash(&plugins)), "{plugins}");
    }
    // A section that says nothing is none.
    let builtins =
        |plugins: &str| crate::support::accept(&format!("guards: {{ forbidden_path: {{}} }}\n{plugins}")).policy_hash;
    assert_eq!(builtins("plugins: {}"), builtins(""));
    let entry = hash(&format!("plugins: {{ signers: [{one}] }}"));
    let named = signed(1).load(&with(&format!("g.wasm, signer: {one}"), &format!("plugins: {{ signers: [{one}] }}")));
    assert_ne!(named.unwrap().policy_hash, entry);
}

#[test]
fn no_folder_with_a_signature_a_package_or_the_blocklist_is_granted() {
    let grant = "servers: { files: { permissions: { files: [{ path: w, access: read-write }] } } }\n";
    let trusting = format!("plugins: {{ signers: [{}], allow_unsigned: true", key(1));
    for (file, policy, expected) in [
        ("conf/w/b.txt", format!("{grant}{trusting}, blocklist: w/b.txt }}"), "would expose the blocklist"),
        (
            "conf/w/g.chio",
            format!("{grant}guards: {{ g: {{ component: w/g.chio }} }}\n{trusting} }}"),
            "would expose the component",
        ),
        (
            "conf/w/g.wasm",
            format!("{grant}guards: {{ g: {{ component: w/g.wasm }} }}\n{trusting} }}"),
            "would expose the component",
        ),
    ] {
        let problems = Project::new().file(file, "").refuse(&policy);
        assert!(problems.contains(expected), "{problems}");
    }
    // The component lies elsewhere and its signature is a link to where a tool may write.
    #[cfg(unix)]
    {
        let project = signed(1).folder("conf/w");
        let (at, to) = (project.path("conf/g.signature.json"), project.path("conf/w/s.json"));
        std::fs::rename(&at, &to).unwrap();
        std::os::unix::fs::symlink(&to, &at).unwrap();
        let problems = project.refuse(&format!("{grant}guards: {{ g: {{ component: g.wasm }} }}\n{trusting} }}"));
        assert!(problems.contains("would expose the signature g.signature.json"), "{problems}");
    }
}
