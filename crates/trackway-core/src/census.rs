//! Counts of native items.

/// Native items by kind, in the order of the spec.
///
/// ```
/// use trackway_core::Census;
/// let mut census = Census::new(&["sync", "branch", "trap"], [2, 10, 0]);
/// census.merge(&Census::new(&["sync", "branch", "trap"], [1, 0, 0]));
/// assert_eq!(census.total(), 13);
/// assert_eq!(census.entries().collect::<Vec<_>>(), [("sync", 3), ("branch", 10)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census(Vec<(&'static str, u64)>);

impl FromIterator<(&'static str, u64)> for Census {
    fn from_iter<I: IntoIterator<Item = (&'static str, u64)>>(entries: I) -> Self {
        Census(entries.into_iter().collect())
    }
}

impl Census {
    /// Kinds and their counts.
    pub fn new(names: &[&'static str], counts: impl IntoIterator<Item = u64>) -> Self {
        Census(names.iter().copied().zip(counts).collect())
    }

    /// Adds a count.
    pub fn add(&mut self, name: &'static str, count: u64) {
        match self.0.iter_mut().find(|entry| entry.0 == name) {
            Some(entry) => entry.1 += count,
            None => self.0.push((name, count)),
        }
    }

    /// Adds another census.
    pub fn merge(&mut self, other: &Census) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
        } else {
            other.0.iter().for_each(|&(name, count)| self.add(name, count));
        }
    }

    /// The kinds that occur.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().copied().filter(|entry| entry.1 > 0)
    }

    /// All items.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|entry| entry.1).sum()
    }
}
