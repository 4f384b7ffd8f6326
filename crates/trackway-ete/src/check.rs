//! Checks packets against the rules: each packet alone, and the sequence.

use trackway_core::{Finding, Result, Rule};

use crate::config::{Config, Options};
use crate::items::{PacketItem, Packets};
use crate::rules::*;
use crate::transport::input::TraceSource;
use crate::wire::atoms::SHORT_ATOMS;
use crate::wire::chain::{Chain, width};
use crate::wire::exception_type;
use crate::wire::packet::Packet;

/// Checks all packets of `sources` and returns their number.
pub fn check(sources: Vec<TraceSource>, options: Options, report: &mut dyn FnMut(Finding)) -> Result<u64> {
    check_packets(Packets::new(sources, options), report)
}

/// Checks all of `packets` and returns their number.
pub fn check_packets(mut packets: Packets, report: &mut dyn FnMut(Finding)) -> Result<u64> {
    let mut sequence = Sequence::default();
    let mut item = 0;
    loop {
        let placed = match packets.next() {
            Ok(Some(placed)) => placed,
            Ok(None) => return Ok(item),
            Err(error) => {
                let message = error.to_string();
                report(Finding { rule: &PACKET, offset: error.offset, item, message });
                sequence = Sequence::default();
                match packets.resync()? {
                    Some(_) => continue,
                    None => return Ok(item),
                }
            }
        };
        let mut say = |rule: &'static Rule, message: String| {
            report(Finding { rule, offset: placed.offset, item, message });
        };
        match placed.item {
            PacketItem::Source(_) => sequence = Sequence::default(),
            PacketItem::Skipped => say(&SYNCHRONISED, format!("{} bytes are not in packets", placed.len)),
            PacketItem::Packet(packet) => {
                if let Some(config) = packets.config() {
                    fields(&packet, config, &mut say);
                    sequence.packet(&packet, config, &mut say);
                }
                item += 1;
            }
        }
    }
}

/// Rules about one packet.
fn fields(packet: &Packet, config: &Config, say: &mut dyn FnMut(&'static Rule, String)) {
    packet.for_each_chain(&config.dialect, &mut |name, chain, bits| {
        // The length of a timestamp is the number of bits that it changes.
        let any_length = matches!(packet, Packet::Timestamp { .. }) && name == "TS";
        if chain.get(bits) != chain.value {
            let above = chain.value >> bits;
            say(&SHOULD_BE_ZERO, format!("{name}: bits above bit {} are {above:#x}", bits - 1));
        } else if !any_length && chain.len > Chain::shortest(chain.value, bits).len {
            say(&SHORTEST, format!("{name}: {} in {} bytes", chain.value, chain.len));
        }
    });
    match packet {
        Packet::Exception(exception) => {
            let number = exception.exception_type();
            if config.dialect.ete && matches!(number, 5 | 8 | 9 | 13 | 26..) {
                say(&EXCEPTION_TYPE, format!("type {number}"));
            }
        }
        Packet::CycleCount2 { payload, .. } => {
            let a = payload >> 4;
            if config.dialect.commopt && a != 0 && a != 15 {
                say(&SHOULD_BE_ZERO, format!("AAAA is {a} with COMMOPT 1"));
            }
        }
        Packet::Instrumentation { el, .. } if el & !3 != 0 => {
            say(&SHOULD_BE_ZERO, format!("EL byte is {el:#x}"));
        }
        _ => {}
    }
    if let Some(sbz) = packet.address().map(|address| address.sbz).filter(|&sbz| sbz != 0) {
        say(&SHOULD_BE_ZERO, format!("address: top bits of its payload bytes are {sbz:#b}"));
    }
    if let Some(info) = packet.context().map(|context| context.info).filter(|info| info & 4 != 0) {
        say(&SHOULD_BE_ZERO, format!("context byte is {info:#x}"));
    }
}

/// The state for rules about the sequence of packets.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    started: bool,
    traced: bool,
    /// Unresolved P0 elements.
    pub(crate) depth: u64,
    in_transaction: bool,
    /// False if decoding may have started inside a transaction.
    transaction_known: bool,
    counting: bool,
    overflowed: bool,
    wants_address: bool,
}

impl Sequence {
    pub(crate) fn packet(
        &mut self,
        packet: &Packet,
        config: &Config,
        say: &mut dyn FnMut(&'static Rule, String),
    ) {
        let free = matches!(
            packet,
            Packet::TraceInfo(_) | Packet::Event(_) | Packet::AlignmentSync { .. } | Packet::Ignore
        );
        if !self.started && !free {
            return say(&TRACE_INFO_FIRST, format!("{} before any Trace Info", packet.name()));
        }
        match packet {
            Packet::TraceInfo(info) => {
                if info.depth() > u64::from(config.max_spec) {
                    say(
                        &TRACE_INFO_DEPTH,
                        format!("{} is deeper than MAXSPEC {}", info.depth(), config.max_spec),
                    );
                } else if self.started && info.depth() != self.depth {
                    say(&TRACE_INFO_DEPTH, format!("{} but {} are unresolved", info.depth(), self.depth));
                }
                (self.depth, self.counting) = (info.depth(), info.cycle_counting());
                self.started = true;
                self.transaction_known = true;
                self.in_transaction = info.in_transaction();
            }
            Packet::TraceOn => self.traced = true,
            Packet::Discard | Packet::Overflow => {
                let overflowed = self.overflowed || *packet == Packet::Overflow;
                *self =
                    Sequence { started: true, counting: self.counting, overflowed, ..Sequence::default() };
                self.transaction_known = true;
            }
            Packet::Address(_) | Packet::AddressContext(..) => self.wants_address = false,
            Packet::Atom(atoms) => self.p0(u64::from(atoms.get().0), config, say),
            Packet::SourceAddress(_) => self.p0(1, config, say),
            Packet::Q { address, .. } => {
                self.p0(1, config, say);
                self.wants_address &= address.is_none();
            }
            Packet::Exception(exception) => {
                if config.dialect.ete && exception.exception_type() == exception_type::TRANSACTION_FAILURE {
                    self.in_transaction = false;
                } else {
                    self.wants_address &= exception.e() != 2;
                    self.p0(1, config, say);
                    self.wants_address = true;
                }
            }
            Packet::TransactionStart => {
                self.in_transaction = true;
                if config.start_is_p0 {
                    self.p0(1, config, say);
                }
            }
            Packet::TransactionCommit => {
                let open = std::mem::take(&mut self.in_transaction);
                if !open && self.transaction_known {
                    say(&TRANSACTION, "commit outside a transaction".to_string());
                }
            }
            Packet::Commit(count) => self.resolve(count.get(width::COUNT), "commit", say),
            Packet::Cancel1 { count, .. } => self.resolve(count.get(width::COUNT), "cancel", say),
            Packet::Mispredict(bits) => self.p0(SHORT_ATOMS[usize::from(bits & 3)].0.into(), config, say),
            Packet::Cancel2(bits) => {
                self.p0(SHORT_ATOMS[usize::from(bits & 3)].0.into(), config, say);
                self.resolve(1, "cancel", say);
            }
            Packet::Cancel3(bits) => {
                self.p0(u64::from(bits & 1), config, say);
                self.resolve(u64::from(bits >> 1 & 3) + 2, "cancel", say);
            }
            Packet::CycleCount1 { commit, count } => {
                if let Some(commit) =
                    commit.map(|commit| commit.get(width::COUNT)).filter(|&commit| commit > 0)
                {
                    self.resolve(commit, "commit", say);
                }
                self.cycles(count.is_some(), say);
            }
            Packet::CycleCount2 { from_max, payload } => {
                if !config.dialect.commopt {
                    let a = u64::from(payload >> 4);
                    let count = if *from_max { u64::from(config.max_spec) + a } else { a + 16 };
                    // K10.5.2.16.5: a count may commit nothing, as without speculation it must.
                    if count != 15 {
                        self.resolve(count.saturating_sub(15), "commit", say);
                    }
                }
                self.cycles(true, say);
            }
            Packet::CycleCount3(bits) => {
                if !config.dialect.commopt {
                    self.resolve(u64::from(bits >> 2) + 1, "commit", say);
                }
                self.cycles(true, say);
            }
            _ => {}
        }
    }

    fn p0(&mut self, count: u64, config: &Config, say: &mut dyn FnMut(&'static Rule, String)) {
        if count == 0 {
            return;
        }
        if std::mem::take(&mut self.wants_address) {
            say(&EXCEPTION_ADDRESS, "a P0 element follows an exception without an address".to_string());
        }
        if !self.traced && self.overflowed {
            say(&TRACE_ON, "a P0 element without a Trace On before it".to_string());
            self.traced = true;
        }
        self.depth = self.depth.saturating_add(count).min(u64::from(config.max_spec));
    }

    fn resolve(&mut self, count: u64, what: &str, say: &mut dyn FnMut(&'static Rule, String)) {
        if count == 0 {
            say(&ZERO_COUNT, format!("{what} of 0"));
        }
        if count > self.depth {
            say(&SPECULATION_DEPTH, format!("{what} of {count}, but {} are unresolved", self.depth));
        }
        self.depth = self.depth.saturating_sub(count);
    }

    fn cycles(&mut self, known: bool, say: &mut dyn FnMut(&'static Rule, String)) {
        if !self.counting {
            say(&CYCLE_COUNT, "cycle counting is off".to_string());
        }
        if std::mem::take(&mut self.overflowed) && known {
            say(&CYCLE_COUNT_OVERFLOW, "a count follows an overflow".to_string());
        }
    }
}
