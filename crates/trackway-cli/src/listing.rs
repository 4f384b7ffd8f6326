//! `dump --as text`: numbered instructions with disassembly, registers and memory.

use std::io::{Result, Write};
use std::sync::Arc;

use trackway::format::Format;
use trackway_core::{Batch, Context, Event, EventKind, Isa, MemAccess, Outcome, Run, Step, Value};
use trackway_image::{Image, Listing as Columns};
use trackway_isa::Style;

use crate::colours::Colours;
use crate::plain::plain;
use crate::view::{Budget, View};

/// Writes the listing.
pub(crate) struct Listing {
    out: Vec<u8>,
    meta: Isa,
    isa: Isa,
    format: &'static dyn Format,
    /// Text, function and line of each address.
    columns: Columns,
    programs: Vec<Arc<Image>>,
    colours: Colours,
}

impl Listing {
    pub(crate) fn new(
        isa: Isa,
        format: &'static dyn Format,
        programs: Vec<Arc<Image>>,
        colours: Colours,
    ) -> Self {
        let columns = Columns::new(trackway_image::program(&programs, 0), Style::default());
        Listing { out: Vec::new(), meta: isa, isa, format, columns, programs, colours }
    }

    fn step(&mut self, batch: &Batch, step: &Step, number: u64) -> Result<()> {
        self.instruction(number, step.pc, step.encoding, step.length)?;
        let extra = batch.extra_of(step);
        let Colours { flow, event, .. } = self.colours;
        if step.outcome == Outcome::Attempted {
            write!(self.out, "  {event}(attempted){event:#}")?;
        }
        match (step.taken, extra.and_then(|extra| extra.target)) {
            (_, Some(target)) => write!(self.out, "  {flow}T -> {target:016x}{flow:#}")?,
            (Some(true), None) => write!(self.out, "  {flow}T{flow:#}")?,
            (Some(false), None) => write!(self.out, "  {flow}NT{flow:#}")?,
            (None, None) => {}
        }
        if let Some(index) = extra.and_then(|extra| extra.sme_index) {
            write!(self.out, "  i{{{index}}}")?;
        }
        self.place(step.pc)?;
        writeln!(self.out)?;
        for micro_op in extra.map_or(&[][..], |extra| batch.bytes_of(extra.micro_ops).as_chunks::<5>().0) {
            let [size, op @ ..] = *micro_op;
            writeln!(self.out, "{INDENT}uop {size} {:08x}", u32::from_le_bytes(op))?;
        }
        for access in batch.mem_of(step.accesses) {
            self.memory(batch, access)?;
        }
        for access in batch.regs_of(step.accesses) {
            let name = trackway_isa::reg_name(self.isa, access.reg);
            write!(self.out, "{INDENT}reg {name:<5} {:<11}", access.role)?;
            value(&mut self.out, batch, access.value)?;
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// Number, address, encoding and text, without the line end.
    fn instruction(&mut self, number: u64, pc: Option<u64>, encoding: u32, length: u8) -> Result<()> {
        let Colours { faint, name, .. } = self.colours;
        write!(self.out, "{faint}{number:>9}{faint:#}  ")?;
        match pc {
            Some(pc) => write!(self.out, "{pc:016x}  ")?,
            None => write!(self.out, "{:16}  ", "?")?,
        }
        if length == 0 {
            return write!(self.out, "{:8}  ?", "?");
        }
        write!(self.out, "{faint}{:>8}{faint:#}  ", Columns::encoding(self.isa, encoding, length))?;
        let text = self.columns.text(self.isa, pc.unwrap_or(0), encoding);
        if !self.colours.are_on() {
            return write!(self.out, "{text:<32}");
        }
        let (mnemonic, operands) = text.split_at(text.find(' ').unwrap_or(text.len()));
        let rest = 32usize.saturating_sub(mnemonic.len());
        write!(self.out, "{name}{mnemonic}{name:#}{operands:<rest$}")
    }

    /// Function and source line, where the program has them.
    fn place(&mut self, pc: Option<u64>) -> Result<()> {
        let Some(pc) = pc.filter(|_| !self.columns.image().is_empty()) else { return Ok(()) };
        let row = self.columns.row(pc);
        let Colours { place, faint, .. } = self.colours;
        if !row.place.is_empty() {
            write!(self.out, "  {place}<{}>{place:#}", plain(&row.place))?;
        }
        if !row.line.is_empty() {
            let line = row.line.rsplit('/').next().unwrap_or(&row.line);
            write!(self.out, "  {faint}{}{faint:#}", plain(line))?;
        }
        Ok(())
    }

    fn memory(&mut self, batch: &Batch, access: &MemAccess) -> Result<()> {
        let MemAccess { kind, address, size, .. } = access;
        if access.unplaced {
            write!(self.out, "{INDENT}mem {kind:<5} {:16} {size}", "?")?;
        } else {
            write!(self.out, "{INDENT}mem {kind:<5} {address:016x} {size}")?;
        }
        value(&mut self.out, batch, access.data)?;
        if let Some(extra) = batch.mem_extra_of(access) {
            if extra.stored != Value::Unknown {
                write!(self.out, " ->")?;
                value(&mut self.out, batch, extra.stored)?;
            }
            if let Some(physical) = extra.physical {
                write!(self.out, " pa {physical:016x}")?;
            }
        }
        for (set, word) in [(access.range, " range"), (access.tagged, " tagged")] {
            write!(self.out, "{}", if set { word } else { "" })?;
        }
        writeln!(self.out)
    }

    /// A run that was withdrawn, or whose code is not known.
    fn run(&mut self, run: &Run, number: u64) -> Result<()> {
        let Run { start, end, count, exit, .. } = run;
        let word = if run.withdrawn { "withdrawn" } else { "run" };
        writeln!(self.out, "{number:>9}  {start:016x}  {word} to {end:016x}, {count} instructions, {exit}")
    }
}

const INDENT: &str = "                               ";

fn value(out: &mut impl Write, batch: &Batch, value: Value) -> Result<()> {
    match value {
        Value::Unknown => Ok(()),
        Value::Word(word) => write!(out, " = {word:016x}"),
        Value::Bytes(span) => {
            write!(out, " = ")?;
            batch.bytes_of(span).iter().rev().try_for_each(|byte| write!(out, "{byte:02x}"))
        }
    }
}

impl View for Listing {
    fn text(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    fn source(&mut self, source: u16, heading: Option<&str>, _: &mut Budget) -> Result<()> {
        if self.programs.len() > 1 {
            let program = trackway_image::program(&self.programs, source);
            self.columns = Columns::new(program, Style::default());
        }
        self.isa = self.meta;
        let bold = self.colours.heading;
        heading.map_or(Ok(()), |name| writeln!(self.out, "{bold}# source {name}{bold:#}"))
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
        match &event.kind {
            EventKind::Step(step) => return self.step(batch, step, number),
            EventKind::Run(run) => return self.run(run, number),
            _ => {}
        }
        // Everything else is rare: its fields as in an event line, text decoded.
        let mut line = String::new();
        let text = match &event.kind {
            EventKind::Mark(mark) if mark.text.len > 0 => Some(batch.text_of(mark.text)),
            _ => None,
        };
        let kind = batch.event_fields(event, &mut |name, value| match &text {
            Some(text) if name == "text" => line += &format!(" {text:?}"),
            _ => line += &format!(" {name}={value}"),
        });
        if let EventKind::Trap(n) = event.kind
            && let Some(name) = trackway::trap_name(self.format, &batch.traps[n as usize])
        {
            line += &format!(" ({name})");
        }
        let Colours { bad, event: other, .. } = self.colours;
        let style = if matches!(event.kind, EventKind::Gap(_)) { bad } else { other };
        writeln!(self.out, "       --  {style}{kind}{style:#}{line}")
    }
}
