//! Builds a project's component with its language's own tools.
//!
//! What they print goes to stderr. The component takes its place at the end, all at once, and only if it is what the
//! manifest says.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chio_host_kernel::operation::Role;
use chio_host_runtime::{Inspection, Kind};
use serde_json::Value;
use wit_component::ComponentEncoder;

use super::wanted::Language;
use super::{Project, rust};
use crate::component;
use crate::error::CliError;

/// Builds, and answers what came of it.
///
/// # Errors
/// A toolchain that is not there or fails, or a component of another world than the manifest's.
pub(crate) fn build(project: &Project) -> Result<Inspection, CliError> {
    let bytes = match project.language()? {
        Language::Rust => cargo(project)?,
        Language::Js => npm(project)?,
        Language::Python => componentize_py(project)?,
    };
    let path = project.component();
    let refused = |why: String| CliError::path(&path, why);
    let built = chio_host_runtime::inspect(&bytes).map_err(|e| refused(format!("what was built is refused: {e}")))?;
    // Functions without a world of ours are for components that were not begun as a project here.
    let fits = built.kind != Kind::Plain && component::role(&built) == Some(project.role);
    if !fits {
        let world = built.kind;
        return Err(refused(format!(
            "what was built is of the world {world}, and the manifest calls it something else"
        )));
    }
    component::write(&path, &bytes)?;
    Ok(built)
}

/// Runs a program in the project's folder. `advice` is what to do where there is none.
fn run(project: &Project, program: &OsStr, args: &[&OsStr], advice: &str) -> Result<(), CliError> {
    let mut command = Command::new(program);
    // Both of its streams go where people look; stdout is for data.
    command.current_dir(&project.dir).args(args).stdout(std::io::stderr());
    finish(command, advice).map(drop)
}

fn finish(mut command: Command, advice: &str) -> Result<Vec<u8>, CliError> {
    let program = command.get_program().display().to_string();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| CliError::System(format!("{program} does not run ({e}); {advice}")))?;
    if !output.status.success() {
        return Err(CliError::System(format!("{program} failed ({}); what it said is above", output.status)));
    }
    Ok(output.stdout)
}

/// The absolute path of something in the project: a program is looked for from the folder that it will run in otherwise.
fn inside(project: &Project, path: &str) -> Result<PathBuf, CliError> {
    let dir = std::path::absolute(&project.dir).map_err(|e| CliError::path(&project.dir, e))?;
    Ok(dir.join(path))
}

fn cargo(project: &Project) -> Result<Vec<u8>, CliError> {
    let target = rust::target(project.role);
    let mut command = Command::new("cargo");
    command.current_dir(&project.dir);
    command.args(["build", "--release", "--lib", "--target", target, "--message-format=json-render-diagnostics"]);
    let is_set = |name| std::env::var_os(name).is_some();
    if !is_set("RUSTFLAGS")
        && !is_set("CARGO_ENCODED_RUSTFLAGS")
        && let Some(flags) = remapped_paths(project)?
    {
        command.env("CARGO_ENCODED_RUSTFLAGS", flags);
    }
    let said = finish(command, "install Rust with https://rustup.rs")?;
    let built = artifact(&String::from_utf8_lossy(&said))
        .ok_or_else(|| CliError::path(&project.dir, "cargo built no library named `plugin` of the type cdylib"))?;
    let bytes = component::read_bytes(&built)?;
    if target == "wasm32-wasip2" {
        return Ok(bytes);
    }
    let component = ComponentEncoder::default().module(&bytes).and_then(|encoder| encoder.validate(true).encode());
    component.map_err(|e| CliError::path(built, format!("it cannot be made a component: {e:#}")))
}

/// The module among what cargo says that it built.
fn artifact(said: &str) -> Option<PathBuf> {
    let built = said.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_plugin = |it: &Value| it["reason"] == "compiler-artifact" && it["target"]["name"] == "plugin";
    built.filter(is_plugin).find_map(|it| {
        let mut files = it["filenames"].as_array()?.iter().filter_map(Value::as_str).map(PathBuf::from);
        files.find(|file| file.extension().is_some_and(|extension| extension == "wasm"))
    })
}

/// Flags that take this machine's folders out of panic messages, so that a component's digest does not depend on where it
/// was built; none where cargo's own folder is not known.
fn remapped_paths(project: &Project) -> Result<Option<String>, CliError> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))) else { return Ok(None) };
    let project = inside(project, "")?;
    let flag =
        |from: &Path, to| from.to_str().map(|from| format!("--remap-path-prefix={}={to}", from.trim_end_matches('/')));
    Ok(flag(&home, "/cargo").zip(flag(&project, "/project")).map(|(a, b)| format!("{a}\u{1f}{b}")))
}

fn npm(project: &Project) -> Result<Vec<u8>, CliError> {
    const ADVICE: &str = "install Node.js 18 or later, with npm";
    let npm = |args: &[&str]| {
        let args: Vec<_> = args.iter().map(OsStr::new).collect();
        run(project, OsStr::new(if cfg!(windows) { "npm.cmd" } else { "npm" }), &args, ADVICE)
    };
    if !project.dir.join("node_modules/componentize-qjs").exists() {
        npm(&["install", "--no-audit", "--no-fund"])?;
    }
    build_folder(project)?;
    npm(&["run", "build"])?;
    component::read_bytes(&built(project))
}

fn componentize_py(project: &Project) -> Result<Vec<u8>, CliError> {
    const ADVICE: &str = "install Python 3.10 or later, with venv";
    let world = match project.role {
        Role::OutputHook => "output-hook",
        Role::Guard | Role::ToolServer | Role::Rail => "guard",
    };
    let venv =
        |program: &str| inside(project, &format!(".venv/{}/{program}", if cfg!(windows) { "Scripts" } else { "bin" }));
    let python = |program: &OsStr, args: &[&str]| {
        let args: Vec<_> = args.iter().map(OsStr::new).collect();
        run(project, program, &args, ADVICE)
    };
    let tool = venv("componentize-py")?;
    if !tool.exists() {
        python(OsStr::new(if cfg!(windows) { "python" } else { "python3" }), &["-m", "venv", ".venv"])?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"];
        python(venv("python")?.as_os_str(), &pip)?;
    }
    build_folder(project)?;
    let output: OsString =
        built(project).file_name().map_or_else(OsString::new, |name| Path::new("build").join(name).into());
    let args = ["-q", "-d", "wit", "-w", world, "componentize", "app", "-o"].map(OsStr::new);
    run(project, tool.as_os_str(), &[&args[..], &[output.as_os_str()]].concat(), ADVICE)?;
    component::read_bytes(&built(project))
}

/// Where a toolchain leaves what it made.
fn built(project: &Project) -> PathBuf {
    project.dir.join("build").join(format!("{}.wasm", project.name))
}

/// Makes that folder, without what an earlier build left there.
fn build_folder(project: &Project) -> Result<(), CliError> {
    let folder = project.dir.join("build");
    fs::create_dir_all(&folder).map_err(|e| CliError::path(&folder, e))?;
    match fs::remove_file(built(project)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(CliError::path(built(project), error)),
        _ => Ok(()),
    }
}
