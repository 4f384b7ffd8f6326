//! Decoding remembers pieces of the way and paths of packets: sessions that come again are the same as the first.

mod common;

use trackway_etrace::{Config, Dialect};
use trackway_testkit::random::{Numbers, Program, Rates, Walk};

/// Runs without their offsets.
fn runs(bytes: &[u8], config: &Config, program: &Program) -> Vec<String> {
    let found = common::decode(bytes, config, &common::image_of(program), 1);
    assert_eq!(found.error, None);
    let bare = found.lines.iter().filter_map(|line| line.split_once(' ')).map(|(_, rest)| rest.to_string());
    bare.filter(|line| line.starts_with("run")).collect()
}

#[test]
fn repeated_sessions_are_like_the_first() {
    let mut branches = 0;
    for seed in 0..1000 {
        let numbers = &mut Numbers(seed);
        let program = Program::new(numbers, 0x8000, 4 + (seed as usize * 7) % 60);
        let walk = Walk::new(numbers, &program, 100 + (seed as usize * 13) % 900, Rates::default());
        let mut config = Config::new(Dialect::V2);
        config.support = trackway_etrace::SupportLayout::named("all").unwrap();
        config.params.iaddress_width = 64;
        config.options.full_address = seed % 2 == 1;
        let (session, _) = common::encode(&walk.batch, &config);
        let first = runs(&session, &config, &program);
        branches += first.iter().filter(|line| line.contains("taken=")).count();
        let again = runs(&session.repeat(3), &config, &program);
        assert_eq!(again, [&first[..]; 3].concat(), "seed {seed}");
    }
    assert!(branches > 10_000, "{branches}");
}

/// A program with more places than are remembered at once.
#[test]
fn sessions_of_a_long_program_are_like_the_first() {
    for seed in 0..4 {
        let numbers = &mut Numbers(seed);
        let program = Program::new(numbers, 0x8000, 30_000);
        let walk = Walk::new(numbers, &program, 100_000, Rates::default());
        let mut config = Config::new(Dialect::V2);
        config.support = trackway_etrace::SupportLayout::named("all").unwrap();
        config.params.iaddress_width = 64;
        let (session, _) = common::encode(&walk.batch, &config);
        let first = runs(&session, &config, &program);
        let again = runs(&session.repeat(3), &config, &program);
        assert!(again == [&first[..]; 3].concat(), "seed {seed}");
        let places: std::collections::HashSet<_> = first.iter().map(|line| line.split_once(' ')).collect();
        assert!(places.len() > 3000, "seed {seed}: {}", places.len());
    }
}
