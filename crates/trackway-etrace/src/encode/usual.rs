//! The usual case in few steps: nothing but the flow changes from row to row, and most rows send nothing.
//!
//! Everything here is what [`pass`](Encoder::pass) and its kin do with the same blocks, by fewer tests: those that
//! cannot change from one usual row to the next are made once, when a row is made in full.

use super::Encoder;
use super::row::{Changes, Departure, RowKind};
use crate::port::{Block, Cycle, Itype, Trigger};

impl Encoder {
    /// Finds out, once a row was made in full, whether the next blocks can be usual.
    #[inline]
    pub(super) fn note_usual(&mut self) {
        let row = &self.row;
        let options = &self.options;
        let odd_row = row.kind != RowKind::Retire
            || row.changes != Changes::NONE
            || row.notify | row.cut | row.untraced
            || self.previous.trap.is_some();
        let busy = self.first
            | self.lost
            | self.sync_next
            | self.restart
            | self.ambiguous
            | self.context_pending
            | self.data.on;
        let odd_modes = options.branch_prediction
            | options.implicit_return
            | options.jump_target_cache
            | options.sijump
            | (self.config.encoder.buffer > 0);
        self.usual = self.shortcuts
            && !(odd_row | busy | odd_modes)
            && self.qualifier.is_open()
            && self.qualifier.trap.is_none()
            && self.error.is_ok();
    }

    /// Takes a block in the usual way; false if it is not usual, and nothing has happened then.
    #[inline(always)]
    pub(super) fn take_usual(&mut self, block: &Block, cycle: &Cycle<'_>) -> bool {
        if !(self.has_usual(cycle) & is_usual(block)) {
            return false;
        }
        let mut halfwords = self.row.halfwords;
        if self.open != Some(block.iaddr) {
            if !self.begin_usual(block, cycle.time) {
                return false;
            }
            halfwords = 0;
        }
        self.row.halfwords = halfwords + block.iretire;
        self.end_usual(block, cycle.time, cycle.cycle);
        true
    }

    /// Joins a usual block to the row; false if it begins another one, and nothing has happened then.
    #[inline(always)]
    pub(super) fn join_usual(&mut self, block: &Block, cycle: &Cycle<'_>) -> bool {
        if !(self.has_usual(cycle) & is_usual(block)) || self.open != Some(block.iaddr) {
            return false;
        }
        let end = self.extend_usual(block, cycle.time, cycle.cycle);
        // The row has been plain so far.
        if block.itype.0 == 0 {
            self.open = Some(end);
        } else {
            (self.row.itype, self.open) = (block.itype, None);
        }
        self.row.halfwords += block.iretire;
        true
    }

    /// Takes blocks, each in a cycle of its own from `cycle` on, up to the first that is not usual; returns their number.
    #[inline(always)]
    pub(super) fn take_many(&mut self, blocks: &[Block], cycle: &Cycle<'_>) -> usize {
        let (mut rest, mut open, mut halfwords) = (blocks, self.open, self.row.halfwords);
        let mut is_usual_yet = self.has_usual(cycle);
        while is_usual_yet {
            let mut last = None;
            if let Some(mut end) = open {
                // Plain blocks of the row, and the one that ends it.
                while let [block, after @ ..] = rest
                    && block.iaddr == end
                    && is_plain(block)
                {
                    halfwords += block.iretire;
                    end = end.wrapping_add(u64::from(block.iretire) * 2);
                    (rest, last) = (after, Some(block));
                }
                if let [block, after @ ..] = rest
                    && block.iaddr == end
                    && is_usual(block)
                {
                    halfwords += block.iretire;
                    (rest, last) = (after, Some(block));
                }
            }
            let time = cycle.cycle.wrapping_add((blocks.len() - rest.len()) as u64);
            if let Some(block) = last {
                self.row.halfwords = halfwords;
                self.end_usual(block, cycle.time, time.wrapping_sub(1));
            }
            let [block, after @ ..] = rest else { break };
            if !(is_usual(block) && self.begin_usual(block, cycle.time)) {
                break;
            }
            (open, halfwords) = (Some(block.iaddr), 0);
            if !(self.can_join & self.usual) {
                // Nothing is joined to the target of an uninferable jump, nor after the last usual block.
                (rest, open) = (after, None);
                self.row.halfwords = block.iretire;
                self.end_usual(block, cycle.time, time);
            }
            is_usual_yet = self.usual;
        }
        blocks.len() - rest.len()
    }

    /// May the blocks of a cycle be usual?
    #[inline(always)]
    fn has_usual(&self, cycle: &Cycle<'_>) -> bool {
        self.usual & (cycle.privilege == self.row.privilege) & (cycle.context == self.row.context)
    }

    /// The row ends with the last instruction of the block.
    #[inline(always)]
    fn end_usual(&mut self, block: &Block, time: u64, cycle: u64) {
        let end = self.extend_usual(block, time, cycle);
        self.row.itype = block.itype;
        self.open = if self.can_join & (block.itype.0 == 0) { Some(end) } else { None };
    }

    /// The last instruction of the block is that of the row; returns the address after it.
    #[inline(always)]
    fn extend_usual(&mut self, block: &Block, time: u64, cycle: u64) -> u64 {
        let size = 2 << block.ilastsize;
        let end = block.iaddr.wrapping_add(u64::from(block.iretire) * 2);
        let row = &mut self.row;
        (row.size, row.address) = (size, end.wrapping_sub(size.into()));
        (row.time, row.cycle) = (time, cycle);
        end
    }

    /// Begins a row with a usual block; false, and nothing has happened, if the row before it is not usual.
    #[inline(always)]
    fn begin_usual(&mut self, block: &Block, time: u64) -> bool {
        if !self.pass_usual(block.iaddr) {
            return false;
        }
        self.row.from = block.iaddr;
        if !self.can_join && block.last() != block.iaddr {
            let first = self.tally.entered.0.plus(self.tally.first.into());
            self.row.time = time;
            self.report_target(block.iaddr, first);
            self.row.from = block.iaddr.wrapping_add(2);
        }
        true
    }

    /// The pass of a row that sends nothing, or the report after an uninferable jump; the next one is at `next`.
    #[inline(always)]
    fn pass_usual(&mut self, next: u64) -> bool {
        let itype = self.row.itype;
        if !self.can_join {
            // Only plain rows: their report needs no look at what comes next.
            if itype.0 != 0 || self.row.next() != next || !self.previous.updiscon() {
                return false;
            }
            self.halfwords += u64::from(self.row.halfwords);
            self.report_target(self.row.address, self.row.end);
            return true;
        }
        let halfwords = self.halfwords + u64::from(self.row.halfwords);
        if itype.0 == 0 || self.progress(halfwords) >= self.due {
            return false;
        }
        if !self.stretch.runs.is_empty() && self.overlaps(self.row.from, self.row.address) {
            return false;
        }
        if itype.is_branch() {
            if self.branches >= 30 {
                return false;
            }
            self.map |= u32::from(itype != Itype::TAKEN_BRANCH) << self.branches;
            self.branches += 1;
            self.branched = true;
            self.stretch.begin(next);
            self.previous.departure = Departure::Branch;
        } else if itype.is_uninferable() {
            let passed = self.stretch.has_passed(next, self.row.address);
            self.previous.target_passed = passed && self.config.encoder.exact;
            self.previous.departure = Departure::Updiscon;
            self.stretch.begin(next);
            self.can_join = false;
        } else {
            if self.config.encoder.exact {
                self.stretch.transfer(self.row.address, self.row.end, next);
            }
            self.previous.departure = Departure::Inferred;
        }
        self.halfwords = halfwords;
        true
    }

    /// Reports the target of an uninferable jump, at which the trace is at `end`.
    #[inline(always)]
    fn report_target(&mut self, address: u64, end: super::Progress) {
        self.report_usual(address, end);
        self.stretch.begin(address.wrapping_add(1));
        self.previous.departure = Departure::Plain;
        self.can_join = true;
        self.usual &= !(self.ambiguous | self.lost) & self.error.is_ok();
    }
}

/// Does a block retire plain instructions and nothing else?
#[inline(always)]
fn is_plain(block: &Block) -> bool {
    let Trigger { on, off, notify } = block.trigger;
    (block.itype.0 | u8::from(on) | u8::from(off) | u8::from(notify) == 0) && block.iretire > 0
}

/// Does a block retire instructions and nothing else?
#[inline(always)]
fn is_usual(block: &Block) -> bool {
    let Trigger { on, off, notify } = block.trigger;
    !(on | off | notify | (block.iretire == 0) | block.itype.is_trap())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trackway_core::*;
    use trackway_image::Image;
    use trackway_testkit::random::{Numbers, Program, Rates, Walk};

    use crate::config::{Config, ResyncMode};
    use crate::dialect::Dialect;
    use crate::encode::Encoder;
    use crate::lower::Lower;
    use crate::port::{Block, Cycle, Itype};

    /// Bytes and account of a trace that comes in two parts, and whether its end was usual.
    fn encode(batch: &Batch, cut: usize, config: &Config, shortcuts: bool) -> (Vec<u8>, String, bool) {
        let mut lower = Lower::new(Vec::new(), config, Isa::Rv64, None).unwrap();
        lower.encoder_mut().shortcuts = shortcuts;
        if cut.is_multiple_of(2) {
            lower.keep_code(Arc::new(Image::default()));
        }
        for events in [&batch.events[..cut], &batch.events[cut..]] {
            lower.put(&Batch { events: events.to_vec(), ..batch.clone() }).unwrap();
        }
        let usual = lower.encoder().usual;
        let account = format!("{:?}", lower.finish().unwrap());
        (lower.into_inner(), account, usual)
    }

    /// A random execution, and settings for it.
    fn case(seed: u64) -> Option<(Walk, Config, Numbers)> {
        let mut random = Numbers(seed);
        let numbers = &mut random;
        let count = 4 + numbers.below(60) as usize;
        let program = Program::new(numbers, 0x8000, count);
        let on = numbers.draw();
        let rate = |bit: u32, rate: u64| if on >> bit & 3 == 3 { rate } else { 0 };
        let rates = Rates {
            exception: rate(0, 40),
            interrupt: rate(2, 40),
            stray_return: rate(4, 3),
            privilege: on >> 6 & 3 == 3,
            context: rate(8, 40),
            notify: rate(10, 40),
            steady: on >> 12 & 1 == 1,
            vector: false,
        };
        let steps = 50 + numbers.below(800) as usize;
        let walk = Walk::new(numbers, &program, steps, rates);
        let mut config = Config::new(if on >> 13 & 1 == 1 { Dialect::V2 } else { Dialect::Draft });
        config.params.iaddress_width = 64;
        config.params.ecause_width = 5;
        config.params.nocontext = (on >> 14 & 1) as u32;
        config.params.context_width = 8;
        config.params.itype_width = if on >> 15 & 3 == 3 { 3 } else { 4 };
        config.params.cache_size = 3;
        config.params.bpred_size = 3;
        config.params.sijump = u32::from(on >> 17 & 3 == 3);
        config.options.sijump = config.params.sijump == 1;
        config.options.branch_prediction = on >> 19 & 7 == 7;
        config.options.jump_target_cache = on >> 22 & 7 == 7;
        config.options.full_address = on >> 25 & 1 == 1;
        config.params.f0s_width = 1;
        config.encoder.exact = on >> 26 & 1 == 1;
        config.encoder.compress = on >> 27 & 1 == 1;
        config.encoder.block = (on >> 28 & 1) as u32;
        let interval = 1 + numbers.below(90);
        (config.encoder.resync_mode, config.encoder.resync_interval) = match numbers.below(4) {
            0 => (ResyncMode::Off, None),
            1 => (ResyncMode::Packets, Some(interval)),
            2 => (ResyncMode::Cycles, Some(interval)),
            _ => (ResyncMode::Halfwords, Some(interval)),
        };
        config.check().is_ok().then_some((walk, config, random))
    }

    /// The usual way yields the packets and the account of the full one, whatever happens between usual blocks.
    #[test]
    fn the_usual_way_is_the_full_one() {
        let (mut usual, mut cases) = (0, 0);
        for seed in 0..4000 {
            let Some((walk, config, mut numbers)) = case(seed) else { continue };
            let cut = numbers.below(walk.batch.events.len() as u64) as usize;
            let quick = encode(&walk.batch, cut, &config, true);
            let full = encode(&walk.batch, cut, &config, false);
            assert_eq!(quick.0, full.0, "seed {seed}: {config:?}");
            assert_eq!(quick.1, full.1, "seed {seed}: {config:?}");
            cases += 1;
            usual += u32::from(quick.2);
        }
        assert!(cases > 2000 && usual > cases / 4, "{usual} of {cases}");
    }

    /// The signals of the port for an execution, a block for each instruction.
    fn port(batch: &Batch) -> Vec<(Block, Cycle<'static>)> {
        let (mut blocks, mut now) = (Vec::<(Block, Cycle<'static>)>::new(), Cycle::default());
        for event in &batch.events {
            match event.kind {
                EventKind::Step(step) if step.outcome == Outcome::Retired => {
                    let (pc, length) = (step.pc.unwrap(), step.length);
                    let control = trackway_isa::flow(Isa::Rv64, pc, step.encoding).control;
                    let itype = Itype::new(control, step.taken.unwrap_or(false), 4);
                    blocks.push((Block::single(itype, pc, true, u8::from(length == 4)), now));
                }
                EventKind::Trap(n) => {
                    let trap = &batch.traps[n as usize];
                    let itype =
                        if trap.kind == TrapKind::Interrupt { Itype::INTERRUPT } else { Itype::EXCEPTION };
                    let signals = Cycle { cause: trap.cause.unwrap_or(0), ..now };
                    blocks.push((Block::single(itype, trap.from.unwrap_or(0), false, 0), signals));
                }
                EventKind::Context(n) => {
                    let context = &batch.contexts[n as usize];
                    now.privilege = context.privilege.map_or(now.privilege, |to| to as u32 % 4);
                    (now.context, now.ctype) = (context.context_id.unwrap_or(now.context), 2);
                    now.time += 1;
                }
                EventKind::Mark(_) => {
                    if let Some((block, _)) = blocks.last_mut() {
                        block.trigger.notify = true;
                    }
                }
                _ => {}
            }
        }
        blocks
    }

    /// Signals in cycles one by one yield the packets of the full way, and so do many cycles at once.
    #[test]
    fn cycles_of_the_port_are_taken_alike_one_by_one_and_together() {
        let mut usual = 0;
        for seed in 0..2000 {
            let Some((walk, config, mut numbers)) = case(seed) else { continue };
            let port = port(&walk.batch);
            let one_by_one = |shortcuts: bool, usual: &mut u32| {
                let mut encoder = Encoder::new(&config).unwrap();
                encoder.shortcuts = shortcuts;
                for (n, (block, signals)) in port.iter().enumerate() {
                    encoder.cycle(&Cycle { blocks: &[*block], cycle: n as u64, ..*signals }).unwrap();
                    *usual += u32::from(encoder.usual);
                }
                encoder.finish(port.len() as u64).unwrap();
                encoder.writer.take()
            };
            let full = one_by_one(false, &mut 0);
            assert_eq!(one_by_one(true, &mut usual), full, "seed {seed}: {config:?}");
            let mut encoder = Encoder::new(&config).unwrap();
            let mut at = 0;
            for part in port.chunk_by(|a, b| a.1 == b.1 && numbers.below(40) > 0) {
                let blocks: Vec<Block> = part.iter().map(|(block, _)| *block).collect();
                encoder.cycles(&blocks, &Cycle { cycle: at, ..part[0].1 }).unwrap();
                at += part.len() as u64;
            }
            encoder.finish(at).unwrap();
            assert_eq!(encoder.writer.take(), full, "seed {seed}: {config:?}");
        }
        assert!(usual > 100_000, "{usual}");
    }
}
