//! What wit-bindgen generates, one module a world. Every world's imports come from one module, so that a `Call` is the
//! same type in all of them; a component encodes only the imports that it uses.
#![allow(missing_docs, unsafe_code, unreachable_pub, clippy::pedantic, clippy::all)]

pub mod imports {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "
            package chio:sdk;
            world imports {
                import chio:plugin/types@0.1.0;
                import chio:plugin/call@0.1.0;
                import chio:plugin/configuration@0.1.0;
                import chio:plugin/host@0.1.0;
                import chio:plugin/nested@0.1.0;
            }
        ",
        world: "chio:sdk/imports",
        additional_derives: [PartialEq],
        generate_all,
        generate_unused_types: true,
    });
}

macro_rules! world {
    ($module:ident, $world:literal, $bindings:literal, [$($interface:literal => $path:ident),*]) => {
        pub mod $module {
            wit_bindgen::generate!({
                path: "../wit",
                world: $world,
                additional_derives: [PartialEq],
                with: { $($interface: crate::bindings::imports::chio::plugin::$path),* },
                pub_export_macro: true,
                default_bindings_module: $bindings,
            });
        }
    };
}

world!(guard, "chio:plugin/guard", "chio_sdk::bindings::guard", [
    "chio:plugin/types@0.1.0" => types,
    "chio:plugin/call@0.1.0" => call,
    "chio:plugin/configuration@0.1.0" => configuration
]);
world!(output_hook, "chio:plugin/output-hook", "chio_sdk::bindings::output_hook", [
    "chio:plugin/types@0.1.0" => types,
    "chio:plugin/call@0.1.0" => call,
    "chio:plugin/configuration@0.1.0" => configuration
]);
world!(tool_server, "chio:plugin/tool-server", "chio_sdk::bindings::tool_server", [
    "chio:plugin/types@0.1.0" => types,
    "chio:plugin/configuration@0.1.0" => configuration,
    "chio:plugin/host@0.1.0" => host,
    "chio:plugin/nested@0.1.0" => nested
]);
world!(rail, "chio:plugin/rail", "chio_sdk::bindings::rail", [
    "chio:plugin/types@0.1.0" => types,
    "chio:plugin/configuration@0.1.0" => configuration,
    "chio:plugin/host@0.1.0" => host
]);

/// What the `initialised-guard` world has beyond `guard`. A component's worlds are merged when it is encoded, so such a
/// guard exports this and `guard`, and its verdict is the same type.
pub mod init {
    wit_bindgen::generate!({
        inline: "
            package chio:sdk-init;
            world init {
                export init: func(config: string) -> result<_, string>;
            }
        ",
        world: "chio:sdk-init/init",
        pub_export_macro: true,
        default_bindings_module: "chio_sdk::bindings::init",
    });
}
