//! What is taken of arguments, and what is said of the rest.

use chio_host_kernel::canonical::Bounds;
use serde_json::{Value, json};

use super::arguments::arguments;
use super::types::{Case, Field, Float, Int, Type};

fn refusal(parameters: Vec<(&str, Type)>, given: &Value) -> String {
    let parameters: Vec<_> = parameters.into_iter().map(|(name, ty)| Field { name: name.to_owned(), ty }).collect();
    arguments(&parameters, given).err().unwrap_or_else(|| "taken".to_owned())
}

#[test]
fn a_refusal_says_where_and_what_is_needed() {
    let u8 = || Type::Int(Int::U8);
    let point = || Type::Record(vec![Field { name: "x/y".to_owned(), ty: u8() }]);
    let names = || vec!["red".to_owned(), "green".to_owned()];
    let shape = || {
        Type::Variant(vec![Case { name: "no".to_owned(), ty: None }, Case { name: "yes".to_owned(), ty: Some(u8()) }])
    };
    let option = |ty| Type::Option(Box::new(ty));
    let wide = "an integer from 0 to 18446744073709551615 is needed";
    for (ty, given, says) in [
        (Type::Bool, json!(1), "/v: true or false is needed, and a number is given"),
        (Type::Bool, json!(null), "/v: true or false is needed, and null is given"),
        (u8(), json!(256), "/v: an integer from 0 to 255 is needed, and this is none"),
        (u8(), json!(-1), "/v: an integer from 0 to 255 is needed, and this is none"),
        (u8(), json!(1.5), "/v: an integer from 0 to 255 is needed, and this is none"),
        (u8(), json!("1"), "/v: an integer from 0 to 255 is needed, and a string is given"),
        (Type::Int(Int::U64), json!("18446744073709551616"), wide),
        (Type::Int(Int::U64), json!("01"), wide),
        (Type::Int(Int::U64), json!("+1"), wide),
        (Type::Int(Int::U64), json!(" 1"), wide),
        (Type::Int(Int::U64), json!("-1"), wide),
        (Type::Int(Int::U64), json!(1e300), wide),
        (
            Type::Int(Int::S64),
            json!("-9223372036854775809"),
            "an integer from -9223372036854775808 to 9223372036854775807",
        ),
        (Type::Float(Float::F32), json!(1e39), "/v: it is beyond what 32 bits hold"),
        (Type::Float(Float::F64), json!("nan"), "/v: a number, \"NaN\", \"Infinity\" or \"-Infinity\" is needed"),
        (Type::Char, json!("ab"), "/v: a string of exactly one character is needed"),
        (Type::Char, json!(""), "/v: a string of exactly one character is needed"),
        (Type::Bytes, json!("AAA"), "/v: base64 with padding"),
        (Type::Bytes, json!("A-__"), "/v: base64 with padding"),
        (Type::Bytes, json!([1]), "/v: a string of base64 is needed, and an array is given"),
        (Type::List(Box::new(u8())), json!([1, "x"]), "/v/1: an integer"),
        (Type::Tuple(vec![u8(), u8()]), json!([1]), "/v: an array of exactly 2 is needed, and it has 1"),
        (Type::Tuple(vec![u8(), u8()]), json!([1, {}]), "/v/1: an integer"),
        (point(), json!({ "x/y": null }), "/v/x~1y: an integer"),
        (point(), json!({}), "/v: the field \"x/y\" is missing"),
        (point(), json!({ "x/y": 1, "z": 1 }), "/v: there is no field \"z\"; there are x/y"),
        (shape(), json!("no"), "/v: an object whose `tag` is one of no, yes is needed, and a string is given"),
        (shape(), json!({ "tag": "maybe" }), "/v: one of no, yes is needed, and this is none"),
        (shape(), json!({ "tag": "no", "value": null }), "/v: this case has no `value`"),
        (shape(), json!({ "tag": "yes" }), "/v: this case needs a `value`"),
        (shape(), json!({ "tag": "yes", "value": 1, "val": 1 }), "/v: no key \"val\" belongs here"),
        (shape(), json!({ "tag": "yes", "value": "1" }), "/v/value: an integer"),
        (Type::Enum(names()), json!("blue"), "/v: one of red, green is needed, and this is none"),
        (Type::Flags(names()), json!(["red", "red"]), "/v/1: it stands twice"),
        (Type::Flags(names()), json!({ "red": true }), "/v: an array of names is needed, and an object is given"),
        (option(option(Type::Bool)), json!(true), "/v: null, or an object with `some` alone, is needed"),
        (option(option(Type::Bool)), json!({ "some": 1 }), "/v/some: true or false"),
    ] {
        let refused = refusal(vec![("v", ty)], &json!({ "v": given }));
        assert!(refused.contains(says), "{given}: {refused}");
    }
    let two = || vec![("a", Type::String), ("b", option(Type::String))];
    assert_eq!(refusal(two(), &json!({ "b": "x" })), "the arguments: the parameter \"a\" is missing");
    assert_eq!(
        refusal(two(), &json!({ "a": "x", "c": 1 })),
        "the arguments: there is no parameter \"c\"; there are a, b"
    );
    assert_eq!(refusal(two(), &json!({ "a": "x", "b": null })), "taken");
    assert_eq!(refusal(two(), &json!({ "a": "x" })), "taken");
    assert_eq!(refusal(Vec::new(), &json!({ "c": 1 })), "the arguments: there is no parameter \"c\"; there is none");
    let secret = refusal(vec![("v", u8())], &json!({ "v": "sesame-open" }));
    assert!(!secret.contains("sesame"), "{secret}");
}

/// A number with a fraction of zero is an integer, and 64 bits are taken as a number or as digits.
#[test]
fn integers_are_taken_in_more_than_one_spelling() {
    for (int, given) in [
        (Int::U8, json!(7.0)),
        (Int::S64, json!("7")),
        (Int::S64, json!("-9223372036854775808")),
        (Int::U64, json!("18446744073709551615")),
        (Int::U64, json!(9_007_199_254_740_991_u64)),
    ] {
        assert_eq!(refusal(vec![("v", Type::Int(int))], &json!({ "v": given })), "taken", "{given}");
    }
}

/// A list of `{}`, each of which stands for a record of many options.
#[test]
fn few_bytes_do_not_stand_for_many_values() {
    let field = |i: usize| Field { name: format!("f{i}"), ty: Type::Option(Box::new(Type::Bool)) };
    let record = Type::Record((0..2000).map(field).collect());
    let given = json!({ "v": vec![json!({}); 10_000] });
    let refused = refusal(vec![("v", Type::List(Box::new(record)))], &given);
    assert!(refused.starts_with("/v/") && refused.ends_with(": too many values"), "{refused}");
}

#[test]
fn the_longest_base64_that_arguments_can_hold_is_taken() {
    let given = json!({ "v": "A".repeat(Bounds::ARGUMENTS.bytes - 12) });
    assert_eq!(refusal(vec![("v", Type::Bytes)], &given), "taken");
}
