//! The trace of a real core (Flute, simulated) against the golden model.

use trackway_core::{Input, Isa};
use trackway_hart::{Config as Core, Program};
use trackway_tandem::{Config, Profile, Trace};
use trackway_tools::verify::{Options, Range, Report, Verifier, verify};

const RESET_PC: u64 = 0x7000_0000;

fn run(bytes: Vec<u8>, elf: &[u8]) -> Report {
    let config = Config { profile: Profile::Bluespec, reset_pc: Some(RESET_PC), ..Config::default() };
    let core = Core::preset("flute", Isa::Rv64).unwrap();
    let options = Options {
        mmio: vec![Range { start: 0x1000_0000, end: 0x1000_1000 }],
        map: vec![
            Range { start: RESET_PC, end: RESET_PC + 0x1000 },
            Range { start: 0xc000_0000, end: 0xd000_0000 },
        ],
        // The boot ROM is not in the ELF file.
        trusted: vec![Range { start: RESET_PC, end: RESET_PC + 0x1000 }],
        ..Options::new(core)
    };
    let mut verifier = Verifier::new(options);
    let program = Program::read(elf).unwrap();
    verifier.memory.load_program(&program, 0);
    let mut lift = Trace::open(Input::from_vec(bytes), config).unwrap().events();
    verify(&mut lift, &mut verifier).unwrap();
    verifier.report
}

#[test]
fn verifies_with_no_mismatch() {
    let Some(folder) = trackway_testkit::corpus_part("tandem/own") else { return };
    let bytes = std::fs::read(folder.join("own2.tv")).unwrap();
    let elf = std::fs::read(folder.join("own2.elf")).unwrap();
    let report = run(bytes, &elf);
    assert!(report.passed(), "{}", report.text());
    assert_eq!((report.instructions, report.adopted, report.interrupts, report.exceptions), (92, 0, 1, 3));
}
