//! The code that a part of a trace runs, as far as its context says.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use trackway_core::Isa;
use trackway_image::{Image, Memory};

use super::decode::DecodeCache;

/// Data that all parts of a trace share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Instruction set where no context has one.
    pub(super) isa: Isa,
    /// The program of each source, or one for all.
    pub(super) programs: Vec<Arc<Image>>,
    /// All contexts see the same of the programs.
    pub(super) everywhere: bool,
    /// Caches of finished parts, for those to come.
    caches: Mutex<Vec<DecodeCache>>,
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new(Isa::Other, &[])
    }
}

impl Shared {
    pub(super) fn new(isa: Isa, programs: &[Arc<Image>]) -> Self {
        let everywhere = programs.iter().all(|program| program.is_everywhere());
        Shared { isa, programs: programs.to_vec(), everywhere, caches: Mutex::default() }
    }

    pub(super) fn take_cache(&self) -> DecodeCache {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(super) fn return_cache(&self, cache: DecodeCache) {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner).push(cache);
    }
}

/// The code that the current context sees.
#[derive(Debug)]
pub(super) struct CurrentCode {
    pub(super) isa: Isa,
    pub(super) memory: Option<Arc<Memory>>,
    /// Which of them a context before the part may contradict.
    pub(super) assumed: Assumptions,
}

impl Default for CurrentCode {
    fn default() -> Self {
        CurrentCode { isa: Isa::Other, memory: None, assumed: Assumptions::default() }
    }
}

/// Assumptions of a part that a context before it may contradict.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Assumptions {
    pub(super) isa: bool,
    pub(super) code: bool,
}
