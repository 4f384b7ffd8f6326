//! Observers see the events of `fill`, whatever the number of threads and the size of parts.

mod common;

use std::sync::Arc;

use common::image_of;
use trackway_core::*;
use trackway_etrace::{Config, Dialect, Lift, Lower, Plan, ResyncMode, SupportLayout, lift_by};
use trackway_image::Image;
use trackway_testkit::lines::{Lines, filled, observed};
use trackway_testkit::places::places;
use trackway_testkit::random::{Numbers, Program, Rates, Walk};

struct Case {
    bytes: Vec<u8>,
    config: Config,
    image: Arc<Image>,
}

/// A long walk with traps, contexts, notifications and frequent synchronisations.
fn case(seed: u64, dialect: Dialect, framing: &str) -> Case {
    case_of(seed, dialect, framing, 6_000, 9)
}

/// A walk of that length, with a synchronisation after that number of packets.
fn case_of(seed: u64, dialect: Dialect, framing: &str, steps: usize, resync: u64) -> Case {
    let numbers = &mut Numbers(seed);
    let program = Program::new(numbers, 0x8000, 50);
    let rates = Rates {
        exception: 30,
        interrupt: 30,
        stray_return: 3,
        privilege: true,
        context: 40,
        notify: 20,
        ..Rates::default()
    };
    let walk = Walk::new(numbers, &program, steps, rates);
    let mut config = Config::from_toml(&format!("dialect = '{}'\n{framing}", dialect.as_str())).unwrap();
    config.support = SupportLayout::named("all").unwrap();
    let params = &mut config.params;
    (params.nocontext, params.context_width, params.ctype_width, params.sijump) = (0, 8, 2, 1);
    (params.f0s_width, params.bpred_size, params.cache_size, params.return_stack_size) = (1, 4, 3, 3);
    let on = numbers.draw();
    config.options.sijump = on & 1 == 1;
    config.options.implicit_return = on & 2 == 2;
    config.options.branch_prediction = on & 4 == 4;
    config.options.jump_target_cache = on & 8 == 8;
    config.encoder.resync_mode = ResyncMode::Packets;
    config.encoder.resync_interval = Some(resync);
    let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).unwrap();
    lower.put(&walk.batch).unwrap();
    lower.finish().unwrap();
    if let trackway_etrace::transport::Framing::Bare { lengths } = &mut config.framing {
        lengths.clone_from(&lower.encoder().writer.lengths);
    }
    Case { bytes: lower.into_inner(), config, image: image_of(&program) }
}

const FRAMINGS: [&str; 4] = [
    "framing = 'smi'",
    "framing = 'encap'\nsrcid_width = 6\ntype_width = 2\ntimestamp_bytes = 3\n[encoder]\nstamps = true\nsource = 5",
    "framing = 'smi'\nblock_size = 64",
    "framing = 'bare'",
];

impl Case {
    fn lift(&self, bytes: &[u8], jobs: usize, part: u64) -> Lift {
        let input = Input::from_vec(bytes.to_vec());
        lift_by(input, &self.config, Arc::clone(&self.image), &Plan { part_bytes: part, ..Plan::new(jobs) })
            .unwrap()
    }

    /// One thread against many, with parts of several sizes.
    fn compare(&self, bytes: &[u8], what: &str) -> usize {
        // Damage may make many sources, each with numbers of its own: those are not looked at here.
        let mut serial = self.lift(bytes, 1, 0);
        let one = observed(&mut serial);
        for (jobs, part) in [(1, 1), (2, 1), (2, 60), (3, 500), (5, 4096), (2, u64::MAX)] {
            let mut lift = self.lift(bytes, jobs, part);
            let many = observed(&mut lift);
            let at = one.iter().zip(&many).position(|(a, b)| a != b);
            assert_eq!(at.map(|n| (&one[n], &many[n])), None, "{what}: {jobs} threads, parts of {part}");
            assert_eq!(one.len(), many.len(), "{what}: {jobs} threads, parts of {part}");
            assert_eq!(lift.census(), serial.census(), "{what}: {jobs} threads, parts of {part}");
        }
        one.len()
    }
}

#[test]
fn observers_see_what_fill_gives() {
    for seed in 0..4 {
        for dialect in Dialect::ALL {
            for framing in FRAMINGS {
                let case = case(seed, dialect, framing);
                let lines = case.compare(&case.bytes, &format!("{seed} {dialect:?} {framing}"));
                assert!(lines > 2_000, "{lines}");
                let mut serial = case.lift(&case.bytes, 1, 0);
                assert_eq!(filled(&mut serial), observed(&mut case.lift(&case.bytes, 1, 0)));
            }
        }
    }
}

/// A loop of loads and stores with a data trace, some of them not recorded.
fn data_case(seed: u64, toml: &str) -> Case {
    let numbers = &mut Numbers(seed);
    // 1: lw a0, 0(a0); sw a0, 4(a0); bne a0, x0, 1b
    let code = [0x0005_2503u32, 0x00a5_2223, 0xfe05_1ce3];
    let mut batch = Batch::default();
    for _ in 0..4_000 {
        for (n, kind) in [MemKind::Read, MemKind::Write].into_iter().enumerate() {
            let mut step = Step::new(0x4000 + 4 * n as u64, code[n], 4);
            if !numbers.one_in(9) {
                let begun = batch.begin_accesses();
                let address = 0x9000 + numbers.below(300) * 4;
                batch.mem.push(MemAccess::new(kind, address, 4, Value::Word(numbers.below(1 << 32))));
                step.accesses = batch.end_accesses(begun).unwrap();
            }
            batch.push(0, EventKind::Step(step));
        }
        batch.push(0, EventKind::Step(Step { taken: Some(true), ..Step::new(0x4008, code[2], 4) }));
        if numbers.one_in(200) {
            batch.push_gap(0, Gap::new(GapReason::Filtered));
        }
    }
    let mut config = Config::from_toml(&format!("iaddress_width = 64\n{toml}")).unwrap();
    config.encoder.resync_interval = Some(9);
    let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).unwrap();
    lower.put(&batch).unwrap();
    lower.finish().unwrap();
    let mut image = Image::default();
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    image.add_raw("loop", 0x4000, Arc::new(bytes), trackway_image::Space::default()).unwrap();
    config.data.order = trackway_etrace::Order::Retired;
    Case { bytes: lower.into_inner(), config, image: Arc::new(image) }
}

/// Counts the parts that are joined.
#[derive(Default)]
struct Joined(usize);

impl Observer for Joined {
    fn observe(&mut self, _: &Batch) {}

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Joined(0))
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        self.0 += 1 + later.downcast::<Self>().0;
    }
}

/// Accesses come at the same instructions, whatever the number of threads.
#[test]
fn data_trace_on_several_threads() {
    let settings = [
        "[data]",
        "[data]\nsplit = true\nlatency = 5",
        "[data]\nsplit = true\nlatency = 1",
        "[encoder]\nbuffer = 100\ndrain = 300\n[data]",
    ];
    for (seed, toml) in settings.into_iter().enumerate() {
        let case = data_case(seed as u64, toml);
        let lines = case.compare(&case.bytes, toml);
        assert!(lines > 500, "{lines}");
        let mut joined = Joined::default();
        let mut lift = case.lift(&case.bytes, 2, 60);
        while lift.observe(&mut joined).unwrap() {}
        assert!(joined.0 > 20, "{toml}: {} parts", joined.0);
        for damage in 0..12 {
            let numbers = &mut Numbers(damage);
            let mut bytes = case.bytes.clone();
            for _ in 0..1 + numbers.below(30) {
                let place = numbers.below(bytes.len() as u64) as usize;
                bytes[place] ^= 1 << numbers.below(8);
            }
            case.compare(&bytes, &format!("{toml} damaged {damage}"));
        }
    }
}

/// References of compression that cross a synchronisation: the part is decoded again.
#[test]
fn references_to_the_part_before() {
    let mut case = data_case(5, "[data]");
    let mut reader = trackway_etrace::Reader::new(Input::from_vec(case.bytes.clone()), &case.config);
    let (mut out, mut kept) = (Vec::new(), 0);
    while let Some(item) = reader.read().unwrap() {
        let is_full = item.data().is_some_and(|packet| format!("{packet:?}").contains("diff: 0"));
        let range = item.offset as usize..item.offset as usize + item.frame.len as usize;
        // Only the first data packets that are in full stay.
        kept += u32::from(is_full);
        if !is_full || kept < 3 {
            out.extend_from_slice(&case.bytes[range]);
        }
    }
    case.bytes = out;
    let bytes = case.bytes.clone();
    assert!(case.compare(&bytes, "references") > 1_000);
}

/// Saved on any number of threads and restored on any: the same rest, also inside long packets and amid damage.
#[test]
fn places_are_entered_in_every_mode() {
    let mut inside = 0;
    for seed in 0..8 {
        let dialect = Dialect::ALL[seed as usize % Dialect::ALL.len()];
        let framing = FRAMINGS[seed as usize % FRAMINGS.len()];
        let case = case_of(seed, dialect, framing, 30_000, if seed % 2 == 0 { 9 } else { 2_000 });
        let numbers = &mut Numbers(seed);
        let mut damaged = case.bytes.clone();
        for _ in 0..1 + numbers.below(9) {
            let place = numbers.below(damaged.len() as u64) as usize;
            damaged[place] ^= 1 << numbers.below(8);
        }
        for (bytes, what) in [(&case.bytes, "whole"), (&damaged, "damaged")] {
            for (jobs, part) in [(1, 0), (3, 500)] {
                let Some(found) = places(&mut case.lift(bytes, jobs, part), 200_000) else { continue };
                let what = format!("{seed} {framing} {what}, {jobs} threads");
                assert!(found.places.len() > 3 || what.contains("damaged"), "{what}: {}", found.places.len());
                inside += found.places.len();
                let largest = found.places.iter().map(|place| place.1.state.len()).max();
                assert!(largest <= Some(300), "{what}: {largest:?} bytes");
                for (jobs, part) in [(1, 0), (2, 1), (3, 3000)] {
                    found.check(&what, 3, &|| Box::new(case.lift(bytes, jobs, part)));
                }
                found.damage(40, &|| Box::new(case.lift(bytes, jobs, part)));
            }
        }
    }
    assert!(inside > 300, "{inside}");
    for (seed, toml) in ["[data]", "[data]\nsplit = true\nlatency = 5"].into_iter().enumerate() {
        let case = data_case(seed as u64, toml);
        for jobs in [1, 3] {
            let found = places(&mut case.lift(&case.bytes, jobs, 500), 200_000).unwrap();
            assert!(found.places.len() > 1, "{toml}: {} places", found.places.len());
            for jobs in [1, 2] {
                found.check(toml, 8, &|| Box::new(case.lift(&case.bytes, jobs, 100)));
            }
            found.damage(60, &|| Box::new(case.lift(&case.bytes, 1, 0)));
        }
    }
}

/// Damage: errors, gaps and the events after them come at the same places.
#[test]
fn observers_see_the_same_errors_and_gaps() {
    for seed in 0..12 {
        let case = case(seed, Dialect::V2, FRAMINGS[seed as usize % 3]);
        let numbers = &mut Numbers(seed);
        let mut bytes = case.bytes.clone();
        for _ in 0..1 + numbers.below(40) {
            let place = numbers.below(bytes.len() as u64) as usize;
            bytes[place] ^= 1 << numbers.below(8);
        }
        bytes.truncate(bytes.len() - numbers.below(4) as usize);
        case.compare(&bytes, &format!("damaged {seed}"));
    }
}

/// Filling and observing can be mixed: no event is seen twice.
#[test]
fn observing_goes_on_where_filling_ended() {
    let case = case(7, Dialect::V2, FRAMINGS[0]);
    let one = filled(&mut case.lift(&case.bytes, 1, 0));
    for before in 0..3 {
        let mut lift = case.lift(&case.bytes, 2, 30);
        let (mut batch, mut seen) = (Batch::default(), Lines::default());
        for _ in 0..before {
            assert!(lift.fill(&mut batch).unwrap());
            seen.observe(&batch);
        }
        assert!(lift.observe(&mut seen).unwrap());
        while lift.fill(&mut batch).unwrap() {
            seen.observe(&batch);
        }
        assert_eq!(seen.0, one, "{before}");
    }
}

/// A stream that comes bit by bit is shown in order.
#[test]
fn streams_are_observed_in_order() {
    let case = case(3, Dialect::V2, FRAMINGS[0]);
    let one = filled(&mut case.lift(&case.bytes, 1, 0));
    let input = Input::Stream(Box::new(std::io::Cursor::new(case.bytes.clone())));
    let mut lift =
        lift_by(input, &case.config, Arc::clone(&case.image), &Plan { part_bytes: 40, ..Plan::new(3) })
            .unwrap();
    assert_eq!(observed(&mut lift), one);
}
