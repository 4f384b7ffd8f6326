//! More on the port and the transport: back-pressure, stall, triggers, halt, mode changes, several sources,
//! damage and re-alignment.

mod common;

use std::sync::Arc;

use common::{decode, image_of};
use trackway_core::*;
use trackway_etrace::port::{Block, Cycle, Itype, Trigger};
use trackway_etrace::transport::Framing;
use trackway_etrace::{Config, Dialect, Encoder, Lower, Options, lift};
use trackway_testkit::random::{Numbers, Program, Rates, Seen, Walk};

fn walk(seed: u64) -> (Program, Walk, Vec<u64>) {
    let numbers = &mut Numbers(seed);
    let program = Program::new(numbers, 0x8000, 40);
    let walk = Walk::new(numbers, &program, 2000, Rates { interrupt: 50, ..Rates::default() });
    let pcs = walk.seen.iter().filter_map(|seen| match seen {
        Seen::Retired(pc, _) => Some(*pc),
        Seen::Trap(..) => None,
    });
    let pcs = pcs.collect();
    (program, walk, pcs)
}

fn pcs(found: &common::Found) -> Vec<u64> {
    found
        .seen
        .iter()
        .filter_map(|seen| match seen {
            Seen::Retired(pc, _) => Some(*pc),
            Seen::Trap(..) => None,
        })
        .collect()
}

/// 6.5, 8: losses to back-pressure are reported, and tracing continues with a synchronisation.
#[test]
fn trace_lost_and_stall() {
    for seed in 0..40 {
        let (program, walk, wanted) = walk(seed);
        let mut config = Config::new(Dialect::V2);
        (config.encoder.buffer, config.encoder.drain) = (120, 200);
        let (bytes, losses) = common::encode(&walk.batch, &config);
        let found = decode(&bytes, &config, &image_of(&program), 1);
        assert_eq!(found.error, None, "seed {seed}");
        assert_eq!(losses.count(Fate::Invented, Fact::Gaps), found.gaps.len() as u64, "seed {seed}");
        assert!(losses.count(Fate::Dropped, Fact::Instructions) > 0, "seed {seed}");
        assert!(!found.gaps.is_empty() && found.gaps.iter().all(|gap| gap.reason == GapReason::Overflow));
        // The rest is in order.
        let mut rest = wanted.iter();
        assert!(pcs(&found).iter().all(|pc| rest.any(|of| of == pc)), "seed {seed}");

        config.encoder.stall = true;
        let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).unwrap();
        lower.put(&walk.batch).unwrap();
        lower.finish().unwrap();
        assert!(lower.encoder().stalled > 0);
        let found = decode(&lower.into_inner(), &config, &image_of(&program), 1);
        assert_eq!(pcs(&found), wanted, "seed {seed}");
    }
}

fn cycle<'a>(blocks: &'a [Block], n: u64) -> Cycle<'a> {
    Cycle { blocks, privilege: 3, cycle: n, ..Cycle::default() }
}

/// Table 4.5: triggers start and stop tracing; halt and reset do, too; a change of modes is reported.
#[test]
fn triggers_halt_and_modes() {
    let mut config = Config::new(Dialect::V2);
    config.params.iaddress_width = 64;
    let mut encoder = Encoder::new(&config).unwrap();
    let plain = |pc| Block::single(Itype::NONE, pc, true, 1);
    let off = Block { trigger: Trigger { off: true, ..Trigger::default() }, ..plain(0x8008) };
    let on = Block { trigger: Trigger { on: true, ..Trigger::default() }, ..plain(0x8014) };
    for (n, block) in [plain(0x8000), plain(0x8004), off, plain(0x800c), plain(0x8010), on, plain(0x8018)]
        .iter()
        .enumerate()
    {
        encoder.cycle(&cycle(&[*block], n as u64)).unwrap();
    }
    encoder.cycle(&Cycle { halted: true, cycle: 9, ..Cycle::default() }).unwrap();
    encoder.cycle(&cycle(&[plain(0x8020)], 10)).unwrap();
    let options = Options { full_address: true, ..Options::default() };
    encoder.set_options(options, 11).unwrap();
    encoder.cycle(&cycle(&[plain(0x8024)], 12)).unwrap();
    encoder.cycle(&cycle(&[plain(0x8028)], 13)).unwrap();
    encoder.finish(14).unwrap();
    let mut image = trackway_image::Image::default();
    let code: Vec<u8> = [0x13u32; 12].iter().flat_map(|word| word.to_le_bytes()).collect();
    image.add_raw("code", 0x8000, Arc::new(code), Default::default()).unwrap();
    let bytes = encoder.writer.take();
    let found = decode(&bytes, &config, &Arc::new(image), 1);
    assert_eq!(found.error, None);
    assert_eq!(pcs(&found), [0x8000, 0x8004, 0x8008, 0x8014, 0x8018, 0x8020, 0x8024, 0x8028]);
    assert!(common::raw(&bytes, &config).contains("full_address"));
    assert!(encoder.set_options(Options { implicit_return: true, ..options }, 15).is_err());
}

/// Several sources in one stream, each decoded alone.
#[test]
fn several_sources() {
    let (program, first, wanted) = walk(1);
    let numbers = &mut Numbers(77);
    let second = Walk::new(numbers, &program, 500, Rates::default());
    let mut config = Config::new(Dialect::V2);
    config.framing = Framing::Encap { srcid_width: 6, type_width: 2, timestamp_bytes: 0 };
    let frames = |walk: &Walk, source: u32| {
        let config = Config {
            encoder: trackway_etrace::EncoderConfig { source, ..config.encoder.clone() },
            ..config.clone()
        };
        let (bytes, _) = common::encode(&walk.batch, &config);
        let mut frames = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let frame = config.framing.read(&bytes[at..], 0).unwrap();
            frames.push(bytes[at..at + frame.len as usize].to_vec());
            at += frame.len as usize;
        }
        frames
    };
    let (a, b) = (frames(&first, 5), frames(&second, 3));
    let mut bytes = Vec::new();
    for n in 0..a.len().max(b.len()) {
        bytes.extend(a.get(n).into_iter().chain(b.get(n)).flatten());
    }
    let image = image_of(&program);
    for jobs in [1, 2] {
        let input = Input::from_vec(bytes.clone());
        let mut lift = lift(input, &config, Arc::clone(&image), jobs).unwrap();
        assert_eq!(lift.meta().sources, ["source 3", "source 5"]);
        let (mut batch, mut counts) = (Batch::default(), [0u64; 2]);
        while lift.fill(&mut batch).unwrap() {
            let attempted = batch
                .events
                .iter()
                .filter(|event| matches!(event.kind, EventKind::Run(run) if run.attempted));
            counts[usize::from(batch.source)] += batch.instructions() - attempted.count() as u64;
        }
        let retired =
            |walk: &Walk| walk.seen.iter().filter(|seen| matches!(seen, Seen::Retired(..))).count() as u64;
        assert_eq!(counts, [retired(&second), wanted.len() as u64]);
    }
}

/// Chapter 6: after damage, packets are found again after a run of zero bytes, and at block boundaries; decoding
/// starts in mid-stream at a synchronisation.
#[test]
fn realignment_and_mid_stream() {
    let (program, walk, wanted) = walk(3);
    let mut config = Config::new(Dialect::V2);
    config.encoder.resync_interval = Some(20);
    let (bytes, _) = common::encode(&walk.batch, &config);
    // Cut in front: whole frames are missing.
    let mut at = 0;
    for _ in 0..30 {
        at += config.framing.read(&bytes[at..], 0).unwrap().len as usize;
    }
    let found = decode(&bytes[at..], &config, &image_of(&program), 1);
    assert_eq!(found.error, None);
    let rest = pcs(&found);
    assert!(rest.len() > wanted.len() / 2 && wanted.ends_with(&rest));

    // A cut frame, then zeros, then the trace: the reader continues after the zeros.
    config.framing = Framing::Encap { srcid_width: 0, type_width: 0, timestamp_bytes: 0 };
    let (bytes, _) = common::encode(&walk.batch, &config);
    let mut damaged = vec![0x1f, 0xff, 0xff];
    damaged.extend([0; 70]);
    damaged.extend(&bytes);
    let mut reader = trackway_etrace::Reader::new(Input::from_vec(damaged), &config);
    while reader.offset() < 73 {
        if reader.read().is_err() {
            reader.resync().unwrap();
        }
    }
    assert!(reader.read().unwrap().is_some());
    assert_eq!(
        trackway_etrace::transport::find_zero_run(&[[1u8; 3].as_slice(), &[0; 40], &[7]].concat()),
        Some(43)
    );
    assert_eq!(
        trackway_etrace::transport::find_zero_run(&[[1u8; 3].as_slice(), &[0; 20], &[7]].concat()),
        None
    );
}
