//! Parts of a trace that become rows on their own, on any machine, and are those of the whole.

use serde::{Deserialize, Serialize};
use trackway::cut::{Plan, Witness, WorkItem, plan_with};
use trackway::{Result, Trace};
use trackway_core::Batch;

use crate::lane::{Follower, Lanes};

/// A work item, and what its rows depend on besides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The stretch of the trace.
    #[serde(flatten)]
    pub work: WorkItem,
    /// The sources so far, where it begins.
    pub lanes: Lanes,
    /// Address of the first instruction after it, where its last one went there.
    pub next: Option<u64>,
}

#[derive(Default)]
struct Watched {
    follower: Follower,
    cuts: Vec<Lanes>,
}

impl Witness for Watched {
    fn batch(&mut self, batch: &Batch) {
        self.follower.take(batch);
    }

    fn cut(&mut self) {
        self.follower.cut();
        self.cuts.push(self.follower.lanes.clone());
    }
}

/// Reads a trace once and cuts it into about `parts` parts; also returns why there are fewer.
pub fn plan(trace: &Trace, parts: usize) -> Result<(Vec<Part>, Option<String>)> {
    let mut watched = Watched::default();
    let Plan { items, why } = plan_with(trace, parts, &mut watched)?;
    let Watched { follower, cuts } = watched;
    let begins = std::iter::once(Lanes::new()).chain(cuts);
    let nexts = follower.next.into_iter().chain(std::iter::repeat(None));
    let last = items.len();
    let part = |(n, ((work, lanes), next))| {
        // Of a damaged trace and after the last item nothing is known.
        let next = if n + 1 < last { next } else { None };
        Part { work, lanes, next }
    };
    Ok((items.into_iter().zip(begins).zip(nexts).enumerate().map(part).collect(), why))
}
