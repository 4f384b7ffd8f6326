//! The E-Trace encoder.

use std::sync::Arc;

use trackway::etrace::registers::{Comparator, Filter, function, match_mode};
use trackway::etrace::{Config, Dialect, Lower, Plan, ResyncMode, SupportLayout, lift_by};
use trackway::events::{Batch, EventKind, FormatId, Gap, GapReason, Input, Isa, Meta, Sink, Source};
use trackway::image::{Image, Space};
use trackway_testkit::random::{Numbers, Program, Rates, Seen, Walk};

/// Modes of the encoder by the bits of three bytes.
fn modes(dialect: Dialect, [f, g, h]: [u8; 3]) -> Config {
    let mut config = Config::new(dialect);
    config.support = SupportLayout::named("all").expect("it is in the list");
    let params = &mut config.params;
    (params.nocontext, params.context_width, params.ctype_width) = (0, 8, 2);
    (params.sijump, params.f0s_width, params.bpred_size, params.cache_size) = (1, 1, 3, 2);
    params.return_stack_size = 1 + u32::from(g & 3);
    config.options.implicit_return = f & 2 != 0;
    config.options.branch_prediction = f & 4 != 0;
    config.options.jump_target_cache = f & 8 != 0;
    config.options.sijump = f & 16 != 0;
    config.options.full_address = f & 32 != 0;
    config.encoder.block = u32::from(g >> 2 & 3);
    config.encoder.resync_mode =
        [ResyncMode::Off, ResyncMode::Packets, ResyncMode::Cycles, ResyncMode::Halfwords]
            [usize::from(g >> 5 & 3)];
    config.encoder.resync_interval = Some(1 + u64::from(h));
    config
}

/// The program of a walk as an image.
fn image_of(program: &Program) -> Arc<Image> {
    let mut image = Image::default();
    image.add_raw("program", 0x8000, Arc::new(program.bytes()), Space::default()).expect("good code");
    Arc::new(image)
}

/// Encodes a random walk in any mode: decoding is the identity, on any number of threads.
pub fn etrace_round_trip(data: &[u8]) {
    let Some(&[a, b, c, d, e, f, g, h]) = data.first_chunk::<8>() else { return };
    let numbers = &mut Numbers(u64::from_le_bytes([a, b, c, 0, 0, 0, 0, 0]));
    let program = Program::new(numbers, 0x8000, 4 + usize::from(d % 64));
    let rate = |bit: u8, rate: u64| if e >> bit & 1 == 1 { rate } else { 0 };
    let rates = Rates {
        exception: rate(0, 10),
        interrupt: rate(1, 10),
        stray_return: rate(2, 3),
        privilege: e & 8 != 0,
        context: rate(4, 12),
        notify: rate(5, 10),
        steady: e & 64 != 0,
        vector: false,
    };
    let walk = Walk::new(numbers, &program, 300, rates);
    let mut config = modes(Dialect::V2, [f, g, h]);
    if f & 1 == 0 {
        // A counter of calls instead of a stack of their addresses.
        config.params.call_counter_size = std::mem::take(&mut config.params.return_stack_size);
    }
    config.encoder.branch_count_max = if g & 16 == 0 { 3 } else { u32::MAX };
    let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).expect("good settings");
    lower.put(&walk.batch).expect("memory does not fail");
    lower.finish().expect("memory does not fail");
    let bytes = lower.into_inner();
    let image = image_of(&program);
    let memory = image.memory(&Default::default());
    for jobs in [1, 2] {
        let (input, plan) = (Input::from_vec(bytes.clone()), Plan { part_bytes: 40, ..Plan::new(jobs) });
        let mut lift = lift_by(input, &config, Arc::clone(&image), &plan).expect("good settings");
        let (mut batch, mut pcs) = (Batch::default(), Vec::new());
        while lift.fill(&mut batch).expect("our own trace") {
            for event in &batch.events {
                let EventKind::Run(run) = &event.kind else { continue };
                let mut at = run.start;
                for _ in 0..run.count - u32::from(run.attempted) {
                    pcs.push(at);
                    at += u64::from(memory.fetch(run.isa, at).expect("it was executed").1);
                }
            }
        }
        let wanted = walk.seen.iter().filter_map(|seen| match seen {
            Seen::Retired(pc, _) => Some(*pc),
            Seen::Trap(..) => None,
        });
        assert!(wanted.eq(pcs));
    }
}

/// Encodes a random walk with random modes, filters, buffers and gaps in both dialects, and proves the result.
pub fn etrace_encode(data: &[u8]) {
    let Some(&[a, b, c, d, e, f, g, h, rest @ ..]) = data.first_chunk::<12>() else { return };
    let numbers = &mut Numbers(u64::from_le_bytes([a, b, c, 0, 0, 0, 0, 0]));
    let program = Program::new(numbers, 0x8000, 4 + usize::from(d % 64));
    let dialect = if rest[0] & 1 == 0 { Dialect::V2 } else { Dialect::Draft };
    // The draft cannot express every trap, and then sees others at their places.
    let has_traps = dialect == Dialect::V2;
    let rate = |bit: u8, rate: u64| if e >> bit & 1 == 1 { rate } else { 0 };
    let rates = Rates {
        exception: rate(0, 10) * u64::from(has_traps),
        interrupt: rate(1, 10) * u64::from(has_traps),
        stray_return: rate(2, 3),
        privilege: e & 8 != 0 && has_traps,
        context: 0,
        notify: 0,
        steady: e & 64 != 0,
        vector: false,
    };
    let walk = Walk::new(numbers, &program, 300, rates);
    // By packets or not at all.
    let mut config = modes(dialect, [f, g & !0x40, h]);
    (config.params.iaddress_width, config.params.filter_privilege) = (64, 1);
    if rest[0] & 2 != 0 {
        (config.encoder.buffer, config.encoder.drain) = (48 + u32::from(rest[1]), 16 + u32::from(rest[2]));
    }
    if rest[0] & 4 != 0 {
        let first = 0x8000 + u64::from(rest[1]);
        config.filters.ifilters = 1;
        config.filters.comparators = vec![Comparator {
            p_function: function::GREATER_EQUAL,
            p_match: first,
            s_function: function::LESS,
            s_match: first + u64::from(rest[2]),
            match_mode: if rest[0] & 8 != 0 { match_mode::BOTH } else { match_mode::NOT_BOTH },
            ..Comparator::default()
        }];
        config.filters.filters = vec![Filter { filter_enable: true, match_comp1: true, ..Filter::default() }];
    }
    let mut batch = walk.batch;
    if rest[0] & 16 != 0 {
        add_gaps(numbers, &mut batch);
    }
    let meta = Meta::new(FormatId::new("events"), Isa::Rv64);
    let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).expect("good settings");
    lower.put(&batch).expect("memory does not fail");
    let account = lower.finish().expect("memory does not fail");
    let bytes = lower.into_inner();
    let image = image_of(&program);
    let read = || -> Box<dyn Source> {
        let input = Input::from_vec(bytes.clone());
        Box::new(lift_by(input, &config, Arc::clone(&image), &Plan::new(1)).expect("good settings"))
    };
    let is_lossy = config.encoder.buffer > 0 || config.filters.ifilters != 0;
    if is_lossy {
        crate::assert_counted(&meta, &batch, &account, &image, read());
    } else {
        crate::assert_proved(&meta, &batch, &account, &image, read);
    }
}

fn add_gaps(numbers: &mut Numbers, batch: &mut Batch) {
    for event in std::mem::take(&mut batch.events) {
        // Never between an instruction and its trap.
        if matches!(event.kind, EventKind::Step(_)) && numbers.one_in(25) {
            batch.push_gap(0, Gap::new(GapReason::LostSync));
        }
        batch.events.push(event);
    }
}
