//! `monitor` commands: positions, gaps, who wrote a value, and the call stack of traces without a stack pointer.

use std::fmt::Write;

use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd};
use trackway::machine::FrameKind;
use trackway_core::Isa;
use trackway_image::program;
use trackway_isa::{Disassembler, reg_named};
use trackway_tools::past::{Cause, Location};
use trackway_tools::replay::{Replay, Stop};

use crate::target::Target;

const HELP: &str = "\
where               the position of each source
goto POSITION       123, end-10, sym:main, pc:0x1000, mark:1, trap:1, gap:1; then: maintenance flush register-cache
why REG             the instructions that the value comes from: why x5
why ADDR[:LEN]      the same for memory
gaps                the number of gaps, and the first ones
bt                  functions and handlers that were entered, by the trace
next                to the next instruction of this function
finish              to the instruction after this function was left
thread N            the source that moves
";

/// Gaps that are listed.
const GAPS: u64 = 20;

impl MonitorCmd for Target<'_> {
    fn handle_monitor_cmd(&mut self, cmd: &[u8], mut out: ConsoleOutput<'_>) -> trackway::Result<()> {
        let command = String::from_utf8_lossy(cmd);
        let text = self.answer(command.trim()).unwrap_or_else(|error| format!("{error}\n"));
        // Writing to a console cannot fail.
        let _ = out.write_str(&text);
        Ok(())
    }
}

impl Target<'_> {
    fn answer(&mut self, command: &str) -> Result<String, String> {
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim();
        let failed = |error: trackway::Error| error.to_string();
        match name {
            "where" => self.places(),
            "goto" => {
                let number = self.replay().locate(rest).map_err(failed)?;
                self.replay().go(number).map_err(failed)?;
                Ok(format!("{}maintenance flush register-cache: shows it\n", self.place_text()?))
            }
            "thread" => {
                let count = self.threads.len();
                let number = rest.parse().ok().filter(|n| (1..=count).contains(n));
                self.current = number.ok_or_else(|| format!("there are {count} sources"))? - 1;
                self.places()
            }
            "why" => why(self.replay(), rest),
            "gaps" => gaps(self.replay()),
            "bt" => calls(self.replay()),
            "next" | "finish" => {
                let depth = self.replay().calls().map_err(failed)?.depth();
                let wanted = if name == "next" { Some(depth) } else { depth.checked_sub(1) };
                let wanted = wanted.ok_or("the caller of this function is not known")?;
                let stop = self.replay().until_depth(wanted, || false).map_err(failed)?;
                let end = if stop == Stop::End { "the trace ends\n" } else { "" };
                Ok(format!("{end}{}maintenance flush register-cache: shows it\n", self.place_text()?))
            }
            "help" | "" => Ok(HELP.into()),
            _ => Err(format!("{name}: not a command\n{}", HELP.trim_end())),
        }
    }

    /// The position of the source that moves.
    fn place_text(&mut self) -> Result<String, String> {
        place(self.replay())
    }

    fn places(&mut self) -> Result<String, String> {
        let mut text = String::new();
        for (n, thread) in self.threads.iter_mut().enumerate() {
            let mark = if n == self.current { '*' } else { ' ' };
            let blank = if thread.name.is_empty() { "" } else { " " };
            let _ = write!(text, "{mark} {}{blank}{}: {}", n + 1, thread.name, place(&mut thread.replay)?);
        }
        Ok(text)
    }
}

/// Position, address, instruction and function.
fn place(replay: &mut Replay) -> Result<String, String> {
    let failed = |error: trackway::Error| error.to_string();
    let count =
        if replay.is_counted() { format!(" of {}", replay.count().map_err(failed)?) } else { String::new() };
    let now = format!("{}{count}", replay.now());
    let pc = replay.pc().map_err(failed)?;
    let next = replay.point().map_err(failed)?.next;
    let Some(next) = next else { return Ok(format!("{now}: the end of the trace\n")) };
    let address = pc.map_or("an unknown address".to_string(), |pc| format!("{pc:#x}"));
    let text = instruction(next.isa, next.pc, next.encoding, next.length);
    Ok(format!("{now}: {address}{}  {text}\n", function(replay, pc)))
}

fn instruction(isa: Isa, pc: Option<u64>, encoding: u32, length: u8) -> String {
    match length {
        0 => "?".into(),
        _ => Disassembler::default().text(isa, pc.unwrap_or(0), encoding).to_string(),
    }
}

/// ` <function+offset>`, or nothing. Control characters of a name stay off the terminal.
fn function(replay: &Replay, pc: Option<u64>) -> String {
    let place = pc.and_then(|pc| program(replay.programs(), 0).place(pc));
    place.map_or(String::new(), |place| format!(" <{}>", place.replace(char::is_control, "?")))
}

fn why(replay: &mut Replay, text: &str) -> Result<String, String> {
    let what = text.trim_start_matches('$');
    let isa = replay.isa();
    let what = match reg_named(isa, what) {
        Some(reg) => Location::Reg(reg),
        None => {
            let (address, length) = what.split_once(':').unwrap_or((what, "8"));
            match (number(address), number(length)) {
                (Some(address), Some(length @ 1..=4096)) => Location::Mem { address, length },
                _ => return Err(format!("{text}: a register, ADDR or ADDR:LEN")),
            }
        }
    };
    let why = replay.why(what, 4).map_err(|error| error.to_string())?;
    let mut out = String::new();
    for (_, cause) in &why.causes {
        match cause {
            Cause::End(end) => {
                let number = end.number().map_or(String::new(), |number| format!(" (before {number})"));
                let _ = writeln!(out, "not written in this trace: {}{number}", end.as_str());
            }
            Cause::Node(_) => {}
        }
    }
    for node in &why.nodes {
        let indent = 2 * node.depth as usize;
        let text = instruction(node.isa, node.pc, node.encoding, node.length);
        let address = node.pc.map_or("?".into(), |pc| format!("{pc:#x}"));
        let place = function(replay, node.pc);
        let _ = writeln!(out, "{:indent$}{}: {address}{place}  {text}", "", node.number);
    }
    Ok(out)
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn gaps(replay: &mut Replay) -> Result<String, String> {
    let count = replay.gaps().map_err(|error| error.to_string())?;
    let mut out = format!("{count} gaps\n");
    for n in 1..=count.min(GAPS) {
        let number = replay.locate(&format!("gap:{n}")).map_err(|error| error.to_string())?;
        let _ = writeln!(out, "gap:{n} before {number}");
    }
    if count > GAPS {
        let _ = writeln!(out, "and {} more", count - GAPS);
    }
    Ok(out)
}

fn calls(replay: &mut Replay) -> Result<String, String> {
    let calls = replay.calls().map_err(|error| error.to_string())?;
    let mut out = place(replay)?;
    for frame in calls.frames().rev() {
        let verb = if frame.kind == FrameKind::Call { "called" } else { "trapped to" };
        let site = frame.site.or(frame.return_address);
        let from = site.map_or("?".into(), |site| format!("{site:#x}{}", function(replay, Some(site))));
        let entered = function(replay, Some(frame.target));
        let _ = writeln!(out, "{:#x}{entered} {verb} by {} from {from}", frame.target, frame.number);
    }
    if calls.forgotten > 0 {
        let _ = writeln!(out, "and {} more", calls.forgotten);
    }
    Ok(out)
}
