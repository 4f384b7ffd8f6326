//! Code that the events bring and the program does not have. Where code changes, the first one counts: a reader has one
//! program.

use std::sync::Arc;

use trackway_core::{Context, Isa};
use trackway_image::{Code, Image, Memory};
use trackway_isa::{Key, Recent};

/// An instruction at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) pc: u64,
    pub(crate) encoding: u32,
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
    image: Arc<Image>,
    /// Contexts see different code.
    spaces: bool,
    context: Context,
    /// The code that the context sees.
    memory: Arc<Memory>,
    /// By instruction: is it another than the program's?
    recent: Recent<Place, bool, 4096>,
    /// The first instruction that was executed at each address; with spaces those that the program does not have.
    first: Code,
}

impl Executed {
    pub(crate) fn new(isa: Isa, image: Arc<Image>) -> Self {
        let context = Context::default();
        let spaces = image.parts().iter().any(|part| !part.space.is_everywhere());
        let memory = image.memory(&context);
        Executed { isa, image, spaces, context, memory, recent: Recent::default(), first: Code::default() }
    }

    /// The context changes, and with it the code that it sees.
    pub(crate) fn change(&mut self, change: &Context) {
        if !self.spaces {
            return;
        }
        self.context.update(change);
        let memory = self.image.memory(&self.context);
        if !Arc::ptr_eq(&memory, &self.memory) {
            (self.memory, self.recent) = (memory, Recent::default());
        }
    }

    /// Takes an instruction; true if a reader sees another one there.
    #[inline(always)]
    pub(crate) fn note(&mut self, pc: u64, encoding: u32, length: u8) -> bool {
        let Executed { isa, spaces, memory, recent, first, .. } = self;
        *recent.get(Place { pc, encoding }, || match first.get(pc) {
            _ if *spaces && memory.fetch(*isa, pc) == Some((encoding, length)) => false,
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
        let mut code = self.first.clone();
        if !self.spaces {
            code.retain(|pc, instruction| self.memory.fetch(self.isa, pc) != Some(instruction));
        }
        code
    }
}
