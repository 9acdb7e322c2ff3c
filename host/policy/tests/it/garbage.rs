//! Whatever the bytes, the answer is a policy or a list of problems, never a panic.

use chio_host_policy::{Manifest, parse};
use proptest::prelude::*;

const STARTER: &str = include_str!("starter.yaml");

/// Pieces that mean something to YAML or to a policy, in any order.
fn yaml_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "kernel",
        "guards",
        "servers",
        "capabilities",
        "tools",
        "forbidden_path",
        "permissions",
        "files",
        "price",
        "limits",
        "config",
        "ttl",
        ": ",
        ":\n",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        "? ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "&a ",
        "*a",
        "!!str ",
        "!x ",
        "\"",
        "'",
        "|\n",
        ">-\n",
        "# ",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "\t",
        "\r\n",
        "~",
        "5_000",
        "16MiB",
        ".nan",
        "<<",
        "\\",
        "\u{feff}",
        "\u{85}",
        "é",
        "0x",
        "-",
        "1e999",
        "null",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// The starter policy with a few bytes changed.
fn mutated() -> impl Strategy<Value = String> {
    prop::collection::vec((0..STARTER.len(), any::<u8>()), 1..6).prop_map(|changes| {
        let mut bytes = STARTER.as_bytes().to_vec();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn survives(text: &str) {
    for problems in [parse(text, "p.yaml").err(), Manifest::parse(text, "m.yaml").err()].into_iter().flatten() {
        assert!(!problems.as_slice().is_empty());
        assert!(problems.as_slice().iter().all(|p| !p.message.is_empty()));
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        survives(&text);
    }

    #[test]
    fn any_yaml_is_survived(text in yaml_like()) {
        survives(&text);
    }

    #[test]
    fn a_damaged_policy_is_survived(text in mutated()) {
        survives(&text);
    }
}
