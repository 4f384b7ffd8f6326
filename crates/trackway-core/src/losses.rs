//! The loss ledger: an honest account of what a conversion kept, derived, dropped and made up.

use std::fmt;

use crate::events::Context;
use crate::ledger::{Account, Fate};

/// Counts by fate and by what it was. Mergeable, so that parallel parts add up.
///
/// ```
/// use trackway_core::{Fate, Losses};
/// let mut losses = Losses::default();
/// losses.add(Fate::Dropped, "register values", 3);
/// losses.add(Fate::Kept, "instructions", 10);
/// assert!(losses.is_lossy());
/// assert_eq!(losses.to_string(), "kept      10  instructions\ndropped    3  register values\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Few and asked for often: a short list that is searched beats a map.
    counts: Vec<(Fate, &'static str, u64)>,
}

impl Losses {
    /// Counts `n` more.
    #[inline]
    pub fn add(&mut self, fate: Fate, what: &'static str, n: u64) {
        if n == 0 {
            return;
        }
        match self.counts.iter_mut().find(|entry| entry.0 == fate && entry.1 == what) {
            Some(entry) => entry.2 += n,
            None => self.counts.push((fate, what, n)),
        }
    }

    /// Counts as dropped what is set in `lost`: of a context change, what a format does not hold.
    pub fn drop_context(&mut self, lost: &Context) {
        // All of them: a new field cannot be forgotten here.
        let Context {
            privilege,
            security,
            own_stack,
            context_id,
            vmid,
            asid,
            pid,
            tid,
            hw_thread,
            change,
            isa,
            vector_bits,
            streaming,
            dit,
            ssbs,
            mte,
            unsupported,
        } = *lost;
        for (there, what) in [
            (privilege.is_some(), "privilege changes"),
            (security.is_some(), "security states"),
            (own_stack.is_some(), "stack pointer selections"),
            (context_id.is_some(), "context ids"),
            (vmid.is_some(), "virtual machine ids"),
            (asid.is_some(), "address space ids"),
            (pid.is_some(), "process ids"),
            (tid.is_some(), "thread ids"),
            (hw_thread.is_some(), "hardware threads"),
            (change.is_some(), "kinds of context change"),
            (isa.is_some(), "changes of instruction set"),
            (vector_bits.is_some(), "vector lengths"),
            (streaming.is_some(), "streaming modes"),
            (dit.is_some(), "DIT states"),
            (ssbs.is_some(), "SSBS states"),
            (mte.is_some(), "MTE modes"),
            (unsupported.is_some(), "unsupported modes"),
        ] {
            self.add(Fate::Dropped, what, there.into());
        }
    }

    /// Adds another ledger.
    pub fn merge(&mut self, other: &Losses) {
        for &(fate, what, n) in &other.counts {
            self.add(fate, what, n);
        }
    }

    /// True if something was dropped or made up: what `--strict` refuses.
    pub fn is_lossy(&self) -> bool {
        self.counts.iter().any(|(fate, ..)| matches!(fate, Fate::Dropped | Fate::Invented))
    }

    /// All entries, by fate and name.
    pub fn entries(&self) -> impl Iterator<Item = (Fate, &'static str, u64)> + '_ {
        let mut sorted = self.counts.clone();
        sorted.sort_unstable();
        sorted.into_iter()
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.counts.iter().map(|entry| entry.2.to_string().len()).max().unwrap_or(0).max(3);
        for (fate, what, n) in self.entries() {
            writeln!(f, "{:<8} {n:>width$}  {what}", fate.as_str())?;
        }
        Ok(())
    }
}

impl From<Losses> for Account {
    fn from(_: Losses) -> Self {
        Account::default()
    }
}
