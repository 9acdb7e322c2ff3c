//! Compiles the reference guards, hooks and tool servers, and the guests of tests, to WebAssembly components in `OUT_DIR`.
//!
//! A component's digest is its identity, in the policy's hash and in every receipt, so its bytes must not depend on who
//! builds it: the nested cargo has a fixed profile, no flags or wrappers of the outer build, and no path of this machine.

#[path = "build/glue.rs"]
mod glue;

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use wit_component::ComponentEncoder;

/// Core modules, made components here. They import their own world alone.
const PURE: (&str, &[&str]) = (
    "wasm32-unknown-unknown",
    &[
        "forbidden-path",
        "shell-command",
        "path-allowlist",
        "egress",
        "secret-leak",
        "sql-statement",
        "patch-integrity",
        "prompt-injection",
        "tool-access",
        "rate",
        "secret-redactor",
        "pii-redactor",
        "output-size",
        "injection-marker",
        "hello",
        "reception",
        "house-rules",
        "plain-types",
        "patterns",
        "patterns-initialised",
    ],
);
/// Components as the linker leaves them, with the WASI imports that they use.
const WASI: (&str, &[&str]) =
    ("wasm32-wasip2", &["files", "fetch", "notes", "hostile-client", "intruder", "test-rail", "plain-fetch"]);

/// What the components are made of, from the workspace's root. This script and `src` are the crate's own.
const SOURCES: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "rust-toolchain.toml",
    "wit",
    "sdk/Cargo.toml",
    "sdk/src",
    "guards",
    "examples/hello",
    "examples/files",
    "examples/reception",
    "examples/fetch",
    "examples/house-rules",
    "examples/notes",
    "tests/guests",
];

/// The profile of the guests, as `--config` values, which outweigh every file and variable.
const PROFILE: &[&str] = &[
    "profile.release.opt-level='s'",
    "profile.release.lto='fat'",
    "profile.release.codegen-units=1",
    "profile.release.panic='abort'",
    "profile.release.strip='symbols'",
    "profile.release.debug=false",
    "profile.release.debug-assertions=false",
    "profile.release.overflow-checks=false",
    "profile.release.incremental=false",
];

/// Variables of the outer build that begin like this change what the nested one builds, or how. `CARGO_HOME`, the
/// network's and the jobserver's settings stay.
const CLEARED_PREFIXES: &[&str] = &[
    "CARGO_BUILD_",
    "CARGO_CFG_",
    "CARGO_ENCODED_",
    "CARGO_FEATURE_",
    "CARGO_INCREMENTAL",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "CARGO_UNSTABLE_",
    "DEP_",
    "RUSTC_",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
];

#[expect(clippy::print_stderr, reason = "cargo shows a build script's stderr when it fails")]
fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    for source in SOURCES {
        tell(&format!("rerun-if-changed={}", root.join(source).display()));
    }
    tell("rerun-if-changed=build.rs");
    tell("rerun-if-changed=build");

    let target = out.join("guests");
    let flags = remapped_paths(&root, &target)?;
    for (triple, packages) in [PURE, WASI] {
        require_target(triple)?;
        compile(&root, &target, triple, packages, &flags)?;
        for package in packages {
            let name = package.replace('-', "_");
            let module = fs::read(target.join(triple).join("release").join(format!("{name}.wasm")))?;
            let component = if triple == PURE.0 { componentize(&module)? } else { module };
            fs::write(out.join(format!("{name}.wasm")), component)?;
        }
    }
    Ok(())
}

fn compile(root: &Path, target: &Path, triple: &str, packages: &[&str], flags: &str) -> Result<(), Box<dyn Error>> {
    let mut cargo = Command::new(variable("CARGO")?);
    cargo.current_dir(root).args(["build", "--release", "--locked", "--lib", "--target", triple]);
    cargo.arg("--target-dir").arg(target);
    for setting in PROFILE {
        cargo.args(["--config", setting]);
    }
    for package in packages {
        cargo.args(["--package", package]);
    }
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if CLEARED_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            cargo.env_remove(&*name);
        }
    }
    // Empty, not absent: an absent one would let the user's own configuration name a wrapper.
    cargo.env("RUSTC_WRAPPER", "").env("RUSTC_WORKSPACE_WRAPPER", "");
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags);
    let output = cargo.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("the guests do not compile for {triple}:\n{}", String::from_utf8_lossy(&output.stderr)).into())
}

/// Flags that take this machine's folders out of the guests' panic messages, in cargo's encoding. The last that fits a
/// path wins, so the target folder, which is inside the root as a rule, comes after it.
fn remapped_paths(root: &Path, target: &Path) -> Result<String, Box<dyn Error>> {
    let home = match env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => {
            env::home_dir().ok_or("there is no home folder, so cargo's cannot be found: set CARGO_HOME")?.join(".cargo")
        }
    };
    let sysroot = rustc(&["--print", "sysroot"])?;
    let rust = Path::new(sysroot.trim()).to_path_buf();
    Ok([(root, "/chio-host"), (&home, "/cargo"), (&rust, "/rust"), (target, "/target")]
        .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()))
        .join("\u{1f}"))
}

fn require_target(triple: &str) -> Result<(), Box<dyn Error>> {
    let folder = rustc(&["--print", "target-libdir", "--target", triple])?;
    let installed = fs::read_dir(folder.trim()).is_ok_and(|mut entries| entries.next().is_some());
    if installed {
        return Ok(());
    }
    Err("the reference guards are WebAssembly, whose targets this toolchain lacks: \
         run `rustup target add wasm32-unknown-unknown wasm32-wasip2` and build again"
        .into())
}

fn componentize(module: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut encoder = ComponentEncoder::default().module(module)?.validate(true);
    for (name, traps) in glue::traps(module)? {
        encoder = encoder.adapter(&name, &traps)?;
    }
    Ok(encoder.encode()?)
}

fn rustc(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new(variable("RUSTC")?).args(arguments).output()?;
    if !output.status.success() {
        return Err(format!("rustc {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn variable(name: &str) -> Result<String, Box<dyn Error>> {
    env::var(name).map_err(|error| format!("cargo sets {name} for a build script: {error}").into())
}

fn tell(instruction: &str) {
    println!("cargo::{instruction}");
}
