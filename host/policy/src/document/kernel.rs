//! `kernel`: what holds for every call.

use chio_host_kernel::MAX_NESTED_DEPTH;
use chio_host_kernel::capability::MAX_CHAIN;

use super::public_key;
use crate::policy::{ApprovalPolicy, Deadlines, DurableAdmission, KernelPolicy, NoncePolicy, Retention};
use crate::yaml::{Cursor, Fields};

/// The longest lifetime of a capability that a policy can allow: a leap year.
const MAX_TTL_SECS: u64 = 366 * 24 * 3600;
/// The longest that a call can wait for a human: 30 days.
const MAX_APPROVAL_MS: u64 = 30 * 24 * 3600 * 1000;
/// The longest deadline of a stage: a day.
const MAX_DEADLINE_MS: u64 = 24 * 3600 * 1000;

/// The section, and the longest lifetime where it is known.
pub(super) fn read(section: Option<Cursor<'_>>) -> (KernelPolicy, Option<u64>) {
    let default = KernelPolicy::default();
    let Some(section) = section else {
        let ttl = default.max_capability_ttl_secs;
        return (default, Some(ttl));
    };
    let read = section.fields("a mapping, such as { max_capability_ttl: 600 }", |f| {
        let ttl = match f.take("max_capability_ttl") {
            Some(cursor) => cursor.integer(1..=MAX_TTL_SECS),
            None => Some(default.max_capability_ttl_secs),
        };
        let depth = f.or("delegation_depth_limit", 0, |c| c.integer(0..=MAX_CHAIN as u64));
        let nested = f.or("nested_depth_limit", MAX_NESTED_DEPTH.into(), |c| c.integer(0..=MAX_NESTED_DEPTH.into()));
        let kernel = KernelPolicy {
            max_capability_ttl_secs: ttl.unwrap_or(default.max_capability_ttl_secs),
            delegation_depth_limit: u32::try_from(depth).unwrap_or(0),
            nested_depth_limit: u32::try_from(nested).unwrap_or(0),
            allow_ephemeral_revocation_store: f.or("allow_ephemeral_revocation_store", false, |c| c.boolean()),
            durable_admission: f.or("durable_admission", default.durable_admission, |c| {
                c.choice(&[("side_effecting", DurableAdmission::SideEffecting), ("all", DurableAdmission::All)])
            }),
            approvals: approvals(f),
            nonce: nonce(f),
            deadlines: deadlines(f),
            retention: retention(f),
        };
        (kernel, ttl)
    });
    read.unwrap_or((default, None))
}

fn approvals(f: &mut Fields<'_, '_>) -> ApprovalPolicy {
    let default = ApprovalPolicy::default();
    f.or("approvals", default, |section| {
        section.fields("a mapping, such as { approvers: [PUBLIC KEY], ttl: 1h }", |f| ApprovalPolicy {
            approvers: f.or("approvers", Vec::new(), |c| approvers(&c)),
            ttl_secs: f.or("ttl", ApprovalPolicy::default().ttl_secs, |c| {
                c.duration_ms(1000..=MAX_APPROVAL_MS).map(|ms| ms / 1000)
            }),
        })
    })
}

fn approvers(list: &Cursor<'_>) -> Option<Vec<String>> {
    let keys = list.list("a list of public keys, each 64 lower-case hex digits")?;
    Some(keys.iter().filter_map(public_key).collect())
}

fn nonce(f: &mut Fields<'_, '_>) -> NoncePolicy {
    let default = NoncePolicy::default();
    f.or("nonce", default, |section| {
        section.fields("a mapping, such as { require: false, ttl_secs: 30 }", |f| NoncePolicy {
            require: f.or("require", default.require, |c| c.boolean()),
            ttl_secs: f.or("ttl_secs", default.ttl_secs, |c| c.integer(1..=3600)),
        })
    })
}

fn deadlines(f: &mut Fields<'_, '_>) -> Deadlines {
    f.or("deadlines", Deadlines::default(), |section| {
        section.fields("a mapping, such as { guards: 100ms, tool: 30s }", |f| Deadlines {
            guards_ms: f.take("guards").and_then(|c| c.duration_ms(1..=MAX_DEADLINE_MS)),
            tool_ms: f.take("tool").and_then(|c| c.duration_ms(1..=MAX_DEADLINE_MS)),
        })
    })
}

fn retention(f: &mut Fields<'_, '_>) -> Retention {
    f.or("retention", Retention::default(), |section| {
        section.fields("a mapping, such as { keep_outputs: false }", |f| Retention {
            keep_outputs: f.or("keep_outputs", false, |c| c.boolean()),
        })
    })
}
