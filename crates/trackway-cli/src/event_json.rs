//! `dump --jsonl`: events as JSON.

use std::io::Result;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackway_core::{
    Accesses, Batch, Context, Event, EventKind, Isa, MemAccess, RegAccess, RegUpdate, State, Step, Value,
};
use trackway_image::{Image, Listing as Columns};
use trackway_isa::{Style, class, reg_name};

use crate::json::{Object, hex, object, write_line};
use crate::view::{Budget, View};

/// Fields that are numbers; the others are words, or hex where they are values.
const NUMBERS: [&str; 15] = [
    "length",
    "count",
    "size",
    "instructions",
    "bytes",
    "page_size",
    "first_use",
    "clock",
    "change",
    "vector_bits",
    "mte",
    "index",
    "initiator",
    "result",
    "code",
];

/// One JSON object per event.
pub(crate) struct Lines {
    out: Vec<u8>,
    name: Option<String>,
    meta: Isa,
    isa: Isa,
    columns: Columns,
    programs: Vec<Arc<Image>>,
}

impl Lines {
    pub(crate) fn new(isa: Isa, programs: Vec<Arc<Image>>) -> Self {
        let columns = Columns::new(trackway_image::program(&programs, 0), Style::default());
        Lines { out: Vec::new(), name: None, meta: isa, isa, columns, programs }
    }

    /// Facts about an instruction beside the event's own fields.
    fn step(&mut self, batch: &Batch, step: &Step, object: &mut Object) {
        if let Some(extra) = batch.extra_of(step) {
            put(object, "target", extra.target.map(hex));
            put(object, "physical_pc", extra.physical_pc.map(hex));
            put(object, "sme_index", extra.sme_index.map(|index| json!(index)));
            let micro_ops = batch.bytes_of(extra.micro_ops).as_chunks::<5>().0;
            let micro_op = |[size, op @ ..]: &[u8; 5]| json!({ "size": size, "encoding": hex(u32::from_le_bytes(*op).into()) });
            let micro_ops: Vec<Json> = micro_ops.iter().map(micro_op).collect();
            put(object, "micro_ops", (!micro_ops.is_empty()).then_some(json!(micro_ops)));
            put(object, "placeholder", extra.placeholder.then_some(json!(true)));
        }
        if step.length > 0 {
            let text = self.columns.text(self.isa, step.pc.unwrap_or(0), step.encoding);
            put(object, "mnemonic", text.split_ascii_whitespace().next().map(|word| json!(word)));
            put(object, "text", Some(json!(text)));
            put(object, "class", Some(json!(class(self.isa, step.encoding).as_str())));
        }
        if let Some(pc) = step.pc.filter(|_| !self.columns.image().is_empty()) {
            let row = self.columns.row(pc);
            put(object, "symbol", (!row.place.is_empty()).then(|| json!(row.place)));
            put(object, "line", (!row.line.is_empty()).then(|| json!(row.line)));
        }
    }
}

fn put(object: &mut Object, name: &str, value: Option<Json>) {
    object.extend(value.map(|value| (name.to_string(), value)));
}

/// Adds `memory` and `registers`.
fn put_accesses(object: &mut Object, isa: Isa, batch: &Batch, accesses: Accesses) {
    let memory: Vec<Json> = batch.mem_of(accesses).iter().map(|access| memory(batch, access)).collect();
    let registers: Vec<Json> =
        batch.regs_of(accesses).iter().map(|access| register(isa, batch, access)).collect();
    put(object, "memory", (!memory.is_empty()).then_some(json!(memory)));
    put(object, "registers", (!registers.is_empty()).then_some(json!(registers)));
}

fn memory(batch: &Batch, access: &MemAccess) -> Json {
    let mut object = Object::new();
    put(&mut object, "kind", Some(json!(access.kind.as_str())));
    put(&mut object, "address", (!access.unplaced).then(|| hex(access.address)));
    put(&mut object, "size", Some(json!(access.size)));
    put(&mut object, "data", value(batch, access.data));
    if let Some(extra) = batch.mem_extra_of(access) {
        put(&mut object, "stored", value(batch, extra.stored));
        put(&mut object, "physical", extra.physical.map(hex));
        put(&mut object, "operation", extra.operation.map(|operation| hex(operation.into())));
    }
    put(&mut object, "attributes", (access.attributes != 0).then(|| hex(access.attributes.into())));
    for (name, set) in [("tagged", access.tagged), ("range", access.range), ("inferred", access.inferred)] {
        put(&mut object, name, set.then_some(json!(true)));
    }
    object.into()
}

fn register(isa: Isa, batch: &Batch, access: &RegAccess) -> Json {
    let mut object = Object::new();
    put(&mut object, "reg", Some(json!(reg_name(isa, access.reg).to_string())));
    put(&mut object, "role", Some(json!(access.role.as_str())));
    put(&mut object, "update", (access.update != RegUpdate::Set).then(|| json!(access.update.as_str())));
    put(&mut object, "value", value(batch, access.value));
    put(&mut object, "known", access.known.map(hex));
    object.into()
}

/// Data of any width; `None` where it was not recorded.
fn value(batch: &Batch, value: Value) -> Option<Json> {
    match value {
        Value::Unknown => None,
        Value::Word(word) => Some(hex(word)),
        Value::Bytes(span) => {
            let digits = batch.bytes_of(span).iter().rev().map(|byte| format!("{byte:02x}"));
            Some(json!(format!("0x{}", digits.collect::<String>())))
        }
    }
}

/// A field of an event line as JSON.
fn field(name: &str, text: &str) -> Json {
    match text {
        "yes" => json!(true),
        "no" => json!(false),
        text if NUMBERS.contains(&name) => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).map_or(json!(text), |number| json!(number)),
            None => text.parse::<u64>().map_or(json!(text), |number| json!(number)),
        },
        text => json!(text),
    }
}

impl View for Lines {
    fn text(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    fn source(&mut self, source: u16, name: Option<&str>, _: &mut Budget) -> Result<()> {
        if self.programs.len() > 1 {
            let program = trackway_image::program(&self.programs, source);
            self.columns = Columns::new(program, Style::default());
        }
        self.isa = self.meta;
        self.name = name.map(str::to_string);
        Ok(())
    }

    fn enter(&mut self, context: &Context) {
        self.isa = context.isa.unwrap_or(self.meta);
    }

    fn event(&mut self, batch: &Batch, event: &Event, number: u64, budget: &mut Budget) -> Result<()> {
        if let EventKind::Context(n) = event.kind {
            self.isa = batch.contexts[n as usize].isa.unwrap_or(self.isa);
        }
        if !budget.take() {
            return Ok(());
        }
        let mut object = object("event");
        let mut fields = Object::new();
        let kind = batch.event_fields(event, &mut |name, text| {
            if !["accesses", "extra"].contains(&name) {
                fields.insert(name.to_string(), field(name, text));
            }
        });
        put(&mut object, "event", Some(json!(kind)));
        put(&mut object, "offset", Some(json!(event.offset)));
        put(&mut object, "source", self.name.as_ref().map(|name| json!(name)));
        put(&mut object, "number", Some(json!(number)));
        object.append(&mut fields);
        match &event.kind {
            EventKind::Step(step) => {
                self.step(batch, step, &mut object);
                put_accesses(&mut object, self.isa, batch, step.accesses);
            }
            EventKind::Run(run) => put_accesses(&mut object, self.isa, batch, batch.accesses_of(run)),
            EventKind::State(n) => {
                if let State::Contents(accesses) = batch.states[*n as usize] {
                    put_accesses(&mut object, self.isa, batch, accesses);
                }
            }
            EventKind::Mark(mark) if mark.text.len > 0 => {
                object.insert("text".into(), json!(batch.text_of(mark.text)));
            }
            _ => {}
        }
        write_line(&mut self.out, &object.into())
    }
}
