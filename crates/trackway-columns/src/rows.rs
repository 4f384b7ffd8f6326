//! From events to rows.

use std::ops::ControlFlow;
use std::sync::Arc;

use trackway::format::Format;
use trackway::{Bounds, Counts, Place, trap_name};
use trackway_core::{
    Accesses, Batch, Context, Event, EventKind, Isa, MemAccess, Outcome, RegAccess, Run, State, Step, Value,
};
use trackway_image::{Image, Memory as Code, expand, program};
use trackway_isa::{Recent, reg_name};

use crate::block::{Block, Row};
use crate::facts::{Cache, Of, facts};
use crate::lane::{Lane, Lanes, lane, separates};
use crate::selection::Selection;
use crate::store::Chunk;
use crate::tables::*;

/// Rows of a chunk.
pub const CHUNK: usize = 1 << 16;
/// Bytes of texts and wide values after which a chunk is handed on.
const CHUNK_BYTES: usize = 1 << 26;

/// Where chunks go; it may end the reading.
pub type Emit<'e> = dyn FnMut(Chunk) -> ControlFlow<()> + 'e;

/// Makes rows from events, batch by batch.
pub struct Rows {
    programs: Vec<Arc<Image>>,
    format: &'static dyn Format,
    meta: trackway_core::Meta,
    lanes: Lanes,
    source: u16,
    image: Arc<Image>,
    /// The program as the current context sees it, asked for when a run comes.
    code: Option<Arc<Code>>,
    isa: Isa,
    bounds: Option<Bounds>,
    /// The target of the last row is the next instruction.
    awaits: bool,
    /// The last rows of instructions.
    block: Box<Block>,
    /// Rows of instructions since their source, time, cycles or context changed.
    steady: usize,
    /// A chunk has rows of one source only.
    apart: bool,
    cache: Cache,
    register_codes: Recent<(u32, Isa), u32, 1024>,
    /// Instructions without a row: the code of their run is not known.
    pub uncoded: u64,
    /// Counts of the events inside the bounds, where there are any.
    pub shown: Counts,
    pub(crate) tables: Tables,
}

/// Chunks without rows of the tables that are asked for: files have columns even so.
pub fn empty(selection: &Selection) -> Vec<Chunk> {
    Tables::new(selection).begin(0)
}

/// The tables that rows are added to.
#[derive(Debug)]
pub(crate) struct Tables {
    instructions: Instructions,
    memory: Memory,
    registers: Registers,
    traps: Traps,
    contexts: Contexts,
    times: Times,
    marks: Marks,
    gaps: Gaps,
    runs: Runs,
    meta: Meta,
}

impl Tables {
    fn new(selection: &Selection) -> Self {
        let wants: &dyn Fn(&str, &str) -> bool = &|table, column| selection.has(table, column);
        Tables {
            instructions: Instructions::new(wants),
            memory: Memory::new(wants),
            registers: Registers::new(wants),
            traps: Traps::new(wants),
            contexts: Contexts::new(wants),
            times: Times::new(wants),
            marks: Marks::new(wants),
            gaps: Gaps::new(wants),
            runs: Runs::new(wants),
            meta: Meta::new(wants),
        }
    }

    fn begin(&mut self, source: u16) -> Vec<Chunk> {
        macro_rules! begin {
            ($($table:ident)*) => {
                [$(self.$table.wanted.then(|| self.$table.take(source))),*].into_iter().flatten().collect()
            };
        }
        begin!(instructions memory registers traps contexts times marks gaps runs meta)
    }
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rows(of {})", self.format.id())
    }
}

impl Rows {
    /// For a trace with these programs, one for each source or one for all.
    pub fn new(
        selection: &Selection,
        format: &'static dyn Format,
        meta: &trackway_core::Meta,
        programs: &[Arc<Image>],
    ) -> Self {
        Rows {
            programs: programs.to_vec(),
            format,
            meta: meta.clone(),
            lanes: Vec::new(),
            source: 0,
            image: program(programs, 0),
            code: None,
            isa: meta.isa,
            bounds: None,
            awaits: false,
            block: Box::new(Block::new()),
            steady: 0,
            apart: false,
            cache: Cache::default(),
            register_codes: Recent::default(),
            uncoded: 0,
            shown: Counts::default(),
            tables: Tables::new(selection),
        }
    }

    /// Before the first batch: only what is inside the bounds becomes rows.
    pub fn within(mut self, bounds: Bounds) -> Self {
        self.bounds = Some(bounds);
        self
    }

    /// Before the first batch: every chunk has rows of one source only.
    pub fn apart(mut self) -> Self {
        self.apart = true;
        self
    }

    /// The bounds, as far as they were followed.
    pub fn bounds(&self) -> Option<&Bounds> {
        self.bounds.as_ref()
    }

    /// Before the first batch: events of this source come in this context.
    pub fn enter(mut self, source: u16, context: Context) -> Self {
        lane(&mut self.lanes, source).context = context;
        self.change_source(source);
        self
    }

    /// Before the first batch: continues where the lanes are these, and the next batch is of this source.
    pub fn resume(mut self, lanes: Lanes, source: u16) -> Self {
        self.lanes = lanes;
        self.change_source(source);
        self
    }

    fn change_source(&mut self, source: u16) {
        self.settle_lane();
        self.source = source;
        self.image = program(&self.programs, source);
        (self.code, self.awaits) = (None, false);
        self.isa = lane(&mut self.lanes, source).context.isa.unwrap_or(self.meta.isa);
    }

    /// The rows of `meta`: `facts` are those of the file around the trace.
    pub fn take_meta(&mut self, facts: &[(&'static str, String)]) {
        let table = &mut self.tables.meta;
        if !table.wanted {
            return;
        }
        let meta = &self.meta;
        let mut put = |source: Option<u32>, key: &str, value: &str| {
            table.source.put_known(source);
            table.key.put(Some(key));
            table.value.put(Some(value.as_bytes()));
            table.rows += 1;
        };
        put(None, "schema", &crate::SCHEMA.to_string());
        put(None, "format", meta.format.as_str());
        put(None, "version", &meta.version);
        put(None, "isa", meta.isa.as_str());
        let texts = [("level", &meta.level), ("isa_string", &meta.isa_string)];
        texts.iter().for_each(|(key, text)| text.iter().for_each(|text| put(None, key, text)));
        for producer in &meta.producers {
            put(None, "producer", format!("{} {}", producer.name, producer.version).trim_end());
        }
        meta.comments.iter().for_each(|text| put(None, "comment", text));
        meta.features.iter().for_each(|text| put(None, "feature", text));
        meta.vector_bits.iter().for_each(|bits| put(None, "vector_bits", &bits.to_string()));
        meta.start_pc.iter().for_each(|pc| put(None, "start_pc", &format!("{pc:#x}")));
        put(None, "flow_only", if meta.flow_only { "true" } else { "false" });
        meta.notes.iter().for_each(|(key, text)| put(None, key, text));
        facts.iter().for_each(|(key, text)| put(None, key, text));
        for (n, name) in meta.sources.iter().enumerate() {
            put(u32::try_from(n).ok(), "source", name);
        }
    }

    /// Takes in a batch. Chunks that are full go to `emit`, which may end the reading.
    pub fn take(&mut self, batch: &Batch, emit: &mut Emit<'_>) -> ControlFlow<()> {
        if batch.source != self.source {
            if self.apart {
                self.flush(emit)?;
            }
            self.change_source(batch.source);
        }
        lane(&mut self.lanes, batch.source);
        let mut number = batch.first_instruction;
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => self.placed_step(batch, event, step, self.isa, number, emit)?,
                EventKind::Run(run) => self.run(batch, event, run, number, emit)?,
                _ => self.other(batch, event, number, emit)?,
            }
            number += event.kind.instructions();
        }
        ControlFlow::Continue(())
    }

    /// True unless the last row waits for the next instruction: a place where rows can be divided.
    pub fn is_settled(&self) -> bool {
        !self.awaits
    }

    /// Hands on all rows so far.
    pub fn flush(&mut self, emit: &mut Emit<'_>) -> ControlFlow<()> {
        self.awaits = false;
        self.settle();
        macro_rules! flush {
            ($($table:ident)*) => {$(
                if self.tables.$table.rows > 0 {
                    emit(self.tables.$table.take(self.source))?;
                }
            )*};
        }
        flush!(instructions memory registers traps contexts times marks gaps runs meta);
        ControlFlow::Continue(())
    }

    /// At the end of a part: the next instruction has this address, where the last one went there.
    pub fn end_part(&mut self, next: Option<u64>) {
        if let (true, Some(pc)) = (std::mem::take(&mut self.awaits), next) {
            self.block.set_target(pc);
        }
    }

    /// A chunk of every table, with the rows so far or none: files have columns even so.
    pub fn begin(&mut self) -> Vec<Chunk> {
        self.awaits = false;
        self.settle();
        self.tables.begin(self.source)
    }

    /// Moves the last rows of instructions into their columns.
    fn settle(&mut self) {
        self.block.settle(&mut self.tables.instructions);
        self.settle_lane();
    }

    /// The values that the last rows of instructions share, before they change.
    fn settle_lane(&mut self) {
        let rows = std::mem::take(&mut self.steady);
        if rows > 0 {
            let (table, lane) = (&mut self.tables.instructions, &self.lanes[usize::from(self.source)]);
            table.source.put_many(Some(self.source.into()), rows);
            table.time.put_many(lane.time, rows);
            table.cycles.put_many(lane.cycles, rows);
            table.context.put_many(lane.last_context(), rows);
        }
    }

    /// Is the event inside the bounds? The reading ends where it is after them.
    #[inline]
    fn is_inside(&mut self, batch: &Batch, event: &Event, number: u64) -> ControlFlow<(), bool> {
        let Some(bounds) = &mut self.bounds else { return ControlFlow::Continue(true) };
        match bounds.place(batch, event, number) {
            Place::Before => ControlFlow::Continue(false),
            Place::Inside => {
                self.shown.add(batch, event);
                ControlFlow::Continue(true)
            }
            Place::After => ControlFlow::Break(()),
        }
    }

    #[inline]
    fn placed_step(
        &mut self,
        batch: &Batch,
        event: &Event,
        step: &Step,
        isa: Isa,
        number: u64,
        emit: &mut Emit<'_>,
    ) -> ControlFlow<()> {
        let inside = self.is_inside(batch, event, number)?;
        if inside {
            self.step(batch, event.offset, step, isa, number, emit)?;
        }
        self.lanes[usize::from(self.source)].gap = false;
        ControlFlow::Continue(())
    }

    fn run(
        &mut self,
        batch: &Batch,
        event: &Event,
        run: &Run,
        number: u64,
        emit: &mut Emit<'_>,
    ) -> ControlFlow<()> {
        let tables = &self.tables;
        let expands = !run.withdrawn
            && (tables.instructions.wanted
                || tables.memory.wanted
                || tables.registers.wanted
                || self.bounds.is_some());
        let mut shown = false;
        if !expands {
            if self.is_inside(batch, event, number)? {
                self.run_row(batch, event, run, number, emit)?;
            }
            self.lanes[usize::from(self.source)].gap &= run.withdrawn;
            return ControlFlow::Continue(());
        }
        let code = Arc::clone(
            self.code.get_or_insert_with(|| self.image.memory(&self.lanes[usize::from(self.source)].context)),
        );
        let (mut at, mut flow) = (number, ControlFlow::Continue(()));
        expand(&code, run, batch.accesses_of(run), |kind| {
            if flow.is_break() {
                return;
            }
            flow = match self.expanded(batch, &Event { kind, ..*event }, run, at, emit) {
                ControlFlow::Break(()) => ControlFlow::Break(()),
                ControlFlow::Continue(inside) if inside && !std::mem::replace(&mut shown, true) => {
                    self.run_row(batch, event, run, number, emit)
                }
                ControlFlow::Continue(_) => ControlFlow::Continue(()),
            };
            at += kind.instructions();
        });
        flow
    }

    /// An instruction of a run, or the rest of one whose code is not known; true if it is inside the bounds.
    fn expanded(
        &mut self,
        batch: &Batch,
        event: &Event,
        run: &Run,
        number: u64,
        emit: &mut Emit<'_>,
    ) -> ControlFlow<(), bool> {
        let inside = self.is_inside(batch, event, number)?;
        if inside {
            match &event.kind {
                EventKind::Step(step) => {
                    self.step(batch, event.offset, step, run.isa, number, emit)?;
                }
                kind => {
                    self.uncoded += kind.instructions();
                    self.awaits = false;
                    let last = number + kind.instructions().saturating_sub(1);
                    self.accesses(batch, batch.accesses_of(run), run.isa, last, false, emit)?;
                }
            }
        }
        self.lanes[usize::from(self.source)].gap = false;
        ControlFlow::Continue(inside)
    }

    #[inline]
    fn step(
        &mut self,
        batch: &Batch,
        offset: u64,
        step: &Step,
        isa: Isa,
        number: u64,
        emit: &mut Emit<'_>,
    ) -> ControlFlow<()> {
        if self.tables.instructions.wanted {
            if let (true, Some(pc)) = (std::mem::take(&mut self.awaits), step.pc) {
                self.block.set_target(pc);
            }
            if self.tables.instructions.rows >= CHUNK {
                self.settle();
                emit(self.tables.instructions.take(self.source))?;
            }
            let table = &mut self.tables.instructions;
            let image = &*self.image;
            let of = Of {
                pc: step.pc,
                encoding: (step.length > 0).then_some(step.encoding),
                isa,
                image: std::ptr::from_ref(image).addr(),
            };
            let facts = self.cache.get(of, || facts(of, image, table));
            let retired = step.outcome == Outcome::Retired;
            let goes = retired && facts.transfers;
            let taken = step.taken.or((goes && !facts.conditional).then_some(true));
            let recorded = batch.extra_of(step).and_then(|extra| extra.target);
            let target = recorded.or(facts.target.filter(|_| goes && taken == Some(true)));
            self.awaits = target.is_none() && goes && taken == Some(true) && table.target.wanted;
            let row = Row {
                number,
                pc: step.pc,
                encoding: of.encoding,
                length: step.length,
                retired,
                taken,
                target,
                gap_before: self.lanes[usize::from(self.source)].gap,
                byte_offset: offset,
            };
            self.block.put(&row, facts, table);
            self.steady += 1;
        }
        if step.accesses.mem_len > 0 && self.tables.memory.wanted
            || step.accesses.regs_len > 0 && self.tables.registers.wanted
        {
            self.accesses(batch, step.accesses, isa, number, false, emit)?;
        }
        ControlFlow::Continue(())
    }

    fn accesses(
        &mut self,
        batch: &Batch,
        accesses: Accesses,
        isa: Isa,
        number: u64,
        state: bool,
        emit: &mut Emit<'_>,
    ) -> ControlFlow<()> {
        if self.tables.memory.wanted {
            for access in batch.mem_of(accesses) {
                let table = &mut self.tables.memory;
                if table.rows >= CHUNK || table.wide.len() >= CHUNK_BYTES {
                    emit(table.take(self.source))?;
                }
                memory(table, batch, access, number, state);
            }
        }
        if self.tables.registers.wanted {
            for access in batch.regs_of(accesses) {
                let table = &mut self.tables.registers;
                if table.rows >= CHUNK || table.wide.len() >= CHUNK_BYTES {
                    emit(table.take(self.source))?;
                }
                let key = (access.reg.class as u32) << 16 | u32::from(access.reg.number);
                let code = if table.register.wanted {
                    let make = || table.register.code(&reg_name(isa, access.reg));
                    Some(*self.register_codes.get((key, isa), make))
                } else {
                    None
                };
                register(table, batch, access, code, number);
            }
        }
        ControlFlow::Continue(())
    }

    fn run_row(
        &mut self,
        batch: &Batch,
        event: &Event,
        run: &Run,
        number: u64,
        emit: &mut Emit<'_>,
    ) -> ControlFlow<()> {
        let table = &mut self.tables.runs;
        if !table.wanted {
            return ControlFlow::Continue(());
        }
        if table.rows >= CHUNK {
            emit(table.take(self.source))?;
        }
        let lane = &self.lanes[usize::from(self.source)];
        table.source.put(batch.source.into());
        table.number.put(number);
        table.start_pc.put(run.start);
        table.end_pc.put(run.end);
        table.instructions.put(run.count);
        table.isa.put_fixed(run.isa as usize, run.isa.as_str());
        table.exit.put_fixed(run.exit as usize, run.exit.as_str());
        table.taken.put_known(run.taken);
        table.attempted.put(run.attempted);
        table.doubtful.put(run.doubtful);
        table.withdrawn.put(run.withdrawn);
        if table.function.wanted {
            let symbol = self.image.symbol(run.start);
            table.function.put(symbol.map(|(symbol, _)| symbol.demangled()).as_deref());
        }
        table.time.put_known(lane.time);
        table.cycles.put_known(lane.cycles);
        table.context.put_known(lane.last_context());
        table.byte_offset.put(event.offset);
        table.rows += 1;
        ControlFlow::Continue(())
    }

    /// Any event but instructions.
    fn other(&mut self, batch: &Batch, event: &Event, number: u64, emit: &mut Emit<'_>) -> ControlFlow<()> {
        if separates(&event.kind) {
            self.awaits = false;
        }
        let inside = self.is_inside(batch, event, number)?;
        if matches!(event.kind, EventKind::Context(_) | EventKind::Time(_)) {
            self.settle_lane();
        }
        self.lanes[usize::from(self.source)].take(batch, event);
        if matches!(event.kind, EventKind::Context(_)) {
            self.code = None;
            let context = &self.lanes[usize::from(self.source)].context;
            self.isa = context.isa.unwrap_or(self.meta.isa);
        }
        if !inside {
            return ControlFlow::Continue(());
        }
        if let EventKind::State(n) = event.kind
            && let State::Contents(accesses) = batch.states[n as usize]
        {
            return self.accesses(batch, accesses, self.isa, number, true, emit);
        }
        self.row(batch, event, number, emit)
    }

    /// The row of an event that has a table of its own.
    fn row(&mut self, batch: &Batch, event: &Event, number: u64, emit: &mut Emit<'_>) -> ControlFlow<()> {
        let (source, offset) = (u32::from(batch.source), event.offset);
        let lane = &self.lanes[usize::from(self.source)];
        /// Adds a row to a table that is wanted; the columns that all have first.
        macro_rules! row {
            ($table:ident, $full:expr, $($column:ident . $put:ident ( $($value:expr),* ),)*) => {{
                let table = &mut self.tables.$table;
                if table.wanted {
                    if table.rows >= CHUNK || $full(&*table) {
                        emit(table.take(self.source))?;
                    }
                    table.source.put(source);
                    table.number.put(number);
                    $(table.$column.$put($($value),*);)*
                    table.byte_offset.put(offset);
                    table.rows += 1;
                }
            }};
        }
        match &event.kind {
            EventKind::Trap(n) => {
                let trap = &batch.traps[*n as usize];
                row!(
                    traps,
                    |_: &Traps| false,
                    kind.put(Some(trap.kind.as_str())),
                    cause.put_known(trap.cause),
                    class.put_known(trap.class),
                    name.put(trap_name(self.format, trap)),
                    value.put_known(trap.value),
                    from_pc.put_known(trap.from),
                    to_pc.put_known(trap.to),
                    return_address.put_known(trap.return_address),
                    is_virtual.put(trap.is_virtual),
                    syscall.put(trap.syscall.map(|syscall| syscall.as_str())),
                    syscall_index.put_known(trap.syscall_index),
                    time.put_known(lane.time),
                    context.put_known(lane.last_context()),
                );
            }
            EventKind::Context(_) => {
                let Lane { context, contexts, .. } = lane;
                let thread = context.tid.and_then(|tid| self.meta.threads.get(&tid));
                row!(
                    contexts,
                    |_: &Contexts| false,
                    context.put(*contexts),
                    privilege.put(context.privilege.map(|level| level.as_str())),
                    security.put(context.security.map(|state| state.as_str())),
                    own_stack.put_known(context.own_stack),
                    context_id.put_known(context.context_id),
                    vmid.put_known(context.vmid),
                    asid.put_known(context.asid),
                    pid.put_known(context.pid),
                    tid.put_known(context.tid),
                    thread.put(thread.map(String::as_str)),
                    hw_thread.put_known(context.hw_thread),
                    isa.put(context.isa.map(|isa| isa.as_str())),
                    vector_bits.put_known(context.vector_bits),
                    streaming.put_known(context.streaming),
                    unsupported.put_known(context.unsupported),
                );
            }
            EventKind::Time(time) => row!(
                times,
                |_: &Times| false,
                kind.put_fixed(time.kind as usize, time.kind.as_str()),
                value.put_known(time.value),
                clock.put(time.clock.into()),
            ),
            EventKind::Mark(mark) => {
                let text = batch.text_of(mark.text);
                row!(
                    marks,
                    |table: &Marks| table.text.len() >= CHUNK_BYTES,
                    kind.put(Some(mark.kind.as_str())),
                    value.put_known(mark.value),
                    text.put((mark.text.len > 0).then(|| text.as_bytes())),
                );
            }
            EventKind::Gap(n) => {
                let gap = &batch.gaps[*n as usize];
                row!(
                    gaps,
                    |_: &Gaps| false,
                    reason.put_fixed(gap.reason as usize, gap.reason.as_str()),
                    from_pc.put_known(gap.from),
                    to_pc.put_known(gap.to),
                    instructions.put_known(gap.instructions),
                    bytes.put_known(gap.bytes),
                );
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// A value of up to 64 bits, and one that is wider.
fn apart(batch: &Batch, value: Value) -> (Option<u64>, Option<&[u8]>) {
    match value {
        Value::Unknown => (None, None),
        Value::Word(word) => (Some(word), None),
        Value::Bytes(span) => (None, Some(batch.bytes_of(span))),
    }
}

fn memory(table: &mut Memory, batch: &Batch, access: &MemAccess, number: u64, state: bool) {
    let extra = batch.mem_extra_of(access);
    let (data, wide) = apart(batch, access.data);
    table.source.put(batch.source.into());
    table.number.put(number);
    table.kind.put_fixed(access.kind as usize, access.kind.as_str());
    table.address.put_known((!access.unplaced).then_some(access.address));
    table.size.put(access.size);
    table.data.put_known(data);
    table.wide.put(wide);
    table.stored.put_known(extra.and_then(|extra| apart(batch, extra.stored).0));
    table.physical.put_known(extra.and_then(|extra| extra.physical));
    table.inferred.put(access.inferred);
    table.state.put(state);
    table.rows += 1;
}

fn register(table: &mut Registers, batch: &Batch, access: &RegAccess, code: Option<u32>, number: u64) {
    let (value, wide) = apart(batch, access.value);
    table.source.put(batch.source.into());
    table.number.put(number);
    table.register.put_code(code);
    table.role.put_fixed(access.role as usize, access.role.as_str());
    table.value.put_known(value);
    table.wide.put(wide);
    table.update.put_fixed(access.update as usize, access.update.as_str());
    table.known.put_known(access.known);
    table.rows += 1;
}
