use chio_sdk::testing::{call, with_config};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn ask(config: &Value, output: &Value) -> HookVerdict {
    with_config(config, || inspect(&call("s", "t").build(), &output.to_string())).unwrap()
}

#[track_caller]
fn blocked(config: &Value, output: &Value) -> String {
    match ask(config, output) {
        HookVerdict::Block(reason) => reason,
        other => panic!("{other:?}"),
    }
}

fn is_allowed(config: &Value, output: &Value) -> bool {
    matches!(ask(config, output), HookVerdict::Allow)
}

/// Lists within lists, so many.
fn nested(depth: usize) -> Value {
    (1..depth).fold(json!([]), |inner, _| json!([inner]))
}

#[test]
fn each_limit_is_met_and_said() {
    let why = |config: Value, output: Value| blocked(&config, &output);
    assert_eq!(
        why(json!({ "max_bytes": 10 }), json!("123456789")),
        "the output has 11 bytes, and more than 10 is not passed on"
    );
    assert!(is_allowed(&json!({ "max_bytes": 11 }), &json!("123456789")));
    assert_eq!(
        why(json!({ "max_depth": 3 }), nested(4)),
        "the output is 4 lists and objects deep, and deeper than 3 is not passed on"
    );
    assert!(is_allowed(&json!({ "max_depth": 3 }), &nested(3)));
    assert!(why(json!({ "max_values": 3 }), json!([1, -2.5e3, null])).contains("4 values"));
    assert!(is_allowed(&json!({ "max_values": 4 }), &json!([1, true, null])));
    assert!(why(json!({ "max_string_bytes": 64 }), json!(["x".repeat(65)])).contains("a string of 65 bytes"));
    assert!(why(json!({ "max_string_bytes": 64 }), json!({ "k".repeat(65): 1 })).contains("a string of 65 bytes"));
    assert!(is_allowed(&json!({ "max_string_bytes": 64 }), &json!(["x".repeat(64)])));
    for blank in [" ", "\n", "\r\n", "\t", "\u{a0}", "\u{3000}", "\u{200b}", " \n\u{2800}"] {
        let reason = why(json!({ "max_blank_bytes": 20 }), json!(["a", format!("a{}b", blank.repeat(21))]));
        assert!(reason.contains("white space"), "{blank:?}: {reason}");
        assert!(is_allowed(&json!({ "max_blank_bytes": 20 }), &json!([vec![format!("a{blank}"); 30].concat()])));
    }
}

#[test]
fn an_escaped_quote_ends_no_string() {
    let size = measure::size(&json!(["a\"b[[[\\", "\\\"{", { "k": [] }]).to_string());
    assert_eq!((size.of(Measure::Depth), size.of(Measure::Values)), (3, 6));
}

#[test]
fn strings_are_cut_where_a_character_ends() {
    let config = json!({ "action": "cut", "max_string_bytes": 64 });
    let output = json!({ "a": "é".repeat(100), "b": [1, "short"], "k".repeat(90): "\n".repeat(90), format!("{}2", "k".repeat(90)): 7 });
    let HookVerdict::Redact(redaction) = ask(&config, &output) else { panic!("it is cut") };
    let value: Value = serde_json::from_str(&redaction.value).unwrap();
    assert_eq!(value["a"], "éééééééé[CUT: 184 bytes]");
    assert_eq!(value["b"], json!([1, "short"]));
    let begin = "k".repeat(16);
    assert_eq!(value[format!("{begin}[CUT: 74 bytes]")], "\n\n\n\n\n\n\n\n[CUT: 82 bytes]");
    assert_eq!(value[format!("{begin}[CUT: 75 bytes]")], 7);
    assert_eq!((redaction.what.len(), redaction.what[0].kind.as_str(), redaction.what[0].count), (1, "cut", 4));
}

#[test]
fn what_is_binary_is_not_cut() {
    let config = json!({ "action": "cut", "max_string_bytes": 64 });
    let block = |key: &str| json!({ "content": [{ "type": "image", "mimeType": "image/png", key: "A".repeat(100) }] });
    for key in ["data", "blob"] {
        assert!(blocked(&config, &block(key)).contains("a string of 100 bytes"));
    }
    for output in [block("text"), json!({ "data": "A".repeat(100) })] {
        assert!(matches!(ask(&config, &output), HookVerdict::Redact(_)), "{output}");
    }
}

#[test]
fn what_cannot_be_cut_is_blocked() {
    let cut = |more: &str, limit: usize| json!({ "action": "cut", more: limit });
    assert!(blocked(&cut("max_values", 3), &json!([1, 2, 3])).contains("values"));
    assert!(blocked(&cut("max_depth", 2), &nested(3)).contains("deep"));
    assert!(blocked(&cut("max_bytes", 100), &json!(["x".repeat(50), "x".repeat(60)])).contains("bytes"));
    // Cut to what it may be, it is still too large as a whole.
    let config = json!({ "action": "cut", "max_bytes": 100, "max_string_bytes": 64 });
    assert!(blocked(&config, &json!(vec!["x".repeat(100); 4])).contains("bytes"));
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let verdict = inspect(&call("s", "t").build(), &deep).unwrap();
    assert!(matches!(verdict, HookVerdict::Block(reason) if reason.contains("5000 lists")));
}

#[test]
fn a_limit_that_is_none_is_an_error() {
    for config in [
        json!({ "max_bytes": 0 }),
        json!({ "max_bytes": 17 << 20 }),
        json!({ "max_string_bytes": 63 }),
        json!({ "max_values": 0 }),
        json!({ "max_depth": 128 }),
        json!({ "max_blank_bytes": 0 }),
        json!({ "action": "truncate" }),
        json!({ "max": 1 }),
    ] {
        let verdict = with_config(&config, || inspect(&call("s", "t").build(), "1"));
        assert!(verdict.is_err(), "{config}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(|value| 1 + values(value)).sum::<usize>(),
        _ => 1,
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

proptest! {
    #[test]
    fn the_walk_measures_what_a_parser_sees(value in any_json()) {
        let size = measure::size(&value.to_string());
        prop_assert_eq!(size.of(Measure::Values), values(&value));
        prop_assert_eq!(size.of(Measure::Depth), depth(&value));
    }

    #[test]
    fn what_was_cut_is_within_the_limit(value in any_json(), max in 64..200_usize) {
        let mut cut = value.clone();
        cut::strings(&mut cut, max);
        let size = measure::size(&cut.to_string());
        prop_assert!(size.of(Measure::StringBytes) <= max, "{}", cut);
        prop_assert_eq!(values(&cut), values(&value));
    }

    #[test]
    fn anything_has_a_size(text in any::<String>()) {
        measure::size(&text);
    }
}
