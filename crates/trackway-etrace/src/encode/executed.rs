//! Code that the events bring and the program does not have.

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
    recent: Recent<Place, (), 4096>,
    pub(crate) code: Code,
}

impl Executed {
    pub(crate) fn new(isa: Isa, memory: Option<Arc<Memory>>) -> Self {
        Executed { isa, memory, recent: Recent::default(), code: Code::default() }
    }

    #[inline(always)]
    pub(crate) fn note(&mut self, pc: u64, encoding: u32, length: u8) {
        let Executed { isa, memory, recent, code } = self;
        recent.get(Place { pc, encoding }, || {
            let known = memory.as_ref().and_then(|memory| memory.fetch(*isa, pc));
            if known != Some((encoding, length)) {
                code.insert(pc, encoding, length);
            }
        });
    }
}
