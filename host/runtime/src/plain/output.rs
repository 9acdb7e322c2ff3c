//! What a component returned, as JSON.
//!
//! A guest's value may be small in its memory and long as JSON, so the limit on output holds while it is converted: bytes are
//! counted as its canonical text would have them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chio_host_kernel::canonical::{Bounds, MAX_INTEGER};
use serde_json::{Map, Number, Value, json};
use wasmtime::component::Val;

use super::types::{ERR, OK, SOME, Sides, TAG, Type, VALUE};

/// Why a value is no output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Its text would be longer than the limit.
    TooLong,
    /// It has more parts than JSON of the host's may have.
    TooMany,
    /// It is of another type: wasmtime checks that it is not.
    Type,
}

/// The JSON of a value, of at most so many bytes.
pub(super) fn output(ty: &Type, value: Val, bytes: usize) -> Result<Value, Refused> {
    Writer { bytes, values: Bounds::OUTPUT.values }.value(ty, value)
}

/// The longest number in canonical text: `-1.7976931348623157e+308`.
const LONGEST_NUMBER: usize = 24;

struct Writer {
    bytes: usize,
    values: usize,
}

impl Writer {
    fn spend(&mut self, bytes: usize) -> Result<(), Refused> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Refused::TooLong)?;
        Ok(())
    }

    fn text(&mut self, text: String) -> Result<Value, Refused> {
        self.spend(length(&text))?;
        Ok(Value::String(text))
    }

    /// The key of an object, with its colon and a comma.
    fn key(&mut self, key: &str) -> Result<String, Refused> {
        self.spend(length(key) + 2)?;
        Ok(key.to_owned())
    }

    fn integer(&mut self, number: i128) -> Result<Value, Refused> {
        let digits = number.to_string();
        if number.unsigned_abs() > MAX_INTEGER.into() {
            return self.text(digits);
        }
        self.spend(digits.len())?;
        Ok(i64::try_from(number).map_or(Value::Null, Value::from))
    }

    fn float(&mut self, number: f64) -> Result<Value, Refused> {
        if let Some(number) = Number::from_f64(number) {
            self.spend(LONGEST_NUMBER)?;
            return Ok(Value::Number(number));
        }
        let name = match number {
            n if n.is_nan() => "NaN",
            n if n > 0.0 => "Infinity",
            _ => "-Infinity",
        };
        self.text(name.to_owned())
    }

    fn value(&mut self, ty: &Type, value: Val) -> Result<Value, Refused> {
        self.count()?;
        match (ty, value) {
            (Type::Bool, Val::Bool(is)) => self.spend(5).map(|()| Value::Bool(is)),
            (Type::Int(_), Val::S8(n)) => self.integer(n.into()),
            (Type::Int(_), Val::U8(n)) => self.integer(n.into()),
            (Type::Int(_), Val::S16(n)) => self.integer(n.into()),
            (Type::Int(_), Val::U16(n)) => self.integer(n.into()),
            (Type::Int(_), Val::S32(n)) => self.integer(n.into()),
            (Type::Int(_), Val::U32(n)) => self.integer(n.into()),
            (Type::Int(_), Val::S64(n)) => self.integer(n.into()),
            (Type::Int(_), Val::U64(n)) => self.integer(n.into()),
            (Type::Float(_), Val::Float32(n)) => self.float(shortest(n)),
            (Type::Float(_), Val::Float64(n)) => self.float(n),
            (Type::Char, Val::Char(c)) => self.text(c.into()),
            (Type::String, Val::String(text)) => self.text(text),
            (Type::Bytes, Val::List(items)) => self.bytes(items),
            (Type::List(item), Val::List(items)) => {
                let types = std::iter::repeat_n(&**item, items.len());
                self.items(types.zip(items))
            }
            (Type::Tuple(types), Val::Tuple(items)) if items.len() == types.len() => {
                self.items(types.iter().zip(items))
            }
            (Type::Record(fields), Val::Record(values)) if values.len() == fields.len() => {
                self.spend(2)?;
                let mut object = Map::new();
                for (field, (name, value)) in fields.iter().zip(values) {
                    if name != field.name {
                        return Err(Refused::Type);
                    }
                    let key = self.key(&name)?;
                    object.insert(key, self.value(&field.ty, value)?);
                }
                Ok(Value::Object(object))
            }
            (Type::Variant(cases), Val::Variant(name, value)) => {
                let case = cases.iter().find(|case| case.name == name).ok_or(Refused::Type)?;
                self.tagged(&name, case.ty.as_ref(), value)
            }
            (Type::Enum(names), Val::Enum(name)) if names.contains(&name) => self.text(name),
            (Type::Flags(names), Val::Flags(set)) if set.iter().all(|name| names.contains(name)) => {
                let names: Vec<Value> = set.into_iter().map(|name| self.listed(name)).collect::<Result<_, _>>()?;
                self.spend(2)?;
                Ok(Value::Array(names))
            }
            (Type::Option(_), Val::Option(None)) => self.spend(4).map(|()| Value::Null),
            (Type::Option(some), Val::Option(Some(value))) if some.takes_null() => {
                self.spend(2)?;
                let key = self.key(SOME)?;
                Ok(json!({ key: self.value(some, *value)? }))
            }
            (Type::Option(some), Val::Option(Some(value))) => self.value(some, *value),
            (Type::Result(sides), Val::Result(result)) => {
                let Sides { ok, err } = &**sides;
                match result {
                    Ok(value) => self.tagged(OK, ok.as_ref(), value),
                    Err(value) => self.tagged(ERR, err.as_ref(), value),
                }
            }
            _ => Err(Refused::Type),
        }
    }

    fn count(&mut self) -> Result<(), Refused> {
        self.values = self.values.checked_sub(1).ok_or(Refused::TooMany)?;
        Ok(())
    }

    fn listed(&mut self, name: String) -> Result<Value, Refused> {
        self.count()?;
        self.spend(1)?;
        self.text(name)
    }

    fn bytes(&mut self, items: Vec<Val>) -> Result<Value, Refused> {
        self.spend(items.len().div_ceil(3).saturating_mul(4).saturating_add(2))?;
        let byte = |item| match item {
            Val::U8(byte) => Ok(byte),
            _ => Err(Refused::Type),
        };
        let bytes: Vec<u8> = items.into_iter().map(byte).collect::<Result<_, _>>()?;
        Ok(Value::String(STANDARD.encode(bytes)))
    }

    fn items<'t>(&mut self, items: impl Iterator<Item = (&'t Type, Val)>) -> Result<Value, Refused> {
        self.spend(2)?;
        let mut list = Vec::new();
        for (ty, value) in items {
            self.spend(1)?;
            list.push(self.value(ty, value)?);
        }
        Ok(Value::Array(list))
    }

    fn tagged(&mut self, name: &str, ty: Option<&Type>, value: Option<Box<Val>>) -> Result<Value, Refused> {
        self.count()?;
        self.spend(2)?;
        let mut object = Map::new();
        object.insert(self.key(TAG)?, self.text(name.to_owned())?);
        match (ty, value) {
            (None, None) => {}
            (Some(ty), Some(value)) => {
                let key = self.key(VALUE)?;
                object.insert(key, self.value(ty, *value)?);
            }
            _ => return Err(Refused::Type),
        }
        Ok(Value::Object(object))
    }
}

/// The double that is written as briefly as the `f32` would be: 0.1 and not 0.10000000149011612.
fn shortest(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| number.into())
}

/// The length of a string in canonical text, with its quotes.
fn length(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    text.bytes().map(escaped).sum::<usize>() + 2
}
