//! What a policy can ask for and this version cannot give yet.
//!
//! The shapes are settled, so a policy that uses one is read and checked in full; and it is refused when loaded, because
//! a host that ignored them would let through what the policy forbids.

use crate::document::Document;
use crate::problem::Report;

/// Something that a policy uses and this version does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// `signer`.
    Signature,
}

/// Refuses a policy that uses what this version does not hold. To be deleted, feature by feature, as they come.
pub(crate) fn refuse_unavailable(document: &Document, report: &Report) {
    for used in &document.features {
        report.at(
            &used.spot,
            match used.value {
                Feature::Signature => "signatures of plugins are not verified in this version; remove the signer",
            },
        );
    }
}
