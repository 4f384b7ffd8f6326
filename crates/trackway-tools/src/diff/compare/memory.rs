//! Comparison of memory accesses.

use trackway_core::{Batch, Fact, MemKind, Value};

use super::super::options::Group;
use super::{At, Comparison, bytes_text};

impl Comparison<'_> {
    /// Are all accesses of the pair in tolerated ranges?
    pub(super) fn tolerates_accesses(&self, (ab, a): At<'_>, (bb, b): At<'_>) -> bool {
        let (ours, theirs) = (ab.mem_of(a.accesses), bb.mem_of(b.accesses));
        !(ours.is_empty() && theirs.is_empty())
            && ours
                .iter()
                .chain(theirs)
                .all(|access| self.options.tolerates_memory(access.address, access.size))
    }

    pub(super) fn memory(&mut self, (ab, a): At<'_>, (bb, b): At<'_>) {
        if a.accesses.mem_len | b.accesses.mem_len == 0 {
            return;
        }
        let [ours, theirs] = [(ab, a), (bb, b)].map(|at| self.ranges(at, false));
        let tolerated = [(ab, a), (bb, b)].map(|at| self.ranges(at, true));
        let found = &mut self.found;
        found.compared[Group::Mem as usize] += tolerated[0].len().min(tolerated[1].len()) as u64;
        found.tolerated += u64::from(differ(&tolerated[0], &tolerated[1]));
        match (ours.is_empty(), theirs.is_empty()) {
            (true, true) => return,
            (false, false) => {}
            (_, none) => {
                let n = usize::from(!none);
                let list = if n == 0 { &ours } else { &theirs };
                // A prefetch or a maintenance operation is not an access for every format.
                let plain =
                    |range: &Range| matches!(range.kind, MemKind::Read | MemKind::Write | MemKind::ReadWrite);
                let strict = self.strict || list.iter().any(plain);
                let text = ("memory".to_string(), list_text(list));
                return found.alone(n, Fact::MemoryAccesses, Group::Mem, strict.then_some(text));
            }
        }
        found.compared[Group::Mem as usize] += ours.len().max(theirs.len()) as u64;
        if !are_at(&ours, &theirs) {
            return found.differ(Group::Mem, "memory", list_text(&ours), list_text(&theirs));
        }
        for (one, other) in ours.iter().zip(&theirs) {
            for (fact, a, b) in
                [(Fact::MemoryData, &one.data, &other.data), (Fact::StoredData, &one.stored, &other.stored)]
            {
                match (a, b) {
                    (Some(a), Some(b)) if a != b => {
                        let stored = if fact == Fact::StoredData { " stored" } else { "" };
                        let name = format!("{} {:#x}{stored}", one.kind, one.address);
                        found.differ(Group::Mem, name, bytes_text(a), bytes_text(b));
                    }
                    (Some(_), None) => found.unknown.push((fact, 1, 1)),
                    (None, Some(_)) => found.unknown.push((fact, 0, 1)),
                    _ => {}
                }
            }
        }
    }

    /// The accesses of an instruction that are tolerated, or those that are not; adjoining ones as one: formats cut them
    /// differently.
    fn ranges(&self, (batch, step): At<'_>, tolerated: bool) -> Vec<Range> {
        let mut out: Vec<Range> = Vec::new();
        for access in batch.mem_of(step.accesses) {
            let within = !access.unplaced && self.options.tolerates_memory(access.address, access.size);
            if within != tolerated {
                continue;
            }
            let stored = batch.mem_extra_of(access).map_or(Value::Unknown, |extra| extra.stored);
            let range = Range {
                kind: access.kind,
                address: access.address,
                size: access.size,
                vague: access.inferred,
                unplaced: access.unplaced,
                data: data_bytes(batch, access.data, access.size),
                stored: data_bytes(batch, stored, access.size),
            };
            match out.last_mut() {
                Some(last) if last.continues(&range) => {
                    last.size += range.size;
                    last.data = last.data.take().zip(range.data).map(|(one, other)| [one, other].concat());
                    last.stored =
                        last.stored.take().zip(range.stored).map(|(one, other)| [one, other].concat());
                }
                _ => out.push(range),
            }
        }
        out
    }
}

/// A range of memory that an instruction accesses.
#[derive(Debug)]
struct Range {
    kind: MemKind,
    address: u64,
    size: u64,
    /// Kind or size was inferred.
    vague: bool,
    unplaced: bool,
    data: Option<Vec<u8>>,
    stored: Option<Vec<u8>>,
}

impl Range {
    fn continues(&self, next: &Range) -> bool {
        self.kind == next.kind && self.address.wrapping_add(self.size) == next.address && !next.unplaced
    }

    /// The same place and effect, as far as both know them.
    fn is_at(&self, other: &Range) -> bool {
        let vague = self.vague || other.vague || [self.kind, other.kind].contains(&MemKind::Unknown);
        let placed = !self.unplaced && !other.unplaced;
        (!placed || self.address == other.address)
            && (vague || (self.kind, self.size) == (other.kind, other.size))
    }
}

fn are_at(ours: &[Range], theirs: &[Range]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(one, other)| one.is_at(other))
}

/// Do they differ in what both have?
fn differ(ours: &[Range], theirs: &[Range]) -> bool {
    let other =
        |one: &Option<Vec<u8>>, other: &Option<Vec<u8>>| one.is_some() && other.is_some() && one != other;
    !are_at(ours, theirs)
        || ours.iter().zip(theirs).any(|(a, b)| other(&a.data, &b.data) || other(&a.stored, &b.stored))
}

fn data_bytes(batch: &Batch, value: Value, size: u64) -> Option<Vec<u8>> {
    match value {
        Value::Unknown => None,
        Value::Word(word) => Some(word.to_le_bytes()[..size.clamp(1, 8) as usize].to_vec()),
        Value::Bytes(span) => Some(batch.bytes_of(span).to_vec()),
    }
}

fn list_text(ranges: &[Range]) -> String {
    let text = |range: &Range| {
        let place = if range.unplaced { "?".into() } else { format!("{:#x}", range.address) };
        let data = range.data.as_ref().map_or(String::new(), |data| format!(" = {}", bytes_text(data)));
        format!("{} {place} {}{data}", range.kind, range.size)
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(", ")
}
