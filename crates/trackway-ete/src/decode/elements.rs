//! Stage 1: packets to elements (K10.5.2).

use trackway_core::ErrorKind;

use super::element::Element;
use crate::config::Config;
use crate::profile::Profile;
use crate::wire::address::{Address, Entry, History};
use crate::wire::atoms::SHORT_ATOMS;
use crate::wire::chain::width;
use crate::wire::context::{Context, ContextState};
use crate::wire::exception::{Exception, ExceptionAddress};
use crate::wire::exception_type;
use crate::wire::header::Fault;
use crate::wire::packet::Packet;
use crate::wire::trace_info::TraceInfo;

/// One step of a packet's decoding, for stage 2 (K10.5.2.18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// An element that is not a P0 element.
    Emit(Element),
    /// A P0 element, unresolved.
    EmitP0(Element),
    /// The oldest P0 elements were executed.
    Commit(u64),
    /// The youngest P0 elements were not executed.
    Cancel(u64),
    /// No unresolved element was executed.
    Discard,
}

/// Stage 1 of decoding: the state of the trace unit's compression (K10.5.2.1.1).
///
/// ```
/// use trackway_ete::{Action, Config, Element, Elements, Packet, TraceInfo};
/// let config = Config::from_registers("core", Default::default(), Some(true))?;
/// let (mut elements, mut actions) = (Elements::default(), Vec::new());
/// for packet in [Packet::TraceInfo(TraceInfo::default()), Packet::TraceOn] {
///     elements.decode(&packet, &config, &mut actions).unwrap();
/// }
/// assert_eq!(actions[1], Action::Emit(Element::TraceOn));
/// # Ok::<(), trackway_ete::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Elements {
    /// The last timestamp.
    timestamp: u64,
    /// The last three addresses.
    history: History,
    /// The last context.
    context: ContextState,
    /// Number of unresolved P0 elements.
    depth: u64,
    in_transaction: bool,
    /// Cycle count threshold.
    threshold: u64,
    /// A Trace Info was seen: everything above is known.
    started: bool,
}

impl Elements {
    /// Are there no more unresolved elements than packets can announce?
    pub(crate) fn is_possible(&self) -> bool {
        self.depth <= u64::from(u32::MAX)
    }

    /// True after the first Trace Info.
    #[inline]
    pub(crate) fn is_started(&self) -> bool {
        self.started
    }

    /// Appends the actions of `packet` to `out`; before the first Trace Info only events have any. An error is the
    /// reason and the field that shows it; the actions before it are valid.
    pub fn decode(
        &mut self,
        packet: &Packet,
        config: &Config,
        out: &mut Vec<Action>,
    ) -> Result<(), (ErrorKind, &'static str)> {
        if !self.started && !matches!(packet, Packet::TraceInfo(_) | Packet::Event(_)) {
            return Ok(());
        }
        PacketDecoder { state: self, config, out }.packet(packet)
    }

    /// Fast path for Target Address: the address, without an action.
    #[inline]
    pub(crate) fn target(&mut self, address: &Address) -> Entry {
        self.history.apply(address)
    }

    /// Fast path for rows of packets: the last three addresses.
    #[inline]
    pub(crate) fn history(&mut self) -> &mut History {
        &mut self.history
    }

    /// Fast path for atoms: counts `count` P0 elements and returns how many the depth commits.
    #[inline]
    pub(crate) fn count_p0(&mut self, count: u64, config: &Config) -> u64 {
        self.depth += count;
        let over = self.depth.saturating_sub(u64::from(config.max_spec));
        self.depth -= over;
        over
    }
}

/// One packet being decoded.
struct PacketDecoder<'a> {
    state: &'a mut Elements,
    config: &'a Config,
    out: &'a mut Vec<Action>,
}

impl PacketDecoder<'_> {
    fn packet(&mut self, packet: &Packet) -> Result<(), Fault> {
        match *packet {
            Packet::AlignmentSync { .. } | Packet::Ignore => {}
            Packet::Discard => self.discard(false),
            Packet::Overflow => self.discard(true),
            Packet::TraceInfo(info) => self.trace_info(&info),
            Packet::Timestamp { value, count } => {
                let bits = u32::from(self.config.dialect.timestamp_bits);
                self.state.timestamp = value.replace(self.state.timestamp, bits);
                let count = count.map(|count| count.get(width::CYCLES) as u32);
                self.emit(Element::Timestamp { value: self.state.timestamp, count });
            }
            Packet::TraceOn => self.emit(Element::TraceOn),
            Packet::FunctionReturn if self.config.profile == Profile::V8M => self.p0(Element::FunctionReturn),
            Packet::FunctionReturn => self.emit(Element::FunctionReturn),
            Packet::Exception(exception) => self.exception(&exception),
            Packet::ExceptionReturn if self.config.profile == Profile::V7M => {
                self.p0(Element::ExceptionReturn)
            }
            Packet::ExceptionReturn => self.emit(Element::ExceptionReturn),
            Packet::Instrumentation { el, value } => {
                self.emit(Element::Instrumentation { el: el & 3, value });
            }
            Packet::TransactionStart => {
                self.state.in_transaction = true;
                if self.config.start_is_p0 {
                    self.p0(Element::TransactionStart);
                } else {
                    self.emit(Element::TransactionStart);
                }
            }
            Packet::TransactionCommit => {
                self.state.in_transaction = false;
                self.emit(Element::TransactionCommit);
            }
            Packet::CycleCount1 { commit, count } => {
                self.commit(commit.map_or(0, |commit| commit.get(width::COUNT)), "COMMIT")?;
                self.cycles(count.map(|count| count.get(width::CYCLES)));
            }
            Packet::CycleCount2 { from_max, payload } => {
                if !self.config.dialect.commopt {
                    let a = u64::from(payload >> 4);
                    let count = if from_max {
                        let fault = (ErrorKind::Impossible { found: a }, "AAAA");
                        (u64::from(self.config.max_spec) + a).checked_sub(15).ok_or(fault)?
                    } else {
                        a + 1
                    };
                    self.commit(count, "AAAA")?;
                }
                self.cycles(Some(u64::from(payload & 0xf)));
            }
            Packet::CycleCount3(bits) => {
                if !self.config.dialect.commopt {
                    self.commit(u64::from(bits >> 2) + 1, "AA")?;
                }
                self.cycles(Some(u64::from(bits & 3)));
            }
            Packet::Commit(count) => self.commit(count.get(width::COUNT), "COMMIT")?,
            Packet::Cancel1 { mispredict, count } => {
                self.cancel(count.get(width::COUNT), "CANCEL")?;
                if mispredict {
                    self.emit(Element::Mispredict);
                }
            }
            Packet::Mispredict(atoms) => {
                self.atoms(SHORT_ATOMS[usize::from(atoms & 3)]);
                self.emit(Element::Mispredict);
            }
            Packet::Cancel2(atoms) => {
                self.atoms(SHORT_ATOMS[usize::from(atoms & 3)]);
                self.cancel(1, "CANCEL")?;
                self.emit(Element::Mispredict);
            }
            Packet::Cancel3(bits) => {
                self.atoms(SHORT_ATOMS[usize::from(bits & 1)]);
                self.cancel(u64::from(bits >> 1 & 3) + 2, "CC")?;
                self.emit(Element::Mispredict);
            }
            Packet::Event(events) => {
                for event in (0..4).filter(|event| events >> event & 1 == 1) {
                    self.emit(Element::Event(event));
                }
            }
            Packet::Context(payload) => self.context(payload.as_ref()),
            Packet::AddressContext(address, context) => {
                let entry = self.state.history.apply(&address);
                self.context(Some(&context));
                self.emit(Element::TargetAddress(entry));
            }
            Packet::TimestampMarker => self.emit(Element::TimestampMarker),
            Packet::Address(address) => {
                let entry = self.state.history.apply(&address);
                self.emit(Element::TargetAddress(entry));
            }
            Packet::Q { address, count } => {
                let entry = address.map(|address| self.state.history.apply(&address));
                let count = count.map(|count| count.get(width::COUNT) as u32).filter(|&count| count > 0);
                self.p0(Element::Q { count, next: entry.map(|entry| entry.address) });
                if let Some(entry) = entry {
                    self.emit(Element::TargetAddress(entry));
                }
            }
            Packet::SourceAddress(address) => {
                let entry = self.state.history.apply(&address);
                self.p0(Element::SourceAddress(entry));
            }
            Packet::Atom(atoms) => self.atoms(atoms.get()),
        }
        Ok(())
    }

    fn emit(&mut self, element: Element) {
        self.out.push(Action::Emit(element));
    }

    /// K10.5.2.18.3: emits the element, then commits the oldest ones beyond the maximum depth.
    fn p0(&mut self, element: Element) {
        self.out.push(Action::EmitP0(element));
        let over = self.state.count_p0(1, self.config);
        if over > 0 {
            self.out.push(Action::Commit(over));
        }
    }

    fn atoms(&mut self, (count, bits): (u8, u32)) {
        for index in 0..count {
            self.p0(Element::Atom { taken: bits >> index & 1 == 1 });
        }
    }

    fn commit(&mut self, count: u64, field: &'static str) -> Result<(), Fault> {
        self.lower_depth(count, field)?;
        self.out.push(Action::Commit(count));
        Ok(())
    }

    fn cancel(&mut self, count: u64, field: &'static str) -> Result<(), Fault> {
        self.lower_depth(count, field)?;
        self.out.push(Action::Cancel(count));
        Ok(())
    }

    fn lower_depth(&mut self, count: u64, field: &'static str) -> Result<(), Fault> {
        match self.state.depth.checked_sub(count) {
            Some(depth) => {
                self.state.depth = depth;
                Ok(())
            }
            None => Err((ErrorKind::Impossible { found: count }, field)),
        }
    }

    fn cycles(&mut self, count: Option<u64>) {
        let threshold = self.state.threshold;
        let count = count.map(|count| count.saturating_add(threshold).min(u64::from(u32::MAX)) as u32);
        self.emit(Element::CycleCount(count));
    }

    fn context(&mut self, payload: Option<&Context>) {
        if let Some(payload) = payload {
            self.state.context.apply(payload);
        }
        self.emit(Element::Context(self.state.context));
    }

    /// K10.5.2.4, K10.5.2.5.
    fn discard(&mut self, overflow: bool) {
        self.out.push(Action::Discard);
        if overflow {
            self.emit(Element::Overflow);
        }
        if std::mem::take(&mut self.state.in_transaction) {
            self.emit(Element::TransactionFailure);
        }
        self.state.depth = 0;
    }

    /// K10.5.2.6.2.
    fn trace_info(&mut self, info: &TraceInfo) {
        let depth = u32::try_from(info.depth()).unwrap_or(u32::MAX);
        *self.state = Elements {
            depth: depth.into(),
            in_transaction: info.in_transaction(),
            threshold: info.threshold(),
            started: true,
            ..Elements::default()
        };
        self.emit(Element::TraceInfo { in_transaction: info.in_transaction(), depth });
    }

    /// K10.5.2.13.2; a transaction failure is not a P0 element.
    fn exception(&mut self, exception: &Exception) {
        let ete = self.config.dialect.ete;
        let entry = match exception.address {
            ExceptionAddress::Address(address) => Some(self.state.history.apply(&address)),
            ExceptionAddress::WithContext(address, context) => {
                let entry = self.state.history.apply(&address);
                self.context(Some(&context));
                Some(entry)
            }
            ExceptionAddress::Unknown => {
                self.state.history.add(Entry::default());
                None
            }
        };
        let number = exception.exception_type();
        if exception.e() == 2
            && let Some(entry) = entry
        {
            self.emit(Element::TargetAddress(entry));
        }
        if ete && number == exception_type::TRANSACTION_FAILURE {
            self.state.in_transaction = false;
            return self.emit(Element::TransactionFailure);
        }
        if ete && number == exception_type::PE_RESET && std::mem::take(&mut self.state.in_transaction) {
            self.emit(Element::TransactionFailure);
        }
        // K10.5.6.3.12: these have no return address, whatever is sent.
        let none = ete && matches!(number, exception_type::PE_RESET | exception_type::NO_RETURN);
        self.p0(Element::Exception { number, return_address: entry.filter(|_| !none) });
    }
}
