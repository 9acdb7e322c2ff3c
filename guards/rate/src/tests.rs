use std::collections::BTreeSet;

use chio_sdk::testing::{CallBuilder, call, with_config};
use chio_sdk::{Decision, Money};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn config(limit: Value) -> Value {
    Value::Object([("limits".to_owned(), Value::Array(vec![limit]))].into_iter().collect())
}

fn costing(call: CallBuilder, units: u64, currency: &str) -> Call {
    Call { exposure: Some(Money { units, currency: currency.into() }), ..call.build() }
}

fn judge(config: &Value, call: &Call) -> Verdict {
    with_config(config, || check(call)).unwrap()
}

fn reservations(config: &Value, call: &Call) -> Vec<Reservation> {
    match judge(config, call).decision {
        Decision::Allow(reservations) => reservations,
        other => panic!("{other:?}"),
    }
}

/// The same call, shown the counters that it would take, as full as `used` says.
fn shown(config: &Value, call: &Call, used: u64) -> Call {
    let taken = reservations(config, call);
    let counter =
        |taken: Reservation| chio_sdk::Counter { name: taken.counter, window_seconds: taken.window_seconds, used };
    Call { counters: taken.into_iter().map(counter).collect(), ..call.clone() }
}

#[test]
fn without_limits_everything_passes() {
    assert_eq!(judge(&Value::Null, &call("s", "t").build()), Verdict::allow());
}

#[test]
fn a_call_takes_one_of_its_window() {
    let config = config(json!({ "per": "agent", "calls": 10, "window": "1m" }));
    let taken = reservations(&config, &call("s", "t").build());
    assert_eq!(taken.len(), 1);
    assert_eq!((taken[0].amount, taken[0].window_seconds, taken[0].limit), (1, 60, 10));
    assert!(taken[0].counter.len() <= 64 && taken[0].counter.starts_with("calls."));
}

#[test]
fn a_full_counter_denies_and_says_when_the_window_ends() {
    let config = config(json!({ "name": "burst", "per": "agent", "calls": 10, "window": "1m" }));
    let call = call("s", "t").time(1_700_000_050).build();
    assert!(judge(&config, &shown(&config, &call, 9)).is_allow());
    let verdict = judge(&config, &shown(&config, &call, 10));
    assert_eq!(
        verdict.reason(),
        "limit \"burst\" of 10 calls in 60 s for each agent is used up; the window ends in 50 s"
    );
    assert!(judge(&config, &shown(&config, &call, u64::MAX)).is_deny());
}

#[test]
fn spending_is_the_most_that_a_call_can_cost() {
    let config = config(json!({ "per": "all", "spend": { "units": 500, "currency": "USD" }, "window": "1d" }));
    let cheap = costing(call("s", "t"), 20, "USD");
    assert_eq!(reservations(&config, &cheap)[0].amount, 20);
    assert!(judge(&config, &shown(&config, &cheap, 480)).is_allow());
    assert!(judge(&config, &shown(&config, &cheap, 481)).reason().contains("481 USD used, 20 USD more asked for"));
    assert!(judge(&config, &costing(call("s", "t"), 501, "USD")).reason().contains("is never enough for it"));
    assert!(judge(&config, &costing(call("s", "t"), u64::MAX, "USD")).is_deny());
    // What costs nothing spends nothing.
    assert_eq!(reservations(&config, &call("s", "t").build()), []);
    assert_eq!(reservations(&config, &costing(call("s", "t"), 0, "EUR")), []);
}

#[test]
fn a_currency_that_no_limit_speaks_of_is_denied() {
    let usd = json!({ "per": "all", "spend": { "units": 500, "currency": "USD" }, "window": "1d" });
    let eur = json!({ "per": "all", "spend": { "units": 500, "currency": "EUR" }, "window": "1d" });
    let call = costing(call("s", "t"), 20, "EUR");
    assert!(judge(&config(usd.clone()), &call).reason().contains("no limit speaks of EUR"));
    assert_eq!(reservations(&json!({ "limits": [usd, eur] }), &call).len(), 1);
    // A limit of calls alone has nothing to say about money.
    assert_eq!(reservations(&config(json!({ "per": "all", "calls": 5, "window": 60 })), &call).len(), 1);
    // Nor has one for another tool.
    let other = json!({ "per": "all", "spend": { "units": 5, "currency": "USD" }, "window": 60,
        "match": { "server": "other", "tool": "*" } });
    assert_eq!(reservations(&config(other), &call), []);
}

#[test]
fn every_subject_has_a_counter_of_its_own() {
    let counter = |per: &str, call: &Call| {
        let config = config(json!({ "per": per, "calls": 10, "window": 60 }));
        reservations(&config, call)[0].counter.clone()
    };
    let base = call("s", "t").build();
    let others = [
        ("agent", Call { agent: "1".repeat(64), ..base.clone() }),
        ("server", call("s2", "t").build()),
        ("tool", call("s", "t2").build()),
        ("capability", Call { capability_id: "other".into(), ..base.clone() }),
    ];
    for (per, other) in &others {
        assert_ne!(counter(per, &base), counter(per, other), "{per}");
        assert_eq!(counter("all", &base), counter("all", other), "{per}");
    }
    // Where one name ends and the next begins makes a difference.
    assert_ne!(counter("tool", &call("ab", "c").build()), counter("tool", &call("a", "bc").build()));
    assert_ne!(counter("tool", &call("s", "t").build()), counter("tool", &call("s2", "t").build()));
    let all: BTreeSet<_> =
        ["agent", "server", "tool", "capability", "all"].iter().map(|per| counter(per, &base)).collect();
    assert_eq!(all.len(), 5);
}

#[test]
fn a_limit_keeps_its_counter_when_it_is_raised_or_moved() {
    let counter = |config: &Value, at: usize| reservations(config, &call("s", "t").build())[at].counter.clone();
    let limit = |calls: u64| json!({ "per": "agent", "calls": calls, "window": 60 });
    let first = json!({ "per": "all", "calls": 1, "window": 60 });
    assert_eq!(counter(&config(limit(5)), 0), counter(&json!({ "limits": [first, limit(50)] }), 1));
    let named = |tool: &str| {
        let matching = json!({ "server": "*", "tool": tool });
        config(json!({ "name": "n", "per": "agent", "calls": 5, "window": 60, "match": matching }))
    };
    assert_eq!(counter(&named("*"), 0), counter(&named("t*"), 0));
    let window = config(json!({ "per": "agent", "calls": 5, "window": 61 }));
    assert_ne!(counter(&config(limit(5)), 0), counter(&window, 0));
}

#[test]
fn only_matching_calls_are_counted() {
    let config =
        config(json!({ "per": "all", "calls": 5, "window": "1h", "match": { "server": "web", "tool": "f*" } }));
    assert_eq!(reservations(&config, &call("web", "fetch").build()).len(), 1);
    assert_eq!(reservations(&config, &call("web", "post").build()), []);
    assert_eq!(reservations(&config, &call("web2", "fetch").build()), []);
}

#[test]
fn all_limits_for_a_call_are_taken_together() {
    let config = json!({ "limits": [
        { "per": "agent", "calls": 100, "window": "1h" },
        { "per": "agent", "calls": 10, "window": "1m" },
        { "per": "all", "spend": { "units": 5, "currency": "USD" }, "window": "1d" },
    ] });
    assert_eq!(reservations(&config, &costing(call("s", "t"), 5, "USD")).len(), 3);
}

#[test]
fn windows_are_written_in_seconds_or_words() {
    for (written, seconds) in
        [(json!(5), 5), (json!("30s"), 30), (json!("1m"), 60), (json!("2h"), 7_200), (json!("366d"), 366 * 86_400)]
    {
        let config = config(json!({ "per": "all", "calls": 5, "window": written }));
        assert_eq!(reservations(&config, &call("s", "t").build())[0].window_seconds, seconds);
    }
}

#[test]
fn a_wrong_configuration_is_an_error() {
    let limit = |more: Value| {
        let mut limit = json!({ "per": "all", "calls": 5, "window": 60 });
        limit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        config(limit)
    };
    let spend =
        |units: u64, currency: &str| limit(json!({ "calls": null, "spend": { "units": units, "currency": currency } }));
    for config in [
        json!([]),
        json!({ "limit": [] }),
        config(json!({ "per": "all", "window": 60 })),
        config(json!({ "calls": 5, "window": 60 })),
        config(json!({ "per": "all", "calls": 5 })),
        limit(json!({ "per": "everybody" })),
        limit(json!({ "calls": 0 })),
        limit(json!({ "calls": 1_u64 << 53 })),
        limit(json!({ "calls": -1 })),
        limit(json!({ "spend": { "units": 5, "currency": "USD" } })),
        limit(json!({ "window": 0 })),
        limit(json!({ "window": "0m" })),
        limit(json!({ "window": "1w" })),
        limit(json!({ "window": "+1m" })),
        limit(json!({ "window": "m" })),
        limit(json!({ "window": "" })),
        limit(json!({ "window": "1 m" })),
        limit(json!({ "window": "367d" })),
        limit(json!({ "window": "99999999999999999999d" })),
        limit(json!({ "window": 1.5 })),
        limit(json!({ "name": "" })),
        limit(json!({ "name": "a b" })),
        limit(json!({ "name": "a".repeat(25) })),
        limit(json!({ "match": { "server": "s" } })),
        limit(json!({ "match": { "server": "", "tool": "t" } })),
        limit(json!({ "burst": 5 })),
        spend(0, "USD"),
        spend(5, "usd"),
        spend(5, "DOLLAR"),
        json!({ "limits": [{ "per": "all", "calls": 5, "window": 60 }, { "per": "all", "calls": 6, "window": 60 }] }),
        json!({ "limits": [
            { "name": "a", "per": "all", "calls": 5, "window": 60 },
            { "name": "a", "per": "all", "calls": 6, "window": 60, "match": { "server": "s", "tool": "*" } },
        ] }),
        json!({ "limits": [
            { "name": "a", "per": "all", "calls": 5, "window": 60 },
            { "name": "a", "per": "agent", "calls": 6, "window": 70 },
        ] }),
        json!({ "limits": vec![json!({ "per": "all", "calls": 5, "window": 60 }); 17] }),
    ] {
        assert!(with_config(&config, || check(&call("s", "t").build())).is_err(), "{config}");
    }
}

proptest! {
    /// What admission does: it takes what the guard reserved, for as long as the limit has it.
    #[test]
    fn racing_calls_get_no_more_than_the_limit(most in 1_u64..20, costs in prop::collection::vec(1_u64..8, 1..64)) {
        let config = config(json!({ "per": "all", "spend": { "units": most, "currency": "USD" }, "window": 60 }));
        let mut taken = 0;
        for cost in costs {
            // Every racer sees the counter as it was before all of them.
            let call = costing(call("s", "t"), cost, "USD");
            let Decision::Allow(reservations) = judge(&config, &call).decision else {
                prop_assert!(cost > most);
                continue;
            };
            for reservation in reservations {
                prop_assert_eq!((reservation.amount, reservation.limit), (cost, most));
                if taken + reservation.amount <= reservation.limit {
                    taken += reservation.amount;
                }
            }
        }
        prop_assert!(taken <= most);
    }

    /// A name of the host's: short, printable, and the same for the same subject alone.
    #[test]
    fn counters_are_bounded_and_unambiguous(a in any::<(String, String)>(), b in any::<(String, String)>()) {
        let config = config(json!({ "name": "a-name-of-24-characters_", "per": "tool", "calls": 5, "window": 60 }));
        let counter = |(server, tool): &(String, String)| {
            reservations(&config, &call(server, tool).build())[0].counter.clone()
        };
        let (first, second) = (counter(&a), counter(&b));
        prop_assert!(first.len() <= 64 && first.bytes().all(|byte| byte.is_ascii_graphic()));
        prop_assert_eq!(first == second, a == b);
    }
}
