//! Along the program to an address: exceptions, source addresses, Q elements.

use std::sync::Arc;

use trackway_core::{Exit, GapReason, Isa, Run, Syscall, Trap};
use trackway_image::{Block, Cursor};
use trackway_isa::Control;

use super::code::run_of;
use super::{Analyser, TOP};
use crate::profile::Profile;
use crate::wire::address::Entry;
use crate::wire::exception_type;

impl Analyser {
    /// Follows blocks that all fall through, up to the one with `address`.
    fn walk(&mut self, offset: u64, address: u64, source: bool) -> Walk {
        let ahead = self.flow.wrap(address.wrapping_sub(self.flow.pc));
        if ahead > TOP && address < self.flow.pc {
            return Walk::Elsewhere;
        }
        let mut left = ahead;
        loop {
            if left == 0 && !source {
                return Walk::There;
            }
            let pc = self.flow.pc;
            let Some(block) = self.block(pc) else {
                self.no_code(offset, pc);
                return Walk::NoCode;
            };
            let length = block.end.wrapping_sub(pc);
            if left < length {
                return Walk::Within(block);
            }
            left -= length;
            if block.control == Control::Sequential {
                self.run(offset, run_of(&block, self.flow.isa(), false));
                self.flow.pc = self.flow.wrap(block.end);
            } else {
                self.branch(offset, &block, false);
                if !self.flow.has_address {
                    return Walk::Elsewhere;
                }
            }
        }
    }

    /// The part of a block before `address`, or up to and including it.
    fn part(&mut self, block: &Block, address: u64, with: bool) -> Run {
        let isa = self.flow.isa();
        let mut run = Run { exit: Exit::Next, taken: None, ..run_of(block, isa, true) };
        run.doubtful = false;
        let wide = |cursor: &mut Cursor, at: u64| {
            cursor.blocks().memory().fetch(isa, at).map_or(2, |(_, length)| u64::from(length))
        };
        match self.cursor().position(block.start, address) {
            Some(before) if with => {
                run.count = before + 1;
                run.end = address.wrapping_add(wide(self.cursor(), address));
            }
            Some(before) => {
                run.count = before;
                run.end = address;
            }
            None => {
                // The address is inside an instruction, or the block is in several pieces.
                (run.count, run.end) = (0, block.start);
                while run.end < address {
                    let length = wide(self.cursor(), run.end).max(2);
                    if run.end.wrapping_add(length) > address.wrapping_add(if with { length } else { 0 }) {
                        break;
                    }
                    run.end = run.end.wrapping_add(length);
                    run.count += 1;
                }
                run.doubtful = run.end != address;
            }
        }
        run
    }

    /// Exception element (K10.5.5.6.1).
    pub(super) fn exception(&mut self, offset: u64, number: u16, return_address: Option<Entry>) {
        self.settle();
        let mut trap = Trap { cause: Some(number.into()), ..Trap::new(self.profile.trap_kind(number)) };
        if let Some(entry) = return_address {
            let address = self.flow.wrap(entry.address);
            trap.return_address = Some(address);
            trap.from = Some(address);
            if self.synchronise(offset) {
                self.walk_to_exception(offset, number, address, &mut trap);
            }
        }
        self.flow.lose_address();
        self.flow.last = None;
        self.settle();
        if !self.withdrawn && self.is_halt(number) {
            self.halt(offset, true);
        } else if !self.withdrawn {
            self.out.trap(offset, trap);
        }
    }

    fn is_halt(&self, number: u16) -> bool {
        self.profile == Profile::A && number == exception_type::DEBUG_HALT
    }

    fn walk_to_exception(&mut self, offset: u64, number: u16, address: u64, trap: &mut Trap) {
        match self.walk(offset, address, false) {
            Walk::NoCode => {}
            Walk::There => {
                // The code that is known ends where the exception was taken.
                let last = self.out.last_run().copied();
                if let Some(mut run) = last.filter(|run| run.exit == Exit::Next && run.end == address)
                    && !self.withdrawn
                {
                    self.end_in_trap(number, &mut run, trap);
                    if let Some(last) = self.out.last_run() {
                        *last = run;
                    }
                }
            }
            Walk::Elsewhere => self.gap(offset, GapReason::Unexplained, Some(self.flow.pc), None),
            Walk::Within(block) => {
                let mut run = self.part(&block, address, false);
                self.end_in_trap(number, &mut run, trap);
                if run.count > 0 || run.doubtful {
                    self.run(offset, run);
                }
            }
        }
    }

    /// The run ends with the exception; a call at its end was attempted.
    fn end_in_trap(&mut self, number: u16, run: &mut Run, trap: &mut Trap) {
        run.exit = if self.is_halt(number) { Exit::End } else { Exit::Trap };
        if number == self.profile.call()
            && let Some((at, syscall)) = self.system_call(run)
        {
            run.attempted = true;
            trap.from = Some(at);
            (trap.syscall, trap.syscall_index) = syscall;
        }
    }

    /// If the last instruction of a run is a system call: its address and the call.
    fn system_call(&mut self, run: &Run) -> Option<(u64, Call)> {
        let isa = self.flow.isa();
        let memory = Arc::clone(self.cursor().blocks().memory());
        let lengths: &[u64] = if isa == Isa::T32 { &[2, 4] } else { &[4] };
        for &length in lengths {
            let at = run.end.wrapping_sub(length);
            if isa == Isa::T32
                && at != run.start
                && self.cursor().position(run.start, at) != run.count.checked_sub(1)
            {
                continue;
            }
            if let Some((word, found)) = memory.fetch(isa, at)
                && u64::from(found) == length
                && trackway_isa::flow(isa, at, word).control == Control::SystemCall
            {
                return Some((at, syscall_of(isa, word, length)));
            }
        }
        None
    }

    /// Source Address element (K10.5.5.7.1).
    pub(super) fn source_address(&mut self, offset: u64, entry: Entry) {
        self.settle();
        if !self.synchronise(offset) {
            return;
        }
        let address = self.flow.wrap(entry.address);
        match self.walk(offset, address, true) {
            Walk::NoCode => {}
            Walk::There | Walk::Elsewhere => {
                self.gap(offset, GapReason::Unexplained, Some(self.flow.pc), None);
                self.flow.lose_address();
                self.flow.last = None;
            }
            Walk::Within(block) if block.last == address && block.control != Control::Sequential => {
                self.branch(offset, &block, true);
            }
            Walk::Within(block) => {
                // The program does not have a P0 instruction there: it is not the program that ran.
                let mut run = self.part(&block, address, true);
                run.doubtful = true;
                self.run(offset, run);
                self.flow.lose_address();
                self.flow.last = None;
            }
        }
    }

    /// K10.5.5.15.1: `count` instructions, as far as their path is certain. If they cannot lead to `next`, none of it
    /// is.
    pub(super) fn q(&mut self, offset: u64, count: Option<u32>, next: Option<u64>) {
        self.settle();
        self.flow_pop();
        self.flow.last = None;
        let from = Some(self.flow.pc).filter(|_| self.flow.is_synchronised());
        let begun = self.out.events();
        let (followed, isa) = (self.flow.followed, self.flow.sub_isa);
        let mut left = count.unwrap_or(0);
        let certain = from.is_some() && count.is_some();
        let mut path = Path::Open;
        while certain && path == Path::Open && left > 0 {
            path = self.q_block(offset, &mut left, next);
        }
        if path == Path::Wrong {
            self.out.rewind(begun);
            left = count.unwrap_or(0);
            (self.flow.followed, self.flow.sub_isa, self.stale) = (followed, isa, true);
        }
        let here = match path {
            Path::Wrong => from,
            _ => Some(self.flow.pc).filter(|_| self.flow.is_synchronised()),
        };
        self.settle();
        self.flow.last = None;
        self.flow.lose_address();
        if left > 0 || !certain {
            let instructions = count.map(|_| u64::from(left));
            self.gap(offset, GapReason::NoPath, here, instructions);
        }
    }

    /// One block on the path of a Q element with `left` instructions.
    fn q_block(&mut self, offset: u64, left: &mut u32, next: Option<u64>) -> Path {
        let pc = self.flow.pc;
        let Some(block) = self.block(pc) else { return Path::Closed };
        let isa = self.flow.isa();
        if block.count > *left {
            let end = self.skip(pc, *left);
            let run = Run { exit: Exit::Next, taken: None, doubtful: false, ..run_of(&block, isa, true) };
            self.run(offset, Run { end, count: *left, ..run });
            *left = 0;
            return if next.is_none_or(|next| next == self.flow.wrap(end)) {
                Path::Closed
            } else {
                Path::Wrong
            };
        }
        *left -= block.count;
        let (target, end) = (block.target.map(|target| self.flow.wrap(target)), self.flow.wrap(block.end));
        let (may_take, may_fall) = match block.control {
            control if control.is_transfer() => (true, block.conditional),
            _ => (false, true),
        };
        // After the last instruction, the next address determines its outcome.
        let next = next.filter(|_| *left == 0);
        let leads = |way: Option<u64>| next.is_none() || way.is_none() || way == next;
        let takes = may_take && leads(target);
        let falls = may_fall && leads(Some(end));
        let taken = match (takes, falls) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            (true, true) if next.is_some() && next == target && target != Some(end) => Some(true),
            (true, true) if next == Some(end) => Some(false),
            (true, true) => None,
            (false, false) => return Path::Wrong,
        };
        let mut run = run_of(&block, isa, taken.unwrap_or(true));
        run.taken = taken.filter(|_| may_take);
        self.run(offset, run);
        match taken {
            Some(taken) => self.leave(&block, taken),
            None => self.flow.lose_address(),
        }
        if self.flow.has_address { Path::Open } else { Path::Closed }
    }

    /// The address after `count` instructions from `pc` on.
    fn skip(&mut self, pc: u64, count: u32) -> u64 {
        let isa = self.flow.isa();
        if isa != Isa::T32 {
            return pc.wrapping_add(4 * u64::from(count));
        }
        let memory = Arc::clone(self.cursor().blocks().memory());
        let step =
            |at: u64, _| at.wrapping_add(memory.fetch(isa, at).map_or(2, |(_, length)| u64::from(length)));
        (0..count).fold(pc, step)
    }
}

/// How [`Analyser::walk`] ended.
enum Walk {
    /// Reached the address.
    There,
    /// The address is in this block.
    Within(Block),
    /// Code is missing before the address.
    NoCode,
    /// The address is below the current one.
    Elsewhere,
}

/// Certainty of the path of a Q element.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Path {
    /// Certain so far.
    Open,
    /// Not certain from here on.
    Closed,
    /// Not a path of the program.
    Wrong,
}

/// The instruction of a system call, and its immediate.
type Call = (Option<Syscall>, Option<u64>);

/// The system call that an instruction makes, and its immediate.
fn syscall_of(isa: Isa, word: u32, length: u64) -> Call {
    match isa {
        Isa::A64 => {
            let call = match word & 3 {
                1 => Syscall::Svc,
                2 => Syscall::Hvc,
                _ => Syscall::Smc,
            };
            (Some(call), Some(u64::from(word >> 5 & 0xffff)))
        }
        Isa::T32 if length == 2 => (Some(Syscall::Svc), Some(u64::from(word & 0xff))),
        Isa::A32 if word >> 24 & 0xf == 0xf => (Some(Syscall::Svc), Some(u64::from(word & 0xff_ffff))),
        Isa::A32 if word >> 4 & 0xf == 7 && word >> 20 & 0xff == 0x14 => {
            (Some(Syscall::Hvc), Some(u64::from(word >> 4 & 0xfff0 | word & 0xf)))
        }
        Isa::A32 => (Some(Syscall::Smc), Some(u64::from(word & 0xf))),
        _ => (None, None),
    }
}
