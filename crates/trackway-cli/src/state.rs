//! `trackway state`: what a trace shows at a point.

use std::fmt::Write as _;
use std::io::Write;

use serde_json::{Value as Json, json};
use trackway::machine::{Content, Frame, FrameKind, How, Known};
use trackway_core::{Isa, Reg};
use trackway_isa::reg_name;
use trackway_tools::contexts;
use trackway_tools::past::{self, Origin, Past, Piece, Point};

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::json::{Object, hex, object, put_errors};
use crate::open::open;
use crate::past::{At, Places, bytes, register, title, value_json};
use crate::report::{placed, print_damage};

/// Arguments of `state`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The state is that before the instruction executes. A register or byte has the number of the instruction that wrote
it, that read it (\"seen\": its writer is not known), or before which the trace shows it. After a gap nothing is known
that the trace does not show again.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) point: At,
    /// Show only this register; may be repeated
    #[arg(long, value_name = "R")]
    pub(crate) reg: Vec<String>,
    /// Show memory, 8 bytes unless LEN is given; may be repeated
    #[arg(long, value_name = "ADDR[:LEN]")]
    pub(crate) mem: Vec<String>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut trace = open(&args.common, &args.point.file)?;
    let failed = |error: trackway::Error| placed(&args.common, &args.point.file, error);
    let isa = trace.meta().isa;
    let wanted: Vec<Reg> = args.reg.iter().map(|name| register(isa, name)).collect::<Result<_, _>>()?;
    let ranges: Vec<(u64, u64)> = args.mem.iter().map(|text| bytes(text)).collect::<Result<_, _>>()?;
    let (number, programs) = args.point.locate(&args.common, &mut trace)?;
    let point = past::at(&mut trace, number).map_err(failed)?.map_err(|total| {
        let text = format!("{}: there are {total} instructions, not {number}", args.point.file.display());
        Failure::Usage(text)
    })?;
    let health = args.point.health(&args.common, point.passed)?;
    let image = programs.first().map(|image| image.memory(&point.machine.context));
    let mut memory = Vec::new();
    for (address, length) in ranges {
        let mut past = Past::new(&mut trace).map_err(failed)?;
        memory.extend(past::memory(&mut past, number, address, length, image.as_deref()).map_err(failed)?);
    }
    let mut shown = Shown { isa, point, places: Places::new(&programs), wanted, memory };
    if args.json {
        let mut object = shown.json(args);
        put_errors(&mut object, &health, None);
        crate::json::print(object)?;
    } else {
        std::io::stdout().lock().write_all(shown.text().as_bytes())?;
    }
    print_damage(&health);
    Ok(Exit::Fine)
}

struct Shown {
    isa: Isa,
    point: Point,
    places: Places,
    wanted: Vec<Reg>,
    memory: Vec<Piece>,
}

impl Shown {
    /// The registers to show: those asked for, else all that something is known of.
    fn registers(&self) -> Vec<(Reg, Option<Known<'_>>)> {
        let registers = &self.point.machine.registers;
        if self.wanted.is_empty() {
            return registers.iter().map(|(reg, known)| (reg, Some(known))).collect();
        }
        self.wanted.iter().map(|reg| (*reg, registers.get(*reg))).collect()
    }

    fn pc(&self) -> Option<u64> {
        match self.point.next {
            Some(next) => next.pc,
            None => self.point.machine.next_pc(),
        }
    }

    fn text(&mut self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail, here and below.
        let _ = match self.point.next {
            Some(_) => writeln!(out, "before instruction {}", self.point.number),
            None => writeln!(out, "after the last of {} instructions", self.point.number),
        };
        let pc = self.pc();
        let suffix = self.places.suffix(pc);
        let _ = match pc {
            Some(pc) => writeln!(out, "  pc       {pc:016x}{suffix}"),
            None => writeln!(out, "  pc       unknown"),
        };
        if let Some(next) = self.point.next {
            let text = self.places.text(next.isa, next.pc, next.encoding, next.length);
            let _ = writeln!(out, "  next     {text}");
        }
        let machine = &self.point.machine;
        let context = contexts::name(&machine.context).unwrap_or_else(|| "unknown".into());
        let _ = writeln!(out, "  context  {context}");
        if let Some(time) = machine.time {
            let _ = writeln!(out, "  time     {time}");
        }
        if let Some(cycles) = machine.cycles {
            let _ = writeln!(out, "  cycles   {cycles}");
        }
        self.calls_text(&mut out);
        self.registers_text(&mut out);
        if !self.memory.is_empty() {
            out += "memory\n";
            self.memory.iter().for_each(|piece| piece_text(&mut out, piece));
        }
        out
    }

    fn calls_text(&mut self, out: &mut String) {
        let _ = writeln!(out, "calls, the innermost first");
        let frames: Vec<Frame> = self.point.machine.calls.frames().copied().collect();
        for frame in frames {
            let verb = match frame.kind {
                FrameKind::Call => "called",
                FrameKind::Trap => "trapped",
            };
            let entered = self.places.suffix(Some(frame.target));
            let from = frame.site.or(frame.return_address);
            let guess = self.point.machine.calls.guess_of(&frame);
            let guess = guess.map_or(String::new(), |guess| {
                format!("  (a guess: {} before {})", guess.doubt.as_str(), guess.number)
            });
            let site =
                from.map_or("?".into(), |from| format!("{from:016x}{}", self.places.suffix(Some(from))));
            let preposition = if frame.site.is_some() { "from" } else { "returning to" };
            let _ = writeln!(
                out,
                "  {:016x}{entered}\n    {verb} by {} {preposition} {site}{guess}",
                frame.target, frame.number
            );
        }
        let calls = &self.point.machine.calls;
        let _ = match (calls.forgotten, self.point.machine.gap) {
            (0, None) => writeln!(out, "  -- callers before the trace began are not known"),
            (0, Some(gap)) => writeln!(out, "  -- callers are not known: there is a gap before {gap}"),
            (more, _) => writeln!(out, "  -- and {more} more"),
        };
    }

    fn registers_text(&self, out: &mut String) {
        let registers = self.registers();
        if registers.is_empty() {
            let _ = writeln!(out, "registers\n  -- the trace shows none before this point");
            return;
        }
        let _ = writeln!(out, "registers");
        for (reg, known) in registers {
            let name = title(self.isa, reg);
            let _ = match known {
                None => writeln!(out, "  {name:<10} unknown"),
                Some(known) => {
                    let content = known.content.map_or("unknown".into(), |content| content.to_string());
                    writeln!(out, "  {name:<10} {content:<16}  {}", how_text(known.how, known.number))
                }
            };
        }
        if self.wanted.is_empty() {
            let _ = writeln!(out, "  -- all others are unknown");
        }
    }

    fn json(&mut self, args: &Args) -> Object {
        let mut out = object("state");
        out.insert("file".into(), json!(args.point.file.display().to_string()));
        out.insert("at".into(), json!(self.point.number));
        out.insert("end".into(), json!(self.point.next.is_none()));
        let pc = self.pc();
        match self.point.next {
            Some(next) => self.places.put(&mut out, next.isa, pc, next.encoding, next.length),
            None => {
                out.extend(pc.map(|pc| ("pc".to_string(), hex(pc))));
                self.places.put_place(&mut out, pc);
            }
        }
        let machine = &self.point.machine;
        out.insert("context".into(), json!(contexts::name(&machine.context)));
        out.insert("time".into(), json!(machine.time.map(hex)));
        out.insert("cycles".into(), json!(machine.cycles));
        let frames: Vec<Frame> = machine.calls.frames().copied().collect();
        let calls: Vec<Json> = frames.iter().map(|frame| self.frame_json(frame)).collect();
        out.insert("calls".into(), json!(calls));
        out.insert("calls_forgotten".into(), json!(self.point.machine.calls.forgotten));
        out.insert("gap".into(), json!(self.point.machine.gap));
        let registers = self.registers().into_iter().map(|(reg, known)| register_json(self.isa, reg, known));
        out.insert("registers".into(), registers.collect());
        out.insert("memory".into(), self.memory.iter().map(piece_json).collect());
        out
    }

    fn frame_json(&mut self, frame: &Frame) -> Json {
        let guess = self.point.machine.calls.guess_of(frame);
        let mut out = Object::new();
        let kind = if frame.kind == FrameKind::Call { "call" } else { "trap" };
        out.insert("kind".into(), json!(kind));
        out.insert("instruction".into(), json!(frame.number));
        out.insert("target".into(), hex(frame.target));
        self.places.put_place(&mut out, Some(frame.target));
        out.insert("site".into(), json!(frame.site.map(hex)));
        out.insert("return_address".into(), json!(frame.return_address.map(hex)));
        out.insert("guess".into(), json!(guess.map(|guess| guess.doubt.as_str())));
        out.insert("guess_before".into(), json!(guess.map(|guess| guess.number)));
        out.into()
    }
}

fn how_text(how: How, number: u64) -> String {
    match how {
        How::Written => format!("written by {number}"),
        How::Seen => format!("seen by {number}"),
        How::Shown => format!("shown before {number}"),
    }
}

fn register_json(isa: Isa, reg: Reg, known: Option<Known<'_>>) -> Json {
    let (value, mask) = match known.and_then(|known| known.content) {
        None => (Json::Null, None),
        Some(Content::Word(value, u64::MAX)) => (hex(value), None),
        Some(Content::Word(value, mask)) => (hex(value & mask), Some(hex(mask))),
        Some(Content::Bytes(bytes)) => (value_json(bytes), None),
    };
    let mut out = json!({
        "register": reg_name(isa, reg),
        "value": value,
        "how": known.map(|known| known.how.as_str()),
        "instruction": known.map(|known| known.number),
    });
    if let (Some(mask), Some(fields)) = (mask, out.as_object_mut()) {
        fields.insert("known_bits".into(), mask);
    }
    out
}

/// Where bytes come from: a word and the number of an instruction, for programs.
fn origin(origin: Origin) -> (&'static str, Option<u64>) {
    match origin {
        Origin::Written(n) => ("written", Some(n)),
        Origin::Read(n) => ("seen", Some(n)),
        Origin::Shown(n) => ("shown", Some(n)),
        Origin::Bus(n) => ("bus", Some(n)),
        Origin::Image => ("image", None),
        Origin::Untouched => ("untouched", None),
        Origin::Gap(n) => ("gap", Some(n)),
        Origin::Space(n) => ("context", Some(n)),
        Origin::NoAddress(n) => ("no-address", Some(n)),
    }
}

fn piece_text(out: &mut String, piece: &Piece) {
    let reason = piece.origin;
    let Some(content) = &piece.content else {
        let _ = writeln!(out, "  {:016x}  {} bytes unknown: {reason}", piece.address, piece.length);
        return;
    };
    for (n, line) in content.chunks(16).enumerate() {
        let address = piece.address.wrapping_add(16 * n as u64);
        let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(out, "  {address:016x}  {:<47}  {reason}", hex.join(" "));
    }
}

fn piece_json(piece: &Piece) -> Json {
    let (word, number) = origin(piece.origin);
    let bytes = piece
        .content
        .as_ref()
        .map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    json!({
        "address": hex(piece.address),
        "length": piece.length,
        "bytes": bytes,
        "how": word,
        "instruction": number,
    })
}
