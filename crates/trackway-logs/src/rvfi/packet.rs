//! An RVFI-DII packet, version 1.

use super::port::Port;

/// Bytes of a packet.
pub(crate) const SIZE: usize = 88;

/// Reads a packet.
pub(crate) fn read(packet: &[u8; SIZE], port: &mut Port) {
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&packet[at..at + 8]);
        Some(u64::from_le_bytes(word))
    };
    let byte = |at: usize| Some(u64::from(packet[at]));
    let csrs = std::mem::take(&mut port.csrs);
    *port = Port {
        valid: Some(1),
        order: word(0),
        pc_rdata: word(8),
        pc_wdata: word(16),
        insn: word(24),
        rs1_rdata: word(32),
        rs2_rdata: word(40),
        rd_wdata: word(48),
        mem_addr: word(56),
        mem_rdata: word(64),
        mem_wdata: word(72),
        mem_rmask: byte(80),
        mem_wmask: byte(81),
        rs1_addr: byte(82),
        rs2_addr: byte(83),
        rd_addr: byte(84),
        trap: byte(85),
        halt: byte(86),
        intr: byte(87),
        mode: None,
        ixl: None,
        csrs,
    };
}
