//! Groups to events.
//!
//! A group has the pc after it, so an instruction's own address is the pc of the previous group. A group becomes
//! a step with its register and memory accesses, then the trap that it took and the new privilege.

mod access;
mod group;
mod memory;
mod usual;

use serde::{Deserialize, Serialize};
use trackway_core::*;

pub(crate) use self::group::Lifter;
use crate::config::{Config, ID};
use crate::group::{Frame, Group};
use crate::read::{Place, Reader};
use crate::record::{CENSUS, OPCODES, Record, number};
use crate::view::View;

/// The events of a tandem trace.
pub type Lift = Stream<Decoder>;

/// Lifts the groups of a trace.
#[derive(Debug)]
pub struct Decoder {
    reader: Reader,
    lifter: Lifter,
    group: Group,
    /// Number of the next instruction.
    number: u64,
    /// The last group was read completely, so an error in it needs no search for the next.
    complete: bool,
    /// Items by opcode.
    counts: [u64; OPCODES],
    /// Usual groups are lifted as such; tests compare with the way of all others.
    shortcuts: bool,
}

/// The state between two groups.
#[derive(Serialize, Deserialize)]
struct State {
    place: Place,
    pc: Option<u64>,
    registers: Vec<(u16, u64)>,
}

impl Decoder {
    pub(crate) fn new(reader: Reader, config: Config) -> Self {
        Decoder {
            lifter: Lifter::new(config, reader.widths()),
            reader,
            group: Group::default(),
            number: 0,
            complete: false,
            counts: [0; OPCODES],
            shortcuts: true,
        }
    }

    /// Lifts the next group; false at the end.
    fn next(&mut self, batch: &mut Batch) -> Result<bool> {
        self.complete = false;
        if !self.reader.read_group(&mut self.group)? {
            return Ok(false);
        }
        self.complete = true;
        self.counts[usize::from(number::BEGIN_GROUP)] += u64::from(self.group.frame != Frame::Outside);
        self.counts[usize::from(number::END_GROUP)] += u64::from(self.group.frame == Frame::Ended);
        for record in &self.group.records {
            self.counts[usize::from(record.opcode())] += 1;
        }
        let mut fault = None;
        let mut view = View::default();
        view.fill(&self.group, &self.lifter.registers, &mut |found| {
            fault.get_or_insert(found);
        });
        let after = view.after(self.lifter.pc, self.reader.widths().xlen);
        if let Some(fault) = fault.or_else(|| view.contradiction(&self.group, after)) {
            return Err(fault.error(&self.group, self.reader.widths()));
        }
        self.lifter.lift(&self.group, &view, batch)?;
        Ok(true)
    }
}

/// The description of a trace, which comes from the parameters alone.
pub(crate) fn meta(config: &Config) -> Meta {
    let note = |name: &str, bits: u32| (name.to_string(), bits.to_string());
    Meta {
        version: "2018-11-20".to_string(),
        level: Some(config.profile.as_str().to_string()),
        start_pc: config.reset_pc,
        notes: vec![note("xlen", config.xlen), note("flen", config.flen), note("mlen", config.mlen)],
        ..Meta::new(ID, config.isa())
    }
}

/// Twice the longest pause between two tries.
const LONGEST: u32 = 31;

impl Decode for Decoder {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        // Groups until usual ones are tried again: where there are none, trying costs a fifth of the time.
        let (mut pause, mut misses) = (0, 0);
        let filled = loop {
            if self.shortcuts && pause == 0 {
                misses = if self.usual_groups(batch) == 0 { LONGEST.min(2 * misses + 1) } else { 0 };
                pause = misses / 2;
                if batch.is_full() {
                    break Ok(true);
                }
            } else if self.shortcuts {
                pause -= 1;
            }
            match self.next(batch) {
                Ok(true) if !batch.is_full() => {}
                filled => break filled,
            }
        };
        self.number += batch.instructions();
        filled
    }

    fn instructions(&self) -> u64 {
        self.number
    }

    fn enter(&mut self) -> Result<Entry> {
        let complete = std::mem::take(&mut self.complete);
        // The items of a complete group only contradict each other: continue after it.
        let offset = if complete { self.group.offset } else { self.reader.offset() };
        if !complete && self.reader.resync()?.is_none() {
            return Ok(Entry::End);
        }
        self.lifter.forget();
        if let (true, Some(Record::Pc(pc))) =
            (complete, self.group.records.iter().find(|record| matches!(record, Record::Pc(_))))
        {
            self.lifter.pc = Some(*pc);
        }
        let bytes = Some(self.reader.offset() - offset);
        Ok(Entry::After { offset, gap: Gap { bytes, ..Gap::new(GapReason::BadInput) } })
    }

    fn save(&self) -> Option<Vec<u8>> {
        let Lifter { pc, registers, .. } = &self.lifter;
        pack(&State { place: self.reader.place()?, pc: *pc, registers: registers.save() })
    }

    fn restore(&mut self, state: &[u8], instructions: u64) -> Result<bool> {
        let state = unpack(state).filter(|_| instructions <= u64::MAX / 2);
        let Some(State { place, pc, registers }) = state else { return Ok(false) };
        let mut known = self.lifter.registers.clone();
        if !known.restore(&registers) || !self.reader.enter(place) {
            return Ok(false);
        }
        (self.lifter.registers, self.lifter.pc, self.number) = (known, pc, instructions);
        Ok(true)
    }

    fn position(&self) -> u64 {
        self.reader.offset()
    }

    fn size(&self) -> Option<u64> {
        self.reader.size()
    }

    fn census(&self) -> Census {
        Census::new(&CENSUS, self.counts)
    }
}
