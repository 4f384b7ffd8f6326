//! Random instruction words: nothing panics, what the table does not know traps as illegal, and an
//! instruction that traps has changed nothing.

use trackway_core::Isa;
use trackway_hart::{
    AdUpdate, Config, Effects, Exception, Extensions, Hart, Level, Misaligned, Ram, cause, csr,
};
use trackway_isa::riscv::{Extension, lookup};
use trackway_testkit::random::Numbers;

const BASE: u64 = 0x8000_0000;

/// A core in some state, with addresses in its registers that often hit memory.
fn scramble(hart: &mut Hart, random: &mut Numbers) {
    let mut state = hart.state().clone();
    for register in &mut state.x {
        *register = match random.draw() % 4 {
            0 => random.draw(),
            1 => random.draw() % 64,
            2 => u64::MAX << (random.draw() % 64),
            _ => BASE + random.draw() % 4096,
        };
        if hart.config().is_rv32() {
            *register &= 0xffff_ffff;
        }
    }
    state.f.fill_with(|| random.draw());
    state.level = [Level::U, Level::S, Level::M][(random.draw() % 3) as usize];
    state.csr.mstatus =
        random.draw() & 0x007e_79aa & !(3 << 11) | [0, 1, 3][(random.draw() % 3) as usize] << 11;
    state.csr.frm = (random.draw() % 8) as u8;
    state.csr.pmpcfg[0] = 0x1f;
    state.csr.pmpaddr[0] = u64::MAX >> 10;
    hart.set_state(state);
}

fn run(isa: Isa, core: Config, seed: u64, rounds: u32) {
    let mut ram = Ram::new(BASE, 8192);
    let mut hart = Hart::new(core);
    let mut random = Numbers(seed);
    let mut effects = Effects::new();
    let mut legal = 0;
    for round in 0..rounds {
        if round % 64 == 0 {
            scramble(&mut hart, &mut random);
        }
        let word = match random.draw() {
            wide if wide % 4 != 0 => wide as u32 | 3,
            any => any as u32,
        };
        let before = hart.state().clone();
        hart.set_pc(BASE + 2048);
        let decoded = lookup(isa, word).filter(|(declared, inst)| core.extensions.have(declared, inst));
        match hart.attempt_encoding(word, &mut ram, &mut effects) {
            Ok(()) => {
                assert!(decoded.is_some(), "{word:#010x} is not an instruction and was executed");
                legal += 1;
            }
            Err(Exception { cause, value }) => {
                assert!(cause <= 15, "{word:#010x}");
                if decoded.is_none() {
                    let bits = if word & 3 == 3 { word } else { word & 0xffff };
                    assert_eq!((cause, value), (cause::ILLEGAL, u64::from(bits)), "{word:#010x}");
                }
                let mut after = hart.state().clone();
                after.pc = before.pc;
                after.csr.mcycle = before.csr.mcycle;
                assert_eq!(after, before, "{word:#010x} trapped and changed state");
            }
        }
        assert_eq!(hart.state().x[0], 0, "{word:#010x}");
        // The trap itself must not panic either.
        if random.draw().is_multiple_of(8) {
            hart.set_pc(random.draw());
            hart.step(&mut ram, &mut effects);
        }
    }
    assert!(legal > rounds / 20, "{legal} of {rounds} words were executed");
}

#[test]
fn random_words_never_panic() {
    for (n, isa) in [Isa::Rv32, Isa::Rv64].into_iter().enumerate() {
        let core = Config::new(isa);
        run(isa, core, 1 + n as u64, 400_000);
        let strict = Config { misaligned: Misaligned::Trap, ad_update: AdUpdate::Trap, ..core };
        run(isa, strict, 10 + n as u64, 200_000);
        let small = Extensions::ALL.with(Extension::C, false).with(Extension::F, false);
        let small =
            small.with(Extension::D, false).with(Extension::Zfh, false).with(Extension::Zfhmin, false);
        run(isa, Config { extensions: small, supervisor: false, ..core }, 20 + n as u64, 200_000);
    }
}

#[test]
fn every_csr_reads_what_a_write_left() {
    let mut random = Numbers(7);
    for isa in [Isa::Rv32, Isa::Rv64] {
        let mut hart = Hart::new(Config::new(isa));
        for number in 0..4096 {
            let exists = hart.read_csr(number).is_some();
            for _ in 0..16 {
                let written = hart.write_csr(number, random.draw());
                assert!(!written || exists, "{number:#x} can be written and not read");
                let Some(legal) = hart.read_csr(number) else { continue };
                // Writing a value that was read back changes nothing.
                if written && !matches!(number, csr::MIP | csr::SIP) {
                    assert!(hart.write_csr(number, legal));
                    assert_eq!(hart.read_csr(number), Some(legal), "{number:#x}");
                }
                if isa == Isa::Rv32 {
                    assert!(legal <= 0xffff_ffff, "{number:#x}");
                }
            }
            hart.reset();
        }
    }
}
