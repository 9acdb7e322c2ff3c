//! JavaScript that a guest's library would call in a browser.
//!
//! `brush-parser` has wasm-bindgen linked into every module for `wasm32-unknown-unknown`. Its imports are reached by nothing
//! that a guard does, and a guard imports nothing but its configuration: so each of them becomes a function that traps.

use std::collections::BTreeMap;
use std::error::Error;

use wasm_encoder::{CodeSection, ExportKind, ExportSection, Function, FunctionSection, Module, TypeSection, ValType};
use wasmparser::{CompositeInnerType, FuncType, Parser, Payload, TypeRef};

/// What the names of wasm-bindgen's modules begin with.
const GLUE: &str = "__wbindgen";

/// A module for each name that `module` imports glue from, by that name. Every function in it traps.
///
/// # Errors
/// The module is not valid, or its glue takes more than numbers.
pub(crate) fn traps(module: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn Error>> {
    let mut types = Vec::new();
    let mut imported: BTreeMap<String, Vec<(String, FuncType)>> = BTreeMap::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::TypeSection(groups) => {
                for group in groups {
                    types.extend(group?.into_types().map(|ty| ty.composite_type.inner));
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    if !import.module.starts_with(GLUE) {
                        continue;
                    }
                    let TypeRef::Func(index) = import.ty else {
                        return Err(format!("{} imports {}, which is no function", import.module, import.name).into());
                    };
                    let Some(CompositeInnerType::Func(ty)) = types.get(usize::try_from(index)?) else {
                        return Err(format!("{} has no type", import.name).into());
                    };
                    imported.entry(import.module.to_owned()).or_default().push((import.name.to_owned(), ty.clone()));
                }
            }
            _ => {}
        }
    }
    imported.into_iter().map(|(name, functions)| Ok((name, trapping(&functions)?))).collect()
}

fn trapping(functions: &[(String, FuncType)]) -> Result<Vec<u8>, Box<dyn Error>> {
    let (mut types, mut declared) = (TypeSection::new(), FunctionSection::new());
    let (mut exports, mut code) = (ExportSection::new(), CodeSection::new());
    for (index, (name, ty)) in (0..).zip(functions) {
        types.ty().function(numbers(ty.params())?, numbers(ty.results())?);
        declared.function(index);
        exports.export(name, ExportKind::Func, index);
        let mut body = Function::new([]);
        body.instructions().unreachable().end();
        code.function(&body);
    }
    let mut module = Module::new();
    module.section(&types).section(&declared).section(&exports).section(&code);
    Ok(module.finish())
}

fn numbers(types: &[wasmparser::ValType]) -> Result<Vec<ValType>, Box<dyn Error>> {
    let number = |ty: &wasmparser::ValType| match ty {
        wasmparser::ValType::I32 => Ok(ValType::I32),
        wasmparser::ValType::I64 => Ok(ValType::I64),
        wasmparser::ValType::F32 => Ok(ValType::F32),
        wasmparser::ValType::F64 => Ok(ValType::F64),
        other => Err(format!("{other} is no number").into()),
    };
    types.iter().map(number).collect()
}
