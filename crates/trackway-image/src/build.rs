//! Filling the block table: a page of code, or a part of one, at a time, from its end to its start.

use trackway_core::Isa;
use trackway_isa::arm::{a32, a64, t32};
use trackway_isa::{Control, Flow, riscv};

use crate::entry::{Entry, LONGEST, control};
use crate::memory::{Memory, fetch};
use crate::waypoints::Waypoints;

/// Bytes of code that are looked at in one go at most.
pub(crate) const PAGE: u64 = 4096;
/// Bytes of code that are looked at when one place of them is asked for: execution comes to few parts of a page.
pub(crate) const PART: u64 = 512;

/// Bytes between two places where an instruction may start, as a power of two.
pub(crate) const fn granule(isa: Isa) -> u32 {
    match isa {
        Isa::A64 | Isa::A32 => 2,
        _ => 1,
    }
}

/// The instruction set and the waypoints: they decide where runs end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) isa: Isa,
    pub(crate) waypoints: Waypoints,
    /// For each control, by its number, whether it ends a run.
    ends: u32,
}

/// An instruction set, as far as the builder's loop needs to know it when compiled.
trait Set {
    /// See [`granule`].
    const GRANULE: u32;
    /// Is it 4 bytes long?
    fn is_wide(word: u32) -> bool;
    /// Is it sequential, on a quick look?
    fn is_plain(word: u32) -> bool;
    /// The instruction at `pc`, in sets where each is a word.
    fn flow(_pc: u64, _word: u32) -> Option<Flow> {
        None
    }
}

struct A64;
struct A32;
struct T32;
struct RiscV;

impl Set for A64 {
    const GRANULE: u32 = granule(Isa::A64);
    fn is_wide(_: u32) -> bool {
        true
    }
    fn is_plain(word: u32) -> bool {
        a64::is_plain(word)
    }
    fn flow(pc: u64, word: u32) -> Option<Flow> {
        Some(a64::flow(pc, word))
    }
}

impl Set for A32 {
    const GRANULE: u32 = granule(Isa::A32);
    fn is_wide(_: u32) -> bool {
        true
    }
    fn is_plain(word: u32) -> bool {
        a32::is_plain(word)
    }
    fn flow(pc: u64, word: u32) -> Option<Flow> {
        Some(a32::flow(pc, word))
    }
}

impl Set for T32 {
    const GRANULE: u32 = granule(Isa::T32);
    fn is_wide(word: u32) -> bool {
        t32::is_wide(word)
    }
    fn is_plain(word: u32) -> bool {
        t32::is_plain(word)
    }
}

impl Set for RiscV {
    const GRANULE: u32 = granule(Isa::Rv64);
    fn is_wide(word: u32) -> bool {
        word & 0b11 == 0b11
    }
    fn is_plain(word: u32) -> bool {
        riscv::is_plain(word)
    }
}

impl Rules {
    pub(crate) fn new(isa: Isa, waypoints: Waypoints) -> Self {
        let ends = |number: u32| waypoints.ends(control(number.into()));
        Rules { isa, waypoints, ends: (0..u32::BITS).fold(0, |all, n| all | u32::from(ends(n)) << n) }
    }

    /// Gives the entry of every slot of the page at `address` (`length` bytes, at most [`PAGE`]) to `put`,
    /// by its number in the page. `is_part` says that more of the page follows: then it may return false, and nothing
    /// was given, as where a run of more than one entry is cut depends on the whole page.
    pub(crate) fn build(
        self,
        memory: &Memory,
        address: u64,
        (length, is_part): (u64, bool),
        put: impl FnMut(usize, Entry),
    ) -> bool {
        let range = (address, length, is_part);
        match self.isa {
            Isa::A64 => self.build_set::<A64>(memory, range, put),
            Isa::A32 => self.build_set::<A32>(memory, range, put),
            Isa::T32 => self.build_set::<T32>(memory, range, put),
            Isa::Rv32 | Isa::Rv64 => self.build_set::<RiscV>(memory, range, put),
            Isa::Other => true,
        }
    }

    fn build_set<S: Set>(
        self,
        memory: &Memory,
        (address, length, is_part): (u64, u64, bool),
        mut put: impl FnMut(usize, Entry),
    ) -> bool {
        let slots = length as usize >> S::GRANULE;
        // Runs that begin after the page, where the last instructions of the page fall into them: one slot
        // on is `next[0]`, two slots on is `next[1]`.
        let after = address.wrapping_add(length);
        let mut next = [self.walk::<S>(memory, after), Entry::HOLE];
        if S::GRANULE == 1 {
            next[1] = self.walk::<S>(memory, after.wrapping_add(2));
        }
        if is_part && next.iter().any(|run| run.count() == LONGEST) {
            return false;
        }

        let wanted = (length as usize + 2).min(PAGE as usize + 2);
        let mut edge: [u8; PAGE as usize + 2];
        let bytes = match memory.bytes_at(address).and_then(|bytes| bytes.get(..wanted)) {
            Some(bytes) => bytes,
            // The end of a segment.
            None => {
                edge = [0; PAGE as usize + 2];
                let known = memory.read(address, &mut edge[..wanted]);
                &edge[..known]
            }
        };
        for slot in (0..slots).rev() {
            let at = slot << S::GRANULE;
            let front = bytes.get(at..).unwrap_or_default();
            let follower = |wide| next[usize::from(wide && S::GRANULE == 1)];
            let entry = match front.first_chunk().map(|word| u32::from_le_bytes(*word)) {
                Some(word) if S::is_plain(word) => {
                    let wide = S::is_wide(word);
                    self.join_plain(if wide { 4 } else { 2 }, follower(wide))
                }
                word => {
                    let pc = address + at as u64;
                    let flow = word.and_then(|word| S::flow(pc, word));
                    let flow = flow.or_else(|| self.decode(memory, pc, front));
                    flow.map_or(Entry::HOLE, |flow| self.join(pc, &flow, follower(flow.length == 4)))
                }
            };
            put(slot, entry);
            next = [entry, next[0]];
        }
        true
    }

    /// The run that begins at `pc`, by walking it. Only for the edges of pages.
    fn walk<S: Set>(self, memory: &Memory, pc: u64) -> Entry {
        let (mut at, mut count, mut halfwords) = (pc, 0, 0);
        let (mut first, mut last) = (0, 0);
        // The rest of the segment that `at` is in.
        let mut rest: &[u8] = &[];
        while count < LONGEST {
            let mut edge = [0; 4];
            if rest.len() < edge.len() {
                rest = memory.bytes_at(at).unwrap_or_default();
            }
            let front = if rest.len() < edge.len() {
                let known = memory.read(at, &mut edge);
                &edge[..known]
            } else {
                rest
            };
            let length = match front.first_chunk().map(|word| u32::from_le_bytes(*word)) {
                Some(word) if S::is_plain(word) => 2 + 2 * u8::from(S::is_wide(word)),
                _ => match self.decode(memory, at, front) {
                    None => break,
                    Some(flow) if self.ends(&flow) => {
                        let end = Entry::last(at, &flow);
                        return if count == 0 { end } else { end.after_many(count, halfwords, first) };
                    }
                    Some(flow) => flow.length,
                },
            };
            if count == 0 {
                first = length;
            }
            last = length;
            count += 1;
            halfwords += u32::from(length) / 2;
            at = at.wrapping_add(length.into());
            rest = rest.get(usize::from(length)..).unwrap_or_default();
        }
        match count {
            0 => Entry::HOLE,
            1 => Entry::alone(last),
            _ => Entry::alone(last).after_many(count - 1, halfwords - u32::from(last) / 2, first),
        }
    }

    /// The instruction at the front of `bytes`.
    fn decode(self, memory: &Memory, pc: u64, bytes: &[u8]) -> Option<Flow> {
        let (encoding, length) = fetch(self.isa, bytes)?;
        let flow = trackway_isa::flow(self.isa, pc, encoding);
        if flow.length != length {
            return Some(Flow { control: Control::Undefined, ..Flow::sequential(length) });
        }
        let may_be_in_it = self.isa == Isa::T32 && !flow.conditional && flow.control != Control::Sequential;
        Some(if may_be_in_it && is_in_it_block(memory, pc) { t32::in_it_block(flow) } else { flow })
    }

    #[inline]
    fn ends(self, flow: &Flow) -> bool {
        self.ends >> flow.control as u32 & 1 == 1
    }

    /// The run of one instruction and what follows it.
    #[inline]
    fn join(self, pc: u64, flow: &Flow, follower: Entry) -> Entry {
        if self.ends(flow) { Entry::last(pc, flow) } else { self.join_plain(flow.length, follower) }
    }

    /// The run of an instruction of `length` bytes that control falls through, and what follows it.
    #[inline]
    fn join_plain(self, length: u8, follower: Entry) -> Entry {
        if follower.is_empty() || follower.count() == LONGEST {
            Entry::alone(length)
        } else {
            follower.after(length)
        }
    }
}

/// Does an IT instruction before `pc` make the T32 instruction at `pc` conditional?
fn is_in_it_block(memory: &Memory, pc: u64) -> bool {
    // An IT reaches at most four instructions of 4 bytes; the fifth cannot be the one at `pc`.
    (1..=7).any(|halfwords| {
        let Some(it) = pc.checked_sub(2 * halfwords) else { return false };
        let Some(length) = memory.halfword(it).and_then(|word| t32::it_length(word.into())) else {
            return false;
        };
        let mut at = it.wrapping_add(2);
        for _ in 0..length {
            if at == pc {
                return is_start(memory, it);
            }
            let Some(word) = memory.halfword(at) else { return false };
            at = at.wrapping_add(if t32::is_wide(word.into()) { 4 } else { 2 });
        }
        false
    })
}

/// Is the halfword at `address` the start of an instruction, and not the second half of one? Going back
/// over halfwords that look like the first half of a wide instruction, their number decides: an
/// instruction starts at the first of them, whatever came before.
fn is_start(memory: &Memory, address: u64) -> bool {
    /// Literal pools can be long; code is not.
    const FAR: u64 = 64;
    let wide = (1..=FAR).take_while(|n| {
        let before = address.checked_sub(2 * n).and_then(|at| memory.halfword(at));
        before.is_some_and(|word| t32::is_wide(word.into()))
    });
    wide.count() % 2 == 0
}
