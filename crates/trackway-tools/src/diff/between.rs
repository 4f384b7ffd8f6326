//! Comparison of what lies between instructions: traps, contexts, times.
//!
//! Formats record these a little earlier or later, so partners may be two instructions apart; times keep their order only.

use std::collections::{BTreeMap, VecDeque};

use trackway_core::{Batch, Context, Fact, Isa, Nearby, TimeKind, Trap, TrapKind};

use super::options::Group;
use super::report::{Field, OneSided};
use super::side::{Facts, bit};

/// How many instructions a trap or a context change may move.
const REACH: u64 = 2;

/// Stretches of one side that are remembered.
const HUNKS: usize = 64;

/// A place in both traces: pairs so far, and the next instruction of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) pairs: u64,
    pub(super) a: u64,
    pub(super) b: u64,
}

/// A difference between instructions.
#[derive(Debug)]
pub(super) struct Stray {
    pub(super) place: Place,
    pub(super) fields: Vec<Field>,
    pub(super) one_sided: OneSided,
}

/// Compares what lies between instructions.
#[derive(Debug, Default)]
pub(super) struct Strays {
    /// Traps without a partner so far: entries and returns, of each side.
    traps: [[VecDeque<(Place, Trap)>; 2]; 2],
    /// Since when the contexts differ, and in what.
    contexts: Option<(Place, Vec<Field>)>,
    /// The last difference of contexts that was reported.
    reported: Vec<Field>,
    pub(super) times: Nearby,
    first_time: Option<Place>,
    /// Values that both have, by group.
    pub(super) compared: [u64; 6],
    pub(super) found: Vec<Stray>,
    /// Pairs before the last stretches that only one side has: traps there belong to them.
    hunks: VecDeque<u64>,
    /// Both are of one format.
    strict: bool,
    /// Causes of traps are numbered by the architecture, not by the format.
    causes: bool,
    /// Facts that one side does not know, with the side: how many.
    pub(super) unknown: BTreeMap<(Fact, usize), u64>,
    /// Causes numbered by the formats, and values of which one is 0, with the side.
    pub(super) numbered: u64,
    pub(super) zeros: [u64; 2],
    /// Fields of contexts that each side has had, as bits by their order.
    contexts_seen: [u32; 2],
}

impl Strays {
    pub(super) fn new(strict: bool, isa: Isa) -> Self {
        let causes = strict || matches!(isa, Isa::Rv32 | Isa::Rv64);
        Strays { strict, causes, ..Strays::default() }
    }

    /// One side has more instructions here.
    pub(super) fn hunk(&mut self, pairs: u64) {
        self.hunks.push_back(pairs);
        if self.hunks.len() > HUNKS {
            self.hunks.pop_front();
        }
    }

    /// A trap of side `n`.
    pub(super) fn trap(&mut self, n: usize, trap: Trap, place: Place, seen: &mut Facts) {
        let class = usize::from(trap.kind == TrapKind::Return);
        details(&trap)
            .iter()
            .filter(|(_, _, value)| value.is_some())
            .for_each(|(_, fact, _)| *seen |= bit(*fact));
        self.traps[class][n].push_back((place, trap));
        self.pair_traps(place.pairs);
    }

    /// Pairs traps; those that waited too long stay alone.
    fn pair_traps(&mut self, now: u64) {
        for class in 0..2 {
            loop {
                let [ours, theirs] = &mut self.traps[class];
                let late = |place: &Place| now.saturating_sub(place.pairs) > REACH;
                let lonely = match (ours.front(), theirs.front()) {
                    (Some((one, a)), Some((other, b))) if one.pairs.abs_diff(other.pairs) <= REACH => {
                        let (one, a, b) = (*one, *a, *b);
                        let fields = self.trap_fields(&a, &b);
                        self.compared[Group::Traps as usize] += 1;
                        if !fields.is_empty() {
                            self.found.push(Stray { place: one, fields, one_sided: [0; 2] });
                        }
                        for waiting in &mut self.traps[class] {
                            waiting.pop_front();
                        }
                        continue;
                    }
                    (Some((one, _)), Some((other, _))) => usize::from(one.pairs > other.pairs),
                    (Some((one, _)), None) if late(one) => 0,
                    (None, Some((other, _))) if late(other) => 1,
                    _ => break,
                };
                let Some((place, trap)) = self.traps[class][lonely].pop_front() else { break };
                if self.hunks.iter().any(|hunk| hunk.abs_diff(place.pairs) <= REACH) {
                    continue;
                }
                if !self.strict && trap.kind == TrapKind::Reset && place.pairs == 0 {
                    // Both begin here; one of them says how.
                    *self.unknown.entry((Fact::Traps, 1 - lonely)).or_default() += 1;
                    continue;
                }
                let mut one_sided = [0; 2];
                one_sided[lonely] = bit([Fact::Traps, Fact::TrapReturns][class]);
                let text = Some(trap_text(&trap));
                let (a, b) = if lonely == 0 { (text, None) } else { (None, text) };
                let fields = vec![Field { group: Group::Traps, name: "trap".into(), a, b }];
                self.found.push(Stray { place, fields, one_sided });
            }
        }
    }

    /// The fields in which two traps differ; what is not compared is counted.
    fn trap_fields(&mut self, a: &Trap, b: &Trap) -> Vec<Field> {
        let mut fields = Vec::new();
        let mut differ = |name: &str, a: Option<String>, b: Option<String>| {
            fields.push(Field { group: Group::Traps, name: format!("trap {name}"), a, b });
        };
        if a.kind != b.kind && ![a.kind, b.kind].contains(&TrapKind::Unknown) {
            differ("kind", Some(a.kind.to_string()), Some(b.kind.to_string()));
        }
        if self.strict && a.is_virtual != b.is_virtual {
            differ("is virtual", Some(a.is_virtual.to_string()), Some(b.is_virtual.to_string()));
        }
        let text = |value: Option<u64>| value.map(|value| format!("{value:#x}"));
        for ((name, fact, one), (_, _, other)) in details(a).into_iter().zip(details(b)) {
            match (one, other) {
                _ if one == other => {}
                _ if self.strict => differ(name, text(one), text(other)),
                (Some(_), None) => *self.unknown.entry((fact, 1)).or_default() += 1,
                (None, _) => *self.unknown.entry((fact, 0)).or_default() += 1,
                (Some(_), Some(_)) if fact == Fact::TrapCauses && !self.causes => self.numbered += 1,
                // A trap value of 0 may mean none: some formats have no other way to say so.
                (Some(0), _) if fact == Fact::TrapValues => self.zeros[0] += 1,
                (_, Some(0)) if fact == Fact::TrapValues => self.zeros[1] += 1,
                _ => differ(name, text(one), text(other)),
            }
        }
        fields
    }

    /// The contexts from here on.
    pub(super) fn context(&mut self, a: &Context, b: &Context, place: Place) {
        self.settle(place.pairs);
        let mut fields = Vec::new();
        let both = context_fields(a, b, &mut fields, &mut self.contexts_seen);
        self.compared[Group::Contexts as usize] += both;
        if fields.is_empty() {
            (self.contexts, self.reported) = (None, Vec::new());
        } else if fields != self.reported && self.contexts.as_ref().is_none_or(|known| known.1 != fields) {
            self.contexts = Some((place, fields));
        }
    }

    /// Fields of contexts that one side has and the other, `lacking`, never.
    pub(super) fn one_sided_contexts(&self, lacking: usize) -> impl Iterator<Item = &'static str> {
        let only = self.contexts_seen[1 - lacking] & !self.contexts_seen[lacking];
        CONTEXTS.iter().enumerate().filter(move |(n, _)| only >> n & 1 != 0).map(|(_, name)| *name)
    }

    /// Contexts that still differ after a few instructions do differ.
    pub(super) fn settle(&mut self, now: u64) {
        self.settle_contexts(now, REACH);
        self.pair_traps(now);
    }

    fn settle_contexts(&mut self, now: u64, reach: u64) {
        let late = |(place, _): &mut (Place, Vec<Field>)| now.saturating_sub(place.pairs) > reach;
        if let Some((place, fields)) = self.contexts.take_if(late) {
            self.reported.clone_from(&fields);
            self.found.push(Stray { place, fields, one_sided: [0; 2] });
        }
    }

    /// Times of side `n` before an instruction.
    pub(super) fn times(&mut self, n: usize, times: &[(TimeKind, u64)], place: Place) {
        let facts: Vec<_> = times.iter().map(|&(kind, value)| (time_fact(kind), value)).collect();
        self.first_time.get_or_insert(place);
        let (ours, theirs): (&[_], &[_]) = if n == 0 { (&facts, &[]) } else { (&[], &facts) };
        self.times.between(ours, theirs, place.pairs);
    }

    /// The end: what waits has no partner.
    pub(super) fn finish(&mut self, now: u64) {
        // A context in which nothing ran does not matter.
        self.settle_contexts(now, if self.strict { 0 } else { REACH });
        self.pair_traps(now.saturating_add(REACH + 1));
        self.times.finish();
        for fact in [Fact::Timestamps, Fact::TimeOffsets, Fact::CycleCounts] {
            let (matched, missing, extra) =
                (self.times.matched[fact], self.times.missing[fact], self.times.extra[fact]);
            self.compared[Group::Time as usize] += matched + missing.min(extra);
            if missing == 0 && extra == 0 || matched + missing == 0 || matched + extra == 0 {
                continue;
            }
            // All of them are one difference: clocks rarely agree in anything.
            let text = |n: u64| Some(format!("{n} of {} without a counterpart", matched + n));
            let name = fact.as_str().to_string();
            let fields = vec![Field { group: Group::Time, name, a: text(missing), b: text(extra) }];
            let place = self.first_time.unwrap_or_default();
            self.found.push(Stray { place, fields, one_sided: [0; 2] });
        }
    }
}

fn time_fact(kind: TimeKind) -> Fact {
    match kind {
        TimeKind::Timestamp => Fact::Timestamps,
        TimeKind::Offset => Fact::TimeOffsets,
        TimeKind::Cycles => Fact::CycleCounts,
    }
}

/// Details of a trap: name, fact, value.
fn details(trap: &Trap) -> [(&'static str, Fact, Option<u64>); 8] {
    [
        ("cause", Fact::TrapCauses, trap.cause),
        ("class", Fact::TrapClasses, trap.class.map(u64::from)),
        ("value", Fact::TrapValues, trap.value),
        ("from", Fact::TrapPlaces, trap.from),
        ("to", Fact::TrapHandlers, trap.to),
        ("return address", Fact::ReturnAddresses, trap.return_address),
        ("call", Fact::SystemCalls, trap.syscall.map(|call| call as u64)),
        ("call number", Fact::SystemCallNumbers, trap.syscall_index),
    ]
}

fn trap_text(trap: &Trap) -> String {
    let cause = trap.cause.map_or(String::new(), |cause| format!(" cause {cause:#x}"));
    let from = trap.from.map_or(String::new(), |from| format!(" at {from:#x}"));
    format!("{}{cause}{from}", trap.kind)
}

/// Declares the fields of a context that are compared.
macro_rules! contexts {
    ($($field:ident)*) => {
        const CONTEXTS: &[&str] = &[$(stringify!($field)),*];

        /// Adds the values that differ, notes which fields each side has; returns how many both know.
        fn context_fields(a: &Context, b: &Context, fields: &mut Vec<Field>, seen: &mut [u32; 2]) -> u64 {
            let (mut both, mut mark) = (0, 1);
            $(
                seen[0] |= if a.$field.is_some() { mark } else { 0 };
                seen[1] |= if b.$field.is_some() { mark } else { 0 };
                if let Some((one, other)) = a.$field.zip(b.$field) {
                    both += 1;
                    if one != other {
                        let name = stringify!($field).into();
                        fields.push(Field { group: Group::Contexts, name, a: Some(show(&one)), b: Some(show(&other)) });
                    }
                }
                mark <<= 1;
            )*
            let _ = mark;
            // Names every field but how the change came about: a new one must be listed here.
            let Context { change: _, $($field: _,)* } = *a;
            both
        }
    };
}

contexts!(privilege security own_stack context_id vmid asid pid tid hw_thread isa vector_bits streaming dit ssbs mte
          unsupported);

fn show(value: &dyn std::fmt::Debug) -> String {
    format!("{value:?}").to_ascii_lowercase()
}

/// The traps, times and register contents among events.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    pub(super) traps: Vec<Trap>,
    pub(super) times: Vec<(TimeKind, u64)>,
}

impl Sorted {
    pub(super) fn read<'b>(&mut self, events: impl Iterator<Item = (&'b Batch, usize)>) {
        use trackway_core::EventKind;
        self.traps.clear();
        self.times.clear();
        for (batch, event) in events {
            match batch.events[event].kind {
                EventKind::Trap(n) => self.traps.push(batch.traps[n as usize]),
                EventKind::Time(time) => self.times.extend(time.value.map(|value| (time.kind, value))),
                _ => {}
            }
        }
    }
}
