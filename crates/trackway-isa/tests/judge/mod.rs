//! Capstone as the judge of our Arm classes, and where it is not right.
#![allow(dead_code)] // every test file uses a part of it

pub(crate) mod kind;

use capstone::Capstone;
use capstone::arch::{BuildsCapstone, BuildsCapstoneExtraMode, DetailsArchInsn, arm, arm64};
use trackway_core::Isa;
use trackway_isa::arm::t32;
use trackway_isa::{Control, Flow};

/// Capstone's groups of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    /// Its text.
    pub(crate) text: String,
    pub(crate) length: u8,
    /// It writes the pc, by its groups.
    pub(crate) transfers: bool,
    /// Its immediate target.
    pub(crate) target: Option<u64>,
}

impl Groups {
    pub(crate) fn agrees(&self, flow: &Flow) -> bool {
        self.length == flow.length
            && self.transfers == flow.control.is_transfer()
            && (flow.target.is_none() || self.target.is_none() || self.target == flow.target)
    }
}

/// Capstone for each set.
#[derive(Default)]
pub(crate) struct Engines {
    a64: Option<Capstone>,
    a32: Option<Capstone>,
    t32: Option<Capstone>,
}

impl Engines {
    /// `None` where capstone does not know the instruction.
    pub(crate) fn groups(&mut self, isa: Isa, pc: u64, encoding: u32) -> Option<Groups> {
        let v8 = || [arm::ArchExtraMode::V8].into_iter();
        let engine = match isa {
            Isa::A64 => self.a64.get_or_insert_with(|| {
                Capstone::new().arm64().mode(arm64::ArchMode::Arm).detail(true).build().expect("builds")
            }),
            Isa::A32 => self.a32.get_or_insert_with(|| {
                let arm = Capstone::new().arm().mode(arm::ArchMode::Arm).extra_mode(v8());
                arm.detail(true).build().expect("builds")
            }),
            _ => self.t32.get_or_insert_with(|| {
                let thumb = Capstone::new().arm().mode(arm::ArchMode::Thumb).extra_mode(v8());
                thumb.detail(true).build().expect("builds")
            }),
        };
        let length = if isa == Isa::T32 && !t32::is_wide(encoding) { 2 } else { 4 };
        let list = engine.disasm_count(&encoding.to_le_bytes()[..length], pc, 1).ok()?;
        let insn = list.first()?;
        let detail = engine.insn_detail(insn).ok()?;
        // CS_GRP_JUMP, CALL, RET, IRET; BRANCH_RELATIVE is one of JUMP and CALL.
        let mut transfers = detail.groups().iter().any(|group| matches!(group.0, 1 | 2 | 3 | 5));
        let mut target = None;
        match detail.arch_detail() {
            capstone::arch::ArchDetail::Arm64Detail(detail) => {
                for operand in detail.operands() {
                    if let arm64::Arm64OperandType::Imm(value) = operand.op_type {
                        target = Some(value as u64);
                    }
                }
            }
            capstone::arch::ArchDetail::ArmDetail(detail) => {
                let pc_written = detail.operands().any(|operand| {
                    matches!(operand.op_type, arm::ArmOperandType::Reg(reg) if u32::from(reg.0) == arm::ArmReg::ARM_REG_PC)
                        && operand.access.is_some_and(|access| access.is_writable())
                });
                transfers |= pc_written;
                for operand in detail.operands() {
                    if let arm::ArmOperandType::Imm(value) = operand.op_type {
                        target = Some(u64::from(value as u32));
                    }
                }
            }
            #[allow(unreachable_patterns)] // other features of capstone add more
            _ => {}
        }
        let text = format!("{} {}", insn.mnemonic()?, insn.op_str().unwrap_or_default());
        Some(Groups { text, length: insn.len() as u8, transfers, target: target.filter(|_| transfers) })
    }
}

/// Why capstone's groups differ from our class, where we know it.
pub(crate) fn explained(isa: Isa, encoding: u32, flow: &Flow, groups: &Groups) -> Option<&'static str> {
    if flow.length != groups.length {
        return None;
    }
    if flow.control.is_transfer() != groups.transfers {
        return if groups.transfers {
            is_unpredictable(isa, encoding, &groups.text).then_some("UNPREDICTABLE: it may not write the pc")
        } else {
            lacks_group(flow, &groups.text)
        };
    }
    None
}

/// Transfers that capstone has no group for.
fn lacks_group(flow: &Flow, text: &str) -> Option<&'static str> {
    match text {
        _ if flow.control == Control::TrapReturn => Some("capstone has no group for returns from exceptions"),
        text if text.starts_with("bc.") => Some("capstone has no group for BC.cond"),
        text if text.starts_with("bxns") || text.starts_with("blxns") => {
            Some("capstone has no group for BXNS and BLXNS")
        }
        _ => None,
    }
}

/// Capstone marks the pc as written, and the architecture forbids this instruction to write it.
fn is_unpredictable(isa: Isa, encoding: u32, text: &str) -> bool {
    /// In A32 these may write the pc, unless shifted by a register.
    const PROCESSING: [&str; 17] = [
        "adc", "add", "adr", "and", "asr", "bic", "eor", "lsl", "lsr", "mov", "mvn", "orr", "ror", "rrx",
        "rsb", "rsc", "sbc",
    ];
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    let starts = |name: &&str| mnemonic.starts_with(*name);
    let writes_back = operands.starts_with("pc!");
    if ["b", "bx", "cbz", "cbnz", "tbb", "tbh", "pop"].contains(&mnemonic) {
        return false;
    }
    let is_load_word =
        mnemonic.starts_with("ldr") && !["ldrb", "ldrh", "ldrs", "ldrd", "ldrex", "ldrt"].iter().any(&starts);
    let is_load_many = mnemonic.starts_with("ldm") && operands.contains("pc}");
    match isa {
        _ if writes_back && !is_load_many => true,
        _ if mnemonic.starts_with("movw") || mnemonic.starts_with("movt") => true,
        _ if is_load_word || is_load_many => false,
        Isa::A32 if PROCESSING.iter().any(starts) || mnemonic.starts_with("sub") => {
            encoding & 0x0e00_0090 == 0x0000_0010
        }
        Isa::T32 => t32::is_wide(encoding),
        _ => true,
    }
}
