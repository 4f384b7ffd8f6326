//! Instructions by class, extension and mnemonic.

use std::collections::{BTreeMap, HashMap};

use trackway_core::Isa;
use trackway_isa::{class, extension, mnemonic};

use crate::executed::Executed;

/// How often each kind of instruction was executed, attempted ones included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mix {
    /// By class; `unknown` are those whose encoding is not known, `in runs` those of runs without known code.
    pub classes: BTreeMap<&'static str, u64>,
    /// By extension (RISC-V) or feature (Arm), of those whose encoding is known.
    pub extensions: BTreeMap<&'static str, u64>,
    /// By mnemonic, of those whose encoding is known.
    pub mnemonics: BTreeMap<String, u64>,
    /// Times that each encoding was executed.
    pub encodings: HashMap<(Isa, u32), u64>,
}

impl Mix {
    pub(super) fn new(executed: &Executed) -> Self {
        let mut mix = Mix::default();
        // The instruction set above the encoding: one number is sorted faster.
        let mut list: Vec<(u64, Isa, u64)> = Vec::new();
        for block in executed.blocks() {
            let code = &block.code;
            if code.opaque.is_some() {
                *mix.classes.entry("in runs").or_default() += block.passes * code.count();
            }
            for inst in &code.insts {
                if inst.length == 0 {
                    *mix.classes.entry("unknown").or_default() += block.passes;
                } else {
                    let key = (code.isa as u64) << 32 | u64::from(inst.encoding);
                    list.push((key, code.isa, block.passes));
                }
            }
        }
        list.sort_unstable_by_key(|one| one.0);
        for same in list.chunk_by(|one, other| one.0 == other.0) {
            let passes = same.iter().map(|(.., passes)| passes).sum();
            mix.encodings.insert((same[0].1, same[0].0 as u32), passes);
        }
        for ((isa, encoding), count) in &mix.encodings {
            *mix.classes.entry(class(*isa, *encoding).as_str()).or_default() += count;
            *mix.extensions.entry(extension(*isa, *encoding)).or_default() += count;
            *mix.mnemonics.entry(mnemonic(*isa, *encoding).into_owned()).or_default() += count;
        }
        mix
    }
}
