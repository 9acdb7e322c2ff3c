//! What `wasmtime::component::bindgen!` makes of `wit/plugin.wit`. The worlds share the types of the first.

#![allow(missing_docs, unreachable_pub, clippy::pedantic, reason = "generated")]

/// The worlds `guard` and, but for its `init`, `initialised-guard`.
pub(crate) mod guard {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "guard",
        imports: { default: trappable },
        exports: { default: async },
        ownership: Borrowing { duplicate_if_necessary: true },
    });
}

/// The world `output-hook`.
pub(crate) mod hook {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "output-hook",
        imports: { default: trappable },
        exports: { default: async },
        ownership: Borrowing { duplicate_if_necessary: true },
        with: {
            "chio:plugin/types": super::guard::chio::plugin::types,
            "chio:plugin/call": super::guard::chio::plugin::call,
            "chio:plugin/configuration": super::guard::chio::plugin::configuration,
        },
    });
}

/// What `wasi:config` is in its drafts, for its types.
pub(crate) mod settings {
    wasmtime::component::bindgen!({
        inline: "
            package wasi:config@0.2.0-rc.1;
            interface store {
                variant error { upstream(string), io(string) }
                get: func(key: string) -> result<option<string>, error>;
                get-all: func() -> result<list<tuple<string, string>>, error>;
            }
            world settings { import store; }
        ",
        world: "settings",
    });
}

/// The world `rail`.
pub(crate) mod rail {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "rail",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "chio:plugin/types": super::server::chio::plugin::types,
            "chio:plugin/configuration": super::guard::chio::plugin::configuration,
            "chio:plugin/host": super::server::chio::plugin::host,
        },
    });
}

/// The world `tool-server`. Owned types: what it is told is small, and what it answers is kept.
pub(crate) mod server {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "tool-server",
        imports: {
            "chio:plugin/nested.invoke": async | trappable,
            default: trappable,
        },
        exports: { default: async },
        with: {
            "chio:plugin/configuration": super::guard::chio::plugin::configuration,
        },
    });
}
