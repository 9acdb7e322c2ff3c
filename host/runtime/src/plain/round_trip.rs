//! Any value of any type comes back from the component model as it went in, and is what its schema says.

use boon::{Compiler, Schemas};
use chio_host_kernel::canonical::{self, MAX_INTEGER};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::arguments::arguments;
use super::types::{Case, ERR, Field, Float, Int, NOT_FINITE, OK, SOME, Sides, TAG, Type, VALUE};
use super::{output, schema};

fn any_type() -> impl Strategy<Value = Type> {
    use Int::{S8, S16, S32, S64, U8, U16, U32, U64};
    let leaf = prop_oneof![
        Just(Type::Bool),
        select(vec![S8, U8, S16, U16, S32, U32, S64, U64]).prop_map(Type::Int),
        select(vec![Float::F32, Float::F64]).prop_map(Type::Float),
        Just(Type::Char),
        Just(Type::String),
        Just(Type::Bytes),
        names().prop_map(Type::Enum),
        names().prop_map(Type::Flags),
    ];
    leaf.prop_recursive(5, 24, 4, |inner| {
        let some = || proptest::option::of(inner.clone());
        prop_oneof![
            inner.clone().prop_map(|ty| Type::List(Box::new(ty))),
            inner.clone().prop_map(|ty| Type::Option(Box::new(ty))),
            vec(inner.clone(), 1..4).prop_map(Type::Tuple),
            (names(), vec(inner.clone(), 4)).prop_map(|(names, types)| Type::Record(
                names.into_iter().zip(types).map(|(name, ty)| Field { name, ty }).collect()
            )),
            (names(), vec(some(), 4)).prop_map(|(names, types)| Type::Variant(
                names.into_iter().zip(types).map(|(name, ty)| Case { name, ty }).collect()
            )),
            (some(), some()).prop_map(|(ok, err)| Type::Result(Box::new(Sides { ok, err }))),
        ]
    })
}

fn names() -> impl Strategy<Value = Vec<String>> {
    btree_set("[a-z][a-z0-9]{0,3}(-[a-z]{1,3})?", 1..4).prop_map(|names| names.into_iter().collect())
}

/// A value in the spelling that the host uses itself.
fn any_value(ty: &Type) -> BoxedStrategy<Value> {
    match ty {
        Type::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Type::Int(int) => {
            let (least, greatest) = int.range();
            let is_exact = |n: i128| n.unsigned_abs() <= MAX_INTEGER.into();
            let spelt = move |n| if is_exact(n) { json!(i64::try_from(n).unwrap()) } else { json!(n.to_string()) };
            let edges = select(vec![least, greatest, i128::from(MAX_INTEGER), i128::from(MAX_INTEGER) + 1]);
            let edges = edges.prop_map(move |n| n.clamp(least, greatest));
            prop_oneof![least..=greatest, edges].prop_map(spelt).boxed()
        }
        Type::Float(float) => {
            let finite: BoxedStrategy<f64> = match float {
                Float::F64 => any::<f64>().boxed(),
                Float::F32 => any::<f32>().prop_map(|n| n.to_string().parse().unwrap()).boxed(),
            };
            let finite = finite.prop_filter_map("finite", |n: f64| n.is_finite().then(|| json!(n)));
            prop_oneof![4 => finite, 1 => select(NOT_FINITE.to_vec()).prop_map(Value::from)].boxed()
        }
        Type::Char => any::<char>().prop_map(|c| json!(c.to_string())).boxed(),
        Type::String => any::<String>().prop_map(Value::from).boxed(),
        Type::Bytes => {
            use base64::Engine;
            let text = |bytes: Vec<u8>| json!(base64::engine::general_purpose::STANDARD.encode(bytes));
            vec(any::<u8>(), 0..8).prop_map(text).boxed()
        }
        Type::List(item) => vec(any_value(item), 0..4).prop_map(Value::from).boxed(),
        Type::Tuple(types) => types.iter().map(any_value).collect::<Vec<_>>().prop_map(Value::from).boxed(),
        Type::Record(fields) => {
            let values = fields.iter().map(|field| any_value(&field.ty)).collect::<Vec<_>>();
            let names: Vec<_> = fields.iter().map(|field| field.name.clone()).collect();
            values.prop_map(move |values| Value::Object(names.iter().cloned().zip(values).collect())).boxed()
        }
        Type::Variant(cases) => {
            let cases = cases.iter().map(|case| tagged(&case.name, case.ty.as_ref())).collect::<Vec<_>>();
            proptest::strategy::Union::new(cases).boxed()
        }
        Type::Enum(names) => select(names.clone()).prop_map(Value::from).boxed(),
        Type::Flags(names) => subsequence(names.clone(), 0..=names.len()).prop_map(Value::from).boxed(),
        Type::Option(some) => {
            let takes_null = some.takes_null();
            let some = any_value(some).prop_map(move |v| if takes_null { json!({ SOME: v }) } else { v });
            prop_oneof![Just(Value::Null), some].boxed()
        }
        Type::Result(sides) => prop_oneof![tagged(OK, sides.ok.as_ref()), tagged(ERR, sides.err.as_ref())].boxed(),
    }
}

fn tagged(name: &str, ty: Option<&Type>) -> BoxedStrategy<Value> {
    let name = name.to_owned();
    match ty {
        None => Just(json!({ TAG: name })).boxed(),
        Some(ty) => any_value(ty).prop_map(move |value| json!({ TAG: name, VALUE: value })).boxed(),
    }
}

fn type_and_value() -> impl Strategy<Value = (Type, Value)> {
    any_type().prop_flat_map(|ty| {
        let value = any_value(&ty);
        (Just(ty), value)
    })
}

/// Whether a value is what a schema says, by somebody else's reading.
fn is_valid(schema: Value, value: &Value) -> bool {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("schema.json", schema).unwrap();
    let schema = compiler.compile("schema.json", &mut schemas).unwrap();
    schemas.validate(value, schema).is_ok()
}

fn parameters(ty: &Type) -> Vec<Field> {
    vec![Field { name: "v".to_owned(), ty: ty.clone() }]
}

proptest! {
    #[test]
    fn what_goes_in_comes_out((ty, value) in type_and_value()) {
        let given = json!({ "v": value });
        let mut values = arguments(&parameters(&ty), &given).map_err(TestCaseError::fail)?;
        let text = canonical::to_string(&value);
        // Numbers are counted as the longest there is, and tags and keys with a comma that may not be there.
        let most = text.len() * 24 + 64;
        let back = output::output(&ty, values.remove(0), most).unwrap();
        prop_assert_eq!(canonical::to_string(&back), text);
        prop_assert!(is_valid(schema::of(&ty), &value));
        prop_assert!(is_valid(schema::object(&parameters(&ty)), &given));
    }

    /// Of another type's values too: what is taken is valid, and what is valid is taken, but for what a schema does not say.
    #[test]
    fn what_is_taken_is_what_the_schema_says((ty, _) in type_and_value(), (_, value) in type_and_value()) {
        let given = json!({ "v": value });
        let is_valid = is_valid(schema::object(&parameters(&ty)), &given);
        match arguments(&parameters(&ty), &given) {
            Ok(_) => prop_assert!(is_valid),
            Err(why) => {
                prop_assert!(why.starts_with("/v") && !why.chars().any(char::is_control), "{}", why);
                let unsaid = ["an integer from", "beyond what 32 bits hold", "base64"];
                prop_assert!(!is_valid || unsaid.iter().any(|unsaid| why.contains(unsaid)), "{}", why);
            }
        }
    }

    #[test]
    fn no_output_is_longer_than_its_limit((ty, value) in type_and_value(), limit in 0_usize..200) {
        let mut values = arguments(&parameters(&ty), &json!({ "v": value })).unwrap();
        if let Ok(back) = output::output(&ty, values.remove(0), limit) {
            prop_assert!(canonical::to_string(&back).len() <= limit);
        }
    }
}
