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

/// Instructions `[from, from + count)`; null is unknown.
pub(crate) fn rows(desk: &mut Desk, from: u64, count: u64) -> Answer<Json> {
    let (format, isa) = (desk.trace.format(), desk.meta.isa);
    let to = from.saturating_add(count);
    let mut rows =
        Rows { isa, to, count, list: Vec::new(), before: Vec::new(), format, listing: &mut desk.listing };
    let passed = read(&mut desk.trace, from, to, &mut rows)?;
    let errors: Vec<Json> =
        passed.errors.into_iter().map(|(n, text)| json!({ "n": n, "text": text })).collect();
    // Events after the last instruction are those before the next one, unless the trace ends.
    let is_end = (rows.list.len() as u64) < count;
    let after = if is_end { rows.before } else { Vec::new() };
    Ok(json!({ "from": from, "rows": rows.list, "after": after, "errors": errors }))
}

struct Rows<'d> {
    isa: Isa,
    to: u64,
    count: u64,
    list: Vec<Json>,
    /// Events before the next instruction.
    before: Vec<Json>,
    format: &'static dyn Format,
    listing: &'d mut Listing,
}

impl Reader for Rows<'_> {
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
                        let mut row = json!({ "n": n, "pc": pc.map(hex) });
                        place(&mut row, self.listing, pc);
                        self.close(&mut row);
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

impl Rows<'_> {
    fn close(&mut self, row: &mut Json) {
        if !self.before.is_empty() {
            row["ev"] = std::mem::take(&mut self.before).into();
        }
    }

    fn step(&mut self, batch: &Batch, step: &Step, number: u64) -> Json {
        let isa = self.isa;
        let mut row = json!({ "n": number, "pc": step.pc.map(hex) });
        if step.length > 0 {
            row["code"] = json!(Listing::encoding(isa, step.encoding, step.length));
            row["text"] = json!(self.listing.text(isa, step.pc.unwrap_or(0), step.encoding));
            if is_conditional(isa, step.encoding) {
                row["taken"] = json!(step.taken);
            }
        }
        place(&mut row, self.listing, step.pc);
        if step.outcome == Outcome::Attempted {
            row["attempted"] = json!(true);
        }
        let accesses = batch.regs_of(step.accesses);
        let shown = |access: &&RegAccess| access.role != RegRole::Ready;
        let registers: Vec<Json> =
            accesses.iter().filter(shown).map(|access| register_json(isa, batch, access)).collect();
        if !registers.is_empty() {
            row["regs"] = registers.into();
        }
        let memory: Vec<Json> =
            batch.mem_of(step.accesses).iter().map(|access| memory_json(batch, access)).collect();
        if !memory.is_empty() {
            row["mem"] = memory.into();
        }
        self.close(&mut row);
        row
    }

    fn event(&self, batch: &Batch, event: &Event) -> Json {
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
        json!({ "kind": kind, "text": text })
    }
}

/// Function and line of an address.
pub(crate) fn place(row: &mut Json, listing: &mut Listing, pc: Option<u64>) {
    let Some(pc) = pc.filter(|_| !listing.image().is_empty()) else { return };
    let found = listing.row(pc);
    if !found.place.is_empty() {
        row["sym"] = json!(found.place);
    }
    if !found.line.is_empty() {
        row["line"] = json!(found.line);
    }
}

/// A recorded value, as one number; null where it is not recorded.
pub(crate) fn value(batch: &Batch, value: Value) -> Json {
    match value {
        Value::Unknown => Json::Null,
        Value::Word(word) => hex(word),
        Value::Bytes(span) => json!(format!("0x{}", digits(batch.bytes_of(span)))),
    }
}

/// Little-endian bytes as one number in hex.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect()
}

fn register_json(isa: Isa, batch: &Batch, access: &RegAccess) -> Json {
    json!({
        "r": register(isa, access.reg),
        "id": reg_name(isa, access.reg),
        "w": matches!(access.role, RegRole::Destination),
        "v": value(batch, access.value),
    })
}

fn memory_json(batch: &Batch, access: &MemAccess) -> Json {
    let kind = match access.kind {
        MemKind::Read => "r",
        MemKind::Write => "w",
        MemKind::ReadWrite => "rw",
        other => other.as_str(),
    };
    json!({
        "k": kind,
        "a": (!access.unplaced).then(|| hex(access.address)),
        "s": access.size,
        "v": value(batch, access.data),
    })
}
