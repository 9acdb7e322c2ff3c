//! What the cache keeps of initialised guards.

use std::path::Path;
use std::sync::Arc;

use chio_host_kernel::canonical::sha256_hex;
use serde_json::{Value, json};

use super::tests::{echo, reason};
use crate::cache::{CompiledCache, EntryName};
use crate::guard::WasmGuard;
use crate::limits::Limits;
use crate::plugin::Plugin;
use crate::runtime::{Runtime, RuntimeConfig};
use crate::testing::{guard, limits, snapshot};

fn cached(folder: &Path) -> (Arc<Runtime>, usize) {
    let cache = CompiledCache::open(folder, [7; 32]).unwrap();
    let entries = std::fs::read_dir(folder).unwrap().count();
    (Runtime::new(RuntimeConfig { places: 1, cache: Some(cache), ..RuntimeConfig::default() }).unwrap(), entries)
}

/// Loads it with the cache in this folder, and says what it answers.
async fn answered(folder: &Path, bytes: &[u8], config: &Value, limits: Limits) -> Option<String> {
    let (runtime, _) = cached(folder);
    let guard = WasmGuard::load(&runtime, &Plugin { name: "test", bytes, config, limits }).await.unwrap();
    reason(&guard, &snapshot()).await.unwrap()
}

#[tokio::test]
async fn configurations_and_limits_never_share_code() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    let bytes = echo();
    let more = Limits { fuel: 60_000_000, ..limits() };
    let cases = [
        (Value::Null, limits(), "null", 1),
        (json!({ "a": 1 }), limits(), r#"{"a":1}"#, 2),
        (json!({ "a": 2 }), limits(), r#"{"a":2}"#, 3),
        (json!({ "a": 1 }), limits(), r#"{"a":1}"#, 3),
        // Found in the cache, it would be loaded although its `init` might have needed more.
        (json!({ "a": 1 }), more, r#"{"a":1}"#, 4),
    ];
    for (config, limits, says, entries) in cases {
        assert_eq!(answered(&folder, &bytes, &config, limits).await.as_deref(), Some(says));
        assert_eq!(cached(&folder).1, entries, "{config}");
    }
}

#[tokio::test]
async fn an_entry_stands_in_for_init_and_a_damaged_one_does_not() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    let bytes = echo();
    let told = async || answered(&folder, &bytes, &json!({ "a": 1 }), limits()).await;
    let (runtime, _) = cached(&folder);
    let engines = &runtime.engines;
    let digest = sha256_hex(&bytes);
    let entry = EntryName::initialised(&digest, r#"{"a":1}"#, &limits(), engines.pooled.engine());
    // Under its name and the host's key stands a guard that allows everything: what is found is what is run.
    CompiledCache::open(&folder, [7; 32])
        .unwrap()
        .put(&entry, &engines.compile(&guard("nop"), &Limits::GUARD).await.unwrap());
    assert_eq!(told().await, None);
    let planted = std::fs::read(folder.join(entry.to_string())).unwrap();
    for damage in [&planted[..planted.len() / 2], b"", b"what is this"] {
        std::fs::write(folder.join(entry.to_string()), damage).unwrap();
        assert_eq!(told().await.as_deref(), Some(r#"{"a":1}"#));
    }
    // The component as it was shipped, compiled, is another entry.
    let plain = EntryName::new(&digest, engines.pooled.engine());
    assert!(!folder.join(plain.to_string()).exists());
    assert_eq!(cached(&folder).1, 1);
}
