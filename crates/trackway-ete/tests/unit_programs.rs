//! Our own programs (`programs/`), in A64 and in A32 and T32 by turns, through the trace unit and back.

mod slow;
mod unit_support;

use std::path::Path;
use std::sync::Arc;

use trackway_core::*;
use trackway_ete::Options;
use trackway_ete::unit::{Implementation, Model, Registers, Settings, SourceAddresses};
use trackway_image::{Image, Space};
use unit_support::*;

struct Program {
    name: &'static str,
    image: Arc<Image>,
    meta: Meta,
    batches: Vec<Batch>,
    pcs: Vec<u64>,
}

/// A program and what it executed, as QEMU recorded it (`programs/record.sh`).
fn program(name: &'static str, isa: Isa) -> Program {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs").join(name);
    let mut image = Image::default();
    let elf = std::fs::read(base.with_extension("elf")).unwrap();
    image.add_elf(name, Arc::new(elf), None, Space::default()).unwrap();
    let memory = image.memory(&Context::default());
    let mut pcs = Vec::new();
    let mut batch = Batch::default();
    let mut last = None;
    for line in std::fs::read_to_string(base.with_extension("runs")).unwrap().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let mut pc = u64::from_str_radix(words[0], 16).unwrap();
        let isa = Isa::from_word(words[1]).unwrap();
        if last.replace(isa) != Some(isa) {
            batch.push_context(0, Context { isa: Some(isa), ..Context::default() });
        }
        for _ in 0..words[2].parse::<u32>().unwrap() {
            let (encoding, length) = memory.fetch(isa, pc).unwrap();
            batch.push(0, EventKind::Step(Step::new(pc, encoding, length)));
            pcs.push(pc);
            pc += u64::from(length);
        }
    }
    let meta = Meta::new(FormatId::Stf, isa);
    Program { name, image: Arc::new(image), meta, batches: vec![batch], pcs }
}

fn both() -> [Program; 2] {
    [program("aarch64/sort", Isa::A64), program("arm-mix/arm-mix", Isa::A32)]
}

fn slowly(config: &trackway_ete::Config, bytes: &[u8], image: &Image) -> Vec<u64> {
    let unit = slow::Unit {
        max_spec: config.max_spec.into(),
        commopt: config.dialect.commopt,
        commtrans: !config.start_is_p0,
        wfx: config.wfx_is_p0,
        return_stack: config.return_stack,
    };
    let memory = image.memory(&Context::default());
    let fetch = |sixty_four, thumb, address| {
        let isa = if sixty_four { Isa::A64 } else { [Isa::A32, Isa::T32][usize::from(thumb)] };
        memory.fetch(isa, address)
    };
    let pc = |out| if let slow::Out::Instruction(pc, ..) = out { Some(pc) } else { None };
    slow::decode(unit, bytes, &fetch).into_iter().filter_map(pc).collect()
}

/// Every combination of options, decoded by ours and by the slow decoder.
#[test]
fn our_programs_under_all_options() {
    const BOTH: [bool; 2] = [false, true];
    for program in both() {
        assert!(program.pcs.len() > 300, "{}", program.name);
        let mut tried = 0;
        for bits in 0..16u64 {
            let configr =
                0xc1 | (bits & 1) << 12 | (bits >> 1 & 1) << 3 | (bits >> 2 & 1) << 4 | (bits >> 3 & 1) << 11;
            for source_addresses in
                [SourceAddresses::Never, SourceAddresses::Always, SourceAddresses::Sometimes]
            {
                for max_spec in [0, 1, 20] {
                    for commopt in BOTH {
                        let implementation =
                            Implementation { max_spec, commopt, ..Implementation::default() };
                        let model = Model {
                            seed: tried,
                            mispredict: 100,
                            source_addresses,
                            sync_unresolved: tried.is_multiple_of(2),
                            ..Model::default()
                        };
                        let mut settings = Settings { model, ..Settings::default() };
                        let registers = &mut settings.units[0].registers;
                        *registers = Registers::new(&implementation).everything();
                        registers.put(&[("TRCCONFIGR", configr), ("TRCSYNCPR", 8 + tried % 3)]);
                        let encoded = encode(&program.batches, &program.meta, &settings, &program.image);
                        let bytes = &encoded.bytes[0];
                        let what = format!("{} {tried}", program.name);
                        let mut lift = lift(&encoded.config, bytes, &program.image, Options::default());
                        let decoded = decode(&mut lift, &program.image);
                        same(&decoded.pcs, &program.pcs, &what);
                        assert_eq!(decoded.doubtful, 0, "{what}");
                        let slowly = slowly(&encoded.config, bytes, &program.image);
                        same(&slowly, &program.pcs, &format!("{what}, slow decoder"));
                        tried += 1;
                    }
                }
            }
        }
        eprintln!("{}: {} instructions, {tried} combinations", program.name, program.pcs.len());
    }
}

/// Both directions between A32 and T32 are taken, and few bytes tell it.
#[test]
fn both_instruction_sets_are_in_the_trace() {
    let program = program("arm-mix/arm-mix", Isa::A32);
    let encoded = encode(&program.batches, &program.meta, &Settings::default(), &program.image);
    let bits = encoded.bytes[0].len() as f64 * 8.0 / program.pcs.len() as f64;
    assert!(bits < 1.5, "{bits} bits per instruction");
    let mut lift = lift(&encoded.config, &encoded.bytes[0], &program.image, Options::default());
    let mut counts = [0u64; 2];
    for batch in batches(&mut lift) {
        for event in &batch.events {
            if let EventKind::Run(run) = event.kind {
                counts[usize::from(run.isa == Isa::T32)] += u64::from(run.count);
            }
        }
    }
    assert!(counts[0] > 3000 && counts[1] > 3000, "{counts:?}");
}
