//! From events to the data interface: recorded accesses as transfers at the port.

use trackway_core::*;

use super::data_queue::{Activity, DataItem};
use super::tally::DataFacts;
use crate::config::Config;
use crate::port::expected::{Atomic, Csr, CsrOperand, Expectations, Expected};
use crate::port::{Access, Dtype, Transfer};

/// Forms transfers from recorded accesses.
#[derive(Debug)]
pub(crate) struct AccessBuilder {
    expectations: Expectations,
    atomics: bool,
    csrs: bool,
    has_address: bool,
    has_data: bool,
    split: bool,
    latency: u64,
    /// Accesses so far: the clock of made-up latencies.
    now: u64,
    /// Split: loads in flight: id, data, when they arrive, and their facts.
    in_flight: Vec<(u32, Option<u128>, u64, DataFacts)>,
    /// Split: ids that are not in use.
    free: Vec<u32>,
}

/// The recorded accesses of one instruction.
#[derive(Clone, Copy)]
pub(crate) struct Recorded<'a> {
    pub(crate) batch: &'a Batch,
    pub(crate) accesses: Accesses,
}

impl Recorded<'_> {
    fn value(&self, value: Value) -> Option<u128> {
        match value {
            Value::Unknown => None,
            Value::Word(word) => Some(word.into()),
            Value::Bytes(span) => {
                let bytes = self.batch.bytes_of(span).iter().take(16).rev();
                Some(bytes.fold(0, |value, byte| value << 8 | u128::from(*byte)))
            }
        }
    }

    fn source(&self, class: RegClass, number: u16) -> Option<u128> {
        let regs = self.batch.regs_of(self.accesses).iter();
        let mut of =
            regs.filter(|access| access.role == RegRole::Source && access.reg == Reg { class, number });
        of.next().and_then(|access| self.value(access.value))
    }

    fn names_csr(&self, number: u16) -> bool {
        let reg = Reg { class: RegClass::Csr, number };
        self.batch.regs_of(self.accesses).iter().any(|access| access.reg == reg)
    }

    /// The first access of that kind and size.
    fn access(&self, kind: MemKind, dsize: u8) -> Option<&MemAccess> {
        let mut mem = self.batch.mem_of(self.accesses).iter();
        mem.find(|access| access.kind == kind && access.size == 1 << dsize && !access.range)
    }
}

impl AccessBuilder {
    pub(crate) fn new(config: &Config, isa: Isa) -> Self {
        AccessBuilder {
            expectations: Expectations::new(isa),
            atomics: config.has_atomics(),
            csrs: config.has_csrs(),
            has_address: !config.options.no_address,
            has_data: !config.options.no_data,
            split: config.data.split,
            latency: config.data.latency.into(),
            now: 0,
            in_flight: Vec::new(),
            free: (0..1 << config.params.lrid_width).rev().collect(),
        }
    }

    /// The accesses of an instruction, with the recorded data.
    pub(crate) fn instruction(
        &mut self,
        iaddr: u64,
        encoding: u32,
        recorded: Recorded<'_>,
        out: &mut Vec<DataItem>,
    ) {
        match self.expectations.get(encoding) {
            Expected::Nothing => {}
            Expected::Single(dtype, dsize) => self.one(iaddr, dtype, dsize, recorded, out),
            Expected::Conditional(dsize) => self.one(iaddr, Dtype::STORE, dsize, recorded, out),
            Expected::Atomic(atomic) => self.atomic(iaddr, &atomic, recorded, out),
            Expected::Csr(csr) if self.csrs => self.csr(iaddr, &csr, recorded, out),
            Expected::Csr(_) => {}
            Expected::Several(dtype, dsize) => {
                let kind = if dtype == Dtype::LOAD { MemKind::Read } else { MemKind::Write };
                let mut end = None;
                for access in recorded.batch.mem_of(recorded.accesses) {
                    let size = access.size.max(1).ilog2() as u8;
                    let fits = access.size == 1 << size && size <= 4 && dsize.is_none_or(|of| of == size);
                    if access.kind == kind && fits && !access.range {
                        // The ledger counts adjoining accesses once.
                        let adjoins = end == Some(access.address);
                        end = Some(access.address.wrapping_add(access.size));
                        self.emit_access(iaddr, dtype, size, access, adjoins, recorded, out);
                    }
                }
                out.push(DataItem::new(iaddr, Activity::Silence(dtype, dsize)));
            }
        }
    }

    /// The accesses that an instruction could make where nothing is recorded.
    pub(crate) fn silent(&mut self, iaddr: u64, encoding: u32, out: &mut Vec<DataItem>) {
        let mut silence = |dtype, dsize| out.push(DataItem::new(iaddr, Activity::Silence(dtype, dsize)));
        match self.expectations.get(encoding) {
            Expected::Single(dtype, dsize) => silence(dtype, Some(dsize)),
            Expected::Conditional(dsize) => silence(Dtype::STORE, Some(dsize)),
            Expected::Atomic(atomic) if self.atomics => silence(atomic.dtype(), Some(atomic.dsize)),
            Expected::Atomic(atomic) => {
                silence(Dtype::LOAD, Some(atomic.dsize));
                silence(Dtype::STORE, Some(atomic.dsize));
            }
            Expected::Csr(csr) if self.csrs => silence(csr.dtype, None),
            Expected::Several(dtype, dsize) => silence(dtype, dsize),
            Expected::Nothing | Expected::Csr(_) => {}
        }
    }

    fn one(&mut self, iaddr: u64, dtype: Dtype, dsize: u8, recorded: Recorded<'_>, out: &mut Vec<DataItem>) {
        let kind = if dtype == Dtype::LOAD { MemKind::Read } else { MemKind::Write };
        let failed = recorded.access(MemKind::Faulting, dsize).filter(|_| self.split && dtype == Dtype::LOAD);
        match recorded.access(kind, dsize).or(failed) {
            Some(access) => self.emit_access(iaddr, dtype, dsize, access, false, recorded, out),
            None => out.push(DataItem::new(iaddr, Activity::Silence(dtype, Some(dsize)))),
        }
    }

    /// Emits a load or a store, which may adjoin the access before it.
    #[allow(clippy::too_many_arguments)] // the facts of one access
    fn emit_access(
        &mut self,
        iaddr: u64,
        dtype: Dtype,
        dsize: u8,
        access: &MemAccess,
        adjoins: bool,
        recorded: Recorded<'_>,
        out: &mut Vec<DataItem>,
    ) {
        let data = recorded.value(access.data);
        let failed = access.kind == MemKind::Faulting;
        let facts = if adjoins { DataFacts::default() } else { self.facts(data.is_some(), failed) };
        let data = data.unwrap_or(0);
        let access = Access { dtype, daddr: access.address, dsize, data, operand: 0 };
        self.emit(iaddr, access, facts, failed, out);
    }

    /// The facts of a recorded access; data that are not recorded are made up.
    fn facts(&self, has_data: bool, failed: bool) -> DataFacts {
        let mut facts = DataFacts::default();
        facts.add(Fact::MemoryAccesses, self.has_address);
        if self.has_data && !failed {
            facts.add(Fact::MemoryData, has_data);
        }
        facts
    }

    fn atomic(&mut self, iaddr: u64, atomic: &Atomic, recorded: Recorded<'_>, out: &mut Vec<DataItem>) {
        let dsize = atomic.dsize;
        let (loaded, stored, address, count) = match recorded.access(MemKind::ReadWrite, dsize) {
            Some(access) => {
                let stored = recorded.batch.mem_extra_of(access).map(|extra| extra.stored);
                (recorded.value(access.data), stored.and_then(|of| recorded.value(of)), access.address, 1)
            }
            // Some producers record both halves.
            None => match (recorded.access(MemKind::Read, dsize), recorded.access(MemKind::Write, dsize)) {
                (Some(read), Some(write)) => {
                    (recorded.value(read.data), recorded.value(write.data), read.address, 2)
                }
                _ => {
                    let (dtype, more) =
                        if self.atomics { (atomic.dtype(), None) } else { (Dtype::LOAD, Some(Dtype::STORE)) };
                    for dtype in [Some(dtype), more].into_iter().flatten() {
                        out.push(DataItem::new(iaddr, Activity::Silence(dtype, Some(dsize))));
                    }
                    return;
                }
            },
        };
        let mut facts = match (count, self.atomics) {
            (1, true) => self.facts(loaded.is_some(), false),
            // Another kind of access than the recorded one.
            _ => DataFacts { invented: self.facts(true, false).kept, ..DataFacts::default() },
        };
        let data = loaded.unwrap_or(0);
        let source = match atomic.rs2 {
            0 => Some(0),
            rs2 => recorded.source(RegClass::Int, rs2.into()),
        };
        let derived = stored.map(|stored| u128::from(atomic.operand(data as u64, stored as u64)));
        let operand = source
            .filter(|of| stored.is_none_or(|stored| atomic.stored(data as u64, *of as u64) == stored as u64));
        let operand = operand.or(derived).unwrap_or(0);
        let access = Access { dtype: atomic.dtype(), daddr: address, dsize, data, operand };
        if self.atomics {
            facts.add(Fact::AtomicOperations, false);
            if self.has_data {
                facts.add(Fact::StoredData, count == 1 && stored.is_some());
            }
            if atomic.rs2 > 0 {
                facts.add(Fact::RegisterReads, source.is_some() && dsize == 3);
            }
            return self.emit(iaddr, access, facts, false, out);
        }
        let stored = stored.unwrap_or_else(|| atomic.stored(data as u64, operand as u64).into());
        self.emit(iaddr, Access { dtype: Dtype::LOAD, operand: 0, ..access }, facts, false, out);
        self.emit(
            iaddr,
            Access { dtype: Dtype::STORE, data: stored, operand: 0, ..access },
            facts,
            false,
            out,
        );
    }

    fn csr(&mut self, iaddr: u64, csr: &Csr, recorded: Recorded<'_>, out: &mut Vec<DataItem>) {
        if self.has_data && !recorded.names_csr(csr.number) {
            return out.push(DataItem::new(iaddr, Activity::Silence(csr.dtype, None)));
        }
        let mut facts = DataFacts::default();
        let mut found = |class, number: u16| {
            let value = recorded.source(class, number);
            facts.add(Fact::RegisterReads, value.is_some());
            value.unwrap_or(0)
        };
        let data = if csr.reads { found(RegClass::Csr, csr.number) } else { 0 };
        let operand = match csr.operand {
            CsrOperand::Immediate(immediate) => immediate.into(),
            CsrOperand::Register(0) => 0,
            CsrOperand::Register(rs1) => found(RegClass::Int, rs1.into()),
        };
        if csr.writes {
            facts.add(Fact::RegisterWrites, false);
        }
        let access = Access { dtype: csr.dtype, daddr: csr.number.into(), dsize: 3, data, operand };
        self.emit(iaddr, access, facts, false, out);
    }

    /// Emits the access, in two phases where the interface is split.
    fn emit(&mut self, iaddr: u64, access: Access, facts: DataFacts, failed: bool, out: &mut Vec<DataItem>) {
        self.now += 1;
        self.end_due(iaddr, out);
        let mut push = |transfer, facts| {
            out.push(DataItem { facts, ..DataItem::new(iaddr, Activity::Transfer(transfer)) });
        };
        if !self.split || !(access.dtype == Dtype::LOAD || access.dtype.is_atomic()) {
            return push(Transfer::Unified(access), facts);
        }
        if self.free.is_empty() {
            // All ids are in use: the oldest load ends first.
            let (lid, data, _, facts) = self.in_flight.remove(0);
            push(Transfer::Response { lid, data }, facts);
            self.free.push(lid);
        }
        let Some(lrid) = self.free.pop() else { return };
        let (request, response) = facts.split();
        push(Transfer::Request { access: Access { data: 0, ..access }, lrid }, request);
        // Out of order, but reproducible.
        let wait = access.daddr.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let due = self.now + if self.latency == 0 { 0 } else { wait % (self.latency + 1) };
        self.in_flight.push((lrid, (!failed).then_some(access.data), due, response));
        self.end_due(iaddr, out);
    }

    /// Ends the loads whose data are due.
    fn end_due(&mut self, iaddr: u64, out: &mut Vec<DataItem>) {
        while let Some(n) = self.in_flight.iter().position(|(_, _, due, _)| *due <= self.now) {
            let (lid, data, _, facts) = self.in_flight.remove(n);
            self.free.push(lid);
            let item = DataItem::new(iaddr, Activity::Transfer(Transfer::Response { lid, data }));
            out.push(DataItem { facts, ..item });
        }
    }

    /// Ends all loads in flight.
    pub(crate) fn drain(&mut self) -> Vec<DataItem> {
        let response = |(lid, data, _, facts)| {
            let item = DataItem::new(0, Activity::Transfer(Transfer::Response { lid, data }));
            DataItem { facts, ..item }
        };
        self.in_flight.drain(..).map(response).collect()
    }
}
