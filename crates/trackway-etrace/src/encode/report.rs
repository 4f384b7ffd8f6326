//! Formats 0, 1 and 2: branches and addresses (8.1).

use super::Encoder;
use super::progress::Progress;
use super::row::{Departure, ReportReason};
use super::tally::OwnMark;
use crate::wire::instruction::{BranchCount, Branches, JumpTarget, Layout, Packet, Reported, map_bits, ones};

impl Encoder {
    /// Sends format 0, 1 or 2 with an address (8.1).
    pub(super) fn report(&mut self, address: u64, why: ReportReason, format_3: bool, failed: bool) {
        self.report_to(address, self.row.end, why, format_3, failed);
    }

    /// As [`report`](Encoder::report), for the instruction at which the trace is at `end`.
    pub(super) fn report_to(
        &mut self,
        address: u64,
        end: Progress,
        why: ReportReason,
        format_3: bool,
        failed: bool,
    ) {
        let layout = self.writer.layout();
        let lsb = self.config.params.iaddress_lsb;
        let difference =
            if self.options.full_address { address } else { address.wrapping_sub(self.last_address) };
        let after_updiscon = self.previous.updiscon();
        let mispredicted = self.previous.departure == Departure::Mispredicted;
        let mut reported = Reported {
            address: trackway_core::mask(difference >> lsb, layout.address),
            notify: why == ReportReason::Notify && !after_updiscon,
            updiscon: after_updiscon && format_3,
            ..Reported::default()
        }
        .without_depth(layout);
        let depth = if mispredicted { Some(self.previous.depth) } else { self.depth_report(format_3) };
        if let Some(depth) = depth {
            reported.irreport = true;
            reported.irdepth = depth & ones(layout.irdepth);
        }
        let branches = self.branches as u32;
        // Unused bits of a map before an address are zero.
        let branch_map = self.map & ones(branches.min(31));
        let packet = if self.predicted >= 31 {
            let branch_count = (self.predicted - 31) as u32;
            let branch_fmt = if failed { 3 } else { 2 };
            Some(Packet::BranchCount(BranchCount { branch_count, branch_fmt, reported }))
        } else if self.options.jump_target_cache && after_updiscon {
            let plain = match branches {
                0 => Packet::Address(reported),
                _ => Packet::Branches(Branches { branches, branch_map, reported }),
            };
            Some(self.cached(address, plain, reported))
        } else {
            None
        };
        if after_updiscon && self.options.jump_target_cache {
            self.cache.insert(address);
        }
        self.ended_by_updiscon = after_updiscon && !reported.updiscon;
        self.ambiguous = self.ended_by_updiscon && self.previous.target_passed;
        self.last_address = address;
        self.clear_branches();
        match packet {
            Some(packet) => self.send(&packet),
            None if branches == 0 => self.send_here(&Packet::Address(reported)),
            None => self.send_here(&Packet::Branches(Branches { branches, branch_map, reported })),
        }
        self.tally.reach(end);
        if reported.notify && !self.lost {
            self.tally.find_mark(OwnMark::Notify);
        }
    }

    /// As [`report_to`](Encoder::report_to), for the target of a jump between usual rows: no depth, cache or prediction
    /// is in use.
    #[inline(never)]
    pub(super) fn report_usual(&mut self, address: u64, end: Progress) {
        let layout = *self.writer.layout();
        let base = if self.options.full_address { 0 } else { self.last_address };
        let difference = address.wrapping_sub(base) >> self.config.params.iaddress_lsb;
        let address_field = trackway_core::mask(difference, layout.address);
        let (branches, map) = (self.branches as u32, self.map & ones(self.branches as u32));
        (self.ended_by_updiscon, self.ambiguous) = (true, self.previous.target_passed);
        self.last_address = address;
        self.clear_branches();
        let (compress, stamps) = (self.config.encoder.compress, self.config.encoder.stamps);
        let short = flow_packet(branches, map, address_field, &layout).write_short(&layout, compress);
        if stamps || !short.is_some_and(|payload| self.writer.write_short(&payload)) {
            self.send_flow(branches, map, address_field);
        }
        self.tally.reach(end);
    }

    #[cold]
    fn send_flow(&mut self, branches: u32, map: u32, address_field: u64) {
        let packet = flow_packet(branches, map, address_field, self.writer.layout());
        self.send(&packet);
    }

    /// Format 0/1 instead, where the target is in the cache and the packet expresses the same.
    pub(super) fn cached(&self, address: u64, plain: Packet, reported: Reported) -> Packet {
        let index = self.cache.index(address);
        if reported.updiscon || self.cache.get(index) != Some(address) {
            return plain;
        }
        let layout = self.writer.layout();
        let branches = self.branches as u32;
        let mut jump = JumpTarget { index, branches, branch_map: 0, irreport: false, irdepth: 0 };
        // Unused bits of a map that ends a packet repeat its highest valid bit.
        let width = map_bits(branches);
        let top = branches > 0 && self.map >> (branches - 1) & 1 == 1;
        jump.branch_map = self.map;
        if top && width > branches {
            jump.branch_map |= ones(width) & !ones(branches);
        }
        let mut jump = jump.without_depth(layout);
        if reported.irreport {
            jump.irreport = true;
            jump.irdepth = reported.irdepth;
        }
        let jump = Packet::JumpTarget(jump);
        let compress = self.config.encoder.compress;
        let length = |packet: &Packet| packet.write(layout, compress).bytes().len();
        if self.config.encoder.shortest && length(&plain) < length(&jump) { plain } else { jump }
    }

    /// Call depth to report (6.6.3). In exact mode nothing is ambiguous without it.
    pub(super) fn depth_report(&self, format_3: bool) -> Option<u32> {
        if self.config.encoder.exact || !format_3 || !self.options.implicit_return {
            return None;
        }
        let depth = self.stack.depth();
        if self.previous.departure == Departure::InferredReturn {
            return (depth > 0).then_some(depth);
        }
        let branched = if self.config.dialect.depth_wants_unreported() {
            self.branched && self.branches > 0
        } else {
            self.branched
        };
        (self.returned && !branched).then_some(depth)
    }

    /// Sends branches without an address if the map is full or a prediction failed (8.1).
    #[inline]
    pub(super) fn report_branches(&mut self, failed: bool) -> bool {
        let is_full = if self.predicted >= 31 { failed } else { self.branches >= 31 };
        if is_full {
            self.send_branches();
        }
        is_full
    }

    fn send_branches(&mut self) {
        let packet = if self.predicted >= 31 {
            let branch_count = (self.predicted - 31) as u32;
            Packet::BranchCount(BranchCount { branch_count, ..BranchCount::default() })
        } else {
            Packet::Branches(Branches { branches: 0, branch_map: self.map, ..Branches::default() })
        };
        self.ambiguous = false;
        self.clear_branches();
        self.send(&packet);
        self.tally.reach(self.row.end);
    }
}

/// Format 2, or 1 if there are branches, with nothing but an address.
#[inline(always)]
fn flow_packet(branches: u32, branch_map: u32, address: u64, layout: &Layout) -> Packet {
    let reported = Reported { address, ..Reported::default() }.without_depth(layout);
    match branches {
        0 => Packet::Address(reported),
        _ => Packet::Branches(Branches { branches, branch_map, reported }),
    }
}
