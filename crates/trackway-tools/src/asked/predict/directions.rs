//! Counters that predict whether a branch is taken.

/// Counters of [`Bimodal`].
pub(super) const BIMODAL: usize = 4096;
/// Counters of [`Gshare`].
pub(super) const GSHARE: usize = 16384;

/// Counters of two bits: 2 and 3 predict taken. They begin with 1.
#[derive(Debug)]
struct Counters(Box<[u8]>);

impl Counters {
    fn new(count: usize) -> Self {
        Counters(vec![1; count].into())
    }

    fn at(&mut self, key: u64) -> &mut u8 {
        let mask = self.0.len() - 1;
        &mut self.0[key as usize & mask]
    }

    /// Predicts, then learns.
    fn predict(&mut self, key: u64, taken: bool) -> bool {
        let counter = self.at(key);
        let predicted = *counter >= 2;
        *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        predicted
    }
}

/// One counter by address.
#[derive(Debug)]
pub(super) struct Bimodal(Counters);

impl Default for Bimodal {
    fn default() -> Self {
        Bimodal(Counters::new(BIMODAL))
    }
}

impl Bimodal {
    /// Predicts, then learns.
    pub(super) fn predict(&mut self, key: u64, taken: bool) -> bool {
        self.0.predict(key, taken)
    }

    /// Predicts only.
    pub(super) fn peek(&mut self, key: u64) -> bool {
        *self.0.at(key) >= 2
    }
}

/// One counter by address and the last outcomes of all branches.
#[derive(Debug)]
pub(super) struct Gshare(Counters);

impl Default for Gshare {
    fn default() -> Self {
        Gshare(Counters::new(GSHARE))
    }
}

impl Gshare {
    /// Predicts, then learns.
    pub(super) fn predict(&mut self, key: u64, history: u64, taken: bool) -> bool {
        self.0.predict(key ^ history, taken)
    }
}
