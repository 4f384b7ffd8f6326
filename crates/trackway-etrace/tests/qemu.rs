//! Real executions there and back, for every legal combination of modes.
//!
//! The ordinary run takes a window of each; `TRACKWAY_SWEEP=1` takes all of them, `TRACKWAY_SWEEP=lua` that one.

mod common;

use std::sync::Arc;

use common::round::{Case, Seen, configs, there_and_back};
use trackway_core::*;
use trackway_etrace::{Config, Dialect, Lower, SupportLayout, TrapVector};
use trackway_image::{Image, Space};
use trackway_testkit::qemu;

fn open(folder: &str, name: &str, window: usize) -> Option<Case> {
    let run = qemu::Run::corpus(folder, name)?;
    let mut image = Image::default();
    image.add_elf("elf", Arc::new(run.elf.clone()), None, Space::default()).unwrap();
    // Code that is not in the ELF: the reset ROM, the page that signals return through.
    let memory = image.memory(&Context::default());
    let mut outside: Vec<u64> = run.code.keys().copied().filter(|pc| memory.word(*pc).is_none()).collect();
    outside.sort_unstable();
    for pc in outside {
        let (encoding, size) = run.code[&pc];
        let bytes = encoding.to_le_bytes()[..usize::from(size)].to_vec();
        image.add_raw("outside", pc, Arc::new(bytes), Space::default()).unwrap();
    }
    let (mut batches, mut seen, mut events) = (Vec::new(), Seen::default(), run.events());
    let mut batch = Batch::default();
    while seen.pcs.len() < window && events.fill(&mut batch).unwrap() {
        for event in &batch.events {
            seen.note(&batch, event);
        }
        batches.push(std::mem::take(&mut batch));
    }
    let vectors =
        if run.bare { vec![TrapVector { base: 0x8000_009c, ..TrapVector::default() }] } else { Vec::new() };
    let name = format!("{folder}/{name}");
    Some(Case { name, isa: Isa::Rv64, batches, seen, image: Arc::new(image), vectors })
}

#[test]
fn every_combination_of_modes() {
    let sweep = std::env::var("TRACKWAY_SWEEP").ok();
    let window = if sweep.is_some() { usize::MAX } else { 6_000 };
    for (folder, name) in qemu::RISCV {
        if sweep.as_deref().is_some_and(|only| only != "1" && only != name) {
            continue;
        }
        let Some(case) = open(folder, name, window) else { return };
        let mut combinations = 0;
        for dialect in Dialect::ALL {
            for config in configs(dialect, &case.vectors) {
                there_and_back(&case, &config);
                combinations += 1;
            }
        }
        eprintln!("{}: {} instructions, {combinations} combinations", case.name, case.seen.pcs.len());
    }
}

/// Hardware-like mode, where nothing in these programs is ambiguous.
#[test]
fn hardware_like_baseline() {
    for (folder, name) in qemu::RISCV {
        let Some(case) = open(folder, name, 20_000) else { return };
        for dialect in Dialect::ALL {
            for mut config in configs(dialect, &[]) {
                if config.options.implicit_return || config.options.sijump {
                    continue;
                }
                config.encoder.exact = false;
                there_and_back(&case, &config);
            }
        }
    }
}

/// The table of the documentation: bits per instruction by mode. `TRACKWAY_SWEEP=1` prints it.
#[test]
fn compression_by_mode() {
    if std::env::var_os("TRACKWAY_SWEEP").is_none() {
        eprintln!("SKIPPED: the table is made with TRACKWAY_SWEEP=1");
        return;
    }
    type Set = fn(&mut Config);
    let modes: [(&str, Set); 11] = [
        ("delta address", |_| {}),
        ("full address", |config| config.options.full_address = true),
        ("sijump", |config| config.options.sijump = true),
        ("implicit return, stack of 16", |config| {
            config.params.return_stack_size = 4;
            config.options.implicit_return = true;
        }),
        ("implicit return, 6-bit counter", |config| {
            config.params.call_counter_size = 6;
            config.options.implicit_return = true;
        }),
        ("branch prediction, 512", |config| config.options.branch_prediction = true),
        ("jump target cache, 32", |config| config.options.jump_target_cache = true),
        ("prediction and cache", |config| {
            config.options.branch_prediction = true;
            config.options.jump_target_cache = true;
        }),
        ("all of them, stack", |config| {
            config.params.return_stack_size = 4;
            config.options.implicit_return = true;
            config.options.sijump = true;
            config.options.branch_prediction = true;
            config.options.jump_target_cache = true;
        }),
        ("all of them, hardware-like", |config| {
            config.params.return_stack_size = 4;
            config.options.implicit_return = true;
            config.options.sijump = true;
            config.options.branch_prediction = true;
            config.options.jump_target_cache = true;
            config.encoder.exact = false;
        }),
        ("delta, no compression", |config| config.encoder.compress = false),
    ];
    let cases: Vec<Case> =
        qemu::RISCV.iter().filter_map(|(folder, name)| open(folder, name, usize::MAX)).collect();
    let names: Vec<&str> = cases.iter().map(|case| case.name.rsplit('/').next().unwrap()).collect();
    eprintln!("| mode | {} |", names.join(" | "));
    eprintln!("|---|{}", "---|".repeat(cases.len()));
    for (name, set) in modes {
        let mut line = format!("| {name} |");
        for case in &cases {
            let mut config = Config::new(Dialect::V2);
            config.support = SupportLayout::named("all").unwrap();
            config.params.iaddress_width = 64;
            let params = &mut config.params;
            (params.sijump, params.f0s_width, params.bpred_size, params.cache_size) = (1, 1, 9, 5);
            set(&mut config);
            let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).unwrap();
            for batch in &case.batches {
                lower.put(batch).unwrap();
            }
            lower.finish().unwrap();
            let bits = lower.encoder().writer.payload_bytes as f64 * 8.0;
            line += &format!(" {:.3} |", bits / case.seen.pcs.len() as f64);
        }
        eprintln!("{line}");
    }
}
