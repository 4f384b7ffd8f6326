//! The example trace of the spec's chapter 5, with its errata applied.
//!
//! Errata: the first 28 bytes of the string in table 17 have a word too many; the PID is that of table 20, not of
//! figure 1; the `iword` of table 22 lacks a digit; records 13 to 15 have the addresses of figure 1, which keep the
//! flow; kernel addresses lack one `f`; table 35 lists only the changes; table 36 omits the index.

use crate::config::{Storage, WriteConfig};
use crate::record::*;
use crate::write::Writer;

/// The 21 records of the example.
pub fn records() -> Vec<Record> {
    let mut text = b"Example ASTF tracefile for the specification".to_vec();
    text.resize(28 + 31, 0);
    let part = |from: usize| &text[from..];
    let thread = Context {
        pstate_ssbs: true,
        mte_tcf: 1,
        pid_valid: true,
        tid_valid: true,
        pid: 29192,
        tid: 29197,
        ..Context::default()
    };
    let handler = Context { evl: 1, mte_tcf: 3, el: 1, handler: true, ..Context::default() };
    let step = |pc, iword| Instruction { pc, iword, ..Instruction::default() };
    let set = |pc, iword, ea, len| Instruction {
        xattr_mode: 1,
        is_write: true,
        ea_valid: true,
        ea_tagged: len > 0,
        ea,
        xattr: len,
        ..step(pc, iword)
    };
    let time = |value0| Timestamp { unit: 1, value0, ..Timestamp::default() };
    vec![
        Header::new(Level::BasicPlus, true).into(),
        StringRecord { size: 44, string: std::array::from_fn(|n| text[n]), ..StringRecord::default() }.into(),
        StringContinuation { string: std::array::from_fn(|n| part(28)[n]) }.into(),
        time(100).into(),
        thread.into(),
        step(0x0836_e128, 0x6b00_007f).into(),
        Instruction { is_branch: true, ..step(0x0836_e12c, 0x54ff_fde1) }.into(),
        Instruction {
            is_read: true,
            ea_valid: true,
            ea_size: 15,
            ea: 0x0000_ffff_e762_4250,
            ..step(0x0836_e130, 0xa941_53f3)
        }
        .into(),
        set(0x0836_e134, 0x1dc0_0693, 0x0000_a433_0b76_5010, 0x10).into(),
        set(0x0836_e138, 0x1dc0_4693, 0x0000_a433_0b76_5020, 0x60).into(),
        set(0x0836_e13c, 0x1dc0_8693, 0x0000_a433_0b76_5080, 0).into(),
        Instruction {
            is_branch: true,
            ea_valid: true,
            ea: 0x0000_ffff_83ff_b2f0,
            ..step(0x0836_e140, 0xd63f_0040)
        }
        .into(),
        Instruction {
            ea_tagged: true,
            is_read: true,
            ea_valid: true,
            extra_eas: true,
            ea_size: 3,
            ea: 0x0000_a433_0b76_5ffc,
            ..step(0x0000_ffff_83ff_b2f0, 0x2949_b0cb)
        }
        .into(),
        ExtraEa {
            mem0_tagged: true,
            mem0_is_read: true,
            mem0_size: 3,
            mem0_addr: 0x0000_a433_0b76_6000,
            ..ExtraEa::default()
        }
        .into(),
        Instruction {
            ea_tagged: true,
            trap: true,
            ea_valid: true,
            ea_size: 15,
            ea: 0x0000_ffff_95ce_b000,
            ..step(0x0000_ffff_83ff_b2f4, 0xa881_30eb)
        }
        .into(),
        Trap { ec: 0x24, target_pc: 0xffff_7dff_fe7f_c400, ..Trap::default() }.into(),
        time(102).into(),
        handler.into(),
        step(0xffff_7dff_fe7f_c400, 0xd503_437f).into(),
        Context { pstate_sm: true, evl: 3, ..handler }.into(),
        Instruction {
            xattr_mode: 2,
            is_read: true,
            ea_valid: true,
            ea_size: 63,
            ea: 0xffff_8000_053b_d500,
            xattr: 5,
            ..step(0xffff_7dff_fe7f_c404, 0xe100_0004)
        }
        .into(),
    ]
}

/// The example as a file, for documentation and tests.
///
/// # Panics
/// For [`Storage::Gzip`], which is not written.
pub fn example(storage: Storage) -> Vec<u8> {
    let records = records();
    let Record::Header(header) = records[0] else { unreachable!("the first record is the Header") };
    let config = WriteConfig { storage, ..WriteConfig::default() };
    let write = || -> trackway_core::Result<Vec<u8>> {
        let mut writer = Writer::create(Vec::new(), header, &config)?;
        for record in &records[1..] {
            writer.put(record)?;
        }
        writer.finish()
    };
    write().expect("memory takes all bytes")
}
