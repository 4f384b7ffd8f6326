//! Frames: what is put in comes out, and any bytes can be taken apart in pieces of any size.

use trackway_ete::{Deframed, Frames, Framing, frame, ids};

fn pull(framing: Framing, buffer: &[u8], id: u8, step: usize) -> Vec<u8> {
    let mut frames = Frames::new(framing, buffer);
    let (mut piece, mut out) = (Deframed::default(), Vec::new());
    while frames.pull(buffer, id, step, &mut piece) {
        out.append(&mut piece.bytes);
        piece = Deframed::default();
    }
    out.append(&mut piece.bytes);
    out
}

/// Tries one input.
pub fn ete_frames(data: &[u8]) {
    let Some((&step, bytes)) = data.split_first() else { return };
    let step = usize::from(step) + 1;
    for framing in [Framing::Coresight, Framing::Dstream] {
        for (id, count) in ids(framing, bytes) {
            let whole = pull(framing, bytes, id, usize::MAX);
            assert_eq!(whole.len() as u64, count);
            assert_eq!(pull(framing, bytes, id, step), whole);
        }
    }
    // The same bytes as content: two ids in turn.
    let pieces: Vec<(u8, &[u8])> =
        bytes.chunks(step).enumerate().map(|(n, chunk)| (0x10 + (n % 2) as u8, chunk)).collect();
    let buffer = frame(&pieces);
    for id in [0x10, 0x11] {
        let expected: Vec<u8> =
            pieces.iter().filter(|piece| piece.0 == id).flat_map(|piece| piece.1).copied().collect();
        assert_eq!(pull(Framing::Coresight, &buffer, id, step), expected);
    }
}
