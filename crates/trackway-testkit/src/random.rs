//! Random RISC-V programs and random walks through them, for flow formats.
//!
//! A [`Program`] is a few dozen instructions that transfer control in every way there is. A [`Walk`] goes
//! through it at random and yields events; it knows what a decoder has to find.

use std::ops::Range;

use trackway_core::*;

/// A small generator of numbers (SplitMix64), the same on every machine.
#[derive(Clone, Copy, Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.draw() % n.max(1)
    }

    /// True once in `n` times; never for 0.
    pub fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }
}

/// The seeds of a test: `usual`, or those of `TRACKWAY_SEEDS`, as `2000..4000`.
pub fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("TRACKWAY_SEEDS") else { return usual };
    let seeds = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    seeds.unwrap_or_else(|| panic!("TRACKWAY_SEEDS={text} is not a range such as 2000..4000"))
}

/// How an instruction leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// To the next one.
    Next,
    /// Conditional branch to the slot.
    Branch(usize),
    /// Direct jump to the slot.
    Jump(usize),
    /// Direct call of the slot.
    Call(usize),
    /// Indirect jump.
    Indirect,
    /// Indirect call.
    IndirectCall,
    /// Return.
    Return,
    /// Loads the address of the slot for the jump after it.
    Pair(usize),
    /// Indirect jump that the pair before it explains.
    PairJump {
        /// It is a call.
        call: bool,
    },
    /// Return from a trap.
    TrapReturn,
    /// System call.
    Syscall,
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Its address.
    pub pc: u64,
    /// Its encoding.
    pub encoding: u32,
    /// Its length in bytes.
    pub length: u8,
    /// How it leaves.
    pub leave: Leave,
}

/// A program of random control transfers.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its instructions, in order of address.
    pub slots: Vec<Slot>,
}

impl Program {
    /// A program of `count` instructions from `base` on; the last one jumps to the first.
    pub fn new(numbers: &mut Numbers, base: u64, count: usize) -> Self {
        let mut slots = Vec::new();
        let mut pc = base;
        let mut pair = false;
        for n in 0..count {
            let to = numbers.below(count as u64) as usize;
            let leave = match numbers.below(24) {
                _ if n + 1 == count => Leave::Jump(0),
                _ if pair => Leave::PairJump { call: numbers.one_in(2) },
                0..=4 => Leave::Branch(to),
                5 | 6 => Leave::Jump(to),
                7 | 8 => Leave::Call(to),
                9 => Leave::Indirect,
                10 => Leave::IndirectCall,
                11 | 12 => Leave::Return,
                13 => Leave::Pair(to),
                14 => Leave::TrapReturn,
                15 => Leave::Syscall,
                _ => Leave::Next,
            };
            pair = matches!(leave, Leave::Pair(_));
            let short = numbers.one_in(2);
            let length = match leave {
                Leave::Next | Leave::Indirect | Leave::IndirectCall | Leave::Return if short => 2,
                _ => 4,
            };
            slots.push(Slot { pc, encoding: 0, length, leave });
            pc += u64::from(length);
        }
        let starts: Vec<u64> = slots.iter().map(|slot| slot.pc).collect();
        for n in 0..slots.len() {
            let Slot { pc, length, leave, .. } = slots[n];
            let distance = |to: usize| starts[to].wrapping_sub(pc) as u32;
            let link = numbers.below(2) as u32 * 4 + 1; // x1 or x5
            slots[n].encoding = match (leave, length) {
                (Leave::Next, 2) => 0x0001,
                (Leave::Next, _) => 0x0000_0013,
                (Leave::Branch(to), _) => branch(distance(to)),
                (Leave::Jump(to), _) => jal(0, distance(to)),
                (Leave::Call(to), _) => jal(link, distance(to)),
                (Leave::Indirect, 2) => 0x8502,      // c.jr a0
                (Leave::Indirect, _) => 0x0005_0067, // jalr x0, 0(a0)
                (Leave::IndirectCall, 2) => 0x9502,  // c.jalr a0
                (Leave::IndirectCall, _) => 0x0005_0067 | link << 7,
                (Leave::Return, 2) => 0x8082,
                (Leave::Return, _) => 0x0000_0067 | link << 15,
                (Leave::Pair(_), _) => 0x0000_0317, // auipc x6, 0
                (Leave::PairJump { call }, _) => {
                    let offset = match slots[n - 1].leave {
                        Leave::Pair(to) => starts[to].wrapping_sub(starts[n - 1]) as u32,
                        _ => 0,
                    };
                    0x0003_0067 | offset << 20 | if call { link << 7 } else { 0 }
                }
                (Leave::TrapReturn, _) => 0x3020_0073,
                (Leave::Syscall, _) => 0x0000_0073,
            };
        }
        Program { slots }
    }

    /// Its bytes, from the first instruction's address on.
    pub fn bytes(&self) -> Vec<u8> {
        let each = |slot: &Slot| slot.encoding.to_le_bytes()[..usize::from(slot.length)].to_vec();
        self.slots.iter().flat_map(each).collect()
    }
}

fn branch(distance: u32) -> u32 {
    let bit = |from: u32, width: u32, to: u32| (distance >> from & ((1 << width) - 1)) << to;
    0x0000_0063 | bit(12, 1, 31) | bit(5, 6, 25) | bit(1, 4, 8) | bit(11, 1, 7)
}

fn jal(rd: u32, distance: u32) -> u32 {
    let bit = |from: u32, width: u32, to: u32| (distance >> from & ((1 << width) - 1)) << to;
    0x0000_006f | rd << 7 | bit(20, 1, 31) | bit(1, 10, 21) | bit(11, 1, 20) | bit(12, 8, 12)
}

/// How often things happen on a walk: once in that many instructions, 0 for never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// Exceptions.
    pub exception: u64,
    /// Interrupts.
    pub interrupt: u64,
    /// Returns that go elsewhere than where they were called from.
    pub stray_return: u64,
    /// Privilege changes at trap returns and traps; otherwise all runs at one level.
    pub privilege: bool,
    /// Context changes.
    pub context: u64,
    /// Watchpoints.
    pub notify: u64,
    /// Branches are mostly taken the same way.
    pub steady: bool,
    /// All traps go to slot 0.
    pub vector: bool,
}

/// One thing that a decoder has to find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// An instruction retired, at a privilege.
    Retired(u64, Privilege),
    /// A trap: interrupt, cause, value, where it hit, where it went.
    Trap(bool, u64, Option<u64>, Option<u64>, Option<u64>),
}

/// A random walk through a program.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Its events.
    pub batch: Batch,
    /// Things that a decoder has to find, in order.
    pub seen: Vec<Seen>,
    /// Context changes: number of the retired instruction that is the first in it, its id, how to report it.
    pub contexts: Vec<(u64, u64, u8)>,
    /// Watchpoints hit.
    pub notified: Vec<u64>,
}

impl Walk {
    /// `steps` instructions from the first slot on.
    pub fn new(numbers: &mut Numbers, program: &Program, steps: usize, rates: Rates) -> Self {
        let slots = &program.slots;
        let mut walk =
            Walk { batch: Batch::default(), seen: Vec::new(), contexts: Vec::new(), notified: Vec::new() };
        let mut calls: Vec<usize> = Vec::new();
        let mut privilege = Privilege::M;
        let (mut at, mut after_pair) = (numbers.below(slots.len() as u64) as usize, None);
        let anywhere = |numbers: &mut Numbers| numbers.below(slots.len() as u64) as usize;
        let handler =
            |numbers: &mut Numbers| if rates.vector { 0 } else { numbers.below(slots.len() as u64) as usize };
        walk.batch.push_context(0, Context { privilege: Some(privilege), ..Context::default() });
        let mut wanted = 0;
        let (mut retired, mut context, mut announced) = (0, 0, None);
        while wanted < steps {
            wanted += 1;
            let slot = slots[at];
            if rates.context > 0 && numbers.one_in(rates.context) {
                let id = numbers.below(100) + 1;
                let change = 1 + numbers.below(3) as u8;
                if id != context {
                    context = id;
                    announced = Some((id, change));
                    walk.batch.push_context(
                        0,
                        Context { context_id: Some(id), change: Some(change), ..Context::default() },
                    );
                }
            }
            let is_call = slot.leave == Leave::Syscall;
            let interrupt = numbers.one_in(rates.interrupt);
            if interrupt || is_call || numbers.one_in(rates.exception) {
                let to = handler(numbers);
                let cause = if is_call && !interrupt { 8 } else { numbers.below(8) };
                let cause = if !interrupt && cause == 1 { 5 } else { cause };
                let value = (!interrupt).then(|| numbers.below(1 << 20));
                let kind = if interrupt { TrapKind::Interrupt } else { TrapKind::Exception };
                if !interrupt {
                    let step = Step::new(slot.pc, slot.encoding, slot.length);
                    walk.batch.push(0, EventKind::Step(Step { outcome: Outcome::Attempted, ..step }));
                }
                let target = slots[to].pc;
                let (from, to_pc) = (Some(slot.pc), Some(target));
                walk.batch
                    .push_trap(0, Trap { cause: Some(cause), value, from, to: to_pc, ..Trap::new(kind) });
                walk.seen.push(Seen::Trap(interrupt, cause, value, from, to_pc));
                if rates.privilege && privilege != Privilege::M {
                    privilege = Privilege::M;
                    walk.batch.push_context(0, Context { privilege: Some(privilege), ..Context::default() });
                }
                (at, after_pair) = (to, None);
                continue;
            }
            let next = (at + 1) % slots.len();
            let mut step = Step::new(slot.pc, slot.encoding, slot.length);
            let mut pair = None;
            let to = match slot.leave {
                Leave::Next | Leave::Syscall => next,
                Leave::Branch(to) => {
                    let taken =
                        if rates.steady { !numbers.one_in(40) ^ (to % 2 == 0) } else { numbers.one_in(2) };
                    step.taken = Some(taken);
                    if taken { to } else { next }
                }
                Leave::Jump(to) => to,
                Leave::Call(to) => {
                    calls.push(next);
                    to
                }
                Leave::Indirect => anywhere(numbers),
                Leave::IndirectCall => {
                    calls.push(next);
                    anywhere(numbers)
                }
                Leave::Return => match calls.pop() {
                    Some(to) if !numbers.one_in(rates.stray_return) => to,
                    _ => anywhere(numbers),
                },
                Leave::Pair(to) => {
                    pair = Some(to);
                    next
                }
                Leave::PairJump { call } => {
                    if call {
                        calls.push(next);
                    }
                    after_pair.unwrap_or_else(|| anywhere(numbers))
                }
                Leave::TrapReturn => anywhere(numbers),
            };
            calls.truncate(200);
            walk.batch.push(0, EventKind::Step(step));
            walk.seen.push(Seen::Retired(slot.pc, privilege));
            if let Some((id, change)) = announced.take() {
                walk.contexts.push((retired, id, change));
            }
            retired += 1;
            if numbers.one_in(rates.notify) {
                walk.notified.push(slot.pc);
                let mark = Mark { value: Some(slot.pc), ..Mark::new(MarkKind::Notify) };
                walk.batch.push(0, EventKind::Mark(mark));
            }
            if slot.leave == Leave::TrapReturn && rates.privilege {
                let now = [Privilege::U, Privilege::S, Privilege::M][numbers.below(3) as usize];
                if now != privilege {
                    privilege = now;
                    walk.batch.push_context(0, Context { privilege: Some(privilege), ..Context::default() });
                }
            }
            (at, after_pair) = (to, pair);
        }
        walk
    }
}
