//! CoreSight formatted frames: the bytes of several trace ids in 16-byte frames.
//!
//! An even byte of a frame with bit 0 set changes the trace id; otherwise it is data, whose bit 0 comes from the flags
//! in byte 15. Odd bytes are data. If the flag of an id change is set, the next byte still belongs to the old id. Id 0
//! is padding. Id 0x7f is never used, so an even `ff` starts a synchronisation: `ff ff ff 7f` between frames, `ff 7f`
//! between the halfwords of one.

use trackway_core::SharedBytes;

use crate::config::Framing;
use crate::wire::scan::Straight;

/// Bytes of a frame.
pub(crate) const FRAME: usize = 16;
/// A frame synchronisation.
pub(super) const FSYNC: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];
/// A half-frame synchronisation.
const HSYNC: [u8; 2] = [0xff, 0x7f];
/// Bytes of a probe's block, and of the footer at its end.
const BLOCK: usize = 512;
const FOOTER: usize = 8;

/// Bytes of one trace id, and their places in the buffer.
#[derive(Clone, Debug, Default)]
pub struct Deframed {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Places of the bytes in the buffer.
    map: Vec<Stretch>,
    /// Indexes in `bytes` where some are missing: the buffer was overwritten there.
    pub breaks: Vec<usize>,
}

/// Bytes that are consecutive in the buffer, or fill consecutive frames.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Index of the first byte; negative once bytes before it were consumed.
    start: i64,
    /// Offset of the first byte in the buffer.
    offset: u64,
    /// Number of bytes before one is left out: 15 in whole frames.
    every: u64,
}

impl Stretch {
    #[inline(always)]
    fn offset(&self, index: usize) -> u64 {
        self.straight(index, usize::MAX).offset
    }

    /// The same of a stretch with `most` bytes from `index` on.
    #[inline(always)]
    fn straight(&self, index: usize, most: usize) -> Straight {
        let ahead = (index as i64 - self.start) as u64;
        // Dividing by a constant is cheap.
        let (skipped, left) = if self.every == 15 { (ahead / 15, 15 - ahead % 15) } else { (0, u64::MAX) };
        Straight { offset: self.offset + ahead + skipped, count: most.min(left as usize), framed: most }
    }
}

impl Deframed {
    #[inline]
    fn push(&mut self, byte: u8, offset: u64) {
        self.stretch(offset, u64::MAX);
        self.bytes.push(byte);
    }

    /// The next byte is at `offset` in the buffer.
    #[inline]
    fn stretch(&mut self, offset: u64, every: u64) {
        let index = self.bytes.len();
        match self.map.last() {
            Some(last) if last.every == every && last.offset(index) == offset => {}
            _ => self.map.push(Stretch { start: index as i64, offset, every }),
        }
    }

    /// Offset in the buffer of the byte at `index`; `cursor` is a hint that moves along.
    #[inline]
    pub fn offset(&self, index: usize, cursor: &mut usize) -> u64 {
        self.straight(index, cursor).offset
    }

    /// The same, and where the bytes after it are.
    #[inline]
    pub(crate) fn straight(&self, index: usize, cursor: &mut usize) -> Straight {
        let mut most = usize::MAX;
        while let Some(next) = self.map.get(*cursor + 1) {
            if next.start > index as i64 {
                most = (next.start - index as i64) as usize;
                break;
            }
            *cursor += 1;
        }
        let nowhere = Straight { offset: 0, count: 1, framed: 1 };
        self.map.get(*cursor).map_or(nowhere, |stretch| stretch.straight(index, most))
    }

    /// The hint for [`offset`](Deframed::offset) at `index`.
    pub fn cursor(&self, index: usize) -> usize {
        self.map.partition_point(|stretch| stretch.start <= index as i64).saturating_sub(1)
    }

    /// Drops the first `count` bytes.
    pub fn consume(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        self.bytes.drain(..count);
        let keep = self.cursor(count);
        self.map.drain(..keep);
        for stretch in &mut self.map {
            stretch.start -= count as i64;
        }
        self.breaks.retain(|&at| at >= count);
        for at in &mut self.breaks {
            *at -= count;
        }
    }
}

/// Unpacks the bytes of one trace id from a buffer of frames, some at a time.
#[derive(Clone, Debug)]
pub struct Frames {
    /// Next byte of the buffer.
    at: usize,
    /// The current trace id; `None` before the first change.
    id: Option<u8>,
    /// The buffer has blocks with footers.
    blocks: bool,
    /// The first synchronisation is not found yet.
    searching: bool,
    /// Ids that no source has and that appear once: they end the trust in the source that they interrupt.
    strange: u128,
}

/// A place between two frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct FramePlace {
    at: u64,
    id: Option<u8>,
    searching: bool,
}

/// Bit 0 of the even bytes that can hold an id.
const IDS: u128 = 0x0001_0001_0001_0001_0001_0001_0001_0001;

/// Flag `i` of byte 15 goes to bit 0 of byte 2 × i.
const FLAGS: [u128; 256] = {
    let mut table = [0; 256];
    let mut flags = 0;
    while flags < 256 {
        let mut bit = 0;
        while bit < 8 {
            if flags >> bit & 1 == 1 {
                table[flags] |= 1 << (16 * bit);
            }
            bit += 1;
        }
        flags += 1;
    }
    table
};

impl Frames {
    /// At the start of `buffer`.
    pub fn new(framing: Framing, buffer: &[u8]) -> Self {
        let searching = framing == Framing::Dstream && find(buffer, 0, false).is_some();
        let mut frames = Frames { at: 0, id: None, blocks: false, searching, strange: 0 };
        if searching && buffer.len() >= BLOCK && buffer.len().is_multiple_of(BLOCK) {
            // Footers shift the frames: without them, fewer synchronisations are inside a frame.
            let torn = |blocks| Frames { blocks, ..frames.clone() }.torn(buffer);
            frames.blocks = torn(true) < torn(false);
        }
        frames
    }

    /// As [`new`](Frames::new), with ids that are [strange](Survey::strange), one bit each: such an id, as after a flipped
    /// bit, ends the trust in the source that it interrupts.
    pub(crate) fn with_strange(framing: Framing, buffer: &[u8], strange: u128) -> Self {
        Frames { strange, ..Frames::new(framing, buffer) }
    }

    /// The place between two frames.
    pub(crate) fn place(&self) -> FramePlace {
        FramePlace { at: self.at as u64, id: self.id, searching: self.searching }
    }

    /// Moves to a place between two frames of `buffer`; false if there is no such place.
    pub(crate) fn enter(&mut self, place: FramePlace, buffer: &[u8]) -> bool {
        let at = usize::try_from(place.at).ok().filter(|at| *at <= buffer.len());
        let there = at.is_some() && (!place.searching || self.searching);
        if there {
            (self.at, self.id, self.searching) = (at.unwrap_or(0), place.id, place.searching);
        }
        there
    }

    /// Number of bytes of the buffer that were unpacked.
    pub fn position(&self) -> u64 {
        self.at as u64
    }

    /// Number of frames that a synchronisation cuts short.
    fn torn(mut self, buffer: &[u8]) -> usize {
        let mut torn = 0;
        let mut frame = [(0, 0); 16];
        while let Some(step) = self.frame(buffer, &mut frame) {
            torn += usize::from(step == Step::Torn);
        }
        torn
    }

    /// Appends bytes of `id` to `out` until it has `limit` bytes; false at the end of `buffer`.
    pub fn pull(&mut self, buffer: &[u8], id: u8, limit: usize, out: &mut Deframed) -> bool {
        self.pull_until(buffer, id, limit, usize::MAX, out)
    }

    /// As [`pull`](Frames::pull), but stops between two frames once it has come to the place `until`.
    pub(crate) fn pull_until(
        &mut self,
        buffer: &[u8],
        id: u8,
        limit: usize,
        until: usize,
        out: &mut Deframed,
    ) -> bool {
        let mut frame = [(0, 0); 16];
        while out.bytes.len() < limit && self.at < until {
            if !self.searching && !self.blocks {
                self.fast(&buffer[..until.min(buffer.len())], id, limit, out);
                if out.bytes.len() >= limit || self.at >= until {
                    return true;
                }
            }
            match self.frame(buffer, &mut frame) {
                None => return false,
                Some(Step::Frame(len)) => {
                    let strange = self.strange;
                    self.slow(&frame[..len], &mut |part| match part {
                        Part::Byte(owner, byte, offset) if owner == Some(id) => out.push(byte, offset),
                        // Bytes of the source may lie under an id that is damaged.
                        Part::Change(Some(from), to) if from == id && strange >> to & 1 == 1 => {
                            out.breaks.push(out.bytes.len());
                        }
                        _ => {}
                    });
                }
                Some(Step::Barrier) => {
                    self.id = None;
                    out.breaks.push(out.bytes.len());
                }
                Some(Step::Sync | Step::Torn) => {}
            }
        }
        true
    }

    /// The bytes of a frame that has those of the current id only, and the index of the byte that says so again: 15, which
    /// holds the flags, if none does. `None` for any other frame.
    #[inline(always)]
    fn whole(&self, frame: &[u8; FRAME]) -> Option<([u8; FRAME], usize)> {
        let bytes = u128::from_le_bytes(*frame);
        let ids = bytes & IDS;
        let index = if ids == 0 { 15 } else { ids.trailing_zeros() as usize / 8 };
        let is_one = ids & ids.wrapping_sub(1) == 0;
        (ids == 0 || is_one && self.id == Some(frame[index] >> 1))
            .then(|| ((bytes | FLAGS[usize::from(frame[15])]).to_le_bytes(), index))
    }

    /// Frames of the current id: all their bytes at once.
    #[inline]
    fn fast(&mut self, buffer: &[u8], id: u8, limit: usize, out: &mut Deframed) {
        let wanted = self.id == Some(id);
        while out.bytes.len() < limit
            && let Some(rest) = buffer.get(self.at..)
            && let Some(frame) = rest.first_chunk::<FRAME>()
            && let Some((bytes, index)) = self.whole(frame)
        {
            if wanted && index == 15 {
                out.stretch(self.at as u64, 15);
                self.at += FRAME * without_ids(rest, limit, &mut out.bytes);
                continue;
            }
            if wanted {
                if index > 0 {
                    out.stretch(self.at as u64, 15);
                }
                let (before, after) = pieces(&bytes, index);
                out.bytes.extend_from_slice(before);
                if !after.is_empty() {
                    out.stretch((self.at + index + 1) as u64, u64::MAX);
                    out.bytes.extend_from_slice(after);
                }
            }
            self.at += FRAME;
        }
    }

    /// One frame, byte by byte; an incomplete one at the end has no flags.
    fn slow(&mut self, frame: &[(u8, u64)], put: &mut impl FnMut(Part)) {
        let flags = if frame.len() == 16 { frame[15].0 } else { 0 };
        let mut next_id = None;
        for (index, &(byte, offset)) in frame.iter().take(15).enumerate() {
            if index % 2 == 1 {
                put(Part::Byte(self.id, byte, offset));
                if let Some(id) = next_id.take() {
                    self.change(id, put);
                }
            } else {
                let flag = flags >> (index / 2) & 1;
                if byte & 1 == 0 {
                    put(Part::Byte(self.id, byte | flag, offset));
                } else if flag == 1 {
                    next_id = Some(byte >> 1);
                } else {
                    self.change(byte >> 1, put);
                }
            }
        }
        if let Some(id) = next_id {
            self.change(id, put);
        }
    }

    fn change(&mut self, id: u8, put: &mut impl FnMut(Part)) {
        put(Part::Change(self.id, id));
        self.id = Some(id);
    }

    /// The next frame or synchronisation.
    fn frame(&mut self, buffer: &[u8], frame: &mut [(u8, u64); 16]) -> Option<Step> {
        if self.searching {
            self.at = find(buffer, self.at, self.blocks)?;
            self.searching = false;
        }
        let mut len = 0;
        let mut syncs = 0;
        while len < 16 {
            let Some((pair, next)) = self.pair(buffer) else {
                // An incomplete frame at the end lacks its flags, and could be padding.
                return None;
            };
            if pair[0].0 == 0xff {
                if pair[1].0 == HSYNC[1] {
                    self.at = next;
                    continue;
                }
                let sync = Frames { at: next, ..self.clone() };
                if let Some((rest, behind)) = sync.pair(buffer)
                    && [pair[0].0, pair[1].0, rest[0].0, rest[1].0] == FSYNC
                {
                    self.at = behind;
                    if len > 0 {
                        return Some(Step::Torn);
                    }
                    syncs += 1;
                    if syncs == 4 {
                        return Some(Step::Barrier);
                    }
                    continue;
                }
            }
            if syncs > 0 {
                return Some(Step::Sync);
            }
            self.at = next;
            frame[len] = pair[0];
            frame[len + 1] = pair[1];
            len += 2;
        }
        Some(Step::Frame(len))
    }

    /// The next two bytes with their offsets, and the place after them; footers are skipped.
    fn pair(&self, buffer: &[u8]) -> Option<([(u8, u64); 2], usize)> {
        let mut at = self.at;
        let mut pair = [(0, 0); 2];
        for slot in &mut pair {
            if self.blocks && at % BLOCK >= BLOCK - FOOTER {
                at = at.next_multiple_of(BLOCK);
            }
            *slot = (*buffer.get(at)?, at as u64);
            at += 1;
        }
        Some((pair, at))
    }
}

/// Appends the data of the frames at the start of `buffer` that change no id, until `out` has `limit` bytes; returns their
/// number.
fn without_ids(buffer: &[u8], limit: usize, out: &mut Vec<u8>) -> usize {
    let (frames, _) = buffer.as_chunks::<FRAME>();
    let begun = out.len();
    let most = limit.saturating_sub(begun).div_ceil(FRAME - 1);
    let has_none = |frame: &&[u8; FRAME]| u128::from_le_bytes(**frame) & IDS == 0;
    let count = frames.iter().take(most).take_while(has_none).count();
    out.resize(begun + count * (FRAME - 1), 0);
    let (data, _) = out[begun..].as_chunks_mut::<{ FRAME - 1 }>();
    for (data, frame) in data.iter_mut().zip(frames) {
        let bytes = u128::from_le_bytes(*frame) | FLAGS[usize::from(frame[FRAME - 1])];
        // Two halves that share a byte.
        let (low, high) = (bytes as u64, (bytes >> 56) as u64);
        *data.first_chunk_mut::<8>().expect("15 bytes") = low.to_le_bytes();
        *data.last_chunk_mut::<8>().expect("15 bytes") = high.to_le_bytes();
    }
    count
}

/// The data of a frame before and after the byte at `index`, which is not data.
fn pieces(frame: &[u8; FRAME], index: usize) -> (&[u8], &[u8]) {
    (&frame[..index], frame.get(index + 1..15).unwrap_or_default())
}

/// A part of a frame.
enum Part {
    /// A byte of this id, and its offset.
    Byte(Option<u8>, u8, u64),
    /// The id changes.
    Change(Option<u8>, u8),
}

/// A result of [`Frames::frame`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A frame of this many bytes.
    Frame(usize),
    /// Synchronisations before a frame.
    Sync,
    /// A synchronisation inside a frame: the frame is lost.
    Torn,
    /// Four synchronisations in a row: the bytes after them do not continue those before.
    Barrier,
}

/// The first frame synchronisation at or after `from`.
fn find(buffer: &[u8], from: usize, blocks: bool) -> Option<usize> {
    let found = buffer.get(from..)?.windows(4).position(|window| window == FSYNC)? + from;
    // Not inside a footer.
    if blocks && found % BLOCK >= BLOCK - FOOTER { find(buffer, found + 1, blocks) } else { Some(found) }
}

/// The trace ids in a buffer: the number of bytes of each, and how often it begins.
#[derive(Clone, Debug)]
pub struct Survey([(u64, u64); 128]);

impl Survey {
    /// Looks at a whole buffer, which may be larger than memory.
    pub fn of(framing: Framing, data: &SharedBytes) -> Self {
        survey(framing, (**data).as_ref(), &mut releasing(data))
    }

    /// Each id that has bytes, without padding.
    pub fn ids(&self) -> Vec<(u8, u64)> {
        (1..128u8).map(|id| (id, self.0[usize::from(id)].0)).filter(|&(_, count)| count > 0).collect()
    }

    /// Ids that begin once and are not known, one bit each: damage, most likely.
    pub fn strange(&self, known: u128) -> u128 {
        (1..0x70u8)
            .filter(|id| known >> id & 1 == 0 && self.0[usize::from(*id)].1 == 1)
            .fold(0, |ids, id| ids | 1 << id)
    }
}

/// Bytes of a mapped file that each reader of it keeps in memory; every source has one.
pub(crate) const STRETCH: usize = 1 << 22;

/// Releases what was read of a buffer, from time to time.
pub(crate) fn releasing(data: &SharedBytes) -> impl FnMut(usize) + '_ {
    let mut released = 0;
    move |at| {
        if at - released >= STRETCH {
            data.release(std::mem::replace(&mut released, at)..at);
        }
    }
}

/// Surveys a buffer, and says from time to time how far.
fn survey(framing: Framing, buffer: &[u8], reached: &mut dyn FnMut(usize)) -> Survey {
    let mut found = [(0, 0); 128];
    let mut frames = Frames::new(framing, buffer);
    let mut frame = [(0, 0); 16];
    loop {
        let until = frames.at + STRETCH;
        while !frames.searching
            && frames.at < until
            && !frames.blocks
            && let Some(frame) = buffer.get(frames.at..).and_then(|rest| rest.first_chunk::<FRAME>())
            && let Some((_, index)) = frames.whole(frame)
        {
            if let Some(id) = frames.id {
                found[usize::from(id)].0 += if index == 15 { 15 } else { 14 };
            }
            frames.at += 16;
        }
        reached(frames.at);
        match frames.frame(buffer, &mut frame) {
            None => return Survey(found),
            Some(Step::Frame(len)) => frames.slow(&frame[..len], &mut |part| match part {
                Part::Byte(Some(id), ..) => found[usize::from(id)].0 += 1,
                Part::Change(from, to) if from != Some(to) => found[usize::from(to)].1 += 1,
                _ => {}
            }),
            Some(Step::Barrier) => frames.id = None,
            Some(Step::Sync | Step::Torn) => {}
        }
    }
}

/// The first `limit` bytes of every trace id, in one pass; says from time to time how far.
pub(crate) fn split(
    framing: Framing,
    buffer: &[u8],
    limit: usize,
    reached: &mut dyn FnMut(usize),
) -> [Vec<u8>; 128] {
    let mut found = [const { Vec::new() }; 128];
    let mut frames = Frames::new(framing, buffer);
    let mut frame = [(0, 0); 16];
    let mut put = |id: Option<u8>, bytes: &[u8]| {
        if let Some(of_id) = id.map(|id| &mut found[usize::from(id)]).filter(|of_id| of_id.len() < limit) {
            of_id.extend_from_slice(bytes);
        }
    };
    loop {
        let until = frames.at + STRETCH;
        while !frames.searching
            && frames.at < until
            && !frames.blocks
            && let Some(frame) = buffer.get(frames.at..).and_then(|rest| rest.first_chunk::<FRAME>())
            && let Some((bytes, index)) = frames.whole(frame)
        {
            let (before, after) = pieces(&bytes, index);
            put(frames.id, before);
            put(frames.id, after);
            frames.at += 16;
        }
        reached(frames.at);
        match frames.frame(buffer, &mut frame) {
            None => return found,
            Some(Step::Frame(len)) => frames.slow(&frame[..len], &mut |part| {
                if let Part::Byte(id, byte, _) = part {
                    put(id, &[byte]);
                }
            }),
            Some(Step::Barrier) => frames.id = None,
            Some(Step::Sync | Step::Torn) => {}
        }
    }
}

/// The trace ids in a buffer and the number of bytes of each, without padding.
pub fn ids(framing: Framing, buffer: &[u8]) -> Vec<(u8, u64)> {
    survey(framing, buffer, &mut |_| ()).ids()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::frames::write::frame;
    use proptest::prelude::*;

    fn pull(framing: Framing, buffer: &[u8], id: u8, limit: usize) -> Deframed {
        let mut frames = Frames::new(framing, buffer);
        let mut all = Deframed::default();
        let mut piece = Deframed::default();
        loop {
            let more = frames.pull(buffer, id, limit, &mut piece);
            for index in 0..piece.bytes.len() {
                all.push(piece.bytes[index], piece.offset(index, &mut 0));
            }
            piece = Deframed::default();
            if !more {
                return all;
            }
        }
    }

    fn pieces() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
        let piece = (1u8..0x70, proptest::collection::vec(any::<u8>(), 0..40));
        proptest::collection::vec(piece, 0..12)
    }

    fn of(pieces: &[(u8, Vec<u8>)], id: u8) -> Vec<u8> {
        pieces.iter().filter(|piece| piece.0 == id).flat_map(|piece| piece.1.clone()).collect()
    }

    fn framed(pieces: &[(u8, Vec<u8>)]) -> Vec<u8> {
        frame(&pieces.iter().map(|(id, bytes)| (*id, &bytes[..])).collect::<Vec<_>>())
    }

    /// Puts synchronisations between frames and halfwords, and `lead` bytes before the first.
    fn with_syncs(buffer: &[u8], lead: usize) -> Vec<u8> {
        let mut out = vec![0x55; lead];
        for (number, frame) in buffer.chunks(16).enumerate() {
            if number % 3 == 0 {
                out.extend(FSYNC);
            }
            for (half, pair) in frame.chunks(2).enumerate() {
                if (number + half) % 5 == 4 {
                    out.extend(HSYNC);
                }
                out.extend(pair);
            }
        }
        out
    }

    proptest! {
        #[test]
        fn frames_give_back_what_went_in(pieces in pieces(), limit in 1usize..50) {
            let buffer = framed(&pieces);
            prop_assert_eq!(buffer.len() % 16, 0);
            for id in 1..0x70 {
                let piece = pull(Framing::Coresight, &buffer, id, limit);
                prop_assert_eq!(&piece.bytes, &of(&pieces, id));
                let split = split(Framing::Coresight, &buffer, usize::MAX, &mut |_| ());
                prop_assert_eq!(&split[usize::from(id)], &of(&pieces, id));
                for index in 0..piece.bytes.len() {
                    let offset = piece.offset(index, &mut 0) as usize;
                    prop_assert!(buffer[offset] | 1 == piece.bytes[index] | 1);
                }
            }
        }

        #[test]
        fn synchronisations_and_footers_are_taken_out(pieces in pieces(), lead in 0usize..40) {
            let pieces = [pieces, vec![(9, vec![1, 2, 3])]].concat();
            let buffer = with_syncs(&framed(&pieces), lead);
            for id in 1..0x70 {
                prop_assert_eq!(&pull(Framing::Dstream, &buffer, id, 64).bytes, &of(&pieces, id));
            }
            let mut blocks = Vec::new();
            for block in buffer.chunks(BLOCK - FOOTER) {
                blocks.extend(block);
                blocks.resize(blocks.len().next_multiple_of(BLOCK) - FOOTER, 0xaa);
                blocks.extend([1, 2, 3, 4, 5, 6, 7, 8]);
            }
            if buffer.len() > 3 * BLOCK {
                for (id, _) in &pieces {
                    let got = pull(Framing::Dstream, &blocks, *id, 64).bytes;
                    let expected = of(&pieces, *id);
                    prop_assert_eq!(&got[..expected.len()], &expected[..]);
                }
            }
        }

        #[test]
        fn consuming_keeps_the_map(pieces in pieces(), cut in 0usize..60) {
            let buffer = framed(&pieces);
            for id in [1, pieces.first().map_or(2, |piece| piece.0)] {
                let whole = pull(Framing::Coresight, &buffer, id, usize::MAX);
                let mut rest = whole.clone();
                let cut = cut.min(whole.bytes.len());
                rest.consume(cut);
                for index in 0..rest.bytes.len() {
                    prop_assert_eq!(rest.bytes[index], whole.bytes[index + cut]);
                    prop_assert_eq!(rest.offset(index, &mut 0), whole.offset(index + cut, &mut 0));
                }
            }
        }

        /// Frames that are read at once have the same bytes as byte by byte; many say their id again.
        #[test]
        fn whole_frames_are_bytes_one_by_one(
            mut frames in proptest::collection::vec((any::<[u8; FRAME]>(), 0u8..8), 1..60),
            limit in 1usize..100,
        ) {
            for (frame, kind) in &mut frames {
                if *kind > 0 {
                    frame.iter_mut().step_by(2).take(8).for_each(|byte| *byte &= 0xfe);
                }
                match *kind {
                    1..4 => frame[usize::from(frame[15] >> 4 & 0xe)] = 0x21,
                    4 => frame[0] = 0x31,
                    _ => {}
                }
            }
            let buffer: Vec<u8> = frames.iter().flat_map(|(frame, _)| *frame).collect();
            for id in [0x10, 0x18] {
                let (mut plainly, mut frame) = (Vec::new(), [(0, 0); 16]);
                let mut walk = Frames::new(Framing::Coresight, &buffer);
                while let Some(step) = walk.frame(&buffer, &mut frame) {
                    match step {
                        Step::Frame(len) => walk.slow(&frame[..len], &mut |part| match part {
                            Part::Byte(owner, byte, offset) if owner == Some(id) => plainly.push((byte, offset)),
                            _ => {}
                        }),
                        Step::Barrier => walk.id = None,
                        Step::Sync | Step::Torn => {}
                    }
                }
                let all = pull(Framing::Coresight, &buffer, id, limit);
                let found: Vec<(u8, u64)> =
                    (0..all.bytes.len()).map(|index| (all.bytes[index], all.offset(index, &mut 0))).collect();
                prop_assert_eq!(&found, &plainly);
                let of_id = ids(Framing::Coresight, &buffer).iter().find(|known| known.0 == id).map_or(0, |known| known.1);
                prop_assert_eq!(of_id, plainly.len() as u64);
                let split = split(Framing::Coresight, &buffer, usize::MAX, &mut |_| ());
                prop_assert!(split[usize::from(id)].iter().eq(plainly.iter().map(|(byte, _)| byte)));
            }
        }

        #[test]
        fn any_bytes_end(buffer: Vec<u8>) {
            for framing in [Framing::Coresight, Framing::Dstream] {
                let total: u64 = ids(framing, &buffer).iter().map(|id| id.1).sum();
                prop_assert!(total <= buffer.len() as u64);
            }
        }
    }

    #[test]
    fn an_id_change_can_take_effect_late() {
        // Id 0x10 now; at byte 2 to 0x11, but byte 3 still belongs to 0x10.
        let mut buffer = [0u8; 16];
        buffer[..6].copy_from_slice(&[0x21, 0xaa, 0x23, 0xbb, 0xcc, 0xdd]);
        buffer[6] = 0x01;
        buffer[15] = 0b0000_0110;
        assert_eq!(pull(Framing::Coresight, &buffer, 0x10, 99).bytes, [0xaa, 0xbb]);
        assert_eq!(pull(Framing::Coresight, &buffer, 0x11, 99).bytes, [0xcd, 0xdd]);
        assert_eq!(ids(Framing::Coresight, &buffer), [(0x10, 2), (0x11, 2)]);
    }

    #[test]
    fn an_unknown_id_that_appears_once_interrupts() {
        let pull = |pieces: &[(u8, &[u8])]| {
            let buffer = frame(pieces);
            let mut piece = Deframed::default();
            let strange = survey(Framing::Coresight, &buffer, &mut |_| ()).strange(1 << 5 | 1 << 6);
            let mut frames = Frames::with_strange(Framing::Coresight, &buffer, strange);
            frames.pull(&buffer, 5, usize::MAX, &mut piece);
            (piece.bytes.len(), piece.breaks)
        };
        // A flipped bit; a known source; an id of another device; a trigger.
        assert_eq!(pull(&[(5, &[1; 20]), (7, &[2; 9]), (5, &[3; 20])]), (40, vec![20]));
        assert_eq!(pull(&[(5, &[1; 20]), (6, &[2; 9]), (5, &[3; 20])]), (40, vec![]));
        assert_eq!(pull(&[(5, &[1; 20]), (7, &[2]), (5, &[3; 20]), (7, &[2]), (5, &[4])]), (41, vec![]));
        assert_eq!(pull(&[(5, &[1; 20]), (0x7d, &[2; 9]), (5, &[3; 20])]), (40, vec![]));
    }

    #[test]
    fn four_synchronisations_are_a_barrier() {
        let mut buffer = frame(&[(5, &[1; 14])]);
        buffer.extend([FSYNC; 4].concat());
        buffer.extend(frame(&[(5, &[2; 14])]));
        let mut piece = Deframed::default();
        Frames::new(Framing::Coresight, &buffer).pull(&buffer, 5, usize::MAX, &mut piece);
        assert_eq!((piece.bytes.len(), piece.breaks), (28, vec![14]));
    }
}
