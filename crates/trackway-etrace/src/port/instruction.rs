//! The instruction side of the port: the blocks that retire in a cycle (4.1, 4.2).

use trackway_core::{Isa, Privilege};
use trackway_isa::{Control, flow};

use super::data::DataPort;

/// How a block of instructions ends (table 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Itype(pub u8);

#[allow(missing_docs)] // the names are table 4.1's
impl Itype {
    pub const NONE: Itype = Itype(0);
    pub const EXCEPTION: Itype = Itype(1);
    pub const INTERRUPT: Itype = Itype(2);
    pub const TRAP_RETURN: Itype = Itype(3);
    pub const NONTAKEN_BRANCH: Itype = Itype(4);
    pub const TAKEN_BRANCH: Itype = Itype(5);
    pub const UNINFERABLE_JUMP: Itype = Itype(6);
    pub const UNINFERABLE_CALL: Itype = Itype(8);
    pub const INFERABLE_CALL: Itype = Itype(9);
    pub const UNINFERABLE_TAIL_CALL: Itype = Itype(10);
    pub const INFERABLE_TAIL_CALL: Itype = Itype(11);
    pub const COROUTINE_SWAP: Itype = Itype(12);
    pub const RETURN: Itype = Itype(13);
    pub const OTHER_UNINFERABLE_JUMP: Itype = Itype(14);
    pub const OTHER_INFERABLE_JUMP: Itype = Itype(15);
}

impl Itype {
    /// The type of an instruction that retires (4.1.1); `width` is `itype_width`.
    #[inline]
    pub const fn new(control: Control, taken: bool, width: u32) -> Itype {
        let full = width >= 4;
        match control {
            Control::Branch if taken => Itype::TAKEN_BRANCH,
            Control::Branch => Itype::NONTAKEN_BRANCH,
            Control::TrapReturn => Itype::TRAP_RETURN,
            // With three bits inferable jumps are not marked, and all others are alike.
            Control::Jump | Control::Call | Control::OtherJump if !full => Itype::NONE,
            Control::Jump => Itype::INFERABLE_TAIL_CALL,
            Control::Call => Itype::INFERABLE_CALL,
            Control::OtherJump => Itype::OTHER_INFERABLE_JUMP,
            Control::IndirectJump
            | Control::IndirectCall
            | Control::OtherIndirectJump
            | Control::Return
            | Control::CoroutineSwap
                if !full =>
            {
                Itype::UNINFERABLE_JUMP
            }
            Control::IndirectJump => Itype::UNINFERABLE_TAIL_CALL,
            Control::IndirectCall => Itype::UNINFERABLE_CALL,
            Control::OtherIndirectJump => Itype::OTHER_UNINFERABLE_JUMP,
            Control::Return => Itype::RETURN,
            Control::CoroutineSwap => Itype::COROUTINE_SWAP,
            _ => Itype::NONE,
        }
    }

    /// Is it an exception or interrupt?
    #[inline]
    pub const fn is_trap(self) -> bool {
        matches!(self.0, 1 | 2)
    }

    /// Is it a branch?
    #[inline]
    pub const fn is_branch(self) -> bool {
        matches!(self.0, 4 | 5)
    }

    /// Does it push a return address?
    #[inline]
    pub const fn is_call(self) -> bool {
        matches!(self.0, 8 | 9)
    }

    /// Is the target unknown from the program text, modes apart? Trap returns count too.
    #[inline]
    pub(crate) const fn is_uninferable(self) -> bool {
        matches!(self.0, 3 | 6 | 8 | 10 | 12 | 13 | 14)
    }
}

/// Class of control flow of an instruction. With `x1_only`, calls and returns are those of chapter 11 and not those
/// of 4.1.1.
pub(crate) fn control_of(isa: Isa, pc: u64, encoding: u32, x1_only: bool) -> Control {
    let control = flow(isa, pc, encoding).control;
    if !x1_only || !(control.is_call() || control.is_return()) {
        return control;
    }
    let (rd, rs1) = link_registers(encoding);
    match (control.is_direct(), rd, rs1) {
        (true, 1, _) => Control::Call,
        (true, ..) => Control::OtherJump,
        (false, 1, _) => Control::IndirectCall,
        (false, 0, 1) => Control::Return,
        (false, 0, _) => Control::IndirectJump,
        (false, ..) => Control::OtherIndirectJump,
    }
}

/// Link and base register of a jump.
fn link_registers(encoding: u32) -> (u32, u32) {
    if encoding & 3 == 3 {
        (encoding >> 7 & 31, encoding >> 15 & 31)
    } else if encoding & 3 == 1 {
        (1, 0) // C.JAL
    } else {
        (encoding >> 12 & 1, encoding >> 7 & 31) // C.JR, C.JALR
    }
}

/// Target of a sequentially inferable jump (4.1.1): `second` jumps through the register that `first`, the
/// instruction before it, loaded with a constant.
pub fn sequential_target(isa: Isa, first_pc: u64, first: u32, second: u32) -> Option<u64> {
    let narrow = |address: u64| if isa == Isa::Rv32 { address & 0xffff_ffff } else { address };
    let (rd, base) = match (first & 0x7f, first & 3, first >> 13 & 7) {
        (0x17, ..) => (first >> 7 & 31, first_pc.wrapping_add((first & 0xffff_f000) as i32 as u64)),
        (0x37, ..) => (first >> 7 & 31, (first & 0xffff_f000) as i32 as u64),
        (_, 1, 3) => {
            // C.LUI: nzimm[17|16:12]; x0 and x2 are something else.
            let bits = (first >> 12 & 1) << 17 | (first >> 2 & 31) << 12;
            (first >> 7 & 31, ((bits << 14) as i32 >> 14) as u64)
        }
        _ => return None,
    };
    let (rs1, offset) = match second & 3 {
        3 if second & 0x707f == 0x67 => (second >> 15 & 31, ((second as i32) >> 20) as u64),
        2 if second >> 13 & 7 == 4 && second & 0x7c == 0 => (second >> 7 & 31, 0),
        _ => return None,
    };
    let is_c_lui = first & 3 == 1;
    if rd != rs1 || rd == 0 || (is_c_lui && rd == 2) {
        return None;
    }
    Some(narrow(base.wrapping_add(offset) & !1))
}

/// Requests of the debug module at a block (table 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trigger {
    /// Start tracing.
    pub on: bool,
    /// Stop tracing.
    pub off: bool,
    /// Report the last instruction of the block.
    pub notify: bool,
}

/// Consecutive instructions that retire together (tables 4.1, 4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// How the block ends.
    pub itype: Itype,
    /// Address of the first instruction; if nothing retires, of the one that trapped (version 2).
    pub iaddr: u64,
    /// Half-words that retire.
    pub iretire: u32,
    /// The last instruction has `2^ilastsize` half-words.
    pub ilastsize: u8,
    /// The jump at its end is sequentially inferable.
    pub sijump: bool,
    /// Requests of the debug module.
    pub trigger: Trigger,
}

impl Block {
    /// Table 4.3: with single retirement `iretire` counts instructions.
    pub fn single(itype: Itype, iaddr: u64, retires: bool, ilastsize: u8) -> Block {
        let iretire = if retires { 1 << ilastsize } else { 0 };
        Block { itype, iaddr, iretire, ilastsize, ..Block::default() }
    }

    /// Address of the last instruction.
    #[inline]
    pub fn last(&self) -> u64 {
        let last = 2u64 << self.ilastsize;
        self.iaddr.wrapping_add(u64::from(self.iretire) * 2).wrapping_sub(last)
    }
}

/// The signals of the port in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycle<'a> {
    /// Blocks, oldest first. Only the last can trap.
    pub blocks: &'a [Block],
    /// Data accesses, in the order of their instructions.
    pub data: &'a [DataPort],
    /// Cause of the trap, if the last block has one.
    pub cause: u64,
    /// Trap value, if the last block has a trap.
    pub tval: u64,
    /// Privilege of all instructions in the cycle.
    pub privilege: u32,
    /// Context of all instructions in the cycle.
    pub context: u64,
    /// How to report the context (table 4.4).
    pub ctype: u8,
    /// Time.
    pub time: u64,
    /// Number of the cycle.
    pub cycle: u64,
    /// Implementation-defined inputs.
    pub impdef: u32,
    /// The core is halted.
    pub halted: bool,
    /// The core is in reset.
    pub reset: bool,
}

/// Privilege codes on the wire: U, S/HS, reserved, M, D, VU, VS.
pub(crate) const PRIVILEGES: [(u32, Privilege); 6] = [
    (0, Privilege::U),
    (1, Privilege::S),
    (3, Privilege::M),
    (4, Privilege::D),
    (5, Privilege::VU),
    (6, Privilege::VS),
];

/// The code of a privilege, if it has one.
pub(crate) fn privilege_code(privilege: Privilege) -> Option<u32> {
    match privilege {
        Privilege::H => Some(1),
        _ => PRIVILEGES.iter().find(|(_, of)| *of == privilege).map(|(code, _)| *code),
    }
}

/// The privilege of a code; `None` for a reserved one.
pub(crate) fn privilege_of(code: u32) -> Option<Privilege> {
    PRIVILEGES.iter().find(|(of, _)| *of == code).map(|(_, privilege)| *privilege)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 4.8.
    #[test]
    fn table_4_8_blocks() {
        let block =
            |itype, iaddr, iretire, ilastsize| Block { itype, iaddr, iretire, ilastsize, ..Block::default() };
        assert_eq!(block(Itype::UNINFERABLE_CALL, 0x1000, 7, 0).last(), 0x100c);
        assert_eq!(block(Itype::NONTAKEN_BRANCH, 0x940, 3, 0).last(), 0x944);
        assert_eq!(block(Itype::TAKEN_BRANCH, 0x946, 1, 0).last(), 0x946);
        assert_eq!(block(Itype::NONE, 0x988, 4, 1).last(), 0x98c);
    }

    /// 4.1.1, all lines of the lists.
    #[test]
    fn section_4_1_1_classes() {
        let jal = |rd: u32| 0x6f | rd << 7;
        let jalr = |rd: u32, rs: u32| 0x67 | rd << 7 | rs << 15;
        let c_jr = |rs: u32| 0x8002 | rs << 7;
        let c_jalr = |rs: u32| 0x9002 | rs << 7;
        let of = |isa, encoding| Itype::new(flow(isa, 0x1000, encoding).control, true, 4).0;
        for (encoding, itype) in [
            (jal(1), 9),
            (jal(5), 9),
            (jalr(1, 3), 8),
            (jalr(1, 1), 8),
            (jalr(5, 3), 8),
            (jalr(5, 5), 8),
            (c_jalr(3), 8),
            (jal(0), 11),
            (0xa001, 11), // c.j
            (jalr(0, 3), 10),
            (c_jr(3), 10),
            (jalr(0, 1), 13),
            (jalr(7, 5), 13),
            (c_jr(1), 13),
            (c_jr(5), 13),
            (jalr(1, 5), 12),
            (jalr(5, 1), 12),
            (c_jalr(5), 12),
            (jal(3), 15),
            (jalr(3, 7), 14),
            (jalr(1, 0), 9), // a constant target
            (0x3020_0073, 3),
            (0x13, 0),
        ] {
            assert_eq!(of(Isa::Rv64, encoding), itype, "{encoding:#x}");
        }
        assert_eq!(of(Isa::Rv32, 0x2001), 9, "c.jal");
        assert_eq!(Itype::new(Control::Return, true, 3), Itype::UNINFERABLE_JUMP);
        assert_eq!(Itype::new(Control::Call, true, 3), Itype::NONE);
    }

    /// 4.1.1: pairs that make a jump sequentially inferable.
    #[test]
    fn section_4_1_1_sequential_targets() {
        let jalr_8_x6 = 0x0083_00e7; // jalr x1, 8(x6)
        assert_eq!(sequential_target(Isa::Rv64, 0x1000, 0x0000_1317, jalr_8_x6), Some(0x2008)); // auipc x6, 1
        assert_eq!(sequential_target(Isa::Rv64, 0x1000, 0xffff_f317, jalr_8_x6), Some(0x8));
        assert_eq!(sequential_target(Isa::Rv64, 0x1000, 0x8000_0337, jalr_8_x6), Some(0xffff_ffff_8000_0008));
        assert_eq!(sequential_target(Isa::Rv32, 0x1000, 0x8000_0337, jalr_8_x6), Some(0x8000_0008));
        assert_eq!(sequential_target(Isa::Rv64, 0x1000, 0x6305, 0x8302), Some(0x1000)); // c.lui x6, 1; c.jr x6
        assert_eq!(sequential_target(Isa::Rv64, 0x1000, 0x6305, 0x8382), None); // another register
        assert_eq!(sequential_target(Isa::Rv64, 0x1000, 0x13, jalr_8_x6), None);
    }
}
