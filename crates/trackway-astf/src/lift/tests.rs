//! Three ways through the same records: one by one, by the loop, and in parts on threads.

use proptest::prelude::*;
use trackway_core::*;
use trackway_io::payload::Content;
use trackway_testkit::lines::observed;

use super::Lift;
use super::state::State;
use crate::config::ID;
use crate::layout::{RECORD, to_bytes};
use crate::record::{ExtraEa, Instruction, Level, StringContinuation, StringRecord, Timestamp};
use crate::records::Records;

/// Lifts by the loop for common instructions, or record by record.
fn lines(records: &[[u8; RECORD]], level: Level, together: bool) -> Vec<String> {
    let (mut state, mut batch) = (State::new(level), Batch::default());
    let mut offset = 0;
    while let Some(rest) = records.get(offset..).filter(|rest| !rest.is_empty()) {
        if together {
            // As `fill` does it.
            batch.events.reserve(rest.len());
            offset += state.lift((offset * RECORD) as u64, rest, &mut batch);
        } else {
            state.record((offset * RECORD) as u64, &rest[0], &mut batch);
            offset += 1;
        }
    }
    state.end_string(&mut batch);
    let line = |event: &Event| {
        let mut line = String::new();
        batch.write_line(event, &mut line);
        line
    };
    batch.events.iter().map(line).collect()
}

/// Records that mostly follow each other: common instructions, and now and then anything.
fn trace() -> impl Strategy<Value = Vec<[u8; RECORD]>> {
    let record = (0u8..20, any::<[u8; 32]>());
    prop::collection::vec(record, 0..200).prop_map(|choices| {
        let mut pc = 0x1000u64;
        choices
            .into_iter()
            .map(|(choice, noise)| {
                let ea = u64::from_le_bytes([noise[0] & !3, noise[1], 0, 0, 0, 0, 0, 0]);
                let plain = Instruction { pc, iword: 0xd503_201f, ..Instruction::default() };
                let access = Instruction { ea_valid: true, ea, ea_size: noise[2], ..plain };
                let branch = Instruction { is_branch: true, ..plain };
                let to = Instruction { ea_valid: true, ea, ..branch };
                let record = match choice {
                    0..=6 => plain,
                    7..=10 => Instruction { is_read: true, ea_tagged: noise[3] > 200, ..access },
                    11..=12 => Instruction { is_write: true, ..access },
                    13 => {
                        let (is_read, is_write) = (noise[4] < 192, noise[4] >= 64);
                        Instruction { is_read, is_write, ea_tagged: noise[3] > 128, ..access }
                    }
                    14 => branch,
                    15..=16 => to,
                    17 => Instruction { iword: if noise[2] < 64 { 0xd69f_03e0 } else { 0xd65f_03c0 }, ..to },
                    18 => Instruction { trap: true, iword: 0xd400_0001, ..plain },
                    _ => {
                        // Any record of any type.
                        const IDS: [u8; 8] = [
                            ExtraEa::ID,
                            crate::record::Context::ID,
                            crate::record::Trap::ID,
                            StringRecord::ID,
                            StringContinuation::ID,
                            Timestamp::ID,
                            Instruction::ID,
                            0x7f,
                        ];
                        let mut record = noise;
                        record[0] = IDS[usize::from(noise[0] % 8)];
                        return record;
                    }
                };
                pc = if record.is_branch && record.ea_valid { ea } else { pc + 4 };
                to_bytes(&record.write())
            })
            .collect()
    })
}

/// Lifts in parts of `size` records on two threads.
fn lines_of_parts(records: &[[u8; RECORD]], level: Level, size: usize) -> Vec<String> {
    let content = Content::raw(Input::from_vec(records.as_flattened().to_vec()));
    let lift = Lift { part: size, ..Lift::new(level, Records::new(content, false), 0, None) };
    let mut source = Stream::new(Meta::new(ID, Isa::A64), vec![lift], 2);
    let lines = observed(&mut source);
    let instructions = records.iter().filter(|record| record[0] == Instruction::ID).count() as u64;
    assert_eq!(source.census().total(), 1 + records.len() as u64);
    assert_eq!(
        source.census().entries().find(|entry| entry.0 == "Instruction").map_or(0, |entry| entry.1),
        instructions
    );
    lines
}

proptest! {
    #[test]
    fn parts_lift_as_the_whole_does(records in trace(), plus: bool, size in 1usize..40) {
        let level = if plus { Level::BasicPlus } else { Level::Basic };
        prop_assert_eq!(lines_of_parts(&records, level, size), lines(&records, level, false));
    }

    #[test]
    fn the_loop_lifts_as_single_records_do(records in trace(), plus: bool) {
        let level = if plus { Level::BasicPlus } else { Level::Basic };
        prop_assert_eq!(lines(&records, level, true), lines(&records, level, false));
    }
}
