//! The state of a machine at a point of a trace, as far as the events before it show.
//!
//! [`Machine::apply`] takes one event after the other. It is cheap, so that an index can keep the state of every
//! checkpoint: registers are looked at only where the trace has any, the call stack only where the flow breaks.
//! Memory is not part of it: it is looked for when somebody asks.

mod calls;
pub mod csrs;
mod effects;
mod log;
mod passage;
mod registers;
mod slots;

pub use calls::{Calls, Doubt, Frame, FrameKind, Guess, Left};
pub(crate) use effects::Effects;
pub(crate) use passage::Passage;
pub use registers::{Content, How, Known, Registers};

use serde::{Deserialize, Serialize};
use trackway_core::{
    Batch, Context, Event, EventKind, Exit, Gap, Isa, Reg, RegClass, Run, State, Step, Time, TimeKind, Trap,
    TrapKind,
};
use trackway_isa::{Control, flow};

/// The state before the next instruction, as far as it is known.
///
/// ```
/// use trackway::events::*;
/// use trackway::machine::Machine;
///
/// let mut machine = Machine::new(Isa::Rv64);
/// let mut batch = Batch::default();
/// // jal ra,.+16 and the first instruction of the function.
/// batch.push(0, EventKind::Step(Step::new(0x1000, 0x0100_00ef, 4)));
/// batch.push(0, EventKind::Step(Step::new(0x1010, 0x0001, 2)));
/// for (number, event) in batch.events.iter().enumerate() {
///     machine.apply(&batch, event, number as u64);
/// }
/// let frame = machine.calls.frames().next().unwrap();
/// assert_eq!((frame.target, frame.return_address, frame.number), (0x1010, Some(0x1004), 0));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Instruction set.
    pub isa: Isa,
    /// Context.
    pub context: Context,
    /// Last timestamp.
    pub time: Option<u64>,
    /// Cycles counted so far.
    pub cycles: Option<u64>,
    /// Registers.
    pub registers: Registers,
    /// Functions and trap handlers entered and not left yet.
    pub calls: Calls,
    /// Number of the instruction that follows the last gap.
    pub gap: Option<u64>,
    /// Address that follows the last instruction in memory, where it must be compared with the next one.
    expected: Option<u64>,
    last: Option<Last>,
    trap: Option<Pending>,
}

/// The last instruction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Last {
    /// Its address; unknown for the last one of a run.
    pc: Option<u64>,
    end: u64,
    number: u64,
    how: Ending,
    attempted: bool,
    taken: Option<bool>,
}

/// How control can leave the last instruction: asked only where the flow breaks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Ending {
    Encoding(u32),
    Exit(Exit),
}

/// A trap whose handler has not been seen yet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Pending {
    from: Option<u64>,
    return_address: Option<u64>,
    fallthrough: Option<u64>,
    number: u64,
    is_call: bool,
}

/// Does another process or thread begin with this change of context? Its registers are others.
pub fn another_thread(before: &Context, after: &Context) -> bool {
    let owner = |context: &Context| (context.pid, context.tid, context.hw_thread);
    owner(before) != owner(after) && owner(before) != (None, None, None)
}

/// Does another address space begin with this change of context? The same address can then be other memory.
pub fn another_space(before: &Context, after: &Context) -> bool {
    let space = |context: &Context| [context.pid, context.asid, context.vmid, context.context_id];
    space(before).iter().zip(space(after)).any(|(before, after)| before.is_some() && *before != after)
}

impl Machine {
    /// Nothing known but the instruction set.
    pub fn new(isa: Isa) -> Self {
        Machine {
            isa,
            context: Context::default(),
            time: None,
            cycles: None,
            registers: Registers::new(isa),
            calls: Calls::default(),
            gap: None,
            expected: None,
            last: None,
            trap: None,
        }
    }

    /// Takes in an event; `number` is that of its first instruction, or of the one that comes next.
    #[inline]
    pub fn apply(&mut self, batch: &Batch, event: &Event, number: u64) {
        match &event.kind {
            EventKind::Step(_) => drop(self.steps(batch, std::slice::from_ref(event), number)),
            EventKind::Run(run) if !run.withdrawn => self.run(batch, run, number),
            EventKind::Time(time) => self.clock(time),
            EventKind::Mark(_) | EventKind::Foreign(_) | EventKind::Run(_) => {}
            EventKind::Trap(n) => self.trap(&batch.traps[*n as usize], number),
            EventKind::Context(n) => self.switch(&batch.contexts[*n as usize], number),
            EventKind::State(n) => self.state(batch, &batch.states[*n as usize], number),
            EventKind::Gap(n) => self.lose(&batch.gaps[*n as usize], number),
        }
    }

    /// Address of the next instruction, where the last one leaves no choice.
    pub fn next_pc(&self) -> Option<u64> {
        if self.trap.is_some() {
            return None;
        }
        let last = self.last.filter(|last| !last.attempted)?;
        let Ending::Encoding(encoding) = last.how else {
            return (last.how == Ending::Exit(Exit::Next)).then_some(last.end);
        };
        let flow = flow(self.isa_now(), last.pc?, encoding);
        match (flow.control.is_transfer(), flow.conditional, last.taken) {
            (false, ..) | (_, true, Some(false)) => flow.control.retires().then_some(last.end),
            (_, false, _) | (_, _, Some(true)) => flow.target,
            _ => None,
        }
    }

    /// The next instruction, `number`, is at `pc`: what the way there says of the stack is taken in before the instruction
    /// itself, so that a function is entered at its first one.
    pub fn come_to(&mut self, pc: u64, number: u64) {
        if self.expected != Some(pc) {
            self.arrive(pc, number);
            self.expected = Some(pc);
        }
    }

    fn isa_now(&self) -> Isa {
        self.context.isa.unwrap_or(self.isa)
    }

    /// Takes in the steps that `events` begin with, of which the first has this number; returns how many they are.
    #[inline]
    pub(crate) fn steps(&mut self, batch: &Batch, events: &[Event], number: u64) -> usize {
        let isa = self.isa_now();
        let (mut expected, mut previous, mut next) = (self.expected, None, number);
        for event in events {
            let EventKind::Step(step) = &event.kind else { break };
            if let Some(pc) = step.pc
                && expected != step.pc
            {
                // Only where the flow breaks is the instruction before asked for.
                self.leave(previous, next);
                self.arrive(pc, next);
            }
            expected = step.pc.map(|pc| pc.wrapping_add(step.length.into()));
            if step.accesses.regs_len != 0 || self.registers.any() {
                self.registers.step(isa, batch, step, next);
            }
            previous = Some(step);
            next += 1;
        }
        self.leave(previous, next);
        self.expected = expected;
        (next - number) as usize
    }

    /// The last instruction is `step`, if one came; `next` is the number of the one after it.
    fn leave(&mut self, step: Option<&Step>, next: u64) {
        if let Some(step) = step {
            self.last = Last::of(step, next - 1);
        }
    }

    /// Takes in the runs without accesses that `events` begin with, of which the first has this number; returns how many
    /// they are, and their instructions.
    #[inline]
    pub(crate) fn runs(&mut self, events: &[Event], number: u64) -> (usize, u64) {
        let (mut expected, mut previous, mut next, mut count) = (self.expected, None, number, 0);
        for event in events {
            let EventKind::Run(run) = &event.kind else { break };
            if run.accesses.is_some() {
                break;
            }
            count += 1;
            if run.withdrawn {
                continue;
            }
            if expected != Some(run.start) {
                // Branches and jumps do not change the stack.
                let is_jump = |last: &Run| matches!(last.exit, Exit::Branch | Exit::Jump);
                if self.trap.is_some() || !previous.is_some_and(is_jump) {
                    self.leave_run(previous, next);
                    self.arrive(run.start, next);
                }
            }
            (expected, previous) = (Some(run.end), Some(run));
            next += u64::from(run.count);
        }
        self.leave_run(previous, next);
        self.expected = expected;
        if previous.is_some() {
            // Without the encodings the registers written are not known.
            self.registers.clear();
        }
        (count, next - number)
    }

    /// The last instruction is that of `run`, if one came; `next` is the number of the one after it.
    fn leave_run(&mut self, run: Option<&Run>, next: u64) {
        if let Some(run) = run {
            self.last = Some(Last {
                pc: None,
                end: run.end,
                number: next - u64::from(run.count.min(1)),
                how: Ending::Exit(run.exit),
                attempted: run.attempted,
                taken: run.taken,
            });
        }
    }

    fn run(&mut self, batch: &Batch, run: &Run, number: u64) {
        if self.expected != Some(run.start) {
            self.arrive(run.start, number);
        }
        self.expected = Some(run.end);
        self.leave_run(Some(run), number + u64::from(run.count));
        self.registers.clear();
        if run.accesses.is_some() {
            let last = number + u64::from(run.count).saturating_sub(1);
            self.registers.shown(batch, batch.accesses_of(run), last);
        }
    }

    /// The flow breaks: it continues at `pc`.
    #[cold]
    #[inline(never)]
    fn arrive(&mut self, pc: u64, number: u64) {
        if let Some(trap) = self.trap.take() {
            let passed_over = [trap.fallthrough, trap.return_address, trap.from].contains(&Some(pc));
            if !passed_over {
                let return_address = trap.return_address.or(trap.from);
                self.calls.enter(FrameKind::Trap, trap.from, pc, return_address, trap.number);
            } else if trap.is_call && trap.fallthrough == Some(pc) {
                // The kernel returned its result, which is not recorded.
                let result = if self.isa_now() == Isa::A64 { 0 } else { 10 };
                self.registers.forget_before(Reg { class: RegClass::Int, number: result }, number);
            }
            return;
        }
        let Some(last) = self.last else { return };
        let left = last.left(self.isa_now(), self.registers.effects());
        self.calls.go(left, last.pc, last.end, last.number, pc, number);
    }

    #[cold]
    fn clock(&mut self, time: &Time) {
        match time.kind {
            TimeKind::Timestamp => self.time = time.value.or(self.time),
            TimeKind::Cycles => {
                if let Some(value) = time.value {
                    self.cycles = Some(self.cycles.unwrap_or(0).saturating_add(value));
                }
            }
            TimeKind::Offset => {}
        }
    }

    #[cold]
    fn trap(&mut self, trap: &Trap, number: u64) {
        match trap.kind {
            TrapKind::Return => {
                // Where the encoding says the same, nothing changes.
                if let Some(last) = &mut self.last {
                    last.how = Ending::Exit(Exit::TrapReturn);
                }
                self.expected = None;
            }
            TrapKind::Reset => {
                self.lose(&Gap::new(trackway_core::GapReason::Unexplained), number);
                self.calls.clear();
            }
            _ => {
                let attempted = self.last.is_some_and(|last| last.attempted);
                self.registers.trapped(trap.kind != TrapKind::Interrupt && attempted, number);
                self.trap = Some(Pending {
                    from: trap.from,
                    return_address: trap.return_address,
                    fallthrough: self.last.map(|last| last.end),
                    number: number.saturating_sub(u64::from(attempted)),
                    is_call: trap.syscall.is_some() || self.was_system_call(),
                });
                self.expected = None;
            }
        }
    }

    fn was_system_call(&self) -> bool {
        self.last.is_some_and(|last| match last.how {
            Ending::Encoding(encoding) => flow(self.isa_now(), 0, encoding).control == Control::SystemCall,
            Ending::Exit(_) => false,
        })
    }

    #[cold]
    fn switch(&mut self, change: &Context, number: u64) {
        let before = self.context;
        self.context.update(change);
        if another_thread(&before, &self.context) {
            self.registers.clear();
            self.calls.doubt(number, Doubt::Context);
        }
    }

    #[cold]
    fn state(&mut self, batch: &Batch, state: &State, number: u64) {
        if let State::Contents(accesses) = state {
            self.registers.shown(batch, *accesses, number);
        }
    }

    #[cold]
    fn lose(&mut self, _gap: &Gap, number: u64) {
        self.registers.clear();
        self.calls.doubt(number, Doubt::Gap);
        self.gap = Some(number);
        (self.expected, self.last, self.trap) = (None, None, None);
    }
}

#[cfg(test)]
mod tests;
