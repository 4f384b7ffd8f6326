//! The instructions of a process, with what lifting asks about them.

use trackway_core::{Event, EventKind, Isa, MemKind, Step, Syscall};
use trackway_isa::{Class, Control, Flow, arm, class, flow, memory, riscv};

/// An instruction that QEMU translated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    pub(crate) pc: u64,
    pub(crate) encoding: u32,
    pub(crate) length: u8,
    pub(crate) isa: Isa,
    pub(crate) control: Control,
    /// It may also lead to the next one in memory.
    pub(crate) conditional: bool,
    /// Bytes that it has accessed at least when it completes: 0 where it may complete without an access.
    pub(crate) needs: u8,
    /// The next one of the table follows it, unless it cannot make its access.
    pub(crate) continues: bool,
    /// It only reads memory.
    pub(crate) loads: bool,
    /// It reads and writes at once.
    pub(crate) atomic: bool,
    /// It is one that no decoder knows.
    pub(crate) strange: bool,
    pub(crate) target: Option<u64>,
    /// A64: the register with the address of a cache, for an instruction whose access QEMU does not report.
    pub(crate) maintained: Option<u8>,
    pub(crate) usual: Usual,
}

/// The flow after an instruction when nothing special happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usual {
    /// The next one in memory follows.
    Next,
    /// It leads to its target, or to the next one in memory.
    Direct,
    /// It leads anywhere.
    Indirect,
    /// Each time must be looked at.
    Special,
}

impl Code {
    /// From its four words; `before` is the instruction set of the one that was translated before.
    pub(crate) fn read(words: [u32; 4], base: Isa, before: Isa) -> Self {
        let pc = u64::from(words[0]) | u64::from(words[1]) << 32;
        let (encoding, length) = (words[2], (words[3] & 0xff).min(8) as u8);
        let narrow = words[3] >> 8 & 1 == 1;
        let isa = match base {
            Isa::A32 => arm_state(pc, encoding, length, narrow, before),
            isa => isa,
        };
        let Flow { control, target, conditional, .. } = flow(isa, pc, encoding);
        // Within an IT block anything is conditional.
        let conditional = conditional || control == Control::Branch || isa == Isa::T32;
        let memory = memory(isa, encoding);
        let accesses = match isa {
            Isa::A32 | Isa::T32 => matches!(class(isa, encoding), Class::Load | Class::Store),
            _ => memory.is_some_and(|memory| !memory.optional && memory.bytes.is_some()),
        };
        // A pair whose second half faulted has made one of its accesses.
        let is_pair = isa == Isa::A64 && encoding >> 27 & 7 == 0b101;
        let needs = match memory.and_then(|memory| memory.bytes) {
            Some(bytes @ 1..=64) if is_pair && accesses => bytes as u8,
            _ => accesses.into(),
        };
        let atomic = memory.is_some_and(|memory| memory.kind == MemKind::ReadWrite);
        let loads = memory.is_some_and(|memory| memory.kind == MemKind::Read);
        let is_maintenance = isa == Isa::A64
            && matches!(arm::memory::memory(encoding), Some(arm::memory::Memory::Maintenance { .. }));
        let maintained = is_maintenance.then_some((encoding & 31) as u8);
        let strange = matches!(isa, Isa::Rv32 | Isa::Rv64) && riscv::decode(isa, encoding).is_none();
        let usual = match control {
            // With several threads its access is of another kind.
            _ if atomic || is_maintenance || may_wait(isa, encoding) => Usual::Special,
            Control::Sequential => Usual::Next,
            Control::TrapReturn => Usual::Special,
            control if control.is_direct() => Usual::Direct,
            control if control.is_indirect() => Usual::Indirect,
            _ => Usual::Special,
        };
        Code {
            pc,
            encoding,
            length,
            isa,
            control,
            conditional,
            needs,
            continues: words[3] >> 9 & 1 == 1,
            loads,
            atomic,
            strange,
            target,
            maintained,
            usual,
        }
    }

    /// The address after it.
    pub(crate) fn end(&self) -> u64 {
        self.pc.wrapping_add(self.length.into())
    }

    /// The time of a clock that counts instructions is not known after it: WFI, and calls of firmware that QEMU itself is.
    pub(crate) fn stops_clock(&self) -> bool {
        may_wait(self.isa, self.encoding) || matches!(self.syscall(), Some(Syscall::Hvc | Syscall::Smc))
    }

    /// The instruction of a system call.
    pub(crate) fn syscall(&self) -> Option<Syscall> {
        if self.control != Control::SystemCall {
            return None;
        }
        Some(match (self.isa, self.encoding >> 21, self.encoding & 3) {
            (Isa::Rv32 | Isa::Rv64, ..) => Syscall::Ecall,
            (Isa::A64, 0x6a0, 2) => Syscall::Hvc,
            (Isa::A64, 0x6a0, 3) => Syscall::Smc,
            _ => Syscall::Svc,
        })
    }
}

/// The CPU may wait here until something happens.
fn may_wait(isa: Isa, encoding: u32) -> bool {
    match isa {
        Isa::Rv32 | Isa::Rv64 => encoding == 0x1050_0073,
        Isa::A64 => encoding == 0xd503_207f || encoding & 0xffff_ffe0 == 0xd503_1020,
        Isa::A32 => encoding & 0x0fff_ffff == 0x0320_f003,
        Isa::T32 => matches!(encoding, 0xbf30 | 0x8003_f3af),
        Isa::Other => false,
    }
}

/// The instructions of a process, in runs: once one has begun, those after it in its run follow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    code: Vec<Code>,
    /// The same instructions for those that are usual.
    ready: Vec<Ready>,
}

/// An instruction as a step that only lacks its offset and its accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) event: Event,
    pub(crate) lead: Lead,
    /// Instructions after it in its run.
    pub(crate) left: u16,
    /// Instructions from this one on that need no access, have no effect on the flow, and are not the last of the run.
    pub(crate) calm: u16,
    pub(crate) needs: u8,
}

/// Where an instruction leads when nothing special happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lead {
    pub(crate) pc: u64,
    /// The address after it.
    pub(crate) end: u64,
    pub(crate) target: Option<u64>,
    pub(crate) usual: Usual,
    pub(crate) conditional: bool,
}

impl Table {
    pub(crate) fn push(&mut self, code: Code) {
        let Code { pc, encoding, length, target, needs, usual, conditional, .. } = code;
        let lead = Lead { pc, end: code.end(), target, usual, conditional };
        let event = Event { offset: 0, kind: EventKind::Step(Step::new(pc, encoding, length)) };
        let (left, calm) = (0, 0);
        self.ready.push(Ready { event, lead, left, calm, needs });
        self.code.push(code);
        if code.continues {
            return;
        }
        // The run is complete.
        let before = self.code.iter().zip(&mut self.ready).rev().skip(1);
        let (mut left, mut calm) = (0u16, 0u16);
        for (_, ready) in before.take_while(|(code, _)| code.continues) {
            left = left.saturating_add(1);
            calm =
                if ready.needs == 0 && ready.lead.usual == Usual::Next { calm.saturating_add(1) } else { 0 };
            (ready.left, ready.calm) = (left, calm);
        }
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Code> {
        self.code.get(number as usize)
    }

    /// The last one.
    pub(crate) fn last(&self) -> Option<&Code> {
        self.code.last()
    }

    pub(crate) fn pc(&self, number: u32) -> Option<u64> {
        self.ready.get(number as usize).map(|ready| ready.lead.pc)
    }

    /// The run of an instruction from there on.
    #[inline]
    pub(crate) fn run(&self, number: u32) -> Option<&[Ready]> {
        let rest = self.ready.get(number as usize..)?;
        rest.get(..1 + usize::from(rest.first()?.left))
    }
}

/// A32 or T32: the plugin API does not say. A translated block has one of them.
fn arm_state(pc: u64, encoding: u32, length: u8, narrow: bool, before: Isa) -> Isa {
    if narrow || length == 2 || pc & 2 == 2 {
        return Isa::T32;
    }
    // The first halfword of a wide T32 instruction; an A32 word seldom looks like one.
    let wide = encoding >> 11 & 31 >= 0x1d;
    if !wide { Isa::A32 } else { before }
}
