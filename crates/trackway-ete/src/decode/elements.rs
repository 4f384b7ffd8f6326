//! Stage 1: packets to elements (K10.5.2).

use trackway_core::ErrorKind;

use crate::config::Config;
use crate::decode::element::{ContextState, Element};
use crate::decode::speculation::{Analyse, Resolve};
use crate::profile::Profile;
use crate::wire::packet::*;

/// What is wrong, and in which field of the packet.
pub(crate) type Fault = (ErrorKind, &'static str);

/// What the trace unit's compression remembers (K10.5.2.1.1).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Unpacker {
    /// The last timestamp.
    timestamp: u64,
    /// The last three addresses.
    history: History,
    /// The last context.
    context: ContextState,
    /// P0 elements that are not resolved.
    depth: u64,
    /// In a transaction.
    in_transaction: bool,
    /// Cycle count threshold.
    threshold: u64,
    /// A Trace Info was seen: all of the above is known.
    pub(crate) started: bool,
}

impl Unpacker {
    /// Hands the elements of `packet` to `resolver`. Before the first Trace Info only events count.
    pub(crate) fn unpack(
        &mut self,
        packet: &Packet,
        offset: u64,
        config: &Config,
        resolver: &mut impl Resolve,
        analyse: &mut impl Analyse,
    ) -> Result<(), Fault> {
        if !self.started && !matches!(packet, Packet::TraceInfo(_) | Packet::Event(_)) {
            return Ok(());
        }
        let mut on = On { unpacker: self, offset, config, resolver, analyse };
        on.packet(packet)
    }

    /// Atoms, the packet that is met most.
    #[inline]
    pub(crate) fn atoms(
        &mut self,
        (count, bits): (u8, u32),
        offset: u64,
        config: &Config,
        resolver: &mut impl Resolve,
        analyse: &mut impl Analyse,
    ) {
        if !self.started {
            return;
        }
        if config.max_spec == 0 && resolver.is_idle() {
            // Each is committed as it comes, and nothing stands before it.
            analyse.atoms(offset, count, bits);
        } else {
            On { unpacker: self, offset, config, resolver, analyse }.atoms((count, bits));
        }
    }
}

impl Unpacker {
    /// A target address, the packet that is met most after atoms, if nothing waits: where it leads.
    #[inline]
    pub(crate) fn target(&mut self, address: &Address) -> Option<Entry> {
        self.started.then(|| self.history.apply(address))
    }
}

/// One packet being unpacked.
struct On<'a, R, A> {
    unpacker: &'a mut Unpacker,
    offset: u64,
    config: &'a Config,
    resolver: &'a mut R,
    analyse: &'a mut A,
}

impl<R: Resolve, A: Analyse> On<'_, R, A> {
    fn packet(&mut self, packet: &Packet) -> Result<(), Fault> {
        match *packet {
            Packet::AlignmentSync { .. } | Packet::Ignore => {}
            Packet::Discard => self.discard(false),
            Packet::Overflow => self.discard(true),
            Packet::TraceInfo(info) => self.trace_info(&info),
            Packet::Timestamp { value, count } => {
                let bits = u32::from(self.config.dialect.timestamp_bits);
                let sent = u64::MAX >> (64 - value.bits_sent(bits).clamp(1, 64));
                let timestamp = self.unpacker.timestamp & !sent | value.value & sent;
                self.unpacker.timestamp = timestamp;
                let count = count.map(|count| count.get(width::CYCLES) as u32);
                self.emit(Element::Timestamp { value: timestamp, count });
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
                self.unpacker.in_transaction = true;
                if self.config.start_is_p0 {
                    self.p0(Element::TransactionStart);
                } else {
                    self.emit(Element::TransactionStart);
                }
            }
            Packet::TransactionCommit => {
                self.unpacker.in_transaction = false;
                self.emit(Element::TransactionCommit);
            }
            Packet::CycleCount1 { commit, count } => {
                self.commit(commit.map_or(0, |commit| commit.get(width::COUNT)), "COMMIT")?;
                self.cycles(count.map(|count| count.get(width::CYCLES)));
            }
            Packet::CycleCount2 { from_max, payload } => {
                if !self.config.dialect.commopt {
                    let a = u64::from(payload >> 4);
                    let count = match from_max {
                        false => a + 1,
                        true => (u64::from(self.config.max_spec) + a)
                            .checked_sub(15)
                            .ok_or((ErrorKind::Impossible { found: a }, "AAAA"))?,
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
                let entry = self.unpacker.history.apply(&address);
                self.context(Some(&context));
                self.emit(Element::TargetAddress(entry));
            }
            Packet::TimestampMarker => self.emit(Element::TimestampMarker),
            Packet::Address(address) => {
                let entry = self.unpacker.history.apply(&address);
                self.emit(Element::TargetAddress(entry));
            }
            Packet::Q { address, count } => {
                let entry = address.map(|address| self.unpacker.history.apply(&address));
                let count = count.map(|count| count.get(width::COUNT) as u32).filter(|&count| count > 0);
                self.p0(Element::Q { count, next: entry.map(|entry| entry.address) });
                if let Some(entry) = entry {
                    self.emit(Element::TargetAddress(entry));
                }
            }
            Packet::SourceAddress(address) => {
                let entry = self.unpacker.history.apply(&address);
                self.p0(Element::SourceAddress(entry));
            }
            Packet::Atom(atoms) => self.atoms(atoms.get()),
        }
        Ok(())
    }

    fn emit(&mut self, element: Element) {
        self.resolver.emit(self.offset, element, self.analyse);
    }

    /// K10.5.2.18.3: emit first, then raise the depth; what is too deep is committed.
    fn p0(&mut self, element: Element) {
        self.resolver.emit_p0(self.offset, element);
        self.unpacker.depth += 1;
        let over = self.unpacker.depth.saturating_sub(u64::from(self.config.max_spec));
        if over > 0 {
            self.resolver.commit(over, self.analyse);
            self.unpacker.depth -= over;
        }
    }

    fn atoms(&mut self, (count, bits): (u8, u32)) {
        for index in 0..count {
            self.p0(Element::Atom { taken: bits >> index & 1 == 1 });
        }
    }

    fn commit(&mut self, count: u64, field: &'static str) -> Result<(), Fault> {
        self.lower_depth(count, field)?;
        self.resolver.commit(count, self.analyse);
        Ok(())
    }

    fn cancel(&mut self, count: u64, field: &'static str) -> Result<(), Fault> {
        self.lower_depth(count, field)?;
        self.resolver.cancel(count, self.analyse);
        Ok(())
    }

    fn lower_depth(&mut self, count: u64, field: &'static str) -> Result<(), Fault> {
        match self.unpacker.depth.checked_sub(count) {
            Some(depth) => {
                self.unpacker.depth = depth;
                Ok(())
            }
            None => Err((ErrorKind::Impossible { found: count }, field)),
        }
    }

    fn cycles(&mut self, count: Option<u64>) {
        let count =
            count.map(|count| count.saturating_add(self.unpacker.threshold).min(u64::from(u32::MAX)) as u32);
        self.emit(Element::CycleCount(count));
    }

    fn context(&mut self, payload: Option<&Context>) {
        if let Some(payload) = payload {
            self.unpacker.context.apply(payload);
        }
        self.emit(Element::Context(self.unpacker.context));
    }

    /// K10.5.2.4, K10.5.2.5.
    fn discard(&mut self, overflow: bool) {
        self.resolver.discard(self.offset, self.analyse);
        if overflow {
            self.emit(Element::Overflow);
        }
        if std::mem::take(&mut self.unpacker.in_transaction) {
            self.emit(Element::TransactionFailure);
        }
        self.unpacker.depth = 0;
    }

    /// K10.5.2.6.2.
    fn trace_info(&mut self, info: &TraceInfo) {
        let depth = u32::try_from(info.depth()).unwrap_or(u32::MAX);
        *self.unpacker = Unpacker {
            depth: depth.into(),
            in_transaction: info.in_transaction(),
            threshold: info.threshold(),
            started: true,
            ..Unpacker::default()
        };
        self.resolver.trace_info(depth, info.in_transaction());
        self.emit(Element::TraceInfo { in_transaction: info.in_transaction(), depth });
    }

    /// K10.5.2.13.2; a transaction failure is no P0 element.
    fn exception(&mut self, exception: &Exception) {
        let ete = self.config.dialect.ete;
        let entry = match exception.address {
            ExceptionAddress::Address(address) => Some(self.unpacker.history.apply(&address)),
            ExceptionAddress::WithContext(address, context) => {
                let entry = self.unpacker.history.apply(&address);
                self.context(Some(&context));
                Some(entry)
            }
            ExceptionAddress::Unknown => {
                self.unpacker.history.add(Entry::default());
                None
            }
        };
        let number = exception.exception_type();
        if exception.e() == 2
            && let Some(entry) = entry
        {
            self.emit(Element::TargetAddress(entry));
        }
        if ete && number == exception::TRANSACTION_FAILURE {
            self.unpacker.in_transaction = false;
            return self.emit(Element::TransactionFailure);
        }
        if ete && number == exception::PE_RESET && std::mem::take(&mut self.unpacker.in_transaction) {
            self.emit(Element::TransactionFailure);
        }
        // K10.5.6.3.12: these have no return address, whatever is sent.
        let none = ete && matches!(number, exception::PE_RESET | exception::NO_RETURN);
        self.p0(Element::Exception { number, return_address: entry.filter(|_| !none) });
    }
}

/// Exception types that are special in ETE.
pub(crate) mod exception {
    /// PE reset.
    pub(crate) const PE_RESET: u16 = 0;
    /// Transaction failure.
    pub(crate) const TRANSACTION_FAILURE: u16 = 24;
    /// Another one without a return address (K10.5.6.3.12).
    pub(crate) const NO_RETURN: u16 = 25;
}
