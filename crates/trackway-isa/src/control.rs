//! Where control can go after an instruction, in words that both architectures share.

use trackway_core::{Exit, Isa};

/// How an instruction affects the flow of control.
///
/// The jump classes follow E-Trace 4.1.1: the link registers `x1` and `x5` mark calls and returns
/// (RISC-V unprivileged 2.5.1). On Arm the opcode and the link register do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Control {
    /// The next instruction follows in memory.
    #[default]
    Sequential,
    /// Conditional direct branch.
    Branch,
    /// Direct jump that keeps no return address; E-Trace: inferable tail call.
    Jump,
    /// Direct call.
    Call,
    /// Direct jump that keeps its return address in a register other than a link register; E-Trace: other
    /// inferable jump.
    OtherJump,
    /// Indirect jump that keeps no return address; E-Trace: uninferable tail call.
    IndirectJump,
    /// Indirect call.
    IndirectCall,
    /// Indirect jump that keeps its return address in a register other than a link register; E-Trace: other
    /// uninferable jump.
    OtherIndirectJump,
    /// Return from a call.
    Return,
    /// Jump through one link register that writes the other: co-routines swap.
    CoroutineSwap,
    /// Return from a trap (MRET, SRET, URET, DRET, MNRET; ERET, RFE and their kin).
    TrapReturn,
    /// System call (ECALL; SVC, HVC, SMC). It traps and never retires.
    SystemCall,
    /// Breakpoint (EBREAK; BRK, BKPT, HLT). It traps and never retires.
    Breakpoint,
    /// Permanently undefined (the all-zero halfword; UDF). It traps and never retires.
    Undefined,
    /// Instruction synchronisation barrier (Arm ISB), a waypoint in ETE.
    Isb,
    /// Wait for interrupt or event, timed forms included; a waypoint in some ETE trace units.
    Wait,
    /// Start of a transaction (Arm TSTART), a waypoint in ETE.
    TransactionStart,
}

impl Control {
    /// Does it keep a return address in a link register?
    pub const fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::IndirectCall | Self::CoroutineSwap)
    }

    /// Does it pop a return address, as implicit-return stacks see it?
    pub const fn is_return(self) -> bool {
        matches!(self, Self::Return | Self::CoroutineSwap)
    }

    /// Is its target not in the program text? True for trap returns too.
    pub const fn is_indirect(self) -> bool {
        matches!(
            self,
            Self::IndirectJump
                | Self::IndirectCall
                | Self::OtherIndirectJump
                | Self::Return
                | Self::CoroutineSwap
                | Self::TrapReturn
        )
    }

    /// Is its target in the encoding?
    pub const fn is_direct(self) -> bool {
        matches!(self, Self::Branch | Self::Jump | Self::Call | Self::OtherJump)
    }

    /// Can control go elsewhere than to the next instruction, traps apart?
    pub const fn is_transfer(self) -> bool {
        self.is_direct() || self.is_indirect()
    }

    /// Can it retire? System calls, breakpoints and undefined instructions are only attempted.
    pub const fn retires(self) -> bool {
        !matches!(self, Self::SystemCall | Self::Breakpoint | Self::Undefined)
    }

    /// How a run that ends with it exits, where it is left by it and not by a trap.
    #[inline(always)]
    pub fn exit(self) -> Exit {
        EXITS[self as usize]
    }
}

/// By [`Control`]: how a run exits. A table, since flow decoders ask for every run, in no order that can be predicted.
static EXITS: [Exit; Control::TransactionStart as usize + 1] = [
    Exit::Next,         // Sequential
    Exit::Branch,       // Branch
    Exit::Jump,         // Jump
    Exit::Call,         // Call
    Exit::Jump,         // OtherJump
    Exit::IndirectJump, // IndirectJump
    Exit::IndirectCall, // IndirectCall
    Exit::IndirectJump, // OtherIndirectJump
    Exit::Return,       // Return
    Exit::IndirectCall, // CoroutineSwap
    Exit::TrapReturn,   // TrapReturn
    Exit::Trap,         // SystemCall
    Exit::Trap,         // Breakpoint
    Exit::Trap,         // Undefined
    Exit::Next,         // Isb
    Exit::Next,         // Wait
    Exit::Next,         // TransactionStart
];

/// The instruction set at the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Switch {
    /// The same as here.
    #[default]
    Stay,
    /// This one (Arm BLX with an immediate).
    To(Isa),
    /// The low bit of the target address, or the saved state, says (Arm BX, POP to pc, exception return).
    ByTarget,
}

/// How long an instruction is and where control can go after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flow {
    /// Length in bytes; 0 where the instruction set is not known.
    pub length: u8,
    /// Its effect on the flow.
    pub control: Control,
    /// Target when taken, if the encoding has it.
    pub target: Option<u64>,
    /// It may also fall through: conditional branches, and conditional forms of anything else in A32/T32.
    pub conditional: bool,
    /// The instruction set at the target.
    pub switch: Switch,
}

impl Flow {
    /// An instruction that control falls through.
    pub const fn sequential(length: u8) -> Self {
        Self { length, control: Control::Sequential, target: None, conditional: false, switch: Switch::Stay }
    }

    /// Can it retire?
    pub const fn retires(&self) -> bool {
        self.control.retires()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quick test of `never_retires` is true for every encoding whose control flow says so.
    #[test]
    fn what_never_retires_is_found_without_decoding() {
        use trackway_core::{Isa, SplitMix64};
        let agree = |isa: Isa, encoding: u32| {
            let decoded = !crate::flow(isa, 0, encoding).retires();
            assert_eq!(crate::never_retires(isa, encoding), decoded, "{isa} {encoding:#010x}");
        };
        for half in 0..=u32::from(u16::MAX) {
            for isa in [Isa::Rv32, Isa::Rv64] {
                // Alone, below and above another halfword.
                [half, half | 0xffff_0000, half | 0x0010_0000, half << 16 | 0x73, half << 16 | 0x7f]
                    .into_iter()
                    .for_each(|encoding| agree(isa, encoding));
            }
            for low in [0, 1, 2, 3, 0x1f, 0xfc1f, 0xffe0, 0xffff] {
                agree(Isa::A64, half << 16 | low);
            }
        }
        let mut random = SplitMix64(1);
        for _ in 0..200_000 {
            let encoding = random.next_u64() as u32;
            [Isa::Rv32, Isa::Rv64, Isa::A64, Isa::A32].into_iter().for_each(|isa| agree(isa, encoding));
        }
    }

    /// The table of exits is in the order of the classes: what they say of themselves agrees with it.
    #[test]
    fn exits_agree_with_the_classes() {
        use Control::*;
        for control in [
            Sequential,
            Branch,
            Jump,
            Call,
            OtherJump,
            IndirectJump,
            IndirectCall,
            OtherIndirectJump,
            Return,
            CoroutineSwap,
            TrapReturn,
            SystemCall,
            Breakpoint,
            Undefined,
            Isb,
            Wait,
            TransactionStart,
        ] {
            let exit = control.exit();
            let calls = matches!(exit, Exit::Call | Exit::IndirectCall);
            let direct = matches!(exit, Exit::Branch | Exit::Jump | Exit::Call);
            let indirect =
                matches!(exit, Exit::IndirectJump | Exit::IndirectCall | Exit::Return | Exit::TrapReturn);
            assert_eq!(calls, control.is_call(), "{control:?}");
            assert_eq!(direct, control.is_direct(), "{control:?}");
            assert_eq!(indirect, control.is_indirect(), "{control:?}");
            assert_eq!(exit != Exit::Trap, control.retires(), "{control:?}");
            assert_eq!(exit == Exit::Branch, control == Branch);
            assert_eq!(exit == Exit::Return, control == Return);
            assert_eq!(exit == Exit::TrapReturn, control == TrapReturn);
        }
    }
}
