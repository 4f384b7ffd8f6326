//! Payloads: every compression in and out, in memory and as a stream, entered by block and after damage.

use std::sync::Arc;

use trackway_io::payload::{Compression, Content, ContentOptions, Encoder, EncoderOptions, Family, Payload};

const PREFIX: &[u8] = b"prefix";
const UNIT: usize = 16;
const BLOCK: u64 = 1 << 16;

/// Items that do not compress to nothing.
fn items() -> Vec<u8> {
    let item = |n: u64| ((u128::from(n) * 0x9e37_79b9_7f4a_7c15) >> 7).to_le_bytes();
    (0..20_000).flat_map(item).collect()
}

fn file(compression: Compression, threads: usize) -> Vec<u8> {
    let options = EncoderOptions { preset: 1, block: BLOCK, unit: UNIT as u64, threads };
    let mut encoder = Encoder::create(PREFIX.to_vec(), Some(compression), &options).unwrap();
    encoder.write_all(&items()).unwrap();
    encoder.finish().unwrap()
}

fn options(family: Family, threads: usize) -> ContentOptions {
    ContentOptions { family, unit: UNIT, ahead: 0, threads }
}

fn of_file(bytes: Vec<u8>, family: Family, threads: usize) -> Content {
    Payload::of_file(Arc::new(bytes), PREFIX.len()).content(options(family, threads))
}

/// The rest of the content, and whether it ends without damage.
fn rest(content: &mut Content) -> (Vec<u8>, bool) {
    let mut all = Vec::new();
    loop {
        all.extend_from_slice(content.bytes());
        content.consume(content.bytes().len());
        match content.more() {
            Ok(true) => {}
            Ok(false) => return (all, true),
            Err(_) => return (all, false),
        }
    }
}

#[test]
fn every_compression_is_read_back_from_memory_and_from_a_stream() {
    let expected = [PREFIX, &items()].concat();
    for compression in [Compression::Xz, Compression::LzmaAlone, Compression::Zlib] {
        let (bytes, family) = (file(compression, 1), compression.family());
        assert_eq!(Compression::detect(&bytes[PREFIX.len()..], family), compression);
        for threads in [1, 3] {
            let mut content = of_file(bytes.clone(), family, threads);
            assert!(rest(&mut content) == (expected.clone(), true), "{compression:?}, {threads} threads");
            assert_eq!(content.offset(), expected.len() as u64);
        }
        let stream = Box::new(std::io::Cursor::new(bytes[PREFIX.len()..].to_vec()));
        let mut payload = Payload::of_stream(PREFIX.to_vec(), stream, UNIT);
        assert!(payload.start().unwrap().len() >= UNIT);
        assert!(
            rest(&mut payload.content(options(family, 1))) == (expected.clone(), true),
            "{compression:?}"
        );
    }
}

#[test]
fn the_number_of_threads_does_not_change_the_file() {
    assert!(file(Compression::Xz, 1) == file(Compression::Xz, 3));
}

#[test]
fn blocks_are_entered_by_offset_and_after_damage() {
    let expected = [PREFIX, &items()].concat();
    let bytes = file(Compression::Xz, 1);
    for threads in [1, 2] {
        let mut content = of_file(bytes.clone(), Family::Lzma, threads);
        assert!(content.block_count() > 3);
        content.skip_to_block_of(3 * BLOCK + 100);
        assert_eq!(content.offset(), PREFIX.len() as u64 + 3 * BLOCK);
        let from = content.offset() as usize;
        assert!(rest(&mut content) == (expected[from..].to_vec(), true), "{threads} threads");

        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0xff;
        let mut content = of_file(damaged, Family::Lzma, threads);
        assert!(!rest(&mut content).1, "the damage is reported");
        let skipped = content.skip_to_next_block().expect("there are blocks after the damage");
        assert!(skipped <= BLOCK);
        let from = content.offset() as usize;
        assert!(rest(&mut content) == (expected[from..].to_vec(), true), "{threads} threads");
    }
}

/// Blocks of a file are compared with their checks by us, those of a stream by liblzma.
#[test]
fn damage_is_found_in_a_file_as_in_a_stream() {
    let bytes = file(Compression::Xz, 1);
    let payload = bytes.len() - PREFIX.len();
    let (ends, spread) = ((0..16).chain(payload - 64..payload), (0..payload).step_by(payload / 60));
    let mut damages = 0;
    for place in ends.chain(spread) {
        let mut damaged = bytes.clone();
        damaged[PREFIX.len() + place] ^= 1 << (place % 8);
        let stream = Box::new(std::io::Cursor::new(damaged[PREFIX.len()..].to_vec()));
        let payload = Payload::of_stream(PREFIX.to_vec(), stream, UNIT);
        let expected = rest(&mut payload.content(options(Family::Lzma, 1)));
        assert!(rest(&mut of_file(damaged.clone(), Family::Lzma, 1)) == expected, "byte {place}");
        assert_eq!(rest(&mut of_file(damaged, Family::Lzma, 2)).1, expected.1, "byte {place}");
        damages += u32::from(!expected.1);
    }
    assert!(damages > 100, "{damages}");
}
