//! Code that the events bring and the program does not have. Where code changes, the first one counts: a reader has one
//! program.

use std::sync::Arc;

use trackway_core::Isa;
use trackway_image::{Code, Memory};
use trackway_isa::{Key, Recent};

/// An instruction at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    pc: u64,
    encoding: u32,
}

impl Key for Place {
    #[inline(always)]
    fn digest(&self) -> u64 {
        self.pc
    }
}

/// Collects the instructions that differ from the program.
#[derive(Debug)]
pub(crate) struct Executed {
    isa: Isa,
    memory: Option<Arc<Memory>>,
    /// By instruction: is it another than the program's?
    recent: Recent<Place, bool, 4096>,
    /// The first instruction that was executed at each address.
    first: Code,
}

impl Executed {
    pub(crate) fn new(isa: Isa, memory: Option<Arc<Memory>>) -> Self {
        Executed { isa, memory, recent: Recent::default(), first: Code::default() }
    }

    /// Takes an instruction; true if a reader sees another one there.
    #[inline(always)]
    pub(crate) fn note(&mut self, pc: u64, encoding: u32, length: u8) -> bool {
        let Executed { recent, first, .. } = self;
        *recent.get(Place { pc, encoding }, || match first.get(pc) {
            Some(known) => known.0 != encoding,
            None => {
                first.insert(pc, encoding, length);
                false
            }
        })
    }

    /// Instructions so far.
    pub(crate) fn len(&self) -> usize {
        self.first.len()
    }

    /// The instructions that the program does not have.
    pub(crate) fn code(&self) -> Code {
        let is_known = |pc| self.memory.as_ref().and_then(|memory| memory.fetch(self.isa, pc));
        let mut code = self.first.clone();
        code.retain(|pc, instruction| is_known(pc) != Some(instruction));
        code
    }
}
