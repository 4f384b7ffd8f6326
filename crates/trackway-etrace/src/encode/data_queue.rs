//! Data packets on their way between instruction packets.
//!
//! A data packet is sent behind every packet that tells of older instructions and behind the synchronisation of
//! its own, and before every other packet that tells of its own instruction or a younger one
//! (`docs/decisions/0190-etrace-data-order.md`). Nothing in it names its instruction: a decoder takes the first
//! that makes such an access. In exact mode, where that would be one whose access is not traced, the instruction
//! before the right one is reported first, and what is told before it is not looked at any more.

use std::collections::VecDeque;

use trackway_core::Fate;

use super::Encoder;
use super::data::DataEncoder;
use super::row::RowKind;
use crate::config::Config;
use crate::port::{Access, Block, Cycle, Dtype, Itype, Transfer, Trigger};
use crate::wire::data::Packet;

/// What an instruction of a block does to memory or CSRs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataItem {
    /// The instruction.
    pub(crate) iaddr: u64,
    /// The instruction in front of it, if it is known.
    pub(crate) before: Option<u64>,
    pub(crate) activity: Activity,
}

impl DataItem {
    pub(crate) fn new(iaddr: u64, activity: Activity) -> Self {
        DataItem { iaddr, before: None, activity }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Activity {
    /// An access, or a phase of one.
    Transfer(Transfer),
    /// Nothing, where a decoder could expect an access of this type; of any size where there is none.
    Silence(Dtype, Option<u8>),
}

/// Kinds of accesses that a decoder could expect, as bits.
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
    queue: VecDeque<Transfer>,
    /// Transfers put in, and taken out.
    pub(super) pushed: u64,
    sent: u64,
    /// Accesses that a decoder could expect of instructions since the last report, and that were not sent.
    pub(super) silent: u32,
    /// Some of them were lost since the last support packet.
    pub(super) lost: bool,
}

impl DataQueue {
    pub(super) fn new(config: &Config) -> Self {
        DataQueue {
            on: config.data.enable,
            encoder: DataEncoder::new(config),
            queue: VecDeque::new(),
            pushed: 0,
            sent: 0,
            silent: 0,
            lost: false,
        }
    }

    /// Does nothing wait?
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The modes changed.
    pub(super) fn renew(&mut self, config: &Config) {
        self.encoder = DataEncoder::new(config);
    }

    /// A synchronisation packet was sent: compression begins anew (7.1.3).
    pub(super) fn forget(&mut self) {
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
                self.enqueue(item);
            }
            return self.send_data(self.data.pushed);
        }
        let mut rest = Block {
            trigger: Trigger { notify: block.trigger.notify | qualified.notify, ..block.trigger },
            ..*block
        };
        self.enter(&rest, cycle);
        let mut from = 0;
        for n in 0..items.len() {
            let item = items[n];
            if !self.is_ambiguous(&item, cycle.privilege) {
                continue;
            }
            self.data.silent = 0;
            if item.iaddr == rest.iaddr {
                // The row in front of the block, if there is one; else a synchronisation comes first.
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
                self.block_rows(&first, cycle, &items[from..n]);
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

    /// Accesses that filters leave out become silence.
    fn filter_items(&mut self, items: &mut [DataItem]) {
        let mut dropped = 0;
        let mut number = 0;
        for item in items {
            if let Some(access) = access_of(&item.activity) {
                if !self.qualifier.access(number) {
                    item.activity = Activity::Silence(access.dtype, Some(access.dsize));
                    dropped += 1;
                }
                number += 1;
            }
        }
        self.losses.add(Fate::Dropped, "data accesses that filters leave out", dropped);
    }

    /// Would a decoder give this access to an instruction before it? Silence is noted on the way.
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

    /// A block that is traced, or a part of one.
    fn block_rows(&mut self, block: &Block, cycle: &Cycle<'_>, items: &[DataItem]) {
        let first = items.iter().take_while(|item| item.iaddr == block.iaddr);
        for item in first.clone() {
            self.enqueue(item);
        }
        let split = self.data.pushed;
        for item in &items[first.count()..] {
            self.enqueue(item);
        }
        self.rows(block, cycle, split);
    }

    fn enqueue(&mut self, item: &DataItem) {
        if let Activity::Transfer(transfer) = item.activity {
            self.data.queue.push_back(transfer);
            self.data.pushed += 1;
        }
    }

    /// Responses that belong to no block.
    pub(crate) fn respond(&mut self, transfers: impl IntoIterator<Item = Transfer>) {
        for transfer in transfers {
            self.enqueue(&DataItem::new(0, Activity::Transfer(transfer)));
        }
    }

    /// Sends what is due up to the `end`th transfer.
    #[inline]
    pub(super) fn send_data(&mut self, end: u64) {
        if self.data.sent < end {
            self.send_data_slow(end);
        }
    }

    fn send_data_slow(&mut self, end: u64) {
        while self.data.sent < end {
            let Some(transfer) = self.data.queue.pop_front() else { return };
            self.data.sent += 1;
            if self.lost {
                self.data.lost = true;
                self.losses.add(Fate::Dropped, "data accesses lost to back-pressure", 1);
                continue;
            }
            self.enable();
            let Some(packet) = self.data.encoder.packet(&transfer) else {
                if !matches!(transfer, Transfer::Response { .. }) {
                    self.losses.add(Fate::Dropped, "data accesses that no packet can hold", 1);
                }
                continue;
            };
            self.send_data_packet(&packet);
        }
    }

    fn send_data_packet(&mut self, packet: &Packet) {
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
        if let Err(error) = self.writer.write_data(&payload, time) {
            self.error = Err(error);
        }
    }
}
