//! Images whose address carries data away: whoever draws the text fetches them, and nobody has to click.

use crate::encoded;
use crate::sign::{Family, Signs};

/// The longest description of an image, in bytes.
const MAX_LABEL_BYTES: usize = 200;
/// The longest tag of one, in bytes.
const MAX_TAG_BYTES: usize = 500;
/// The longest address that is looked at, in bytes.
const MAX_ADDRESS_BYTES: usize = 4 << 10;
/// A shorter value says nothing worth carrying away, in bytes.
const MIN_VALUE_BYTES: usize = 24;

/// Notes the images of a text, of which `](` stands at `links` and tags begin at `marks`.
pub(crate) fn find(text: &str, links: &[u32], marks: &[u32], signs: &mut Signs) {
    for at in links {
        let at = *at as usize;
        // `![` opened it, not far before.
        let start = text.floor_char_boundary(at.saturating_sub(MAX_LABEL_BYTES));
        let label = text.get(start..at).unwrap_or_default();
        if label.rfind("![").is_some_and(|open| !label.get(open..).is_some_and(|label| label.contains(']'))) {
            address(text.get(at + 2..).unwrap_or_default(), ')', signs);
        }
    }
    for at in marks {
        let at = *at as usize;
        let end = text.floor_char_boundary(at.saturating_add(MAX_TAG_BYTES).min(text.len()));
        let tag = text.get(at..end).unwrap_or_default();
        let Some(tag) = tag.split_at_checked(4).filter(|(name, _)| name.eq_ignore_ascii_case("<img")) else { continue };
        // To the next tag at most, so that many of them are not read over and over.
        let tag = tag.1.split(['>', '<']).next().unwrap_or_default();
        if let Some((_, source)) = tag.split_once("src=") {
            address(source.trim_start_matches(['"', '\'']), '"', signs);
        }
    }
}

/// Judges the address that `rest` begins with.
fn address(rest: &str, end: char, signs: &mut Signs) {
    let rest = rest.get(..rest.floor_char_boundary(MAX_ADDRESS_BYTES)).unwrap_or_default();
    // To the next image at most, so that many of them are not read over and over.
    let rest = rest.split("![").next().unwrap_or_default();
    let rest = rest.trim_start().trim_start_matches('<');
    let is_outside = ["http://", "https://", "//"].iter().any(|scheme| rest.starts_with(scheme));
    let Some(path) = rest.split([end, ' ', '\n', '\t']).next().filter(|_| is_outside) else { return };
    let Some((_, query)) = path.split_once('?') else { return };
    // A place to be filled in by whoever reads the text.
    let is_open = query.contains(['{', '[', '<', '$']) || query.contains("%7B") || query.contains("%7b");
    if is_open {
        signs.note(Family::Image, 2);
    }
    for part in query.split('&') {
        let value = part.split_once('=').map_or(part, |(_, value)| value);
        if value.len() >= MIN_VALUE_BYTES && carries_data(value) {
            signs.note(Family::Image, 4);
        }
    }
}

/// Whether a value is a text in base64 that reads like data and not like a picture or a signed token.
fn carries_data(value: &str) -> bool {
    let value = encoded::of_address(value);
    let Some(text) = encoded::decode(value.trim_end_matches('=')) else { return false };
    !text.starts_with(['{', '<']) && text.contains(['=', ':', '@', ' '])
}
