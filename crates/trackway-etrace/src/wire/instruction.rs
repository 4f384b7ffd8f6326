//! Instruction trace packets, chapter 6: every field, declared once.
//!
//! Fields hold the values on the wire: addresses are not shifted by `iaddress_lsb`, and are differences where the
//! wire has differences. Only `notify`, `updiscon` and `irreport`, which mean true by differing from the bit before
//! them, are decoded.

use serde::{Deserialize, Serialize};
use trackway_core::ErrorKind;

use crate::config::Config;
use crate::dialect::Dialect;
use crate::modes::Options;

use super::bits::{Payload, Put, PutShort, ShortPayload, Show, Take, TakeShort, Wire};
use super::received::Received;

/// Widths of the fields, from the parameters and the modes that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Version of the specification.
    pub dialect: Dialect,
    /// Bits of an address.
    pub address: u32,
    /// Bits of a trap value.
    pub tval: u32,
    /// Bits of the privilege.
    pub privilege: u32,
    /// Bits of the time; 0 without.
    pub time: u32,
    /// Bits of the context in 3/0 and 3/1; 0 without.
    pub context: u32,
    /// Bits of the context in 3/2.
    pub context_3_2: u32,
    /// Bits of the cause.
    pub ecause: u32,
    /// Bits of the call depth.
    pub irdepth: u32,
    /// Bits of the jump target cache index.
    pub index: u32,
    /// Bits of the subformat of format 0.
    pub f0s: u32,
    /// The only possible subformat of format 0, where the field has no bits.
    pub f0_only: Option<u8>,
    /// Trap packets omit the handler's address.
    pub implicit_exception: bool,
    /// Bits of the encoder mode.
    pub encoder_mode: u32,
    /// Bits of the options.
    pub ioptions: u32,
    /// Bits of the data options.
    pub doptions: u32,
}

impl Layout {
    /// The layout for these parameters with these modes on.
    pub fn new(config: &Config, options: Options) -> Self {
        let params = &config.params;
        let dialect = config.dialect;
        let context = if params.nocontext == 1 { 0 } else { params.context_width };
        Layout {
            dialect,
            address: params.address_bits(),
            tval: params.iaddress_width,
            privilege: params.privilege_width,
            time: if dialect.has_time() && params.notime == 0 { params.time_width } else { 0 },
            context,
            context_3_2: if dialect.nocontext_everywhere() { context } else { params.context_width },
            ecause: params.ecause_width,
            irdepth: params.irdepth_bits(),
            index: params.cache_size,
            f0s: params.f0s_width,
            f0_only: match (options.branch_prediction, options.jump_target_cache) {
                (true, false) => Some(0),
                (false, true) => Some(1),
                // Before the first support packet the modes are unknown: the parameters decide.
                _ if params.bpred_size > 0 && params.cache_size == 0 => Some(0),
                _ if params.cache_size > 0 && params.bpred_size == 0 => Some(1),
                _ => None,
            },
            implicit_exception: options.implicit_exception,
            encoder_mode: config.support.encoder_mode_width,
            ioptions: config.support.ioptions.len() as u32,
            doptions: config.support.doptions_width,
        }
    }
}

/// An instruction trace packet, `te_inst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Packet {
    /// Format 0, subformat 0: a count of correctly predicted branches (tables 6.8, 6.9).
    BranchCount(BranchCount),
    /// Format 0, subformat 1: an index into the jump target cache (tables 6.10, 6.11).
    JumpTarget(JumpTarget),
    /// Format 1: branch outcomes, and an address or none (tables 6.6, 6.7).
    Branches(Branches),
    /// Format 2: an address (table 6.5).
    Address(Reported),
    /// Format 3, subformat 0: start of trace or resynchronisation (table 6.1).
    Start(Start),
    /// Format 3, subformat 1: exception or interrupt (table 6.2).
    Trap(Trap),
    /// Format 3, subformat 2: context change (table 6.3).
    Context(Context),
    /// Format 3, subformat 3: supporting information (table 6.4).
    Support(Support),
}

/// An address with the bits after it (table 6.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// The address, or the difference to the last one.
    pub address: u64,
    /// A trigger requested it; it is not the target of an uninferable discontinuity.
    pub notify: bool,
    /// It follows an uninferable discontinuity, and a format 3 packet follows it.
    pub updiscon: bool,
    /// `irdepth` is valid.
    pub irreport: bool,
    /// Entries on the return stack, or nested calls; copies of the updiscon bit if not valid.
    pub irdepth: u32,
}

/// Format 0, subformat 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchCount {
    /// Correctly predicted branches, less 31.
    pub branch_count: u32,
    /// 0: no address, the next branch failed; 2: address; 3: address of a branch that failed.
    pub branch_fmt: u32,
    /// The address, unless `branch_fmt` is 0.
    pub reported: Reported,
}

/// Format 0, subformat 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JumpTarget {
    /// Entry of the cache.
    pub index: u32,
    /// Valid bits in the map.
    pub branches: u32,
    /// Outcomes, oldest in bit 0, 1 = not taken.
    pub branch_map: u32,
    /// `irdepth` is valid.
    pub irreport: bool,
    /// As in [`Reported`].
    pub irdepth: u32,
}

/// Format 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branches {
    /// Valid bits in the map; 0: 31 and no address.
    pub branches: u32,
    /// Outcomes, oldest in bit 0, 1 = not taken. Bits above the valid ones are spare and kept.
    pub branch_map: u32,
    /// The address, unless `branches` is 0.
    pub reported: Reported,
}

/// Format 3, subformat 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// False: the address is that of a branch that was taken.
    pub branch: bool,
    /// Privilege of the instruction.
    pub privilege: u32,
    /// Time (version 2).
    pub time: u64,
    /// Context.
    pub context: u64,
    /// Address.
    pub address: u64,
}

/// Format 3, subformat 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trap {
    /// False: the address is that of a branch that was taken.
    pub branch: bool,
    /// Privilege of the instruction reported; before the trap where `thaddr` is 0.
    pub privilege: u32,
    /// Time (version 2).
    pub time: u64,
    /// Context.
    pub context: u64,
    /// Cause.
    pub ecause: u64,
    /// An interrupt, not an exception.
    pub interrupt: bool,
    /// The address is the handler's (version 2; always so in the draft).
    pub thaddr: bool,
    /// Address of the handler, or of the instruction that trapped.
    pub address: u64,
    /// Trap value; in the draft the address of an illegal instruction.
    pub tval: u64,
}

/// Format 3, subformat 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Privilege.
    pub privilege: u32,
    /// Time (version 2).
    pub time: u64,
    /// Context.
    pub context: u64,
}

/// Why a support packet says that tracing stopped (6.5.1).
pub mod qual_status {
    /// No change.
    pub const NO_CHANGE: u32 = 0;
    /// Ended; the last packet was sent to report the last instruction.
    pub const ENDED_REP: u32 = 1;
    /// Packets were lost.
    pub const TRACE_LOST: u32 = 2;
    /// Ended; an uninferable discontinuity required the last packet anyway. Version 2 calls it `ended_ntr`.
    pub const ENDED_UPD: u32 = 3;

    /// Names of the codes.
    pub const NAMES: [&str; 4] = ["no_change", "ended_rep", "trace_lost", "ended_upd"];
}

/// Format 3, subformat 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// Instruction trace is on.
    pub enable: bool,
    /// Trace algorithm; 0 is branch trace.
    pub encoder_mode: u64,
    /// See [`qual_status`].
    pub qual_status: u32,
    /// Modes, in the order of the support layout.
    pub ioptions: u64,
    /// Data trace is on (version 2).
    pub denable: bool,
    /// Data trace was lost (version 2).
    pub dloss: bool,
    /// Data trace modes (version 2).
    pub doptions: u64,
}

/// Bits of a map with `branches` valid bits (6.7.2): 0, 1, 3, 7, 15 or 31.
#[inline]
pub const fn map_bits(branches: u32) -> u32 {
    let most = if branches > 31 { 31 } else { branches };
    (1 << (32 - most.leading_zeros())) - 1
}

impl Reported {
    #[inline(always)]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        let is_quiet = W::SIGNED && !(self.notify | self.updiscon | self.irreport);
        if is_quiet && self.irdepth == fill(self.address >> (l.address - 1) & 1 == 1, l) {
            return w.signed(self.address, l.address, 3 + l.irdepth);
        }
        w.bits("address", &mut self.address, l.address);
        let mut last = self.address >> (l.address - 1) & 1 == 1;
        w.chained("notify", &mut self.notify, &mut last);
        w.chained("updiscon", &mut self.updiscon, &mut last);
        w.chained("irreport", &mut self.irreport, &mut last);
        w.small("irdepth", &mut self.irdepth, l.irdepth);
    }

    /// Fills `irdepth` with copies of the updiscon bit, as required where no depth is reported.
    pub(crate) fn without_depth(mut self, l: &Layout) -> Self {
        let last = (self.address >> (l.address - 1) & 1 == 1) ^ self.notify ^ self.updiscon;
        self.irdepth = fill(last, l);
        self
    }
}

/// Copies of a bit in place of a depth.
#[inline]
const fn fill(bit: bool, l: &Layout) -> u32 {
    if bit { ones(l.irdepth) } else { 0 }
}

/// A field of `width` ones.
pub(crate) const fn ones(width: u32) -> u32 {
    if width == 0 { 0 } else { u32::MAX >> (32 - width) }
}

impl BranchCount {
    #[inline(always)]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        w.small("branch_count", &mut self.branch_count, 32);
        w.small("branch_fmt", &mut self.branch_fmt, 2);
        if self.branch_fmt != 0 {
            self.reported.wire(w, l);
        }
    }
}

impl JumpTarget {
    #[inline(always)]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        w.small("index", &mut self.index, l.index);
        w.small("branches", &mut self.branches, 5);
        let width = map_bits(self.branches);
        w.small("branch_map", &mut self.branch_map, width);
        let mut last = self.last_bit();
        w.chained("irreport", &mut self.irreport, &mut last);
        w.small("irdepth", &mut self.irdepth, l.irdepth);
    }

    /// The bit before `irreport`: the map's highest, or that of `branches`.
    fn last_bit(&self) -> bool {
        match map_bits(self.branches) {
            0 => self.branches >> 4 & 1 == 1,
            width => self.branch_map >> (width - 1) & 1 == 1,
        }
    }

    /// Fills `irdepth` with copies of the bit before it, as required where no depth is reported.
    pub(crate) fn without_depth(mut self, l: &Layout) -> Self {
        self.irdepth = fill(self.last_bit(), l);
        self
    }
}

impl Branches {
    #[inline(always)]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        w.small("branches", &mut self.branches, 5);
        let width = if self.branches == 0 { 31 } else { map_bits(self.branches) };
        w.small("branch_map", &mut self.branch_map, width);
        if self.branches != 0 {
            self.reported.wire(w, l);
        }
    }
}

impl Start {
    #[inline(always)]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        w.flag("branch", &mut self.branch);
        w.small("privilege", &mut self.privilege, l.privilege);
        w.bits("time", &mut self.time, l.time);
        w.bits("context", &mut self.context, l.context);
        w.bits("address", &mut self.address, l.address);
    }
}

impl Trap {
    #[inline(always)]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        w.flag("branch", &mut self.branch);
        w.small("privilege", &mut self.privilege, l.privilege);
        w.bits("time", &mut self.time, l.time);
        w.bits("context", &mut self.context, l.context);
        w.bits("ecause", &mut self.ecause, l.ecause);
        w.flag("interrupt", &mut self.interrupt);
        if l.dialect.has_thaddr() {
            w.flag("thaddr", &mut self.thaddr);
        } else {
            self.thaddr = true;
        }
        if !(l.implicit_exception && self.thaddr) {
            w.bits("address", &mut self.address, l.address);
        }
        if l.dialect.has_tvalepc() {
            w.bits("tvalepc", &mut self.tval, l.tval);
        } else if !self.interrupt {
            w.bits("tval", &mut self.tval, l.tval);
        }
    }
}

impl Context {
    #[inline(always)]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        w.small("privilege", &mut self.privilege, l.privilege);
        w.bits("time", &mut self.time, l.time);
        w.bits("context", &mut self.context, l.context_3_2);
    }
}

impl Support {
    #[inline(always)]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        w.flag(if l.dialect.has_data_status() { "ienable" } else { "enable" }, &mut self.enable);
        w.bits("encoder_mode", &mut self.encoder_mode, l.encoder_mode);
        w.small("qual_status", &mut self.qual_status, 2);
        w.bits(
            if l.dialect.has_data_status() { "ioptions" } else { "options" },
            &mut self.ioptions,
            l.ioptions,
        );
        if l.dialect.has_data_status() {
            w.flag("denable", &mut self.denable);
            w.flag("dloss", &mut self.dloss);
            w.bits("doptions", &mut self.doptions, l.doptions);
        }
    }
}

impl Packet {
    /// Format and subformat, as the specification names them.
    pub const fn name(&self) -> &'static str {
        match self {
            Packet::BranchCount(_) => "0/0",
            Packet::JumpTarget(_) => "0/1",
            Packet::Branches(_) => "1",
            Packet::Address(_) => "2",
            Packet::Start(_) => "3/0",
            Packet::Trap(_) => "3/1",
            Packet::Context(_) => "3/2",
            Packet::Support(_) => "3/3",
        }
    }

    /// Its name in errors.
    pub const fn title(&self) -> &'static str {
        match self {
            Packet::BranchCount(_) => "format 0/0 packet",
            Packet::JumpTarget(_) => "format 0/1 packet",
            Packet::Branches(_) => "format 1 packet",
            Packet::Address(_) => "format 2 packet",
            Packet::Start(_) => "format 3/0 packet",
            Packet::Trap(_) => "format 3/1 packet",
            Packet::Context(_) => "format 3/2 packet",
            Packet::Support(_) => "format 3/3 packet",
        }
    }

    /// The section that describes it.
    pub const fn section(&self) -> &'static str {
        match self {
            Packet::BranchCount(_) | Packet::JumpTarget(_) => "E-Trace 6.8",
            Packet::Branches(_) => "E-Trace 6.7",
            Packet::Address(_) => "E-Trace 6.6",
            Packet::Start(_) => "E-Trace 6.2",
            Packet::Trap(_) => "E-Trace 6.3",
            Packet::Context(_) => "E-Trace 6.4",
            Packet::Support(_) => "E-Trace 6.5",
        }
    }

    /// A packet that the decoder can start from: 3/0 and 3/1 (6.1).
    pub const fn is_sync(&self) -> bool {
        matches!(self, Packet::Start(_) | Packet::Trap(_))
    }

    /// Is it of format 3, and not one that reports branches and addresses?
    pub(crate) const fn is_format_3(&self) -> bool {
        matches!(self, Packet::Start(_) | Packet::Trap(_) | Packet::Context(_) | Packet::Support(_))
    }

    /// Format and subformat numbers.
    const fn code(&self) -> (u32, u32) {
        match self {
            Packet::BranchCount(_) => (0, 0),
            Packet::JumpTarget(_) => (0, 1),
            Packet::Branches(_) => (1, 0),
            Packet::Address(_) => (2, 0),
            Packet::Start(_) => (3, 0),
            Packet::Trap(_) => (3, 1),
            Packet::Context(_) => (3, 2),
            Packet::Support(_) => (3, 3),
        }
    }

    #[inline(always)]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        match self {
            Packet::BranchCount(packet) => packet.wire(w, l),
            Packet::JumpTarget(packet) => packet.wire(w, l),
            Packet::Branches(packet) => packet.wire(w, l),
            Packet::Address(packet) => packet.wire(w, l),
            Packet::Start(packet) => packet.wire(w, l),
            Packet::Trap(packet) => packet.wire(w, l),
            Packet::Context(packet) => packet.wire(w, l),
            Packet::Support(packet) => packet.wire(w, l),
        }
    }

    #[inline(always)]
    fn wire_whole<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        let (mut format, mut subformat) = self.code();
        w.small("format", &mut format, 2);
        match format {
            3 => w.small("subformat", &mut subformat, 2),
            0 => w.small("subformat", &mut subformat, l.f0s),
            _ => {}
        }
        self.wire(w, l);
    }

    /// Reads a payload. [`Received`] also keeps its length and spare bits.
    #[inline]
    pub fn read(payload: &[u8], l: &Layout) -> Result<Packet, ErrorKind> {
        match payload.len() {
            0 => Err(ErrorKind::Truncated),
            1..=TakeShort::MAX => Packet::take(&mut TakeShort::new(payload), l),
            _ => Packet::take(&mut Take::new(payload), l),
        }
    }

    /// Reads a payload of `len` bytes, 1 to 16, if it is of format 1 or 2, as most are.
    #[inline(always)]
    pub(crate) fn read_flow(bytes: &[u8; 16], len: u32, l: &Layout) -> Option<Packet> {
        let mut take = TakeShort::within(bytes, len);
        let mut format = 0;
        take.small("format", &mut format, 2);
        match format {
            1 => {
                let mut fields = Branches::default();
                fields.wire(&mut take, l);
                Some(Packet::Branches(fields))
            }
            2 => {
                let mut fields = Reported::default();
                fields.wire(&mut take, l);
                Some(Packet::Address(fields))
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn take<W: Wire>(take: &mut W, l: &Layout) -> Result<Packet, ErrorKind> {
        let mut format = 0;
        take.small("format", &mut format, 2);
        let mut subformat = 0;
        match format {
            3 => take.small("subformat", &mut subformat, 2),
            0 => take.small("subformat", &mut subformat, l.f0s),
            _ => {}
        }
        if format == 0 && l.f0s == 0 {
            subformat = u32::from(l.f0_only.ok_or(ErrorKind::Impossible { found: 0 })?);
        }
        // Each packet is built where its fields are read: one test of the format, not two.
        macro_rules! take {
            ($packet:ident, $fields:ident) => {{
                let mut fields = $fields::default();
                fields.wire(take, l);
                Packet::$packet(fields)
            }};
        }
        Ok(match (format, subformat) {
            (1, _) => take!(Branches, Branches),
            (2, _) => take!(Address, Reported),
            (0, 0) => match take!(BranchCount, BranchCount) {
                Packet::BranchCount(BranchCount { branch_fmt: 1, .. }) => {
                    return Err(ErrorKind::Illegal { found: 1 });
                }
                packet => packet,
            },
            (0, 1) => take!(JumpTarget, JumpTarget),
            (0, _) => return Err(ErrorKind::Unknown { found: u64::from(subformat) }),
            (3, 0) => take!(Start, Start),
            (3, 1) => take!(Trap, Trap),
            (3, 2) => take!(Context, Context),
            _ => take!(Support, Support),
        })
    }

    /// Writes the payload.
    #[inline]
    pub fn write(&self, l: &Layout, compress: bool) -> Payload {
        if let Some(short) = self.write_short(l, compress) {
            return short.into();
        }
        let mut put = Put::default();
        let mut packet = *self;
        packet.wire_whole(&mut put, l);
        put.finish(compress)
    }

    /// As [`write`](Packet::write), for the usual packets, which are short.
    #[inline(always)]
    pub(crate) fn write_short(&self, l: &Layout, compress: bool) -> Option<ShortPayload> {
        // The same declaration as for reading. The usual kinds are monomorphic, which makes their code short.
        macro_rules! put {
            ($packet:ident, $fields:expr) => {{
                let mut put = PutShort::default();
                Packet::$packet($fields).wire_whole(&mut put, l);
                put.finish(compress)
            }};
        }
        match *self {
            Packet::Branches(fields) => put!(Branches, fields),
            Packet::Address(fields) => put!(Address, fields),
            _ => None,
        }
    }

    /// Calls `show` with each field's name, value and width, in wire order. Chained bits are as on the wire.
    pub fn fields(&self, l: &Layout, show: &mut dyn FnMut(&'static str, u64, u32)) {
        let mut packet = *self;
        packet.wire(&mut Show(show), l);
    }
}

impl Received<Packet> {
    /// Reads a payload of `bits` bits; bits above them in the last byte are copies of the last one.
    pub fn read(payload: &[u8], bits: u32, l: &Layout) -> Result<Self, ErrorKind> {
        Received::read_with(payload, bits, |take| Packet::take(take, l))
    }

    /// Writes the payload as it was received.
    pub fn write(&self, l: &Layout) -> Vec<u8> {
        self.with_spare(self.packet.write(l, false).bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trackway_testkit::random::Numbers;

    /// Formats 1 and 2 are written in a short way: the bytes are those of the long one.
    #[test]
    fn the_short_way_of_writing_is_the_long_one() {
        let numbers = &mut Numbers(1);
        for _ in 0..20_000 {
            let mut config = Config::new(Dialect::V2);
            config.params.iaddress_width = 2 + numbers.below(63) as u32;
            config.params.return_stack_size = numbers.below(8) as u32;
            let l = &Layout::new(&config, config.options);
            let flags = numbers.below(16);
            let address = numbers.draw() >> numbers.below(64) << numbers.below(64);
            let mut reported = Reported {
                address: trackway_core::mask(address, l.address),
                notify: flags & 3 == 3,
                updiscon: flags & 5 == 5,
                ..Reported::default()
            }
            .without_depth(l);
            if flags & 9 == 9 {
                (reported.irreport, reported.irdepth) =
                    (flags & 2 == 2, numbers.draw() as u32 & ones(l.irdepth));
            }
            let (branches, branch_map) = (numbers.below(32) as u32, numbers.draw() as u32 & ones(31));
            let fields = Branches { branches, branch_map, reported };
            for packet in [Packet::Address(reported), Packet::Branches(fields)] {
                for compress in [false, true] {
                    let mut put = Put::default();
                    { packet }.wire_whole(&mut put, l);
                    let (long, short) = (put.finish(compress), packet.write_short(l, compress));
                    let Some(short) = short else { continue };
                    assert_eq!(&short.bytes[..short.len], long.bytes(), "{packet:?} {l:?}");
                    assert_eq!(short.saved(), long.saved(), "{packet:?} {l:?}");
                }
            }
        }
    }
}
