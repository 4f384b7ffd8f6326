//! Facts that follow from the address and the encoding of an instruction, each worked out once.

use trackway_core::Isa;
use trackway_image::Image;
use trackway_isa::{Key, Recent, class, flow, mnemonic};

use crate::tables::Instructions;

/// Class, function, target and the like. Words are places in the dictionaries of the table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) class: Option<u32>,
    pub(crate) mnemonic: Option<u32>,
    pub(crate) function: Option<u32>,
    pub(crate) file: Option<u32>,
    pub(crate) line: Option<u32>,
    /// It can change the flow.
    pub(crate) transfers: bool,
    /// It need not.
    pub(crate) conditional: bool,
    /// Where it goes, if the encoding has it.
    pub(crate) target: Option<u64>,
}

/// The instruction: where the encoding is unknown, it has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Of {
    pub(crate) pc: Option<u64>,
    pub(crate) encoding: Option<u32>,
    pub(crate) isa: Isa,
    /// Its program, by its place in memory.
    pub(crate) image: usize,
}

impl Key for Of {
    #[inline(always)]
    fn digest(&self) -> u64 {
        self.pc.unwrap_or(0) ^ u64::from(self.encoding.unwrap_or(0)) << 40
    }
}

/// Facts of recent instructions.
pub(crate) type Cache = Recent<Of, Facts, 65536>;

/// Works them out.
pub(crate) fn facts(of: Of, image: &Image, table: &mut Instructions) -> Facts {
    let mut facts = Facts::default();
    if let Some(encoding) = of.encoding {
        let flow = flow(of.isa, of.pc.unwrap_or(0), encoding);
        facts.transfers = flow.control.is_transfer();
        facts.conditional = flow.conditional;
        facts.target = flow.target.filter(|_| of.pc.is_some());
        if table.class.wanted {
            facts.class = Some(table.class.code(class(of.isa, encoding).as_str()));
        }
        if table.mnemonic.wanted {
            facts.mnemonic = Some(table.mnemonic.code(&mnemonic(of.isa, encoding)));
        }
    }
    let Some(pc) = of.pc.filter(|_| !image.is_empty()) else { return facts };
    if table.function.wanted {
        facts.function = image.symbol(pc).map(|(symbol, _)| table.function.code(&symbol.demangled()));
    }
    if (table.file.wanted || table.line.wanted)
        && let Some(line) = image.line(pc)
    {
        facts.file = table.file.wanted.then(|| table.file.code(&line.file));
        facts.line = (line.line > 0).then_some(line.line);
    }
    facts
}
