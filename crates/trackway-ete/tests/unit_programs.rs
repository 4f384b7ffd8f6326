//! Our own programs (`programs/`), in A64 and in A32 and T32 by turns, through the trace unit and back.

mod slow;
mod unit_support;

use trackway_core::*;
use trackway_ete::Options;
use trackway_ete::encode::{EncodeConfig, Implementation, Model, Registers, SourceAddresses};
use unit_support::*;

fn both() -> [Program; 2] {
    [program("aarch64/sort", Isa::A64), program("arm-mix/arm-mix", Isa::A32)]
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
                        let mut settings = EncodeConfig { model, ..EncodeConfig::default() };
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
                        let slowly = slow::pcs(&encoded.config, bytes, &program.image);
                        same(&slowly, &program.pcs, &format!("{what}, slow decoder"));
                        tried += 1;
                    }
                }
            }
        }
        eprintln!("{}: {} instructions, {tried} combinations", program.name, program.pcs.len());
    }
}

/// Both directions between A32 and T32 are taken, in few bytes.
#[test]
fn both_instruction_sets_are_in_the_trace() {
    let program = program("arm-mix/arm-mix", Isa::A32);
    let encoded = encode(&program.batches, &program.meta, &EncodeConfig::default(), &program.image);
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

/// The events of a decoder, runs and all, are taken again: by another unit, programmed differently.
#[test]
fn decoded_events_are_encoded_again() {
    for program in both() {
        let first = encode(&program.batches, &program.meta, &EncodeConfig::default(), &program.image);
        let mut decoder = lift(&first.config, &first.bytes[0], &program.image, Options::default());
        let meta = decoder.meta().clone();
        let events = batches(&mut decoder);
        let mut settings = EncodeConfig::default();
        settings.model =
            Model { mispredict: 80, source_addresses: SourceAddresses::Sometimes, ..settings.model };
        let registers =
            Registers::new(&Implementation { max_spec: 9, commopt: false, ..Implementation::default() });
        settings.units[0].registers = registers.everything();
        settings.units[0].registers.set("TRCCONFIGR", 0xd9);
        let second = encode(&events, &meta, &settings, &program.image);
        assert_ne!(first.bytes, second.bytes);
        let mut decoder = lift(&second.config, &second.bytes[0], &program.image, Options::default());
        same(&decode(&mut decoder, &program.image).pcs, &program.pcs, program.name);
    }
}
