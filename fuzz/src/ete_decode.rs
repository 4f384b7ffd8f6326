//! Full decoding of any bytes with a program: it ends, and any number of threads and a stream have the same
//! events. Run it with `-detect_leaks=0`: a thread that is just ending looks like a leak.

use std::sync::Arc;

use trackway_core::Input;
use trackway_ete::{Config, Framing, Options, TraceSource, frame, lift, lift_input};
use trackway_image::{Image, Space};
use trackway_testkit::lines::{filled, observed};

/// Tries one input.
pub fn ete_decode(data: &[u8]) {
    let [unit, framing, packets @ ..] = data else { return };
    // A64 at 0x1000, A32 at 0x2000, T32 at 0x3000; some of each kind of branch.
    let a64 = [
        0xd503_201f_u32,
        0x5400_0080,
        0x9400_0003,
        0x17ff_fffd,
        0xd65f_03c0,
        0xd503_3fdf,
        0xd400_0001,
        0xd61f_0000,
    ];
    let a32 = [0xe320_f000_u32, 0x0b00_0000, 0xeaff_fffc, 0xe12f_ff1e, 0xfa00_03ff, 0xef00_0000];
    let t32 = [0xbf00_u16, 0xd0fd, 0xf000, 0xf802, 0x4770, 0xdf05, 0xf000, 0xe802, 0xbf08, 0x4770];
    let mut image = Image::default();
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let thumb: Vec<u8> = t32.iter().flat_map(|half| half.to_le_bytes()).collect();
    for (address, code) in [(0x1000, bytes(&a64)), (0x2000, bytes(&a32)), (0x3000, thumb)] {
        image.add_raw("code", address, Arc::new(code), Space::default()).expect("good code");
    }
    let registers = [
        ("TRCIDR0", if unit & 1 == 0 { 0x28c1_cea1 } else { 0x08c1_cea1 }),
        ("TRCIDR8", u64::from(unit >> 1 & 7)),
        ("TRCCONFIGR", if unit & 0x10 == 0 { 1 } else { 0x1001 }),
        ("TRCIDR1", if unit & 0x20 == 0 { 0x4100_fff0 } else { 0x4100_f463 }),
    ];
    let registers = registers.map(|(name, value)| (name.to_string(), value)).into();
    let config = Config::from_registers("fuzz", registers, None).expect("good registers");
    let framing = [Framing::Raw, Framing::Coresight, Framing::Dstream][usize::from(framing % 3)];
    // A start, so that most inputs get somewhere.
    let mut stream = vec![0; 11];
    stream.extend([0x80, 0x01, 0x00, 0x04, 0x82, 0x00, 0x08, 0x00, 0x00, 0x31]);
    for &byte in packets {
        // A byte that is not a header becomes an Alignment Sync: eleven zeros are hard to guess.
        if byte == 0x60 {
            stream.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x00]);
        } else {
            stream.push(byte);
        }
    }
    let stream = match framing {
        Framing::Raw => stream,
        _ => frame(&[(config.trace_id, &stream[..])]),
    };
    let trace = TraceSource { config, framing, data: Arc::new(stream), image: Arc::new(image) };
    let decode = |options| lift(vec![trace.clone()], &Options { min_part: Some(1), ..options });
    for show_withdrawn in [false, true] {
        let options = Options { show_withdrawn, ..Options::default() };
        let one = filled(&mut decode(options));
        assert_eq!(observed(&mut decode(Options { threads: 2, ..options })), one);
    }
    let stream = Input::Stream(Box::new(std::io::Cursor::new((*trace.data).as_ref().to_vec())));
    if framing == Framing::Raw {
        let mut from_stream =
            lift_input(trace.config.clone(), stream, Arc::clone(&trace.image), &Options::default());
        assert_eq!(filled(&mut from_stream), filled(&mut decode(Options::default())));
    }
    filled(&mut decode(Options { show_withdrawn: true, strict: true, ..Options::default() }));
}
