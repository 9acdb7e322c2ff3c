//! A component that was not written for this host: plain functions over the files that it can see.

#[allow(missing_docs, unreachable_pub, unsafe_code, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "wit" });
}

use std::fs;

use bindings::{Guest, Note};

/// What the component is.
pub struct Notes;

impl Guest for Notes {
    fn list_notes(folder: String, word: Option<String>) -> Result<Vec<Note>, String> {
        let mut notes = Vec::new();
        for entry in fs::read_dir(&folder).map_err(|e| format!("{folder}: {e}"))? {
            let entry = entry.map_err(|e| format!("{folder}: {e}"))?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let words = text.split_whitespace();
            if word.as_ref().is_none_or(|word| words.clone().any(|found| found == word)) {
                notes.push(Note { path, words: u32::try_from(words.count()).unwrap_or(u32::MAX) });
            }
        }
        notes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(notes)
    }

    fn read_note(path: String) -> Result<String, String> {
        fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))
    }
}

#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, reason = "generated")]
mod exports {
    use super::Notes;

    super::bindings::export!(Notes with_types_in super::bindings);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_listed_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("b"), "two words").unwrap();
        fs::write(path("a"), "milk").unwrap();
        fs::write(path("c"), [0xff]).unwrap();
        let listed = |word: Option<&str>| {
            let notes = Notes::list_notes(folder.path().display().to_string(), word.map(str::to_owned)).unwrap();
            notes.into_iter().map(|note| (note.path, note.words)).collect::<Vec<_>>()
        };
        assert_eq!(listed(None), [(path("a"), 1), (path("b"), 2)]);
        assert_eq!(listed(Some("milk")), [(path("a"), 1)]);
        assert_eq!(Notes::read_note(path("a")).unwrap(), "milk");
        assert!(Notes::read_note(path("none")).unwrap_err().starts_with(&path("none")));
    }
}
