//! What a call costs, as ratios within one run: the machine may be slow or busy, but it is the same for both sides.
//!
//! `cargo bench --bench ratios`, or with `-- --quick` for a run that only shows that it works.

#![expect(clippy::print_stdout, reason = "its report is what it is for")]

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chio_host_builtin::Kind;
use chio_host_kernel::call::Snapshot;
use chio_host_kernel::capability::{ANY, CapabilityToken, Grant};
use chio_host_kernel::facts::{ArgumentFact, ArgumentKind};
use chio_host_kernel::keys::Keypair;
use chio_host_kernel::ports::{CounterView, Guard};
use chio_host_ledger::SledLedger;
use chio_host_runtime::{Limits, Plugin, Runtime, RuntimeConfig, WasmGuard};
use chio_host_tests::{Fixture, FixtureBuilder, fixture, grant, hostile};
use serde_json::{Value, json};

/// How often each side of a ratio is run in turn, and how many times in a row.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    batch: usize,
}

fn main() {
    let quick = std::env::args().any(|a| a == "--quick");
    let effort = if quick { Effort { rounds: 3, batch: 5 } } else { Effort { rounds: 40, batch: 50 } };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("tokio starts").block_on(async {
        guards(effort).await;
        library(effort).await;
        initialised(effort).await;
        mediated(effort).await;
        durable(effort).await;
    });
}

fn say(what: &str, ratio: f64) {
    println!("{what:<72} {ratio:>8.2}");
}

/// The median time of one run, of each of two things that take turns.
async fn compare<A: Future, B: Future>(
    effort: Effort,
    mut one: impl FnMut() -> A,
    mut other: impl FnMut() -> B,
) -> (Duration, Duration) {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        let start = Instant::now();
        for _ in 0..effort.batch {
            one().await;
        }
        ones.push(start.elapsed() / u32::try_from(effort.batch).expect("a small number"));
        let start = Instant::now();
        for _ in 0..effort.batch {
            other().await;
        }
        others.push(start.elapsed() / u32::try_from(effort.batch).expect("a small number"));
    }
    (median(ones), median(others))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// One Ed25519 signature of 1 KiB, and one strict verification of it.
fn sign_and_verify(pair: &Keypair, message: &[u8]) {
    let signature = pair.sign(message);
    pair.public().verify(message, &signature).expect("it is our own");
}

async fn guards(effort: Effort) {
    let runtime = Runtime::new(RuntimeConfig { places: 8, ..RuntimeConfig::default() }).expect("the engine starts");
    let load = async |name: &str, bytes: &[u8]| {
        let plugin = Plugin { name, bytes, config: &Value::Null, limits: Limits::GUARD };
        WasmGuard::load(&runtime, &plugin).await.expect("it loads")
    };
    let empty = load("empty", &hostile::guard("nop")).await;
    let call = snapshot();
    let none: &[CounterView] = &[];
    let pair = Keypair::from_seed(&[1; 32].into());
    for name in ["forbidden_path", "shell_command"] {
        let bytes = chio_host_builtin::find(Kind::Guard, name).expect("it is embedded").bytes;
        let guard = load(name, bytes).await;
        let (full, bare) = compare(effort, || guard.check(&call, none), || empty.check(&call, none)).await;
        say(&format!("guard evaluation ({name}) / empty instantiate, check and drop"), ratio(full, bare));
        let (full, crypto) =
            compare(effort, || guard.check(&call, none), async || sign_and_verify(&pair, &[7; 1024])).await;
        say(&format!("guard evaluation ({name}) / Ed25519 sign + strict verify"), ratio(full, crypto));
    }
}

/// The guards that the example policy has with nothing but `enabled`.
const DEFAULT: [&str; 7] = [
    "forbidden_path",
    "shell_command",
    "egress",
    "secret_leak",
    "sql_statement",
    "patch_integrity",
    "prompt_injection",
];

/// What each guard of the library costs, in time and fuel, on a call that reads a file and on one that runs a command; and
/// what the default ones cost together, next to one strict verification of a signature.
async fn library(effort: Effort) {
    let runtime = Runtime::new(RuntimeConfig { places: 8, ..RuntimeConfig::default() }).expect("the engine starts");
    let pair = Keypair::from_seed(&[1; 32].into());
    let signature = pair.sign(&[7; 1024]);
    let verify = async || pair.public().verify(&[7; 1024], &signature).expect("it is our own");
    let none: &[CounterView] = &[];
    let line = "cargo test --workspace 2>&1 | tail -n 20";
    let described = [ArgumentFact { at: "/command".into(), is: ArgumentKind::Command }];
    let command = fixture::described_snapshot("shell", "run", json!({ "command": line }), &described);
    for (what, call) in [("reads a file", snapshot()), ("runs a command", command)] {
        println!("guards on a call that {what}: µs, fuel, time / strict verify");
        let mut together = 0.0;
        for builtin in chio_host_builtin::all().iter().filter(|builtin| builtin.kind == Kind::Guard) {
            let config = match builtin.name {
                "path_allowlist" => json!({ "allow": [{ "path": "/workspace" }] }),
                "rate" => json!({ "limits": [{ "per": "agent", "calls": 1_000_000, "window": "1h" }] }),
                _ => Value::Null,
            };
            let plugin = Plugin { name: builtin.name, bytes: builtin.bytes, config: &config, limits: Limits::GUARD };
            let guard = WasmGuard::load(&runtime, &plugin).await.expect("it loads");
            let fuel = guard.check(&call, none).await.fuel;
            let (time, one) = compare(effort, || guard.check(&call, none), verify).await;
            println!(
                "    {:<20} {:>10.1} {fuel:>10} {:>10.2}",
                builtin.name,
                time.as_secs_f64() * 1e6,
                ratio(time, one)
            );
            if DEFAULT.contains(&builtin.name) {
                together += ratio(time, one);
            }
        }
        say(&format!("the {} default guards on it / Ed25519 strict verify", DEFAULT.len()), together);
    }
}

/// Patterns as a policy would give them to a guard.
const PATTERNS: [&str; 12] = [
    r"AKIA[0-9A-Z]{16}",
    r"gh[pousr]_[A-Za-z0-9]{36,}",
    r"xox[abprs]-[A-Za-z0-9-]{10,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    r"(?i)(password|passwd|pwd)\s*[:=]\s*\S{6,}",
    r"(?i)authorization:\s*(bearer|basic)\s+\S+",
    r"\b\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}\b",
    r"(?i)\brm\s+(-[a-z]+\s+)*(/|~|\$HOME)(\s|$)",
    r"(?i)curl\s+[^|]*\|\s*(ba|z|da)?sh\b",
    r"(?i)\b(drop|truncate)\s+(table|database)\b",
    r"(^|/)\.(ssh|aws|gnupg|kube)(/|$)",
];

/// One guard that compiles its patterns in every call, and the same one that did so when it was loaded.
async fn initialised(effort: Effort) {
    let runtime = Runtime::new(RuntimeConfig { places: 8, ..RuntimeConfig::default() }).expect("the engine starts");
    let config = json!({ "deny": PATTERNS });
    let load = async |name: &str, bytes: &[u8]| {
        let plugin = Plugin { name, bytes, config: &config, limits: Limits::GUARD };
        let start = Instant::now();
        let guard = WasmGuard::load(&runtime, &plugin).await.expect("it loads");
        (guard, start.elapsed())
    };
    let (initialised, longer) = load("initialised", chio_host_builtin::testing::PATTERNS_INITIALISED).await;
    let (plain, shorter) = load("plain", chio_host_builtin::testing::PATTERNS).await;
    let call = snapshot();
    let none: &[CounterView] = &[];
    let (once, anew) = compare(effort, || initialised.check(&call, none), || plain.check(&call, none)).await;
    say("guard with 12 patterns, preinitialised / plain", ratio(once, anew));
    say("loading it (nothing cached), preinitialised / plain", ratio(longer, shorter));
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "    milliseconds: {:.3} and {:.3} a call, {:.0} and {:.0} to load",
        ms(once),
        ms(anew),
        ms(longer),
        ms(shorter)
    );
}

fn snapshot() -> Snapshot {
    fixture::snapshot("files", "read_file", json!({ "path": "/workspace/docs/roadmap.md", "note": "the second part" }))
}

async fn mediated(effort: Effort) {
    let host = FixtureBuilder::default()
        .guard("forbidden_path")
        .await
        .guard("shell_command")
        .await
        .hello()
        .await
        .hook("secret_redactor")
        .await
        .build();
    let token = host.wildcard();
    let pair = Keypair::from_seed(&[1; 32].into());
    let (call, crypto) = compare(effort, || hello(&host, &token), async || sign_and_verify(&pair, &[7; 1024])).await;
    say("mediated call (2 guards, tool, hook, memory ledger) / sign + strict verify", ratio(call, crypto));
    let bare = FixtureBuilder::default().hello().await.build();
    let bare_token = bare.wildcard();
    let (call, crypto) =
        compare(effort, || hello(&bare, &bare_token), async || sign_and_verify(&pair, &[7; 1024])).await;
    say("mediated call (no guard, tool, no hook, memory ledger) / sign + strict verify", ratio(call, crypto));
}

async fn hello(host: &Fixture, token: &Arc<CapabilityToken>) {
    let call = host.call(token, "hello", "hello_world", json!({ "name": "Chio" }));
    host.kernel.evaluate(&call).await.expect("the kernel answers");
}

/// Syncs per call, with sled: of a call that is recorded before it runs, at one caller and at 64.
async fn durable(effort: Effort) {
    for callers in [1_usize, 64] {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Arc::new(SledLedger::open(folder.path().join("ledger")).expect("the ledger opens"));
        let host = Arc::new(FixtureBuilder::default().ledger(ledger.clone()).hello().await.build());
        let counted = Grant { max_invocations: Some(1 << 40), ..grant("hello", ANY) };
        for (what, token) in [("recorded", host.token(vec![counted])), ("pure", host.wildcard())] {
            let before = ledger.syncs();
            let each = effort.batch.div_ceil(4).max(3);
            let tasks: Vec<_> = (0..callers)
                .map(|_| {
                    let (host, token) = (host.clone(), token.clone());
                    tokio::spawn(async move {
                        for _ in 0..each {
                            hello(&host, &token).await;
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.expect("no call panics");
            }
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let per_call = (ledger.syncs() - before) as f64 / (callers * each) as f64;
            say(&format!("syncs per {what} call, sled, {callers} callers"), per_call);
        }
    }
}
