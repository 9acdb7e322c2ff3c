//! The functions that a component exports and their types, read off its bytes, without compiling or running it.
//!
//! A component's types share parts, so a few bytes can stand for a tree without end in sight: what is read is bounded, and a
//! function that goes beyond is left out like one that has no JSON.

use wasmparser::component_types::{ComponentDefinedType, ComponentEntityType, ComponentValType};
use wasmparser::names::KebabString;
use wasmparser::types::TypesRef;
use wasmparser::{Parser, Payload, PrimitiveValType, ValidPayload, Validator, WasmFeatures};

use super::types::{Case, Field, Float, Int, Sides, Type};
use crate::error::LoadError;
use crate::inspect::not_a_component;

/// The most functions that are looked at, those that are left out included.
pub(super) const MAX_FUNCTIONS: usize = 1024;
/// How deep types may be nested. Each level is at most one of JSON, so that every value stays within the host's own bound.
const MAX_DEPTH: usize = 32;
/// The parts of one function's types, and the bytes of the names in them.
const MAX_PARTS: usize = 4096;
const MAX_NAMES: usize = 128 << 10;

/// A function, as it is exported.
pub(super) struct Exported {
    /// The interface that it is in, by full name; none for one of the world's own.
    pub(super) interface: Option<String>,
    pub(super) name: String,
    /// What it takes and returns, or why it is no tool.
    pub(super) signature: Result<Signature, String>,
}

/// What a function takes and returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) parameters: Vec<Field>,
    pub(super) result: Option<Type>,
}

/// All functions, in the component's own order.
pub(super) fn functions(bytes: &[u8]) -> Result<Vec<Exported>, LoadError> {
    // What wasmtime compiles is for it to say. Here all that has a name is understood, so that it can be named.
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let (mut names, mut depth, mut outermost) = (Vec::new(), 0_usize, None);
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|e| not_a_component(&e))?;
        match &payload {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section.clone() {
                    names.push(export.map_err(|e| not_a_component(&e))?.name.name.to_owned());
                }
            }
            _ => {}
        }
        // Bodies of functions are skipped: they are the compiler's.
        if let ValidPayload::End(types) = validator.payload(&payload).map_err(|e| not_a_component(&e))? {
            outermost = Some(types);
        }
    }
    let types = outermost.ok_or_else(|| LoadError::NotAComponent("it has no end".to_owned()))?;
    let types = types.as_ref();
    let mut functions = Vec::new();
    for name in names {
        match types.component_item_for_export(&name).map(|item| item.ty) {
            Some(ComponentEntityType::Func(_)) => functions.push((None, name)),
            Some(ComponentEntityType::Instance(id)) => {
                let exports = types.get(id).into_iter().flat_map(|instance| &instance.exports);
                let is_function = |ty| matches!(ty, ComponentEntityType::Func(_));
                let own =
                    exports.filter(|(_, item)| is_function(item.ty)).map(|(f, _)| (Some(name.clone()), f.clone()));
                functions.extend(own.take(MAX_FUNCTIONS + 1));
            }
            _ => {}
        }
        if functions.len() > MAX_FUNCTIONS {
            return Err(LoadError::Description(format!("it exports more than {MAX_FUNCTIONS} functions")));
        }
    }
    let read = |(interface, name): (Option<String>, String)| {
        let signature = signature(types, interface.as_deref(), &name);
        Exported { interface, name, signature }
    };
    Ok(functions.into_iter().map(read).collect())
}

fn signature(types: TypesRef<'_>, interface: Option<&str>, name: &str) -> Result<Signature, String> {
    if interface.is_some_and(|interface| interface.starts_with("wasi:")) {
        return Err("it is an entry point of WASI's, which nobody calls here".to_owned());
    }
    if name.contains(['[', ']', '.']) {
        return Err("it belongs to a resource, and every call has an instance of its own".to_owned());
    }
    let item = match interface {
        None => types.component_item_for_export(name),
        Some(interface) => match types.component_item_for_export(interface).map(|item| item.ty) {
            Some(ComponentEntityType::Instance(id)) => types.get(id).and_then(|instance| instance.exports.get(name)),
            _ => None,
        },
    };
    let Some(ComponentEntityType::Func(id)) = item.map(|item| item.ty) else {
        return Err("it is not there".to_owned());
    };
    let Some(function) = types.get(id) else { return Err("it has no type".to_owned()) };
    if function.async_ {
        return Err("it is async, and calls here are not".to_owned());
    }
    let mut reader = Reader { types, parts: MAX_PARTS, names: MAX_NAMES };
    let named = function.params.iter().map(|(name, ty)| (name.as_str(), *ty));
    let parameters = reader.fields(named, 0)?;
    let result = function.result.map(|ty| reader.value(ty, 0)).transpose()?;
    Ok(Signature { parameters, result })
}

struct Reader<'a> {
    types: TypesRef<'a>,
    parts: usize,
    names: usize,
}

impl Reader<'_> {
    fn name(&mut self, name: &str) -> Result<String, String> {
        let left = self.names.checked_sub(name.len());
        self.names = left.ok_or_else(|| format!("the names in its types have more than {MAX_NAMES} bytes"))?;
        Ok(name.to_owned())
    }

    fn names<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Result<Vec<String>, String> {
        names.map(|name| self.part().and_then(|()| self.name(name))).collect()
    }

    fn part(&mut self) -> Result<(), String> {
        let left = self.parts.checked_sub(1);
        self.parts = left.ok_or_else(|| format!("its types have more than {MAX_PARTS} parts"))?;
        Ok(())
    }

    fn value(&mut self, ty: ComponentValType, depth: usize) -> Result<Type, String> {
        self.part()?;
        if depth > MAX_DEPTH {
            return Err(format!("its types are nested more than {MAX_DEPTH} deep"));
        }
        match ty {
            ComponentValType::Primitive(primitive) => self::primitive(primitive),
            ComponentValType::Type(id) => {
                let types = self.types;
                types
                    .get(id)
                    .map_or_else(|| Err("a type of it is not there".to_owned()), |ty| self.defined(ty, depth + 1))
            }
        }
    }

    fn fields<'n>(
        &mut self,
        fields: impl Iterator<Item = (&'n str, ComponentValType)>,
        depth: usize,
    ) -> Result<Vec<Field>, String> {
        fields.map(|(name, ty)| Ok(Field { name: self.name(name)?, ty: self.value(ty, depth)? })).collect()
    }

    fn side(&mut self, ty: Option<ComponentValType>, depth: usize) -> Result<Option<Type>, String> {
        ty.map(|ty| self.value(ty, depth)).transpose()
    }

    fn defined(&mut self, ty: &ComponentDefinedType, depth: usize) -> Result<Type, String> {
        let no_json = |what: &str| Err(format!("it has {what} among its types, which JSON cannot hold"));
        Ok(match ty {
            ComponentDefinedType::Primitive(primitive) => self::primitive(*primitive)?,
            ComponentDefinedType::Record(record) => {
                Type::Record(self.fields(record.fields.iter().map(|(name, ty)| (name.as_str(), *ty)), depth)?)
            }
            ComponentDefinedType::Variant(variant) => {
                let cases = variant.cases.iter().map(|(name, case)| {
                    self.part()?;
                    Ok(Case { name: self.name(name.as_str())?, ty: self.side(case.ty, depth)? })
                });
                Type::Variant(cases.collect::<Result<_, String>>()?)
            }
            ComponentDefinedType::List { element, .. } => match self.value(*element, depth)? {
                Type::Int(Int::U8) => Type::Bytes,
                element => Type::List(Box::new(element)),
            },
            ComponentDefinedType::Tuple(tuple) => {
                Type::Tuple(tuple.types.iter().map(|ty| self.value(*ty, depth)).collect::<Result<_, _>>()?)
            }
            ComponentDefinedType::Flags(names) => Type::Flags(self.names(names.iter().map(KebabString::as_str))?),
            ComponentDefinedType::Enum(names) => Type::Enum(self.names(names.iter().map(KebabString::as_str))?),
            ComponentDefinedType::Option { ty, .. } => Type::Option(Box::new(self.value(*ty, depth)?)),
            ComponentDefinedType::Result { ok, err, .. } => {
                Type::Result(Box::new(Sides { ok: self.side(*ok, depth)?, err: self.side(*err, depth)? }))
            }
            ComponentDefinedType::Own(_) | ComponentDefinedType::Borrow(_) => return no_json("a resource"),
            ComponentDefinedType::Stream { .. } => return no_json("a stream"),
            ComponentDefinedType::Future { .. } => return no_json("a future"),
            ComponentDefinedType::Map { .. } | ComponentDefinedType::FixedLengthList { .. } => {
                return Err(
                    "it has a map or a list of fixed length among its types, which this host does not know".to_owned()
                );
            }
        })
    }
}

fn primitive(primitive: PrimitiveValType) -> Result<Type, String> {
    Ok(match primitive {
        PrimitiveValType::Bool => Type::Bool,
        PrimitiveValType::S8 => Type::Int(Int::S8),
        PrimitiveValType::U8 => Type::Int(Int::U8),
        PrimitiveValType::S16 => Type::Int(Int::S16),
        PrimitiveValType::U16 => Type::Int(Int::U16),
        PrimitiveValType::S32 => Type::Int(Int::S32),
        PrimitiveValType::U32 => Type::Int(Int::U32),
        PrimitiveValType::S64 => Type::Int(Int::S64),
        PrimitiveValType::U64 => Type::Int(Int::U64),
        PrimitiveValType::F32 => Type::Float(Float::F32),
        PrimitiveValType::F64 => Type::Float(Float::F64),
        PrimitiveValType::Char => Type::Char,
        PrimitiveValType::String => Type::String,
        PrimitiveValType::ErrorContext => {
            return Err("it has an error-context among its types, which JSON cannot hold".to_owned());
        }
    })
}
