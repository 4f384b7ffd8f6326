//! Places where a trace can be cut: between two groups, with the pc and the registers known there before the second.

use trackway_core::Result;
use trackway_format::Cut;

use crate::config::Config;
use crate::group::{Frame, Group};
use crate::read::Reader;
use crate::record::Record;
use crate::registers::Registers;
use crate::view::{Kind, NextPc, View};
use crate::write::Writer;

/// The first places at or after the offsets `wanted`, in order.
pub(crate) fn cuts(mut reader: Reader, config: &Config, wanted: &[u64]) -> Result<Vec<Cut>> {
    let mut cuts: Vec<Cut> = Vec::new();
    let (mut registers, mut pc, mut privilege) = (Registers::new(reader.widths()), config.reset_pc, None);
    let (mut group, mut after_group) = (Group::default(), false);
    while reader.read_group(&mut group)? {
        let begins = after_group && group.frame == Frame::Ended;
        while begins && wanted.get(cuts.len()).is_some_and(|at| *at <= group.offset) {
            let prologue = state(&registers, pc, privilege, config)?;
            cuts.push(Cut { offset: group.offset, prologue, comment_at: 0 });
        }
        after_group = group.frame == Frame::Ended;
        let view = View::gather(&group, &registers, &mut |_| {});
        pc = match (view.pc, view.kind) {
            (Some(NextPc::To(to)), _) => Some(to),
            (Some(NextPc::Increment), _) => view.after(pc, reader.widths().xlen),
            (None, Kind::Reset) => config.reset_pc,
            (None, Kind::Init | Kind::State) => pc,
            (None, _) => None,
        };
        for record in &group.records {
            registers.apply(record);
            if let Record::PrivilegeMode(mode) = record {
                privilege = Some(*mode);
            }
        }
    }
    let missing = wanted.len() - cuts.len();
    cuts.extend(vec![Cut { offset: reader.offset(), ..Cut::default() }; missing]);
    Ok(cuts)
}

/// A group that initializes the state, if anything is known.
fn state(registers: &Registers, pc: Option<u64>, privilege: Option<u8>, config: &Config) -> Result<Vec<u8>> {
    let mut records: Vec<Record> = pc.map(Record::Pc).into_iter().collect();
    records.extend(privilege.map(Record::PrivilegeMode));
    records.extend(registers.known().map(|(address, data)| Record::FullRegister { address, data }));
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let mut writer = Writer::new(Vec::new(), config)?;
    writer.write_group(&Group::init(records, config.profile))?;
    writer.into_inner()
}
