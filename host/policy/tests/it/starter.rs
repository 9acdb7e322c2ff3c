//! The seed's starter policy loads unchanged, and so does a policy that says everything that can be said.

use chio_host_kernel::capability::Operation;
use chio_host_policy::{DurableAdmission, Origin};

use crate::support::{LIMITS, Project, accept};

#[test]
fn the_starter_policy_loads_unchanged() {
    let policy = accept(include_str!("starter.yaml"));
    assert_eq!(policy.kernel.max_capability_ttl_secs, 600);
    assert_eq!(policy.kernel.delegation_depth_limit, 3);
    assert!(policy.kernel.allow_ephemeral_revocation_store);
    assert_eq!(policy.kernel.durable_admission, DurableAdmission::SideEffecting);
    assert_eq!((policy.kernel.nonce.require, policy.kernel.nonce.ttl_secs), (false, 30));
    let guards: Vec<_> = policy.guards.iter().map(|guard| guard.name.as_str()).collect();
    assert_eq!(guards, ["forbidden_path", "shell_command"]);
    assert!(policy.hooks.is_empty());

    let [server] = policy.servers.as_slice() else { panic!("{:?}", policy.servers) };
    assert_eq!(server.plugin.component.origin, Origin::Builtin("hello".into()));
    assert_eq!(&*server.plugin.component.bytes, b"hello");
    assert_eq!(server.plugin.limits, LIMITS);
    assert!(server.plugin.config.is_null() && server.files.is_empty() && server.price.is_none());
    assert_eq!(server.arguments["hello_world"][0].at, "/name");

    let [capability] = policy.capabilities.as_slice() else { panic!("{:?}", policy.capabilities) };
    assert_eq!((capability.name.as_str(), capability.ttl_secs()), ("default", 300));
    let grant = &capability.scope().grants[0];
    assert!(grant.covers("hello", "hello_world", Operation::Invoke));
    assert!(!grant.covers("hello", "drop_tables", Operation::Invoke));
    assert_eq!((grant.max_invocations, grant.dpop_required), (None, None));
    assert_eq!((policy.policy_hash.len(), policy.source_hash.len()), (64, 64));
}

const EXAMPLE: &str = r#"
kernel: { max_capability_ttl: 600, delegation_depth_limit: 3, durable_admission: all,
          nonce: { require: true, ttl_secs: 60 }, deadlines: { guards: 100ms, tool: 30s }, retention: { keep_outputs: true } }
guards:                                   # run in this order
  house_rules:
    component: ../plugins/house_rules.wasm
    config: { weekend: deny, hours: [9, 17.5], note: ~, "7": seven }
    limits: { fuel: 5_000_000, memory: 16MiB, deadline: 50ms, output: 65536 }
  forbidden_path: { enabled: true }
  shell_command:
hooks:
  secret_redactor: { enabled: true }
servers:
  files:
    component: builtin:files
    permissions: { files: [{ path: ../workspace, access: read-write }, { path: ../docs, access: read, at: /manual/ }] }
    arguments: { read_file: [{ at: /encoding, is: text }], grep: [{ at: /pattern, is: content }] }
    price: { per_call: 1, per_million_fuel: 2, max_reported: 3, currency: USD }
accounts:
  agent: { total: 5_000, currency: USD }
  other: { total: 1, currency: USD, subject: 3dbf7b1230475796d5c78cdcf441c84721d9e3c24362fbbfb4225e307d1b9fb4 }
capabilities:
  default:
    tools:
      - { server: files, tool: "*", operations: [invoke], ttl: 300, max_invocations: 100,
          max_cost_per_invocation: 10, max_total_cost: 500,
          constraints: [{ type: path_prefix, value: /workspace },
                        { type: runtime_reservation, value: { kind: destructive_lease, id: lease-1 } }] }
      - { server: "*", tool: read_file, operations: [invoke, read_result], ttl: 60 }
"#;

#[test]
fn two_accounts_that_pay_for_the_same_are_refused() {
    let twice =
        "accounts: { a: { total: 1, currency: USD }, b: { total: 2, currency: EUR }, c: { total: 3, currency: USD } }";
    let expected = "1:77: accounts.c: pays for the same agent in the same currency as a; keep one";
    assert_eq!(crate::support::refuse(twice), expected);
}

#[test]
fn the_example_loads_with_everything_it_says() {
    let project =
        Project::new().unsigned().folder("workspace").folder("docs").file("plugins/house_rules.wasm", "bytes");
    let policy = project.load(EXAMPLE).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(policy.kernel.durable_admission, DurableAdmission::All);
    assert_eq!((policy.kernel.deadlines.guards_ms, policy.kernel.deadlines.tool_ms), (Some(100), Some(30_000)));
    assert!(policy.kernel.retention.keep_outputs);
    assert_eq!((policy.kernel.nonce.require, policy.kernel.nonce.ttl_secs), (true, 60));
    let accounts: Vec<_> = policy.accounts.iter().map(|a| (a.total.to_string(), a.subject.is_some())).collect();
    assert_eq!(accounts, [("5000 USD".to_owned(), false), ("1 USD".to_owned(), true)]);

    let own = &policy.guards[0];
    assert_eq!((own.name.as_str(), own.limits.fuel, own.limits.memory_bytes), ("house_rules", 5_000_000, 16 << 20));
    assert_eq!((own.limits.deadline_ms, own.limits.output_bytes, own.limits.instances), (50, 65_536, LIMITS.instances));
    assert_eq!(own.config, serde_json::json!({"weekend": "deny", "hours": [9, 17.5], "note": null, "7": "seven"}));
    let file = project.path("plugins/house_rules.wasm").canonicalize().unwrap();
    assert_eq!(own.component.origin, Origin::File(file));
    assert_eq!(policy.guards[2].name, "shell_command");

    let server = &policy.servers[0];
    let folders: Vec<_> = server.files.iter().map(|f| (f.path.as_str(), f.at.as_str(), f.access.as_str())).collect();
    assert_eq!(folders, [("../workspace", "/workspace", "read-write"), ("../docs", "/manual", "read")]);
    assert!(server.files[0].host.is_absolute());
    let facts: Vec<_> = server.arguments["read_file"].iter().map(|fact| fact.at.as_str()).collect();
    assert_eq!(facts, ["/path", "/encoding"]);
    assert_eq!(policy.capabilities[0].ttl_secs(), 60);
    let grant = &policy.capabilities[0].grants[0].grant;
    assert_eq!(grant.max_invocations, Some(100));
    assert_eq!(grant.max_total_cost.as_ref().map(ToString::to_string).as_deref(), Some("500 USD"));
    assert_eq!(grant.constraints[1].reservation().unwrap().to_string(), "destructive_lease lease-1");
    assert_eq!(server.price.as_ref().and_then(|p| p.max_reported), Some(3));
    assert_eq!(policy.dir, project.path("conf").canonicalize().unwrap());
}
