//! Data packets meet their instructions.
//!
//! Packets name no instruction; they come in the order of the instructions that made the accesses. The decoder of
//! the instruction trace leaves data packets in the stream of events where they stood. Here they are decoded, and
//! each goes to the first instruction that makes such an access: same type and size, for a CSR the same register,
//! for an atomic the same operation. Runs are cut behind those instructions. Instructions that filters exclude for
//! certain are passed over.
//!
//! By the order of our encoder ([`Order::Retired`]) everything that was traced of a run lies before it in the
//! stream. With a loose order packets may come later: batches wait for those behind them.

use std::collections::VecDeque;
use std::sync::Arc;

use trackway_core::*;
use trackway_image::{Image, Memory};

use super::accesses::{fill_in, give_csr, give_memory};
use super::data::{DataDecoder, Decoded, DecodedAccess};
use crate::config::{Config, Order};
use crate::modes::Options;
use crate::port::expected::{Atomic, Csr, Expectations, Expected};
use crate::port::{Dtype, privilege_code};
use crate::wire::data::{Packet, Sizes};

/// Marks that the instruction decoder leaves in the stream: execution begins at a synchronisation packet.
pub(crate) const BEGIN: u32 = 0x100;
/// The modes change; two bits, no address and no data.
pub(crate) const MODES: u32 = 0x101;
/// A data packet.
pub(crate) const PACKET: u32 = 0x102;

/// Batches that wait for packets behind them, with a loose order.
const AHEAD: usize = 4;
/// Batches that wait for the data of split loads.
const HELD: usize = 64;

/// Names of data packets, for the census.
const NAMES: [&str; 8] =
    ["load", "store", "load-request", "load-data", "csr", "atomic", "atomic-request", "atomic-data"];

/// An access that was told and belongs to no instruction yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    offset: u64,
    access: DecodedAccess,
    /// Split: its data came, and whether it failed.
    settled: bool,
    failed: bool,
    /// Gaps before it in the stream.
    epoch: u64,
}

/// Where the access is whose data are on their way.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Waiting, by number.
    Waiting(u64),
    /// In a batch, by its number, as the `n`th access there; for an atomic, what it does and with what.
    Given(u64, usize, Option<(Atomic, u64)>),
}

/// Joins data packets to the instructions of one source.
#[derive(Debug)]
pub(crate) struct Attach {
    config: Arc<Config>,
    image: Arc<Image>,
    memory: Arc<Memory>,
    context: Context,
    expectations: Expectations,
    decoder: DataDecoder,
    sizes: Sizes,
    options: Options,
    queue: VecDeque<Waiting>,
    /// Number of the first in the queue.
    first: u64,
    places: Vec<Option<Place>>,
    /// Execution is followed: accesses belong to instructions.
    on: bool,
    /// Gaps seen in the packets, and in the events.
    epochs: (u64, u64),
    /// Batches whose packets were taken out and that wait for more (loose order).
    raw: VecDeque<Batch>,
    /// Batches that are done but for data of split loads; number of the first.
    held: VecDeque<Batch>,
    number: u64,
    counts: [u64; 8],
}

impl Attach {
    pub(crate) fn new(config: &Arc<Config>, image: &Arc<Image>, isa: Isa) -> Self {
        let context = Context::default();
        Attach {
            config: Arc::clone(config),
            image: Arc::clone(image),
            memory: image.memory(&context),
            context,
            expectations: Expectations::new(isa),
            decoder: DataDecoder::new(config, config.options),
            sizes: Sizes::default(),
            options: config.options,
            queue: VecDeque::new(),
            first: 0,
            places: vec![None; 256],
            on: false,
            epochs: (0, 0),
            raw: VecDeque::new(),
            held: VecDeque::new(),
            number: 0,
            counts: [0; 8],
        }
    }

    /// Data packets by name.
    pub(crate) fn census(&self) -> Census {
        Census::new(&NAMES, self.counts)
    }

    /// Takes a batch of the instruction decoder.
    pub(crate) fn put(&mut self, mut batch: Batch) {
        if self.config.data.order == Order::Retired {
            return self.attach(batch);
        }
        self.collect(&mut batch);
        self.raw.push_back(batch);
        while self.raw.len() > AHEAD {
            self.attach_next();
        }
    }

    fn attach_next(&mut self) {
        if let Some(batch) = self.raw.pop_front() {
            self.attach(batch);
        }
    }

    /// The next batch that is done.
    pub(crate) fn pop(&mut self) -> Option<Batch> {
        let waits = self.places.iter().flatten().any(|place| matches!(place, Place::Given(..)));
        if waits && self.held.len() <= HELD {
            return None;
        }
        let batch = self.held.pop_front()?;
        for place in &mut self.places {
            if matches!(place, Some(Place::Given(number, ..)) if *number == self.number) {
                *place = None;
            }
        }
        self.number += 1;
        Some(batch)
    }

    /// The input ends, or continues elsewhere after an error.
    pub(crate) fn finish(&mut self) {
        while !self.raw.is_empty() {
            self.attach_next();
        }
        if !self.queue.is_empty() {
            let mut batch = Batch::default();
            self.give_orphans(u64::MAX, &mut batch);
            self.hold(batch);
        }
        self.places.fill(None);
        self.decoder.history.clear();
        self.sizes = Sizes::default();
        self.on = false;
    }

    fn hold(&mut self, batch: Batch) {
        if !batch.events.is_empty() {
            self.held.push_back(batch);
        }
    }

    /// Takes the data packets out of a batch.
    fn collect(&mut self, batch: &mut Batch) {
        let mut events = std::mem::take(&mut batch.events);
        events.retain(|event| match event.kind {
            EventKind::Foreign(foreign) if foreign.code == PACKET => {
                let payload = batch.bytes_of(foreign.data).to_vec();
                self.packet(event.offset, &payload, None);
                false
            }
            EventKind::Foreign(foreign) if foreign.code == MODES => {
                self.set_modes(batch.bytes_of(foreign.data));
                false
            }
            EventKind::Gap(_) => {
                self.epochs.0 += 1;
                self.decoder.history.clear();
                true
            }
            _ => true,
        });
        batch.events = events;
    }

    fn attach(&mut self, mut batch: Batch) {
        let events = std::mem::take(&mut batch.events);
        for Event { offset, kind } in events {
            match kind {
                EventKind::Run(run) if !run.withdrawn => self.run(offset, &run, &mut batch),
                EventKind::Foreign(foreign) if foreign.code == PACKET => {
                    let payload = batch.bytes_of(foreign.data).to_vec();
                    self.packet(offset, &payload, Some(&mut batch));
                }
                EventKind::Foreign(foreign) if foreign.code == MODES => {
                    let bits = batch.bytes_of(foreign.data).to_vec();
                    self.set_modes(&bits);
                }
                EventKind::Foreign(foreign) if foreign.code == BEGIN => self.begin(&mut batch),
                EventKind::Context(n) => {
                    self.context.update(&batch.contexts[n as usize]);
                    self.memory = self.image.memory(&self.context);
                    batch.push(offset, kind);
                }
                EventKind::Gap(_) => {
                    if self.config.data.order == Order::Retired {
                        self.epochs.0 += 1;
                        self.decoder.history.clear();
                    }
                    self.epochs.1 += 1;
                    self.give_orphans(self.epochs.1, &mut batch);
                    self.on = false;
                    batch.push(offset, kind);
                }
                EventKind::Mark(mark) if matches!(mark.kind, MarkKind::TraceOff | MarkKind::TraceOn) => {
                    self.begin(&mut batch);
                    self.on = false;
                    batch.push(offset, kind);
                }
                _ => batch.push(offset, kind),
            }
        }
        self.hold(batch);
    }

    /// Execution begins anew: by the order of our encoder, what was told before has found its instruction or
    /// belongs to none.
    fn begin(&mut self, batch: &mut Batch) {
        if self.config.data.order == Order::Retired {
            self.give_orphans(u64::MAX, batch);
        }
        self.on = true;
    }

    fn set_modes(&mut self, bits: &[u8]) {
        let bits = bits.first().copied().unwrap_or(0);
        (self.options.no_address, self.options.no_data) = (bits & 1 == 1, bits & 2 == 2);
        self.decoder.set_options(&self.config, self.options);
    }

    /// A data packet. Without execution to follow, an access belongs to no instruction.
    fn packet(&mut self, offset: u64, payload: &[u8], batch: Option<&mut Batch>) {
        let read = Packet::read(payload, self.decoder.layout(), &self.sizes);
        let reply = read.ok().and_then(|packet| {
            self.sizes.note(&packet);
            let slot = NAMES.iter().position(|name| *name == packet.name());
            self.counts[slot.unwrap_or(0)] += 1;
            self.decoder.accept(&packet)
        });
        match reply {
            Some(Decoded::Access(access)) => {
                let number = self.first + self.queue.len() as u64;
                if let Some(index) = access.pending {
                    self.places[index as usize & 255] = Some(Place::Waiting(number));
                }
                let epoch = self.epochs.0;
                self.queue.push_back(Waiting { offset, access, settled: false, failed: false, epoch });
                if let Some(batch) = batch.filter(|_| !self.on) {
                    self.give_orphans(u64::MAX, batch);
                }
            }
            Some(Decoded::Response { index, data }) => self.settle(index, data, batch),
            None => {
                // It makes no sense: what refers to it cannot be told.
                self.decoder.history.clear();
                if let Some(batch) = batch {
                    let data = batch.add_bytes(payload);
                    let code = PACKET & 0xff;
                    batch.push(offset, EventKind::Foreign(Foreign { format: crate::ID, code, data }));
                }
            }
        }
    }

    /// The data of a split load came.
    fn settle(&mut self, index: u32, data: Option<Option<u128>>, current: Option<&mut Batch>) {
        match self.places[index as usize & 255].take() {
            Some(Place::Waiting(number)) => {
                if let Some(waiting) = self.queue.get_mut(number.wrapping_sub(self.first) as usize) {
                    waiting.access.data = data.flatten();
                    waiting.settled = true;
                    waiting.failed = data.is_none();
                }
            }
            Some(Place::Given(number, n, atomic)) => {
                let held = number.wrapping_sub(self.number) as usize;
                let batch = if held == self.held.len() { current } else { self.held.get_mut(held) };
                if let Some(batch) = batch {
                    fill_in(batch, n, data, atomic);
                }
            }
            None => {}
        }
    }

    /// Accesses told before the `epoch`th gap, as steps of which nothing else is known.
    fn give_orphans(&mut self, epoch: u64, batch: &mut Batch) {
        while self.queue.front().is_some_and(|waiting| waiting.epoch < epoch) {
            let Some(waiting) = self.take() else { return };
            let begun = batch.begin_accesses();
            self.give(&waiting, None, None, batch);
            if let Some(accesses) = batch.end_accesses(begun) {
                let step = Step { pc: None, accesses, ..Step::new(0, 0, 0) };
                batch.push(waiting.offset, EventKind::Step(step));
            }
        }
    }

    fn take(&mut self) -> Option<Waiting> {
        self.first += 1;
        self.queue.pop_front()
    }

    /// Gives a run its accesses: one piece per instruction that has any.
    fn run(&mut self, offset: u64, run: &Run, batch: &mut Batch) {
        if self.queue.is_empty() {
            return batch.push(offset, EventKind::Run(*run));
        }
        let retired = run.count - u32::from(run.attempted);
        let privilege = self.context.privilege.and_then(privilege_code);
        let (mut start, mut first, mut pc) = (run.start, 0, run.start);
        for n in 0..retired {
            let Some((encoding, length)) = self.memory.fetch(run.isa, pc) else { break };
            let next = pc.wrapping_add(length.into());
            let expected = self.expectations.get(encoding);
            if expected != Expected::Nothing {
                let begun = batch.begin_accesses();
                self.instruction(pc, privilege, &expected, batch);
                let accesses = batch.end_accesses(begun).filter(|of| of.mem_len > 0 || of.regs_len > 0);
                if let Some(accesses) = accesses {
                    let is_last = n + 1 == run.count;
                    let piece = Run {
                        start,
                        end: next,
                        count: n + 1 - first,
                        accesses: batch.add_run_accesses(accesses),
                        exit: if is_last { run.exit } else { Exit::Next },
                        taken: run.taken.filter(|_| is_last),
                        attempted: false,
                        ..*run
                    };
                    batch.push(offset, EventKind::Run(piece));
                    (start, first) = (next, n + 1);
                    if self.queue.is_empty() {
                        break;
                    }
                }
            }
            pc = next;
        }
        if first < run.count {
            let rest = Run { start, count: run.count - first, ..*run };
            batch.push(offset, EventKind::Run(rest));
        }
    }

    /// Takes what the instruction made, in the order that it makes it.
    fn instruction(&mut self, pc: u64, privilege: Option<u32>, expected: &Expected, batch: &mut Batch) {
        match *expected {
            Expected::Nothing => {}
            Expected::Single(dtype, dsize) => {
                self.one(pc, privilege, dtype, dsize, batch);
            }
            Expected::Conditional(dsize) => {
                self.one(pc, privilege, Dtype::STORE, dsize, batch);
            }
            Expected::Atomic(atomic) if self.config.has_atomics() => {
                let fits = |of: &DecodedAccess| of.dtype == atomic.dtype() && of.dsize == atomic.dsize;
                if let Some(waiting) = self.next(pc, privilege, atomic.dtype(), atomic.dsize, fits) {
                    self.give(&waiting, Some(&atomic), None, batch);
                }
            }
            Expected::Atomic(atomic) => {
                self.one(pc, privilege, Dtype::LOAD, atomic.dsize, batch);
                self.one(pc, privilege, Dtype::STORE, atomic.dsize, batch);
            }
            Expected::Csr(csr) => {
                let number = u64::from(csr.number);
                let fits =
                    |of: &DecodedAccess| of.dtype == csr.dtype && of.daddr.is_none_or(|of| of == number);
                if let Some(waiting) = self.next(pc, privilege, csr.dtype, 3, fits) {
                    self.give(&waiting, None, Some(&csr), batch);
                }
            }
            Expected::Several(dtype, Some(dsize)) => while self.one(pc, privilege, dtype, dsize, batch) {},
            Expected::Several(dtype, None) => {
                while (0..=4).any(|dsize| self.one(pc, privilege, dtype, dsize, batch)) {}
            }
        }
    }

    fn one(&mut self, pc: u64, privilege: Option<u32>, dtype: Dtype, dsize: u8, batch: &mut Batch) -> bool {
        let fits = |of: &DecodedAccess| of.dtype == dtype && of.dsize == dsize;
        let Some(waiting) = self.next(pc, privilege, dtype, dsize, fits) else { return false };
        self.give(&waiting, None, None, batch);
        true
    }

    /// The next access, if it fits, and if the instruction's can be among those traced.
    fn next(
        &mut self,
        pc: u64,
        privilege: Option<u32>,
        dtype: Dtype,
        dsize: u8,
        fits: impl Fn(&DecodedAccess) -> bool,
    ) -> Option<Waiting> {
        let waiting = self.queue.front()?;
        if !fits(&waiting.access) || waiting.epoch != self.epochs.1 {
            return None;
        }
        let iaddr = self.config.is_precise().then_some(pc);
        if self.config.filters.excludes(iaddr, privilege, dtype, dsize) {
            return None;
        }
        self.take()
    }

    /// Puts the access into the batch.
    fn give(&mut self, waiting: &Waiting, atomic: Option<&Atomic>, csr: Option<&Csr>, batch: &mut Batch) {
        if let (Some(index), false) = (waiting.access.pending, waiting.settled) {
            let slot = &mut self.places[index as usize & 255];
            let is_its = matches!(slot, Some(Place::Waiting(number)) if *number + 1 == self.first);
            if is_its {
                let number = self.number + self.held.len() as u64;
                let operand = waiting.access.operand.map(|operand| operand as u64);
                *slot = Some(Place::Given(number, batch.mem.len(), atomic.copied().zip(operand)));
            }
        }
        match csr {
            _ if waiting.access.dtype.is_csr() => give_csr(&waiting.access, csr, batch),
            _ => give_memory(&waiting.access, waiting.failed, atomic, batch),
        }
    }
}
