//! `trackway image`: a program by itself.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use trackway_core::{Context, Isa};
use trackway_image::{Image, Listing, Mapping, Waypoints, demangle};
use trackway_isa::Style;

use crate::cli::ImageArgs;
use crate::exit::{Exit, Failure};

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
    let shown = match args {
        _ if args.disasm => {
            program.disassemble(out, window, Style { aliases: !args.no_aliases, abi_names: true })
        }
        _ if args.blocks => program.blocks(out, window),
        _ if args.symbols => program.symbols(out, window),
        _ => return program.overview(out),
    };
    match shown? {
        // Showing nothing at all is never fine.
        0 => Ok(Exit::Found),
        _ => Ok(Exit::Fine),
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

    fn overview(&self, mut out: impl Write) -> Result<Exit, Failure> {
        for part in self.image.parts() {
            writeln!(out, "{}", part.name)?;
            if let Some(elf) = &part.elf {
                writeln!(out, "  instruction set  {}", elf.isa)?;
                let entry =
                    self.image.place(elf.entry & !1).map_or(String::new(), |place| format!(" {place}"));
                writeln!(out, "  entry            {:016x}{entry}", elf.entry)?;
            }
            for segment in &part.segments {
                let flags = [(true, 'r'), (segment.writable, 'w'), (segment.executable, 'x')];
                let flags: String = flags.iter().map(|(set, flag)| if *set { *flag } else { '-' }).collect();
                let (address, length) = (segment.address, segment.bytes().len());
                writeln!(
                    out,
                    "  segment          {address:016x} {length:>10} bytes +{} {flags}",
                    segment.zeros()
                )?;
            }
            let lines = if part.lines().is_some_and(|lines| self.has_lines(lines)) { "yes" } else { "no" };
            writeln!(out, "  symbols of code  {}", part.symbols().all().len())?;
            writeln!(out, "  source lines     {lines}")?;
        }
        out.flush()?;
        Ok(Exit::Fine)
    }

    /// Is there a line for the start of any function?
    fn has_lines(&self, lines: &trackway_image::Lines) -> bool {
        let symbols = self.image.parts().iter().flat_map(|part| part.symbols().all());
        symbols.take(4096).any(|symbol| lines.at(symbol.address).is_some())
    }

    fn disassemble(&self, mut out: impl Write, window: Window, style: Style) -> Result<u64, Failure> {
        let memory = self.image.memory(&Context::default());
        let mut listing = Listing::new(Arc::clone(&self.image), style);
        let mut shown = 0;
        for (start, end) in self.code() {
            let mut pc = start.max(window.from);
            while pc < end.min(window.to) {
                let place = self.at(pc);
                let fetched = if place.is_data { None } else { memory.fetch(place.isa, pc) };
                let length = match (fetched, memory.word(pc), memory.halfword(pc)) {
                    (Some((encoding, length)), _, _) => {
                        let text = listing.text(place.isa, pc, encoding);
                        writeln!(
                            out,
                            "{pc:016x}: {} {text}",
                            Listing::encoding(place.isa, encoding, length)
                        )?;
                        u64::from(length)
                    }
                    (None, Some(word), _) if pc % 4 == 0 && self.is_data_word(place, pc) => {
                        writeln!(out, "{pc:016x}: {word:08x} .word 0x{word:08x}")?;
                        4
                    }
                    (None, _, Some(half)) => {
                        writeln!(out, "{pc:016x}: {half:04x} .short 0x{half:04x}")?;
                        2
                    }
                    // A hole, or a last odd byte.
                    _ => break,
                };
                pc = pc.saturating_add(length);
                shown += 1;
            }
        }
        out.flush()?;
        Ok(shown)
    }

    /// Does the data at `pc` go on for a whole word?
    fn is_data_word(&self, place: Place, pc: u64) -> bool {
        !place.is_data || self.at(pc.saturating_add(2)).is_data
    }

    fn blocks(&self, mut out: impl Write, window: Window) -> Result<u64, Failure> {
        let is_riscv = matches!(self.isa, Isa::Rv32 | Isa::Rv64);
        let waypoints = if is_riscv { Waypoints::ETRACE } else { Waypoints::ete(true) };
        let cursor = |isa| self.image.blocks(&Context::default(), isa, waypoints).cursor();
        let mut cursors =
            [(self.isa, cursor(self.isa)), (Isa::A32, cursor(Isa::A32)), (Isa::T32, cursor(Isa::T32))];
        let memory = self.image.memory(&Context::default());
        let mut shown = 0;
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
                write!(out, "{:016x} {:016x} {} {}", block.start, block.end, block.count, block.exit())?;
                if let Some(target) = block.target {
                    write!(out, " -> {target:016x}")?;
                }
                if let Some(place) = self.image.place(pc) {
                    write!(out, "  {place}")?;
                }
                writeln!(out)?;
                shown += 1;
                // A run may reach over the end of a section into the next: look there again.
                pc = block.end.max(pc.saturating_add(2));
            }
        }
        out.flush()?;
        Ok(shown)
    }

    fn symbols(&self, mut out: impl Write, window: Window) -> Result<u64, Failure> {
        let mut shown = 0;
        for symbol in self.image.parts().iter().flat_map(|part| part.symbols().all()) {
            if window.holds(symbol.address) {
                writeln!(out, "{:016x} {} {}", symbol.address, symbol.size, demangle(&symbol.name))?;
                shown += 1;
            }
        }
        out.flush()?;
        Ok(shown)
    }
}
