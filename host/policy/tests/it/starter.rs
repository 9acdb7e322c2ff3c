//! The seed's starter policy loads unchanged, and so does design's example, money left out.

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
          deadlines: { guards: 100ms, tool: 30s }, retention: { keep_outputs: true } }
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
capabilities:
  default:
    tools:
      - { server: files, tool: "*", operations: [invoke], ttl: 300, max_invocations: 100,
          constraints: [{ type: path_prefix, value: /workspace }] }
      - { server: "*", tool: read_file, operations: [invoke, read_result], ttl: 60 }
"#;

#[test]
fn the_example_loads_with_everything_it_says() {
    let project = Project::new().folder("workspace").folder("docs").file("plugins/house_rules.wasm", "bytes");
    let policy = project.load(EXAMPLE).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(policy.kernel.durable_admission, DurableAdmission::All);
    assert_eq!((policy.kernel.deadlines.guards_ms, policy.kernel.deadlines.tool_ms), (Some(100), Some(30_000)));
    assert!(policy.kernel.retention.keep_outputs);

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
    assert_eq!(policy.capabilities[0].grants[0].grant.max_invocations, Some(100));
    assert_eq!(policy.dir, project.path("conf").canonicalize().unwrap());
}
