//! One limit: of what, for whom, in which time.

use chio_sdk::{Call, quote};
use serde::Deserialize;
use wildcards::ToolPattern;

use crate::counter;

/// The largest number that the host takes: beyond it JSON's numbers are not exact.
const MAX_INTEGER: u64 = (1 << 53) - 1;
/// The longest window: a leap year.
const MAX_WINDOW_SECONDS: u64 = 366 * 86_400;
/// The longest name of a limit, in bytes: a counter's name begins with it.
const MAX_NAME_BYTES: usize = 24;

/// A limit as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// What reasons and counters call it. The counter keeps its count as long as name, `per`, unit and window stay.
    name: Option<String>,
    /// For whom or what there is a counter each.
    per: Per,
    /// How many calls.
    calls: Option<u64>,
    /// How much money.
    spend: Option<Spend>,
    /// How long a window is.
    window: Window,
    /// Which calls it counts; absent for all.
    #[serde(rename = "match")]
    pattern: Option<ToolPattern>,
}

/// `{ units: 500, currency: USD }`, in minor units.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spend {
    units: u64,
    currency: String,
}

/// Seconds, or a number with `s`, `m`, `h` or `d`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Window {
    Seconds(u64),
    Written(String),
}

/// For whom or what there is a counter each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Per {
    /// The caller's key.
    Agent,
    /// The server.
    Server,
    /// The tool, together with its server.
    Tool,
    /// The capability.
    Capability,
    /// One counter for all.
    All,
}

impl Per {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Server => "server",
            Self::Tool => "tool",
            Self::Capability => "capability",
            Self::All => "all",
        }
    }
}

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Calls,
    Spend { currency: String },
}

/// A limit that is ready to be asked.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) number: usize,
    pub(crate) name: Option<String>,
    pub(crate) per: Per,
    pub(crate) unit: Unit,
    pub(crate) most: u64,
    pub(crate) window_seconds: u64,
    pub(crate) pattern: Option<ToolPattern>,
}

impl Limit {
    /// Reads a limit.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn new(entry: Entry, number: usize) -> Result<Self, String> {
        let Entry { name, per, calls, spend, window, pattern } = entry;
        if let Some(name) = &name {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
                return Err(format!(
                    "\"{}\" is no name: it takes 1 to {MAX_NAME_BYTES} letters, digits, `-` and `_`",
                    quote(name)
                ));
            }
        }
        let (unit, most) = match (calls, spend) {
            (Some(calls), None) => (Unit::Calls, calls),
            (None, Some(Spend { units, currency })) => {
                if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
                    return Err(format!("\"{}\" is no currency; write its code, such as USD", quote(&currency)));
                }
                (Unit::Spend { currency }, units)
            }
            _ => return Err("it limits either calls or spend; give it one of them".into()),
        };
        if most == 0 || most > MAX_INTEGER {
            return Err(format!("{most} is no limit; 1 to 2^53 - 1 is"));
        }
        if let Some(pattern) = &pattern {
            pattern.validate()?;
        }
        let window_seconds = seconds(&window)?;
        Ok(Self { number, name, per, unit, most, window_seconds, pattern })
    }

    /// Whether the limit counts this call.
    pub(crate) fn is_for(&self, call: &Call) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.matches(&call.server, &call.tool))
    }

    /// How much of the limit the call takes. What is in another currency takes nothing of this one.
    pub(crate) fn amount(&self, call: &Call) -> u64 {
        match &self.unit {
            Unit::Calls => 1,
            Unit::Spend { currency } => {
                let exposure = call.exposure.as_ref().filter(|exposure| exposure.currency == *currency);
                exposure.map_or(0, |exposure| exposure.units)
            }
        }
    }

    /// The name of the counter that the call takes it from.
    pub(crate) fn counter(&self, call: &Call) -> String {
        counter::name(self, call)
    }

    /// Whether nobody could tell both limits apart: they would count on the same counter, or have the same name.
    pub(crate) fn is_confused_with(&self, other: &Self) -> bool {
        let has_its_counter =
            self.window_seconds == other.window_seconds && counter::identity(self) == counter::identity(other);
        has_its_counter || (self.name.is_some() && self.name == other.name)
    }

    /// Why the call is refused that would take `amount` more.
    pub(crate) fn refusal(&self, call: &Call, amount: u64, used: u64) -> String {
        let limit = self.describe();
        if amount > self.most {
            return format!("the call may cost {}, and {limit} is never enough for it", self.count(amount));
        }
        // The host's windows begin at multiples of their length.
        let left = self.window_seconds - call.time % self.window_seconds;
        if used >= self.most {
            return format!("{limit} is used up; the window ends in {left} s");
        }
        let (used, amount) = (self.count(used), self.count(amount));
        format!("{limit} does not reach: {used} used, {amount} more asked for; the window ends in {left} s")
    }

    /// The limit in words.
    fn describe(&self) -> String {
        let name = self.name.as_ref().map_or_else(|| self.number.to_string(), |name| format!("\"{name}\""));
        let whose = match self.per {
            Per::All => "",
            Per::Agent => " for each agent",
            Per::Server => " for each server",
            Per::Tool => " for each tool",
            Per::Capability => " for each capability",
        };
        format!("limit {name} of {} in {} s{whose}", self.count(self.most), self.window_seconds)
    }

    fn count(&self, amount: u64) -> String {
        match &self.unit {
            Unit::Calls if amount == 1 => "1 call".into(),
            Unit::Calls => format!("{amount} calls"),
            Unit::Spend { currency } => format!("{amount} {currency}"),
        }
    }
}

fn seconds(window: &Window) -> Result<u64, String> {
    let seconds = match window {
        Window::Seconds(seconds) => Some(*seconds),
        Window::Written(text) => written(text),
    };
    seconds.filter(|seconds| (1..=MAX_WINDOW_SECONDS).contains(seconds)).ok_or_else(|| {
        "the window is none: write seconds or a time such as 30s, 1m, 1h or 1d, of at most 366 days".into()
    })
}

fn written(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let factor = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let number = text.strip_suffix(unit)?;
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| is_plain)?.checked_mul(factor)
}
