//! RVFI-DII packets: 88 bytes for each instruction, one after the other.

use trackway_core::*;
use trackway_format::{Key, Omits, Recognised};

use super::check::PortCheck;
use super::packet::{self, SIZE};
use super::port::Port;
use super::rules::dii as rules;
use crate::lines::{Line, Wrong};
use crate::log::{Check, Lift, Log, Report, Start};
use crate::riscv::handlers::Handlers;
use crate::riscv::isa_of;
use crate::riscv::pair::{Pair, lift_by_pair};

trackway_format::settings! {
    /// `[rvfi-dii]` in the settings.
    #[derive(Clone, Copy, Debug, Default)]
    struct Section {
        /// Width of integer registers in bits, 32 or 64, which packets do not say; 64 if the values do not show it.
        xlen: Option<u32> = "64",
    }
}

/// An opened log.
#[derive(Debug)]
pub(crate) struct Dii {
    isa: Isa,
    width: &'static str,
}

/// Packets that the width is judged by.
const LOOK: usize = 512;

/// Could these be packets? Flags are flags, registers have numbers below 32, instructions 32 bits, and the order rises.
fn is_plausible(packets: &[[u8; SIZE]]) -> bool {
    let mut port = Port::default();
    let mut before = None;
    packets.iter().all(|packet| {
        packet::read(packet, &mut port);
        let flags = [port.trap, port.halt, port.intr].iter().all(|flag| *flag <= Some(1));
        let numbers = [port.rs1_addr, port.rs2_addr, port.rd_addr].iter().all(|number| *number < Some(32));
        let order = port.order;
        let rises =
            before.is_none_or(|before: u64| order == Some(before.wrapping_add(1)) || port.halt == Some(1));
        before = order.filter(|_| port.halt == Some(0));
        flags && numbers && port.insn <= Some(u32::MAX.into()) && rises
    })
}

impl Log for Dii {
    const ID: FormatId = FormatId::new("rvfi-dii");
    const TITLE: &'static str = "RVFI-DII packets";
    const NAME: &'static str = "RVFI-DII";
    const EXTENSIONS: &'static [&'static str] = &["rvfi", "dii"];
    const KEYS: &'static [Key] = Section::KEYS;
    const RULES: &'static [&'static Rule] = rules::RULES;
    const SYNTAX: &'static Rule = &rules::SYNTAX;
    const KINDS: &'static [&'static str] = &["packet", "halt"];
    const TEXT: bool = false;
    const OMITS: Omits = Omits { float: true, csr: true, privilege: true, implied: true, ..Omits::NOTHING };

    type Lift = Lifting;
    type Check = Checking;

    fn recognise(head: &[u8]) -> Recognised {
        let (packets, rest) = head.as_chunks::<SIZE>();
        let some = packets.get(..packets.len().min(64)).unwrap_or_default();
        let starts = some.first().is_some_and(|packet| {
            let mut port = Port::default();
            packet::read(packet, &mut port);
            // The first instruction is at the reset address, and packets are not all zeros.
            port.order <= Some(1) && port.pc_rdata == Some(0x8000_0000)
        });
        let whole = rest.is_empty() || head.len() >= 1 << 16 || packets.len() > 1;
        (starts && whole && is_plausible(some)).into()
    }

    fn open(start: &Start<'_>) -> trackway_format::Result<Self> {
        let section: Section = start.settings.of_format(start.format)?;
        let (packets, _) = start.head.as_chunks::<SIZE>();
        let mut port = Port::default();
        let wide = packets.iter().take(LOOK).any(|packet| {
            packet::read(packet, &mut port);
            let values = [port.pc_rdata, port.rd_wdata, port.rs1_rdata, port.rs2_rdata, port.mem_addr];
            // A value whose upper half is not an extension of the lower one.
            values.into_iter().flatten().any(|value| !matches!(value >> 32, 0 | 0xffff_ffff))
        });
        let (isa, width) = match isa_of(section.xlen, "rvfi-dii")? {
            Some(isa) => (isa, "by the settings"),
            None if wide => (Isa::Rv64, "by the values"),
            None => (Isa::Rv64, "assumed: packets do not say it"),
        };
        Ok(Dii { isa, width })
    }

    fn meta(&self) -> Meta {
        Meta { version: "1".to_string(), ..Meta::new(Self::ID, self.isa) }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let xlen = if self.isa == Isa::Rv32 { 32 } else { 64 };
        vec![("parameters", format!("XLEN {xlen} ({})", self.width))]
    }

    fn lift(&self, _: usize) -> Lifting {
        Lifting {
            pair: Pair::new(self.isa, Handlers::default()),
            port: Port::default(),
            xlen: if self.isa == Isa::Rv32 { 32 } else { 64 },
        }
    }

    fn check(&self) -> Checking {
        Checking { port: Port::default(), check: PortCheck::new(self.isa, rules::PORT) }
    }

    fn describe(&self, line: &Line<'_>, item: &mut Item) -> Result<(), Wrong> {
        let mut port = Port::default();
        packet::read(of(line)?, &mut port);
        item.name = Self::KINDS[usize::from(port.is_end())];
        port.write_text(&mut item.text);
        Ok(())
    }

    fn unit(bytes: &[u8]) -> Option<usize> {
        (bytes.len() >= SIZE).then_some(SIZE)
    }

    fn boundary(bytes: &[u8], at: usize) -> Option<usize> {
        let next = (at / SIZE + 1) * SIZE;
        (next < bytes.len()).then_some(next)
    }
}

/// The packet of a unit.
fn of<'l>(line: &Line<'l>) -> Result<&'l [u8; SIZE], Wrong> {
    line.text.first_chunk().ok_or(Wrong { column: line.text.len(), expected: "a packet of 88 bytes" })
}

/// Packets to events.
#[derive(Clone, Debug)]
pub(crate) struct Lifting {
    pair: Pair,
    port: Port,
    xlen: u32,
}

impl Lift for Lifting {
    lift_by_pair!();

    #[inline(always)]
    fn line(&mut self, line: &Line<'_>, full: bool, batch: &mut Batch) -> Result<Option<usize>, Wrong> {
        packet::read(of(line)?, &mut self.port);
        let ends = self.port.is_end();
        self.pair.incoming.clear(line.offset);
        if ends {
            // The end of a run: what comes after it starts anew.
            self.pair.end(batch);
            if full {
                return Ok(None);
            }
            let incoming = &mut self.pair.incoming;
            (incoming.is_trap_only, incoming.halts) = (true, true);
            self.pair.begin(false, batch);
            self.pair.end(batch);
            return Ok(Some(1));
        }
        self.port.fill(&mut self.pair.incoming, self.xlen);
        Ok(self.pair.begin(full, batch).then_some(0))
    }

    fn begins(&self, line: &Line<'_>) -> bool {
        of(line).is_ok()
    }
}

/// Packets to findings.
#[derive(Debug)]
pub(crate) struct Checking {
    port: Port,
    check: PortCheck,
}

impl Check for Checking {
    fn line(&mut self, line: &Line<'_>, report: &mut Report<'_>) -> Result<(), Wrong> {
        packet::read(of(line)?, &mut self.port);
        if self.port.is_end() {
            self.check.forget();
        } else {
            self.check.port(&self.port, (line.offset, line.number), report);
        }
        Ok(())
    }
}
