//! One decoder: packets of a stretch of bytes through all three stages.

use std::sync::Arc;

use trackway_core::{Error, ErrorKind, GapReason};
use trackway_image::Image;

use crate::config::Config;
use crate::decode::census::Census;
use crate::decode::elements::Unpacker;
use crate::decode::flow::{Analyser, Flow};
use crate::decode::speculation::{Resolve, Resolver};
use crate::wire::packet::{Atoms, Kind, Packet, header};
use crate::wire::read::{MIN_ZEROS, Reader};

/// Bytes of a window, and where they lie in the input.
pub(crate) trait Window {
    /// The bytes.
    fn bytes(&self) -> &[u8];
    /// Offset in the input of the byte at `index`; `cursor` is a hint that moves along.
    fn offset(&self, index: usize, cursor: &mut usize) -> u64;
    /// The hint for `index`.
    fn cursor(&self, index: usize) -> usize;
}

/// Behind the first alignment synchronisation that ends in `bytes[from..]` (its zeros may begin before).
///
/// This scan, not the packets before it, says where decoding can start; a packet that would run into
/// what it found is damaged.
pub(crate) fn find_sync(bytes: &[u8], from: usize) -> Option<usize> {
    let zeros = MIN_ZEROS as usize;
    // The last zero of a run lies at every eleventh byte or before: look there only.
    let mut at = from + zeros - 1;
    while at < bytes.len() {
        if bytes[at] != 0 {
            at += zeros;
            continue;
        }
        let mut start = at;
        while start > from && bytes[start - 1] == 0 {
            start -= 1;
        }
        let end = at + bytes[at..].iter().position(|&byte| byte != 0).unwrap_or(bytes.len() - at);
        if end - start >= zeros && bytes.get(end) == Some(&0x80) {
            return Some(end + 1);
        }
        at = end + zeros;
    }
    None
}

/// Bytes of an alignment synchronisation at the least.
pub(crate) const SYNC_LEN: usize = MIN_ZEROS as usize + 1;

/// All that a decoder knows: two that are equal give the same from now on.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    unpacker: Unpacker,
    resolver: Resolver,
    flow: Flow,
    /// Withdrawn elements that are being followed.
    shadows: Vec<(u32, Flow)>,
}

/// What stopped [`Decoder::run`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    /// The end of the stretch.
    End,
    /// A piece of output is complete.
    Pause,
    /// The place asked for is reached.
    There,
    /// More bytes are needed to tell what comes next.
    Hungry,
    /// A bad packet.
    Bad(Error),
}

/// A stretch of a window to decode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// Where it ends: behind a synchronisation, or at the end of the window.
    pub(crate) end: usize,
    /// The window ends there for good: what is cut is truncated.
    pub(crate) last: bool,
}

/// How the bytes that [`Decoder::packets`] gets end.
struct Ends {
    /// More may follow.
    short: bool,
    /// A synchronisation follows.
    cut: bool,
}

/// More than any packet but alignment synchronisation takes.
const LONGEST: usize = 80;

/// A decoder of one source.
pub(crate) struct Decoder {
    config: Arc<Config>,
    reader: Reader,
    unpacker: Unpacker,
    resolver: Resolver,
    pub(crate) analyser: Analyser,
    /// Bytes passed over before the first Trace Info, and where they began.
    idle: Option<(u64, u64)>,
    /// Index behind the next synchronisation in the window; `None` where it has to be looked for.
    sync: Option<usize>,
    /// Hint for offsets.
    cursor: usize,
    /// Packets read.
    pub(crate) census: Census,
}

/// Where [`Decoder::run`] stops early.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Until {
    /// Nowhere.
    End,
    /// At this place, if a packet that is no atom begins there.
    Place(usize),
    /// At the first place where [`Decoder::snapshot`] gives something.
    Known,
}

impl Decoder {
    pub(crate) fn new(config: &Arc<Config>, image: &Arc<Image>, show_withdrawn: bool) -> Self {
        Decoder {
            config: Arc::clone(config),
            reader: Reader::new(&config.dialect),
            unpacker: Unpacker::default(),
            resolver: Resolver::default(),
            analyser: Analyser::new(config, image, show_withdrawn),
            idle: None,
            sync: None,
            cursor: 0,
            census: Census::default(),
        }
    }

    /// As new, with the memory and tables that it has.
    pub(crate) fn reset(&mut self) {
        self.set_state(State::default());
        self.analyser.out.clear();
        self.census = Census::default();
    }

    /// A copy of all that it knows, if another decoder could come to the same.
    pub(crate) fn snapshot(&self) -> Option<State> {
        if !self.resolver.is_settled() || !self.analyser.is_comparable() {
            return None;
        }
        Some(self.state())
    }

    /// Does it know `state` and nothing else?
    pub(crate) fn knows(&self, state: &State) -> bool {
        self.unpacker == state.unpacker
            && self.resolver == state.resolver
            && self.analyser.flow == state.flow
            && self.analyser.is_comparable()
    }

    /// A copy of all that it knows.
    pub(crate) fn state(&self) -> State {
        State {
            unpacker: self.unpacker.clone(),
            resolver: self.resolver.clone(),
            flow: self.analyser.flow.clone(),
            shadows: self.analyser.shadows.clone(),
        }
    }

    /// Goes on with what another decoder knew.
    pub(crate) fn set_state(&mut self, state: State) {
        (self.unpacker, self.resolver) = (state.unpacker, state.resolver);
        self.analyser.set_flow(state.flow, state.shadows);
        self.idle = None;
    }

    /// Another window, or another place in it: indexes are new.
    pub(crate) fn moved(&mut self) {
        self.sync = None;
        self.cursor = 0;
    }

    /// Goes on at another place of the same window.
    pub(crate) fn jump<W: Window>(&mut self, window: &W, at: usize) {
        self.sync = None;
        self.cursor = window.cursor(at);
    }

    /// Forgets all that depends on what came before: `bytes` were skipped from `offset` on.
    pub(crate) fn lose_sync(&mut self, reason: GapReason, offset: u64, bytes: u64) {
        self.unpacker = Unpacker::default();
        self.resolver = Resolver::default();
        self.analyser.lose_sync();
        self.idle = None;
        self.sync = None;
        self.analyser.skipped(reason, offset, bytes);
    }

    /// The end of the source.
    pub(crate) fn end(&mut self) {
        self.tell_idle();
        self.resolver.end(&mut self.analyser);
        self.analyser.out.close();
    }

    /// Tells of bytes that came before the first Trace Info.
    fn tell_idle(&mut self) {
        if let Some((offset, bytes)) = self.idle.take() {
            self.analyser.skipped(GapReason::LostSync, offset, bytes);
        }
    }

    /// Decodes from `at` to the end of `stretch`, or to `until`, or until a piece of output is complete.
    pub(crate) fn run<W: Window>(
        &mut self,
        window: &W,
        stretch: Stretch,
        at: &mut usize,
        until: Until,
    ) -> Stop {
        let bytes = &window.bytes()[..stretch.end];
        let pieces = self.analyser.out.done.len();
        let mut cursor = self.cursor;
        let stop = loop {
            if until == Until::Place(*at) {
                break Stop::There;
            }
            if self.analyser.out.done.len() > pieces {
                break Stop::Pause;
            }
            let sync = match self.sync {
                Some(sync) if sync > *at => sync,
                _ => {
                    let sync = find_sync(bytes, *at).unwrap_or(usize::MAX);
                    self.sync = Some(sync);
                    sync
                }
            };
            // Packets end before the synchronisation.
            let limit = if sync == usize::MAX { bytes.len() } else { sync - SYNC_LEN };
            let short = sync == usize::MAX && !stretch.last;
            let ends = Ends { short, cut: sync != usize::MAX };
            let stop = self.packets(window, &bytes[..limit], ends, at, &mut cursor, until, pieces);
            match stop {
                Some(stop) => break stop,
                None if *at == bytes.len() => break Stop::End,
                // What is left are the zeros and the 80.
                None => {}
            }
            if sync == usize::MAX {
                // Zeros up to the end: a synchronisation that is cut.
                let cut = ErrorKind::Truncated;
                let error = fault(0, cut, "zeros", window.offset(*at, &mut cursor));
                break if short { Stop::Hungry } else { Stop::Bad(error) };
            }
            let rest = &bytes[*at..sync];
            match self.reader.read(rest, window.offset(*at, &mut cursor)) {
                Ok((Packet::AlignmentSync { .. }, length)) if length == rest.len() => {
                    self.census.add(0);
                    *at = sync;
                }
                Ok((packet, _)) => {
                    debug_assert!(!matches!(packet, Packet::AlignmentSync { .. }));
                    break Stop::Bad(overrun(bytes[*at], window.offset(*at, &mut cursor)));
                }
                Err(error) => break Stop::Bad(error),
            }
        };
        self.cursor = cursor;
        stop
    }

    /// Packets up to `bytes.len()`; `None` at the end, or where the rest begins with zeros.
    #[allow(clippy::too_many_arguments)] // The loop's state lives in registers, not behind a reference.
    #[inline(always)]
    fn packets<W: Window>(
        &mut self,
        window: &W,
        bytes: &[u8],
        Ends { short, cut }: Ends,
        place: &mut usize,
        cursor: &mut usize,
        until: Until,
        pieces: usize,
    ) -> Option<Stop> {
        let Decoder { config, reader, unpacker, resolver, analyser, census, .. } = self;
        let mut at = *place;
        let mut waiting = !unpacker.started;
        let stop = loop {
            let Some(&first) = bytes.get(at) else { break None };
            let offset = window.offset(at, cursor);
            if first >= 0xc0 && !waiting {
                census.add(first);
                unpacker.atoms(Atoms { header: first }.get(), offset, config, resolver, analyser);
                at += 1;
                analyser.out.turn();
            } else {
                let there = match until {
                    Until::End => false,
                    Until::Place(place) => place == at,
                    Until::Known => unpacker.started && resolver.is_settled() && analyser.is_comparable(),
                };
                if there {
                    break Some(Stop::There);
                }
                if short && bytes.len() - at < LONGEST {
                    break Some(Stop::Hungry);
                }
                // Looked at where it is: moving it would cost more than reading it.
                let read = reader.read(&bytes[at..], offset);
                let (packet, length) = match &read {
                    Ok((packet, length)) => (packet, *length),
                    // The zeros of a synchronisation begin before its last twelve bytes.
                    Err(error) if error.is_truncated() && first == 0 && is_zero(&bytes[at..]) => break None,
                    Err(error) if error.is_truncated() && short => break Some(Stop::Hungry),
                    // Bytes are lost before a synchronisation; at the end of the input they are only cut off.
                    Err(error) if error.is_truncated() && cut => {
                        break Some(Stop::Bad(Error { kind: ErrorKind::Missing, ..*error }));
                    }
                    Err(error) => break Some(Stop::Bad(*error)),
                };
                match packet {
                    Packet::Discard => census.add_discard(),
                    Packet::Overflow => census.add_overflow(),
                    _ => census.add(first),
                }
                if let Packet::Address(address) = packet
                    && !waiting
                    && resolver.is_idle()
                    && let Some(entry) = unpacker.target(address)
                {
                    analyser.target_address(entry);
                    at += length;
                    continue;
                }
                if waiting && !packet_is_free(packet) {
                    let idle = self.idle.get_or_insert((offset, 0));
                    idle.1 += length as u64;
                }
                if waiting && matches!(packet, Packet::TraceInfo(_)) {
                    if let Some((offset, bytes)) = self.idle.take() {
                        analyser.skipped(GapReason::LostSync, offset, bytes);
                    }
                    waiting = false;
                }
                if let Err((kind, field)) = unpacker.unpack(packet, offset, config, resolver, analyser) {
                    break Some(Stop::Bad(fault(first, kind, field, offset)));
                }
                if resolver.is_flooded() {
                    let kind = ErrorKind::Impossible { found: u64::from(config.max_spec) };
                    break Some(Stop::Bad(fault(first, kind, "speculation depth", offset)));
                }
                at += length;
                analyser.out.turn();
            }
            if analyser.out.done.len() > pieces {
                break Some(Stop::Pause);
            }
        };
        *place = at;
        stop
    }
}

/// Packets that say nothing which would need a Trace Info before it.
fn packet_is_free(packet: &Packet) -> bool {
    matches!(packet, Packet::TraceInfo(_) | Packet::Event(_) | Packet::AlignmentSync { .. } | Packet::Ignore)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// A packet that runs into a synchronisation.
#[cold]
fn overrun(first: u8, offset: u64) -> Error {
    fault(first, ErrorKind::Missing, "", offset)
}

#[cold]
fn fault(first: u8, kind: ErrorKind, field: &'static str, offset: u64) -> Error {
    match header(first) {
        Some(row) if row.kind != Kind::Reserved => kind.at(offset, row.name, field, row.section),
        _ => kind.at(offset, "packet", field, "K10.5.2.2"),
    }
}
