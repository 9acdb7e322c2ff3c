//! `demo`: four calls with the embedded policy and components, in folders that vanish afterwards.

use std::fs;
use std::path::Path;

use chio_host_kernel::call::{Arguments, Call, RequestId};
use chio_host_kernel::receipt::{self, Decision};
use chio_host_kernel::response::Response;
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::{Common, DemoArgs, Format};
use crate::error::CliError;
use crate::folders::Folders;
use crate::host::{self, Host};
use crate::print;

const POLICY: &str = include_str!("demo-policy.yaml");

/// What the agent must not see. It is made up here, from parts, so that no scanner takes this file for a leak.
fn secret() -> String {
    ["AKIA", "Q3EGWNBV", "7XK2MPLS"].concat()
}

/// One call of the demo, and what is expected of it.
struct Scene {
    title: &'static str,
    server: &'static str,
    tool: &'static str,
    params: Value,
    expected: Expected,
    note: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Allowed,
    DeniedBy(&'static str),
    Redacted,
}

fn scenes() -> [Scene; 4] {
    [
        Scene {
            title: "a call that the capability covers",
            server: "hello",
            tool: "hello_world",
            params: json!({ "name": "Chio" }),
            expected: Expected::Allowed,
            note: "both guards let it pass, and the tool ran in a sandbox made for this call",
        },
        Scene {
            title: "a file that no agent should read",
            server: "files",
            tool: "read_file",
            params: json!({ "path": "/etc/shadow" }),
            expected: Expected::DeniedBy("forbidden_path"),
            note: "the guard said no, so the tool was never entered",
        },
        Scene {
            title: "a tool that nobody granted",
            server: "hello",
            tool: "drop_tables",
            params: json!({}),
            expected: Expected::DeniedBy(receipt::KERNEL),
            note: "no grant covers it, so not even a guard was asked",
        },
        Scene {
            title: "a file with a secret in it",
            server: "files",
            tool: "read_file",
            params: json!({ "path": "/workspace/notes.txt" }),
            expected: Expected::Redacted,
            note: "the tool returned the key; an output hook took it out before the agent saw it",
        },
    ]
}

pub(crate) fn run(common: &Common, _args: &DemoArgs) -> Result<Outcome, CliError> {
    let here = tempfile::Builder::new().prefix("chio-demo-").tempdir().map_err(|e| CliError::System(e.to_string()))?;
    let folders = folders(common, here.path())?;
    let workspace = here.path().join("workspace");
    fs::create_dir(&workspace)
        .and_then(|()| fs::write(workspace.join("notes.txt"), format!("deploy with key {} on Monday\n", secret())))
        .map_err(|e| CliError::path(&workspace, e))?;

    host::block_on(async {
        let host = Host::open_text(&folders, POLICY, "demo-policy.yaml", here.path()).await?;
        if common.format == Format::Human {
            print::text("Four tool calls, each mediated from request to signed receipt.\n")?;
        }
        let mut as_expected = true;
        let mut responses = Vec::new();
        for (number, scene) in (1..).zip(scenes()) {
            let response = call(&host, number, &scene).await?;
            as_expected &= scene.is_met(&response);
            show(common.format, number, &scene, &response)?;
            responses.push(response);
        }
        verify(common.format, &responses)?;
        host.close().await;
        Ok(if as_expected { Outcome::Done } else { Outcome::Failed })
    })
}

/// The demo's state vanishes with it, where the command line names none. Keys and compiled code are those of every other
/// command.
fn folders(common: &Common, here: &Path) -> Result<Folders, CliError> {
    let state = common.state.clone().unwrap_or_else(|| here.join("state"));
    Folders::of(&Common { state: Some(state), ..common.clone() })
}

async fn call(host: &Host, number: u32, scene: &Scene) -> Result<Response, CliError> {
    let id = RequestId::new(format!("demo-{number}-{}", uuid::Uuid::now_v7()))?;
    let token = host.rules().agent.token_for(scene.server, scene.tool)?;
    let arguments = Arguments::new(scene.params.clone())?;
    let call = Call::new(id, host.rules().agent.id(), token, scene.server, scene.tool, arguments)?;
    Ok(host.rules().kernel.evaluate(&call).await?)
}

impl Scene {
    fn is_met(&self, response: &Response) -> bool {
        let output = response.output.as_ref().map(|o| o.value.to_string());
        match (self.expected, response.decision()) {
            (Expected::Allowed, Decision::Allow) => output.is_some_and(|o| o.contains("Chio")),
            (Expected::Redacted, Decision::Allow) => {
                output.is_some_and(|o| o.contains("REDACTED") && !o.contains(&secret()))
            }
            (Expected::DeniedBy(who), Decision::Deny { guard, .. }) => who == guard && output.is_none(),
            _ => false,
        }
    }
}

fn show(format: Format, number: u32, scene: &Scene, response: &Response) -> Result<(), CliError> {
    let decision = response.decision();
    let output = response.output.as_ref().map(|o| &o.value);
    if format == Format::Json {
        return print::document(
            format,
            &json!({
                "call": number, "server": scene.server, "tool": scene.tool, "params": scene.params,
                "verdict": decision.verdict(), "reason": decision.reason(), "output": output,
                "receipt_id": response.receipt.id(), "as_expected": scene.is_met(response),
            }),
        );
    }
    let mut lines = vec![
        format!("\n{number}. {}", scene.title),
        format!("   {}/{} {}", scene.server, scene.tool, scene.params),
        format!("   {:<8} {}", decision.verdict().to_uppercase(), decision.reason().unwrap_or(scene.note)),
    ];
    if decision.reason().is_some() {
        lines.extend(
            response.receipt.body().evidence.iter().filter(|e| !e.verdict).map(|e| {
                format!("   {:<8} {}: {}", "evidence", e.guard_name, e.details.as_deref().unwrap_or_default())
            }),
        );
        lines.push(format!("   {:<8} {}", "so", scene.note));
    }
    lines.extend(output.map(|o| format!("   {:<8} {o}", "output")));
    lines.push(format!("   {:<8} {}", "receipt", response.receipt.id()));
    if !scene.is_met(response) {
        lines.push("   THIS IS NOT WHAT SHOULD HAVE HAPPENED.".to_owned());
    }
    print::text(&(lines.join("\n") + "\n"))
}

/// Reads every receipt as a stranger would: with nothing but what stands in it.
fn verify(format: Format, responses: &[Response]) -> Result<(), CliError> {
    for response in responses {
        receipt::verify(response.receipt.record()).map_err(|e| CliError::System(format!("a receipt is wrong: {e}")))?;
    }
    let signer = responses.first().map(|r| r.receipt.body().kernel_key.clone()).unwrap_or_default();
    match format {
        Format::Json => print::document(format, &json!({ "verified": responses.len(), "kernel_key": signer })),
        Format::Human => print::text(&format!(
            "\n{} receipts verified: each id is the hash of its receipt, each signature is by the host's key\n{signer}\n\n\
             Your own project: chio-host init my-agent\n",
            responses.len()
        )),
    }
}
