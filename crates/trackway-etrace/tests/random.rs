//! Random programs and paths: encode, then decode, is the identity.

mod common;

use common::{decode, encode, facts_in, image_of};
use trackway_core::*;
use trackway_etrace::registers::{Comparator, Filter, function, match_mode};
use trackway_etrace::{Config, Dialect, ResyncMode, SupportLayout, TrapVector};
use trackway_testkit::random::{Numbers, Program, Rates, Seen, Walk};

/// A configuration out of all that are legal.
fn random_config(numbers: &mut Numbers, dialect: Dialect) -> Config {
    let mut config = Config::new(dialect);
    config.support = SupportLayout::named("all").unwrap();
    let params = &mut config.params;
    params.iaddress_width = [32, 40, 64][numbers.below(3) as usize];
    params.privilege_width = 2 + numbers.below(2) as u32;
    params.ecause_width = 4 + numbers.below(3) as u32;
    params.nocontext = 0;
    params.context_width = 8;
    params.ctype_width = 2;
    params.sijump = 1;
    params.f0s_width = 1;
    params.bpred_size = 1 + numbers.below(6) as u32;
    params.cache_size = 1 + numbers.below(5) as u32;
    if numbers.one_in(2) {
        params.return_stack_size = 1 + numbers.below(4) as u32;
    } else {
        params.call_counter_size = 1 + numbers.below(4) as u32;
        config.call_counter_full = numbers.one_in(3);
    }
    let on = numbers.draw();
    config.options.sijump = on & 1 == 1;
    config.options.implicit_return = on & 2 == 2;
    config.options.branch_prediction = on & 4 == 4;
    config.options.jump_target_cache = on & 8 == 8;
    config.options.full_address = on & 0x70 == 0x70;
    config.options.implicit_exception = on & 0x180 == 0x180;
    if on & 0x200 == 0 && !config.options.implicit_return {
        config.params.itype_width = 3;
    }
    let encoder = &mut config.encoder;
    encoder.shortest = on & 0x400 == 0;
    encoder.compress = on & 0x3800 != 0;
    encoder.block = numbers.below(4) as u32;
    encoder.branch_count_max = if on & 0x4000 == 0 { numbers.below(5) as u32 } else { u32::MAX };
    config.params.taken_branches = 1 + numbers.below(3) as u32;
    match numbers.below(4) {
        0 => encoder.resync_mode = ResyncMode::Off,
        1 => {
            (encoder.resync_mode, encoder.resync_interval) =
                (ResyncMode::Packets, Some(1 + numbers.below(20)))
        }
        2 => {
            (encoder.resync_mode, encoder.resync_interval) = (ResyncMode::Cycles, Some(1 + numbers.below(60)))
        }
        _ => {
            (encoder.resync_mode, encoder.resync_interval) =
                (ResyncMode::Halfwords, Some(1 + numbers.below(99)))
        }
    }
    config
}

fn random_rates(numbers: &mut Numbers) -> Rates {
    let on = numbers.draw();
    let rate = |bit: u32, rate: u64| if on >> bit & 1 == 1 { rate } else { 0 };
    Rates {
        exception: rate(0, 12),
        interrupt: rate(1, 12),
        stray_return: rate(2, 3),
        privilege: on & 8 == 8,
        context: rate(4, 15),
        notify: rate(5, 12),
        steady: on & 64 == 64,
        vector: on & 128 == 128,
    }
}

struct Case {
    config: Config,
    program: Program,
    walk: Walk,
}

fn case(seed: u64, dialect: Dialect) -> Case {
    let numbers = &mut Numbers(seed);
    let count = 4 + numbers.below(60) as usize;
    let program = Program::new(numbers, 0x8000, count);
    let rates = random_rates(numbers);
    let steps = 20 + numbers.below(400) as usize;
    let walk = Walk::new(numbers, &program, steps, rates);
    let mut config = random_config(numbers, dialect);
    if rates.vector {
        config.trap_vectors = vec![TrapVector { base: 0x8000, ..TrapVector::default() }];
    }
    Case { config, program, walk }
}

fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("TRACKWAY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(6000);
    0..count
}

/// Compares, except for the last trap's handler: the trace may end before it.
fn same(seed: u64, walk: &Walk, found: &common::Found, bytes: &[u8], config: &Config) {
    let at = walk.seen.iter().zip(&found.seen).position(|(a, b)| a != b);
    let at = at.unwrap_or(walk.seen.len().min(found.seen.len()));
    if at < walk.seen.len() || at < found.seen.len() || found.error.is_some() {
        // A trap at the very end has no handler in the trace.
        if at + 1 == walk.seen.len()
            && at + 1 == found.seen.len()
            && let (Seen::Trap(a, b, c, d, _), Seen::Trap(e, f, g, h, None)) =
                (&walk.seen[at], &found.seen[at])
            && (a, b, c, d) == (e, f, g, h)
        {
            return;
        }
        let around = at.saturating_sub(4);
        panic!(
            "seed {seed}: {:?} differs at {at} of {}/{}\nwanted {:x?}\nfound  {:x?}\n{:?}\n{:?}\n{}\n{}",
            found.error.map(|error| error.to_string()),
            walk.seen.len(),
            found.seen.len(),
            &walk.seen[around..(at + 3).min(walk.seen.len())],
            &found.seen[around.min(found.seen.len())..(at + 3).min(found.seen.len())],
            config.options,
            config.encoder,
            common::raw(bytes, config),
            found.lines.join("\n")
        );
    }
}

#[test]
fn v2_exact_is_the_identity() {
    for seed in seeds() {
        let Case { config, program, walk } = case(seed, Dialect::V2);
        let (bytes, losses) = encode(&walk.batch, &config);
        let image = image_of(&program);
        let found = decode(&bytes, &config, &image, 1);
        same(seed, &walk, &found, &bytes, &config);
        assert!(found.gaps.is_empty(), "seed {seed}: {:?}", found.gaps);
        for fact in [Fact::Instructions, Fact::Attempted, Fact::Outcomes, Fact::Traps, Fact::Encodings] {
            assert_eq!(losses.count(Fate::Dropped, fact), 0, "seed {seed}: {losses}");
        }
        for (n, &(at, id, change)) in walk.contexts.iter().enumerate() {
            // An imprecise change is reported near its place.
            let blurred = walk.contexts.get(n + 1).is_some_and(|next| next.2 == 1 && next.0 == at + 1);
            assert!(change == 1 || blurred || found.contexts[at as usize] == id, "seed {seed}: {id} at {at}");
        }
        let many = decode(&bytes, &config, &image, 3);
        if many.lines != found.lines {
            let at = many.lines.iter().zip(&found.lines).take_while(|(a, b)| a == b).count();
            let part = |lines: &[String]| lines[at.saturating_sub(3)..(at + 4).min(lines.len())].join("\n");
            panic!(
                "seed {seed}: jobs {:?} {:?}\n{}\n---\n{}",
                config.options,
                many.error,
                part(&found.lines),
                part(&many.lines)
            );
        }
    }
}

/// A walk as the draft can express it: no trap that another follows at once, none at the end, no value of an
/// illegal instruction.
fn as_the_draft_says(walk: &Walk, program: &Program) -> Vec<Seen> {
    use trackway_testkit::random::Leave;
    let at = |pc: u64| program.slots.iter().find(|slot| slot.pc == pc).map(|slot| slot.leave);
    let mut seen = Vec::new();
    for (n, item) in walk.seen.iter().enumerate() {
        let Seen::Trap(interrupt, cause, value, from, to) = item.clone() else {
            seen.push(item.clone());
            continue;
        };
        if !matches!(walk.seen.get(n + 1), Some(Seen::Retired(..))) {
            continue;
        }
        let illegal = cause == 2 && !interrupt;
        let mut epc = from;
        let value = match (illegal, interrupt) {
            (true, _) => None,
            (_, true) => Some(0),
            _ => value,
        };
        // After an indirect jump, and at the start, only an illegal instruction's address is reported.
        let known = match n.checked_sub(1).map(|before| &walk.seen[before]) {
            Some(Seen::Retired(pc, _)) => !matches!(
                at(*pc),
                Some(
                    Leave::Indirect
                        | Leave::IndirectCall
                        | Leave::Return
                        | Leave::TrapReturn
                        | Leave::PairJump { .. }
                )
            ),
            Some(Seen::Trap(..)) => {
                // Taken for the place where the trap before hit.
                epc = None;
                false
            }
            None => false,
        };
        if !known && !illegal {
            epc = None;
        } else if illegal {
            epc = from;
        }
        seen.push(Seen::Trap(interrupt, cause, value, epc, to));
    }
    seen
}

#[test]
fn draft_exact_is_the_identity_less_the_ledger() {
    for seed in seeds() {
        let Case { mut config, program, mut walk } = case(seed, Dialect::Draft);
        config.options.implicit_exception &= !config.trap_vectors.is_empty();
        let (bytes, losses) = encode(&walk.batch, &config);
        let mut found = decode(&bytes, &config, &image_of(&program), 1);
        let dropped = losses.count(Fate::Dropped, Fact::Traps);
        let all = walk.seen.iter().filter(|item| matches!(item, Seen::Trap(..))).count() as u64;
        walk.seen = as_the_draft_says(&walk, &program);
        let reported = walk.seen.iter().filter(|item| matches!(item, Seen::Trap(..))).count() as u64;
        assert_eq!(dropped, all - reported, "seed {seed}: {losses}");
        // A trap in the wake of one that was dropped seems to hit where that one did.
        for (wanted, found) in walk.seen.iter().zip(&mut found.seen) {
            if let (Seen::Trap(.., None, _), Seen::Trap(.., epc, _)) = (wanted, found) {
                *epc = None;
            }
        }
        same(seed, &walk, &found, &bytes, &config);
        let many = decode(&bytes, &config, &image_of(&program), 2);
        let kinds = |lines: &[String]| lines.len();
        assert_eq!(kinds(&many.lines), kinds(&found.lines), "seed {seed}");
    }
}

/// Adds a filter on addresses and privileges, a buffer that overflows, or both.
fn hide_something(numbers: &mut Numbers, program: &Program, config: &mut Config) {
    if numbers.one_in(2) {
        config.params.retires = 1 + numbers.below(3) as u32;
        config.params.filter_privilege = 1;
        let (first, last) = (program.slots[0].pc, program.slots[program.slots.len() - 1].pc);
        let at = first + numbers.below(last - first + 4);
        config.filters.ifilters = 1;
        config.filters.comparators = vec![Comparator {
            p_function: function::GREATER_EQUAL,
            p_match: at,
            s_function: function::LESS,
            s_match: at + numbers.below(60),
            match_mode: match_mode::BOTH,
            ..Comparator::default()
        }];
        let mut filter = Filter { filter_enable: true, match_comp1: true, ..Filter::default() };
        filter.match_privilege = numbers.one_in(3);
        filter.match_choice_privilege = 8;
        config.filters.filters = vec![filter];
    }
    if numbers.one_in(2) {
        config.encoder.buffer = 48 + numbers.below(64) as u32;
        config.encoder.drain = 16 + numbers.below(100) as u32;
    }
}

/// Adds gaps and times between the events.
fn add_gaps_and_times(numbers: &mut Numbers, batch: &mut Batch) {
    let (gaps, times) = (numbers.one_in(3), numbers.one_in(3));
    let mut time = 0;
    for event in std::mem::take(&mut batch.events) {
        if gaps && numbers.one_in(20) {
            batch.push_gap(0, Gap::new(GapReason::LostSync));
        }
        if times && numbers.one_in(5) {
            time += numbers.below(3);
            let time = Time { kind: TimeKind::Timestamp, value: Some(time), clock: 0 };
            batch.push(0, EventKind::Time(time));
        }
        batch.events.push(event);
    }
}

/// The ledger says what a decoder finds, whatever filters exclude and buffers lose.
#[test]
fn the_ledger_counts_what_a_decoder_finds() {
    for seed in seeds() {
        for dialect in Dialect::ALL {
            let Case { mut config, program, mut walk } = case(seed, dialect);
            config.options.implicit_exception &= !config.trap_vectors.is_empty();
            let numbers = &mut Numbers(seed ^ 0x5eed);
            hide_something(numbers, &program, &mut config);
            add_gaps_and_times(numbers, &mut walk.batch);
            config.params.notime = numbers.below(2) as u32;
            config.params.time_width = 32;
            let (bytes, losses) = encode(&walk.batch, &config);
            let found = facts_in(&bytes, &config, &image_of(&program));
            // Where jumps go, and what a gap is about, a decoder may find beyond what is accounted for; features are not
            // in the events.
            let is_free = |fact: Fact| {
                matches!(fact, Fact::Targets | Fact::Features) || fact != Fact::Gaps && fact.is_of_gap()
            };
            for &fact in Fact::ALL.iter().filter(|fact| !is_free(**fact)) {
                let [kept, derived, _, invented] = Fate::ALL.map(|fate| losses.count(fate, fact));
                assert_eq!(
                    kept + derived + invented,
                    found[fact],
                    "seed {seed} {dialect:?}: {}\n{losses}{}\n{}",
                    fact.as_str(),
                    common::raw(&bytes, &config),
                    decode(&bytes, &config, &image_of(&program), 1).lines.join("\n")
                );
            }
        }
    }
}

/// Blocks of any size and number per cycle yield the packets of single retirement.
#[test]
fn blocks_give_the_packets_of_single_retirement() {
    for seed in seeds().take(2000) {
        for dialect in Dialect::ALL {
            let Case { mut config, walk, .. } = case(seed, dialect);
            if config.encoder.resync_mode == ResyncMode::Cycles {
                // Blocks need fewer cycles.
                config.encoder.resync_mode = ResyncMode::Packets;
            }
            config.encoder.exact = seed % 3 != 0;
            config.encoder.block = 1;
            config.params.taken_branches = 1;
            let (single, _) = encode(&walk.batch, &config);
            for (block, blocks) in [(0, 1), (2, 1), (3, 2), (0, 4)] {
                config.encoder.block = block;
                config.params.taken_branches = blocks;
                let blocky = encode(&walk.batch, &config).0;
                if blocky != single {
                    let (a, b) = (common::raw(&single, &config), common::raw(&blocky, &config));
                    let at = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
                    let part = |text: &str| {
                        text.lines().skip(at.saturating_sub(3)).take(7).collect::<Vec<_>>().join("\n")
                    };
                    panic!(
                        "seed {seed}: {block} {blocks} {:?} {:?}\n{}\n---\n{}",
                        config.options,
                        config.encoder,
                        part(&a),
                        part(&b)
                    );
                }
            }
        }
    }
}
