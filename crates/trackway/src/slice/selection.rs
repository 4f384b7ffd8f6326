//! Which instructions of a source are kept.

use serde::{Deserialize, Serialize};
use trackway_core::{Context, Isa, Privilege, Security};
use trackway_format::{Error, Result};

/// Instructions of one source, by number and by context; the default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Ranges of numbers, the end exclusive, in order and apart; none: all numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<(u64, u64)>,
    /// Of every so many instructions of a range, the first so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<(u64, u64)>,
    /// Conditions on the context; all of them hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<ContextIs>,
}

/// A condition on the context: `key=value`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextIs(pub String, pub String);

/// Keys of [`ContextIs`].
const KEYS: &str = "privilege, security, context, vmid, asid, pid, tid, hw, isa";

impl std::str::FromStr for ContextIs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{text}: {why}; a context is KEY=VALUE with one of {KEYS}");
        let (key, value) = text.split_once('=').ok_or_else(|| wrong("no value"))?;
        let known = match key {
            "privilege" => value.parse::<Privilege>().is_ok(),
            "security" => value.parse::<Security>().is_ok(),
            "isa" => value.parse::<Isa>().is_ok(),
            "context" | "vmid" | "asid" | "pid" | "tid" | "hw" => number(value).is_some(),
            _ => return Err(wrong("not a key")),
        };
        if known { Ok(ContextIs(key.into(), value.into())) } else { Err(wrong("not a value of it")) }
    }
}

impl ContextIs {
    /// Does it hold?
    pub fn holds(&self, context: &Context) -> bool {
        let ContextIs(key, value) = self;
        let is = |id: Option<u64>| id.is_some() && id == number(value);
        match key.as_str() {
            "privilege" => context.privilege.is_some_and(|level| level.as_str() == value),
            "security" => context.security.is_some_and(|state| state.as_str() == value),
            "isa" => context.isa.is_some_and(|isa| isa.as_str() == value),
            "context" => is(context.context_id),
            "vmid" => is(context.vmid),
            "asid" => is(context.asid),
            "pid" => is(context.pid),
            "tid" => is(context.tid),
            _ => is(context.hw_thread),
        }
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Selection {
    /// One range.
    pub fn range(from: u64, to: u64) -> Self {
        Selection { ranges: vec![(from, to)], ..Selection::default() }
    }

    /// True if everything is kept.
    pub fn is_all(&self) -> bool {
        *self == Selection::default()
    }

    /// Puts the ranges in order; refuses empty ones, those that overlap, and samples that keep nothing.
    pub fn checked(mut self) -> Result<Self> {
        let wrong = |text: String| Err(Error::Config(text));
        self.ranges.sort_unstable();
        if let Some((from, to)) = self.ranges.iter().find(|(from, to)| from >= to) {
            return wrong(format!("instructions {from} to {to}: nothing is between them"));
        }
        if let Some(pair) = self.ranges.windows(2).find(|pair| pair[0].1 > pair[1].0) {
            let [(a, b), (c, d)] = [pair[0], pair[1]];
            return wrong(format!("the ranges {a} to {b} and {c} to {d} overlap"));
        }
        self.ranges.dedup_by(|later, before| {
            let joins = before.1 == later.0 && self.sample.is_none();
            if joins {
                before.1 = later.1;
            }
            joins
        });
        match self.sample {
            Some((every, length)) if length == 0 || every < length => {
                wrong(format!("a sample of {length} in every {every} instructions is not possible"))
            }
            _ => Ok(self),
        }
    }

    /// Is instruction `n` kept by its number, and up to which number does this answer hold?
    pub(crate) fn keeps(&self, n: u64) -> (bool, u64) {
        let (from, to) = match self.ranges.iter().find(|range| range.1 > n) {
            Some(&range) => range,
            None if self.ranges.is_empty() => (0, u64::MAX),
            None => return (false, u64::MAX),
        };
        if n < from {
            return (false, from);
        }
        match self.sample {
            None => (true, to),
            Some((every, length)) => {
                let begun = n - (n - from) % every;
                let kept = n - begun < length;
                (kept, to.min(begun.saturating_add(if kept { length } else { every })))
            }
        }
    }

    /// The number after the last that may be kept.
    pub(crate) fn end(&self) -> u64 {
        self.ranges.last().map_or(u64::MAX, |range| range.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_count_from_the_start_of_their_range() {
        let selection = Selection { ranges: vec![(10, 22)], sample: Some((5, 2)), ..Selection::default() };
        let kept: Vec<u64> = (0..40).filter(|&n| selection.keeps(n).0).collect();
        assert_eq!(kept, [10, 11, 15, 16, 20, 21]);
        assert_eq!(selection.keeps(0), (false, 10));
        assert_eq!(selection.keeps(12), (false, 15));
        assert_eq!(selection.keeps(20), (true, 22));
    }

    #[test]
    fn ranges_are_put_in_order_and_refused_where_they_overlap() {
        let of = |ranges: &[(u64, u64)]| Selection { ranges: ranges.to_vec(), ..Selection::default() };
        assert_eq!(of(&[(5, 9), (0, 5)]).checked().unwrap().ranges, [(0, 9)]);
        assert!(of(&[(5, 9), (0, 6)]).checked().is_err());
        assert!(of(&[(5, 5)]).checked().is_err());
        assert!(
            "pid=0x7"
                .parse::<ContextIs>()
                .is_ok_and(|is| is.holds(&Context { pid: Some(7), ..Context::default() }))
        );
        assert!("colour=red".parse::<ContextIs>().is_err());
    }
}
