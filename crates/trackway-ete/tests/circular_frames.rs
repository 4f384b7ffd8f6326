//! Frames in a circular buffer: the oldest byte is where a frame begins, or after the rest of one that was overwritten.
//! Barriers between frames: bytes are missing there.

use std::sync::Arc;

use trackway_ete::{
    Address, AddressForm, Config, Context, Framing, Options, Packet, TraceInfo, TraceSource, frame, lift,
};
use trackway_image::{Image, Space};
use trackway_testkit::lines::{filled, observed};

const ID: u8 = 0x12;

/// Twenty starts at 0x1000, with a few atoms and an event after each.
fn stream(config: &Config) -> Vec<u8> {
    let mut bytes = Vec::new();
    for n in 0..20u8 {
        let packets = [
            Packet::AlignmentSync { zeros: 11 },
            Packet::TraceInfo(TraceInfo::new(0, 0, 0)),
            Packet::TraceOn,
            Packet::Context(Some(Context { info: 0x31, vmid: 0, context_id: 0 })),
            Packet::Address(Address::new(AddressForm::Long64Is0, 0x1000)),
        ];
        packets.iter().for_each(|packet| packet.write(&config.dialect, &mut bytes));
        bytes.extend([&[0xf6][..], &[0xf7], &[0xf6, 0xf7], &[0xf7, 0xf7]][usize::from(n % 4)]);
        Packet::Event(n % 15 + 1).write(&config.dialect, &mut bytes);
    }
    bytes
}

/// The trace unit, and nop; b.eq 0x1100; 0x1100: nop; b 0x1000
fn program() -> (Config, Arc<Image>) {
    let registers = [("TRCTRACEIDR".to_string(), u64::from(ID))].into();
    let config = Config::from_registers("core", registers, Some(true)).unwrap();
    let mut image = Image::default();
    for (address, words) in [(0x1000, [0xd503_201f_u32, 0x5400_07e0]), (0x1100, [0xd503_201f, 0x17ff_ffbf])] {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        image.add_raw("code", address, Arc::new(code), Space::default()).unwrap();
    }
    (config, Arc::new(image))
}

#[test]
fn a_circular_buffer_of_frames() {
    let (config, image) = program();
    let buffer = frame(&[(ID, &stream(&config)[..])]);
    let decode = |data: Vec<u8>, write_pointer: Option<usize>| {
        let (config, image) = (config.clone(), Arc::clone(&image));
        let source = TraceSource { config, framing: Framing::Coresight, data: Arc::new(data), image };
        let write_pointer = write_pointer.map(|place| place as u64);
        filled(&mut lift(vec![source], &Options { write_pointer, ..Options::default() }))
    };
    let shift = |line: &String, pointer: usize| {
        // Offsets are those in the buffer as it was dumped.
        let (offset, rest) = line.split_once(' ').unwrap();
        let offset = u64::from_str_radix(offset.trim_start_matches("0x"), 16).unwrap() as usize;
        format!("{:#x} {rest}", (offset + pointer) % buffer.len())
    };
    let whole = decode(buffer.clone(), None);
    assert!(whole.len() > 80);
    for pointer in (0..=buffer.len()).step_by(4) {
        let old = buffer.len() - pointer;
        let rotated = [&buffer[old..], &buffer[..old]].concat();
        if pointer % 16 == 0 {
            let expected: Vec<String> = whole.iter().map(|line| shift(line, pointer)).collect();
            assert_eq!(decode(rotated, Some(pointer)), expected, "write pointer {pointer}");
        }
        // The unit overwrote part of a frame: that frame is lost, the others are not.
        let mut torn = buffer.clone();
        torn[pointer / 16 * 16..pointer].fill(0);
        let start = pointer.next_multiple_of(16).min(torn.len());
        let kept = [&torn[start..], &torn[..pointer]].concat();
        let expected: Vec<String> = decode(kept, None).iter().map(|line| shift(line, start)).collect();
        assert_eq!(decode(torn, Some(pointer)), expected, "write pointer {pointer}");
    }
}

/// Also where a window or a batch ends, a barrier is a gap, and the bytes after it are not followed before the next
/// synchronisation.
#[test]
fn a_barrier_is_a_gap_wherever_it_is() {
    let (config, image) = program();
    let start = {
        let whole = stream(&config);
        let packets = whole.windows(11).rposition(|bytes| bytes == [0; 11]).unwrap();
        whole[packets..].iter().copied().take_while(|&byte| byte != 0xf6 && byte != 0xf7).collect::<Vec<u8>>()
    };
    // Taken branches: one packet, one byte, two instructions each.
    let atoms = |count: usize| vec![0xf7; count];
    let second = [atoms(5), start.clone(), atoms(7)].concat();
    // A batch holds 2,048 events; bytes are unpacked 256 KiB at a time.
    for length in (2_060..2_092).chain((1 << 18) - 3..(1 << 18) + 4) {
        let first = [start.clone(), atoms(length - start.len())].concat();
        let sync = [0xff, 0xff, 0xff, 0x7f].repeat(4);
        let data = [frame(&[(ID, &first[..])]), sync, frame(&[(ID, &second[..])])].concat();
        let open = || {
            let (config, image) = (config.clone(), Arc::clone(&image));
            let source =
                TraceSource { config, framing: Framing::Coresight, data: Arc::new(data.clone()), image };
            lift(vec![source], &Options::default())
        };
        let lines = filled(&mut open());
        let runs = lines.iter().filter(|line| line.contains(" run ")).count();
        let gaps: Vec<&String> = lines.iter().filter(|line| line.contains(" gap ")).collect();
        assert_eq!(runs, first.len() - start.len() + 7, "after {length} bytes: {gaps:?}");
        assert!(matches!(gaps[..], [gap] if gap.contains("lost-sync")), "after {length} bytes: {gaps:?}");
        assert!(observed(&mut open()) == lines, "after {length} bytes, on threads");
    }
}
