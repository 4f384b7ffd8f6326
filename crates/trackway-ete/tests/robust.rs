//! Damaged input: bits flipped, bytes cut off, random bytes. Nothing panics or hangs, decoding resumes, and the events
//! before the damage stay the same. With many Alignment Syncs, any number of threads has the same result.

use std::sync::Arc;

use proptest::prelude::*;
use trackway_core::{Batch, Input, Observer, Source};
use trackway_ete::*;
use trackway_image::{Image, Space};
use trackway_testkit::lines::{Lines, filled, observed};
use trackway_testkit::places::places;
use trackway_testkit::random::Numbers;

/// 0x1000: a small program with calls, loops and indirect branches.
fn image() -> Arc<Image> {
    let words: [u32; 12] = [
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
        0xd523_3060, // 1028 tstart
        0xd69f_03e0, // 102c eret
    ];
    let mut image = Image::default();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    image.add_raw("code", 0x1000, Arc::new(bytes), Space::default()).unwrap();
    Arc::new(image)
}

fn config(max_spec: u64, configr: u64) -> Config {
    let registers = [("TRCIDR0", 0x08c1_cea1), ("TRCIDR8", max_spec), ("TRCCONFIGR", configr)];
    let registers = registers.map(|(name, value)| (name.to_string(), value));
    Config::from_registers("core", registers.into(), Some(true)).unwrap()
}

/// One packet of those that a unit sends, from a few random bits.
fn packet(kind: u8, a: u8, b: u16) -> Packet {
    let target = 0x1000 + u64::from(b % 12) * 4;
    let address = |form| Address::new(form, target);
    let count = |value: u64| Chain::shortest(value, width::COUNT);
    match kind {
        0..90 => Packet::Atom(Atoms { header: 0xc0 | a & 0x3f }),
        90..120 => Packet::Address(address(AddressForm::Long64Is0)),
        120..130 => Packet::Address(address(AddressForm::Short2Is0)),
        130..135 => Packet::Address(Address::new(AddressForm::Exact(a % 3), 0)),
        135..150 => {
            let context = Context { info: 0xb1, vmid: 0, context_id: u32::from(a % 3) };
            Packet::AddressContext(address(AddressForm::Long64Is0), context)
        }
        150..160 => Packet::Exception(Exception {
            info: (a % 16) << 1 | 1,
            info2: None,
            address: ExceptionAddress::Address(address(AddressForm::Long64Is0)),
        }),
        160..165 => Packet::TraceOn,
        165..175 => Packet::Timestamp { value: Chain::shortest(u64::from(b), 64), count: None },
        175..180 => Packet::Event(a % 15 + 1),
        180..185 => Packet::SourceAddress(address(AddressForm::Long32Is0)),
        185..190 => {
            Packet::Q { address: Some(address(AddressForm::Long32Is0)), count: Some(count(u64::from(a % 9))) }
        }
        190..205 => Packet::Commit(count(u64::from(a % 4))),
        205..212 => Packet::Cancel1 { mispredict: a & 1 == 1, count: count(u64::from(a % 3)) },
        212..218 => Packet::Mispredict(a % 4),
        218..222 => Packet::TransactionStart,
        222..226 => Packet::TransactionCommit,
        226..230 => Packet::Discard,
        230..232 => Packet::Overflow,
        232..250 => Packet::AlignmentSync { zeros: 11 },
        _ => Packet::CycleCount3(a & 0xf),
    }
}

/// A stream with a synchronisation and Trace Info every now and then.
fn stream(config: &Config, parts: &[(u8, u8, u16)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |packet: Packet| packet.write(&config.dialect, &mut bytes);
    let start = |put: &mut dyn FnMut(Packet)| {
        put(Packet::AlignmentSync { zeros: 11 });
        put(Packet::TraceInfo(TraceInfo::new(1, 0, 4)));
    };
    start(&mut put);
    for &(kind, a, b) in parts {
        match packet(kind, a, b) {
            Packet::AlignmentSync { .. } => start(&mut put),
            packet => put(packet),
        }
    }
    bytes
}

fn trace(config: &Config, bytes: Vec<u8>, framing: Framing) -> TraceSource {
    TraceSource { config: config.clone(), framing, data: Arc::new(bytes), image: image() }
}

/// All events and errors as lines.
fn lines(trace: TraceSource, options: Options) -> Vec<String> {
    filled(&mut lift(vec![trace], &options))
}

fn parts(most: usize) -> impl Strategy<Value = Vec<(u8, u8, u16)>> {
    proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u16>()), 1..most)
}

fn units() -> impl Strategy<Value = Config> {
    (prop_oneof![Just(0u64), Just(2), Just(9)], prop_oneof![Just(1u64), Just(0x1001)])
        .prop_map(|(max_spec, configr)| config(max_spec, configr))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn flipped_bits(unit in units(), parts in parts(200), flips in proptest::collection::vec((any::<u16>(), 0..8u8), 1..8)) {
        let mut bytes = stream(&unit, &parts);
        for (place, bit) in flips {
            let place = usize::from(place) % bytes.len();
            bytes[place] ^= 1 << bit;
        }
        for show_withdrawn in [false, true] {
            let options = Options { show_withdrawn, ..Options::default() };
            let events = lines(trace(&unit, bytes.clone(), Framing::Raw), options);
            prop_assert!(events.len() < 40 * bytes.len() + 100);
        }
        let framed = frame(&[(unit.trace_id, &bytes)]);
        lines(trace(&unit, framed, Framing::Coresight), Options::default());
        let strict = Options { strict: true, ..Options::default() };
        lines(trace(&unit, bytes, Framing::Raw), strict);
    }

    #[test]
    fn any_bytes(unit in units(), bytes: Vec<u8>, cut in 0usize..20) {
        let mut stream = stream(&unit, &[]);
        stream.truncate(stream.len().saturating_sub(cut));
        stream.extend(&bytes);
        for framing in [Framing::Raw, Framing::Coresight, Framing::Dstream] {
            lines(trace(&unit, stream.clone(), framing), Options::default());
            let mut found = 0;
            check(vec![trace(&unit, stream.clone(), framing)], Options::default(), &mut |_| found += 1).unwrap();
            prop_assert!(found <= 20 * stream.len() + 20);
        }
    }

    /// Events before the cut stay the same, except for those that the rest would have corrected or completed.
    #[test]
    fn cut_off(unit in units(), parts in parts(60), cut: prop::sample::Index) {
        let bytes = stream(&unit, &parts);
        let whole = lines(trace(&unit, bytes.clone(), Framing::Raw), Options::default());
        let cut = cut.index(bytes.len());
        let some = lines(trace(&unit, bytes[..cut].to_vec(), Framing::Raw), Options::default());
        let same = some.iter().zip(&whole).take_while(|(a, b)| a == b).count();
        let open = some.iter().skip(same).filter(|line| line.contains(" run ")).count();
        prop_assert!(open <= 1, "{:#?}\n{:#?}", &some[same..], &whole[same..(same + 5).min(whole.len())]);
    }
}

/// Checks the number of instructions that a decoder says a batch has.
struct Numbered;

impl Observer for Numbered {
    fn observe(&mut self, _: &Batch) {
        panic!("a decoder knows the number");
    }

    fn observe_counted(&mut self, batch: &Batch, instructions: u64) {
        assert_eq!(instructions, batch.instructions());
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Numbered)
    }

    fn merge(&mut self, _: Box<dyn Observer>) {}
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn batches_come_with_their_number_of_instructions(unit in units(), parts in parts(400), place: u16) {
        let mut bytes = stream(&unit, &parts);
        let place = usize::from(place) % bytes.len();
        bytes[place] ^= 0x55;
        for (threads, show_withdrawn) in [(1, false), (1, true), (2, false)] {
            let options = Options { threads, show_withdrawn, min_part: Some(16), ..Options::default() };
            let mut events = lift(vec![trace(&unit, bytes.clone(), Framing::Raw)], &options);
            loop {
                match events.observe(&mut Numbered) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(_) => prop_assert!(events.resync().is_ok()),
                }
            }
        }
    }
}

/// A stream that is read in pieces of one size.
struct Pieces(Vec<u8>, usize, usize);

impl std::io::Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.0[self.1..];
        let count = rest.len().min(self.2).min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.1 += count;
        Ok(count)
    }
}

/// Long streams with many Alignment Syncs, damaged and whole: any number of threads, parts of any size, and a stream
/// have the same events.
#[test]
fn the_number_of_threads_does_not_matter() {
    let mut seed = 1u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u32
    };
    let kinds = [(0, 1, 0), (0, 0x1001, 3), (2, 0x1001, 0), (9, 1, 3), (0, 0x1001, 40)];
    for (max_spec, configr, damage) in kinds {
        let unit = config(max_spec, configr);
        // Atoms and addresses for the most part, or the depth is soon wrong.
        let tame = |kind: u8, a: u8| if damage < 10 && (191..232).contains(&kind) { a % 150 } else { kind };
        let parts: Vec<(u8, u8, u16)> = (0..20_000)
            .map(|_| (random() as u8, random() as u8, random() as u16))
            .map(|(kind, a, b)| (tame(kind, a), a, b))
            .collect();
        let mut bytes = stream(&unit, &parts);
        for _ in 0..damage {
            let place = random() as usize % bytes.len();
            bytes[place] ^= 1 << (random() % 8);
        }
        let framed = frame(&[(5, &bytes[..7]), (unit.trace_id, &bytes)]);
        for show_withdrawn in [false, true] {
            let options = |threads| Options { threads, show_withdrawn, ..Options::default() };
            for (data, framing) in [(&bytes, Framing::Raw), (&framed, Framing::Coresight)] {
                let trace = trace(&unit, data.clone(), framing);
                let one = lines(trace.clone(), options(1));
                assert!(one.len() > 5_000, "{}", one.len());
                for (threads, part) in [(1, 1), (2, 1), (2, 500), (3, 4096), (5, 50)] {
                    let options_of_parts = Options { min_part: Some(part), ..options(threads) };
                    let mut parallel = lift(vec![trace.clone()], &options_of_parts);
                    let many = observed(&mut parallel);
                    let at = one.iter().zip(&many).position(|(a, b)| a != b);
                    let case = format!("{threads} threads, parts of {part}, MAXSPEC {max_spec}, {framing:?}");
                    assert_eq!(at.map(|n| (&one[n], &many[n])), None, "{case}");
                    assert_eq!(one.len(), many.len(), "{case}");
                    let mut serial = lift(vec![trace.clone()], &options(1));
                    filled(&mut serial);
                    assert_eq!(parallel.census(), serial.census(), "{case}");
                }
            }
        }
        let one = lines(trace(&unit, bytes.clone(), Framing::Raw), Options::default());
        for (threads, size) in [(1, 1 << 16), (1, 7), (2, 1000)] {
            let input = Input::Stream(Box::new(Pieces(bytes.clone(), 0, size)));
            let options = Options { threads, min_part: Some(100), ..Options::default() };
            let mut events = lift_input(unit.clone(), input, image(), &options);
            assert_eq!(observed(&mut events), one, "in pieces of {size}");
        }
    }
}

/// Places lead to the same rest: with speculation, transactions, a return stack, in frames, and amid damage.
#[test]
fn places_are_entered_again() {
    for (seed, (max_spec, configr, damage)) in
        (0..).zip([(0, 1, 0), (0, 0x1001, 2), (2, 0x1001, 0), (9, 1, 2), (9, 0x1001, 0)])
    {
        let (unit, numbers) = (config(max_spec, configr), &mut Numbers(seed));
        let parts: Vec<(u8, u8, u16)> = (0..40_000)
            .map(|_| {
                let kind = numbers.below(256) as u8;
                // Commits and cancels need elements that are not resolved, or the depth is wrong.
                let is_wrong = matches!(kind, 190..218 | 250..) && (max_spec < 9 || !numbers.one_in(9));
                let kind = if is_wrong || !numbers.one_in(30) && kind > 190 { kind % 150 } else { kind };
                (kind, numbers.below(256) as u8, numbers.below(1 << 16) as u16)
            })
            .collect();
        let mut bytes = stream(&unit, &parts);
        for _ in 0..damage {
            let place = numbers.below(bytes.len() as u64) as usize;
            bytes[place] ^= 1 << numbers.below(8);
        }
        let (other, third) = (&bytes[..9_000], &bytes[..7]);
        let pieces: Vec<(u8, &[u8])> =
            bytes.chunks(5_000).flat_map(|piece| [(unit.trace_id, piece), (0x33, other)]).collect();
        let framed = frame(&[&[(5, third)], &pieces[..]].concat());
        for show_withdrawn in [false, true] {
            for (data, framing) in [(&bytes, Framing::Raw), (&framed, Framing::Coresight)] {
                let data: trackway_core::SharedBytes = Arc::new(data.clone());
                let lift = |threads| {
                    let source = TraceSource {
                        config: unit.clone(),
                        framing,
                        data: Arc::clone(&data),
                        image: image(),
                    };
                    let options =
                        Options { threads, show_withdrawn, min_part: Some(500), ..Options::default() };
                    Box::new(lift(vec![source], &options))
                };
                let what = format!("MAXSPEC {max_spec}, {configr:#x}, {framing:?}, {show_withdrawn}");
                for threads in [1, 3] {
                    let found = places(&mut *lift(threads), 1 << 22).unwrap();
                    assert!(found.places.len() > 5, "{what}: {} places", found.places.len());
                    let largest = found.places.iter().map(|place| place.1.state.len()).max();
                    assert!(largest <= Some(1024), "{what}: {largest:?} bytes");
                    for threads in [1, 3] {
                        found.check(&what, 5, &|| lift(threads));
                    }
                    found.damage(60, &|| lift(1));
                }
            }
        }
    }
}

/// Filling and observing can be mixed: a filled batch is not observed again.
#[test]
fn observing_continues_where_filling_ended() {
    let unit = config(0, 1);
    let kind = |n: u32| if n.is_multiple_of(50) { 240 } else { (n * 7 % 150) as u8 };
    let parts: Vec<_> = (0..40_000u32).map(|n| (kind(n), (n % 251) as u8, n as u16)).collect();
    let trace = trace(&unit, stream(&unit, &parts), Framing::Raw);
    let one = lines(trace.clone(), Options::default());
    for before in 0..4 {
        let mut events =
            lift(vec![trace.clone()], &Options { threads: 2, min_part: Some(1), ..Options::default() });
        let (mut batch, mut seen) = (Batch::default(), Lines::default());
        for _ in 0..before {
            assert!(events.fill(&mut batch).unwrap());
            seen.observe(&batch);
        }
        while events.observe(&mut seen).unwrap() {}
        assert_eq!(seen.0, one);
    }
}

/// Ten megabytes with a flipped bit in every few thousand bytes: damage does not multiply the work, counted in events
/// and packets and not by the clock.
#[test]
fn ten_megabytes_with_damage() {
    let unit = config(0, 1);
    let numbers = &mut Numbers(1);
    // Packets that need no unresolved elements.
    let parts: Vec<(u8, u8, u16)> = (0..2_000)
        .map(|n| {
            let kind = if n % 400 == 0 { 240 } else { numbers.below(190) as u8 };
            (kind, numbers.below(256) as u8, numbers.below(1 << 16) as u16)
        })
        .collect();
    let once = stream(&unit, &parts);
    let work = |bytes: Vec<u8>, framing| {
        let mut lift = lift(vec![trace(&unit, bytes, framing)], &Options::default());
        let (mut batch, mut events) = (Batch::default(), 0);
        loop {
            match lift.fill(&mut batch) {
                Ok(true) => events += batch.events.len() as u64,
                Err(_) if lift.resync().unwrap() => events += 1,
                _ => return events + lift.census().total(),
            }
        }
    };
    let rounds = (10 << 20) / once.len();
    let undamaged = work(once.clone(), Framing::Raw) * rounds as u64;
    for (seed, framing) in [(0, Framing::Raw), (1, Framing::Coresight)] {
        let (mut bytes, numbers) = (once.repeat(rounds), &mut Numbers(seed));
        if framing == Framing::Coresight {
            bytes = frame(&[(unit.trace_id, &bytes)]);
        }
        for _ in 0..1 + numbers.below(5_000) {
            let at = numbers.below(bytes.len() as u64 * 8) as usize;
            bytes[at / 8] ^= 1 << (at % 8);
        }
        let damaged = work(bytes, framing);
        assert!(damaged <= 3 * undamaged, "{framing:?}: {damaged} instead of {undamaged}");
        assert!(damaged >= undamaged / 20, "{framing:?}: {damaged} instead of {undamaged}");
    }
}
