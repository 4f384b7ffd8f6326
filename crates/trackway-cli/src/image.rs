//! `trackway image`: a program without a trace.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackway_core::{Context, Isa};
use trackway_image::{Image, Listing, Mapping, Part, Segment, Waypoints, demangle};
use trackway_isa::Style;

use crate::args::ImageArgs;
use crate::exit::{Exit, Failure};
use crate::json::{hex, object, print, write_line};
use crate::plain::plain;

pub(crate) fn run(args: &ImageArgs) -> Result<Exit, Failure> {
    let mut image = Image::default();
    let opened = if args.raw { image.open_raw(&args.file) } else { image.open_elf(&args.file) };
    opened.map_err(|error| Failure::input(Path::new(&args.file), error))?;
    let isa = args.isa.or(image.isa()).filter(|isa| *isa != Isa::Other);
    let needs_isa = args.disasm || args.blocks;
    let isa = match isa {
        Some(isa) => isa,
        None if needs_isa => return Err(Failure::Usage("say which instruction set it is: --isa".into())),
        None => Isa::Other,
    };
    let window = Window::new(&image, args)?;
    let program = Program { image: Arc::new(image), isa, forced: args.isa.is_some() };
    let out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut rows = Rows { out, json: args.json, jsonl: args.jsonl, shown: 0, objects: Vec::new() };
    let list = match args {
        _ if args.disasm => {
            let style = Style { aliases: !args.no_aliases, abi_names: true };
            program.disassemble(&mut rows, window, style)?;
            "instructions"
        }
        _ if args.blocks => {
            program.blocks(&mut rows, window)?;
            "blocks"
        }
        _ if args.symbols => {
            program.symbols(&mut rows, window)?;
            "symbols"
        }
        _ => {
            program.overview(&mut rows)?;
            "parts"
        }
    };
    rows.out.flush()?;
    let Rows { out, shown, objects, .. } = rows;
    drop(out);
    if args.json {
        let mut object = object("image");
        object.insert("file".into(), json!(args.file));
        object.insert(list.into(), json!(objects));
        print(object)?;
    }
    // Showing nothing at all is never fine.
    Ok(if shown == 0 { Exit::Found } else { Exit::Fine })
}

/// Rows of a listing, as text, as a stream of objects, or collected for one object.
struct Rows<W> {
    out: W,
    json: bool,
    jsonl: bool,
    shown: u64,
    objects: Vec<Json>,
}

impl<W: Write> Rows<W> {
    fn add(
        &mut self,
        kind: &str,
        text: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
        fields: impl FnOnce() -> Json,
    ) -> std::io::Result<()> {
        self.shown += 1;
        if self.json {
            self.objects.push(fields());
        } else if self.jsonl {
            let mut row = object(kind);
            if let Json::Object(fields) = fields() {
                row.extend(fields);
            }
            return write_line(&mut self.out, &row.into());
        } else {
            return text(&mut self.out);
        }
        Ok(())
    }
}

/// The addresses wanted, `[from, to)`.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: u64,
    to: u64,
}

impl Window {
    fn new(image: &Image, args: &ImageArgs) -> Result<Self, Failure> {
        let place = |text: &Option<String>| text.as_deref().map(|text| place(image, text)).transpose();
        let (from, to) = (place(&args.from)?, place(&args.to)?);
        let whole_function =
            from.map(|(address, size)| address.saturating_add(size)).filter(|_| to.is_none());
        let size = from.map_or(0, |(_, size)| size);
        Ok(Window {
            from: from.map_or(0, |(address, _)| address),
            to: to.map(|(address, _)| address).or(whole_function.filter(|_| size > 0)).unwrap_or(u64::MAX),
        })
    }

    fn holds(self, address: u64) -> bool {
        (self.from..self.to).contains(&address)
    }
}

/// An address and, for a symbol, its size.
fn place(image: &Image, text: &str) -> Result<(u64, u64), Failure> {
    if let Some(name) = text.strip_prefix("sym:") {
        let symbol = image.named(name);
        let symbol = symbol.ok_or_else(|| Failure::Usage(format!("unknown symbol {name}")))?;
        return Ok((symbol.address, symbol.size));
    }
    let text = text.strip_prefix("pc:").unwrap_or(text);
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let number =
        if digits.len() == text.len() { text.parse().ok() } else { u64::from_str_radix(digits, 16).ok() };
    let number =
        number.ok_or_else(|| Failure::Usage(format!("{text}: an address, pc:ADDRESS or sym:NAME")))?;
    Ok((number, 0))
}

/// The program to look at.
struct Program {
    image: Arc<Image>,
    isa: Isa,
    /// The set was named: what the file says of A32 and T32 does not count.
    forced: bool,
}

/// A stretch of code or data of one kind.
#[derive(Clone, Copy)]
struct Place {
    isa: Isa,
    is_data: bool,
}

impl Program {
    /// Where code is: the sections of code, or else what is executable.
    fn code(&self) -> Vec<(u64, u64)> {
        let sections = self.image.parts().iter().filter_map(|part| part.elf.as_ref());
        let mut ranges: Vec<(u64, u64)> = sections
            .flat_map(|elf| elf.code.iter())
            .map(|section| (section.address, section.address.saturating_add(section.length)))
            .collect();
        if ranges.is_empty() {
            let memory = self.image.memory(&Context::default());
            let code = memory.segments().iter().filter(|segment| segment.executable);
            ranges = code
                .map(|segment| {
                    (segment.address, segment.address.saturating_add(segment.bytes().len() as u64))
                })
                .collect();
        }
        ranges
    }

    fn at(&self, address: u64) -> Place {
        match self.image.mapping(address) {
            Some(Mapping::Data) => Place { isa: self.isa, is_data: true },
            Some(Mapping::Code(Some(isa))) if !self.forced => Place { isa, is_data: false },
            _ => Place { isa: self.isa, is_data: false },
        }
    }

    fn overview(&self, rows: &mut Rows<impl Write>) -> Result<(), Failure> {
        for part in self.image.parts() {
            let lines = part.lines().is_some_and(|lines| self.has_lines(lines));
            let symbols = part.symbols().all().len();
            let entry = part.elf.as_ref().map(|elf| (elf.entry, self.image.place(elf.entry & !1)));
            let flags = |segment: &Segment| -> String {
                let flags = [(true, 'r'), (segment.writable, 'w'), (segment.executable, 'x')];
                flags.iter().map(|(set, flag)| if *set { *flag } else { '-' }).collect()
            };
            let text = |out: &mut dyn Write| print_part(out, part, entry.as_ref(), &flags, symbols, lines);
            let fields = || {
                let segment = |segment: &Segment| {
                    json!({
                        "address": hex(segment.address), "bytes": segment.bytes().len(),
                        "zeros": segment.zeros(), "flags": flags(segment),
                    })
                };
                json!({
                    "name": part.name,
                    "isa": part.elf.as_ref().map(|elf| elf.isa.as_str()),
                    "entry": entry.as_ref().map(|(entry, _)| hex(*entry)),
                    "entry_symbol": entry.as_ref().and_then(|(_, place)| place.clone()),
                    "segments": part.segments.iter().map(segment).collect::<Vec<_>>(),
                    "symbols_of_code": symbols,
                    "source_lines": lines,
                })
            };
            rows.add("part", text, fields)?;
        }
        Ok(())
    }

    /// Is there a line for the start of any function?
    fn has_lines(&self, lines: &trackway_image::Lines) -> bool {
        let symbols = self.image.parts().iter().flat_map(|part| part.symbols().all());
        symbols.take(4096).any(|symbol| lines.at(symbol.address).is_some())
    }

    fn disassemble(&self, rows: &mut Rows<impl Write>, window: Window, style: Style) -> Result<(), Failure> {
        let memory = self.image.memory(&Context::default());
        let mut listing = Listing::new(Arc::clone(&self.image), style);
        for (start, end) in self.code() {
            let mut pc = start.max(window.from);
            while pc < end.min(window.to) {
                let place = self.at(pc);
                let fetched = if place.is_data { None } else { memory.fetch(place.isa, pc) };
                let (encoding, text, length) = match (fetched, memory.word(pc), memory.halfword(pc)) {
                    (Some((encoding, length)), _, _) => {
                        let text = listing.text(place.isa, pc, encoding).to_string();
                        (Listing::encoding(place.isa, encoding, length), text, u64::from(length))
                    }
                    (None, Some(word), _) if pc % 4 == 0 && self.is_data_word(place, pc) => {
                        (format!("{word:08x}"), format!(".word 0x{word:08x}"), 4)
                    }
                    (None, _, Some(half)) => (format!("{half:04x}"), format!(".short 0x{half:04x}"), 2),
                    // A hole, or a last odd byte.
                    _ => break,
                };
                let fields = || {
                    json!({
                        "pc": hex(pc), "encoding": format!("0x{encoding}"), "length": length,
                        "isa": place.isa.as_str(), "data": fetched.is_none(), "text": text,
                        "symbol": self.image.place(pc),
                    })
                };
                let line = |out: &mut dyn Write| writeln!(out, "{pc:016x}: {encoding} {text}");
                rows.add("instruction", line, fields)?;
                pc = pc.saturating_add(length);
            }
        }
        Ok(())
    }

    /// Does the data at `pc` go on for a whole word?
    fn is_data_word(&self, place: Place, pc: u64) -> bool {
        !place.is_data || self.at(pc.saturating_add(2)).is_data
    }

    fn blocks(&self, rows: &mut Rows<impl Write>, window: Window) -> Result<(), Failure> {
        let is_riscv = matches!(self.isa, Isa::Rv32 | Isa::Rv64);
        let waypoints = if is_riscv { Waypoints::ETRACE } else { Waypoints::ete(true) };
        let cursor = |isa| self.image.blocks(&Context::default(), isa, waypoints).cursor();
        let mut cursors =
            [(self.isa, cursor(self.isa)), (Isa::A32, cursor(Isa::A32)), (Isa::T32, cursor(Isa::T32))];
        let memory = self.image.memory(&Context::default());
        for (start, end) in self.code() {
            let mut pc = start.max(window.from);
            while pc < end.min(window.to) {
                let place = self.at(pc);
                let cursor = cursors.iter_mut().find(|(isa, _)| *isa == place.isa).map(|(_, cursor)| cursor);
                let block = cursor.filter(|_| !place.is_data).and_then(|cursor| cursor.at(pc));
                let Some(block) = block else {
                    if memory.halfword(pc).is_none() {
                        break;
                    }
                    pc += if is_riscv || place.isa == Isa::T32 || place.is_data { 2 } else { 4 };
                    continue;
                };
                let place = self.image.place(pc);
                let line = |out: &mut dyn Write| {
                    write!(out, "{:016x} {:016x} {} {}", block.start, block.end, block.count, block.exit())?;
                    if let Some(target) = block.target {
                        write!(out, " -> {target:016x}")?;
                    }
                    if let Some(place) = &place {
                        write!(out, "  {}", plain(place))?;
                    }
                    writeln!(out)
                };
                let fields = || {
                    json!({
                        "start": hex(block.start), "end": hex(block.end), "count": block.count,
                        "exit": block.exit().as_str(), "target": block.target.map(hex), "symbol": place,
                    })
                };
                rows.add("block", line, fields)?;
                // A run may reach over the end of a section into the next: look there again.
                pc = block.end.max(pc.saturating_add(2));
            }
        }
        Ok(())
    }

    fn symbols(&self, rows: &mut Rows<impl Write>, window: Window) -> Result<(), Failure> {
        for symbol in self.image.parts().iter().flat_map(|part| part.symbols().all()) {
            if window.holds(symbol.address) {
                let (address, size, name) = (symbol.address, symbol.size, demangle(&symbol.name));
                let line = |out: &mut dyn Write| writeln!(out, "{address:016x} {size} {}", plain(&name));
                rows.add("symbol", line, || json!({ "address": hex(address), "size": size, "name": name }))?;
            }
        }
        Ok(())
    }
}

/// A file of the program, for people.
fn print_part(
    out: &mut dyn Write,
    part: &Part,
    entry: Option<&(u64, Option<String>)>,
    flags: &dyn Fn(&Segment) -> String,
    symbols: usize,
    lines: bool,
) -> std::io::Result<()> {
    writeln!(out, "{}", part.name)?;
    if let (Some(elf), Some((entry, place))) = (&part.elf, entry) {
        writeln!(out, "  instruction set  {}", elf.isa)?;
        let place = place.as_ref().map_or(String::new(), |place| format!(" {}", plain(place)));
        writeln!(out, "  entry            {entry:016x}{place}")?;
    }
    for segment in &part.segments {
        let (address, length, zeros) = (segment.address, segment.bytes().len(), segment.zeros());
        writeln!(out, "  segment          {address:016x} {length:>10} bytes +{zeros} {}", flags(segment))?;
    }
    writeln!(out, "  symbols of code  {symbols}")?;
    writeln!(out, "  source lines     {}", if lines { "yes" } else { "no" })
}
