//! Damage does not multiply the work: counted in events, not by the clock.

mod common;

use std::sync::Arc;

use common::image_of;
use trackway_core::*;
use trackway_etrace::wire::instruction::Packet;
use trackway_etrace::{Config, Dialect, Lower, Plan, Reader, SupportLayout, Writer, lift_by};
use trackway_image::{Image, Space};
use trackway_testkit::random::{Numbers, Program, Rates, Walk};

/// Events and gaps, past all damage.
fn work(bytes: &[u8], config: &Config, image: &Arc<Image>, threads: usize) -> (u64, Vec<Gap>) {
    let input = Input::from_vec(bytes.to_vec());
    let plan = Plan { part_bytes: 512, ..Plan::new(threads) };
    let mut lift = lift_by(input, config, Arc::clone(image), &plan).unwrap();
    let (mut batch, mut events, mut gaps) = (Batch::default(), 0, Vec::new());
    loop {
        match lift.fill(&mut batch) {
            Ok(true) => {
                events += batch.events.len() as u64;
                gaps.extend_from_slice(&batch.gaps);
            }
            Ok(false) => return (events, gaps),
            Err(_) => {
                if !lift.resync().unwrap_or(false) {
                    return (events, gaps);
                }
            }
        }
    }
}

fn predicting() -> Config {
    let mut config = Config::new(Dialect::V2);
    config.support = SupportLayout::named("all").unwrap();
    config.params.iaddress_width = 64;
    config.params.bpred_size = 5;
    config.options.branch_prediction = true;
    config.encoder.branch_count_max = 1000;
    config
}

/// A count of four thousand million branches in a loop is a gap with the number of its instructions.
#[test]
fn a_damaged_branch_count_is_bounded() {
    // 1: c.addi a0, -1; bne a0, x0, 1b; c.nop
    let code = [0x7d, 0x15, 0xe3, 0x1f, 0x05, 0xfe, 0x01, 0x00];
    let mut image = Image::default();
    image.add_raw("loop", 0x8000, Arc::new(code), Space::default()).unwrap();
    let image = Arc::new(image);
    let mut batch = Batch::default();
    for round in 0..500 {
        batch.push(0, EventKind::Step(Step::new(0x8000, 0x157d, 2)));
        let branch = Step { taken: Some(round < 499), ..Step::new(0x8002, 0xfe05_1fe3, 4) };
        batch.push(0, EventKind::Step(branch));
    }
    batch.push(0, EventKind::Step(Step::new(0x8006, 0x0001, 2)));
    let config = predicting();
    let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).unwrap();
    lower.put(&batch).unwrap();
    lower.finish().unwrap();
    let bytes = lower.into_inner();
    assert!(work(&bytes, &config, &image, 1).1.is_empty());

    let mut reader = Reader::new(Input::from_vec(bytes), &config);
    let (mut writer, mut counts) = (Writer::new(&config), 0);
    while let Some(item) = reader.read().unwrap() {
        match *item.packet().unwrap() {
            Packet::BranchCount(mut packet) => {
                counts += 1;
                packet.branch_count = u32::MAX;
                writer.write(&Packet::BranchCount(packet), None).unwrap();
            }
            packet => writer.write(&packet, None).unwrap(),
        }
        if let Some(Packet::Support(_)) = item.packet() {
            writer.set_options(config.options);
        }
    }
    assert_eq!(counts, 1);
    for threads in [1, 2] {
        let (events, gaps) = work(&writer.bytes, &config, &image, threads);
        assert!(events < 1200, "{events}");
        let [gap] = gaps[..] else { panic!("{gaps:?}") };
        assert_eq!(gap.reason, GapReason::NoPath);
        let shown = 2 * (events - 10);
        let instructions = gap.instructions.unwrap();
        assert!(instructions > 2 * (u64::from(u32::MAX) - shown), "{instructions}");
    }
}

/// Flipped bits of any number and place.
#[test]
fn damage_does_not_multiply_the_work() {
    let mut most = (0.0, 0);
    for seed in 0..400 {
        let numbers = &mut Numbers(seed);
        let program = Program::new(numbers, 0x8000, 40);
        let rates = Rates { steady: true, exception: 40, ..Rates::default() };
        let walk = Walk::new(numbers, &program, 20_000, rates);
        let mut config = predicting();
        if seed % 4 == 0 {
            config.options.branch_prediction = false;
        }
        let (mut bytes, _) = common::encode(&walk.batch, &config);
        let image = image_of(&program);
        let (undamaged, _) = work(&bytes, &config, &image, 1);
        for _ in 0..1 + numbers.below(8) {
            let at = numbers.below(bytes.len() as u64 * 8) as usize;
            bytes[at / 8] ^= 1 << (at % 8);
        }
        let (damaged, _) = work(&bytes, &config, &image, 1);
        assert!(damaged <= 3 * undamaged + 5000, "seed {seed}: {damaged} events instead of {undamaged}");
        let ratio = damaged as f64 / undamaged as f64;
        most = if ratio > most.0 { (ratio, seed) } else { most };
    }
    println!("at most {:.2} times the work, seed {}", most.0, most.1);
}

/// Ten megabytes with a flipped bit in every few thousand bytes.
#[test]
fn ten_megabytes_with_damage() {
    let numbers = &mut Numbers(1);
    let program = Program::new(numbers, 0x8000, 40);
    let walk = Walk::new(numbers, &program, 20_000, Rates { exception: 40, ..Rates::default() });
    let mut config = predicting();
    config.options.branch_prediction = false;
    let (once, _) = common::encode(&walk.batch, &config);
    let image = image_of(&program);
    let rounds = (10 << 20) / once.len();
    let undamaged = work(&once, &config, &image, 1).0 * rounds as u64;
    for seed in 0..2 {
        let (mut bytes, numbers) = (once.repeat(rounds), &mut Numbers(seed));
        for _ in 0..1 + numbers.below(5_000) {
            let at = numbers.below(bytes.len() as u64 * 8) as usize;
            bytes[at / 8] ^= 1 << (at % 8);
        }
        let (damaged, _) = work(&bytes, &config, &image, 1);
        assert!(damaged <= 3 * undamaged, "seed {seed}: {damaged} events instead of {undamaged}");
        assert!(damaged >= undamaged / 20, "seed {seed}: {damaged} events instead of {undamaged}");
    }
}
