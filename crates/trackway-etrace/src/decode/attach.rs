//! Attaches data packets to the instructions that made the accesses.
//!
//! Data packets do not name their instruction; they come in the order of the instructions. The decoder of the
//! instruction trace leaves them in the stream of events where they were. Here they are decoded, and each is attached
//! to the first instruction that makes such an access: same type and size, for a CSR the same register, for an atomic
//! the same operation. Runs are cut after those instructions. Instructions whose accesses filters certainly exclude
//! are skipped.
//!
//! With [`Order::Retired`], the order of our encoder, all data packets of a run come before it in the stream. With a
//! loose order they may come later, so batches wait for later ones.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::*;
use trackway_image::{Image, Memory};

use super::accesses::{emit_csr, emit_memory, fill_in};
use super::data::{DataDecoder, Decoded, DecodedAccess};
use super::markers::{BEGIN, MODES, PACKET};
use super::packets::CarriedState;
use crate::config::{Config, Order};
use crate::mirrored::History;
use crate::modes::Options;
use crate::port::expected::{Atomic, Csr, Expectations, Expected};
use crate::port::{Dtype, privilege_code, privilege_of};
use crate::wire::data::{Packet, Sizes};

/// Batches that wait for later packets, with a loose order.
const AHEAD: usize = 4;
/// Most batches that wait for the data of split loads.
const MOST_DONE: usize = 64;

/// Data packets, as the census names them.
const NAMES: [&str; 8] =
    ["load", "store", "load-request", "load-data", "csr", "atomic", "atomic-request", "atomic-data"];

/// An access that is not attached to an instruction yet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct QueuedAccess {
    offset: u64,
    access: DecodedAccess,
    /// Split: its data have arrived.
    settled: bool,
    /// Split: it failed.
    failed: bool,
    /// Number of gaps before it in the stream.
    epoch: u64,
}

/// All of an [`Attach`] between two batches, where none of its accesses waits for data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedAttach {
    context: Context,
    history: History,
    sizes: Vec<(u8, u8)>,
    options: Options,
    /// Their epochs are relative to the current one.
    queue: Vec<QueuedAccess>,
    following: bool,
}

/// Longer queues are not saved.
const MOST_QUEUED: usize = 32;

/// The split access that arriving data belong to.
#[derive(Clone, Copy, Debug)]
enum Destination {
    /// QueuedAccess, by number.
    Queued(u64),
    /// In a batch, by its number and the index of the access there; for an atomic, its operation and operand.
    Emitted(u64, usize, Option<(Atomic, u64)>),
}

/// Is it a gap in the data trace only?
fn is_of_data(gap: &Gap) -> bool {
    gap.instructions == Some(0)
}

/// Attaches data packets to the instructions of one source.
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
    queue: VecDeque<QueuedAccess>,
    /// Number of the first access in the queue.
    first: u64,
    destinations: Vec<Option<Destination>>,
    /// Execution is known: accesses belong to instructions.
    following: bool,
    /// Number of gaps so far, among the packets and among the events.
    epochs: (u64, u64),
    /// Batches without their data packets that wait for later ones (loose order).
    unattached: VecDeque<Batch>,
    /// Batches that are done except for data of split loads.
    done: VecDeque<Batch>,
    /// Number of the first of them.
    number: u64,
    /// Data packets by name.
    counts: [u64; 8],
    /// A packet refers to something before the first one.
    depends: bool,
    /// References of compression were cleared: those before the first packet no longer count.
    cleared: bool,
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
            destinations: vec![None; 256],
            following: false,
            epochs: (0, 0),
            unattached: VecDeque::new(),
            done: VecDeque::new(),
            number: 0,
            counts: [0; 8],
            depends: false,
            cleared: false,
        }
    }

    /// Begins at the start of a part.
    pub(crate) fn resume(&mut self, carried: &CarriedState) {
        self.options = carried.options;
        self.decoder.set_options(&self.config, self.options);
        let privilege = carried.privilege.and_then(privilege_of);
        self.context = Context { privilege, context_id: carried.context, ..Context::default() };
        self.memory = self.image.memory(&self.context);
    }

    /// The state between two batches, unless accesses or batches wait for later packets.
    pub(crate) fn save(&self) -> Option<SavedAttach> {
        let waits =
            |one: &QueuedAccess| one.access.pending.is_some() && !one.settled || one.epoch != self.epochs.1;
        if self.config.data.order != Order::Retired
            || self.epochs.0 != self.epochs.1
            || !self.done.is_empty()
            || self.queue.len() > MOST_QUEUED
            || self.queue.iter().any(waits)
            || self.destinations.iter().flatten().any(|place| matches!(place, Destination::Emitted(..)))
        {
            return None;
        }
        Some(SavedAttach {
            context: self.context,
            history: self.decoder.history,
            sizes: self.sizes.known().collect(),
            options: self.options,
            queue: self.queue.iter().map(|one| QueuedAccess { epoch: 0, ..*one }).collect(),
            following: self.following,
        })
    }

    /// Continues from a state; false if it is not possible.
    pub(crate) fn restore(&mut self, saved: &SavedAttach) -> bool {
        if saved.queue.iter().any(|one| one.access.dsize > 4 || one.epoch > 0) {
            return false;
        }
        self.context = saved.context;
        self.memory = self.image.memory(&self.context);
        self.options = saved.options;
        self.decoder.set_options(&self.config, self.options);
        self.decoder.history = saved.history;
        self.sizes = Sizes::of(&saved.sizes);
        self.queue = saved.queue.iter().copied().collect();
        self.following = saved.following;
        true
    }

    /// The part ends at a synchronisation: accesses that are still in the queue belong to no known instruction.
    pub(crate) fn end_part(&mut self) {
        let mut batch = Batch::default();
        self.emit_orphans(u64::MAX, &mut batch);
        self.hold(batch);
    }

    /// References of compression that a part needs and was decoded without.
    pub(crate) fn missing(&self, part: &Attach) -> Option<History> {
        let known = self.decoder.history;
        (part.depends && known != History::default()).then_some(known)
    }

    /// Uses references of compression of the part before.
    pub(crate) fn refer_to(&mut self, history: History) {
        self.decoder.history = history;
        self.cleared = true;
    }

    /// Continues after a part that another stage attached.
    pub(crate) fn join(&mut self, mut part: Attach) {
        for (count, before) in part.counts.iter_mut().zip(self.counts) {
            *count += before;
        }
        if !part.cleared {
            part.decoder.history = part.decoder.history.or(&self.decoder.history);
        }
        *self = part;
    }

    fn clear_history(&mut self) {
        self.decoder.history.clear();
        self.cleared = true;
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
        self.unattached.push_back(batch);
        while self.unattached.len() > AHEAD {
            self.attach_next();
        }
    }

    fn attach_next(&mut self) {
        if let Some(batch) = self.unattached.pop_front() {
            self.attach(batch);
        }
    }

    /// Takes the next batch that is done.
    pub(crate) fn pop(&mut self) -> Option<Batch> {
        let waits = self.destinations.iter().flatten().any(|place| matches!(place, Destination::Emitted(..)));
        if waits && self.done.len() <= MOST_DONE {
            return None;
        }
        let batch = self.done.pop_front()?;
        for place in &mut self.destinations {
            if matches!(place, Some(Destination::Emitted(number, ..)) if *number == self.number) {
                *place = None;
            }
        }
        self.number += 1;
        Some(batch)
    }

    /// The input ends, or continues elsewhere after an error.
    pub(crate) fn finish(&mut self) {
        while !self.unattached.is_empty() {
            self.attach_next();
        }
        if !self.queue.is_empty() {
            let mut batch = Batch::default();
            self.emit_orphans(u64::MAX, &mut batch);
            self.hold(batch);
        }
        self.destinations.fill(None);
        self.clear_history();
        self.sizes = Sizes::default();
        self.following = false;
    }

    fn hold(&mut self, batch: Batch) {
        if !batch.events.is_empty() {
            self.done.push_back(batch);
        }
    }

    /// Removes the data packets from a batch and decodes them.
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
            EventKind::Gap(n) => {
                self.epochs.0 += u64::from(!is_of_data(&batch.gaps[n as usize]));
                self.clear_history();
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
                EventKind::Gap(n) if is_of_data(&batch.gaps[n as usize]) => {
                    self.clear_history();
                    batch.push(offset, kind);
                }
                EventKind::Gap(_) => {
                    if self.config.data.order == Order::Retired {
                        self.epochs.0 += 1;
                        self.clear_history();
                    }
                    self.epochs.1 += 1;
                    self.emit_orphans(self.epochs.1, &mut batch);
                    self.following = false;
                    batch.push(offset, kind);
                }
                EventKind::Mark(mark) if matches!(mark.kind, MarkKind::TraceOff | MarkKind::TraceOn) => {
                    self.begin(&mut batch);
                    self.following = false;
                    batch.push(offset, kind);
                }
                _ => batch.push(offset, kind),
            }
        }
        self.hold(batch);
    }

    /// Execution begins at a synchronisation. With the order of our encoder, accesses that are still in the queue
    /// belong to no known instruction.
    fn begin(&mut self, batch: &mut Batch) {
        if self.config.data.order == Order::Retired {
            self.emit_orphans(u64::MAX, batch);
        }
        self.following = true;
    }

    fn set_modes(&mut self, bits: &[u8]) {
        let bits = bits.first().copied().unwrap_or(0);
        (self.options.no_address, self.options.no_data) = (bits & 1 == 1, bits & 2 == 2);
        self.decoder.set_options(&self.config, self.options);
    }

    /// Decodes a data packet. While execution is not known, its access belongs to no instruction.
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
                let layout = self.decoder.layout();
                self.depends |= (layout.has_address && access.daddr.is_none())
                    || (layout.has_data && access.data.is_none() && access.pending.is_none());
                let number = self.first + self.queue.len() as u64;
                if let Some(index) = access.pending {
                    self.destinations[index as usize & 255] = Some(Destination::Queued(number));
                }
                let epoch = self.epochs.0;
                self.queue.push_back(QueuedAccess { offset, access, settled: false, failed: false, epoch });
                if let Some(batch) = batch.filter(|_| !self.following) {
                    self.emit_orphans(u64::MAX, batch);
                }
            }
            Some(Decoded::Response { index, data }) => {
                self.depends |= data == Some(None);
                self.settle(index, data, batch);
            }
            None => {
                // The packet is invalid, so later packets that refer to it cannot be decoded either.
                self.clear_history();
                if let Some(batch) = batch {
                    let data = batch.add_bytes(payload);
                    let code = PACKET & 0xff;
                    batch.push(offset, EventKind::Foreign(Foreign { format: crate::ID, code, data }));
                }
            }
        }
    }

    /// Adds the data of a split load to its access.
    fn settle(&mut self, index: u32, data: Option<Option<u128>>, current: Option<&mut Batch>) {
        match self.destinations[index as usize & 255].take() {
            Some(Destination::Queued(number)) => {
                if let Some(waiting) = self.queue.get_mut(number.wrapping_sub(self.first) as usize) {
                    waiting.access.data = data.flatten();
                    waiting.settled = true;
                    waiting.failed = data.is_none();
                }
            }
            Some(Destination::Emitted(number, n, atomic)) => {
                let held = number.wrapping_sub(self.number) as usize;
                let batch = if held == self.done.len() { current } else { self.done.get_mut(held) };
                if let Some(batch) = batch {
                    fill_in(batch, n, data, atomic);
                }
            }
            None => {}
        }
    }

    /// Emits the accesses from before the `epoch`th gap as steps without an address.
    fn emit_orphans(&mut self, epoch: u64, batch: &mut Batch) {
        while self.queue.front().is_some_and(|waiting| waiting.epoch < epoch) {
            let Some(waiting) = self.take() else { return };
            let begun = batch.begin_accesses();
            self.emit(&waiting, None, None, batch);
            if let Some(accesses) = batch.end_accesses(begun) {
                let step = Step { pc: None, accesses, ..Step::new(0, 0, 0) };
                batch.push(waiting.offset, EventKind::Step(step));
            }
        }
    }

    fn take(&mut self) -> Option<QueuedAccess> {
        self.first += 1;
        self.queue.pop_front()
    }

    /// Emits a run with its accesses, cut after each instruction that has any.
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

    /// Attaches the accesses of an instruction, in the order in which it makes them.
    fn instruction(&mut self, pc: u64, privilege: Option<u32>, expected: &Expected, batch: &mut Batch) {
        match *expected {
            Expected::Nothing => {}
            Expected::Single(dtype, dsize) => {
                self.take_single(pc, privilege, dtype, dsize, batch);
            }
            Expected::Conditional(dsize) => {
                self.take_single(pc, privilege, Dtype::STORE, dsize, batch);
            }
            Expected::Atomic(atomic) if self.config.has_atomics() => {
                let fits = |of: &DecodedAccess| of.dtype == atomic.dtype() && of.dsize == atomic.dsize;
                if let Some(waiting) = self.next(pc, privilege, atomic.dtype(), atomic.dsize, fits) {
                    self.emit(&waiting, Some(&atomic), None, batch);
                }
            }
            Expected::Atomic(atomic) => {
                self.take_single(pc, privilege, Dtype::LOAD, atomic.dsize, batch);
                self.take_single(pc, privilege, Dtype::STORE, atomic.dsize, batch);
            }
            Expected::Csr(csr) => {
                let number = u64::from(csr.number);
                let fits =
                    |of: &DecodedAccess| of.dtype == csr.dtype && of.daddr.is_none_or(|of| of == number);
                if let Some(waiting) = self.next(pc, privilege, csr.dtype, 3, fits) {
                    self.emit(&waiting, None, Some(&csr), batch);
                }
            }
            Expected::Several(dtype, Some(dsize)) => {
                while self.take_single(pc, privilege, dtype, dsize, batch) {}
            }
            Expected::Several(dtype, None) => {
                while (0..=4).any(|dsize| self.take_single(pc, privilege, dtype, dsize, batch)) {}
            }
        }
    }

    fn take_single(
        &mut self,
        pc: u64,
        privilege: Option<u32>,
        dtype: Dtype,
        dsize: u8,
        batch: &mut Batch,
    ) -> bool {
        let fits = |of: &DecodedAccess| of.dtype == dtype && of.dsize == dsize;
        let Some(waiting) = self.next(pc, privilege, dtype, dsize, fits) else { return false };
        self.emit(&waiting, None, None, batch);
        true
    }

    /// The next access, if it fits and filters do not exclude it.
    fn next(
        &mut self,
        pc: u64,
        privilege: Option<u32>,
        dtype: Dtype,
        dsize: u8,
        fits: impl Fn(&DecodedAccess) -> bool,
    ) -> Option<QueuedAccess> {
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

    /// Emits the access into the batch.
    fn emit(
        &mut self,
        waiting: &QueuedAccess,
        atomic: Option<&Atomic>,
        csr: Option<&Csr>,
        batch: &mut Batch,
    ) {
        if let (Some(index), false) = (waiting.access.pending, waiting.settled) {
            let slot = &mut self.destinations[index as usize & 255];
            let is_its = matches!(slot, Some(Destination::Queued(number)) if *number + 1 == self.first);
            if is_its {
                let number = self.number + self.done.len() as u64;
                let operand = waiting.access.operand.map(|operand| operand as u64);
                *slot = Some(Destination::Emitted(number, batch.mem.len(), atomic.copied().zip(operand)));
            }
        }
        match csr {
            _ if waiting.access.dtype.is_csr() => emit_csr(&waiting.access, csr, batch),
            _ => emit_memory(&waiting.access, waiting.failed, atomic, batch),
        }
    }
}
