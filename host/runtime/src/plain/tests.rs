//! What is read off components, honest and hostile.

use serde_json::{Value, json};

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
            export mute: func() -> result<_, string>;
        }",
    );
    assert_eq!(names(&read), ["find", "raw", "quiet", "mute"]);
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
    assert_eq!(read.tools[3].description.output_schema, Some(json!({ "type": "null" })));
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

fn repeated(times: usize, text: impl Fn(usize) -> String) -> String {
    (0..times).map(text).collect::<Vec<_>>().concat()
}

/// Types that share parts are small in a component and without bounds as a schema.
#[test]
fn types_without_end_are_left_out() {
    let doubling = repeated(15, |i| format!("(type $t{} (tuple $t{i} $t{i}))", i + 1));
    let doubling = format!("(type $t0 u64){doubling}");
    let deep = repeated(40, |i| format!("(type $t{} (list $t{i}))", i + 1));
    let deep = format!("(type $t0 u64){deep}");
    let fields = repeated(5000, |i| format!("(field \"f{i}\" u8)"));
    let names = repeated(200, |i| format!("\"a{}{i}\" ", "x".repeat(1000)));
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
        let exports = repeated(number, |i| format!("(export \"g{i}\" (func $f))"));
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
