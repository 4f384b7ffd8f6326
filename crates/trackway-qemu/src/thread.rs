//! One thread of the guest: what its instructions did, decided by what was executed next.

use trackway_core::*;
use trackway_isa::Control;

use crate::code::Code;

/// A memory access as the plugin wrote it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) address: u64,
    pub(crate) shift: u8,
    pub(crate) store: bool,
    pub(crate) value: Option<[u64; 2]>,
}

/// A thread between two instructions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    /// The instruction that began last: its outcome is decided by the next one.
    pub(crate) pending: Option<u32>,
    /// The first one of its run.
    pub(crate) first: u32,
    /// Its accesses so far.
    pub(crate) accesses: Vec<Access>,
    /// Where execution continues after a system call, unless a signal was delivered.
    pub(crate) expected: Option<u64>,
    /// The system call that has not returned yet.
    pub(crate) call: Option<Call>,
    /// Number and result of one that returned before the first instruction.
    pub(crate) returned: Option<(i64, i64)>,
    /// Registers that the instruction changed, and their values.
    pub(crate) changed: Vec<(u16, u64)>,
    /// Registers that changed before it, other than by an instruction that was recorded.
    pub(crate) before: Vec<(u16, u64)>,
    /// Integer registers so far, where they are recorded.
    pub(crate) values: [Option<u64>; 32],
    /// The privilege of the instruction and of the next one, where registers are recorded, and the one that was noted.
    pub(crate) level: [Option<Privilege>; 3],
}

impl Thread {
    /// Another instruction begins.
    #[inline]
    pub(crate) fn begin(&mut self, number: u32) {
        self.pending = Some(number);
        self.level[0] = self.level[1];
        // After a system call, or before the first instruction.
        if !self.changed.is_empty() {
            self.keep();
        }
    }

    /// The instruction has made all of its accesses, or has made one that it need not make.
    #[inline]
    pub(crate) fn has_accessed(&self, code: &Code) -> bool {
        let bytes = || self.accesses.iter().map(|access| 1u32 << access.shift.min(16)).sum::<u32>();
        !self.accesses.is_empty() && (code.needs <= 1 || bytes() >= code.needs.into())
    }

    /// The content of a register that an instruction names; the last one is zero.
    pub(crate) fn value(&self, register: u8) -> Option<u64> {
        if register == 31 { Some(0) } else { *self.values.get(usize::from(register))? }
    }

    /// Nobody is known to have changed the registers.
    pub(crate) fn keep(&mut self) {
        for (number, value) in self.changed.drain(..) {
            self.before.retain(|(known, _)| *known != number);
            self.before.push((number, value));
        }
    }

    /// A register has another value: an integer register, or the privilege of RISC-V (64) or Arm (65).
    pub(crate) fn register(&mut self, number: u16, value: u64) {
        self.level[1] = match (number, value & 3, value >> 2 & 7) {
            (..64, ..) => {
                if let Some(known) = self.values.get_mut(usize::from(number)) {
                    *known = Some(value);
                }
                return self.changed.push((number, value));
            }
            (64, 0, _) => Some(Privilege::U),
            (64, 1, _) => Some(Privilege::S),
            (64, 3, _) => Some(Privilege::M),
            (65, _, 0) => Some(Privilege::El0),
            (65, _, 1) => Some(Privilege::El1),
            (65, _, 2) => Some(Privilege::El2),
            (65, _, 3) => Some(Privilege::El3),
            _ => None,
        };
    }
}

/// A system call: its number and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
}

/// The outcome of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    pub(crate) taken: Option<bool>,
    pub(crate) target: Option<u64>,
    pub(crate) trap: Option<Broken>,
}

/// Why the next instruction is not where the flow leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A system call.
    Call,
    Breakpoint,
    Undefined,
    /// An access that was not made.
    Access,
    /// After the instruction: an interrupt, or a signal of another's making.
    Asynchronous,
    /// The instruction returned from a trap.
    Return,
}

/// Decides by the next instruction of the same thread; none where QEMU began it again.
#[inline]
pub(crate) fn decide(code: &Code, next: Option<u64>, accessed: bool) -> Option<Done> {
    let end = code.end();
    // Nearly all of them.
    if code.control == Control::Sequential && next == Some(end) {
        return Some(Done { outcome: Outcome::Retired, taken: None, target: None, trap: None });
    }
    let (passed, conditional) = (next == Some(end), code.conditional);
    let done = |taken, target, trap| Some(Done { outcome: Outcome::Retired, taken, target, trap });
    let attempted =
        |trap| Some(Done { outcome: Outcome::Attempted, taken: None, target: None, trap: Some(trap) });
    match code.control {
        control if control.is_direct() => {
            let goes = code.target.is_some_and(|target| next.is_none_or(|next| next == target));
            if goes && (!conditional || next.is_some() && !passed) {
                done(Some(true), code.target, None)
            } else if passed && conditional {
                done(Some(false), None, None)
            } else if conditional {
                done(None, None, next.map(|_| Broken::Asynchronous))
            } else {
                done(Some(true), code.target, Some(Broken::Asynchronous))
            }
        }
        Control::TrapReturn => done(Some(true), next, Some(Broken::Return)),
        control if control.is_indirect() => {
            if passed && conditional {
                done(Some(false), None, None)
            } else {
                done(Some(true), next, None)
            }
        }
        Control::SystemCall if passed && conditional => done(None, None, None),
        Control::SystemCall => attempted(Broken::Call),
        Control::Breakpoint => attempted(Broken::Breakpoint),
        Control::Undefined => attempted(Broken::Undefined),
        _ => match next {
            Some(next) if next == end => done(None, None, None),
            // Translated code that changes, devices, and atomics begin an instruction twice.
            Some(next) if next == code.pc && !accessed => None,
            _ if code.needs > 0 && !accessed => attempted(Broken::Access),
            _ if code.strange => attempted(Broken::Undefined),
            None => done(None, None, None),
            Some(_) => done(None, None, Some(Broken::Asynchronous)),
        },
    }
}

impl Broken {
    /// The trap in the architecture's terms, as far as it is certain.
    pub(crate) fn trap(self, code: &Code, system: bool, number: Option<i64>) -> Trap {
        let kind = match self {
            Broken::Asynchronous => TrapKind::Interrupt,
            Broken::Return => TrapKind::Return,
            _ => TrapKind::Exception,
        };
        let mut trap = Trap { from: Some(code.pc), ..Trap::new(kind) };
        let riscv = matches!(code.isa, Isa::Rv32 | Isa::Rv64);
        match self {
            Broken::Call => {
                let syscall = code.syscall();
                trap.syscall = syscall;
                if riscv {
                    trap.cause = (!system).then_some(8);
                    trap.syscall_index = number.map(|number| number as u64);
                } else {
                    trap.class = match (code.isa, syscall) {
                        (Isa::A64, Some(Syscall::Svc)) => Some(0x15),
                        (Isa::A64, Some(Syscall::Hvc)) => Some(0x16),
                        (Isa::A64, Some(Syscall::Smc)) => Some(0x17),
                        (_, Some(Syscall::Svc)) => Some(0x11),
                        _ => None,
                    };
                    trap.syscall_index = match code.isa {
                        Isa::A64 => Some(u64::from(code.encoding >> 5 & 0xffff)),
                        Isa::A32 => Some(u64::from(code.encoding & 0xff_ffff)),
                        _ => Some(u64::from(code.encoding & 0xff)),
                    };
                }
            }
            Broken::Breakpoint if riscv => trap.cause = Some(3),
            Broken::Breakpoint => trap.class = Some(if code.isa == Isa::A64 { 0x3c } else { 0x38 }),
            Broken::Undefined if riscv => trap.cause = Some(2),
            Broken::Undefined => trap.class = Some(0),
            // The memory of a process is in pages: its faults are of pages.
            Broken::Access if riscv && !system => trap.cause = Some(if code.loads { 13 } else { 15 }),
            // From the level below; of a machine it may be the same level.
            Broken::Access if !riscv && !system => trap.class = Some(0x24),
            Broken::Asynchronous => trap.from = None,
            Broken::Access | Broken::Return => {}
        }
        trap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(isa: Isa, encoding: u32, length: u32) -> Code {
        Code::read([0x1000, 0, encoding, length], isa, isa)
    }

    fn decided(
        code: &Code,
        next: Option<u64>,
        accessed: bool,
    ) -> Option<(Outcome, Option<bool>, Option<Broken>)> {
        decide(code, next, accessed).map(|done| (done.outcome, done.taken, done.trap))
    }

    #[test]
    fn loads_fault_or_were_interrupted() {
        use Outcome::*;
        for load in [code(Isa::Rv64, 0x0005_3503, 4), code(Isa::A64, 0xf940_0000, 4)] {
            assert_eq!(decided(&load, Some(0x1004), true), Some((Retired, None, None)));
            assert_eq!(decided(&load, Some(0x8000), false), Some((Attempted, None, Some(Broken::Access))));
            assert_eq!(decided(&load, Some(0x8000), true), Some((Retired, None, Some(Broken::Asynchronous))));
            assert_eq!(decided(&load, None, false), Some((Attempted, None, Some(Broken::Access))));
            assert_eq!(decided(&load, Some(0x1000), false), None);
        }
    }

    #[test]
    fn branches_go_where_the_next_instruction_is() {
        use Outcome::*;
        let beq = code(Isa::Rv64, 0x00b5_0463, 4);
        assert_eq!(decided(&beq, Some(0x1008), false), Some((Retired, Some(true), None)));
        assert_eq!(decided(&beq, Some(0x1004), false), Some((Retired, Some(false), None)));
        assert_eq!(decided(&beq, Some(0x9000), false), Some((Retired, None, Some(Broken::Asynchronous))));
        assert_eq!(decided(&beq, None, false), Some((Retired, None, None)));
        let b = code(Isa::A64, 0x1400_0002, 4);
        assert_eq!(decided(&b, Some(0x1008), false), Some((Retired, Some(true), None)));
        assert_eq!(decided(&b, Some(0x9000), false), Some((Retired, Some(true), Some(Broken::Asynchronous))));
        let ret = code(Isa::A64, 0xd65f_03c0, 4);
        assert_eq!(decided(&ret, Some(0x1004), false), Some((Retired, Some(true), None)));
        let bxne = code(Isa::A32, 0x112f_ff1e, 4);
        assert_eq!(decided(&bxne, Some(0x1004), false), Some((Retired, Some(false), None)));
    }

    #[test]
    fn calls_and_breakpoints_never_retire() {
        for (isa, encoding, broken) in [
            (Isa::Rv64, 0x73, Broken::Call),
            (Isa::A64, 0xd400_0001, Broken::Call),
            (Isa::Rv64, 0x10_0073, Broken::Breakpoint),
            (Isa::A64, 0xd420_0000, Broken::Breakpoint),
            (Isa::A64, 0, Broken::Undefined),
        ] {
            let decided = decided(&code(isa, encoding, 4), Some(0x1004), false);
            assert_eq!(decided, Some((Outcome::Attempted, None, Some(broken))), "{encoding:x}");
        }
    }
}
