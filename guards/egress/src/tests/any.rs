//! What holds for every input.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_number_hides_an_internal_address(
        octets in prop_oneof![
            any::<[u8; 3]>().prop_map(|[b, c, d]| [127, b, c, d]),
            any::<[u8; 3]>().prop_map(|[b, c, d]| [10, b, c, d]),
            any::<[u8; 2]>().prop_map(|[c, d]| [192, 168, c, d]),
            any::<[u8; 2]>().prop_map(|[c, d]| [169, 254, c, d]),
        ],
        spelling in 0..10_u8,
    ) {
        let [a, b, c, d] = octets;
        let number = u32::from_be_bytes(octets);
        let low = number & 0xff_ffff;
        let host = match spelling {
            0 => format!("{a}.{b}.{c}.{d}"),
            1 => format!("{number}"),
            2 => format!("{number:#x}"),
            3 => format!("0{number:o}"),
            4 => format!("{a}.{low}"),
            5 => format!("{a:#X}.{b:#x}.0{c:o}.{d}"),
            6 => format!("[{}]", Ipv4Addr::from(octets).to_ipv6_mapped()),
            7 => format!("[{}]", Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, (number >> 16) as u16, (number & 0xffff) as u16)),
            8 => format!("{a}.{b}.{c}.{d}.nip.io"),
            _ => format!("x-{a}-{b}-{c}-{d}.sslip.io"),
        };
        for raw in [format!("http://{host}/"), format!("https://{host}:8443/x?y"), format!("redis://{host}:6379")] {
            prop_assert!(!url(&raw).is_empty(), "url {}", raw);
            prop_assert!(!text(&raw).is_empty(), "text {}", raw);
            prop_assert!(!command(&format!("curl '{raw}'")).is_empty(), "command {}", raw);
        }
        prop_assert!(!command(&format!("curl '{host}'")).is_empty(), "bare {}", host);
    }

    #[test]
    fn any_input_has_an_answer(input in r"\PC{0,40}|[a-z:/\\@.%\[\]0-9 \n\t?#=,\x00-]{0,60}") {
        for config in [json!(null), json!({ "allow": ["a.example"] }), json!({ "internal": true })] {
            under(&config, || {
                url(&input);
                text(&input);
                command(&input);
                text(&format!("http://{input}"));
                url(&format!("http://{input}"));
                command(&format!("curl {input}"));
            });
        }
    }
}
