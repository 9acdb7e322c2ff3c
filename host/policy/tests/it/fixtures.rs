//! Fixtures: what they mean where they say little, and what is wrong with them, with its line.

use std::path::Path;

use chio_host_kernel::call::EffectClass;
use chio_host_kernel::facts::FactKind;
use chio_host_kernel::operation::Role;
use chio_host_kernel::ports::{CounterView, Stop};
use chio_host_policy::fixtures::{Asked, ExampleOf, Fixtures, RailRequest, Verdict, Wording};

use crate::support::LIMITS;

fn parse(text: &str, role: Role) -> Result<Fixtures, String> {
    Fixtures::parse(text, "f.yaml", role, &LIMITS).map_err(|problems| problems.to_string())
}

#[test]
fn a_call_is_shown_to_a_guard_as_a_real_one_would_be() {
    let text = "\
limits: { fuel: 7 }
config: { a: 1 }
arguments: { read: [{ at: /path, is: path }] }
cases:
  - name: all of it
    config: { a: 2 }
    call:
      server: files
      tool: read
      arguments: { path: /a/../b, note: x }
      time: 2026-01-04T12:00:00Z
      effect_class: read_only
      exposure: { units: 5, currency: USD }
      counters: [{ name: reads, window_seconds: 60, used: 3 }]
    expect: { verdict: deny, reason_contains: b }
  - { name: nothing of it, call: { tool: read, facts: [], arguments: { path: p } }, expect: { verdict: error, stop: fuel } }
";
    let fixtures = parse(text, Role::Guard).unwrap();
    assert_eq!((fixtures.limits.fuel, fixtures.limits.memory_bytes), (7, LIMITS.memory_bytes));
    let [first, second] = fixtures.cases.try_into().unwrap();
    assert_eq!((first.line, &first.config["a"], &second.config["a"]), (5, &2.into(), &1.into()));
    let Asked::Guard { call, counters } = first.asked else { panic!("it is a guard's") };
    assert_eq!(counters, [CounterView { name: "reads".into(), window_seconds: 60, used: 3 }]);
    assert_eq!((call.time, call.effect_class), (1_767_528_000, EffectClass::ReadOnly));
    assert_eq!(call.exposure.as_ref().map(|money| money.units), Some(5));
    let path = call.facts.iter().find(|fact| fact.at == "/path").unwrap();
    assert!(matches!(&path.kind, FactKind::Path(path) if path.normalised.as_deref() == Some("/b")), "{path:?}");
    assert_eq!(first.expected.reason, Some(Wording::Contains("b".into())));
    // What a case says of its own arguments stands in place of what all say.
    let Asked::Guard { call, .. } = second.asked else { panic!("it is a guard's") };
    assert!(matches!(&call.facts.last().unwrap().kind, FactKind::Text(text) if text == "p"));
    assert_eq!((second.expected.verdict, second.expected.stop), (Verdict::Error, Some(Stop::Fuel)));
}

#[test]
fn each_world_has_its_own_questions() {
    let hook = parse("cases: [{ name: a, output: null, expect: { verdict: redact, value: null } }]", Role::OutputHook);
    let hook = hook.unwrap().cases.remove(0);
    assert!(matches!(hook.asked, Asked::Hook { output, .. } if output.is_null()));
    assert_eq!(hook.expected.value, Some(serde_json::Value::Null));
    let tool = parse("cases: [{ name: a, call: { tool: t }, expect: { verdict: done, output: 1 } }]", Role::ToolServer);
    assert_eq!(tool.unwrap().cases[0].expected.value, Some(1.into()));
    let rail = "cases: [{ name: a, request: release, authorization: x, reference: r, expect: { verdict: done } }]";
    let Asked::Rail(request) = parse(rail, Role::Rail).unwrap().cases.remove(0).asked else { panic!("it is a rail's") };
    assert_eq!(request, RailRequest::Release("x".into(), "r".into()));
}

/// A fixture that could not fail, or could not pass, is refused like one that is misspelt.
#[test]
fn a_case_may_say_what_it_is_an_example_of() {
    let text = "\
cases:
  - { name: a, attack: two-aliases, expect: { verdict: deny } }
  - { name: b, harmless: two-aliases, expect: { verdict: allow } }
  - { name: c, expect: { verdict: allow } }
";
    let examples: Vec<_> = parse(text, Role::Guard).unwrap().cases.into_iter().map(|case| case.example_of).collect();
    let kind = || "two-aliases".to_owned();
    assert_eq!(examples, [Some(ExampleOf::Attack(kind())), Some(ExampleOf::Harmless(kind())), None]);
}

#[test]
fn what_is_wrong_is_reported_at_once_with_its_line() {
    let text = "\
cases:
  - name: a
    cal: {}
    expect: { verdict: alow }
  - name: a
    call: { time: yesterday, tool: 7, output: 1 }
    expect: { verdict: allow, reason: x, stop: fuel, value: 1 }
  - call: { arguments: [] }
    expect: { verdict: deny, reason: x, reason_contains: y, reservations: [] }
  - { name: b, expect: { verdict: error, stop: gremlins, secret_arguments: p } }
  - { name: c }
";
    assert_eq!(
        parse(text, Role::Guard).unwrap_err(),
        "\
f.yaml:3:5: cases[0].cal: unknown key; did you mean call?
f.yaml:4:24: cases[0].expect.verdict: alow is not one of allow, deny, pending, error; did you mean allow?
f.yaml:5:11: cases[1].name: is the name of an earlier case as well; choose another
f.yaml:6:19: cases[1].call.time: \"yesterday\" is not a time, such as 2026-01-04T12:00:00Z, or seconds since 1970
f.yaml:6:36: cases[1].call.tool: 7 is not a name; put it in quotes if it is text
f.yaml:6:39: cases[1].call.output: unknown key; known here: tool, arguments, facts, counters, request_id, agent, \
capability_id, grant_index, delegation_depth, server, operation, effect_class, exposure, time, depth
f.yaml:7:39: cases[1].expect.reason: a verdict of allow has none; remove it
f.yaml:7:48: cases[1].expect.stop: a verdict of allow has none; remove it
f.yaml:7:54: cases[1].expect.value: unknown key; known here: verdict, reason, reason_contains, stop, details, \
details_contain, reservations, secret_arguments
f.yaml:8:5: cases[2]: name is missing: what the case shows, in a few words
f.yaml:8:13: cases[2].call.arguments: a list is not a mapping, such as { path: notes.txt }
f.yaml:9:58: cases[2].expect.reason_contains: reason says it already; keep one
f.yaml:9:61: cases[2].expect.reservations: a verdict of deny has none; remove it
f.yaml:10:48: cases[3].expect.stop: \"gremlins\" stops nothing; fuel, deadline, memory, trap, answer and error do
f.yaml:10:76: cases[3].expect.secret_arguments: p is not a list of JSON pointers, such as [/password]
f.yaml:11:5: cases[4]: expect is missing: what the component has to answer, such as { verdict: allow }"
    );
    for (text, says) in [
        ("cases: []", "tests nothing"),
        ("{}", "cases is missing"),
        ("cases: [{ name: a, attack: Traversal, expect: { verdict: deny } }]", "\"Traversal\" is no kind"),
        (
            "cases: [{ name: a, attack: traversal, harmless: traversal, expect: { verdict: deny } }]",
            "cases[0].harmless: contradicts `attack`",
        ),
        ("cases: [{ name: a, output: 1, expect: { verdict: allow } }]", "output: unknown key"),
        ("cases: [{ name: a, expect: { verdict: deny, reason_contains: \"\" } }]", "is in every text"),
    ] {
        let problems = parse(text, Role::Guard).unwrap_err();
        assert!(problems.contains(says), "{text}: {problems}");
    }
}

#[test]
fn a_file_that_is_not_there_is_said_so() {
    let missing = Fixtures::load(Path::new("none.fixtures.yaml"), Role::Guard, &LIMITS).unwrap_err();
    assert_eq!(missing.to_string(), "none.fixtures.yaml: does not exist");
}
