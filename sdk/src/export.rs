//! The macros that make a function a plugin. Each exports only for WebAssembly; elsewhere it checks the functions' types,
//! and with that keeps them from being reported as never used. What judges stands in a constant there, for whoever
//! wants to ask it from outside of its crate, as a fuzzer does.

/// Makes `fn(&Call) -> Result<Verdict, String>` a guard.
#[macro_export]
macro_rules! guard {
    ($check:path) => {
        #[cfg(not(target_arch = "wasm32"))]
        #[doc(hidden)]
        pub const __CHIO_CHECK: fn(&$crate::Call) -> ::core::result::Result<$crate::Verdict, ::std::string::String> =
            $check;
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Component;
            impl $crate::bindings::guard::exports::chio::plugin::guarding::Guest for Component {
                fn check(call: $crate::Call) -> ::core::result::Result<$crate::Verdict, ::std::string::String> {
                    $check(&call)
                }
            }
    $crate::bindings::guard::export!(Component with_types_in $crate::bindings::guard);
        };
    };
}

/// Makes a pair of functions a guard that is told its configuration once, when it is loaded:
/// `fn(&str) -> Result<S, String>` and `fn(&S, &Call) -> Result<Verdict, String>`. The host keeps a snapshot of the
/// component after the first, so what it compiles costs nothing in a call. `S` stands in a static, so it is `Send` and
/// `Sync`. Such a guard does not call [`config`](crate::config()): its world has no such import.
#[macro_export]
macro_rules! initialised_guard {
    ($init:path, $check:path, $state:ty) => {
        #[cfg(not(target_arch = "wasm32"))]
        const _: (
            fn(&str) -> ::core::result::Result<$state, ::std::string::String>,
            fn(&$state, &$crate::Call) -> ::core::result::Result<$crate::Verdict, ::std::string::String>,
        ) = ($init, $check);
        #[cfg(not(target_arch = "wasm32"))]
        const _: () = {
            const fn stands_in_a_static<T: ::core::marker::Send + ::core::marker::Sync>() {}
            stands_in_a_static::<$state>();
        };
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            static STATE: ::std::sync::OnceLock<$state> = ::std::sync::OnceLock::new();

            struct Component;
            impl $crate::bindings::init::Guest for Component {
                fn init(config: ::std::string::String) -> ::core::result::Result<(), ::std::string::String> {
                    let state = $init(&config)?;
                    STATE.set(state).map_err(|_| ::std::string::String::from("init was called twice"))
                }
            }
            impl $crate::bindings::guard::exports::chio::plugin::guarding::Guest for Component {
                fn check(call: $crate::Call) -> ::core::result::Result<$crate::Verdict, ::std::string::String> {
                    let state = STATE.get().ok_or("the guard was asked before its init ran")?;
                    $check(state, &call)
                }
            }
    $crate::bindings::guard::export!(Component with_types_in $crate::bindings::guard);
    $crate::bindings::init::export!(Component with_types_in $crate::bindings::init);
        };
    };
}

/// Makes `fn(&Call, &str) -> Result<HookVerdict, String>` an output hook; the text is the tool's output, as JSON.
#[macro_export]
macro_rules! hook {
    ($inspect:path) => {
        #[cfg(not(target_arch = "wasm32"))]
        #[doc(hidden)]
        pub const __CHIO_INSPECT: fn(
            &$crate::Call,
            &str,
        ) -> ::core::result::Result<$crate::HookVerdict, ::std::string::String> = $inspect;
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Component;
            impl $crate::bindings::output_hook::exports::chio::plugin::inspecting::Guest for Component {
                fn inspect(
                    call: $crate::Call,
                    output: ::std::string::String,
                ) -> ::core::result::Result<$crate::HookVerdict, ::std::string::String> {
                    $inspect(&call, &output)
                }
            }
    $crate::bindings::output_hook::export!(Component with_types_in $crate::bindings::output_hook);
        };
    };
}

/// Makes a pair of functions a tool server: `fn() -> Vec<Tool>` and
/// `fn(&Context, &str, &str) -> Result<Output, ToolError>`, whose texts are the tool's name and its arguments as JSON.
#[macro_export]
macro_rules! tool_server {
    ($describe:path, $call:path) => {
        #[cfg(not(target_arch = "wasm32"))]
        const _: (
            fn() -> ::std::vec::Vec<$crate::Tool>,
            fn(&$crate::Context, &str, &str) -> ::core::result::Result<$crate::Output, $crate::ToolError>,
        ) = ($describe, $call);
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Component;
            impl $crate::bindings::tool_server::exports::chio::plugin::serving::Guest for Component {
                fn describe() -> ::std::vec::Vec<$crate::Tool> {
                    $describe()
                }
                fn call(
                    context: $crate::Context,
                    tool: ::std::string::String,
                    arguments: ::std::string::String,
                ) -> ::core::result::Result<$crate::Output, $crate::ToolError> {
                    $call(&context, &tool, &arguments)
                }
            }
    $crate::bindings::tool_server::export!(Component with_types_in $crate::bindings::tool_server);
        };
    };
}

/// Makes a type that implements [`Rail`](crate::Rail) a payment rail.
#[macro_export]
macro_rules! rail {
    ($rail:ident) => {
        #[cfg(not(target_arch = "wasm32"))]
        const _: () = {
            fn is_rail<T: $crate::Rail>() {}
            let _ = is_rail::<$rail>;
        };
        #[cfg(target_arch = "wasm32")]
        const _: () = {
    $crate::bindings::rail::export!($rail with_types_in $crate::bindings::rail);
        };
    };
}
