//! Any word as an instruction: the model never panics, traps on what the decoding table does not have, and
//! changes nothing where it traps.

use trackway_core::Isa;
use trackway_hart::{Config, Hart, Level, Ram, cause};
use trackway_isa::riscv::{COMPRESSED, Class, Extension, INSTRUCTIONS, Op, RV32_FORMS, decode, lookup};
use trackway_testkit::random::Numbers;

/// Any word, or one of a declared instruction.
fn word(random: &mut Numbers) -> u32 {
    let any = random.draw() as u32;
    let tables = [INSTRUCTIONS, COMPRESSED, RV32_FORMS];
    match random.draw() % 4 {
        0 => any,
        _ => {
            let table = tables[[0, 0, 0, 1, 2][random.draw() as usize % 5]];
            let e = &table[random.draw() as usize % table.len()];
            e.value | any & !e.mask
        }
    }
}

/// May a declared instruction be illegal all the same? By level, state of the registers, or its fields.
fn may_be_refused(op: Op) -> bool {
    let float = matches!(
        op.extension(),
        // Off, or a reserved rounding mode.
        Extension::F | Extension::D | Extension::Zfh | Extension::Zfhmin | Extension::Zfa
    );
    // By level: fences of translation, and cache blocks. By its fields: a round that AES does not have.
    let level = matches!(op.extension(), Extension::Svinval | Extension::Zicbom | Extension::Zicboz);
    float
        || level
        || matches!(op.class(), Class::Csr | Class::System)
        || matches!(op, Op::SfenceVma | Op::Aes64ks1i)
}

#[test]
fn any_word_executes_or_traps() {
    const RAM: u64 = 0x8000_0000;
    for isa in [Isa::Rv32, Isa::Rv64] {
        let mut random = Numbers(11);
        let mut ram = Ram::new(RAM, 1 << 16);
        let mut hart = Hart::new(Config::new(isa));
        let (mut executed, mut illegal) = (0, 0);
        for n in 0..400_000u32 {
            if n.is_multiple_of(64) {
                // Back to something sane, with addresses in most registers.
                hart.reset();
                for x in 1..32 {
                    let value = random.draw();
                    hart.set_x(x, if value.is_multiple_of(8) { value } else { RAM + (value & 0x7ff8) });
                }
                for f in 0..32 {
                    hart.set_f(f, random.draw());
                }
                let level = [Level::M, Level::S, Level::U][random.draw() as usize % 3];
                let mut state = hart.state().clone();
                state.csr.mstatus |= (random.draw() & 3) << 13;
                hart.set_state(state);
                hart.set_level(level);
            }
            hart.set_pc(RAM + (random.draw() & 0x7ffc));
            let word = word(&mut random);
            let before = hart.state().clone();
            let result = hart.attempt_encoding(word, &mut ram, &mut ());
            let inst = decode(isa, word);
            let known = lookup(isa, word).is_some_and(|(e, i)| hart.config().extensions.have(e, &i));
            match result {
                Ok(()) => {
                    assert!(known, "{isa:?} {word:08x} executed");
                    assert_eq!(hart.state().x[0], 0, "{isa:?} {word:08x}");
                    executed += 1;
                }
                Err(exception) => {
                    if exception.cause == cause::ILLEGAL {
                        let op = inst.filter(|_| known).map(|i| i.op);
                        assert!(op.is_none_or(may_be_refused), "{isa:?} {word:08x} {op:?} refused");
                        illegal += 1;
                    } else {
                        assert!(known, "{isa:?} {word:08x} raised {exception:?}");
                    }
                    // Counters advance; nothing else changes.
                    let mut after = hart.state().clone();
                    after.csr.mcycle = before.csr.mcycle;
                    assert_eq!(after, before, "{isa:?} {word:08x} trapped and changed something");
                }
            }
        }
        assert!(executed > 100_000 && illegal > 50_000, "{executed} {illegal}");
    }
}
