//! What is read off components, honest and hostile, and what is refused of arguments.

use serde_json::{Value, json};

use super::arguments::arguments;
use super::types::{Case, Field, Float, Int, Type};
use super::{LeftOut, PlainFunctions, plain_functions};
use crate::testing::{exporting, plain};

fn read(wit: &str) -> PlainFunctions {
    plain_functions(&plain(wit)).unwrap()
}

fn names(functions: &PlainFunctions) -> Vec<&str> {
    functions.tools.iter().map(|tool| tool.description.name.as_str()).collect()
}

fn left_out(functions: &PlainFunctions) -> Vec<(&str, &str)> {
    functions.left_out.iter().map(|LeftOut { function, why }| (function.as_str(), why.as_str())).collect()
}

#[test]
fn the_schemas_are_those_of_the_types() {
    let read = read(
        "package t:t;
        world w {
            record at { x: u8, y: option<s64> }
            variant found { no, yes(at) }
            flags how { fast, deep }
            enum order { up, down }
            export find: func(word: string, how: how, order: option<order>, start: tuple<char, f32>) -> result<list<found>, string>;
            export raw: func(bytes: list<u8>, twice: option<option<bool>>) -> result<bool>;
            export quiet: func();
        }",
    );
    assert_eq!(names(&read), ["find", "raw", "quiet"]);
    let closed = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let float =
        json!({ "anyOf": [{ "type": "number" }, { "type": "string", "enum": ["NaN", "Infinity", "-Infinity"] }] });
    let tuple = json!({
        "type": "array", "prefixItems": [{ "type": "string", "minLength": 1, "maxLength": 1 }, float],
        "items": false, "minItems": 2, "maxItems": 2,
    });
    let find = &read.tools[0].description;
    assert_eq!(
        find.input_schema,
        closed(
            json!({
                "word": { "type": "string" },
                "how": { "type": "array", "items": { "type": "string", "enum": ["fast", "deep"] }, "uniqueItems": true },
                "order": { "anyOf": [{ "type": "string", "enum": ["up", "down"] }, { "type": "null" }] },
                "start": tuple,
            }),
            json!(["word", "how", "start"]),
        )
    );
    let wide = json!({ "anyOf": [
        { "type": "integer", "minimum": -9_007_199_254_740_991_i64, "maximum": 9_007_199_254_740_991_i64 },
        { "type": "string", "pattern": "^(0|-?[1-9][0-9]{0,18})$" },
    ] });
    let at = closed(
        json!({
            "x": { "type": "integer", "minimum": 0, "maximum": 255 },
            "y": { "anyOf": [wide, { "type": "null" }] },
        }),
        json!(["x"]),
    );
    let no = closed(json!({ "tag": { "type": "string", "const": "no" } }), json!(["tag"]));
    let yes = closed(json!({ "tag": { "type": "string", "const": "yes" }, "value": at }), json!(["tag", "value"]));
    assert_eq!(find.output_schema, Some(json!({ "type": "array", "items": { "oneOf": [no, yes] } })));
    let raw = &read.tools[1].description;
    let twice = closed(json!({ "some": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] } }), json!(["some"]));
    assert_eq!(
        raw.input_schema,
        closed(
            json!({
                "bytes": { "type": "string", "contentEncoding": "base64" },
                "twice": { "anyOf": [twice, { "type": "null" }] },
            }),
            json!(["bytes"]),
        )
    );
    assert_eq!(raw.output_schema, Some(json!({ "type": "boolean" })));
    let quiet = &read.tools[2].description;
    assert_eq!(quiet.input_schema, json!({ "type": "object", "properties": {}, "additionalProperties": false }));
    assert_eq!(quiet.output_schema, Some(json!({ "type": "null" })));
}

#[test]
fn a_function_of_an_interface_is_called_behind_it() {
    let read = read(
        "package acme:clock@1.2.0;
        interface time { now: func() -> u64; }
        world w { export time; export now: func() -> u64; export zone: interface { current-zone: func() -> string; } }",
    );
    let mut names = names(&read);
    names.sort_unstable();
    assert_eq!(names, ["now", "time_now", "zone_current-zone"]);
}

#[test]
fn what_has_no_json_is_left_out_and_said() {
    let read = plain_functions(chio_host_builtin::testing::PLAIN_TYPES).unwrap();
    let mut found = left_out(&read);
    found.sort_unstable();
    let of_resource = "it belongs to a resource, and every call has an instance of its own";
    assert_eq!(
        found,
        [
            ("test:kinds/counting@1.2.3#[constructor]counter", of_resource),
            ("test:kinds/counting@1.2.3#[method]counter.next", of_resource),
            ("test:kinds/counting@1.2.3#[static]counter.of-all", of_resource),
            ("test:kinds/counting@1.2.3#sum", "it has a resource among its types, which JSON cannot hold"),
        ]
    );
    assert!(names(&read).contains(&"counting_add") && names(&read).contains(&"greet"));
}

/// wasmtime does not compile these here, and an operator can still be told why.
#[test]
fn streams_and_async_functions_are_said_too() {
    for (ty, why) in [
        ("(stream u8)", "it has a stream among its types, which JSON cannot hold"),
        ("(future u8)", "it has a future among its types, which JSON cannot hold"),
        ("error-context", "it has an error-context among its types, which JSON cannot hold"),
        ("(map string u8)", "it has a map or a list of fixed length among its types, which this host does not know"),
        ("(list u8 4)", "it has a map or a list of fixed length among its types, which this host does not know"),
    ] {
        let read = plain_functions(&exporting(&format!("(type $t {ty})"), "(param \"p\" $t)")).unwrap();
        assert_eq!(left_out(&read), [("f", why)]);
        assert!(read.tools.is_empty());
    }
    let text = "(component (type $f (func async)) (import \"f\" (func $f (type $f))) (export \"g\" (func $f)))";
    let read = plain_functions(&wat::parse_str(text).unwrap()).unwrap();
    assert_eq!(left_out(&read), [("g", "it is async, and calls here are not")]);
}

#[test]
fn entry_points_of_wasi_are_no_tools() {
    let read = read(
        "package wasi:cli@0.2.6;
        interface run { run: func() -> result; }
        world w { export run; export greet: func() -> string; }",
    );
    assert_eq!(names(&read), ["greet"]);
    let why = "it is an entry point of WASI's, which nobody calls here";
    assert_eq!(left_out(&read), [("wasi:cli/run@0.2.6#run", why)]);
}

/// Types that share parts are small in a component and without bounds as a schema.
#[test]
fn types_without_end_are_left_out() {
    let mut doubling = "(type $t0 u64)".to_owned();
    for i in 0..15 {
        doubling += &format!("(type $t{} (tuple $t{i} $t{i}))", i + 1);
    }
    let mut deep = "(type $t0 u64)".to_owned();
    for i in 0..40 {
        deep += &format!("(type $t{} (list $t{i}))", i + 1);
    }
    let fields: String = (0..5000).map(|i| format!("(field \"f{i}\" u8)")).collect();
    let names: String = (0..200).map(|i| format!("\"a{}{i}\"", "x".repeat(1000))).collect::<Vec<_>>().join(" ");
    for (types, ty, why) in [
        (doubling.as_str(), "$t15", "its types have more than 4096 parts"),
        (deep.as_str(), "$t40", "its types are nested more than 32 deep"),
        (
            &format!("(type $r' (record {fields})) (import \"r\" (type $r (eq $r')))"),
            "$r",
            "its types have more than 4096 parts",
        ),
        (
            &format!("(type $e' (enum {names})) (import \"e\" (type $e (eq $e')))"),
            "$e",
            "the names in its types have more than 131072 bytes",
        ),
    ] {
        let read = plain_functions(&exporting(types, &format!("(param \"p\" {ty})"))).unwrap();
        assert_eq!(left_out(&read), [("f", why)]);
    }
}

#[test]
fn more_functions_than_a_client_could_use_refuse_the_component() {
    let many = |number: usize| {
        let exports: String = (0..number).map(|i| format!("(export \"g{i}\" (func $f))")).collect();
        let text = format!("(component (type $t (func)) (import \"f\" (func $f (type $t))) {exports})");
        plain_functions(&wat::parse_str(text).unwrap())
    };
    assert_eq!(many(256).unwrap().tools.len(), 256);
    assert!(many(257).unwrap_err().to_string().contains("257 of its functions would be tools; at most 256 may be"));
    assert!(many(5000).unwrap_err().to_string().contains("it exports more than 1024 functions"));
}

#[test]
fn a_name_that_clients_do_not_take_is_left_out() {
    let read = read(&format!("package t:t; world w {{ export {}: func(); export short: func(); }}", "x".repeat(65)));
    assert_eq!(names(&read), ["short"]);
    assert!(left_out(&read)[0].1.ends_with("and clients take names of 1 to 64 of A-Z, a-z, 0-9, _ and -"));
}

/// Versions may differ in what a name cannot show.
#[test]
fn two_functions_of_one_name_refuse_the_component() {
    let text = r#"(component
        (type $t (func)) (import "f" (func $f (type $t)))
        (instance $i (export "now" (func $f)))
        (export "a:b/time@1.0.0-rc.1" (instance $i))
        (export "a:b/time@1.0.0+rc.1" (instance $i)))"#;
    let error = plain_functions(&wat::parse_str(text).unwrap()).unwrap_err().to_string();
    assert!(error.contains("a:b/time@1.0.0-rc.1#now and a:b/time@1.0.0+rc.1#now would both be the tool"), "{error}");
}

/// A section as wit-component and wit-docs-inject write it.
fn with_docs(mut component: Vec<u8>, docs: &str) -> Vec<u8> {
    let name = "package-docs";
    let mut section = vec![u8::try_from(name.len()).unwrap()];
    section.extend_from_slice(name.as_bytes());
    section.push(1);
    section.extend_from_slice(docs.as_bytes());
    component.push(0);
    let mut length = section.len();
    while length >= 0x80 {
        component.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    component.push(u8::try_from(length).unwrap());
    component.extend(section);
    component
}

#[test]
fn comments_of_the_wit_describe_its_functions() {
    let component = plain(
        "package acme:clock; interface time { now: func(); } world w { export time; export greet: func(); export odd: func(); }",
    );
    let described = |docs: &str| {
        let read = plain_functions(&with_docs(component.clone(), docs)).unwrap();
        let mut all: Vec<_> = read.tools.into_iter().map(|t| (t.description.name, t.description.description)).collect();
        all.sort();
        all.into_iter().map(|(_, description)| description).collect::<Vec<_>>()
    };
    let docs = json!({
        "worlds": { "w": { "func_exports": { "greet": { "docs": "Greets.\nTwice." }, "odd": { "docs": 3 } } } },
        "interfaces": { "time": { "funcs": { "now": { "docs": "The time\u{1b}[31m." } } } },
    });
    let own = |function: &str| format!("Calls the function {function}.");
    assert_eq!(described(&docs.to_string()), ["Greets.\nTwice.", &own("odd"), "The time [31m."]);
    for nonsense in ["", "{", "[1]", "null", r#"{"worlds":[],"worlds":1}"#] {
        assert_eq!(described(nonsense), [own("greet"), own("odd"), own("acme:clock/time#now")]);
    }
}

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
