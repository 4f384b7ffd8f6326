//! Is a trace legal, and which rules does it break?
//!
//! The checker reads records rather than events, so that broken traces can be checked too. Rules that need the
//! instruction's encoding are evaluated when its group is complete.

mod body;
mod encoding;
mod header;
#[cfg(test)]
mod tests;
mod usual;
mod walks;

use trackway_core::{Finding, Isa, Result, Rule};
use trackway_isa::Recent;

use self::encoding::{Access, Encoded};
use self::walks::Walks;
use crate::container::Doubt;
use crate::read::Records;
use crate::record::{Record, describe, descriptor};
use crate::rules::*;
use crate::values::{features, isa};

/// Checks all records and reports each violation; returns the number of records. After damage the remaining
/// chunks are checked too, then the first error is returned.
pub(crate) fn check(records: Records, report: &mut dyn FnMut(Finding)) -> Result<u64> {
    check_with(records, report, true)
}

/// Without `shortcuts` usual instructions take the way of all others, for tests.
fn check_with(mut records: Records, report: &mut dyn FnMut(Finding), shortcuts: bool) -> Result<u64> {
    let mut checker = Checker { shortcuts, ..Checker::new(report, records.per_chunk()) };
    let mut damage = None;
    loop {
        match check_part(&mut checker, &mut records) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                damage.get_or_insert(error);
                // Without a header the records after it cannot be judged.
                if checker.is_header || records.skip_part().is_none() {
                    break;
                }
                checker.skip_rest();
            }
        }
    }
    for doubt in records.doubts() {
        let Doubt { offset, field, found } = doubt;
        checker.found(
            &CHUNK_INDEX,
            format!("{field} {found:#x} at {offset:#x} of the file; the records are right"),
        );
    }
    checker.end();
    damage.map_or(Ok(checker.item), Err)
}

/// Checks the next part; false when there is none.
fn check_part(checker: &mut Checker<'_>, records: &mut Records) -> Result<bool> {
    let Some(pc) = records.enter()? else { return Ok(false) };
    if let Some(pc) = pc {
        checker.chunk(pc);
    }
    records.scan_part(checker)?;
    Ok(true)
}

/// The state of a check, and the group that is being collected.
struct Checker<'r> {
    report: &'r mut dyn FnMut(Finding),
    /// Offset and number of the current record.
    offset: u64,
    item: u64,
    is_header: bool,
    /// Records by descriptor, in the header and in the body.
    header: [u64; 256],
    body: [u64; 256],
    version: (u32, u32),
    isa_number: u16,
    isa: Isa,
    features: u64,
    /// Features that INST_REG records used: operand values, state, vectors.
    registers: u64,
    has_vlen: bool,
    clocks: Vec<u8>,
    /// Markers that each chunk must have.
    per_chunk: Option<u64>,
    /// Markers so far, and at the start of the chunk.
    markers: u64,
    chunk_start: u64,
    /// Address of the next instruction.
    pc: Option<u64>,
    group: Group,
    encodings: Recent<u64, Encoded, 4096>,
    /// The last instruction trapped or returned from a trap, which explains a FORCE_PC after it.
    explained: bool,
    mode_known: bool,
    /// It says that it is a part of a trace.
    is_part: bool,
    /// Number of its first instruction in the whole, as far as known.
    part_start: Option<u64>,
    /// A remark says what the words of PROCESS_ID_EXT are.
    ids_known: bool,
    /// A remark says that only the flow is recorded.
    flow_only: bool,
    /// The producer, if all its files have the same deviations.
    producer: Option<&'static str>,
    /// Deviations that are reported once.
    often: Often,
    /// A jump without a target: legal at the end of the trace and before a gap.
    no_target: Option<(u64, u64)>,
    /// The last instruction returned from a trap.
    returned: bool,
    /// The trace has vector instructions.
    has_vectors: bool,
    walks: Walks,
    ended: bool,
    /// The previous chunk was not read to its end.
    skipped: bool,
    /// The group has no record yet, and nothing before it waits for its instruction.
    is_clear: bool,
    shortcuts: bool,
}

/// A place, and how often something was found from there on.
type Often = [Option<(u64, u64, u64)>; 2];
/// Loads and stores without an access, in [`Often`].
const NO_ACCESS: usize = 0;
/// Sizes in bits, in [`Often`].
const IN_BITS: usize = 1;

/// The records of one group.
#[derive(Debug, Default)]
struct Group {
    /// Descriptor of the last record that counts for the order; 0 at the start.
    last: u8,
    target: Option<u64>,
    event_target: Option<u64>,
    trapped: bool,
    accesses: Vec<Access>,
    /// A change of mode or process, which explains a FORCE_PC.
    switched: bool,
    forced: Option<u64>,
    /// A remark: something is missing before this group.
    gap: bool,
    /// A remark: the instruction did not retire.
    attempted: bool,
    /// A remark: no instruction follows.
    trailing: bool,
    /// Content records of the current bus access.
    bus_words: Option<u32>,
}

impl<'r> Checker<'r> {
    fn new(report: &'r mut dyn FnMut(Finding), per_chunk: Option<u64>) -> Self {
        Checker {
            report,
            offset: 0,
            item: 0,
            is_header: true,
            header: [0; 256],
            body: [0; 256],
            version: (0, 0),
            isa_number: isa::RISCV,
            isa: Isa::Other,
            features: 0,
            registers: 0,
            has_vlen: false,
            clocks: Vec::new(),
            per_chunk,
            markers: 0,
            chunk_start: 0,
            pc: None,
            group: Group::default(),
            encodings: Recent::default(),
            explained: true,
            mode_known: false,
            is_part: false,
            part_start: None,
            ids_known: false,
            flow_only: false,
            producer: None,
            often: [None; 2],
            no_target: None,
            returned: false,
            has_vectors: false,
            walks: Walks::default(),
            ended: false,
            skipped: false,
            is_clear: false,
            shortcuts: true,
        }
    }

    /// Reports a violation at the current record.
    fn found(&mut self, rule: &'static Rule, message: String) {
        (self.report)(Finding { rule, offset: self.offset, item: self.item, message });
    }

    /// Counts a deviation that is reported once.
    fn count(&mut self, what: usize) {
        self.often[what].get_or_insert((self.offset, self.item, 0)).2 += 1;
    }

    /// Reports what was counted, at its first place.
    fn report_often(&mut self, what: usize, rule: &'static Rule, message: impl FnOnce(u64) -> String) {
        if let Some((offset, item, times)) = self.often[what].take() {
            (self.report)(Finding { rule, offset, item, message: message(times) });
        }
    }

    /// The end of a finding that all files of the producer have.
    fn as_always(&self) -> String {
        self.producer.map_or(String::new(), |name| format!(", as in every file of {name}"))
    }

    fn in_header(&self, descriptor: u8) -> bool {
        self.header[usize::from(descriptor)] > 0
    }

    fn in_body(&self, descriptor: u8) -> bool {
        self.body[usize::from(descriptor)] > 0
    }

    fn record(&mut self, offset: u64, record: &Record<'_>) {
        self.offset = offset;
        if self.ended {
            self.found(&RESERVE_END_LAST, format!("{} follows it", record.name()));
        }
        let descriptor = usize::from(record.descriptor());
        if self.is_header {
            self.header_record(record);
            self.header[descriptor] += 1;
        } else {
            self.body_record(record);
            self.body[descriptor] += 1;
        }
        self.item += 1;
    }

    /// The rest of the chunk cannot be read, so nothing is known about the start of the next.
    fn skip_rest(&mut self) {
        (self.group, self.pc, self.explained, self.skipped) = (Group::default(), None, true, true);
        self.is_clear = false;
        self.no_target = None;
    }

    fn chunk(&mut self, pc: u64) {
        let markers = self.markers - self.chunk_start;
        let complete = !std::mem::take(&mut self.skipped);
        if let Some(declared) = self.per_chunk.filter(|&declared| complete && declared != markers) {
            let message = format!("the previous chunk has {markers}, the file declares {declared}");
            self.found(&CHUNK_MARKERS, message);
        }
        self.chunk_start = self.markers;
        if let Some(expected) = self.pc.filter(|&expected| expected != pc) {
            self.found(&CHUNK_PC, format!("the index has {pc:#x}, the records lead to {expected:#x}"));
        }
    }

    /// Rules that can be judged only at the end of the trace.
    fn end(&mut self) {
        if self.is_header {
            self.found(&END_HEADER_ONCE, "no END_HEADER".into());
        }
        if self.markers == 0 {
            self.found(&EMPTY, "no instruction and no transaction".into());
        }
        if self.group.last != 0 && !self.ended && !self.group.trailing {
            let name = describe(self.group.last).0;
            self.found(&GROUP_OPEN, format!("{name} after the last instruction"));
        }
        self.report_often(NO_ACCESS, &MEM_MISSING, |times| match times {
            1 => "a load or store without INST_MEM_ACCESS".into(),
            _ => format!("{times} loads and stores, and no INST_MEM_ACCESS in the trace"),
        });
        let as_always = self.as_always();
        self.report_often(IN_BITS, &MEM_SIZE_UNIT, |times| format!("{times} sizes are in bits{as_always}"));
        let seen = |record: u8| self.in_header(record) || self.in_body(record);
        let content = [
            (features::EVENT, seen(descriptor::EVENT)),
            (features::PTE, seen(descriptor::PAGE_TABLE_WALK)),
            (features::PROCESS_ID, seen(descriptor::PROCESS_ID_EXT)),
            (features::MICROOP, seen(descriptor::INST_MICROOP)),
            (features::TRANSACTIONS, seen(descriptor::TRANSACTION)),
            (features::OPERAND_VALUE, self.registers & features::OPERAND_VALUE != 0),
            (features::REGISTER_STATE, self.registers & features::REGISTER_STATE != 0),
            (features::VECTOR, self.has_vectors || self.registers & features::VECTOR != 0),
            // No record carries a physical address.
            (features::PHYSICAL_ADDRESS, false),
        ];
        for (bit, present) in content {
            let name = features::NAMES[bit.trailing_zeros() as usize];
            match (self.features & bit != 0, present) {
                (true, false) if self.is_part => {
                    let message = format!("{name} is declared but absent: another part may have it");
                    self.found(&PART, message);
                }
                (true, false) => {
                    let always = if bit == features::PHYSICAL_ADDRESS { &as_always } else { "" };
                    self.found(&FEATURE_KEPT, format!("{name} is declared but absent{always}"));
                }
                // Vector instructions alone need no declaration.
                (false, true) if bit == features::VECTOR && self.registers & bit == 0 => {}
                (false, true) => self.found(&FEATURE_DECLARED, format!("{name} is present but not declared")),
                _ => {}
            }
        }
    }
}
