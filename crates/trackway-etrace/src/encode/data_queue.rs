//! Data packets that wait for their place between instruction packets.
//!
//! A data packet is sent after every packet that reports older instructions and after the synchronisation of its own,
//! and before every other packet that reports its own instruction or a younger one (`docs/spec-readings/etrace.md`).
//! It does not name its instruction: a decoder takes the first that makes such an access. In exact mode, if that
//! would be one whose access is not traced, the instruction before the right one is reported first, and the decoder
//! no longer considers older instructions.

use std::collections::VecDeque;

use super::Encoder;
use super::data::DataEncoder;
use super::progress::Progress;
use super::row::RowKind;
use super::tally::DataFacts;
use crate::config::Config;
use crate::port::{Access, Block, Cycle, Dtype, Itype, Transfer, Trigger};
use crate::wire::data::Packet;

/// An instruction of a block that accesses memory or CSRs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataItem {
    /// Address of the instruction.
    pub(crate) iaddr: u64,
    /// Address of the instruction before it, if it is known.
    pub(crate) before: Option<u64>,
    /// Number of instructions before it in the block.
    pub(crate) number: u64,
    /// Facts that its packet has.
    pub(crate) facts: DataFacts,
    pub(crate) activity: Activity,
}

impl DataItem {
    pub(crate) fn new(iaddr: u64, activity: Activity) -> Self {
        DataItem { iaddr, before: None, number: 0, facts: DataFacts::default(), activity }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Activity {
    /// An access, or a phase of one.
    Transfer(Transfer),
    /// No access in the trace, although a decoder could expect one of this type; without a size, of any size.
    Silence(Dtype, Option<u8>),
}

/// Bytes of the longest report of an address.
const LONGEST_REPORT: u64 = 18;

/// Kinds of accesses that a decoder could expect, a bit each.
fn kinds(dtype: Dtype, dsize: Option<u8>) -> u32 {
    let class = match dtype {
        Dtype::LOAD => 0,
        Dtype::STORE => 1,
        dtype if dtype.is_csr() => 3,
        _ => 2,
    };
    match dsize {
        _ if class == 3 => 1 << 15,
        Some(dsize) => 1 << (class * 5 + u32::from(dsize.min(4))),
        None => 0x1f << (class * 5),
    }
}

/// Data packets that wait for their place.
#[derive(Clone, Debug)]
pub(super) struct DataQueue {
    /// Data trace is on.
    pub(super) on: bool,
    encoder: DataEncoder,
    queue: VecDeque<(Transfer, DataFacts)>,
    /// By id: the instruction of a split access is not traced.
    alone: [bool; 256],
    /// Transfers that have entered the queue.
    pub(super) pushed: u64,
    /// Transfers that have left it.
    sent: u64,
    /// Kinds of accesses that were not sent and that a decoder could expect of instructions since the last report.
    pub(super) silent: u32,
    /// Accesses were lost since the last support packet.
    pub(super) lost: bool,
}

impl DataQueue {
    pub(super) fn new(config: &Config) -> Self {
        DataQueue {
            on: config.data.enable,
            encoder: DataEncoder::new(config),
            queue: VecDeque::new(),
            alone: [false; 256],
            pushed: 0,
            sent: 0,
            silent: 0,
            lost: false,
        }
    }

    /// Is the queue empty?
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Switches to other settings.
    pub(super) fn reconfigure(&mut self, config: &Config) {
        self.encoder = DataEncoder::new(config);
    }

    /// Clears the references of compression, as every synchronisation packet does (7.1.3).
    pub(super) fn clear_history(&mut self) {
        self.encoder.history.clear();
    }
}

fn access_of(activity: &Activity) -> Option<Access> {
    match activity {
        Activity::Transfer(Transfer::Unified(access) | Transfer::Request { access, .. }) => Some(*access),
        _ => None,
    }
}

impl Encoder {
    /// Takes one block with its data accesses, which are in the order of their instructions.
    pub(crate) fn block_with(&mut self, block: &Block, cycle: &Cycle<'_>, items: &[DataItem]) {
        if items.is_empty() || !self.data.on {
            return self.block(block, cycle);
        }
        let accesses: Vec<(u64, Access)> = items
            .iter()
            .filter_map(|item| access_of(&item.activity).map(|access| (item.iaddr, access)))
            .collect();
        let qualified = self.qualifier.qualifies(block, cycle, &accesses);
        let mut items = items.to_vec();
        self.filter_items(&mut items);
        if !qualified.instructions {
            self.exclude(block, cycle);
            self.drain();
            for item in &items {
                self.enqueue(item, true);
            }
            return self.send_data(self.data.pushed);
        }
        let mut rest = Block {
            trigger: Trigger { notify: block.trigger.notify | qualified.notify, ..block.trigger },
            ..*block
        };
        self.enter(&rest, cycle);
        let (start, end) = self.tally.entered;
        let mut from = 0;
        for n in 0..items.len() {
            let item = items[n];
            if !self.is_ambiguous(&item, cycle.privilege) {
                continue;
            }
            self.data.silent = 0;
            if item.iaddr == rest.iaddr {
                // Report the row before the block, if there is one; else a synchronisation comes first.
                if self.row.kind == RowKind::Retire {
                    (self.row.notify, self.row.cut, self.open) = (true, true, None);
                }
            } else if let Some(before) = item.before.filter(|before| *before >= rest.iaddr) {
                let halves = (item.iaddr.wrapping_sub(rest.iaddr) / 2) as u32;
                let first = Block {
                    itype: Itype::NONE,
                    iretire: halves,
                    ilastsize: u8::from(item.iaddr.wrapping_sub(before) > 2),
                    sijump: false,
                    trigger: Trigger { notify: true, ..Trigger::default() },
                    ..rest
                };
                let here = Progress {
                    instructions: start.instructions + item.number,
                    targets: start.targets + u64::from(self.tally.first.targets),
                    ..start
                };
                let last = std::mem::replace(&mut self.tally.last, self.tally.first);
                self.tally.entered.1 = here;
                self.block_rows(&first, cycle, &items[from..n]);
                self.tally.entered = (here, end);
                (self.tally.last, self.tally.first.targets) = (last, 0);
                self.row.cut = true;
                from = n;
                rest = Block { iaddr: item.iaddr, iretire: rest.iretire - halves, ..rest };
            }
        }
        self.block_rows(&rest, cycle, &items[from..]);
        if self.qualifier.stops(block) {
            self.stop(cycle.cycle);
        }
    }

    /// Turns accesses that filters exclude into silence.
    fn filter_items(&mut self, items: &mut [DataItem]) {
        let mut number = 0;
        for item in items {
            if let Some(access) = access_of(&item.activity) {
                if !self.qualifier.access(number) {
                    item.activity = Activity::Silence(access.dtype, Some(access.dsize));
                }
                number += 1;
            }
        }
    }

    /// Would a decoder attach this access to an older instruction? Silence is remembered for later items.
    fn is_ambiguous(&mut self, item: &DataItem, privilege: u32) -> bool {
        let iaddr = self.config.is_precise().then_some(item.iaddr);
        match item.activity {
            Activity::Silence(dtype, dsize) => {
                let sure = dsize
                    .is_some_and(|dsize| self.config.filters.excludes(iaddr, Some(privilege), dtype, dsize));
                if !sure {
                    self.data.silent |= kinds(dtype, dsize);
                }
                false
            }
            activity => {
                let access = access_of(&activity);
                self.config.encoder.exact
                    && access.is_some_and(|of| self.data.silent & kinds(of.dtype, Some(of.dsize)) != 0)
            }
        }
    }

    /// Takes a block that is traced, or a part of one.
    fn block_rows(&mut self, block: &Block, cycle: &Cycle<'_>, items: &[DataItem]) {
        let first = items.iter().take_while(|item| item.iaddr == block.iaddr);
        for item in first.clone() {
            self.enqueue(item, false);
        }
        let split = self.data.pushed;
        for item in &items[first.count()..] {
            self.enqueue(item, false);
        }
        self.rows(block, cycle, split);
    }

    /// Takes an access; if it is `alone`, a decoder finds it without its instruction.
    fn enqueue(&mut self, item: &DataItem, alone: bool) {
        let Activity::Transfer(transfer) = item.activity else { return };
        let slots = &mut self.data.alone;
        let (alone, is_csr) = match transfer {
            Transfer::Unified(access) => (alone, access.dtype.is_csr()),
            Transfer::Request { lrid, .. } => {
                slots[lrid as usize & 255] = alone;
                (alone, false)
            }
            // As its request.
            Transfer::Response { lid, .. } => (slots[lid as usize & 255], false),
        };
        let facts = if alone { item.facts.alone(is_csr) } else { item.facts };
        self.data.queue.push_back((transfer, facts));
        self.data.pushed += 1;
    }

    /// Takes responses that belong to no block.
    pub(crate) fn respond(&mut self, items: impl IntoIterator<Item = DataItem>) {
        for item in items {
            self.enqueue(&item, false);
        }
    }

    /// With a buffer that may be full: makes room for the data packets of the row together with the report of it, so
    /// that the instructions they belong to are not lost without them. True if there are any.
    pub(super) fn reserve_data(&mut self) -> bool {
        let exact = self.config.encoder.exact && self.config.encoder.buffer > 0;
        if !exact || self.lost || self.data.sent >= self.row.data_end {
            return false;
        }
        let mut encoder = self.data.encoder.clone();
        let transfers = self.data.queue.iter().take((self.row.data_end - self.data.sent) as usize);
        let packets = transfers.filter_map(|(transfer, _)| encoder.packet(transfer));
        let (layout, compress) = (*self.data.encoder.layout(), self.config.encoder.compress);
        let payloads = packets.filter_map(|packet| packet.write(&layout, compress).ok());
        let bytes: u64 = payloads.map(|payload| payload.bytes().len() as u64 + 1).sum();
        self.make_room(bytes + LONGEST_REPORT);
        true
    }

    /// Sends the transfers before the `end`th.
    #[inline]
    pub(super) fn send_data(&mut self, end: u64) {
        if self.data.sent < end {
            self.send_data_slow(end);
        }
    }

    fn send_data_slow(&mut self, end: u64) {
        while self.data.sent < end {
            let Some((transfer, facts)) = self.data.queue.pop_front() else { return };
            self.data.sent += 1;
            if self.lost {
                self.data.lost = true;
                continue;
            }
            self.enable();
            if let Some(packet) = self.data.encoder.packet(&transfer) {
                self.send_data_packet(&packet, &facts);
            }
        }
    }

    fn send_data_packet(&mut self, packet: &Packet, facts: &DataFacts) {
        if self.error.is_err() {
            return;
        }
        let layout = *self.data.encoder.layout();
        let Ok(payload) = packet.write(&layout, self.config.encoder.compress) else { return };
        if self.config.encoder.buffer > 0 && !self.admit(payload.bytes().len() as u64 + 1) {
            self.data.lost = true;
            return;
        }
        let time = self.config.encoder.stamps.then_some(self.row.time);
        match self.writer.write_data(&payload, time) {
            Ok(()) => self.tally.count_data(facts),
            Err(error) => self.error = Err(error),
        }
    }
}
