//! How much a plugin may use: the host's defaults, and what a policy changes.

use serde::Serialize;

use chio_host_kernel::canonical::MAX_INTEGER;
use chio_host_kernel::operation::Role;

use crate::yaml::Cursor;

macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $field:ident, $key:literal, $read:ident($least:literal);)+) => {
        /// Every limit of one run of a plugin, as it is enforced.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub struct Limits {
            $($(#[doc = $doc])+ pub $field: u64,)+
        }

        /// What a policy says about a plugin's limits.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct LimitOverrides {
            $(pub(crate) $field: Option<u64>,)+
        }

        impl LimitOverrides {
            /// The limits in force: what is said here, else the default.
            pub(crate) fn over(&self, defaults: &Limits) -> Limits {
                Limits { $($field: self.$field.unwrap_or(defaults.$field),)+ }
            }

            pub(crate) fn read(cursor: &Cursor<'_>) -> Self {
                let read = cursor.fields("a mapping, such as { fuel: 5_000_000, deadline: 50ms }", |f| Self {
                    $($field: f.take($key).and_then(|c| c.$read($least..=MAX_INTEGER)),)+
                });
                read.unwrap_or_default()
            }
        }
    };
}

limits! {
    /// Units of fuel.
    fuel, "fuel", integer(1);
    /// Wall clock, in milliseconds.
    deadline_ms, "deadline", duration_ms(1);
    /// Linear memory, in bytes.
    memory_bytes, "memory", size(1);
    /// Elements of all tables.
    table_elements, "table_elements", integer(1);
    /// Core instances.
    instances, "instances", integer(1);
    /// The component's own size, in bytes.
    component_bytes, "component", size(1);
    /// Wall clock of its compilation, in milliseconds.
    compile_time_ms, "compile_time", duration_ms(1);
    /// Memory of its compilation, in bytes.
    compile_memory_bytes, "compile_memory", size(1);
    /// What it answers, in bytes.
    output_bytes, "output", size(1);
    /// What it logs, in bytes.
    log_bytes, "log", size(0);
    /// What it writes to its standard streams, in bytes.
    stdio_bytes, "stdio", size(0);
    /// How many of its runs may go on at once.
    concurrency, "concurrency", integer(1);
}

/// What holds where a policy says nothing. The host gives it, because it is part of what is hashed: the same policy
/// under other defaults is another policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// For guards.
    pub guard: Limits,
    /// For output hooks.
    pub hook: Limits,
    /// For tool servers.
    pub tool: Limits,
    /// For payment rails.
    pub rail: Limits,
}

impl Defaults {
    pub(crate) fn of(&self, role: Role) -> &Limits {
        match role {
            Role::Guard => &self.guard,
            Role::OutputHook => &self.hook,
            Role::ToolServer => &self.tool,
            Role::Rail => &self.rail,
        }
    }
}
