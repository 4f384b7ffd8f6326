//! Spaces: what the same address may mean something else in.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use trackway_core::Context;

/// A source, and what of its context says which program runs and on whose behalf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Space {
    /// The source.
    pub source: u16,
    /// Levels, ids and instruction set; other fields are not set.
    pub context: Context,
    /// The context is laid over the one before this part.
    pub(super) on_top: bool,
}

impl Space {
    pub(super) fn new(source: u16, context: &Context, on_top: bool) -> Self {
        let Context { privilege, security, context_id, vmid, asid, pid, tid, hw_thread, isa, .. } = *context;
        let context = Context {
            privilege,
            security,
            context_id,
            vmid,
            asid,
            pid,
            tid,
            hw_thread,
            isa,
            ..Context::default()
        };
        Space { source, context, on_top }
    }

    /// The key of a thread: the ids, without levels and instruction set.
    pub fn thread(&self) -> Space {
        let context = Context { privilege: None, security: None, isa: None, ..self.context };
        Space { context, ..*self }
    }
}

/// The spaces of a trace, numbered in the order of their first use.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Spaces {
    pub(super) list: Vec<Space>,
    #[serde(skip)]
    numbers: HashMap<Space, u32>,
}

impl Spaces {
    pub(super) fn place(&mut self, space: Space) -> u32 {
        *self.numbers.entry(space).or_insert_with(|| {
            self.list.push(space);
            self.list.len() as u32 - 1
        })
    }

    /// Puts the numbers back, which are not stored.
    pub(super) fn restore(&mut self) -> Option<()> {
        self.numbers = (0..).zip(&self.list).map(|(n, space)| (*space, n)).collect();
        (self.numbers.len() == self.list.len()).then_some(())
    }
}
