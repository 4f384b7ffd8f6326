//! Any walk through any program in any mode: encoding and decoding is the identity, on any number of threads.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use trackway_core::{Batch, EventKind, Input, Isa, Sink, Source};
use trackway_etrace::{Config, Dialect, Lower, Plan, ResyncMode, SupportLayout, lift_by};
use trackway_image::{Image, Space};
use trackway_testkit::random::{Numbers, Program, Rates, Seen, Walk};

fuzz_target!(|data: &[u8]| {
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
    let mut config = Config::new(Dialect::V2);
    config.support = SupportLayout::named("all").unwrap();
    let params = &mut config.params;
    (params.nocontext, params.context_width, params.ctype_width) = (0, 8, 2);
    (params.sijump, params.f0s_width, params.bpred_size, params.cache_size) = (1, 1, 3, 2);
    params.return_stack_size = u32::from(f & 1) * (1 + u32::from(g & 3));
    params.call_counter_size = u32::from(f & 1 ^ 1) * (1 + u32::from(g & 3));
    config.options.implicit_return = f & 2 != 0;
    config.options.branch_prediction = f & 4 != 0;
    config.options.jump_target_cache = f & 8 != 0;
    config.options.sijump = f & 16 != 0;
    config.options.full_address = f & 32 != 0;
    config.encoder.block = u32::from(g >> 2 & 3);
    config.encoder.branch_count_max = if g & 16 == 0 { 3 } else { u32::MAX };
    config.encoder.resync_mode =
        [ResyncMode::Off, ResyncMode::Packets, ResyncMode::Cycles, ResyncMode::Halfwords]
            [usize::from(g >> 5 & 3)];
    config.encoder.resync_interval = Some(1 + u64::from(h));

    let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).unwrap();
    lower.put(&walk.batch).unwrap();
    lower.finish().unwrap();
    let bytes = lower.into_inner();
    let mut image = Image::default();
    image.add_raw("program", 0x8000, Arc::new(program.bytes()), Space::default()).unwrap();
    let image = Arc::new(image);
    let memory = image.memory(&Default::default());
    for jobs in [1, 2] {
        let input = Input::from_vec(bytes.clone());
        let mut lift =
            lift_by(input, &config, Arc::clone(&image), &Plan { part_bytes: 40, ..Plan::new(jobs) }).unwrap();
        let (mut batch, mut pcs) = (Batch::default(), Vec::new());
        while lift.fill(&mut batch).expect("our own trace") {
            for event in &batch.events {
                let EventKind::Run(run) = &event.kind else { continue };
                let mut at = run.start;
                for _ in 0..run.count - u32::from(run.attempted) {
                    pcs.push(at);
                    at += u64::from(memory.fetch(run.isa, at).unwrap().1);
                }
            }
        }
        let wanted = walk.seen.iter().filter_map(|seen| match seen {
            Seen::Retired(pc, _) => Some(*pc),
            Seen::Trap(..) => None,
        });
        assert!(wanted.eq(pcs));
    }
});
