//! Uses more than it may, and reaches for what it was not granted. A guest of the host's tests: each of its tools is one way.

use chio_sdk::{Context, Output, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

const TOOLS: [&str; 14] = [
    "spin",
    "sleep",
    "grow",
    "answer",
    "log",
    "print",
    "descend",
    "invoke",
    "read",
    "write",
    "variable",
    "connect",
    "resolve",
    "arguments",
];

#[derive(Deserialize)]
#[serde(default)]
struct Wanted {
    folder: String,
    path: String,
    name: String,
    port: u16,
    server: String,
    tool: String,
    arguments: Value,
}

impl Default for Wanted {
    fn default() -> Self {
        let none = String::new;
        let (folder, path, name, server, tool) = (none(), none(), none(), none(), none());
        Self { folder, path, name, port: 0, server, tool, arguments: json!({}) }
    }
}

fn describe() -> Vec<Tool> {
    TOOLS.map(|name| Tool::new(name, "A test.", &json!({ "type": "object" }))).to_vec()
}

fn call(_: &Context, tool: &str, arguments: &str) -> Result<Output, ToolError> {
    let wanted: Wanted = chio_sdk::arguments(arguments)?;
    let done = match tool {
        "spin" => loop {
            std::hint::black_box(());
        },
        "grow" => grow(),
        "answer" => Ok("x".repeat(1 << 20)),
        "sleep" => sandbox::sleep(),
        "log" => sandbox::log(),
        "print" => sandbox::print(),
        "descend" => sandbox::invoke("intruder", "descend", &json!({})),
        "invoke" => sandbox::invoke(&wanted.server, &wanted.tool, &wanted.arguments),
        "read" => sandbox::read(&wanted.folder, &wanted.path),
        "write" => sandbox::write(&wanted.folder, &wanted.path),
        "variable" => sandbox::variable(&wanted.name),
        "connect" => sandbox::connect(wanted.port),
        "resolve" => sandbox::resolve(&wanted.name),
        "arguments" => sandbox::arguments(),
        other => return Err(ToolError::unknown_tool(other)),
    };
    done.map(Output::text).map_err(ToolError::failed)
}

/// Keeps all that it is given.
fn grow() -> Result<String, String> {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        kept.push(std::hint::black_box(vec![1; 1 << 16]));
    }
}

#[cfg(not(target_os = "wasi"))]
mod sandbox {
    use serde_json::Value;

    type Done = Result<String, String>;

    fn nowhere() -> Done {
        Err("it does nothing outside a sandbox".to_owned())
    }

    pub(super) fn sleep() -> Done {
        nowhere()
    }
    pub(super) fn log() -> Done {
        nowhere()
    }
    pub(super) fn print() -> Done {
        nowhere()
    }
    pub(super) fn invoke(_: &str, _: &str, _: &Value) -> Done {
        nowhere()
    }
    pub(super) fn read(_: &str, _: &str) -> Done {
        nowhere()
    }
    pub(super) fn write(_: &str, _: &str) -> Done {
        nowhere()
    }
    pub(super) fn variable(_: &str) -> Done {
        nowhere()
    }
    pub(super) fn connect(_: u16) -> Done {
        nowhere()
    }
    pub(super) fn resolve(_: &str) -> Done {
        nowhere()
    }
    pub(super) fn arguments() -> Done {
        nowhere()
    }
}

/// Past the standard library, which refuses some of it by itself.
#[cfg(target_os = "wasi")]
mod sandbox {
    use chio_sdk::host::{Level, log as tell};
    use chio_sdk::nested::{self, InvokeError};
    use serde_json::Value;
    use wasip2::cli::environment::{get_arguments, get_environment, initial_cwd};
    use wasip2::cli::stdout::get_stdout;
    use wasip2::clocks::monotonic_clock::subscribe_duration;
    use wasip2::filesystem::preopens::get_directories;
    use wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};
    use wasip2::sockets::instance_network::instance_network;
    use wasip2::sockets::ip_name_lookup::resolve_addresses;
    use wasip2::sockets::network::{IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
    use wasip2::sockets::tcp_create_socket::create_tcp_socket;

    type Done = Result<String, String>;

    /// In the host, where no fuel is burnt.
    pub(super) fn sleep() -> Done {
        loop {
            subscribe_duration(u64::MAX / 2).block();
        }
    }

    pub(super) fn log() -> Done {
        loop {
            tell(Level::Info, "x");
        }
    }

    pub(super) fn print() -> Done {
        let stdout = get_stdout();
        loop {
            stdout.blocking_write_and_flush(b"x\n").map_err(|e| format!("{e:?}"))?;
        }
    }

    pub(super) fn invoke(server: &str, tool: &str, arguments: &Value) -> Done {
        match nested::invoke(server, tool, &arguments.to_string()) {
            Ok(output) => Ok(output.value),
            Err(InvokeError::Denied(why) | InvokeError::Pending(why) | InvokeError::Failed(why)) => Err(why),
        }
    }

    fn open(folder: &str, path: &str, how: OpenFlags, flags: DescriptorFlags) -> Result<Descriptor, String> {
        let folders = get_directories();
        let folder = folders.iter().find(|(_, name)| name == folder).map(|(descriptor, _)| descriptor);
        let folder = folder.ok_or("no such folder is open")?;
        folder.open_at(PathFlags::SYMLINK_FOLLOW, path, how, flags).map_err(|code| code.name().to_owned())
    }

    pub(super) fn read(folder: &str, path: &str) -> Done {
        let file = open(folder, path, OpenFlags::empty(), DescriptorFlags::READ)?;
        let (bytes, _) = file.read(1 << 16, 0).map_err(|code| code.name().to_owned())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn write(folder: &str, path: &str) -> Done {
        let file = open(folder, path, OpenFlags::CREATE, DescriptorFlags::WRITE)?;
        file.write(b"written", 0).map(|length| length.to_string()).map_err(|code| code.name().to_owned())
    }

    pub(super) fn variable(name: &str) -> Done {
        let found = get_environment().into_iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value).ok_or_else(|| format!("there is no variable {name}"))
    }

    pub(super) fn connect(port: u16) -> Done {
        let socket = create_tcp_socket(IpAddressFamily::Ipv4).map_err(|code| code.name().to_owned())?;
        let address = IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (127, 0, 0, 1) });
        socket.start_connect(&instance_network(), address).map_err(|code| code.name().to_owned())?;
        socket.subscribe().block();
        socket.finish_connect().map(|_| "connected".to_owned()).map_err(|code| code.name().to_owned())
    }

    pub(super) fn resolve(name: &str) -> Done {
        let found = resolve_addresses(&instance_network(), name).map_err(|code| code.name().to_owned())?;
        found.subscribe().block();
        found.resolve_next_address().map(|address| format!("{address:?}")).map_err(|code| code.name().to_owned())
    }

    /// All that a process is told when it starts.
    pub(super) fn arguments() -> Done {
        let mut names: Vec<String> = get_environment().into_iter().map(|(name, _)| name).collect();
        names.sort();
        Ok(format!("arguments {:?}, folder {:?}, variables {names:?}", get_arguments(), initial_cwd()))
    }
}

chio_sdk::tool_server!(describe, call);
