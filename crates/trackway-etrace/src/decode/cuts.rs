//! Cutting a trace at synchronisation packets, for parallel decoding.
//!
//! Frames and modes are scanned in order first. A part runs to the next cut inclusive: the approach to that
//! packet belongs to the part, its beginning to the next one. Cuts depend on the bytes alone.

use std::sync::Arc;

use trackway_core::{Context, Error, Input, SharedBytes, mask};
use trackway_image::{Cursor, Waypoints};
use trackway_isa::Control;

use super::packets::CarriedState;
use super::places::{Place, Start};
use super::setup::Setup;
use crate::config::Config;
use crate::port::privilege_of;
use crate::transport::Kind;
use crate::wire::Reader;
use crate::wire::data::{self, Sizes};
use crate::wire::instruction::{Packet, Trap};

/// Smallest part in bytes, unless a plan says otherwise.
pub(crate) const PART_BYTES: u64 = 16 << 10;

/// A part of the trace that can be decoded independently.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) start: Start,
    /// Offset after the last frame.
    pub(crate) end: u64,
    /// Ends with a cut.
    pub(crate) cut: bool,
    /// Why the scan stopped here.
    pub(crate) error: Option<Error>,
    /// Start of the part that follows; `None` at the end.
    pub(crate) next: Option<Start>,
    /// Id of the source; `None`: the only one.
    pub(crate) only: Option<u32>,
}

impl std::fmt::Debug for Scanner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scanner({:#x})", self.reader.offset())
    }
}

/// Scans frames and returns parts.
pub(crate) struct Scanner {
    bytes: SharedBytes,
    config: Arc<Config>,
    reader: Reader,
    only: Option<u32>,
    part_bytes: u64,
    carried: CarriedState,
    cursor: Cursor,
    /// Start of the next part.
    start: Start,
    index: u64,
    /// The last support packet: its frame's start and end.
    support: Option<(u64, u64)>,
    /// Split loads and atomics whose data follow: none of them may cross a cut.
    in_flight: Sizes,
    done: bool,
}

impl Scanner {
    pub(crate) fn new(bytes: SharedBytes, setup: &Setup, only: Option<u32>, part_bytes: u64) -> Self {
        let Setup { config, image, isa, .. } = setup;
        let carried = CarriedState { options: config.options, ..CarriedState::default() };
        Scanner {
            reader: Reader::shared(Input::Whole(Arc::clone(&bytes)), config),
            bytes,
            config: Arc::clone(config),
            only,
            part_bytes,
            carried,
            cursor: image.blocks(&Context::default(), *isa, Waypoints::ETRACE).cursor(),
            start: Start { offset: 0, index: 0, begins: false, carried, skipped: 0 },
            index: 0,
            support: None,
            in_flight: Sizes::default(),
            done: false,
        }
    }

    /// The frame of the last support packet before the next part: its start and end.
    pub(crate) fn support(&self) -> Option<(u64, u64)> {
        self.support
    }

    pub(crate) fn bytes(&self) -> &SharedBytes {
        &self.bytes
    }

    pub(crate) fn offset(&self) -> u64 {
        self.reader.offset()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    fn part(&mut self, end: u64, cut: bool, error: Option<Error>) -> Part {
        Part { start: self.start, end, cut, error, next: None, only: self.only }
    }

    /// Start of the next part.
    pub(crate) fn start(&self) -> Start {
        self.start
    }

    /// A fresh scanner continues at a place that a decoder has taken.
    pub(crate) fn enter(&mut self, place: &Place) {
        let (start, packet) = match place {
            Place::Start(start) => (*start, None),
            Place::Inside(saved) => {
                let (carried, packet) = saved.decoder.carried();
                let (offset, index) = (saved.offset, saved.index);
                (Start { offset, index, begins: false, carried, skipped: 0 }, packet)
            }
        };
        (self.start, self.index, self.carried) = (start, start.index, start.carried);
        self.reader.jump(start.offset, start.index, start.carried.options);
        // The decoder has not done it yet.
        if let Some(packet) = packet {
            self.note(&packet);
        }
    }

    /// The next part begins here.
    fn begin(&mut self, offset: u64, index: u64, begins: bool) {
        self.start = Start { offset, index, begins, carried: self.carried, skipped: 0 };
    }

    /// Is the handler known? Otherwise the decoder cannot use the packet.
    fn has_handler(&self, trap: &Trap) -> bool {
        let privilege = privilege_of(trap.privilege);
        !self.carried.options.implicit_exception
            || self.config.handler(privilege, trap.interrupt, trap.ecause).is_some()
    }

    /// Can a new decoder begin at this packet with the same result as one that passes it?
    fn is_cut(&mut self, packet: &Packet) -> bool {
        if !self.in_flight.is_empty() {
            return false;
        }
        let field = match packet {
            Packet::Start(start) => start.address,
            Packet::Trap(trap) if trap.thaddr => return self.has_handler(trap),
            _ => return false,
        };
        if !self.carried.options.sijump {
            return true;
        }
        // A sequentially inferable jump needs the instruction before it.
        let params = &self.config.params;
        let pc = mask(field << params.iaddress_lsb, params.iaddress_width);
        let block = self.cursor.at(pc);
        block.is_some_and(|block| {
            block.last != pc || !block.control.is_indirect() || block.control == Control::TrapReturn
        })
    }

    /// Updates the state that is carried into the next part.
    fn note(&mut self, packet: &Packet) {
        let everywhere = self.config.dialect.nocontext_everywhere();
        let has_context = self.config.params.nocontext == 0;
        let (privilege, context) = match packet {
            Packet::Start(start) => (start.privilege, has_context.then_some(start.context)),
            Packet::Trap(trap) if trap.thaddr && !self.has_handler(trap) => return,
            Packet::Trap(trap) => (trap.privilege, has_context.then_some(trap.context)),
            Packet::Context(context) => {
                (context.privilege, (has_context || !everywhere).then_some(context.context))
            }
            Packet::Support(support) => {
                self.carried.options =
                    self.config.options_after(support.ioptions, support.doptions, self.carried.options);
                return;
            }
            _ => return,
        };
        self.carried.privilege = Some(privilege);
        self.carried.context = context.or(self.carried.context);
    }
}

impl Iterator for Scanner {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        while !self.done {
            self.index += self.reader.skip_flow();
            let (offset, frame) = match self.reader.next_frame() {
                Ok(Some(next)) => next,
                Ok(None) => {
                    self.done = true;
                    return Some(self.part(self.reader.offset(), false, None));
                }
                Err(error) => {
                    let mut part = self.part(self.reader.offset(), false, Some(error));
                    let skipped = self.reader.resync();
                    self.done = !matches!(skipped, Ok(Some(_)));
                    self.begin(self.reader.offset(), self.index, false);
                    self.in_flight = Sizes::default();
                    self.start.skipped = skipped.ok().flatten().unwrap_or(0);
                    part.next = Some(self.start).filter(|_| !self.done);
                    return Some(part);
                }
            };
            let index = self.index;
            self.index += 1;
            let mut scratch = [0; 64];
            let is_ours = self.only.is_none_or(|only| only == frame.source);
            if is_ours && frame.kind == Kind::Data && self.config.data.split {
                let payload = self.reader.payload(&frame, &mut scratch);
                let packet = data::Packet::read(payload, self.reader.data_layout(), &self.in_flight);
                packet.into_iter().for_each(|packet| self.in_flight.note(&packet));
            }
            if is_ours
                && frame.kind == Kind::Instruction
                && let payload = self.reader.payload(&frame, &mut scratch)
                && let is_format_3 = payload.first().is_some_and(|byte| byte & 3 == 3)
                && is_format_3
                && let Ok(packet) = Packet::read(payload, self.reader.layout())
            {
                self.reader.advance(&frame);
                self.reader.note(&packet);
                if matches!(packet, Packet::Support(_)) {
                    self.support = Some((offset, self.reader.offset()));
                }
                if offset - self.start.offset >= self.part_bytes && self.is_cut(&packet) {
                    let part = self.part(self.reader.offset(), true, None);
                    self.begin(offset, index, true);
                    let part = Part { next: Some(self.start), ..part };
                    self.note(&packet);
                    return Some(part);
                }
                self.note(&packet);
                continue;
            }
            self.reader.advance(&frame);
        }
        None
    }
}
