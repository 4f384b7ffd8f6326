//! Groups to events.
//!
//! A group has the pc after it, so an instruction's own address is the pc of the previous group. A group becomes
//! a step with its register and memory accesses, then the trap that it took and the new privilege.

mod group;
mod memory;

use trackway_core::*;

use self::group::Lifter;
use crate::config::Config;
use crate::group::{Frame, Group};
use crate::read::Reader;
use crate::record::{CENSUS, OPCODES, Record, number};
use crate::view::View;

/// The events of a trace.
///
/// ```
/// use trackway_core::*;
/// use trackway_tandem::{Config, Lift};
/// // A reset, then `addi t0, x0, 3` at the reset pc.
/// let bytes = [
///     0x01, 0x0a, 0x02, 0x01, 0x07, 0x0a, 4, 0, 0, 0x70, 0, 0, 0, 0, 0x11, 0x93, 0x02, 0x30, 0,
///     0x04, 0x05, 0x10, 3, 0, 0, 0, 0, 0, 0, 0, 0x02,
/// ];
/// let config = Config { reset_pc: Some(0x7000_0000), ..Config::default() };
/// let mut lift = Lift::open(Input::from_vec(bytes.to_vec()), config)?;
/// let mut batch = Batch::default();
/// assert!(lift.fill(&mut batch)?);
/// let EventKind::Step(step) = batch.events[1].kind else { unreachable!() };
/// assert_eq!((step.pc, step.encoding), (Some(0x7000_0000), 0x0030_0293));
/// assert_eq!(batch.regs_of(step.accesses)[0].value, Value::Word(3));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Lift {
    reader: Reader,
    lifter: Lifter,
    meta: Meta,
    group: Group,
    /// Number of the next instruction.
    number: u64,
    /// Error for the next call: the events before it were delivered first.
    error: Option<Error>,
    /// The last group was read completely, so an error in it needs no search for the next.
    complete: bool,
    /// Gap that begins the next batch: offset and bytes.
    gap: Option<(u64, u64)>,
    /// Items read so far, by opcode.
    census: [u64; OPCODES],
}

impl Lift {
    /// Opens a trace.
    pub fn open(input: Input, config: Config) -> Result<Self> {
        let reader = Reader::new(input, &config)?;
        Ok(Lift {
            lifter: Lifter::new(config, reader.widths()),
            reader,
            meta: meta(&config),
            group: Group::default(),
            number: 0,
            error: None,
            complete: false,
            gap: None,
            census: [0; OPCODES],
        })
    }

    fn next(&mut self, batch: &mut Batch) -> Result<bool> {
        self.complete = false;
        if !self.reader.read_group(&mut self.group)? {
            return Ok(false);
        }
        self.complete = true;
        self.census[usize::from(number::BEGIN_GROUP)] += u64::from(self.group.frame != Frame::Outside);
        self.census[usize::from(number::END_GROUP)] += u64::from(self.group.frame == Frame::Ended);
        for record in &self.group.records {
            self.census[usize::from(record.opcode())] += 1;
        }
        let mut fault = None;
        let mut view = View::default();
        view.fill(&self.group, &self.lifter.registers, &mut |found| {
            fault.get_or_insert(found);
        });
        if let Some(fault) = fault {
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
        ..Meta::new(FormatId::Tandem, config.isa())
    }
}

impl Source for Lift {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        batch.first_instruction = self.number;
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if let Some((offset, bytes)) = self.gap.take() {
            batch.push_gap(offset, Gap { bytes: Some(bytes), ..Gap::new(GapReason::BadInput) });
        }
        let mut more = true;
        while more && !batch.is_full() {
            match self.next(batch) {
                Ok(read) => more = read,
                Err(error) if batch.events.is_empty() => return Err(error),
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        self.number += batch.instructions();
        Ok(!batch.events.is_empty())
    }

    fn resync(&mut self) -> Result<bool> {
        let (offset, skipped, found) = if self.complete {
            // The items are sound and only contradict each other: continue after the group.
            (self.group.offset, self.reader.offset() - self.group.offset, true)
        } else {
            let offset = self.reader.offset();
            let skipped = self.reader.resync()?;
            (offset, self.reader.offset() - offset, skipped.is_some())
        };
        self.gap = Some((offset, skipped));
        self.lifter.forget();
        if let (true, Some(Record::Pc(pc))) =
            (self.complete, self.group.records.iter().find(|r| matches!(r, Record::Pc(_))))
        {
            self.lifter.pc = Some(*pc);
        }
        self.complete = false;
        Ok(found)
    }

    fn census(&self) -> Census {
        CENSUS.into_iter().zip(self.census).filter(|(_, n)| *n > 0).collect()
    }
}
