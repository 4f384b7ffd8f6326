//! Each decodes the other's traces, except for known defects of riscv-etrace, which are excluded by name.

mod peer;

use std::sync::Arc;

use trackway_core::*;
use trackway_etrace::{Config, Dialect, Lower, ResyncMode, lift};
use trackway_image::{Image, Space};
use trackway_testkit::random::{Leave, Numbers, Program, Rates, Seen, Walk};

/// Defects of riscv-etrace 0.10.0 that a case can run into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    /// Its tracer keeps the pending branch when a trap follows the branch.
    PendingBranchKept,
    /// Its tracer takes the first place that fits a 3/0 packet of another privilege.
    PrivilegeNotGated,
    /// Its tracer cannot look at an ecall that a trap interrupts twice.
    FirstInstructionTraps,
    /// Its tracer counts the outcome of a branch that jumps to itself as left over.
    BranchToItself,
    /// Its generator does not report a trap that no instruction follows.
    EndsInTrap,
    /// Two traps in a row: its generator reports the second one's place with the first.
    TrapAfterTrap,
}

fn config(numbers: &mut Numbers) -> Config {
    let mut config = Config::new(Dialect::V2);
    config.params.iaddress_width = [32, 40, 64][numbers.below(3) as usize];
    config.params.ecause_width = 5;
    config.options.full_address = numbers.one_in(3);
    config.encoder.resync_mode = ResyncMode::Packets;
    config.encoder.resync_interval = Some(3 + numbers.below(40));
    config
}

fn case(seed: u64, rates: Rates) -> (Config, Program, Walk) {
    let numbers = &mut Numbers(seed);
    let count = 8 + numbers.below(48) as usize;
    let program = Program::new(numbers, 0x8000, count);
    let walk = Walk::new(numbers, &program, 200, rates);
    (config(numbers), program, walk)
}

/// The defects that a walk runs into.
fn defects(program: &Program, walk: &Walk) -> Vec<Defect> {
    let mut found = Vec::new();
    let branch =
        |pc: u64| program.slots.iter().any(|slot| slot.pc == pc && matches!(slot.leave, Leave::Branch(_)));
    let mut before: Option<&Seen> = None;
    for seen in &walk.seen {
        match (before, seen) {
            (Some(Seen::Retired(pc, _)), Seen::Trap(..)) if branch(*pc) => {
                found.push(Defect::PendingBranchKept)
            }
            (Some(Seen::Trap(..)), Seen::Trap(..)) => found.push(Defect::TrapAfterTrap),
            (Some(Seen::Retired(a, _)), Seen::Retired(b, _)) if a == b && branch(*a) => {
                found.push(Defect::BranchToItself);
            }
            (None, Seen::Trap(..)) => found.push(Defect::FirstInstructionTraps),
            (Some(Seen::Retired(_, a)), Seen::Retired(_, b)) if a != b => {
                found.push(Defect::PrivilegeNotGated)
            }
            _ => {}
        }
        before = Some(seen);
    }
    if matches!(before, Some(Seen::Trap(..))) {
        found.push(Defect::EndsInTrap);
    }
    found
}

fn wanted(walk: &Walk) -> peer::Decoded {
    let mut decoded = peer::Decoded::default();
    for seen in &walk.seen {
        match seen {
            Seen::Retired(pc, _) => decoded.pcs.push(*pc),
            Seen::Trap(interrupt, cause, ..) => decoded.traps.push((decoded.pcs.len(), *interrupt, *cause)),
        }
    }
    decoded
}

fn image(program: &Program) -> Arc<Image> {
    let mut image = Image::default();
    image.add_raw("program", program.slots[0].pc, Arc::new(program.bytes()), Space::default()).unwrap();
    Arc::new(image)
}

fn ours_encodes(walk: &Walk, config: &Config) -> Vec<u8> {
    let mut lower = Lower::new(Vec::new(), config, Isa::Rv64, None).unwrap();
    lower.put(&walk.batch).unwrap();
    lower.finish().unwrap();
    lower.into_inner()
}

fn ours_decodes(bytes: Vec<u8>, config: &Config, program: &Program) -> Result<peer::Decoded> {
    let image = image(program);
    let memory = image.memory(&Context::default());
    let mut lift = lift(Input::from_vec(bytes), config, image, 1)?;
    let (mut decoded, mut batch) = (peer::Decoded::default(), Batch::default());
    while lift.fill(&mut batch)? {
        for event in &batch.events {
            match &event.kind {
                EventKind::Run(run) => {
                    let mut at = run.start;
                    for _ in 0..run.count - u32::from(run.attempted) {
                        decoded.pcs.push(at);
                        at += u64::from(memory.fetch(run.isa, at).unwrap().1);
                    }
                }
                EventKind::Trap(n) => {
                    let trap = &batch.traps[*n as usize];
                    let interrupt = trap.kind == TrapKind::Interrupt;
                    decoded.traps.push((decoded.pcs.len(), interrupt, trap.cause.unwrap_or(0)));
                }
                _ => {}
            }
        }
    }
    Ok(decoded)
}

const WORKLOADS: [(&str, Rates); 4] = [
    (
        "jumps",
        Rates {
            exception: 0,
            interrupt: 0,
            stray_return: 3,
            privilege: false,
            context: 0,
            notify: 0,
            steady: false,
            vector: false,
        },
    ),
    (
        "exceptions",
        Rates {
            exception: 70,
            interrupt: 0,
            stray_return: 3,
            privilege: false,
            context: 0,
            notify: 0,
            steady: false,
            vector: false,
        },
    ),
    (
        "interrupts",
        Rates {
            exception: 0,
            interrupt: 90,
            stray_return: 3,
            privilege: false,
            context: 0,
            notify: 0,
            steady: false,
            vector: false,
        },
    ),
    (
        "watchpoints",
        Rates {
            exception: 0,
            interrupt: 0,
            stray_return: 3,
            privilege: false,
            context: 0,
            notify: 9,
            steady: false,
            vector: false,
        },
    ),
];

/// riscv-etrace decodes our exact mode, resynchronisations included.
#[test]
fn the_peer_decodes_ours() {
    for (name, rates) in WORKLOADS {
        let mut compared = 0;
        for seed in 0..3000 {
            let (config, program, walk) = case(seed, rates);
            if !defects(&program, &walk).is_empty() {
                continue;
            }
            let bytes = ours_encodes(&walk, &config);
            let code = peer::segment(program.slots[0].pc, program.bytes());
            let found = peer::decode(&bytes, &peer::parameters(&config), code);
            assert!(found == Ok(wanted(&walk)), "{name}, seed {seed}: {:?}", found.err());
            compared += 1;
        }
        eprintln!("{name}: {compared} of 3000 cases compared");
        assert!(compared > 100, "{name}: {compared}");
    }
}

/// We decode its traces, where a hardware-like trace is unambiguous at all.
#[test]
fn ours_decodes_the_peers() {
    for (name, rates) in WORKLOADS {
        let mut compared = 0;
        for seed in 0..3000 {
            let (mut config, program, walk) = case(seed, rates);
            if defects(&program, &walk).iter().any(|defect| *defect != Defect::PendingBranchKept) {
                continue;
            }
            config.encoder.exact = false;
            config.encoder.resync_mode = ResyncMode::Off;
            let ambiguous =
                ours_decodes(ours_encodes(&walk, &config), &config, &program) != Ok(wanted(&walk));
            if ambiguous {
                continue;
            }
            let options = riscv_etrace::packet::unit::ReferenceIOptions {
                full_address: config.options.full_address,
                ..Default::default()
            };
            let rows = peer::rows(&walk.batch);
            let bytes = peer::encode(&rows, &peer::parameters(&config), options, |_| false).unwrap();
            let found = ours_decodes(bytes, &config, &program);
            assert!(found == Ok(wanted(&walk)), "{name}, seed {seed}: {:?}", found.err());
            compared += 1;
        }
        eprintln!("{name}: {compared} of 3000 cases compared");
        assert!(compared > 100, "{name}: {compared}");
    }
}
