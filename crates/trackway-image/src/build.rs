//! Filling the block table: a page of code at a time, from its end to its start.

use trackway_core::Isa;
use trackway_isa::arm::t32;
use trackway_isa::{Control, Flow};

use crate::blocks::Waypoints;
use crate::entry::{Distance, Entry, Exchange, LONGEST, Summary};
use crate::memory::{Memory, fetch};

/// Bytes of code that are looked at in one go.
pub(crate) const PAGE: u64 = 4096;

/// Bytes between two places where an instruction may start, as a power of two.
pub(crate) const fn granule(isa: Isa) -> u32 {
    match isa {
        Isa::A64 | Isa::A32 => 2,
        _ => 1,
    }
}

/// What decides where runs end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) isa: Isa,
    pub(crate) waypoints: Waypoints,
}

/// One instruction: `None` in a hole.
type Decoded = Option<Flow>;

impl Rules {
    /// Gives the entry of every slot of the page at `address` (`length` bytes, at most [`PAGE`]) to `put`,
    /// by its number in the page.
    pub(crate) fn build(self, memory: &Memory, address: u64, length: u64, mut put: impl FnMut(usize, Entry)) {
        let mut bytes = [0; PAGE as usize + 2];
        let wanted = (length as usize + 2).min(bytes.len());
        let known = memory.read(address, &mut bytes[..wanted]);
        let step = 1 << granule(self.isa);
        let slots = length as usize / step;

        // Runs that begin behind the page, where the last instructions of the page fall into them.
        let behind = address.wrapping_add(length);
        let mut next = [self.walk(memory, behind), self.walk(memory, behind.wrapping_add(2))];
        for slot in (0..slots).rev() {
            let at = slot * step;
            let pc = address + at as u64;
            let flow = bytes.get(at..known).and_then(|bytes| self.decode(memory, pc, bytes));
            let run = flow.map(|flow| {
                // One slot on is `next[0]`, two slots on is `next[1]`.
                let follower = if usize::from(flow.length) == step { next[0] } else { next[1] };
                self.join(pc, flow, follower)
            });
            put(slot, run.as_ref().map_or(Entry::HOLE, Entry::new));
            next = [run, next[0]];
        }
    }

    /// The run that begins at `pc`, by walking it. Only for the edges of pages.
    fn walk(self, memory: &Memory, pc: u64) -> Option<Summary> {
        let mut flows = Vec::new();
        let mut at = pc;
        while flows.len() < LONGEST as usize {
            let mut bytes = [0; 4];
            let known = memory.read(at, &mut bytes);
            let Some(flow) = self.decode(memory, at, &bytes[..known]) else { break };
            flows.push((at, flow));
            if self.ends(&flow) {
                break;
            }
            at = at.wrapping_add(flow.length.into());
        }
        flows.into_iter().rev().fold(None, |follower, (at, flow)| Some(self.join(at, flow, follower)))
    }

    /// The instruction at the front of `bytes`.
    fn decode(self, memory: &Memory, pc: u64, bytes: &[u8]) -> Decoded {
        let (encoding, length) = fetch(self.isa, bytes)?;
        let flow = trackway_isa::flow(self.isa, pc, encoding);
        if flow.length != length {
            return Some(Flow { control: Control::Undefined, ..Flow::sequential(length) });
        }
        let may_be_in_it = self.isa == Isa::T32 && !flow.conditional && flow.control != Control::Sequential;
        Some(if may_be_in_it && is_in_it_block(memory, pc) { t32::in_it_block(flow) } else { flow })
    }

    fn ends(self, flow: &Flow) -> bool {
        self.waypoints.ends(flow.control)
    }

    /// The run of one instruction and what follows it.
    fn join(self, pc: u64, flow: Flow, follower: Option<Summary>) -> Summary {
        let wide = flow.length == 4;
        let halfwords = u32::from(flow.length) / 2;
        if !self.ends(&flow) {
            if let Some(run) = follower.filter(|run| run.count < LONGEST) {
                return Summary {
                    count: run.count + 1,
                    halfwords: run.halfwords + halfwords,
                    first_wide: wide,
                    distance: match run.distance {
                        Distance::Near(distance) => Distance::Near(distance + i64::from(halfwords)),
                        other => other,
                    },
                    ..run
                };
            }
            return Summary {
                count: 1,
                halfwords,
                control: Control::Sequential,
                conditional: false,
                exchange: Exchange::Stay,
                last_wide: wide,
                first_wide: wide,
                distance: Distance::None,
            };
        }
        let distance = flow.target.map_or(Distance::None, |target| match target.wrapping_sub(pc) as i64 {
            distance if distance & 1 == 0 => Distance::Near(distance / 2),
            _ => Distance::Far,
        });
        Summary {
            count: 1,
            halfwords,
            control: flow.control,
            conditional: flow.conditional,
            exchange: flow.switch.into(),
            last_wide: wide,
            first_wide: wide,
            distance,
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
        let mut at = it + 2;
        for _ in 0..length {
            if at == pc {
                return is_start(memory, it);
            }
            let Some(word) = memory.halfword(at) else { return false };
            at += if t32::is_wide(word.into()) { 4 } else { 2 };
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
