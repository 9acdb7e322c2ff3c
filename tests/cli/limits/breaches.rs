//! The components that break a limit.

use chio_host_tests::hostile;

/// What a hostile component is used as.
pub(super) enum By {
    /// A guard or a hook.
    Plugin(&'static str, Vec<u8>),
    /// A tool of the intruder.
    Tool(&'static str),
}

/// A component that breaks a limit.
pub(super) struct Breach {
    /// The limit, as the page calls it.
    pub(super) limit: &'static str,
    pub(super) by: By,
    /// What it does, in words.
    pub(super) does: &'static str,
    /// Its limits in the policy.
    pub(super) limits: &'static str,
    /// What the error has to say, if not more.
    pub(super) says: &'static str,
    /// What stops it, as codes and receipts say it; `None` where it is never loaded.
    pub(super) stop: Option<&'static str>,
}

pub(super) const LOOP: &str = "(loop (br 0))";
/// Not in a hurry, so that a busy machine breaks no other limit first.
const FUEL: &str = "{ fuel: 1_000_000, deadline: 2m }";
const TIME: &str = "{ fuel: 9_000_000_000_000_000, deadline: 1s }";
const FOR_EVER: &str = "loops for ever";
const ALL_THE_FUEL: &str = "loops with all the fuel there is";
const LATE: &str = "deadline exceeded at tool: budget 1000ms";
const MORE: &str = "begins with more";

fn guard(code: &str) -> By {
    guard_with("", code)
}

fn guard_with(items: &str, code: &str) -> By {
    By::Plugin("guard", hostile::guard_with(items, code))
}

pub(super) fn all() -> Vec<Breach> {
    [of_computing(), of_space(), of_words(), of_loading()].into_iter().flatten().collect()
}

fn of_computing() -> Vec<Breach> {
    let spent = |by| Breach {
        limit: "fuel",
        by,
        does: FOR_EVER,
        limits: FUEL,
        says: "fuel limit of 1000000 reached",
        stop: Some("fuel"),
    };
    let late = |by, does, limits, says| Breach { limit: "deadline", by, does, limits, says, stop: Some("deadline") };
    vec![
        spent(guard(LOOP)),
        spent(By::Plugin("hook", hostile::hook(LOOP))),
        spent(By::Tool("spin")),
        late(guard(LOOP), ALL_THE_FUEL, TIME, "deadline of 1000 ms exceeded"),
        late(By::Tool("spin"), ALL_THE_FUEL, TIME, LATE),
        late(By::Tool("sleep"), "waits in the host, where no fuel is burnt", "{ deadline: 1s }", LATE),
    ]
}

fn of_space() -> Vec<Breach> {
    let grows = "(loop (drop (memory.grow (i32.const 1))) (br 0))";
    let grows_table = "(loop (drop (table.grow $t (ref.null func) (i32.const 100))) (br 0))";
    let breach = |limit, by, does, limits, says, stop| Breach { limit, by, does, limits, says, stop };
    vec![
        breach(
            "memory",
            guard(grows),
            "grows its memory without end",
            "{ memory: 1MiB, deadline: 2m }",
            "memory limit of 1048576 bytes reached",
            Some("memory"),
        ),
        breach(
            "memory",
            By::Tool("grow"),
            "keeps all that it is given",
            "{ memory: 8MiB }",
            "memory limit of 8388608 bytes reached",
            Some("memory"),
        ),
        breach("memory", guard("nop"), MORE, "{ memory: 1KiB }", "it needs 65536 bytes of memory from the start", None),
        breach(
            "tables",
            guard_with("(table $t 1 funcref)", grows_table),
            "grows a table without end",
            "{ table_elements: 1000, deadline: 2m }",
            "table limit of 1000 elements reached",
            Some("tables"),
        ),
        breach(
            "tables",
            guard_with("(table 2000 funcref)", "nop"),
            MORE,
            "{ table_elements: 1000 }",
            "it needs 2000 table elements from the start",
            None,
        ),
        breach(
            "instances",
            By::Tool("arguments"),
            "is made of several core modules",
            "{ instances: 1 }",
            "instance limit of 1 reached",
            None,
        ),
    ]
}

fn of_words() -> Vec<Breach> {
    let long = "(i32.store8 (i32.const 1028) (i32.const 1)) (drop (memory.grow (i32.const 20))) \
                (i32.store (i32.const 1036) (i32.const 1000000))";
    let breach = |limit, by, does, limits, says, stop| Breach { limit, by, does, limits, says, stop: Some(stop) };
    vec![
        breach(
            "output",
            guard(long),
            "answers with a reason of a megabyte",
            "{ output: 1KiB, deadline: 2m }",
            "output limit of 1024 bytes reached",
            "output_bytes",
        ),
        breach(
            "output",
            By::Tool("answer"),
            "answers a megabyte",
            "{ output: 1KiB }",
            "output limit of 1024 bytes reached",
            "output_bytes",
        ),
        breach(
            "log",
            By::Tool("log"),
            "logs without end",
            "{ log: 4KiB }",
            "log limit of 4096 bytes reached",
            "log_bytes",
        ),
        breach(
            "stdio",
            By::Tool("print"),
            "prints without end",
            "{ stdio: 4KiB }",
            "stdio limit of 4096 bytes reached",
            "stdio_bytes",
        ),
    ]
}

fn of_loading() -> Vec<Breach> {
    let costly = || By::Plugin("guard", hostile::costly_to_compile(1000, 1000));
    let breach = |limit, by, does, limits, says| Breach { limit, by, does, limits, says, stop: None };
    vec![
        breach("component size", guard("nop"), "is larger", "{ component: 100 }", "is longer than 100 bytes"),
        breach(
            "compile time",
            costly(),
            "is small, and compiles for ages",
            "{ compile_time: 1s, compile_memory: 64GiB }",
            "compile time limit of 1000 ms reached",
        ),
        breach(
            "compile memory",
            costly(),
            "is small, and compiles to no end of values",
            "{ compile_time: 10m, compile_memory: 64MiB }",
            "compile memory limit of 67108864 bytes reached",
        ),
    ]
}
