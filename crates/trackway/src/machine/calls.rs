//! The call stack, as the flow shows it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use trackway_core::Exit;
use trackway_isa::Control;

/// Frames that are kept: the innermost ones.
const DEPTH: u32 = 128;

/// How a frame was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrameKind {
    /// By a call.
    Call,
    /// By an exception or interrupt.
    Trap,
}

/// A function or trap handler that was entered and not left yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// How it was entered.
    pub kind: FrameKind,
    /// Address of the call, or of the instruction that trapped; flow formats do not say it without the program.
    pub site: Option<u64>,
    /// Where control went.
    pub target: u64,
    /// Where it should return to.
    pub return_address: Option<u64>,
    /// Number of the call, or of the instruction that trapped.
    pub number: u64,
}

/// Why the stack may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Doubt {
    /// Something is missing from the trace.
    Gap,
    /// The process or thread changed.
    Context,
    /// A return went to an address that no frame has.
    Return,
    /// A return skipped frames: `longjmp`, unwinding, another thread's stack.
    Unwound,
    /// The flow broke where the program does not explain it.
    Jump,
}

impl Doubt {
    /// The doubt in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Doubt::Gap => "a gap",
            Doubt::Context => "another process or thread",
            Doubt::Return => "a return that matches no call",
            Doubt::Unwound => "a return past several calls",
            Doubt::Jump => "a jump that the program does not explain",
        }
    }
}

/// A guess: frames older than it may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guess {
    /// Number of the first instruction after it.
    pub number: u64,
    /// The reason.
    pub doubt: Doubt,
}

/// The call stack. Calls before the trace began are not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// Frames that are kept; those that are stored have the usual number.
    #[serde(skip, default = "depth")]
    limit: u32,
    /// Outermost first.
    frames: VecDeque<Frame>,
    /// Outer frames that were forgotten because there were too many.
    pub forgotten: u64,
    /// The last guess that still concerns a frame.
    pub guess: Option<Guess>,
}

fn depth() -> u32 {
    DEPTH
}

impl Default for Calls {
    fn default() -> Self {
        Calls::with_limit(DEPTH)
    }
}

/// How the last instruction before a break of the flow left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// By a call.
    Call,
    /// By a jump that is a call or a return (RISC-V coroutines).
    Swap,
    /// By a return.
    Return,
    /// By a return from a trap.
    TrapReturn,
    /// By a trap.
    Trap,
    /// By a branch or a jump to an address that the encoding has.
    Jump,
    /// By a jump to an address in a register.
    IndirectJump,
    /// The instruction does not explain it.
    Unexplained,
}

impl Left {
    /// By what an instruction does to the flow.
    pub fn by_control(control: Control) -> Left {
        match control {
            Control::Call | Control::IndirectCall => Left::Call,
            Control::CoroutineSwap => Left::Swap,
            Control::Return => Left::Return,
            Control::TrapReturn => Left::TrapReturn,
            Control::SystemCall | Control::Breakpoint | Control::Undefined => Left::Trap,
            Control::IndirectJump | Control::OtherIndirectJump => Left::IndirectJump,
            Control::Branch | Control::Jump | Control::OtherJump => Left::Jump,
            Control::Sequential | Control::Isb | Control::Wait | Control::TransactionStart => {
                Left::Unexplained
            }
        }
    }

    /// By how a run ends.
    pub fn by_exit(exit: Exit) -> Left {
        match exit {
            Exit::Call | Exit::IndirectCall => Left::Call,
            Exit::Return => Left::Return,
            Exit::TrapReturn => Left::TrapReturn,
            Exit::Trap => Left::Trap,
            Exit::IndirectJump => Left::IndirectJump,
            Exit::Branch | Exit::Jump => Left::Jump,
            Exit::Next | Exit::End => Left::Unexplained,
        }
    }
}

impl Calls {
    /// An empty stack that keeps this many frames, the innermost ones.
    pub fn with_limit(limit: u32) -> Self {
        Calls { limit, frames: VecDeque::new(), forgotten: 0, guess: None }
    }

    /// The frames, innermost first.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &Frame> + DoubleEndedIterator {
        self.frames.iter().rev()
    }

    /// Frames that are open, forgotten ones included.
    pub fn depth(&self) -> u64 {
        self.frames.len() as u64 + self.forgotten
    }

    /// The guess that concerns a frame.
    pub fn guess_of(&self, frame: &Frame) -> Option<Guess> {
        self.guess.filter(|guess| frame.number < guess.number)
    }

    /// Forgets all frames.
    pub fn clear(&mut self) {
        *self = Calls::with_limit(self.limit);
    }

    /// Leaves frames until this many are left.
    pub fn leave_to(&mut self, frames: usize) {
        self.pop(self.frames.len().saturating_sub(frames));
    }

    /// From instruction `number` on older frames may be wrong.
    pub fn doubt(&mut self, number: u64, doubt: Doubt) {
        if self.depth() > 0 {
            self.guess = Some(Guess { number, doubt });
        }
    }

    /// A frame more.
    pub fn enter(
        &mut self,
        kind: FrameKind,
        site: Option<u64>,
        target: u64,
        return_address: Option<u64>,
        number: u64,
    ) {
        if self.frames.len() >= self.limit as usize {
            self.frames.pop_front();
            self.forgotten += 1;
        }
        self.frames.push_back(Frame { kind, site, target, return_address, number });
    }

    /// Control left the instruction `number` at `site`, which ends at `end`, for `pc`, where instruction `next` is.
    pub fn go(&mut self, left: Left, site: Option<u64>, end: u64, number: u64, pc: u64, next: u64) {
        match left {
            Left::Call => self.enter(FrameKind::Call, site, pc, Some(end), number),
            Left::Trap => self.enter(FrameKind::Trap, site, pc, site, number),
            Left::Return => self.leave(pc, next),
            Left::TrapReturn => self.leave_trap(pc, next),
            Left::Swap if self.innermost_returns_to(pc) => self.pop(1),
            Left::Swap => self.enter(FrameKind::Call, site, pc, Some(end), number),
            // A return by another name.
            Left::IndirectJump if self.innermost_returns_to(pc) => self.pop(1),
            Left::Jump | Left::IndirectJump => {}
            Left::Unexplained => self.doubt(next, Doubt::Jump),
        }
    }

    fn innermost_returns_to(&self, pc: u64) -> bool {
        self.frames.back().is_some_and(|frame| frame.return_address == Some(pc))
    }

    fn leave(&mut self, pc: u64, next: u64) {
        let skipped = self.frames.iter().rev().position(|frame| frame.return_address == Some(pc));
        match skipped {
            Some(skipped) => {
                self.pop(skipped + 1);
                if skipped > 0 {
                    self.doubt(next, Doubt::Unwound);
                }
            }
            // A function that was entered before the trace began, or by one of the frames forgotten.
            None if self.frames.is_empty() => self.forgotten = self.forgotten.saturating_sub(1),
            None => self.doubt(next, Doubt::Return),
        }
    }

    fn leave_trap(&mut self, pc: u64, next: u64) {
        let is_trap = |frame: &Frame| frame.kind == FrameKind::Trap;
        // Handlers of calls and breakpoints return after the instruction that trapped, at most 4 bytes on.
        let returns_here =
            |frame: &Frame| is_trap(frame) && frame.return_address.is_some_and(|to| pc.wrapping_sub(to) <= 4);
        let exact = self.frames.iter().rev().position(returns_here);
        let Some(skipped) = exact.or_else(|| self.frames.iter().rev().position(is_trap)) else { return };
        let others = self.frames.iter().rev().take(skipped).any(is_trap);
        self.pop(skipped + 1);
        if exact.is_none() || others {
            self.doubt(next, Doubt::Return);
        }
    }

    fn pop(&mut self, count: usize) {
        self.frames.truncate(self.frames.len() - count);
        if self.depth() == 0 {
            self.guess = None;
        }
    }
}
