#![no_main]

//! Facts: one spelling for each path, and every string of the arguments is some fact.

use chio_host_kernel::facts::{ArgumentFact, ArgumentKind, UrlFact, extract, normalise};
use serde_json::Value;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Some(path) = normalise(text) {
        assert_eq!(normalise(&path).as_deref(), Some(&*path), "normalising again changes nothing");
        let leaves = path.split('/').skip_while(|step| *step == "..").any(|step| step == "..");
        assert!(!leaves && !path.contains("//") && !path.contains("/./"), "{path:?}");
    }
    if let Some(url) = UrlFact::new(text).parsed {
        let again = UrlFact::new(&url.href).parsed.expect("a serialised URL parses");
        assert_eq!((&again.host, again.port, &again.scheme), (&url.host, url.port, &url.scheme));
    }
    let Ok(arguments @ Value::Object(_)) = serde_json::from_str::<Value>(text) else { return };
    let kinds = [ArgumentKind::Path, ArgumentKind::Url, ArgumentKind::Command, ArgumentKind::Content, ArgumentKind::Text];
    for is in kinds {
        let facts = extract(&arguments, &[ArgumentFact { at: "/a".to_owned(), is }]);
        for fact in facts {
            assert!(arguments.pointer(&fact.at).is_some(), "{} leads somewhere", fact.at);
        }
    }
});
