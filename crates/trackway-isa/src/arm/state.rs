//! Writes of execution state whose value the encoding has: PSTATE fields and streaming mode.

/// A piece of execution state that an instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateWrite {
    /// PSTATE.SM: SMSTART and SMSTOP.
    Streaming(bool),
    /// PSTATE.DIT.
    Dit(bool),
    /// PSTATE.SSBS.
    Ssbs(bool),
    /// PSTATE.SP.
    StackPointer(bool),
    /// SCTLR, ZCR, SMCR or SVCR, or PSTATE from a register: the encoding does not have the value.
    Register,
}

/// The state that an instruction writes, if any: what traces record as context.
pub fn state_write(word: u32) -> Option<StateWrite> {
    // MSR immediate: op1, CRm, op2.
    if word & 0xfff8_f01f == 0xd500_401f {
        let (op1, crm, op2) = (word >> 16 & 7, word >> 8 & 0xf, word >> 5 & 7);
        let set = crm & 1 == 1;
        return match (op1, op2) {
            (0, 5) => Some(StateWrite::StackPointer(set)),
            (3, 1) => Some(StateWrite::Ssbs(set)),
            (3, 2) => Some(StateWrite::Dit(set)),
            // SVCR: CRm bits 3:1 name SM, ZA or both.
            (3, 3) if crm >> 1 & 1 == 1 => Some(StateWrite::Streaming(set)),
            _ => None,
        };
    }
    // MSR register: op0 (bit 19), op1, CRn, CRm, op2.
    if word & 0xfff0_0000 == 0xd510_0000 {
        return match word >> 5 & 0x7fff {
            // SPSel; SSBS, DIT, SVCR; SCTLR, ZCR and SMCR of every level.
            0x4210 | 0x5a16 | 0x5a15 | 0x5a12 => Some(StateWrite::Register),
            register => matches!(register & 0x47ff, 0x4080 | 0x4090 | 0x4096).then_some(StateWrite::Register),
        };
    }
    None
}
