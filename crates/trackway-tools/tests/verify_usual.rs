//! Usual instructions, verified in few tests, have the findings of the way that all others take.

use std::path::Path;

use trackway_core::*;
use trackway_hart::machine::{Machine, MachineConfig, ROM_BASE};
use trackway_hart::{Config, Extensions, Program, RecordOptions, Recorder, Target};
use trackway_isa::riscv::Extension;
use trackway_testkit::random::Numbers;
use trackway_tools::verify::{Options, Range, Verifier, verify};

/// A recording in which something is wrong now and then.
struct Faulty {
    recorder: Recorder,
    numbers: Numbers,
    /// One instruction in this many.
    rate: u64,
}

impl Source for Faulty {
    fn meta(&self) -> &Meta {
        self.recorder.meta()
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let more = self.recorder.fill(batch)?;
        let Faulty { numbers, rate, .. } = self;
        let mut events = std::mem::take(&mut batch.events);
        for event in &mut events {
            let EventKind::Step(step) = &mut event.kind else { continue };
            if !numbers.one_in(*rate) {
                continue;
            }
            let Accesses { mem_start, regs_start, mem_len, regs_len } = step.accesses;
            let bit = 1 << numbers.below(8);
            match numbers.below(8) {
                0 => step.encoding ^= 1 << numbers.below(16),
                1 => step.pc = step.pc.map(|pc| pc ^ (2 * bit)),
                2 => step.accesses.regs_len = regs_len.saturating_sub(1),
                3 => step.accesses.mem_len = 0,
                4 if mem_len > 0 => batch.mem[mem_start as usize].address ^= bit,
                5 if mem_len > 0 => batch.mem[mem_start as usize].data = Value::Word(numbers.draw()),
                6 => step.outcome = Outcome::Attempted,
                _ if regs_len > 0 => {
                    let reg = &mut batch.regs[regs_start as usize + numbers.below(regs_len.into()) as usize];
                    match numbers.below(4) {
                        0 => reg.reg.number = numbers.below(32) as u16,
                        1 => reg.update = RegUpdate::Add,
                        2 => reg.known = Some(0xff),
                        _ => reg.value = Value::Word(numbers.draw()),
                    }
                }
                _ => {}
            }
        }
        batch.events = events;
        Ok(more)
    }
}

/// The report and the state of the model after it.
fn findings(program: &Program, core: Config, seed: u64, rate: u64, shortcuts: bool) -> (String, u64) {
    let config = MachineConfig { ram: 1 << 22, ..MachineConfig::new(core) };
    let machine = Machine::new(config, program).unwrap();
    let options = RecordOptions { limit: 30_000, ..RecordOptions::default() };
    let recorder = Recorder::new(Target::Machine(Box::new(machine)), options);
    let mut source = Faulty { recorder, numbers: Numbers(seed), rate };
    let range = |start: u64, size: u64| Range { start, end: start + size };
    let mmio = vec![
        range(0x10_0000, 0x1000),
        range(0x200_0000, 0x1_0000),
        range(0xc00_0000, 0x400_0000),
        range(0x1000_0000, 0x1000),
    ];
    let options = Options { mmio, trusted: vec![range(ROM_BASE, 0x1000)], ..Options::new(config.core) };
    let mut verifier = Verifier::new(options);
    if !shortcuts {
        verifier = verifier.without_shortcuts();
    }
    verifier.memory.load_program(program, 0);
    verify(&mut source, &mut verifier).unwrap();
    (format!("{:?}\n{:?}", verifier.report, verifier.state()), verifier.report.instructions)
}

#[test]
fn usual_instructions_are_verified_as_all_others() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/elf"));
    let (mut instructions, mut faulty) = (0, 0);
    for (n, entry) in std::fs::read_dir(folder).unwrap().enumerate() {
        let path = entry.unwrap().path();
        let program = Program::read(&std::fs::read(&path).unwrap()).unwrap();
        let mut core = Config::new(program.isa);
        if path.to_string_lossy().contains("aligned") {
            core.extensions = Extensions::ALL.with(Extension::C, false);
        }
        for rate in [u64::MAX, 3000, 300] {
            let seed = n as u64 ^ rate;
            let usual = findings(&program, core, seed, rate, true);
            assert_eq!(usual, findings(&program, core, seed, rate, false), "{} {rate}", path.display());
            instructions += usual.1;
            faulty += u64::from(usual.0.contains("Mismatch {"));
        }
    }
    assert!(instructions > 500_000 && faulty > 20, "{instructions}, {faulty}");
}
