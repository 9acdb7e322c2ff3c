//! `plugin test` and `plugin bench`: what whoever writes a component sees.

use serde_json::json;

use crate::support::{Done, Place, repository};

fn builtin(place: &Place, command: &str, name: &str, fixtures: &str, more: &[&str]) -> Done {
    let component = format!("builtin:{name}");
    let fixtures = repository(fixtures);
    let mut args = vec!["plugin", command, &component, "--fixtures", fixtures.to_str().unwrap()];
    args.extend(more);
    place.run(&args)
}

/// How many cases a file of fixtures has.
fn cases(fixtures: &str) -> usize {
    std::fs::read_to_string(repository(fixtures)).unwrap().matches("\n  - name: ").count()
}

#[test]
fn the_reference_components_pass_their_fixtures() {
    let place = Place::new();
    for (name, fixtures) in [
        ("forbidden_path", "guards/forbidden-path/fixtures.yaml"),
        ("secret_redactor", "guards/secret-redactor/fixtures.yaml"),
        ("hello", "examples/hello/fixtures.yaml"),
    ] {
        let cases = cases(fixtures);
        let done = builtin(&place, "test", name, fixtures, &[]);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
        assert!(done.stdout.ends_with(&format!("\n{cases} passed, 0 failed\n")), "{done:?}");
        assert_eq!(done.stdout.matches("  ok    ").count(), cases, "{done:?}");
    }
    assert!(!place.path().join(".chio").exists(), "a test records nothing");
}

/// Everything that can differ, and that it is shown.
#[test]
fn a_difference_fails_and_is_shown() {
    let place = Place::new();
    let fixtures = place.write(
        "wrong.yaml",
        "\
cases:
  - name: expects a denial
    call: { arguments: { path: notes.txt } }
    expect: { verdict: deny }
  - name: expects another reason
    call: { arguments: { path: /etc/shadow } }
    expect: { verdict: deny, reason: because }
  - name: expects a reservation
    expect:
      verdict: allow
      reservations: [{ counter: c, amount: 1, window_seconds: 60, limit: 2 }]
      secret_arguments: [/password]
  - name: runs out of fuel
    expect: { verdict: error, stop: memory, reason_contains: fuel }
limits: { fuel: 1_000_000 }
",
    );
    let fixtures = fixtures.to_str().unwrap();
    let done = place.run(&["plugin", "test", "builtin:forbidden_path", "--fixtures", fixtures]);
    assert_eq!(done.code, 1, "{done:?}");
    let reason = "path /etc/shadow is forbidden (system credentials)";
    let expected = format!(
        "\
builtin:forbidden_path (guard)
  FAIL  expects a denial (line 2)
        verdict
          - expected deny
          + got      allow
  FAIL  expects another reason (line 5)
        reason
          - expected \"because\"
          + got      \"{reason}\"
  FAIL  expects a reservation (line 8)
        reservations
          - expected [{{\"amount\":1,\"counter\":\"c\",\"limit\":2,\"window_seconds\":60}}]
          + got      []
        secret_arguments
          - expected [\"/password\"]
          + got      []
  FAIL  runs out of fuel (line 13)
        verdict
          - expected error
          + got      allow
0 passed, 4 failed
"
    );
    assert_eq!(done.stdout, expected);
    assert!(!done.stdout.contains('\u{1b}'), "no colour where there is no terminal");

    let done = place.run(&["plugin", "test", "builtin:forbidden_path", "--fixtures", fixtures, "--format", "json"]);
    assert_eq!(done.code, 1);
    let [report] = done.json_lines().try_into().unwrap();
    assert_eq!((&report["passed"], &report["failed"], &report["world"]), (&0.into(), &4.into(), &"guard".into()));
    let case = &report["cases"][1];
    assert_eq!((&case["verdict"], &case["reason"], &case["line"]), (&"deny".into(), &reason.into(), &5.into()));
    assert_eq!(
        case["differences"],
        json!([{ "what": "reason", "expected": "\"because\"", "got": format!("{reason:?}") }])
    );
    assert!(case["fuel"].as_u64().unwrap() > 0);
}

/// A guard under limits that it breaks is an error of the case, and a limit that it cannot start under one of the load.
#[test]
fn limits_are_the_fixtures_own() {
    let place = Place::new();
    let test = |limits: &str, expect: &str| {
        let text = format!("limits: {{ {limits} }}\ncases: [{{ name: a, expect: {{ {expect} }} }}]\n");
        let fixtures = place.write("limits.yaml", text);
        place.run(&["plugin", "test", "builtin:forbidden_path", "--fixtures", fixtures.to_str().unwrap()])
    };
    let starved = test("fuel: 2_000", "verdict: error, stop: fuel, reason: fuel limit of 2000 reached");
    assert_eq!(starved.code, 0, "{starved:?}");
    test("memory: 1KiB", "verdict: error").is_error(&["builtin:forbidden_path", "bytes of memory", "limit is 1024"]);
}

#[test]
fn a_bench_says_what_a_component_costs() {
    let place = Place::new();
    let fixtures = "guards/forbidden-path/fixtures.yaml";
    let done = place.run(&["plugin", "bench", "builtin:forbidden_path", "--calls", "3", "--format", "json"]);
    let [plain] = done.json_lines().try_into().unwrap();
    assert_eq!((&plain["calls"], &plain["cases"][0]["answer"]), (&3.into(), &"allow".into()), "{plain}");
    for number in ["bytes", "load_cold_us", "load_cached_us"] {
        assert!(plain[number].as_u64().unwrap() > 0, "{number}: {plain}");
    }
    assert!(plain["cases"][0]["fuel"].as_u64().unwrap() > 0, "{plain}");
    assert_eq!(plain["runs"], "in the pool");

    let done = builtin(&place, "bench", "forbidden_path", fixtures, &["--calls", "2"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.field("load").contains(" cold, "), "{done:?}");
    let table: Vec<_> = done.stdout.lines().skip_while(|line| !line.starts_with("P50")).collect();
    assert_eq!(table.len(), 1 + cases(fixtures), "{done:?}");
    assert!(table.iter().any(|row| row.contains("no_such_key")), "{done:?}");
    assert!(
        table[2].contains("keeps the system's passwords") && table[2].contains("deny: path /etc/shadow"),
        "{done:?}"
    );

    let tool = place.run(&["plugin", "bench", "builtin:hello", "--calls", "2"]);
    assert!(tool.code == 0 && tool.stdout.contains("invalid_arguments: missing field `name`"), "{tool:?}");
}

#[test]
fn what_cannot_be_tested_is_said_in_a_sentence() {
    let place = Place::new();
    let test = |component: &str| place.run(&["plugin", "test", component]);
    test("builtin:nothing").is_error(&["there is no built-in nothing; there are forbidden_path"]);
    test("builtin:hello").is_error(&["builtin:hello has no fixtures beside it", "--fixtures FILE"]);
    test("none.wasm").is_error(&["none.wasm"]);
    place.write("text.wasm", "hello");
    test("text.wasm").is_error(&["text.wasm: it is no component that this host can load"]);
    let empty = place.write("empty.wasm", wat_component());
    test("empty.wasm").is_error(&["empty.wasm", "of no world of chio:plugin"]);
    std::fs::remove_file(empty).unwrap();
    let fixtures = place.write("f.yaml", "cases: [{ name: a, expect: { verdict: alow } }]");
    place
        .run(&["plugin", "test", "builtin:forbidden_path", "--fixtures", fixtures.to_str().unwrap()])
        .is_error(&["f.yaml:1:", "alow is not one of allow, deny, pending, error"]);
    place.run(&["plugin", "bench", "builtin:hello", "--calls", "0"]).is_error(&["0", "1..=100000"]);
}

/// The smallest component: its header alone.
fn wat_component() -> [u8; 8] {
    [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00]
}
