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
use super::row::What;
use crate::config::Config;
use crate::port::{Access, Block, Cycle, Dtype, Itype, Transfer, Trigger};
use crate::wire::data::Packet;

/// What an instruction of a block does to memory or CSRs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// The instruction.
    pub(crate) iaddr: u64,
    /// The instruction in front of it, if it is known.
    pub(crate) before: Option<u64>,
    pub(crate) what: Doing,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Doing {
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
pub(super) struct Line {
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

impl Line {
    pub(super) fn new(config: &Config) -> Self {
        Line {
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
        self.encoder.history.forget();
    }
}

fn access_of(what: &Doing) -> Option<Access> {
    match what {
        Doing::Transfer(Transfer::Unified(access) | Transfer::Request { access, .. }) => Some(*access),
        _ => None,
    }
}

impl Encoder {
    /// Takes one block with its data accesses, which are in the order of their instructions.
    pub(crate) fn block_with(&mut self, block: &Block, cycle: &Cycle<'_>, items: &[Item]) {
        if items.is_empty() || !self.line.on {
            return self.block(block, cycle);
        }
        let accesses: Vec<(u64, Access)> = items
            .iter()
            .filter_map(|item| access_of(&item.what).map(|access| (item.iaddr, access)))
            .collect();
        let qualified = self.qualifier.qualifies(block, cycle, &accesses);
        let mut items = items.to_vec();
        self.filter_items(&mut items);
        if !qualified.instructions {
            self.leave_out(block, cycle);
            self.drain();
            for item in &items {
                self.enqueue(item);
            }
            return self.send_data(self.line.pushed);
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
            self.line.silent = 0;
            if item.iaddr == rest.iaddr {
                // The row in front of the block, if there is one; else a synchronisation comes first.
                if self.row.what == What::Retire {
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
    fn filter_items(&mut self, items: &mut [Item]) {
        let mut dropped = 0;
        let mut number = 0;
        for item in items {
            if let Some(access) = access_of(&item.what) {
                if !self.qualifier.access(number) {
                    item.what = Doing::Silence(access.dtype, Some(access.dsize));
                    dropped += 1;
                }
                number += 1;
            }
        }
        self.losses.add(Fate::Dropped, "data accesses that filters leave out", dropped);
    }

    /// Would a decoder give this access to an instruction before it? Silence is noted on the way.
    fn is_ambiguous(&mut self, item: &Item, privilege: u32) -> bool {
        let iaddr = self.config.is_precise().then_some(item.iaddr);
        match item.what {
            Doing::Silence(dtype, dsize) => {
                let sure = dsize
                    .is_some_and(|dsize| self.config.filters.excludes(iaddr, Some(privilege), dtype, dsize));
                if !sure {
                    self.line.silent |= kinds(dtype, dsize);
                }
                false
            }
            what => {
                let access = access_of(&what);
                self.config.encoder.exact
                    && access.is_some_and(|of| self.line.silent & kinds(of.dtype, Some(of.dsize)) != 0)
            }
        }
    }

    /// A block that is traced, or a part of one.
    fn block_rows(&mut self, block: &Block, cycle: &Cycle<'_>, items: &[Item]) {
        let first = items.iter().take_while(|item| item.iaddr == block.iaddr);
        for item in first.clone() {
            self.enqueue(item);
        }
        let split = self.line.pushed;
        for item in &items[first.count()..] {
            self.enqueue(item);
        }
        self.rows(block, cycle, split);
    }

    fn enqueue(&mut self, item: &Item) {
        if let Doing::Transfer(transfer) = item.what {
            self.line.queue.push_back(transfer);
            self.line.pushed += 1;
        }
    }

    /// Responses that belong to no block.
    pub(crate) fn respond(&mut self, transfers: impl IntoIterator<Item = Transfer>) {
        for transfer in transfers {
            self.enqueue(&Item { iaddr: 0, before: None, what: Doing::Transfer(transfer) });
        }
    }

    /// Sends what is due up to the `end`th transfer.
    #[inline]
    pub(super) fn send_data(&mut self, end: u64) {
        if self.line.sent < end {
            self.send_data_slow(end);
        }
    }

    fn send_data_slow(&mut self, end: u64) {
        while self.line.sent < end {
            let Some(transfer) = self.line.queue.pop_front() else { return };
            self.line.sent += 1;
            if self.lost {
                self.line.lost = true;
                self.losses.add(Fate::Dropped, "data accesses lost to back-pressure", 1);
                continue;
            }
            self.enable();
            let Some(packet) = self.line.encoder.packet(&transfer) else {
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
        let layout = *self.line.encoder.layout();
        let Ok(payload) = packet.write(&layout, self.config.encoder.compress) else { return };
        if self.config.encoder.buffer > 0 && !self.admit(payload.bytes().len() as u64 + 1) {
            self.line.lost = true;
            return;
        }
        let time = self.config.encoder.stamps.then_some(self.row.time);
        if let Err(error) = self.writer.write_data(&payload, time) {
            self.error = Err(error);
        }
    }
}
