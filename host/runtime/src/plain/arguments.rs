//! A call's arguments, from JSON to what the component takes.
//!
//! They are checked in full before the component is entered, and an error says where, by JSON pointer, and what would be
//! right, but never what stood there: it may be a secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chio_host_kernel::canonical::{MAX_INTEGER, printable};
use serde_json::{Map, Number, Value};
use wasmtime::component::Val;

use super::types::{Case, ERR, Field, Float, Int, NOT_FINITE, OK, SOME, Sides, TAG, Type, VALUE};

/// What arguments may take in memory once they are values of the component model, in bytes: what the longest base64 that there
/// can be in them takes, at 40 for each of its bytes. Options that are left out take some too, so a few bytes of JSON can
/// stand for many.
const MAX_MEMORY: usize = 32 << 20;
/// How much of a list of names stands in a message, in bytes.
const MAX_NAMES: usize = 256;

/// What a function is called with, in the order of its parameters.
pub(super) fn arguments(parameters: &[Field], given: &Value) -> Result<Vec<Val>, String> {
    let mut reader = Reader { path: Vec::new(), left: MAX_MEMORY };
    let values = reader.fields(parameters, given, "parameter").map_err(|wrong| wrong.0)?;
    Ok(values.into_iter().map(|(_, value)| value).collect())
}

/// What is wrong, and where.
struct Wrong(String);

type Read<T> = Result<T, Wrong>;

/// A step from a value to one in it.
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

struct Reader<'a> {
    path: Vec<Step<'a>>,
    left: usize,
}

impl<'a> Reader<'a> {
    fn wrong(&self, why: &str) -> Wrong {
        let steps = self.path.iter().map(|step| match step {
            Step::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            Step::Index(index) => format!("/{index}"),
        });
        let pointer = steps.collect::<String>();
        let place = if pointer.is_empty() { "the arguments".to_owned() } else { printable(&pointer, 512) };
        Wrong(format!("{place}: {why}"))
    }

    fn needed(&self, what: &str, found: &Value) -> Wrong {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        self.wrong(&format!("{what} is needed, and {found} is given"))
    }

    fn spend(&mut self, bytes: usize) -> Read<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| self.wrong("too many values"))?;
        Ok(())
    }

    fn at<T>(&mut self, step: Step<'a>, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.path.push(step);
        let done = read(self)?;
        self.path.pop();
        Ok(done)
    }

    fn value(&mut self, ty: &'a Type, given: &'a Value) -> Read<Val> {
        self.spend(size_of::<Val>())?;
        Ok(match ty {
            Type::Bool => Val::Bool(given.as_bool().ok_or_else(|| self.needed("true or false", given))?),
            Type::Int(int) => self.integer(*int, given)?,
            Type::Float(float) => self.float(*float, given)?,
            Type::Char => {
                let mut chars = given.as_str().unwrap_or_default().chars();
                match (chars.next(), chars.next()) {
                    (Some(only), None) => Val::Char(only),
                    _ => return Err(self.needed("a string of exactly one character", given)),
                }
            }
            Type::String => Val::String(self.text("a string", given)?.to_owned()),
            Type::Bytes => {
                let text = self.text("a string of base64", given)?;
                let bytes = STANDARD.decode(text).map_err(|_| {
                    self.wrong("base64 with padding, of the alphabet with + and /, is needed, and this is none")
                })?;
                self.spend(bytes.len().saturating_mul(size_of::<Val>()))?;
                Val::List(bytes.into_iter().map(Val::U8).collect())
            }
            Type::List(item) => {
                let items = given.as_array().ok_or_else(|| self.needed("an array", given))?;
                let items = items.iter().enumerate();
                Val::List(items.map(|(i, given)| self.item(i, item, given)).collect::<Read<_>>()?)
            }
            Type::Tuple(types) => {
                let what = || format!("an array of exactly {}", types.len());
                let items = given.as_array().ok_or_else(|| self.needed(&what(), given))?;
                if items.len() != types.len() {
                    return Err(self.wrong(&format!("{} is needed, and it has {}", what(), items.len())));
                }
                let items = types.iter().zip(items).enumerate();
                Val::Tuple(items.map(|(i, (ty, given))| self.item(i, ty, given)).collect::<Read<_>>()?)
            }
            Type::Record(fields) => Val::Record(self.fields(fields, given, "field")?),
            Type::Variant(cases) => {
                let names = cases.iter().map(|case| case.name.as_str());
                let (name, object) = self.tag(names.clone(), given)?;
                let case = cases.iter().find(|case| case.name == name);
                let Case { name, ty } = case.ok_or_else(|| self.none_of(names))?;
                Val::Variant(name.clone(), self.payload(ty.as_ref(), object)?)
            }
            Type::Enum(names) => Val::Enum(self.name(names, given)?.to_owned()),
            Type::Flags(names) => self.flags(names, given)?,
            Type::Option(some) => self.option(some, given)?,
            Type::Result(sides) => {
                let Sides { ok, err } = &**sides;
                let (name, object) = self.tag([OK, ERR].into_iter(), given)?;
                Val::Result(match name {
                    OK => Ok(self.payload(ok.as_ref(), object)?),
                    ERR => Err(self.payload(err.as_ref(), object)?),
                    _ => return Err(self.none_of([OK, ERR].into_iter())),
                })
            }
        })
    }

    fn item(&mut self, index: usize, ty: &'a Type, given: &'a Value) -> Read<Val> {
        self.at(Step::Index(index), |reader| reader.value(ty, given))
    }

    fn text(&self, what: &str, given: &'a Value) -> Read<&'a str> {
        let text = given.as_str().ok_or_else(|| self.needed(what, given))?;
        Ok(text)
    }

    /// An integer as a number, or beyond what a number holds exactly as its decimal digits. A number with a fraction of zero is
    /// an integer, as it is in JSON Schema.
    fn integer(&self, int: Int, given: &Value) -> Read<Val> {
        let (least, greatest) = int.range();
        let what = || format!("an integer from {least} to {greatest}");
        let number = match given {
            Value::Number(number) => whole(number),
            Value::String(digits) if int.is_wide() => decimal(digits),
            _ => return Err(self.needed(&what(), given)),
        };
        let number = number.filter(|n| (least..=greatest).contains(n));
        let number = number.ok_or_else(|| self.wrong(&format!("{} is needed, and this is none", what())))?;
        // It is in range, so none of these is cut.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
        Ok(match int {
            Int::S8 => Val::S8(number as i8),
            Int::U8 => Val::U8(number as u8),
            Int::S16 => Val::S16(number as i16),
            Int::U16 => Val::U16(number as u16),
            Int::S32 => Val::S32(number as i32),
            Int::U32 => Val::U32(number as u32),
            Int::S64 => Val::S64(number as i64),
            Int::U64 => Val::U64(number as u64),
        })
    }

    /// A number, rounded to the nearest there is, or the name of one that is not finite.
    fn float(&self, float: Float, given: &Value) -> Read<Val> {
        const WHAT: &str = "a number, \"NaN\", \"Infinity\" or \"-Infinity\"";
        let number = match given {
            Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
            Value::String(name) if NOT_FINITE.contains(&name.as_str()) => match name.as_str() {
                "NaN" => f64::NAN,
                "Infinity" => f64::INFINITY,
                _ => f64::NEG_INFINITY,
            },
            _ => return Err(self.needed(WHAT, given)),
        };
        if float == Float::F64 {
            return Ok(Val::Float64(number));
        }
        #[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
        let narrow = number as f32;
        if number.is_finite() && !narrow.is_finite() {
            return Err(self.wrong("it is beyond what 32 bits hold"));
        }
        Ok(Val::Float32(narrow))
    }

    fn name<'n>(&self, names: &'n [String], given: &Value) -> Read<&'n str> {
        let all = || names.iter().map(String::as_str);
        let wanted = given.as_str().ok_or_else(|| self.needed(&one_of(all()), given))?;
        all().find(|name| *name == wanted).ok_or_else(|| self.none_of(all()))
    }

    fn none_of<'n>(&self, names: impl Iterator<Item = &'n str>) -> Wrong {
        self.wrong(&format!("{} is needed, and this is none", one_of(names)))
    }

    fn flags(&mut self, names: &'a [String], given: &'a Value) -> Read<Val> {
        let items = given.as_array().ok_or_else(|| self.needed("an array of names", given))?;
        let mut set = vec![false; names.len()];
        for (i, item) in items.iter().enumerate() {
            self.at(Step::Index(i), |reader| {
                let wanted = reader.name(names, item)?;
                let place = names.iter().position(|name| name == wanted).and_then(|i| set.get_mut(i));
                match place {
                    Some(set) if !*set => *set = true,
                    _ => return Err(reader.wrong("it stands twice")),
                }
                reader.spend(size_of::<String>() + wanted.len())
            })?;
        }
        let set = names.iter().zip(set).filter(|(_, is_set)| *is_set);
        Ok(Val::Flags(set.map(|(name, _)| name.clone()).collect()))
    }

    fn option(&mut self, some: &'a Type, given: &'a Value) -> Read<Val> {
        if given.is_null() {
            return Ok(Val::Option(None));
        }
        let value = if some.takes_null() {
            let object = given.as_object().filter(|object| object.len() == 1);
            let inner = object.and_then(|object| object.get(SOME));
            let inner = inner.ok_or_else(|| self.needed("null, or an object with `some` alone,", given))?;
            self.at(Step::Key(SOME), |reader| reader.value(some, inner))?
        } else {
            self.value(some, given)?
        };
        Ok(Val::Option(Some(Box::new(value))))
    }

    /// The case that an object names.
    fn tag<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        given: &'a Value,
    ) -> Read<(&'a str, &'a Map<String, Value>)> {
        let what = || format!("an object whose `{TAG}` is {}", one_of(names));
        match given.as_object().map(|object| (object.get(TAG).and_then(Value::as_str), object)) {
            Some((Some(name), object)) => Ok((name, object)),
            Some((None, _)) => Err(self.wrong(&format!("{} is needed", what()))),
            None => Err(self.needed(&what(), given)),
        }
    }

    /// What a case holds, where it holds something.
    fn payload(&mut self, ty: Option<&'a Type>, object: &'a Map<String, Value>) -> Read<Option<Box<Val>>> {
        if let Some(unknown) = object.keys().find(|key| *key != TAG && *key != VALUE) {
            return Err(self.wrong(&format!("no key \"{}\" belongs here", printable(unknown, 64))));
        }
        match (ty, object.get(VALUE)) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(self.wrong(&format!("this case has no `{VALUE}`"))),
            (Some(_), None) => Err(self.wrong(&format!("this case needs a `{VALUE}`"))),
            (Some(ty), Some(given)) => {
                self.at(Step::Key(VALUE), |reader| reader.value(ty, given)).map(|value| Some(Box::new(value)))
            }
        }
    }

    /// A record, or all parameters. An option may be left out; a key that is no field may not be there.
    fn fields(&mut self, fields: &'a [Field], given: &'a Value, noun: &str) -> Read<Vec<(String, Val)>> {
        let object = given.as_object().ok_or_else(|| self.needed("an object", given))?;
        let names = || fields.iter().map(|field| field.name.as_str());
        if let Some(unknown) = object.keys().find(|key| names().all(|name| name != key.as_str())) {
            let known =
                if fields.is_empty() { "there is none".to_owned() } else { format!("there are {}", list(names())) };
            let shown = printable(unknown, 64);
            return Err(self.wrong(&format!("there is no {noun} \"{shown}\"; {known}")));
        }
        let mut values = Vec::with_capacity(fields.len());
        for Field { name, ty } in fields {
            self.spend(size_of::<String>() + name.len())?;
            let value = match object.get(name) {
                Some(given) => self.at(Step::Key(name), |reader| reader.value(ty, given))?,
                None if ty.takes_null() => {
                    self.spend(size_of::<Val>())?;
                    Val::Option(None)
                }
                None => return Err(self.wrong(&format!("the {noun} \"{}\" is missing", printable(name, 64)))),
            };
            values.push((name.clone(), value));
        }
        Ok(values)
    }
}

fn one_of<'n>(names: impl Iterator<Item = &'n str>) -> String {
    format!("one of {}", list(names))
}

fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut text = String::new();
    for name in names {
        if text.len() > MAX_NAMES {
            break;
        }
        text = if text.is_empty() { name.to_owned() } else { format!("{text}, {name}") };
    }
    printable(&text, MAX_NAMES)
}

/// The integer that a number is.
fn whole(number: &Number) -> Option<i128> {
    if let Some(n) = number.as_u64() {
        return Some(n.into());
    }
    if let Some(n) = number.as_i64() {
        return Some(n.into());
    }
    #[expect(clippy::cast_precision_loss, reason = "it is exact up to there")]
    let float = number.as_f64().filter(|f| f.fract() == 0.0 && f.abs() <= MAX_INTEGER as f64)?;
    #[expect(clippy::cast_possible_truncation, reason = "it is an integer, and smaller")]
    Some(float as i128)
}

/// The integer that digits are: one spelling for each, so that two readers see one number.
fn decimal(digits: &str) -> Option<i128> {
    let number: i128 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}
