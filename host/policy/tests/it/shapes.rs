//! What is wrong with a file's shape, and the words for it.

use chio_host_policy::parse;

use crate::support::refuse;

#[test]
fn each_mistake_names_its_place_and_what_would_be_right() {
    for (policy, expected) in [
        ("kernal: {}", "1:1: kernal: unknown key; did you mean kernel?"),
        (
            "zebra: 1",
            "1:1: zebra: unknown key; known here: kernel, guards, hooks, servers, secrets, rails, accounts, capabilities, plugins",
        ),
        (
            "kernel:\n  max_capabilty_ttl: 5",
            "2:3: kernel.max_capabilty_ttl: unknown key; did you mean max_capability_ttl?",
        ),
        ("kernel: []", "1:1: kernel: a list is not a mapping, such as { max_capability_ttl: 600 }"),
        (
            "kernel: { max_capability_ttl: ten }",
            "1:31: kernel.max_capability_ttl: ten is not a whole number from 1 to 31622400",
        ),
        (
            "kernel: { max_capability_ttl: \"600\" }",
            "1:31: kernel.max_capability_ttl: \"600\" is not a whole number from 1 to 31622400",
        ),
        (
            "kernel: { max_capability_ttl: 0 }",
            "1:31: kernel.max_capability_ttl: 0 is not a whole number from 1 to 31622400",
        ),
        (
            "kernel: { max_capability_ttl: 0600 }",
            "1:31: kernel.max_capability_ttl: 0600 is read differently by different readers; write a decimal number, or quote it",
        ),
        (
            "kernel: { allow_ephemeral_revocation_store: yes }",
            "1:45: kernel.allow_ephemeral_revocation_store: yes is not true or false",
        ),
        (
            "kernel: { durable_admission: side-effecting }",
            "1:30: kernel.durable_admission: side-effecting is not one of side_effecting, all; did you mean side_effecting?",
        ),
        (
            "kernel: { deadlines: { tool: 30 } }",
            "1:30: kernel.deadlines.tool: 30 is not a duration from 1ms to 86400000ms, such as 50ms, 30s or 2m",
        ),
        (
            "guards: { shell_command: { limits: { memory: 16MB } } }",
            "1:46: guards.shell_command.limits.memory: 16MB is not a size from 1 to 9007199254740991 bytes, such as 16MiB, 64KiB or 65536",
        ),
        (
            "guards: { shell_command: { limits: { fuel: 0 } } }",
            "1:44: guards.shell_command.limits.fuel: 0 is not a whole number from 1 to 9007199254740991",
        ),
        (
            "guards: { shell_command: { config: deny } }",
            "1:36: guards.shell_command.config: deny is not a mapping, such as { weekend: deny }",
        ),
        (
            "guards: { shell_command: { config: { x: [.nan] } } }",
            "1:42: guards.shell_command.config.x[0]: .nan is no finite number",
        ),
        (
            "guards: { shell_command: { config: { 7: x } } }",
            "1:38: guards.shell_command.config: the key \"7\" is no text; put it in quotes",
        ),
        (
            "guards:\n  shell_command: {}\n  shell_command: {}",
            "3:3: guards.shell_command: this key stands twice; keep one",
        ),
        (
            "guards: { \"a b\": { component: x.wasm, enabled: false } }",
            "1:11: guards.a b: \"a b\" is no usable name; 1 to 64 of A-Z, a-z, 0-9, _ and - are",
        ),
        (
            "guards: { kernel: { component: x.wasm, enabled: false } }",
            "1:11: guards.kernel: kernel is the host's own name in receipts; choose another",
        ),
        ("kernel: { nested_depth_limit: 5 }", "1:31: kernel.nested_depth_limit: 5 is not a whole number from 0 to 4"),
        (
            "servers: { hello: { permissions: { environment: { TZ: UTC } } } }",
            "1:36: servers.hello.permissions.environment: a mapping is not a list of variables, such as [LANG, TZ=UTC]",
        ),
        (
            "servers: { hello: { permissions: { files: [{ path: x }] } } }",
            "1:44: servers.hello.permissions.files[0]: access is missing: read or read-write",
        ),
        (
            "servers: { hello: { arguments: { t: [{ at: path, is: path }] } } }",
            "1:44: servers.hello.arguments.t[0].at: \"path\" is no JSON pointer; /path is",
        ),
    ] {
        assert_eq!(refuse(policy), expected, "{policy}");
    }
}

#[test]
fn a_file_that_is_no_policy_is_one_clear_problem() {
    let bomb = "a: &a [x, x]\nb: [*a, *a]\n";
    let deep = format!("guards: {}", "[".repeat(100));
    let deep_block = (0..100).map(|i| format!("{}k:\n", " ".repeat(i))).collect::<Vec<_>>().concat();
    for (policy, expected) in [
        ("", "policy.yaml: is empty"),
        ("# nothing\n", "policy.yaml: is empty"),
        ("- a\n- b\n", "1:1: a list is not a policy: a mapping with guards, servers and capabilities"),
        ("just words", "1:1: just words is not a policy: a mapping with guards, servers and capabilities"),
        ("kernel: {}\n---\nkernel: {}\n", "2:1: a second document begins here; one file holds one"),
        ("kernel: !env {}", "kernel: tags (\"!env\") are not read; write the value without"),
        ("kernel:\n\tmax_capability_ttl: 5", "2:2: kernel: not YAML: tabs disallowed"),
        ("kernel: {", "not YAML: "),
        ("\u{0}\u{1}\u{2}", "not YAML: "),
        ("? [a, b]\n: c\n", "a list or mapping is no key; a key is text"),
        (bomb, "anchors (&name) are not read; write the value where it is used"),
        (bomb, "2:5: b[0]: aliases (*name) are not read; write the value out"),
        (&deep, "nested more than 32 levels deep"),
        (&deep_block, "nested more than 32 levels deep"),
    ] {
        let problems = parse(policy, "policy.yaml").unwrap_err().to_string();
        assert!(problems.contains(expected), "{policy}\n{problems}");
    }
    let huge = "#".repeat((1 << 20) + 1);
    assert_eq!(
        parse(&huge, "policy.yaml").unwrap_err().to_string(),
        "policy.yaml: is 1048577 bytes long; at most 1048576 are read"
    );
}

#[test]
fn everything_wrong_is_reported_at_once_and_sorted() {
    let policy = "\
capabilities:
  default:
    tools:
      - { server: hallo, tool: \"*\", operations: [], ttl: 900 }
      - { server: files, tool: 5, operations: [invok], ttl: 1, constraints: [{ type: moon }] }
kernel:
  max_capability_ttl: 600
  max_capability_ttl: 700
guards:
  forbiden_path: { enabled: true }
servers:
  files:
    component: builtin:file
    limits: { fule: 1 }
    price: { per_call: -1, currency: usd }
";
    let expected = "\
4:19: capabilities.default.tools[0].server: no server is called \"hallo\": none of `servers`, and no built-in; did you mean hello?
4:37: capabilities.default.tools[0].operations: allows nothing; name an operation, such as invoke
4:58: capabilities.default.tools[0].ttl: 900 is more than kernel.max_capability_ttl, 600
5:32: capabilities.default.tools[1].tool: 5 is not a tool's name; put it in quotes if it is text
5:48: capabilities.default.tools[1].operations[0]: invok is not one of invoke, read_result, subscribe, delegate; did you mean invoke?
5:78: capabilities.default.tools[1].constraints[0]: constraint moon is not one that this host enforces
8:3: kernel.max_capability_ttl: this key stands twice; keep one
10:3: guards.forbiden_path: no built-in guard has this name, and a guard of your own needs component: PATH; did you mean forbidden_path?
13:16: servers.files.component: no built-in tool server is called \"file\"; did you mean files?
14:15: servers.files.limits.fule: unknown key; did you mean fuel?
15:24: servers.files.price.per_call: -1 is not a whole number from 0 to 9007199254740991
15:38: servers.files.price.currency: \"usd\" is not a currency code; three capital letters are (ISO 4217)";
    assert_eq!(refuse(policy), expected);
}

#[test]
fn a_flood_of_problems_is_cut_short() {
    let policy = (0..5_000).map(|i| format!("k{i}: 1\n")).collect::<Vec<_>>().concat();
    let problems = parse(&policy, "policy.yaml").unwrap_err();
    assert_eq!((problems.as_slice().len(), problems.unlisted()), (100, 4_900));
    assert!(problems.to_string().ends_with("\n… and 4900 more"));
}

#[test]
fn what_a_file_says_cannot_reach_the_terminal() {
    let problems = parse("\"\\e[31mred\\n\": 1", "p\u{1b}.yaml").unwrap_err().to_string();
    assert!(!problems.chars().any(char::is_control), "{problems:?}");
}
