//! Rows of packets have the same events, states and counts as packets that go through all stages one by one.

use std::sync::Arc;

use proptest::prelude::*;
use trackway_core::Error;
use trackway_image::{Image, Space};

use super::*;
use crate::config::{Framing, Options};
use crate::transport::frames::write::frame;
use crate::transport::input::{SourceInput, TraceSource};
use crate::wire::address::{Address, AddressForm};
use crate::wire::context::Context;
use crate::wire::exception::{Exception, ExceptionAddress};
use crate::wire::trace_info::TraceInfo;

/// Every packet through all stages.
struct Plainly<'s>(&'s mut Stages);

impl Visit for Plainly<'_> {
    fn usual<W: Window>(&mut self, _: &W, _: &[u8], at: usize, _: &mut usize) -> usize {
        at
    }

    fn packet(&mut self, packet: &Packet, first: u8, length: usize, offset: u64) -> Result<(), Error> {
        match packet {
            Packet::Discard => self.0.counts.add_discard(),
            Packet::Overflow => self.0.counts.add_overflow(),
            _ => self.0.counts.add(first),
        }
        self.0.decode(packet, first, length, offset)
    }

    fn stops_before(&self, _: usize) -> bool {
        false
    }

    fn stops_after(&self) -> bool {
        self.0.stops_after()
    }
}

/// A64 at 0x1000, T32 at 0x2000, A32 at 0x3000: calls, loops, indirect branches, a call of the system; then no code.
fn image() -> Arc<Image> {
    let a64: [u32; 12] = [
        0xd503_201f, // 1000 nop
        0x5400_0080, // 1004 b.eq 1014
        0xd503_201f, // 1008 nop
        0x9400_0005, // 100c bl 1020
        0x17ff_fffc, // 1010 b 1000
        0xd503_3fdf, // 1014 isb
        0xd400_0001, // 1018 svc
        0xd61f_0000, // 101c br x0
        0xd503_201f, // 1020 nop
        0xd65f_03c0, // 1024 ret
        0xd69f_03e0, // 1028 eret
        0xd503_201f, // 102c nop
    ];
    let t32: [u16; 12] = [
        0xbf00, // 2000 nop
        0xd002, // 2002 beq 200a
        0xf000, 0xf804, // 2004 bl 2010
        0xe7fa, // 2008 b 2000
        0x4708, // 200a bx r1
        0xb108, // 200c cbz r0, 2012
        0xbf00, // 200e nop
        0xbf00, // 2010 nop
        0x4770, // 2012 bx lr
        0xf000, 0xe800, // 2014 blx 2018
    ];
    let a32: [u32; 6] = [
        0xe320_f000, // 3000 nop
        0x0a00_0000, // 3004 beq 300c
        0xeb00_0000, // 3008 bl 3010
        0xeaff_fffb, // 300c b 3000
        0xe12f_ff1e, // 3010 bx lr
        0xfafd_fbff, // 3014 blx, far
    ];
    let mut image = Image::default();
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let halves = t32.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<u8>>();
    for (address, bytes) in [(0x1000, words(&a64)), (0x2000, halves), (0x3000, words(&a32))] {
        image.add_raw("code", address, Arc::new(bytes), Space::default()).unwrap();
    }
    Arc::new(image)
}

/// A packet by a few random bits; most are atoms and addresses.
fn packet((kind, a, b): (u8, u8, u16)) -> Packet {
    use AddressForm::*;
    let place = [0x1000, 0x1000, 0x1000, 0x2000, 0x3000, 0x1_0000_1000][usize::from(a % 6)];
    let target = place + u64::from(b % 13) * 4;
    let form = [Short1Is0, Short2Is0, Long32Is0, Long64Is0, Short1Is1, Short2Is1, Long32Is1, Long64Is1]
        [usize::from(if a & 0x80 == 0 { b >> 8 & 3 } else { b >> 8 & 7 })];
    let address = Address::new(form, target);
    match kind {
        0..150 => Packet::Atom(Atoms { header: 0xc0 | a & 0x3f }),
        150..200 => Packet::Address(address),
        200..215 => Packet::Address(Address::new(Exact(a % 3), 0)),
        215..235 => {
            let long = Address::new(if a & 8 == 0 { Long64Is0 } else { Long64Is1 }, target);
            Packet::AddressContext(
                long,
                Context { info: if a & 4 == 0 { 0x31 } else { 0x21 }, vmid: 0, context_id: 0 },
            )
        }
        235..240 => Packet::Exception(Exception {
            info: if a & 0x10 == 0 { 0x05 } else { (a % 16) << 1 | 1 },
            info2: None,
            address: ExceptionAddress::Address(Address::new(Long64Is0, target)),
        }),
        240..243 => Packet::TraceOn,
        243..246 => Packet::Event(a % 15 + 1),
        246..248 => Packet::TransactionStart,
        248..250 => Packet::TransactionCommit,
        250..252 => Packet::Mispredict(a % 4),
        252..253 => Packet::Overflow,
        253 | 254 => Packet::TraceInfo(TraceInfo::new(1, 0, 0)),
        _ => Packet::AlignmentSync { zeros: 11 },
    }
}

fn config(max_spec: u64, return_stack: bool) -> Config {
    let configr = if return_stack { 0x1001 } else { 1 };
    let registers = [("TRCIDR0", 0x08c1_cea1), ("TRCIDR8", max_spec), ("TRCCONFIGR", configr)];
    let registers = registers.map(|(name, value)| (name.to_string(), value));
    Config::from_registers("core", registers.into(), Some(true)).unwrap()
}

/// Events, errors, counts and the state at the end.
fn decoded(source: TraceSource, plainly: bool) -> (Vec<String>, Vec<String>) {
    let mut source = SourceInput::from(source);
    let mut input = source.open(&Options::default()).unwrap();
    while input.more().unwrap() {}
    let (view, mut lines) = (input.view(), Vec::new());
    let mut decoder = Decoder::new(&source.config, &source.program, false);
    let (end, mut at) = (view.bytes().len(), 12);
    loop {
        let stop = if plainly {
            decoder.walk.run(&view, (end, true), &mut at, &mut Plainly(&mut decoder.stages))
        } else {
            decoder.run(&view, (end, true), &mut at, Goal::None)
        };
        if stop != Stop::Visitor {
            lines.push(format!("{stop:?} at {at}"));
            break;
        }
    }
    let state = format!("{:?} {:?}", decoder.state(), decoder.counts().by_name());
    decoder.end();
    let mut events = Vec::new();
    while let Ok(Some(finished)) = decoder.output().take() {
        assert_eq!(finished.instructions, finished.batch.instructions());
        for event in &finished.batch.events {
            let mut line = String::new();
            finished.batch.write_line(event, &mut line);
            events.push(line);
        }
    }
    lines.push(state);
    (events, lines)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn rows_are_packets_one_by_one(
        max_spec in prop_oneof![3 => Just(0u64), 1 => Just(2)],
        return_stack: bool,
        framed: bool,
        parts in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u16>()), 1..400),
    ) {
        let config = config(max_spec, return_stack);
        let mut bytes = Vec::new();
        let start = [Packet::AlignmentSync { zeros: 11 }, Packet::TraceInfo(TraceInfo::new(1, 0, 0))];
        let first = packet((220, 0, 0));
        for packet in start.into_iter().chain([first]).chain(parts.into_iter().map(packet)) {
            packet.write(&config.dialect, &mut bytes);
        }
        let (framing, data) = match framed {
            true => (Framing::Coresight, frame(&[(config.trace_id, &bytes)])),
            false => (Framing::Raw, bytes),
        };
        let source = TraceSource { config, framing, data: Arc::new(data), image: image() };
        let (rows, plainly) = (decoded(source.clone(), false), decoded(source, true));
        prop_assert_eq!(rows, plainly);
    }
}
