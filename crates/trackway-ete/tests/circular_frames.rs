//! Frames in a circular buffer: the oldest byte is where a frame begins, or after the rest of one that was overwritten.

use std::sync::Arc;

use trackway_ete::{
    Address, AddressForm, Config, Context, Framing, Options, Packet, TraceInfo, TraceSource, frame, lift,
};
use trackway_image::{Image, Space};
use trackway_testkit::lines::filled;

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

#[test]
fn a_circular_buffer_of_frames() {
    let registers = [("TRCTRACEIDR".to_string(), u64::from(ID))].into();
    let config = Config::from_registers("core", registers, Some(true)).unwrap();
    // nop; b.eq 0x1100; 0x1100: nop; b 0x1000
    let mut image = Image::default();
    for (address, words) in [(0x1000, [0xd503_201f_u32, 0x5400_07e0]), (0x1100, [0xd503_201f, 0x17ff_ffbf])] {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        image.add_raw("code", address, Arc::new(code), Space::default()).unwrap();
    }
    let image = Arc::new(image);
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
