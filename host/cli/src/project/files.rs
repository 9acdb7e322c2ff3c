//! What stands in a new project. Everything is embedded, so a project needs nothing of a checkout.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::wanted::{Kind, Language, Wanted};
use super::{MANIFEST, python, rust};
use crate::error::CliError;

/// All that a plugin can see.
const WIT: &str = include_str!("../../../../wit/plugin.wit");

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../../../../sdk/templates/", $path))
    };
}

/// A file of a project: its path in it, and what stands there.
pub(super) type FileOf = (String, String);

/// Makes the project's folder, which must not be there yet or be empty, and everything in it. What was made before a
/// failure is removed again.
///
/// # Errors
/// A folder that cannot be made, or has something in it.
pub(crate) fn lay_out(wanted: &Wanted, dir: &Path) -> Result<PathBuf, CliError> {
    let was_there = dir.is_dir();
    if was_there && fs::read_dir(dir).map_err(|e| CliError::path(dir, e))?.next().is_some() {
        return Err(CliError::path(
            dir,
            "there is something in it already, and it was left as it is; choose another --dir",
        ));
    }
    fs::create_dir_all(dir).map_err(|e| CliError::path(dir, e))?;
    let written = files(wanted).into_iter().try_for_each(|(path, text)| write(&dir.join(path), &text));
    if let Err(error) = written {
        // It was empty, so all of it is ours.
        let _ = fs::remove_dir_all(dir);
        if was_there {
            let _ = fs::create_dir(dir);
        }
        return Err(error);
    }
    dir.canonicalize().map_err(|e| CliError::path(dir, e))
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let create = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
    };
    create().map_err(|e| CliError::path(path, e))
}

fn files(wanted: &Wanted) -> Vec<FileOf> {
    let name = &wanted.name;
    let mut files = vec![
        ("README.md".to_owned(), readme(wanted)),
        (format!("{name}{MANIFEST}"), manifest(wanted)),
        (format!("{name}.fixtures.yaml"), fixtures(wanted)),
        ("wit/plugin.wit".to_owned(), WIT.to_owned()),
        (".gitignore".to_owned(), "/*.wasm\n/build\n/node_modules\n/target\n/.venv\n__pycache__\n".to_owned()),
    ];
    files.extend(match wanted.language {
        Language::Rust => rust::files(wanted),
        Language::Js => javascript(wanted),
        Language::Python => python::files(wanted),
    });
    files
}

/// The component's source, in its language. A language that has none for a kind is refused before it comes to this.
pub(super) fn source(wanted: &Wanted) -> &'static str {
    match (wanted.language, wanted.kind) {
        (Language::Rust, Kind::Guard) => template!("rust/guard.rs"),
        (Language::Rust, Kind::Hook) => template!("rust/hook.rs"),
        (Language::Js, Kind::Guard) => template!("js/guard.js"),
        (Language::Js, _) => template!("js/hook.js"),
        (Language::Python, Kind::Guard) => template!("python/guard.py"),
        (Language::Python, _) => template!("python/hook.py"),
        (Language::Rust, Kind::Tool) => template!("rust/tool.rs"),
        (Language::Rust, Kind::Rail) => template!("rust/rail.rs"),
    }
}

fn fixtures(wanted: &Wanted) -> String {
    let cases = match wanted.kind {
        Kind::Guard => template!("guard.fixtures.yaml"),
        Kind::Hook => template!("hook.fixtures.yaml"),
        Kind::Tool => template!("tool.fixtures.yaml"),
        Kind::Rail => template!("rail.fixtures.yaml"),
    };
    match wanted.language {
        Language::Python => format!("limits: {{ {} }}\n{cases}", python::LIMITS),
        Language::Rust | Language::Js => cases.to_owned(),
    }
}

fn manifest(wanted: &Wanted) -> String {
    let (description, more) = match wanted.kind {
        Kind::Guard => ("Keeps weekends free of writing.", ""),
        Kind::Hook => ("Hides words in what tools return.", ""),
        Kind::Tool => ("Greets somebody by name.", "arguments:\n  greet:\n    - { at: /name, is: text }\n"),
        Kind::Rail => ("Moves money at a provider.", "permissions: { network: any }\n"),
    };
    format!("name: {}\nkind: {}\ndescription: {description}\n{more}", wanted.name, wanted.kind.in_manifest())
}

/// The component model's tools for JavaScript, each with its version.
const PACKAGE: &str = template!("js/package.json");

fn javascript(wanted: &Wanted) -> Vec<FileOf> {
    let package = PACKAGE.replace("{{NAME}}", &wanted.name).replace("{{WORLD}}", world(wanted));
    vec![("package.json".to_owned(), package), ("app.js".to_owned(), source(wanted).to_owned())]
}

/// The world of a guard or a hook.
pub(super) fn world(wanted: &Wanted) -> &'static str {
    if wanted.kind == Kind::Guard { "guard" } else { "output-hook" }
}

fn readme(wanted: &Wanted) -> String {
    let Wanted { name, kind, language } = wanted;
    let source = match language {
        Language::Rust => "src/lib.rs",
        Language::Js => "app.js",
        Language::Python => "app.py",
    };
    let needs = match language {
        Language::Rust => "rustup, which fetches what `rust-toolchain.toml` names",
        Language::Js => "Node.js 18 or later, with npm",
        Language::Python => "Python 3.10 or later, with venv",
    };
    let config = match kind {
        Kind::Guard => "    config: { weekend: deny }\n",
        Kind::Hook => "    config: { hide: [apollo] }\n",
        Kind::Tool => "",
        Kind::Rail => {
            "    config: { url: \"https://api.bank.example\", currency: USD }\n    permissions: { network: [{ host: api.bank.example }] }\n"
        }
    };
    let limits =
        if *language == Language::Python { format!("    limits: {{ {} }}\n", python::LIMITS) } else { String::new() };
    let section = kind.section();
    format!(
        "# {name}\n\n`{source}` is the {}; building needs {needs}.\n\n    chio-host plugin build    # makes {name}.wasm\n    \
         chio-host plugin test     # asks it what {name}.fixtures.yaml says\n\n`chio-host plugin bench` measures it. A policy \
         names it:\n\n```yaml\n{section}:\n  {name}:\n    component: {name}.wasm\n{config}{limits}plugins: \
         {{ allow_unsigned: true }}    # or `chio-host plugin sign` it\n```\n",
        kind.in_manifest(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is embedded of the SDK is all of it.
    #[test]
    fn every_source_of_the_sdk_goes_along() {
        let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/src");
        let mut there: Vec<_> = fs::read_dir(sdk)
            .unwrap()
            .map(|entry| format!("sdk/src/{}", entry.unwrap().file_name().into_string().unwrap()))
            .collect();
        there.sort();
        let wanted = Wanted::new("house_rules", Kind::Guard, Language::Rust).unwrap();
        let mut sent: Vec<_> = rust::files(&wanted)
            .into_iter()
            .map(|(path, _)| path)
            .filter(|path| path.starts_with("sdk/src/"))
            .collect();
        sent.sort();
        assert_eq!(sent, there);
    }

    #[test]
    fn a_name_is_one_that_every_toolchain_takes() {
        for bad in ["", "Rules", "1st", "a b", "a/b", "..", "a.b", &"a".repeat(49)] {
            Wanted::new(bad, Kind::Guard, Language::Rust).unwrap_err();
        }
        Wanted::new("house-rules_2", Kind::Guard, Language::Rust).unwrap();
    }
}
