//! A table of strings.

use std::collections::HashMap;

/// Strings by number.
#[derive(Debug, Default)]
pub(super) struct Strings {
    pub(super) list: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Strings {
    /// The number of a string, which is added where it is new.
    pub(super) fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.list.push(text.to_string());
        self.numbers.insert(text.to_string(), self.list.len() - 1);
        self.list.len() - 1
    }
}
