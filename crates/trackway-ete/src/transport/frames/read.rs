//! CoreSight formatted frames: the bytes of several trace ids in 16-byte frames.
//!
//! In a frame an even byte with bit 0 set changes the trace id, else it is data whose bit 0 comes from the
//! flags in byte 15; odd bytes are data. When an id changes and its flag is set, the next byte still
//! belongs to the old id. Id 0 is padding. Since id 0x7f is never used, an even `ff` opens a
//! synchronisation: `ff ff ff 7f` between frames, `ff 7f` between the halfwords of one.

/// How trace bytes lie in a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// The bytes of one trace unit as they are.
    #[default]
    Raw,
    /// 16-byte frames, aligned to the start of the buffer.
    Coresight,
    /// Frames between frame synchronisations, which may start anywhere; captured by a probe. Blocks of
    /// 512 bytes with an 8-byte footer each are recognised.
    Dstream,
}

impl Framing {
    /// By the word that a snapshot uses for it.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word.trim().to_ascii_lowercase().as_str() {
            "source_data" => Framing::Raw,
            "coresight" => Framing::Coresight,
            "dstream_coresight" => Framing::Dstream,
            _ => return None,
        })
    }

    /// The word that a snapshot uses for it.
    pub const fn word(self) -> &'static str {
        match self {
            Framing::Raw => "source_data",
            Framing::Coresight => "coresight",
            Framing::Dstream => "dstream_coresight",
        }
    }
}

/// The word of a frame synchronisation.
const FSYNC: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];
/// The word of a half-frame synchronisation.
const HSYNC: [u8; 2] = [0xff, 0x7f];
/// A probe's block: data and a footer.
const BLOCK: usize = 512;
const FOOTER: usize = 8;

/// Bytes of one trace id, and where they lie in the buffer.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Where the bytes lie in the buffer.
    map: Vec<Stretch>,
    /// Indexes in `bytes` before which some are missing: the buffer was overwritten there.
    pub breaks: Vec<usize>,
}

/// Bytes that lie one after the other in the buffer, or in whole frames one after the other.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Index of the first; before the piece's start once bytes were taken off it.
    start: i64,
    /// Its offset in the buffer.
    offset: u64,
    /// Bytes before one is left out: 15 in whole frames.
    every: u64,
}

impl Stretch {
    #[inline(always)]
    fn offset(&self, index: usize) -> u64 {
        let ahead = (index as i64 - self.start) as u64;
        // Dividing by a constant is cheap.
        let skipped = if self.every == 15 { ahead / 15 } else { 0 };
        self.offset + ahead + skipped
    }
}

impl Piece {
    #[inline]
    fn push(&mut self, byte: u8, offset: u64) {
        self.stretch(offset, u64::MAX);
        self.bytes.push(byte);
    }

    /// The next byte lies at `offset`.
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
        while let Some(next) = self.map.get(*cursor + 1) {
            if next.start > index as i64 {
                break;
            }
            *cursor += 1;
        }
        self.map.get(*cursor).map_or(0, |stretch| stretch.offset(index))
    }

    /// The hint for [`offset`](Piece::offset) at `index`.
    pub fn cursor(&self, index: usize) -> usize {
        self.map.partition_point(|stretch| stretch.start <= index as i64).saturating_sub(1)
    }

    /// Forgets the first `count` bytes.
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
        self.breaks.retain(|&at| at > count);
        for at in &mut self.breaks {
            *at -= count;
        }
    }
}

/// Takes the bytes of one trace id out of a buffer of frames, piece by piece.
#[derive(Clone, Debug)]
pub struct Frames {
    /// Next byte of the buffer.
    at: usize,
    /// The id that bytes belong to; none is known before the first change.
    id: Option<u8>,
    /// Blocks with footers.
    blocks: bool,
    /// The first synchronisation is still to be found.
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
        let mut frames = Frames { at: 0, id: None, blocks: false, searching };
        if searching && buffer.len() >= BLOCK && buffer.len().is_multiple_of(BLOCK) {
            // Footers shift the frames: with them taken out fewer synchronisations fall into a frame.
            let torn = |blocks| Frames { blocks, ..frames.clone() }.torn(buffer);
            frames.blocks = torn(true) < torn(false);
        }
        frames
    }

    /// Bytes of the buffer that were taken apart.
    pub fn position(&self) -> u64 {
        self.at as u64
    }

    /// How many frames are cut short by a synchronisation.
    fn torn(mut self, buffer: &[u8]) -> usize {
        let mut torn = 0;
        let mut frame = [(0, 0); 16];
        while let Some(step) = self.frame(buffer, &mut frame) {
            torn += usize::from(step == Step::Torn);
        }
        torn
    }

    /// Appends bytes of `id` to `piece` until it has `limit` bytes; false at the end of `buffer`.
    pub fn pull(&mut self, buffer: &[u8], id: u8, limit: usize, piece: &mut Piece) -> bool {
        let mut frame = [(0, 0); 16];
        while piece.bytes.len() < limit {
            if !self.searching && !self.blocks {
                self.fast(buffer, id, limit, piece);
                if piece.bytes.len() >= limit {
                    return true;
                }
            }
            match self.frame(buffer, &mut frame) {
                None => return false,
                Some(Step::Frame(len)) => self.slow(&frame[..len], &mut |owner, byte, offset| {
                    if owner == Some(id) {
                        piece.push(byte, offset);
                    }
                }),
                Some(Step::Barrier) => {
                    self.id = None;
                    piece.breaks.push(piece.bytes.len());
                }
                Some(Step::Sync | Step::Torn) => {}
            }
        }
        true
    }

    /// Frames without an id change: fifteen bytes at once.
    #[inline]
    fn fast(&mut self, buffer: &[u8], id: u8, limit: usize, piece: &mut Piece) {
        let wanted = self.id == Some(id);
        while let Some(chunk) = buffer.get(self.at..).and_then(|rest| rest.first_chunk::<16>()) {
            let frame = u128::from_le_bytes(*chunk);
            if frame & IDS != 0 || piece.bytes.len() >= limit {
                return;
            }
            if wanted {
                let data = frame | FLAGS[usize::from(chunk[15])];
                piece.stretch(self.at as u64, 15);
                piece.bytes.extend_from_slice(&data.to_le_bytes()[..15]);
            }
            self.at += 16;
        }
    }

    /// One frame, byte by byte; a short one at the end has no flags.
    fn slow(&mut self, frame: &[(u8, u64)], put: &mut impl FnMut(Option<u8>, u8, u64)) {
        let flags = if frame.len() == 16 { frame[15].0 } else { 0 };
        let mut late = None;
        for (index, &(byte, offset)) in frame.iter().take(15).enumerate() {
            if index % 2 == 1 {
                put(self.id, byte, offset);
                if let Some(id) = late.take() {
                    self.id = Some(id);
                }
            } else {
                let flag = flags >> (index / 2) & 1;
                if byte & 1 == 0 {
                    put(self.id, byte | flag, offset);
                } else if flag == 1 {
                    late = Some(byte >> 1);
                } else {
                    self.id = Some(byte >> 1);
                }
            }
        }
        if let Some(id) = late {
            self.id = Some(id);
        }
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
                // What is left of a frame at the end cannot be told apart from padding: its flags are lost.
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

    /// The next two bytes with their offsets, and the place behind them; footers are stepped over.
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

/// What [`Frames::frame`] met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A frame of so many bytes.
    Frame(usize),
    /// Synchronisations before a frame.
    Sync,
    /// A synchronisation inside a frame: the frame is lost.
    Torn,
    /// Four in a row: what follows does not continue what was before.
    Barrier,
}

/// The first frame synchronisation at or after `from`.
fn find(buffer: &[u8], from: usize, blocks: bool) -> Option<usize> {
    let found = buffer.get(from..)?.windows(4).position(|window| window == FSYNC)? + from;
    // A footer is no place for one.
    if blocks && found % BLOCK >= BLOCK - FOOTER { find(buffer, found + 1, blocks) } else { Some(found) }
}

/// The trace ids in a buffer and how many bytes each has, by id; padding is left out.
pub fn ids(framing: Framing, buffer: &[u8]) -> Vec<(u8, u64)> {
    let mut counts = [0u64; 128];
    let mut frames = Frames::new(framing, buffer);
    let mut frame = [(0, 0); 16];
    while let Some(step) = frames.frame(buffer, &mut frame) {
        match step {
            Step::Frame(len) => frames.slow(&frame[..len], &mut |id, _, _| {
                if let Some(id) = id {
                    counts[usize::from(id)] += 1;
                }
            }),
            Step::Barrier => frames.id = None,
            Step::Sync | Step::Torn => {}
        }
    }
    (1..128u8).map(|id| (id, counts[usize::from(id)])).filter(|&(_, count)| count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::frames::write::frame;
    use proptest::prelude::*;

    fn pull(framing: Framing, buffer: &[u8], id: u8, limit: usize) -> Piece {
        let mut frames = Frames::new(framing, buffer);
        let mut all = Piece::default();
        let mut piece = Piece::default();
        loop {
            let more = frames.pull(buffer, id, limit, &mut piece);
            for index in 0..piece.bytes.len() {
                all.push(piece.bytes[index], piece.offset(index, &mut 0));
            }
            piece = Piece::default();
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
    fn four_synchronisations_are_a_barrier() {
        let mut buffer = frame(&[(5, &[1; 14])]);
        buffer.extend([FSYNC; 4].concat());
        buffer.extend(frame(&[(5, &[2; 14])]));
        let mut piece = Piece::default();
        Frames::new(Framing::Coresight, &buffer).pull(&buffer, 5, usize::MAX, &mut piece);
        assert_eq!((piece.bytes.len(), piece.breaks), (28, vec![14]));
    }
}
