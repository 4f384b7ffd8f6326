//! Addresses of traces whose sources may run different programs.

use std::sync::Arc;

use trackway_image::{Image, program};

use crate::executed::{Block, Executed};

/// An address of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Number of the first source that has the program.
    pub program: u16,
    /// The address.
    pub pc: u64,
}

/// Which sources have the same program: their addresses mean the same.
#[derive(Debug)]
pub(crate) struct Addresses {
    programs: Vec<Arc<Image>>,
    /// By source: the first one with this program.
    first: Vec<u16>,
}

impl Addresses {
    pub(crate) fn new(programs: &[Arc<Image>]) -> Self {
        let is_same = |one: &Arc<Image>, two: &Arc<Image>| {
            let (one_parts, two_parts) = (one.parts(), two.parts());
            Arc::ptr_eq(one, two)
                || one_parts.len() == two_parts.len()
                    && one_parts.iter().zip(two_parts).all(|(one, two)| one.is_same(two))
        };
        let first = (0..)
            .zip(programs)
            .map(|(n, image)| {
                programs.iter().zip(0..).find(|(other, _)| is_same(other, image)).map_or(n, |(_, n)| n)
            })
            .collect();
        Addresses { programs: programs.to_vec(), first }
    }

    /// An address that a source names.
    pub(crate) fn of(&self, source: u16, pc: u64) -> Address {
        let program = self.first.get(usize::from(source)).or(self.first.last()).copied().unwrap_or(0);
        Address { program, pc }
    }

    /// An address in a block.
    pub(super) fn of_block(&self, executed: &Executed, block: &Block, pc: u64) -> Address {
        let space = executed.spaces().get(block.code.space as usize);
        self.of(space.map_or(0, |space| space.source), pc)
    }

    /// The program of an address.
    pub(super) fn program(&self, address: Address) -> Arc<Image> {
        program(&self.programs, address.program)
    }

    /// Is there more than one program?
    pub(super) fn are_several(&self) -> bool {
        self.first.iter().any(|first| *first > 0)
    }
}
