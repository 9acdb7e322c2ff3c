//! `chio-host`: the host that stands between an AI agent and its tools.
//!
//! This crate is wiring: it reads the policy, loads the plugins, opens the ledger, and hands calls to the kernel. One file
//! per command under `commands/`; the MCP edge under `mcp/`.

#![forbid(unsafe_code)]

mod agent;
mod args;
mod builtins;
mod clock;
mod commands;
mod compile;
mod component;
mod control;
mod error;
mod fixtures;
mod folders;
mod host;
mod keys;
mod ledger;
mod mcp;
mod people;
mod plugins;
mod print;
mod project;
mod reload;
mod rules;
mod waiting;
mod wallet;
mod watched;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use args::{Args, Command};
use error::CliError;

/// What the process says with its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything asked for was done; a call was allowed.
    Done,
    /// The call was refused.
    Denied,
    /// The call waits for a human.
    Pending,
    /// Something that was verified is wrong, or a tool failed; what it was is on stdout already.
    Failed,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Failed => Self::from(1),
            Outcome::Denied => Self::from(2),
            Outcome::Pending => Self::from(3),
        }
    }
}

fn main() -> ExitCode {
    if let Some(code) = compile::if_asked() {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        // Bad usage exits with 1, like every other error: 2 means that a call was denied.
        Err(error) => {
            let code = u8::from(error.use_stderr());
            // A closed pipe is the reader's choice.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    log_to_stderr(&args.command);
    match run(args) {
        Ok(outcome) => outcome.into(),
        Err(CliError::Stdout(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            tracing::debug!(?error);
            let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("error: {error}\n").as_bytes());
            ExitCode::from(1)
        }
    }
}

/// The MCP SDK logs whole requests and results from `info` down; they may hold secrets, so it stays at `warn` whatever is
/// asked for. Whoever tests a component reads its answers in the report, and not as calls that were refused.
fn log_to_stderr(command: &Command) {
    let asked = std::env::var("CHIO_LOG").unwrap_or_else(|_| "warn".to_owned());
    let kernel = if matches!(command, Command::Plugin(_)) { ",chio_host_kernel=error" } else { "" };
    let filter = EnvFilter::try_new(format!("{asked},rmcp=warn,wasmtime_wasi_http=error{kernel}"))
        .unwrap_or_else(|_| EnvFilter::new("warn"));
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(ansi)
        .without_time()
        .init();
}

fn run(args: Args) -> Result<Outcome, CliError> {
    let Args { common, command } = args;
    match command {
        Command::Demo(args) => commands::demo::run(&common, &args),
        Command::Init(args) => commands::init::run(&common, &args),
        Command::Check(args) => commands::check::run(&common, args),
        Command::Call(args) => commands::call::run(&common, args),
        Command::Run(args) => commands::run::run(&common, &args),
        Command::Capability(args) => commands::capability::run(&common, args),
        Command::Revoke(args) => commands::revoke::run(&common, args),
        Command::Budget(args) => commands::budget::run(&common, args),
        Command::Approvals(args) => commands::approvals::run(&common, args),
        Command::Recover(args) => commands::recover::run(&common, &args),
        Command::Receipt(args) => commands::receipt::run(&common, args),
        Command::Plugin(args) => commands::plugin::run(&common, args),
        Command::Completions(args) => commands::completions::run(&args),
    }
}
