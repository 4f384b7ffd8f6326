//! One page with all that is known of a trace: self-contained HTML.
//!
//! Tables are sorted by buttons, the call tree folds, and everything works by keyboard. The page loads nothing and says
//! so (`Content-Security-Policy`); names from traces and programs are escaped where they become markup, in
//! [`markup`](crate::markup) and nowhere else. The page says what a trace does not hold, and never shows it as zero.

mod page;
mod sections;
mod table;
mod tree;

use std::sync::Arc;

use trackway::Health;
use trackway_core::Meta;
use trackway_image::Image;

use crate::calls::Called;
use crate::plot::Subject;
use crate::stats::Summary;

/// The results that a page shows.
pub struct Report<'a> {
    /// The name of the trace.
    pub title: &'a str,
    /// Facts from the header of the trace.
    pub meta: &'a Meta,
    /// How it was read.
    pub health: &'a Health,
    /// Why reading ended early, and what does not fit the program.
    pub warnings: Vec<String>,
    /// Counts.
    pub summary: &'a Summary,
    /// The call tree.
    pub called: &'a Called,
    /// The sources over time.
    pub subjects: &'a [Subject<'a>],
    /// The programs, one for each source or one for all.
    pub programs: &'a [Arc<Image>],
}

impl Report<'_> {
    /// The page.
    pub fn html(&self) -> String {
        page::page(self.title, &sections::all(self))
    }
}
