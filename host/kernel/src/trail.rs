//! What a call leaves behind on its way, for its receipt.

use serde_json::{Map, Value, json};

use crate::operation::Component;
use crate::ports::{Clock, CounterView, Removal, Stop};
use crate::receipt::Evidence;

/// Gathered step by step, and written into the receipt whatever the end.
#[derive(Debug)]
pub(crate) struct Trail {
    started_us: u64,
    /// When the call was admitted, in milliseconds since 1970.
    pub(crate) now_ms: u64,
    stages: Vec<(&'static str, u64)>,
    /// One entry per guard that ran.
    pub(crate) evidence: Vec<Evidence>,
    /// Each component that ran, and the fuel it took.
    pub(crate) runs: Vec<(Component, u64)>,
    /// What the hooks said.
    pub(crate) hooks: Vec<HookNote>,
    /// Pointers to arguments that the receipt may not hold.
    pub(crate) secret_arguments: Vec<String>,
    /// The counters that guards saw, for a replay.
    pub(crate) counters: Vec<(String, Vec<CounterView>)>,
    /// The limit that stopped a component.
    pub(crate) stopped: Option<(String, Stop)>,
    /// The chosen grant's position.
    pub(crate) grant_index: Option<u32>,
    /// The approval that lets it run: its id, and who gave it.
    pub(crate) approval: Option<(String, String)>,
}

/// What one hook did.
#[derive(Debug)]
pub(crate) struct HookNote {
    pub(crate) name: String,
    pub(crate) verdict: &'static str,
    pub(crate) what: Vec<Removal>,
}

impl Trail {
    pub(crate) fn begin(clock: &dyn Clock) -> Self {
        Self {
            started_us: clock.monotonic_us(),
            now_ms: clock.now_ms(),
            stages: Vec::new(),
            evidence: Vec::new(),
            runs: Vec::new(),
            hooks: Vec::new(),
            secret_arguments: Vec::new(),
            counters: Vec::new(),
            stopped: None,
            grant_index: None,
            approval: None,
        }
    }

    /// Seconds since 1970 at which the call was admitted.
    pub(crate) fn now(&self) -> u64 {
        self.now_ms / 1000
    }

    /// Ends a stage; its time runs from the end of the one before.
    pub(crate) fn stage(&mut self, name: &'static str, clock: &dyn Clock) {
        self.stages.push((name, clock.monotonic_us()));
    }

    pub(crate) fn ran(&mut self, component: &Component, fuel: u64) {
        self.runs.push((component.clone(), fuel));
    }

    /// Microseconds by stage.
    fn timings(&self) -> Value {
        let mut from = self.started_us;
        let mut timings = Map::new();
        for (name, at) in &self.stages {
            timings.insert((*name).to_owned(), at.saturating_sub(from).into());
            from = *at;
        }
        Value::Object(timings)
    }

    /// What the receipt says of it under `metadata.chio_host`.
    pub(crate) fn notes(&self) -> Value {
        let mut notes = json!({ "timings_us": self.timings() });
        if !self.runs.is_empty() {
            notes["components"] = self.components().into();
        }
        if !self.hooks.is_empty() {
            notes["hooks"] = self.hook_notes().into();
        }
        if let Some((name, stop)) = &self.stopped {
            notes["stopped"] = json!({ "component": name, "by": stop.as_str() });
        }
        if let Some((id, approver)) = &self.approval {
            notes["approval"] = json!({ "id": id, "approver": approver });
        }
        notes
    }

    /// The counters that guards saw, for the replay record.
    pub(crate) fn counters_seen(&self) -> Value {
        let view = |c: &CounterView| json!({ "name": c.name, "window_seconds": c.window_seconds, "used": c.used });
        let of_guard = |(guard, seen): &(String, Vec<CounterView>)| json!({ "guard": guard, "seen": seen.iter().map(view).collect::<Vec<_>>() });
        self.counters.iter().map(of_guard).collect()
    }

    fn components(&self) -> Vec<Value> {
        let show =
            |(c, fuel): &(Component, u64)| json!({ "role": c.role, "name": c.name, "digest": c.digest, "fuel": fuel });
        self.runs.iter().map(show).collect()
    }

    fn hook_notes(&self) -> Vec<Value> {
        let show = |note: &HookNote| {
            let mut shown = json!({ "name": note.name, "verdict": note.verdict });
            if !note.what.is_empty() {
                shown["what"] = json!(note.what);
            }
            shown
        };
        self.hooks.iter().map(show).collect()
    }
}
