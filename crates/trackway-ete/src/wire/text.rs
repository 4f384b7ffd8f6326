//! Packets as text, for `dump --raw`: bytes in brackets, then fields.

use std::fmt::Write;

use trackway_core::{Item, Items, Result};

use crate::config::Config;
use crate::items::{Packets, Piece};
use crate::lift::{Options, Trace};
use crate::wire::packet::*;

/// Packets of all sources as text. Addresses and timestamps are shown in full where what was sent before
/// tells the rest.
#[derive(Debug)]
pub struct Text {
    packets: Packets,
    state: Shown,
}

/// What packets are shown relative to.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    history: History,
    timestamp: u64,
    /// Several sources are named where they begin.
    several: bool,
}

impl Text {
    /// The packets of `traces`.
    pub fn new(traces: Vec<Trace>, options: Options) -> Self {
        let sources = traces.len();
        Text::of(Packets::new(traces, options), sources)
    }

    /// All of `packets`, which come from so many sources.
    pub fn of(packets: Packets, sources: usize) -> Self {
        Text { packets, state: Shown { several: sources > 1, ..Shown::default() } }
    }
}

impl Items for Text {
    fn next(&mut self, item: &mut Item) -> Result<bool> {
        loop {
            let Some(placed) = self.packets.next()? else { return Ok(false) };
            item.offset = placed.offset;
            item.len = placed.len;
            item.text.clear();
            match placed.piece {
                Piece::Source(name) => {
                    self.state = Shown { several: self.state.several, ..Shown::default() };
                    if !self.state.several {
                        continue;
                    }
                    item.name = "source";
                    item.text.push_str(&name);
                }
                Piece::Skipped => {
                    item.name = "not synchronised";
                    let _ = write!(item.text, "{} bytes", placed.len);
                }
                Piece::Packet(packet) => {
                    item.name = packet.name();
                    item.text.push('[');
                    for (index, byte) in placed.bytes.iter().enumerate() {
                        let space = if index == 0 { "" } else { " " };
                        let _ = write!(item.text, "{space}{byte:02x}");
                    }
                    item.text.push(']');
                    if let Some(config) = self.packets.config() {
                        self.state.show(&packet, config, &mut item.text);
                    }
                }
            }
            return Ok(true);
        }
    }

    fn resync(&mut self) -> Result<Option<u64>> {
        self.packets.resync()
    }
}

impl Packet {
    /// The packet's name, as the header table has it.
    pub fn name(&self) -> &'static str {
        match self {
            Packet::AlignmentSync { .. } => "Alignment Sync",
            Packet::Discard => "Discard",
            Packet::Overflow => "Overflow",
            _ => header(self.header()).map_or("packet", |row| row.name),
        }
    }

    /// A header byte of this packet's kind.
    fn header(&self) -> u8 {
        match self {
            Packet::AlignmentSync { .. } | Packet::Discard | Packet::Overflow => 0x00,
            Packet::TraceInfo(_) => 0x01,
            Packet::Timestamp { .. } => 0x02,
            Packet::TraceOn => 0x04,
            Packet::FunctionReturn => 0x05,
            Packet::Exception(_) => 0x06,
            Packet::ExceptionReturn => 0x07,
            Packet::Instrumentation { .. } => 0x09,
            Packet::TransactionStart => 0x0a,
            Packet::TransactionCommit => 0x0b,
            Packet::CycleCount2 { .. } => 0x0c,
            Packet::CycleCount1 { .. } => 0x0e,
            Packet::CycleCount3(_) => 0x10,
            Packet::Commit(_) => 0x2d,
            Packet::Cancel1 { .. } => 0x2e,
            Packet::Mispredict(_) => 0x30,
            Packet::Cancel2(_) => 0x34,
            Packet::Cancel3(_) => 0x38,
            Packet::Ignore => 0x70,
            Packet::Event(_) => 0x71,
            Packet::Context(_) => 0x80,
            Packet::AddressContext(..) => 0x82,
            Packet::TimestampMarker => 0x88,
            Packet::Address(_) => 0x90,
            Packet::Q { .. } => 0xa0,
            Packet::SourceAddress(_) => 0xb0,
            Packet::Atom(_) => 0xc0,
        }
    }
}

impl Shown {
    /// Writes the fields of a packet.
    fn show(&mut self, packet: &Packet, config: &Config, out: &mut String) {
        let timestamp_bits = u32::from(config.dialect.timestamp_bits);
        // Writing to a String cannot fail.
        let _ = match packet {
            Packet::AlignmentSync { zeros } => write!(out, " zeros={zeros}"),
            Packet::TraceInfo(info) => {
                *self = Shown { several: self.several, ..Shown::default() };
                for (name, section) in TraceInfo::SECTIONS.iter().zip(info.sections) {
                    if section.len > 0 {
                        let _ = write!(out, " {name}={:#x}", section.value);
                    }
                }
                Ok(())
            }
            Packet::Timestamp { value, count } => {
                let sent = u64::MAX >> (64 - value.bits_sent(timestamp_bits).clamp(1, 64));
                self.timestamp = self.timestamp & !sent | value.value & sent;
                let _ = write!(out, " {:#x}", self.timestamp);
                number(out, "count", count.map(|count| count.get(width::CYCLES)))
            }
            Packet::Exception(exception) => {
                let _ = write!(out, " type={} E={:02b}", exception.exception_type(), exception.e());
                if let Some(name) = config.profile.exception_name(exception.exception_type()) {
                    let _ = write!(out, " ({name})");
                }
                if exception.fault_pending() {
                    out.push_str(" fault pending");
                }
                match &exception.address {
                    ExceptionAddress::Address(address) => self.address(address, out),
                    ExceptionAddress::WithContext(address, payload) => {
                        self.address(address, out);
                        context(payload, out);
                    }
                    ExceptionAddress::Unknown => {
                        self.history.add(Entry::default());
                        out.push_str(" address unknown");
                    }
                }
                Ok(())
            }
            Packet::Instrumentation { el, value } => write!(out, " EL{} {value:#x}", el & 3),
            Packet::CycleCount1 { commit, count } => {
                let _ = number(out, "commit", commit.map(|commit| commit.get(width::COUNT)));
                match count {
                    Some(count) => write!(out, " count={}", count.get(width::CYCLES)),
                    None => write!(out, " count unknown"),
                }
            }
            Packet::CycleCount2 { from_max, payload } => {
                write!(out, " F={} A={} B={}", u8::from(*from_max), payload >> 4, payload & 0xf)
            }
            Packet::CycleCount3(bits) => write!(out, " A={} B={}", bits >> 2, bits & 3),
            Packet::Commit(count) => write!(out, " {}", count.get(width::COUNT)),
            Packet::Cancel1 { mispredict, count } => {
                let then = if *mispredict { " then mispredict" } else { "" };
                write!(out, " {}{then}", count.get(width::COUNT))
            }
            Packet::Mispredict(bits) => atoms(SHORT_ATOMS[usize::from(bits & 3)], out),
            Packet::Cancel2(bits) => {
                let _ = atoms(SHORT_ATOMS[usize::from(bits & 3)], out);
                write!(out, " 1 then mispredict")
            }
            Packet::Cancel3(bits) => {
                let _ = atoms(SHORT_ATOMS[usize::from(bits & 1)], out);
                write!(out, " {} then mispredict", (bits >> 1 & 3) + 2)
            }
            Packet::Event(events) => write!(out, " {events:04b}"),
            Packet::Context(None) => write!(out, " as before"),
            Packet::Context(Some(payload)) => (context(payload, out), Ok(())).1,
            Packet::AddressContext(address, payload) => {
                self.address(address, out);
                context(payload, out);
                Ok(())
            }
            Packet::Address(address) | Packet::SourceAddress(address) => {
                (self.address(address, out), Ok(())).1
            }
            Packet::Q { address, count } => {
                if let Some(address) = address {
                    self.address(address, out);
                }
                number(out, "count", count.map(|count| count.get(width::COUNT)))
            }
            Packet::Atom(header) => atoms(header.get(), out),
            Packet::Discard
            | Packet::Overflow
            | Packet::TraceOn
            | Packet::FunctionReturn
            | Packet::ExceptionReturn
            | Packet::TransactionStart
            | Packet::TransactionCommit
            | Packet::Ignore
            | Packet::TimestampMarker => Ok(()),
        };
    }

    fn address(&mut self, address: &Address, out: &mut String) {
        let entry = self.history.apply(address);
        let form = match address.form {
            AddressForm::Exact(n) => format!("exact match {n}"),
            AddressForm::Short1Is0 | AddressForm::Short1Is1 => "short".to_string(),
            AddressForm::Short2Is0 | AddressForm::Short2Is1 => "short, 2 bytes".to_string(),
            AddressForm::Long32Is0 | AddressForm::Long32Is1 => "32 bits".to_string(),
            AddressForm::Long64Is0 | AddressForm::Long64Is1 => "64 bits".to_string(),
        };
        let is = if entry.sub_isa == SubIsa::Is0 { "IS0" } else { "IS1" };
        let _ = write!(out, " {:#x} {is} ({form})", entry.address);
    }
}

fn number(out: &mut String, name: &str, value: Option<u64>) -> std::fmt::Result {
    match value {
        Some(value) => write!(out, " {name}={value}"),
        None => Ok(()),
    }
}

fn atoms((count, bits): (u8, u32), out: &mut String) -> std::fmt::Result {
    if count > 0 {
        out.push(' ');
    }
    out.extend((0..count).map(|index| if bits >> index & 1 == 1 { 'E' } else { 'N' }));
    Ok(())
}

fn context(context: &Context, out: &mut String) {
    let security = ["Secure", "Non-secure", "Root", "Realm"][usize::from(context.security() & 3)];
    let state = if context.sixty_four_bit() { "AArch64" } else { "AArch32" };
    let _ = write!(out, " {state} EL{} {security}", context.el());
    if context.has_vmid() {
        let _ = write!(out, " VMID={:#x}", context.vmid);
    }
    if context.has_context_id() {
        let _ = write!(out, " CONTEXTID={:#x}", context.context_id);
    }
}
