//! Settings and program that every part and source is decoded with.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use trackway_core::Isa;
use trackway_image::Image;

use super::attach::Attach;
use crate::config::{Config, Order};

/// Settings and program, shared by all parts and sources.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) config: Arc<Config>,
    pub(crate) image: Arc<Image>,
    pub(crate) isa: Isa,
    /// A source that has ended had instructions.
    pub(crate) followed: Arc<AtomicBool>,
}

impl Setup {
    /// Can the data packets of a part be attached without those before it? With a loose order they cross any cut.
    pub(crate) fn has_separate_parts(&self) -> bool {
        !self.config.data.enable || self.config.data.order == Order::Retired
    }

    /// A fresh stage that attaches data packets to instructions.
    pub(crate) fn attach(&self) -> Attach {
        Attach::new(&self.config, &self.image, self.isa)
    }
}
