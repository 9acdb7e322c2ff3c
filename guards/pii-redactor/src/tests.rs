use chio_sdk::testing::{call, with_config};
use json_scan::{Finder, is_clean, redact};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;

const CARD: &str = "4111111111111111";
const IBAN: &str = "DE89370400440532013000";

fn ask(output: &Value) -> HookVerdict {
    inspect(&call("s", "t").build(), &output.to_string()).unwrap()
}

/// What is left of `output`, and what was taken out.
#[track_caller]
fn redacted(output: &Value) -> (Value, Vec<(String, u32)>) {
    match ask(output) {
        HookVerdict::Redact(redaction) => (
            serde_json::from_str(&redaction.value).unwrap(),
            redaction.what.into_iter().map(|removal| (removal.kind, removal.count)).collect(),
        ),
        other => panic!("{output}: {other:?}"),
    }
}

/// The text that is left of a text.
#[track_caller]
fn left(text: &str) -> String {
    redacted(&json!([text])).0[0].as_str().unwrap().to_owned()
}

#[track_caller]
fn is_left(output: &Value) {
    assert_eq!(ask(output), HookVerdict::Allow, "{output}");
}

#[test]
fn the_shape_stays_and_kinds_are_counted() {
    let output = json!({ "rows": [{ "card": CARD, "n": 1 }, { "card": "none" }], "mail": ["jane@corp.com", "jo@corp.com"], "x": null });
    let (value, what) = redacted(&output);
    assert_eq!(
        value,
        json!({ "rows": [{ "card": "[REDACTED:payment-card]", "n": 1 }, { "card": "none" }],
            "mail": ["[REDACTED:email-address]", "[REDACTED:email-address]"], "x": null })
    );
    assert_eq!(what, [("email-address".into(), 2), ("payment-card".into(), 1)]);
}

#[test]
fn cards_are_found_in_every_spelling() {
    for card in [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "4111.1111.1111.1111",
        "4111_1111_1111_1111",
        "4111 - 1111 - 1111 - 1111",
        "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "4111\u{a0}1111\u{a0}1111\u{a0}1111",
        "4111\u{202f}1111\u{2009}1111\u{3000}1111",
        "4111–1111–1111–1111",
        "4111\u{200b}1111\u{200b}1111\u{200b}1111",
        "４１１１１１１１１１１１１１１１",
        "٤١١١١١١١١١١١١١١١",
        "४१११ ११११ ११११ ११११",
        "𝟒𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏",
        "4111%201111%201111%201111",
        "\\u0034111111111111111",
        "3782 822463 10005",
    ] {
        assert_eq!(left(&format!("pay with {card}, please")), "pay with [REDACTED:payment-card], please", "{card}");
    }
    assert_eq!(left("4111 1111 1111 1111 12/27 123"), "[REDACTED:payment-card] 12/27 123");
    assert_eq!(left("card 4222222222222"), "card [REDACTED:payment-card]");
}

#[test]
fn keys_numbers_and_nested_json_are_read() {
    let (value, _) = redacted(&json!({ CARD: 1, "n": 4_111_111_111_111_111_u64, "f": 1.5 }));
    assert_eq!(value, json!({ "[REDACTED:payment-card]": 1, "n": "[REDACTED:payment-card]", "f": 1.5 }));
    let inner = json!({ "user": { "ssn": "123456789", "mail": "jane@corp.com", "card": 4_111_111_111_111_111_u64 } })
        .to_string();
    let twice = json!({ "body": inner }).to_string();
    for text in [inner, twice] {
        let (_, what) = redacted(&json!({ "body": text }));
        assert_eq!(what, [("email-address".into(), 1), ("payment-card".into(), 1), ("us-ssn".into(), 1)], "{text}");
    }
    // A number has lost its zeros.
    let (value, _) = redacted(
        &json!({ "bsn": 10_464_554, "cpf": 1_234_567_890, "phone": 4_915_112_345_678_u64, "id": 111_222_333 }),
    );
    assert_eq!(
        value,
        json!({ "bsn": "[REDACTED:nl-bsn]", "cpf": "[REDACTED:br-cpf]", "phone": "[REDACTED:phone-number]", "id": 111_222_333 })
    );
}

#[test]
fn weak_numbers_need_a_word() {
    for (kind, number) in [
        ("us-ssn", "123456789"),
        ("us-ssn", "123 45 6789"),
        ("ca-sin", "046 454 286"),
        ("gb-nhs-number", "943 476 5919"),
        ("nl-bsn", "111222333"),
        ("de-tax-id", "86 095 742 719"),
        ("pl-pesel", "44051401359"),
        ("in-aadhaar", "2341 2341 2346"),
        ("br-cpf", "52998224725"),
        ("br-cnpj", "11222333000181"),
        ("tr-kimlik", "10000000146"),
        ("jp-my-number", "123456789018"),
        ("au-tfn", "123 456 782"),
        ("se-personnummer", "811228-9874"),
        ("gb-nino", "AB123456C"),
        ("in-pan", "ACUPA7085R"),
        ("ie-pps", "6433435F"),
        ("cl-rut", "12345678-5"),
        ("za-id", "7503305044089"),
    ] {
        let label = match kind {
            "us-ssn" => "SSN",
            "ca-sin" => "social insurance number",
            "gb-nhs-number" => "NHS no.",
            "de-tax-id" => "Steuer-ID",
            "in-pan" => "PAN",
            "gb-nino" => "national insurance",
            "tr-kimlik" => "TC Kimlik No",
            "jp-my-number" => "My Number",
            "cl-rut" => "RUT",
            "za-id" => "national identity number",
            _ => kind.split('-').nth(1).unwrap(),
        };
        is_left(&json!({ "value": number, "text": format!("see {number} there") }));
        assert_eq!(left(&format!("{label}: {number}.")), format!("{label}: [REDACTED:{kind}]."), "{label} {number}");
        let (value, _) = redacted(&json!({ label: number }));
        assert_eq!(value[label], format!("[REDACTED:{kind}]"), "{label} {number}");
    }
    is_left(&json!("BSN is optional. Order number 111222333"));
    assert_eq!(left("name;bsn;city\nJo;111222333;Ulm"), "name;bsn;city\nJo;[REDACTED:nl-bsn];Ulm");
}

#[test]
fn strong_numbers_need_none() {
    for (kind, number) in [
        ("iban", IBAN),
        ("iban", "DE89 3704 0044 0532 0130 00"),
        ("iban", "gb29nwbk60161331926819"),
        ("iban", "GB29-NWBK-6016-1331-9268-19"),
        ("iban", "MT84MALT011000012345MTLCAST001S"),
        ("us-ssn", "123-45-6789"),
        ("it-codice-fiscale", "RSSMRA85T10A562S"),
        ("it-codice-fiscale", "rssmra85t10a562s"),
        ("mx-curp", "HEGG560427MVZRRL04"),
        ("fr-nir", "255081416802538"),
        ("fr-nir", "2 55 08 14 168 025 38"),
        ("fr-nir", "185122A12312390"),
        ("cn-resident-id", "11010519491231002X"),
        ("cn-resident-id", "360426199101010071"),
        ("es-dni", "12345678Z"),
        ("es-dni", "12345678-Z"),
        ("es-nie", "X1234567L"),
        ("es-nie", "X-1234567-L"),
        ("sg-nric", "S1234567D"),
        ("fi-hetu", "131052-308T"),
        ("fi-hetu", "131001A308M"),
        ("ch-ahv", "756.9217.0769.85"),
        ("ch-ahv", "7569217076985"),
        ("be-national-number", "85.07.30-033.28"),
        ("br-cpf", "529.982.247-25"),
        ("br-cnpj", "11.222.333/0001-81"),
        ("br-cnpj", "12.ABC.345/01DE-35"),
        ("ar-cuit", "20-12345678-6"),
        ("cl-rut", "12.345.678-5"),
        ("kr-resident-number", "971013-9019902"),
        ("no-fodselsnummer", "151086 95088"),
    ] {
        assert_eq!(left(&format!("see {number}, there")), format!("see [REDACTED:{kind}], there"), "{number}");
        assert_eq!(
            left(&format!("2024-01-02 {number} 10:00")),
            format!("2024-01-02 [REDACTED:{kind}] 10:00"),
            "{number}"
        );
    }
}

#[test]
fn what_is_split_over_neighbours_is_found() {
    let (value, what) = redacted(&json!({ "content": [
        { "type": "text", "text": "the card is 4111 1111 " }, { "type": "text", "text": "1111 1111, thanks" }] }));
    assert_eq!(value["content"][0]["text"], "the card is [REDACTED:payment-card]");
    assert_eq!(value["content"][1]["text"], ", thanks");
    assert_eq!(what, [("payment-card".into(), 1)]);
    for parts in [
        ["4111-1111-", "1111-1111"],
        ["my card: 41", "11111111111111"],
        ["iban DE89 3704 0044", " 0532 0130 00."],
        ["SSN: 123-", "45-6789"],
        ["BSN 1112", "22333"],
        ["call +49 30 ", "1234567"],
        ["Tel. 030 ", "1234567"],
        ["jane.doe@", "corp.com"],
        ["jane.doe@corp.", "com"],
        ["jane.doe@gma", "il.com"],
    ] {
        let (value, what) = redacted(&json!(parts));
        assert_eq!(what.iter().map(|(_, count)| count).sum::<u32>(), 1, "{parts:?}: {value}");
        assert!(value[0].as_str().unwrap().contains("[REDACTED:"), "{parts:?}: {value}");
    }
    // Lists of numbers are lists of numbers.
    is_left(&json!(["41111111", "11111111"]));
    is_left(&json!([{ "id": "41111111" }, { "id": "11111111" }]));
    is_left(&json!(["jane@laptop", "notes.md"]));
}

#[test]
fn what_is_no_personal_data_is_left_alone() {
    for output in [
        json!({ "id": "550e8400-e29b-41d4-a716-446655440000", "n": "12345678-1234-4123-8123-123456789012" }),
        json!("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        json!("commit 4111111111111111beef4111111111111111cafe and 4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
        json!("2024-11-30T10:15:22.123456789Z 2024-11-30 10:15:22,123 20241130-101522 20241130T101522Z"),
        json!([1_733_011_200, 1_733_011_200_000_u64, 1_733_011_200_000_000_u64, 0.411_111_111_111_111_1]),
        json!("0.4111111111111111 1.4111111111111111e-5 [-.4111111111111111]"),
        json!("v1.2.3-rc.4+20241130101522 node v20.11.1 10.0.0.1 192.168.100.200:8080 fe80::1234:5678:9abc"),
        json!("order 4111111111111112, invoice 378282246310006, ref DE89370400440532013001"),
        json!("ISBN 978-3-16-148410-0, ISBN 0-306-40615-2, EAN 4006381333931"),
        json!(
            "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
        ),
        json!("542E 542F 5430 5431 5432 5433\n25419 793D 4126 79BF 5740 5741 5742 5743 574A"),
        json!("0000000 4123 5678 9012 3456 7890 1234 5678 9012"),
        json!("-rw-r--r-- 1 root root 4111111 Nov 30 10:15 backup-20241130B.tar.gz 20241130A"),
        json!("git@github.com:org/repo.git user@example.com noreply@corp.com npm i @types/node@20.11.5"),
        json!("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"),
        json!("pid=12345 port=5432 took 1234567 ns, 123456789 bytes, 1234567890 rows"),
        json!({ "phone_number_id": 106_540_352_242_922_u64, "phone": "none", "card_id": 12, "tel": null }),
        json!("0x4111111111111111 x86_64-unknown-linux-gnu 1.2.840.113549.1.1.11"),
        json!(["Hello, Chio!", null, true, 1.5, {}]),
    ] {
        is_left(&output);
    }
}

#[test]
fn what_cannot_be_read_is_blocked() {
    let large = json!("x".repeat((1 << 20) + 1));
    assert!(matches!(ask(&large), HookVerdict::Block(why) if why.contains("1048576")));
    with_config(&json!({ "max_bytes": 10 }), || assert!(matches!(ask(&json!("0123456789")), HookVerdict::Block(_))));
    assert!(inspect(&call("s", "t").build(), "{").is_err());
    assert!(inspect(&call("s", "t").build(), &"[".repeat(10_000)).is_err());
}

#[test]
fn the_policy_adds_replaces_and_decides() {
    let own = json!([{ "kind": "badge", "regex": "B-[0-9]{4}" }]);
    with_config(&json!({ "patterns": own }), || {
        assert_eq!(
            redacted(&json!([format!("B-1234 {CARD}"), 5])).0,
            json!(["[REDACTED:badge] [REDACTED:payment-card]", 5])
        );
    });
    with_config(&json!({ "patterns": own, "replace": true }), || is_left(&json!([CARD, "jane@corp.com"])));
    with_config(&json!({ "kinds": ["iban", "national-id"] }), || {
        is_left(&json!([CARD, "jane@corp.com", "+14155552671"]));
        assert_eq!(left("12345678Z"), "[REDACTED:es-dni]");
        assert_eq!(left(IBAN), "[REDACTED:iban]");
    });
    with_config(&json!({ "exceptions": [".*@corp\\.com", "4111 ?1111 ?1111 ?1111"] }), || {
        is_left(&json!(["jane@corp.com", CARD, "4111 1111 1111 1111", "jane%40corp.com"]));
        assert_eq!(left("jane@other.com"), "[REDACTED:email-address]");
    });
    with_config(&json!({ "action": "block" }), || {
        assert_eq!(ask(&json!(CARD)), HookVerdict::block("the output holds personal data: payment-card (1)"));
    });
    with_config(&json!({ "action": "escalate" }), || assert!(matches!(ask(&json!(CARD)), HookVerdict::Escalate(_))));
    for config in [
        json!({ "patterns": [{ "kind": "x", "regex": "(" }] }),
        json!({ "patterns": [{ "kind": "x", "regex": "a*" }] }),
        json!({ "kinds": ["cards"] }),
        json!({ "kinds": [] }),
        json!({ "kinds": ["iban"], "patterns": own, "replace": true }),
        json!({ "replace": true }),
        json!({ "exceptions": [".*"] }),
        json!({ "action": "ignore" }),
        json!({ "max_bytes": 0 }),
        json!({ "kind": [] }),
    ] {
        with_config(&config, || assert!(inspect(&call("s", "t").build(), "1").is_err(), "{config}"));
    }
}

#[test]
fn no_verdict_repeats_the_data() {
    let output = json!({ "a": CARD, CARD: format!("card {CARD} of jane@corp.com"), "p": "SSN 123456789" });
    for action in ["redact", "block", "escalate"] {
        let said = with_config(&json!({ "action": action }), || format!("{:?}", ask(&output)));
        assert!(!said.contains(CARD) && !said.contains("jane") && !said.contains("123456789"), "{said}");
    }
}

fn texts() -> impl Strategy<Value = String> {
    let pieces = vec![
        "4111",
        "1111",
        "4111 1111 ",
        "1111 1111",
        "11111111",
        "DE89 3704 0044",
        " 0532 0130 00",
        "SSN",
        "card",
        "phone: ",
        "+49 30 ",
        "1234567",
        "jane@",
        "corp.com",
        "gmail",
        ".com",
        "bsn",
        "111222333",
        "X",
        "Z",
        "-",
        " ",
        ".",
        "\n",
        "\u{200b}",
        "٤",
        "é",
        "%20",
        "\\u0034",
        "(",
        ")",
        "name",
        "value",
        ",",
        "12345678",
        "RSSMRA85T10A562S",
        " at ",
        " dot ",
        "[at]",
        "/",
    ];
    prop::collection::vec(select(pieces), 0..6).prop_map(|pieces| pieces.concat())
}

fn outputs() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => texts().prop_map(Value::from),
        1 => Just(json!(null)),
        1 => Just(json!(4_111_111_111_111_111_u64)),
        1 => any::<u64>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let block = texts().prop_map(|text| json!({ "type": "text", "text": text }));
        prop_oneof![
            prop::collection::vec(prop_oneof![inner.clone(), block], 0..4).prop_map(Value::from),
            prop::collection::hash_map(texts(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]
    #[test]
    fn what_is_clean_at_a_glance_is_clean(output in outputs()) {
        let personal = Personal::new(&[], false, &[], Kinds::all()).unwrap();
        let mut left = output.clone();
        let found = redact(&personal, &mut left);
        prop_assert_eq!(is_clean(&personal, &output.to_string()), found.is_empty(), "{} {}", output, left);
    }

    #[test]
    fn any_text_is_read(text in prop_oneof![any::<String>(), texts(), "[%\\\\u0-9a-fA-F&#x;+/=:@. ()\\[\\]at-]{0,200}"]) {
        let personal = Personal::new(&[], false, &[], Kinds::all()).unwrap();
        let found = personal.text("phone", &text);
        for hit in found.hits {
            prop_assert!(text.get(hit.range).is_some());
        }
        for open in found.open {
            prop_assert!(text.get(open..).is_some());
        }
        personal.number("bsn", &text);
        personal.joined(&text);
    }
}
