//! The instruction list: a window of instructions with all that the trace records of each.

use serde_json::{Value as Json, json};
use trackway::format::Format;
use trackway::machine::Machine;
use trackway_core::{
    Batch, Event, EventKind, Isa, MemAccess, MemKind, Outcome, RegAccess, RegClass, RegRole, Step, Value,
};
use trackway_image::Listing;
use trackway_isa::{is_conditional, reg_name, riscv};

use crate::desk::{Answer, Desk, Reader, read};
use crate::tables::{self, Access, Reg, Row, Rows};
use crate::wire::Hex;

/// Rows of one answer at most.
pub(crate) const MOST: u64 = 2048;

/// A number of 64 bits: text, since a page would round it.
pub(crate) fn hex(value: u64) -> Json {
    json!(format!("{value:#x}"))
}

/// The name of a register as assembly has it.
pub(crate) fn register(isa: Isa, reg: trackway_core::Reg) -> String {
    match (isa, reg.class) {
        (Isa::Rv32 | Isa::Rv64, RegClass::Int) => riscv::register_name(reg.number as u8).into(),
        _ => reg_name(isa, reg).into_owned(),
    }
}

/// Instructions `[from, from + count)`.
pub(crate) fn rows(desk: &mut Desk, from: u64, count: u64) -> Answer<Rows> {
    let (format, isa) = (desk.trace.format(), desk.meta.isa);
    let to = from.saturating_add(count);
    let mut reading =
        Reading { isa, to, count, list: Vec::new(), before: Vec::new(), format, listing: &mut desk.listing };
    let passed = read(&mut desk.trace, from, to, &mut reading)?;
    // Events after the last instruction are those before the next one, unless the trace ends.
    let is_end = (reading.list.len() as u64) < count;
    let after = if is_end { reading.before } else { Vec::new() };
    Ok(Rows { from, rows: reading.list, after, errors: passed.damage() })
}

struct Reading<'d> {
    isa: Isa,
    to: u64,
    count: u64,
    list: Vec<Row>,
    /// Events before the next instruction.
    before: Vec<tables::Event>,
    format: &'static dyn Format,
    listing: &'d mut Listing,
}

impl Reader for Reading<'_> {
    fn start(&mut self, machine: &Machine) {
        self.isa = machine.context.isa.unwrap_or(machine.isa);
    }

    fn take(&mut self, batch: &Batch) -> bool {
        let mut number = batch.first_instruction;
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => {
                    let row = self.step(batch, step, number);
                    self.list.push(row);
                }
                EventKind::Run(run) if !run.withdrawn => {
                    for n in number..(number + u64::from(run.count)).min(self.to) {
                        let pc = (n == number).then_some(run.start);
                        let row = self.row(n, pc);
                        self.list.push(row);
                    }
                }
                // A withdrawn run did not happen.
                EventKind::Run(_) | EventKind::Foreign(_) => {}
                _ => {
                    if let EventKind::Context(n) = event.kind {
                        self.isa = batch.contexts[n as usize].isa.unwrap_or(self.isa);
                    }
                    let event = self.event(batch, event);
                    self.before.push(event);
                }
            }
            number += event.kind.instructions();
        }
        (self.list.len() as u64) < self.count
    }
}

impl Reading<'_> {
    /// An instruction of which only the address is known, with the events before it.
    fn row(&mut self, number: u64, pc: Option<u64>) -> Row {
        let (sym, line) = place_of(self.listing, pc);
        Row {
            n: number,
            pc: pc.map(Hex::Word),
            code: None,
            text: None,
            sym,
            line,
            taken: None,
            attempted: 0,
            regs: Vec::new(),
            mem: Vec::new(),
            ev: std::mem::take(&mut self.before),
        }
    }

    fn step(&mut self, batch: &Batch, step: &Step, number: u64) -> Row {
        let isa = self.isa;
        let mut row = self.row(number, step.pc);
        if step.length > 0 {
            row.code = Some(Listing::encoding(isa, step.encoding, step.length));
            row.text = Some(self.listing.text(isa, step.pc.unwrap_or(0), step.encoding).to_string());
            if is_conditional(isa, step.encoding) {
                row.taken = Some(step.taken.map_or(2, u64::from));
            }
        }
        row.attempted = u64::from(step.outcome == Outcome::Attempted);
        let accesses = batch.regs_of(step.accesses).iter();
        let shown = accesses.filter(|access| access.role != RegRole::Ready);
        row.regs = shown.map(|access| reg(isa, batch, access)).collect();
        row.mem = batch.mem_of(step.accesses).iter().map(|one| access(batch, one)).collect();
        row
    }

    fn event(&self, batch: &Batch, event: &Event) -> tables::Event {
        let mut text = String::new();
        let kind = batch.event_fields(event, &mut |name, value| {
            text += if text.is_empty() { "" } else { " " };
            text += &format!("{name}={value}");
        });
        if let EventKind::Trap(n) = event.kind
            && let Some(name) = trackway::trap_name(self.format, &batch.traps[n as usize])
        {
            text = format!("{name} {text}");
        }
        tables::Event { kind: kind.to_string(), text }
    }
}

/// Function and line of an address.
fn place_of(listing: &mut Listing, pc: Option<u64>) -> (Option<String>, Option<String>) {
    let Some(pc) = pc.filter(|_| !listing.image().is_empty()) else { return (None, None) };
    let found = listing.row(pc);
    let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    (known(&found.place), known(&found.line))
}

/// Adds function and line of an address to an answer.
pub(crate) fn place(row: &mut Json, listing: &mut Listing, pc: Option<u64>) {
    let (sym, line) = place_of(listing, pc);
    for (name, text) in [("sym", sym), ("line", line)] {
        if let Some(text) = text {
            row[name] = text.into();
        }
    }
}

/// A recorded value, as one number; none where it is not recorded.
fn value(batch: &Batch, value: Value) -> Option<Hex> {
    match value {
        Value::Unknown => None,
        Value::Word(word) => Some(Hex::Word(word)),
        Value::Bytes(span) => Some(Hex::Bytes(batch.bytes_of(span).to_vec())),
    }
}

/// Little-endian bytes as one number in hex.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect()
}

fn reg(isa: Isa, batch: &Batch, access: &RegAccess) -> Reg {
    Reg {
        r: register(isa, access.reg),
        id: reg_name(isa, access.reg).into_owned(),
        w: u64::from(matches!(access.role, RegRole::Destination)),
        v: value(batch, access.value),
    }
}

fn access(batch: &Batch, access: &MemAccess) -> Access {
    let kind = match access.kind {
        MemKind::Read => "r",
        MemKind::Write => "w",
        MemKind::ReadWrite => "rw",
        other => other.as_str(),
    };
    Access {
        k: kind.into(),
        a: (!access.unplaced).then_some(Hex::Word(access.address)),
        s: access.size,
        v: value(batch, access.data),
    }
}
