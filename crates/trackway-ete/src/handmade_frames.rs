//! Streams in frames, and buffers that were written round and round.

use std::sync::Arc;

use trackway_core::Source;

use crate::handmade::*;
use crate::testing::*;
use crate::{Framing, Lift, Options, Packet, Trace, frame};

#[test]
fn several_cores_in_frames() {
    let streams: Vec<Stream> = [(0x11, 0x1000), (0x10, 0x1100)]
        .map(|(id, address)| Stream::new(config(&[("TRCTRACEIDR", id)])).start(address).atoms("E"))
        .into();
    // Alternating, a few bytes each.
    let mut pieces = Vec::new();
    for at in (0..64).step_by(5) {
        for stream in &streams {
            let end = stream.bytes.len().min(at + 5);
            if at < end {
                pieces.push((stream.config.trace_id, &stream.bytes[at..end]));
            }
        }
    }
    let buffer = frame(&pieces);
    let traces: Vec<Trace> = streams
        .iter()
        .map(|stream| Trace {
            framing: Framing::Coresight,
            data: Arc::new(buffer.clone()),
            ..stream.trace(&code())
        })
        .collect();
    for jobs in [1, 3] {
        let mut lift = Lift::new(traces.clone(), Options { jobs, ..Options::default() });
        let events = lines(&mut lift);
        let (done, total) = lift.progress().unwrap();
        assert!(total == 2 * buffer.len() as u64 && total - done < 32, "{done} of {total}");
        let start = ["mark trace-on", "context el1 non-secure a64"];
        assert_eq!(events, [&start[..], &[E], &start, &["1100-1108 2 jump E"]].concat());
    }
}

#[test]
fn a_buffer_that_was_written_round() {
    let stream = plain().atoms("NE").address(0x1000).atoms("N");
    let length = stream.bytes.len();
    for pointer in 0..=length {
        let (old, new) = stream.bytes.split_at(length - pointer);
        let rotated = Stream { config: config(&[]), bytes: [new, old].concat() };
        let options = Options { write_pointer: Some(pointer as u64), ..Options::default() };
        assert_eq!(rotated.events_with(&code(), options), stream.events(&code()), "{pointer}");
    }
}

/// In frames the oldest byte is where a frame begins, or behind the rest of one that was overwritten.
#[test]
fn a_buffer_of_frames_that_was_written_round() {
    let begin = |stream: Stream| stream.put(Packet::AlignmentSync { zeros: 11 }).info(0, 0, 0).start(0x1000);
    let id = 0x12;
    let mut stream = Stream { config: config(&[("TRCTRACEIDR", id)]), bytes: Vec::new() };
    for n in 0..20 {
        stream = begin(stream).atoms(["N", "E", "NE", "EE"][n % 4]).put(Packet::Event(n as u8 % 15 + 1));
    }
    let buffer = frame(&[(id as u8, &stream.bytes[..])]);
    let decode = |data: Vec<u8>, write_pointer: Option<usize>| {
        let framing = Framing::Coresight;
        let trace = Trace { framing, data: Arc::new(data), ..stream.trace(&code()) };
        let write_pointer = write_pointer.map(|place| place as u64);
        trackway_testkit::lines::filled(&mut Lift::new(
            vec![trace],
            Options { write_pointer, ..Options::default() },
        ))
    };
    let shift = |line: &String, pointer: usize| {
        // Offsets are those in the buffer as it was dumped.
        let (offset, rest) = line.split_once(' ').unwrap();
        let offset = u64::from_str_radix(offset.trim_start_matches("0x"), 16).unwrap() as usize;
        format!("{:#x} {rest}", (offset + pointer) % buffer.len())
    };
    let whole = decode(buffer.clone(), None);
    for pointer in (0..=buffer.len()).step_by(4) {
        let old = buffer.len() - pointer;
        let rotated = [&buffer[old..], &buffer[..old]].concat();
        if pointer % 16 == 0 {
            let expected: Vec<String> = whole.iter().map(|line| shift(line, pointer)).collect();
            assert_eq!(decode(rotated, Some(pointer)), expected, "{pointer}");
        }
        // The unit wrote on over part of a frame: that frame is lost, the others stand.
        let mut torn = buffer.clone();
        torn[pointer / 16 * 16..pointer].fill(0);
        let kept = [&torn[pointer.next_multiple_of(16).min(torn.len())..], &torn[..pointer]].concat();
        let start = pointer.next_multiple_of(16).min(torn.len());
        let expected: Vec<String> = decode(kept, None).iter().map(|line| shift(line, start)).collect();
        assert_eq!(decode(torn, Some(pointer)), expected, "{pointer}");
    }
}

/// Frames that begin anywhere, with synchronisations between and in them.
#[test]
fn unaligned_frames_of_a_probe() {
    let stream = Stream::new(config(&[("TRCTRACEIDR", 0x10)])).start(0x1000).atoms(&"NE".repeat(40));
    let mut buffer = vec![0x55; 5];
    for (index, frame) in frame(&[(0x10, &stream.bytes[..])]).chunks(16).enumerate() {
        if index % 3 == 0 {
            buffer.extend([0xff, 0xff, 0xff, 0x7f]);
        }
        let (half, rest) = frame.split_at(2 * (index % 8));
        buffer.extend(half);
        buffer.extend([0xff, 0x7f]);
        buffer.extend(rest);
    }
    let trace = Trace { framing: Framing::Dstream, data: Arc::new(buffer), ..stream.trace(&code()) };
    let events = lines(&mut Lift::new(vec![trace], Options::default()));
    assert_eq!(events, stream.events(&code()));
}
