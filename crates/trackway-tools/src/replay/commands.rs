//! Commands for positions that every debugger offers as text.
//!
//! No command writes a file, runs a program or reads a file other than the trace.

use std::fmt::Write;

use trackway::machine::FrameKind;
use trackway_core::Isa;
use trackway_image::program;
use trackway_isa::{Disassembler, reg_named};

use super::{Replay, Session, Stop, Stops};
use crate::past::{Cause, Location, Piece};

const HELP: &str = "\
where               the position of each source; * moves
goto POSITION       123, end-10, sym:main, line:FILE:N, pc:0x1000, time:N, mark:1, trap:1, gap:1
why REG             the instructions that the value comes from: why x5
why ADDR[:LEN]      the same for memory
mem ADDR[:LEN]      bytes of memory, and where each comes from: the trace or the program
gaps                the number of gaps, and the first ones
bt                  functions and handlers that were entered, by the trace
next                to the next instruction of this function
finish              to the instruction after this function was left
caller              back to the call of this function
thread N            the source that moves
";

/// Gaps that are listed.
const GAPS: u64 = 20;

/// Bytes of memory that are shown.
const MEMORY: u64 = 4096;

impl Session {
    /// Carries out a command; returns what it has to say, each line ended.
    ///
    /// # Errors
    /// The command is not known, its argument is wrong, or the trace cannot be read, in words.
    pub fn command(&mut self, command: &str, cancelled: impl FnMut() -> bool) -> Result<String, String> {
        let (name, rest) = command.trim().split_once(char::is_whitespace).unwrap_or((command.trim(), ""));
        let rest = rest.trim();
        match name {
            "where" => self.places(),
            "goto" => {
                let number = self.replay().locate(rest).map_err(text)?;
                self.replay().go(number).map_err(text)?;
                place(self.replay())
            }
            "thread" => {
                let count = self.threads.len();
                let number = rest.parse().ok().filter(|n| (1..=count).contains(n));
                self.current = number.ok_or_else(|| format!("thread N: there are {count}"))? - 1;
                self.places()
            }
            "why" => why(self.replay(), rest),
            "mem" => content(self.replay(), rest),
            "gaps" => gaps(self.replay()),
            "bt" => calls(self.replay()),
            "next" | "finish" => {
                let depth = self.replay().calls().map_err(text)?.depth();
                let wanted = if name == "next" { Some(depth) } else { depth.checked_sub(1) };
                let wanted = wanted.ok_or("the caller of this function is not known")?;
                let stop = self.replay().until_depth(wanted, &Stops::default(), cancelled).map_err(text)?;
                let said = match stop {
                    Stop::End => "the trace ends\n",
                    Stop::Cancelled => "cancelled\n",
                    _ => "",
                };
                Ok(format!("{said}{}", place(self.replay())?))
            }
            "caller" => {
                let stop = self.replay().to_caller().map_err(text)?;
                let said = if stop == Stop::Begin { "it was called before the trace began\n" } else { "" };
                Ok(format!("{said}{}", place(self.replay())?))
            }
            "help" | "" => Ok(HELP.into()),
            _ => Err(format!("{}: not a command\n{}", plain(name), HELP.trim_end())),
        }
    }

    /// True if a command of that name moves a source.
    pub fn moves(command: &str) -> bool {
        let name = command.split_whitespace().next().unwrap_or_default();
        ["goto", "next", "finish", "caller", "thread"].contains(&name)
    }

    fn places(&mut self) -> Result<String, String> {
        let mut out = String::new();
        for (n, thread) in self.threads.iter_mut().enumerate() {
            let mark = if n == self.current { '*' } else { ' ' };
            let blank = if thread.name.is_empty() { "" } else { " " };
            let place = place(&mut thread.replay)?;
            // Writing to a String cannot fail, here and below.
            let _ = write!(out, "{mark} {}{blank}{}: {place}", n + 1, plain(&thread.name));
        }
        Ok(out)
    }
}

fn text(error: trackway::Error) -> String {
    error.to_string()
}

/// Control characters of a name stay off the terminal.
fn plain(name: &str) -> String {
    name.replace(char::is_control, "?")
}

/// Position, address, instruction and function.
fn place(replay: &mut Replay) -> Result<String, String> {
    let count =
        if replay.is_counted() { format!(" of {}", replay.count().map_err(text)?) } else { String::new() };
    let now = format!("{}{count}", replay.now());
    let pc = replay.pc().map_err(text)?;
    let next = replay.point().map_err(text)?.next;
    let Some(next) = next else { return Ok(format!("{now}: the end of the trace\n")) };
    let address = pc.map_or("an unknown address".to_string(), |pc| format!("{pc:#x}"));
    let shown = instruction(next.isa, next.pc, next.encoding, next.length);
    Ok(format!("{now}: {address}{}  {shown}\n", function(replay, pc)))
}

fn instruction(isa: Isa, pc: Option<u64>, encoding: u32, length: u8) -> String {
    match length {
        0 => "?".into(),
        _ => Disassembler::default().text(isa, pc.unwrap_or(0), encoding).to_string(),
    }
}

/// ` <function+offset>`, or nothing.
fn function(replay: &Replay, pc: Option<u64>) -> String {
    let place = pc.and_then(|pc| program(replay.programs(), 0).place(pc));
    place.map_or(String::new(), |place| format!(" <{}>", plain(&place)))
}

/// `ADDR[:LEN]`, 8 bytes without a length.
pub(super) fn memory(what: &str) -> Option<(u64, u64)> {
    let (address, length) = what.split_once(':').unwrap_or((what, "8"));
    let length = number(length).filter(|length| (1..=MEMORY).contains(length))?;
    Some((number(address)?, length))
}

impl Location {
    /// Reads a register (`x5`, `$a0`) or memory (`ADDR[:LEN]`).
    pub fn parse(what: &str, isa: Isa) -> Result<Self, String> {
        let name = what.trim().trim_start_matches('$');
        let in_memory = || memory(name).map(|(address, length)| Location::Mem { address, length });
        let found = reg_named(isa, name).map(Location::Reg).or_else(in_memory);
        found.ok_or_else(|| format!("{}: a register, ADDR or ADDR:LEN", plain(what)))
    }
}

fn why(replay: &mut Replay, what: &str) -> Result<String, String> {
    let what = Location::parse(what, replay.isa())?;
    let why = replay.why(what, 4).map_err(text)?;
    let mut out = String::new();
    for (_, cause) in &why.causes {
        if let Cause::End(end) = cause {
            let _ = writeln!(out, "not written in this trace: {end}");
        }
    }
    for node in &why.nodes {
        let indent = 2 * node.depth as usize;
        let shown = instruction(node.isa, node.pc, node.encoding, node.length);
        let address = node.pc.map_or("?".into(), |pc| format!("{pc:#x}"));
        let place = function(replay, node.pc);
        let _ = writeln!(out, "{:indent$}{}: {address}{place}  {shown}", "", node.number);
    }
    Ok(out)
}

fn content(replay: &mut Replay, what: &str) -> Result<String, String> {
    let wrong = || format!("{}: ADDR or ADDR:LEN, up to {MEMORY} bytes", plain(what));
    let (address, length) = memory(what).ok_or_else(wrong)?;
    let pieces = replay.memory(address, length, || true).map_err(text)?.unwrap_or_default();
    let mut out = String::new();
    for Piece { address, length, content, origin } in pieces {
        let Some(content) = content else {
            let _ = writeln!(out, "{address:#x}  {length} bytes unknown: {origin}");
            continue;
        };
        for (n, line) in content.chunks(16).enumerate() {
            let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            let address = address.wrapping_add(16 * n as u64);
            let _ = writeln!(out, "{address:#x}  {:<47}  {origin}", hex.join(" "));
        }
    }
    Ok(out)
}

fn number(digits: &str) -> Option<u64> {
    match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}

fn gaps(replay: &mut Replay) -> Result<String, String> {
    let count = replay.gaps().map_err(text)?;
    let mut out = format!("{count} gaps\n");
    for n in 0..count.min(GAPS) {
        let number = replay.locate(&format!("gap:{n}")).map_err(text)?;
        let _ = writeln!(out, "gap:{n} before {number}");
    }
    if count > GAPS {
        let _ = writeln!(out, "and {} more", count - GAPS);
    }
    Ok(out)
}

fn calls(replay: &mut Replay) -> Result<String, String> {
    let calls = replay.calls().map_err(text)?;
    let mut out = place(replay)?;
    for frame in calls.frames() {
        let verb = if frame.kind == FrameKind::Call { "called" } else { "trapped to" };
        let site = frame.site.or(frame.return_address);
        let from = site.map_or("?".into(), |site| format!("{site:#x}{}", function(replay, Some(site))));
        let entered = function(replay, Some(frame.target));
        let guess = calls.guess_of(frame);
        let guess = guess.map_or(String::new(), |guess| format!("  (a guess: {})", guess.doubt.as_str()));
        let _ = writeln!(out, "{:#x}{entered} {verb} by {} from {from}{guess}", frame.target, frame.number);
    }
    if calls.forgotten > 0 {
        let _ = writeln!(out, "and {} more", calls.forgotten);
    }
    Ok(out)
}
