//! What the policy allows.

use chio_sdk::Call;
use serde::Deserialize;

use crate::class::{Class, Deed};
use crate::read::Dialects;
use crate::tables::{Lists, Tables};

/// The most arguments that a policy describes.
const MAX_ARGUMENTS: usize = 1_000;

/// The guard's `config`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Arguments that are SQL.
    arguments: Vec<Argument>,
    /// Which database reads it: `generic` is any.
    dialect: Option<String>,
    /// Classes that are allowed beside the usual ones.
    allow_classes: Vec<Class>,
    /// Classes that are not allowed, whatever else says so.
    deny_classes: Vec<Class>,
    /// Whether `allow_classes` stands alone, without the usual ones.
    replace: bool,
    /// Which tables may be named.
    tables: Lists,
}

/// An argument that is SQL, by its pointer, in which `*` is any one step; what is below it is SQL as well.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Argument {
    /// Absent for every server.
    server: Option<String>,
    /// Absent for every tool.
    tool: Option<String>,
    at: String,
}

/// The same, read, for one call.
pub(crate) struct Rules {
    /// The pointers of the call's arguments that are SQL, cut into steps.
    pointers: Vec<Vec<String>>,
    pub(crate) dialects: Dialects,
    allowed: Vec<Class>,
    pub(crate) tables: Tables,
}

impl Rules {
    pub(crate) fn new(config: &Config, call: &Call) -> Result<Self, String> {
        if config.arguments.len() > MAX_ARGUMENTS {
            return Err(format!("arguments has more than {MAX_ARGUMENTS} entries"));
        }
        if let Some(wrong) = config.arguments.iter().find(|argument| !argument.at.starts_with('/')) {
            return Err(format!("arguments: \"{}\" is not a JSON pointer, such as /query", chio_sdk::quote(&wrong.at)));
        }
        let is_asked = |argument: &&Argument| {
            argument.server.as_ref().is_none_or(|server| *server == call.server)
                && argument.tool.as_ref().is_none_or(|tool| *tool == call.tool)
        };
        let steps = |argument: &Argument| argument.at.split('/').skip(1).map(str::to_owned).collect();
        let is_allowed = |class: &&Class| {
            let is_usual = !config.replace && Class::USUAL.contains(class);
            (is_usual || config.allow_classes.contains(class)) && !config.deny_classes.contains(class)
        };
        Ok(Self {
            pointers: config.arguments.iter().filter(is_asked).map(steps).collect(),
            dialects: Dialects::named(config.dialect.as_deref().unwrap_or("generic"))?,
            allowed: Class::ALL.iter().filter(is_allowed).copied().collect(),
            tables: Tables::new(&config.tables)?,
        })
    }

    /// Whether the policy says that what stands at this pointer is SQL.
    pub(crate) fn is_sql(&self, at: &str) -> bool {
        self.pointers.iter().any(|steps| {
            let mut own = at.split('/').skip(1);
            steps.iter().all(|step| own.next().is_some_and(|own| step == "*" || step == own))
        })
    }

    /// Why a deed is refused, if it is.
    pub(crate) fn refuse(&self, deed: Deed) -> Option<String> {
        let Deed { class, what } = deed;
        (!self.allowed.contains(&class)).then(|| format!("SQL is refused: {what} (class {})", class.name()))
    }
}
