//! From events to the data interface: recorded accesses as transfers at the port.

use trackway_core::*;

use super::data_queue::{Activity, DataItem};
use crate::config::Config;
use crate::port::expected::{Atomic, Csr, CsrOperand, Expectations, Expected};
use crate::port::{Access, Dtype, Transfer};

/// Forms transfers from recorded accesses.
#[derive(Debug)]
pub(crate) struct AccessBuilder {
    expectations: Expectations,
    atomics: bool,
    csrs: bool,
    has_data: bool,
    split: bool,
    latency: u64,
    /// Accesses so far: the clock of made-up latencies.
    now: u64,
    /// Split: loads in flight: id, data, and when they arrive.
    in_flight: Vec<(u32, Option<u128>, u64)>,
    /// Split: ids that are not in use.
    free: Vec<u32>,
    /// Accesses whose data are not recorded.
    pub(crate) invented: u64,
    /// Recorded accesses that the instruction does not make.
    pub(crate) unmatched: u64,
    /// Accesses emitted, of memory and of CSRs.
    pub(crate) emitted: (u64, u64),
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
            has_data: !config.options.no_data,
            split: config.data.split,
            latency: config.data.latency.into(),
            now: 0,
            in_flight: Vec::new(),
            free: (0..1 << config.params.lrid_width).rev().collect(),
            invented: 0,
            unmatched: 0,
            emitted: (0, 0),
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
        let begun = self.emitted.0;
        match self.expectations.get(encoding) {
            Expected::Nothing => {}
            Expected::Single(dtype, dsize) => self.one(iaddr, dtype, dsize, recorded, out),
            Expected::Conditional(dsize) => self.one(iaddr, Dtype::STORE, dsize, recorded, out),
            Expected::Atomic(atomic) => self.atomic(iaddr, &atomic, recorded, out),
            Expected::Csr(csr) if self.csrs => self.csr(iaddr, &csr, recorded, out),
            Expected::Csr(_) => {}
            Expected::Several(dtype, dsize) => {
                let kind = if dtype == Dtype::LOAD { MemKind::Read } else { MemKind::Write };
                for access in recorded.batch.mem_of(recorded.accesses) {
                    let size = access.size.max(1).ilog2() as u8;
                    let fits = access.size == 1 << size && size <= 4 && dsize.is_none_or(|of| of == size);
                    if access.kind == kind && fits && !access.range {
                        self.emit_access(iaddr, dtype, size, access, recorded, out);
                    }
                }
                out.push(DataItem::new(iaddr, Activity::Silence(dtype, dsize)));
            }
        }
        self.unmatched += u64::from(recorded.accesses.mem_len).saturating_sub(self.emitted.0 - begun);
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
            Some(access) => self.emit_access(iaddr, dtype, dsize, access, recorded, out),
            None => out.push(DataItem::new(iaddr, Activity::Silence(dtype, Some(dsize)))),
        }
    }

    /// Emits a load or a store.
    fn emit_access(
        &mut self,
        iaddr: u64,
        dtype: Dtype,
        dsize: u8,
        access: &MemAccess,
        recorded: Recorded<'_>,
        out: &mut Vec<DataItem>,
    ) {
        let data = self.data_or_zero(recorded.value(access.data));
        self.emitted.0 += 1;
        let failed = access.kind == MemKind::Faulting;
        self.emit(iaddr, Access { dtype, daddr: access.address, dsize, data, operand: 0 }, failed, out);
    }

    /// The data, or zero where packets need some and none are recorded.
    fn data_or_zero(&mut self, data: Option<u128>) -> u128 {
        self.invented += u64::from(data.is_none() && self.has_data);
        data.unwrap_or(0)
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
        self.emitted.0 += count;
        let data = self.data_or_zero(loaded);
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
            return self.emit(iaddr, access, false, out);
        }
        let stored = stored.unwrap_or_else(|| atomic.stored(data as u64, operand as u64).into());
        self.emit(iaddr, Access { dtype: Dtype::LOAD, operand: 0, ..access }, false, out);
        self.emit(iaddr, Access { dtype: Dtype::STORE, data: stored, operand: 0, ..access }, false, out);
    }

    fn csr(&mut self, iaddr: u64, csr: &Csr, recorded: Recorded<'_>, out: &mut Vec<DataItem>) {
        if self.has_data && !recorded.names_csr(csr.number) {
            return out.push(DataItem::new(iaddr, Activity::Silence(csr.dtype, None)));
        }
        let data = if csr.reads { self.data_or_zero(recorded.source(RegClass::Csr, csr.number)) } else { 0 };
        let operand = match csr.operand {
            CsrOperand::Immediate(immediate) => immediate.into(),
            CsrOperand::Register(0) => 0,
            CsrOperand::Register(rs1) => self.data_or_zero(recorded.source(RegClass::Int, rs1.into())),
        };
        self.emitted.1 += 1;
        let access = Access { dtype: csr.dtype, daddr: csr.number.into(), dsize: 3, data, operand };
        self.emit(iaddr, access, false, out);
    }

    /// Emits the access, in two phases where the interface is split.
    fn emit(&mut self, iaddr: u64, access: Access, failed: bool, out: &mut Vec<DataItem>) {
        self.now += 1;
        self.end_due(iaddr, out);
        let mut push = |transfer| out.push(DataItem::new(iaddr, Activity::Transfer(transfer)));
        if !self.split || !(access.dtype == Dtype::LOAD || access.dtype.is_atomic()) {
            return push(Transfer::Unified(access));
        }
        if self.free.is_empty() {
            // All ids are in use: the oldest load ends first.
            let (lid, data, _) = self.in_flight.remove(0);
            push(Transfer::Response { lid, data });
            self.free.push(lid);
        }
        let Some(lrid) = self.free.pop() else { return };
        push(Transfer::Request { access: Access { data: 0, ..access }, lrid });
        // Out of order, but reproducible.
        let wait = access.daddr.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let due = self.now + if self.latency == 0 { 0 } else { wait % (self.latency + 1) };
        self.in_flight.push((lrid, (!failed).then_some(access.data), due));
        self.end_due(iaddr, out);
    }

    /// Ends the loads whose data are due.
    fn end_due(&mut self, iaddr: u64, out: &mut Vec<DataItem>) {
        while let Some(n) = self.in_flight.iter().position(|(_, _, due)| *due <= self.now) {
            let (lid, data, _) = self.in_flight.remove(n);
            self.free.push(lid);
            out.push(DataItem::new(iaddr, Activity::Transfer(Transfer::Response { lid, data })));
        }
    }

    /// Ends all loads in flight.
    pub(crate) fn drain(&mut self) -> Vec<Transfer> {
        self.in_flight.drain(..).map(|(lid, data, _)| Transfer::Response { lid, data }).collect()
    }
}
