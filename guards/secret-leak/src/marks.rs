//! Which arguments no receipt may hold.

use std::collections::BTreeSet;

use chio_sdk::Verdict;

/// How many pointers the host takes from one verdict, and how long one may be, in bytes.
const MAX_MARKS: usize = 64;
const MAX_POINTER_BYTES: usize = 1024;

/// Marks these places secret; the arguments as a whole where that is more than the host takes.
pub(crate) fn mark(verdict: Verdict, places: impl Iterator<Item = String>) -> Verdict {
    let places: BTreeSet<String> = places.collect();
    // What stands below a marked place is gone with it.
    let outermost: Vec<&String> = places.iter().filter(|at| !is_below_any(at, &places)).collect();
    let are_taken = outermost.len() <= MAX_MARKS && outermost.iter().all(|at| at.len() <= MAX_POINTER_BYTES);
    if are_taken {
        outermost.into_iter().fold(verdict, Verdict::with_secret_argument)
    } else {
        verdict.with_secret_argument("")
    }
}

fn is_below_any(at: &str, places: &BTreeSet<String>) -> bool {
    at.rmatch_indices('/').any(|(end, _)| at.get(..end).is_some_and(|above| places.contains(above)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(places: &[&str]) -> Vec<String> {
        mark(Verdict::allow(), places.iter().map(ToString::to_string)).secret_arguments
    }

    #[test]
    fn the_outermost_places_are_marked_once() {
        assert_eq!(marked(&["/b", "/a/0", "/a", "/b", "/ab"]), ["/a", "/ab", "/b"]);
        assert_eq!(marked(&["/a", ""]), [""]);
        assert_eq!(marked(&[]), Vec::<String>::new());
    }

    #[test]
    fn more_than_the_host_takes_is_everything() {
        let many: Vec<String> = (0..=MAX_MARKS).map(|at| format!("/{at}")).collect();
        assert_eq!(marked(&many.iter().map(String::as_str).collect::<Vec<_>>()), [""]);
        assert_eq!(marked(&[&format!("/{}", "x".repeat(MAX_POINTER_BYTES))]), [""]);
    }
}
