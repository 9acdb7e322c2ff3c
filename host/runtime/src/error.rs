//! Why a plugin is not loaded.

use chio_host_kernel::canonical::printable;
use chio_host_kernel::ports::Fault;

use crate::files::GrantError;
use crate::inspect::Kind;

/// Why a plugin is not loaded. Each says what would be right.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Larger than its limit; it is not even compiled.
    #[error("the component is {size} bytes; at most {limit} are accepted")]
    TooLarge {
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Bytes that are no component.
    #[error("it is not a WebAssembly component: {0}")]
    NotAComponent(String),
    /// A component of another world.
    #[error("it is of the world {found}, and {wanted} is needed; it exports {exports}")]
    World {
        /// What it is to be used as.
        wanted: Kind,
        /// What it is.
        found: Kind,
        /// What it exports, in a few words.
        exports: String,
    },
    /// An import that its world does not have.
    #[error("it imports {import}, which {why}")]
    Import {
        /// The import, by full name.
        import: String,
        /// Why it is not there.
        why: &'static str,
    },
    /// A component that the compiler does not accept.
    #[error("it does not compile: {0}")]
    Compile(String),
    /// Compiling it takes longer than it may.
    #[error("compile time limit of {limit_ms} ms reached")]
    CompileTime {
        /// The limit, in milliseconds.
        limit_ms: u128,
    },
    /// Compiling it takes more memory than it may.
    #[error("compile memory limit of {limit_bytes} bytes reached")]
    CompileMemory {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// It needs more from the start than it may have.
    #[error("it needs {needs} {what} from the start; its limit is {limit}")]
    Needs {
        /// Of what.
        what: &'static str,
        /// How much.
        needs: u64,
        /// The limit.
        limit: u64,
    },
    /// Imports or exports of the right name and the wrong type.
    #[error("its imports or exports do not have the types of the world {0}: {1}")]
    Types(Kind, String),
    /// It was run once while loading, and that failed.
    #[error("its `{function}` failed: {fault}")]
    Ran {
        /// What was run.
        function: &'static str,
        /// What stopped it.
        fault: Fault,
    },
    /// An initialised guard of which no snapshot can be taken.
    #[error("its `init` cannot be run ahead of its calls: {0}")]
    Unfit(String),
    /// An initialised guard that would be too large after its `init`.
    #[error("its `init` leaves behind {size} bytes; at most {limit} are accepted, as of the component itself")]
    Leaves {
        /// How much, at least.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A tool server whose tools no client could use, as it describes them or as its types do.
    #[error("its description is not usable: {0}")]
    Description(String),
    /// A manifest, or a policy, that does not fit the component.
    #[error("the manifest or the policy describes the tool \"{0}\", which the server does not offer")]
    UnknownTool(String),
    /// A configuration that is no list of settings.
    #[error("it reads its settings by name (wasi:config/store), so its `config` has to be a mapping")]
    Settings,
    /// A secret that cannot be added to requests.
    #[error("the secret \"{name}\" cannot be added to requests: {why}")]
    Secret {
        /// Its name.
        name: String,
        /// Why.
        why: &'static str,
    },
    /// A folder that cannot be granted.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// The host itself failed.
    #[error("the host could not load it: {0}")]
    Host(String),
}

/// An error of the engine in one printable line.
pub(crate) fn one_line(error: &wasmtime::Error) -> String {
    printable(&format!("{error:#}"), 512)
}
