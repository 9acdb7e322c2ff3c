//! Types as JSON Schema, draft 2020-12.
//!
//! What a schema says is what [`super::arguments`] takes and [`super::output`] makes, but for what a schema cannot say, or only
//! in a way that nobody reads: that digits fit into 64 bits, that a number fits into an `f32`, that base64 is base64.

use chio_host_kernel::canonical::MAX_INTEGER;
use serde_json::{Map, Value, json};

use super::types::{Case, ERR, Field, Int, NOT_FINITE, OK, SOME, Sides, TAG, Type, VALUE};

/// Of an object of parameters, which is a record.
pub(crate) fn object(fields: &[Field]) -> Value {
    let properties: Map<_, _> = fields.iter().map(|field| (field.name.clone(), of(&field.ty))).collect();
    let required: Vec<_> = fields.iter().filter(|f| !f.ty.takes_null()).map(|f| f.name.as_str()).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Of one value.
pub(crate) fn of(ty: &Type) -> Value {
    match ty {
        Type::Bool => json!({ "type": "boolean" }),
        Type::Int(int) => integer(*int),
        Type::Float(_) => json!({ "anyOf": [{ "type": "number" }, { "type": "string", "enum": NOT_FINITE }] }),
        Type::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        Type::String => json!({ "type": "string" }),
        Type::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
        Type::List(item) => json!({ "type": "array", "items": of(item) }),
        Type::Tuple(types) => {
            let items: Vec<_> = types.iter().map(of).collect();
            let length = items.len();
            json!({ "type": "array", "prefixItems": items, "items": false, "minItems": length, "maxItems": length })
        }
        Type::Record(fields) => object(fields),
        Type::Variant(cases) => {
            json!({ "oneOf": cases.iter().map(|Case { name, ty }| tagged(name, ty.as_ref())).collect::<Vec<_>>() })
        }
        Type::Enum(names) => json!({ "type": "string", "enum": names }),
        Type::Flags(names) => {
            json!({ "type": "array", "items": { "type": "string", "enum": names }, "uniqueItems": true })
        }
        Type::Option(some) if some.takes_null() => {
            json!({ "anyOf": [closed(vec![(SOME, of(some))]), { "type": "null" }] })
        }
        Type::Option(some) => json!({ "anyOf": [of(some), { "type": "null" }] }),
        Type::Result(sides) => {
            let Sides { ok, err } = &**sides;
            json!({ "oneOf": [tagged(OK, ok.as_ref()), tagged(ERR, err.as_ref())] })
        }
    }
}

fn integer(int: Int) -> Value {
    let (least, greatest) = int.range();
    let exact = i128::from(MAX_INTEGER);
    // Between these both, an integer of any type fits 64 bits.
    let bound = |n: i128| i64::try_from(n.clamp(-exact, exact)).unwrap_or_default();
    let number = json!({ "type": "integer", "minimum": bound(least), "maximum": bound(greatest) });
    if !int.is_wide() {
        return number;
    }
    let digits = if least < 0 { "^(0|-?[1-9][0-9]{0,18})$" } else { "^(0|[1-9][0-9]{0,19})$" };
    json!({ "anyOf": [number, { "type": "string", "pattern": digits }] })
}

/// One case of a variant.
fn tagged(name: &str, ty: Option<&Type>) -> Value {
    let tag = json!({ "type": "string", "const": name });
    closed(match ty {
        None => vec![(TAG, tag)],
        Some(ty) => vec![(TAG, tag), (VALUE, of(ty))],
    })
}

/// An object with all of these keys, and no others.
fn closed(properties: Vec<(&str, Value)>) -> Value {
    let required = json!(properties.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    let properties = properties.into_iter().map(|(key, schema)| (key.to_owned(), schema));
    let properties = properties.collect::<Map<_, _>>();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
