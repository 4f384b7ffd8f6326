//! A retirement port in a VCD: sampled at the rising edge of its clock.

mod header;
mod values;

use trackway_core::*;
use trackway_format::{Key, Omits, Recognised};

use self::header::{Declared, Header};
use self::values::{Kind, State, Values};
use super::check::PortCheck;
use super::port::{NAMES, Port};
use super::rules::vcd as rules;
use crate::lines::{Line, Wrong};
use crate::log::{Check, Lift, Log, Report, Start};
use crate::riscv::handlers::Handlers;
use crate::riscv::pair::Pair;
use crate::riscv::{isa_of, pick};
use crate::scan::Scan;

trackway_format::settings! {
    /// `[rvfi-vcd]` in the settings.
    #[derive(Clone, Debug, Default)]
    struct Section {
        /// The clock, by its name or with its scopes; without it a signal that looks like one.
        clock: Option<String> = "\"top.clk\"",
        /// The one scope with a retirement port, where outer ones have the same signals.
        scope: Option<String> = "\"top.core\"",
        /// Width of integer registers in bits, 32 or 64; the width of rvfi_pc_rdata shows it.
        xlen: Option<u32> = "64",
    }
}

/// Bytes of a stream that opening sees.
const HEAD: usize = 1 << 16;

/// An opened log.
#[derive(Debug)]
pub(crate) struct Vcd {
    isa: Isa,
    timescale: String,
    ports: Vec<Declared>,
    /// There are more than those.
    others: bool,
}

impl Vcd {
    fn xlen(&self) -> u32 {
        if self.isa == Isa::Rv32 { 32 } else { 64 }
    }
}

impl Log for Vcd {
    const ID: FormatId = FormatId::new("rvfi-vcd");
    const TITLE: &'static str = "RVFI in a VCD";
    const NAME: &'static str = "VCD";
    const EXTENSIONS: &'static [&'static str] = &["vcd"];
    const KEYS: &'static [Key] = Section::KEYS;
    const RULES: &'static [&'static Rule] = rules::RULES;
    const SYNTAX: &'static Rule = &rules::SYNTAX;
    const KINDS: &'static [&'static str] = &["time", "change", "declaration"];
    const LOOK_BACK: usize = 1 << 15;
    const OMITS: Omits = Omits { float: true, csr: true, implied: true, ..Omits::NOTHING };

    type Lift = Lifting;
    type Check = Checking;

    fn recognise(head: &[u8]) -> Recognised {
        if !head.trim_ascii_start().starts_with(b"$") {
            return Recognised::No;
        }
        let header = Header::read(head);
        let maybe = Recognised::Maybe {
            why: "a VCD",
            missing: "signals rvfi_valid, rvfi_pc_rdata and so on; --format rvfi-vcd if they are declared later",
        };
        if header.has_port() { Recognised::Yes } else { maybe }
    }

    fn open(start: &Start<'_>) -> trackway_format::Result<Self> {
        let section: Section = start.settings.of_format(start.format)?;
        let bytes = start.whole.map_or(start.head, |whole| (**whole).as_ref());
        let header = Header::read(bytes);
        if !header.is_whole && start.whole.is_none() && start.head.len() >= HEAD {
            let text = "the declarations of this VCD are longer than 64 KiB: name a file, not a stream";
            return Err(trackway_format::Error::Unsupported(text.into()));
        }
        let all = header.ports(section.clock.as_deref(), section.scope.as_deref())?;
        let xlen = if all[0].xlen <= 32 { 32 } else { 64 };
        let isa = isa_of(Some(section.xlen.unwrap_or(xlen)), "rvfi-vcd")?.unwrap_or(Isa::Rv64);
        let ports = pick(&all, start.source, |port| port.scope.clone())?;
        Ok(Vcd { isa, timescale: header.timescale, others: ports.len() < all.len(), ports })
    }

    fn meta(&self) -> Meta {
        let several = self.others || self.ports.len() > 1;
        let sources = self.ports.iter().filter(|_| several).map(|port| port.scope.clone()).collect();
        let notes = vec![("timescale".to_string(), self.timescale.clone())];
        Meta { sources, notes, timestamps: true, ..Meta::new(Self::ID, self.isa) }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let text = |port: &Declared| {
            format!(
                "{}: clock {}, {} per cycle, XLEN {}",
                port.scope,
                port.clock_name,
                port.channels,
                self.xlen()
            )
        };
        self.ports.iter().map(|port| ("port", text(port))).collect()
    }

    fn lift(&self, source: usize) -> Lifting {
        let values = Values::new(&self.ports[source.min(self.ports.len() - 1)]);
        Lifting {
            pair: Pair::new(self.isa, Handlers::default()),
            values,
            port: Port::default(),
            xlen: self.xlen(),
            shown: None,
            last: 0,
        }
    }

    fn check(&self) -> Checking {
        let port = |port: &Declared| (Values::new(port), PortCheck::new(self.isa, rules::PORT));
        Checking { ports: self.ports.iter().map(port).collect(), port: Port::default(), last: (0, 1) }
    }

    fn describe(&self, line: &Line<'_>, item: &mut Item) -> Result<(), Wrong> {
        let text = line.text.trim_ascii();
        item.name = match text {
            [b'#', ..] => "time",
            [b'0' | b'1' | b'x' | b'z' | b'b' | b'r', ..] => "change",
            _ => "declaration",
        };
        item.text.push_str(&String::from_utf8_lossy(text));
        let code = text.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        let code = if text.first() == Some(&b'b') { code } else { code.get(1..).unwrap_or_default() };
        let named = self.ports.iter().find_map(|port| port.signals.iter().find(|signal| signal.code == code));
        if let Some(header::Role::Field(field)) =
            named.filter(|_| item.name == "change").map(|signal| signal.role)
        {
            item.text.push_str(&format!(" (rvfi_{})", NAMES[field]));
        }
        Ok(())
    }

    /// The next time.
    fn boundary(bytes: &[u8], at: usize) -> Option<usize> {
        memchr::memmem::find(bytes.get(at..)?, b"\n#").map(|place| at + place + 1)
    }
}

/// The time of a line.
fn time_of(text: &[u8]) -> Option<Result<u64, Wrong>> {
    let mut scan = Scan::new(text);
    scan.blanks();
    if !scan.skip(b'#') {
        return None;
    }
    let time = scan.number("a time");
    scan.blanks();
    Some(time.and_then(|time| if scan.is_end() { Ok(time) } else { scan.wrong("the end of the line") }))
}

/// Lines to events.
#[derive(Clone, Debug)]
pub(crate) struct Lifting {
    pair: Pair,
    values: Values,
    port: Port,
    xlen: u32,
    /// Time of the last time event.
    shown: Option<u64>,
    /// Offset of the last line.
    last: u64,
}

impl Lifting {
    /// Instructions that retired at this edge; false if they have to come again, since `full`.
    fn sample(&mut self, offset: u64, full: bool, batch: &mut Batch) -> bool {
        if !self.values.state.rose {
            return true;
        }
        for channel in 0..self.values.channels() {
            if !self.values.port(channel, &mut self.port) {
                continue;
            }
            self.pair.incoming.clear(offset);
            self.port.fill(&mut self.pair.incoming, self.xlen);
            if !self.pair.begin(full, batch) {
                return false;
            }
            let time = self.values.state.time;
            if self.shown != Some(time) {
                self.shown = Some(time);
                let time = Time { kind: TimeKind::Timestamp, value: Some(time), clock: 0 };
                batch.push(offset, EventKind::Time(time));
            }
        }
        true
    }
}

impl Lift for Lifting {
    type State = (State, Option<Privilege>, Option<u64>);

    #[inline(always)]
    fn line(&mut self, line: &Line<'_>, full: bool, batch: &mut Batch) -> Result<Option<usize>, Wrong> {
        self.last = line.offset;
        let time = if self.values.state.in_body { time_of(line.text) } else { None };
        let Some(time) = time else { return self.values.take(line.text).map(|kind| Some(kind as usize)) };
        let time = time?;
        if !self.sample(line.offset, full, batch) {
            return Ok(None);
        }
        self.values.step(time);
        Ok(Some(Kind::Time as usize))
    }

    fn end(&mut self, batch: &mut Batch) {
        self.sample(self.last, false, batch);
        self.values.state.rose = false;
        self.pair.end(batch);
    }

    fn is_open(&self) -> bool {
        self.pair.is_open
    }

    fn begins(&self, _: &Line<'_>) -> bool {
        false
    }

    fn enter(&mut self) {
        self.values.enter();
    }

    fn state(&self) -> Self::State {
        (self.values.state.clone(), self.pair.privilege(), self.shown)
    }

    fn set_state(&mut self, (state, privilege, shown): Self::State) {
        self.values.set_state(state);
        self.pair.set_privilege(privilege);
        self.shown = shown;
    }
}

/// Lines to findings.
#[derive(Debug)]
pub(crate) struct Checking {
    ports: Vec<(Values, PortCheck)>,
    port: Port,
    /// Offset and number of the last line.
    last: (u64, u64),
}

impl Checking {
    fn sample(&mut self, line: (u64, u64), report: &mut Report<'_>) {
        for (values, check) in self.ports.iter_mut().filter(|(values, _)| values.state.rose) {
            for channel in 0..values.channels() {
                if values.port(channel, &mut self.port) {
                    check.port(&self.port, line, report);
                }
            }
        }
    }
}

impl Check for Checking {
    fn line(&mut self, line: &Line<'_>, report: &mut Report<'_>) -> Result<(), Wrong> {
        self.last = (line.offset, line.number);
        let in_body = self.ports.first().is_some_and(|(values, _)| values.state.in_body);
        match time_of(line.text).filter(|_| in_body) {
            Some(time) => {
                let time = time?;
                self.sample(self.last, report);
                self.ports.iter_mut().for_each(|(values, _)| values.step(time));
                Ok(())
            }
            None => self.ports.iter_mut().try_for_each(|(values, _)| values.take(line.text).map(drop)),
        }
    }

    fn end(&mut self, report: &mut Report<'_>) {
        self.sample(self.last, report);
    }
}
