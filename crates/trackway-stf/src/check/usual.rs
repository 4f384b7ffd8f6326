//! Groups of the usual shapes that break no rule, many at a time: an instruction after at most a target or an access,
//! and registers before these. All others, and those of which that is not sure, are checked record by record.

use std::ops::ControlFlow;

use trackway_core::Isa;

use super::Checker;
use super::encoding::Usual;
use crate::fields::Layout;
use crate::read::{Visit, WINDOW};
use crate::record::descriptor::*;
use crate::record::length::{ACCESS, CONTENT, REGISTER, TARGET};
use crate::record::{Record, read_common};
use crate::values::{REG_PC, access, features, reg_class, reg_role};

/// The records of the groups taken so far.
#[derive(Default)]
struct Taken {
    groups: u64,
    wide: u64,
    targets: u64,
    registers: u64,
    accesses: u64,
}

impl Visit for Checker<'_> {
    fn visit(&mut self, offset: u64, record: &Record<'_>, _: &[u8]) -> ControlFlow<()> {
        self.record(offset, record);
        ControlFlow::Continue(())
    }

    fn visit_common(&mut self, bytes: &[u8], start: u64, layout: &Layout) -> (usize, ControlFlow<()>) {
        let mut at = 0;
        loop {
            if self.is_clear && !self.ended {
                at += self.usual_groups(&bytes[at..], start + at as u64);
            }
            let offset = start + at as u64;
            let Some(window) = bytes[at..].first_chunk::<WINDOW>() else { break };
            at += read_common!(window, layout, |record, len| {
                self.record(offset, &record);
                len
            }, else break);
        }
        (at, ControlFlow::Continue(()))
    }
}

impl Checker<'_> {
    /// Takes the usual groups at the front of `bytes`; returns their length.
    #[inline(never)]
    fn usual_groups(&mut self, bytes: &[u8], start: u64) -> usize {
        let is_riscv = matches!(self.isa, Isa::Rv32 | Isa::Rv64);
        let has_walks = self.features & features::PTE != 0;
        let (mut rest, mut pc, mut used) = (bytes, self.pc, self.registers);
        let (mut taken, mut last) = (Taken::default(), 0);
        loop {
            let (mut group, mut target) = (rest, None);
            if let Some([INST_PC_TARGET, address @ ..]) = group.first_chunk::<TARGET>() {
                target = Some(u64::from_le_bytes(*address));
                group = &group[TARGET..];
            }
            let (mut registers, mut needed) = (0, 0);
            while let Some([INST_REG, low, high, meta, ..]) = group.first_chunk::<REGISTER>()
                && let Some(feature) = usual_register(u16::from_le_bytes([*low, *high]), *meta)
            {
                needed |= feature;
                registers += 1;
                group = &group[REGISTER..];
            }
            let Some(window) = group.first_chunk::<WINDOW>() else { break };
            let (opcode, access) = match window[0] {
                INST_MEM_ACCESS if window[ACCESS] == INST_MEM_CONTENT => {
                    let opcode = window.last_chunk().unwrap_or(&[0; WINDOW - ACCESS - CONTENT]);
                    let size = u16::from_le_bytes([window[9], window[10]]);
                    let data = window[ACCESS + 1..].first_chunk().map_or(0, |data| u64::from_le_bytes(*data));
                    (*opcode, Some((window[13], size, data)))
                }
                _ => (*window.first_chunk().unwrap_or(&[0; WINDOW - ACCESS - CONTENT]), None),
            };
            let (encoding, width) = match opcode {
                [INST_OPCODE32, a, b, c, d, ..] => (u32::from_le_bytes([a, b, c, d]), 4u8),
                [INST_OPCODE16, a, b, ..] => (u32::from_le_bytes([a, b, 0, 0]), 2),
                _ => break,
            };
            if is_riscv {
                let usual = self.encoded(encoding).usual;
                let is_fine = match (usual, target, access) {
                    (Usual::Plain | Usual::Branch { .. }, None, None) => true,
                    (Usual::Branch { distance } | Usual::Jump { distance }, Some(target), None) => {
                        self.named(pc, distance).is_none_or(|named| named == target)
                    }
                    (Usual::IndirectJump, Some(_), None) => true,
                    (Usual::Access { kind, size }, None, Some((found, bytes, data))) => {
                        let is_justified = size >= 8 || data >> (8 * size) == 0;
                        !has_walks & (found == kind) & (bytes == u16::from(size)) & is_justified
                    }
                    _ => false,
                };
                if !is_fine || (encoding & 3 == 3) != (width == 4) {
                    break;
                }
            } else if access.is_some_and(|(kind, ..)| !matches!(kind, access::READ | access::WRITE)) {
                break;
            }
            if access.is_some() {
                group = &group[ACCESS + CONTENT..];
                taken.accesses += 1;
            }
            last = bytes.len() - group.len();
            rest = &group[1 + usize::from(width)..];
            pc = target.or(pc.map(|pc| pc.wrapping_add(width.into())));
            used |= needed;
            taken.groups += 1;
            taken.wide += u64::from(width == 4);
            taken.targets += u64::from(target.is_some());
            taken.registers += registers;
        }
        if taken.groups > 0 {
            (self.pc, self.registers, self.offset) = (pc, used, start + last as u64);
            // Only encodings of RISC-V say that the flow continues.
            self.explained = !is_riscv;
            self.markers += taken.groups;
            self.count_taken(&taken);
        }
        bytes.len() - rest.len()
    }

    fn count_taken(&mut self, taken: &Taken) {
        let Taken { groups, wide, targets, registers, accesses } = *taken;
        for (descriptor, n) in [
            (INST_OPCODE32, wide),
            (INST_OPCODE16, groups - wide),
            (INST_PC_TARGET, targets),
            (INST_REG, registers),
            (INST_MEM_ACCESS, accesses),
            (INST_MEM_CONTENT, accesses),
        ] {
            self.body[usize::from(descriptor)] += n;
            self.item += n;
        }
    }

    /// The target that a direct jump at `pc` names, by its distance.
    #[inline(always)]
    fn named(&self, pc: Option<u64>, distance: u64) -> Option<u64> {
        let whole = if self.isa == Isa::Rv32 { u32::MAX.into() } else { u64::MAX };
        pc.map(|pc| pc.wrapping_add(distance) & whole)
    }
}

/// The feature that a register record needs which breaks no rule, if that is sure.
#[inline(always)]
fn usual_register(number: u16, meta: u8) -> Option<u64> {
    let exists = match meta & 0xf {
        reg_class::INTEGER => number <= REG_PC,
        reg_class::FLOAT => number < 32,
        _ => false,
    };
    match meta >> 4 {
        reg_role::STATE if exists => Some(features::REGISTER_STATE),
        reg_role::SOURCE | reg_role::DESTINATION if exists => Some(features::OPERAND_VALUE),
        _ => None,
    }
}
