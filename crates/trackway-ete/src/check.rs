//! Is a stream legal? One named rule per finding.

use trackway_core::{Finding, Result, Rule, Severity};

use crate::config::{Config, Options};
use crate::items::{PacketItem, Packets};
use crate::transport::input::TraceSource;
use crate::wire::address::Address;
use crate::wire::atoms::SHORT_ATOMS;
use crate::wire::chain::{Chain, width};
use crate::wire::exception::ExceptionAddress;
use crate::wire::packet::Packet;
use crate::wire::trace_info::TraceInfo;

const fn rule(name: &'static str, severity: Severity, section: &'static str, demand: &'static str) -> Rule {
    Rule { name, severity, section, demand, old: "" }
}

/// A packet cannot be read.
static PACKET: Rule = rule("ete-packet", Severity::Error, "K10.5.2.2", "every packet is one of this unit's");
/// Bytes outside packets.
static SYNCHRONISED: Rule = rule(
    "ete-synchronised",
    Severity::Warning,
    "K10.5.1.1",
    "a stream starts with an alignment synchronisation",
);
static TRACE_INFO: Rule =
    rule("ete-trace-info-first", Severity::Error, "K10.5.9", "only events come before the first Trace Info");
static SBZ: Rule =
    rule("ete-should-be-zero", Severity::Warning, "K10.5.6.3.5", "bits that should be zero are zero");
static SHORTEST: Rule =
    rule("ete-shortest", Severity::Note, "K10.5.6.4.2", "a number takes no more bytes than it needs");
static DEPTH: Rule = rule(
    "ete-speculation-depth",
    Severity::Error,
    "K10.5.2.8",
    "no more P0 elements are committed or cancelled than are unresolved",
);
static INFO_DEPTH: Rule = rule(
    "ete-trace-info-depth",
    Severity::Error,
    "K10.5.2.6",
    "the depth in a Trace Info is the number of unresolved P0 elements, and within MAXSPEC",
);
static NO_COUNT: Rule = rule(
    "ete-zero-count",
    Severity::Warning,
    "K10.5.3.3",
    "a commit or cancel is of at least one P0 element",
);
static TRACE_ON: Rule = rule(
    "ete-trace-on",
    Severity::Error,
    "K10.5.2.7",
    "a Trace On comes before the first P0 element of a stream and behind every overflow",
);
static EXCEPTION_ADDRESS: Rule = rule(
    "ete-exception-address",
    Severity::Error,
    "K10.5.5.6",
    "an exception is followed by a target address before the next P0 element",
);
static TRANSACTION: Rule = rule(
    "ete-transaction",
    Severity::Error,
    "K10.5.2.15",
    "a transaction is committed only after it started",
);
static CYCLES: Rule = rule(
    "ete-cycle-count",
    Severity::Error,
    "K10.5.2.16",
    "cycle counts come only if Trace Info says that they are on",
);
static UNKNOWN_CYCLES: Rule = rule(
    "ete-cycle-count-overflow",
    Severity::Warning,
    "K10.5.9",
    "the first cycle count behind an overflow is unknown",
);
static EXCEPTION_TYPE: Rule =
    rule("ete-exception-type", Severity::Warning, "K10.5.2.13", "an exception's type is not reserved");

/// All rules.
pub static RULES: &[&Rule] = &[
    &PACKET,
    &SYNCHRONISED,
    &TRACE_INFO,
    &SBZ,
    &SHORTEST,
    &DEPTH,
    &INFO_DEPTH,
    &NO_COUNT,
    &TRACE_ON,
    &EXCEPTION_ADDRESS,
    &TRANSACTION,
    &CYCLES,
    &UNKNOWN_CYCLES,
    &EXCEPTION_TYPE,
];

/// Checks all packets of `traces`; gives their number.
pub fn check(traces: Vec<TraceSource>, options: Options, report: &mut dyn FnMut(Finding)) -> Result<u64> {
    check_packets(Packets::new(traces, options), report)
}

/// Checks all of `packets`; gives their number.
pub fn check_packets(mut packets: Packets, report: &mut dyn FnMut(Finding)) -> Result<u64> {
    let mut state = State::default();
    let mut item = 0;
    loop {
        let placed = match packets.next() {
            Ok(Some(placed)) => placed,
            Ok(None) => return Ok(item),
            Err(error) => {
                let message = error.to_string();
                report(Finding { rule: &PACKET, offset: error.offset, item, message });
                state = State::default();
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
            PacketItem::Source(_) => state = State::default(),
            PacketItem::Skipped => say(&SYNCHRONISED, format!("{} bytes are not in packets", placed.len)),
            PacketItem::Packet(packet) => {
                if let Some(config) = packets.config() {
                    fields(&packet, config, &mut say);
                    state.sequence(&packet, config, &mut say);
                }
                item += 1;
            }
        }
    }
}

/// What a packet says by itself.
fn fields(packet: &Packet, config: &Config, say: &mut dyn FnMut(&'static Rule, String)) {
    let mut chain = |name: &str, chain: Chain, bits: u32, replaces: bool| {
        if chain.get(bits) != chain.value {
            say(&SBZ, format!("{name}: bits above bit {} are {:#x}", bits - 1, chain.value >> bits));
        } else if !replaces && chain.len > Chain::shortest(chain.value, bits).len {
            say(&SHORTEST, format!("{name}: {} in {} bytes", chain.value, chain.len));
        }
    };
    let mut zero = Vec::new();
    let mut address = |address: &Address| {
        if address.sbz != 0 {
            zero.push(format!("address: top bits of its payload bytes are {:#b}", address.sbz));
        }
    };
    let mut infos = Vec::new();
    match packet {
        Packet::Commit(count) => chain("COMMIT", *count, width::COUNT, false),
        Packet::Cancel1 { count, .. } => chain("CANCEL", *count, width::COUNT, false),
        Packet::CycleCount1 { commit, count } => {
            commit.iter().for_each(|commit| chain("COMMIT", *commit, width::COUNT, false));
            count.iter().for_each(|count| chain("COUNT", *count, width::CYCLES, false));
        }
        Packet::CycleCount2 { payload, .. }
            if config.dialect.commopt && payload >> 4 != 0 && payload >> 4 != 15 =>
        {
            zero.push(format!("AAAA is {} with COMMOPT 1", payload >> 4));
        }
        Packet::Timestamp { value, count } => {
            chain("TS", *value, config.dialect.timestamp_bits.into(), true);
            count.iter().for_each(|count| chain("COUNT", *count, width::CYCLES, false));
        }
        Packet::Q { address: next, count } => {
            next.iter().for_each(&mut address);
            count.iter().for_each(|count| chain("COUNT", *count, width::COUNT, false));
        }
        Packet::TraceInfo(info) => {
            for (name, section) in TraceInfo::SECTIONS.iter().zip(info.sections) {
                if section.len > 0 {
                    chain(name, section, width::SECTION, false);
                }
            }
        }
        Packet::Address(target) | Packet::SourceAddress(target) => address(target),
        Packet::AddressContext(target, context) => {
            address(target);
            infos.push(context.info);
        }
        Packet::Context(Some(context)) => infos.push(context.info),
        Packet::Instrumentation { el, .. } if el & !3 != 0 => zero.push(format!("EL byte is {el:#x}")),
        Packet::Exception(exception) => {
            match &exception.address {
                ExceptionAddress::Address(target) => address(target),
                ExceptionAddress::WithContext(target, context) => {
                    address(target);
                    infos.push(context.info);
                }
                ExceptionAddress::Unknown => {}
            }
            let number = exception.exception_type();
            if config.dialect.ete && matches!(number, 5 | 8 | 9 | 13 | 26..) {
                say(&EXCEPTION_TYPE, format!("type {number}"));
            }
        }
        _ => {}
    }
    zero.extend(infos.iter().filter(|&info| info & 4 != 0).map(|info| format!("context byte is {info:#x}")));
    zero.into_iter().for_each(|message| say(&SBZ, message));
}

/// What packets say together.
#[derive(Debug, Default)]
struct State {
    started: bool,
    traced: bool,
    depth: u64,
    in_transaction: bool,
    /// Unknown where decoding began inside one.
    transaction_known: bool,
    counting: bool,
    overflowed: bool,
    wants_address: bool,
}

impl State {
    fn sequence(&mut self, packet: &Packet, config: &Config, say: &mut dyn FnMut(&'static Rule, String)) {
        let free = matches!(
            packet,
            Packet::TraceInfo(_) | Packet::Event(_) | Packet::AlignmentSync { .. } | Packet::Ignore
        );
        if !self.started && !free {
            return say(&TRACE_INFO, format!("{} before any Trace Info", packet.name()));
        }
        match packet {
            Packet::TraceInfo(info) => {
                if info.depth() > u64::from(config.max_spec) {
                    say(&INFO_DEPTH, format!("{} is deeper than MAXSPEC {}", info.depth(), config.max_spec));
                } else if self.started && info.depth() != self.depth {
                    say(&INFO_DEPTH, format!("{} but {} are unresolved", info.depth(), self.depth));
                }
                (self.depth, self.counting) = (info.depth(), info.cycle_counting());
                self.started = true;
                self.transaction_known = true;
                self.in_transaction = info.in_transaction();
            }
            Packet::TraceOn => self.traced = true,
            Packet::Discard | Packet::Overflow => {
                let overflowed = self.overflowed || *packet == Packet::Overflow;
                *self = State { started: true, counting: self.counting, overflowed, ..State::default() };
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
                if config.dialect.ete && exception.exception_type() == 24 {
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
            say(&NO_COUNT, format!("{what} of 0"));
        }
        if count > self.depth {
            say(&DEPTH, format!("{what} of {count}, but {} are unresolved", self.depth));
        }
        self.depth = self.depth.saturating_sub(count);
    }

    fn cycles(&mut self, known: bool, say: &mut dyn FnMut(&'static Rule, String)) {
        if !self.counting {
            say(&CYCLES, "cycle counting is off".to_string());
        }
        if std::mem::take(&mut self.overflowed) && known {
            say(&UNKNOWN_CYCLES, "a count follows an overflow".to_string());
        }
    }
}
