//! `plugin new`, `plugin build` and `plugin test`: whoever follows them has a component that works, in each language.
//!
//! JavaScript and Python need their tools, which `.ci/run` installs and names: `CHIO_TEST_NODE_MODULES` and
//! `CHIO_TEST_PYTHON`. Without those variables their tests say that they did not run.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Done, Place, repository, shared};

/// A project in a place of its own, its Rust artefacts shared with those of the other tests.
struct Project {
    place: Place,
    name: String,
}

impl Project {
    fn new(kind: &str, lang: &str) -> Self {
        let place = Place::new();
        let name = format!("my_{kind}");
        let done = place.run(&["plugin", "new", &name, "--kind", kind, "--lang", lang]);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
        assert!(done.stdout.ends_with("chio-host plugin build\n  chio-host plugin test\n"), "{done:?}");
        Self { place, name }
    }

    fn dir(&self) -> PathBuf {
        self.place.path().join(&self.name)
    }

    fn run(&self, args: &[&str]) -> Done {
        let mut command = self.place.command(args);
        let output = command.current_dir(self.dir()).env("CARGO_TARGET_DIR", shared("projects")).output().unwrap();
        Done::of(&output)
    }

    /// Builds and tests it, and answers the report.
    fn passes(&self, cases: usize) -> Value {
        let built = self.run(&["plugin", "build"]);
        assert_eq!(built.code, 0, "{built:?}");
        assert!(self.dir().join(built.field("component")).is_file(), "{built:?}");
        let tested = self.run(&["plugin", "test"]);
        assert!(tested.code == 0 && tested.stdout.ends_with(&format!("{cases} passed, 0 failed\n")), "{tested:?}");
        let [report] = self.run(&["plugin", "test", "--format", "json"]).json_lines().try_into().unwrap();
        report
    }
}

#[test]
fn rust_components_of_every_kind_are_built_and_pass() {
    for (kind, cases) in [("guard", 6), ("hook", 4), ("tool", 2), ("rail", 3)] {
        let project = Project::new(kind, "rust");
        project.passes(cases);
        let here = project.dir().to_str().unwrap().to_owned();
        let module = std::fs::read(project.dir().join(format!("my_{kind}.wasm"))).unwrap();
        let holds = |text: &str| module.windows(text.len()).any(|at| at == text.as_bytes());
        assert!(!holds(&here), "a path of this machine is in the component");
    }
}

/// The unit test beside a Rust component's code, which needs no host.
#[test]
fn a_rust_project_passes_cargo_test() {
    let project = Project::new("guard", "rust");
    let mut cargo = Command::new(env!("CARGO"));
    let cargo = cargo.args(["test", "--quiet"]).current_dir(project.dir());
    let output = cargo.env("CARGO_TARGET_DIR", shared("projects")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

/// A tool's folder that the variable names, or a word that the test did not run.
fn installed(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        println!("not run: {variable} is not set; .ci/run installs what it names");
    }
    found
}

/// A component that was run in three processes did the same in each, down to the last unit of fuel.
fn is_deterministic(project: &Project, first: &Value) {
    for _ in 0..2 {
        let [again] = project.run(&["plugin", "test", "--format", "json"]).json_lines().try_into().unwrap();
        assert_eq!(&again, first);
    }
    let fuel: Vec<_> = first["cases"].as_array().unwrap().iter().map(|case| case["fuel"].as_u64()).collect();
    assert!(fuel.iter().all(|fuel| fuel.is_some_and(|fuel| fuel > 0)), "{fuel:?}");
}

/// As an operator has it: in a policy, in front of a call.
fn judges_in_a_policy(project: &Project, limits: &str) {
    let config = format!("component: {0}/{0}.wasm, config: {{ wekend: deny }}{limits}", project.name);
    let policy = format!(
        "plugins: {{ allow_unsigned: true }}\nguards:\n  mine: {{ {config} }}\nservers: {{ hello: {{ component: builtin:hello }} }}\ncapabilities:\n  \
         default: {{ tools: [{{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }}] }}\n"
    );
    project.place.write("policy.yaml", policy.replace("wekend", "weekend"));
    let allowed = project.place.ask("call", "hello", "hello_world", r#"{"name":"Chio"}"#);
    assert_eq!((allowed.code, allowed.field("output")), (0, "Hello, Chio!"), "{allowed:?}");
    project.place.write("policy.yaml", policy);
    let denied = project.place.ask("call", "hello", "hello_world", r#"{"name":"Chio"}"#);
    assert_eq!(denied.code, 2, "{denied:?}");
    assert!(denied.field("reason").contains("\"mine\" error (fail-closed)"), "{denied:?}");
}

#[cfg(unix)]
#[test]
fn javascript_guards_and_hooks_are_built_and_pass() {
    let Some(modules) = installed("CHIO_TEST_NODE_MODULES") else { return };
    for (kind, cases) in [("guard", 6), ("hook", 4)] {
        let project = Project::new(kind, "js");
        std::os::unix::fs::symlink(&modules, project.dir().join("node_modules")).unwrap();
        let report = project.passes(cases);
        is_deterministic(&project, &report);
        if kind == "guard" {
            judges_in_a_policy(&project, "");
        }
    }
}

#[cfg(unix)]
#[test]
fn python_guards_and_hooks_are_built_and_pass() {
    let Some(python) = installed("CHIO_TEST_PYTHON") else { return };
    let venv = python.parent().and_then(Path::parent).unwrap();
    for (kind, cases) in [("guard", 6), ("hook", 4)] {
        let project = Project::new(kind, "python");
        std::os::unix::fs::symlink(venv, project.dir().join(".venv")).unwrap();
        let report = project.passes(cases);
        is_deterministic(&project, &report);
        if kind == "guard" {
            judges_in_a_policy(&project, ", limits: { component: 20MiB }");
        }
    }
}

/// What `.ci/run` installs is what a project asks for.
#[test]
fn the_tools_that_are_tested_are_those_of_the_templates() {
    let read = |path: &str| std::fs::read_to_string(repository(path)).unwrap();
    let version = |text: &str| {
        let package: Value = serde_json::from_str(text).unwrap();
        package["devDependencies"]["componentize-qjs"].as_str().unwrap().to_owned()
    };
    assert_eq!(version(&read("sdk/templates/js/package.json")), version(&read("tests/js/package.json")));
    assert!(read("tests/python/requirements.txt").contains(&read("sdk/templates/python/requirements.txt")));
}

#[test]
fn what_cannot_be_a_project_is_said_and_nothing_is_left() {
    let place = Place::new();
    let new = |name: &str, kind: &str, lang: &str| place.run(&["plugin", "new", name, "--kind", kind, "--lang", lang]);
    new("../away", "guard", "rust").is_error(&["\"../away\" is no usable name"]);
    new("mine", "tool", "js").is_error(&["guards and hooks so far", "--lang rust"]);
    new("mine", "rail", "python").is_error(&["guards and hooks so far", "--lang rust"]);
    new("mine", "gaurd", "rust").is_error(&["gaurd", "guard, hook, tool, rail"]);
    assert!(!place.path().join("mine").exists());
    place.write("mine/notes.txt", "mine");
    new("mine", "guard", "js").is_error(&["mine", "something in it already"]);
    assert_eq!(std::fs::read_dir(place.path().join("mine")).unwrap().count(), 1);

    place.run(&["plugin", "build", "mine"]).is_error(&["mine", "no NAME.manifest.yaml", "plugin new"]);
    place.run(&["plugin", "test"]).is_error(&["no NAME.manifest.yaml"]);
    place.write("mine/a.manifest.yaml", "name: a\nkind: guard\n");
    place.run(&["plugin", "build", "mine"]).is_error(&["no Cargo.toml, package.json or requirements.txt"]);
    place.write("mine/b.manifest.yaml", "name: b\nkind: guard\n");
    place.run(&["plugin", "build", "mine"]).is_error(&["manifests of a, b"]);
}

/// A component of another world than its manifest's takes no place, and the one that was there stays.
#[test]
fn a_component_of_another_world_is_not_put_in_its_place() {
    let project = Project::new("guard", "rust");
    project.run(&["plugin", "test"]).is_error(&["my_guard.wasm", "not built yet", "plugin build"]);
    std::fs::write(project.dir().join("my_guard.wasm"), "the one before").unwrap();
    let hook = std::fs::read_to_string(repository("sdk/templates/rust/hook.rs")).unwrap();
    std::fs::write(project.dir().join("src/lib.rs"), hook.replace("serde_json::Value", "serde::de::IgnoredAny"))
        .unwrap();
    let broken = project.run(&["plugin", "build"]);
    broken.is_error(&["cargo failed", "what it said is above", "error[E"]);
    let manifest = std::fs::read_to_string(project.dir().join("Cargo.toml")).unwrap();
    let serde_json = "\n[dependencies]\nserde_json = \"1\"";
    std::fs::write(project.dir().join("Cargo.toml"), manifest.replace("\n[dependencies]", serde_json)).unwrap();
    std::fs::write(project.dir().join("src/lib.rs"), hook).unwrap();
    project.run(&["plugin", "build"]).is_error(&["of the world output-hook", "manifest calls it something else"]);
    assert_eq!(std::fs::read(project.dir().join("my_guard.wasm")).unwrap(), b"the one before");
}
