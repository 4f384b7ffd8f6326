//! AutoFDO's profile for GCC (`-fauto-profile`).

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_image::Image;

use super::sampled::{Function, Place, sample};
use crate::executed::Executed;

const MAGIC: u32 = 0x6763_6461;
const NAMES: u32 = 0xaa00_0000;
const FUNCTIONS: u32 = 0xac00_0000;
const MODULES: u32 = 0xae00_0000;
const WORKING_SET: u32 = 0xaf00_0000;
/// Histogram of call targets.
const TARGETS: u32 = 7;
/// Entries of the working set.
const BUCKETS: u64 = 128;
/// AutoFDO's tools refuse longer names.
const LONGEST_NAME: usize = 4000;

/// Which compilers read it: they differ in how lengths of strings are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GcovVersion {
    /// GCC 5 to 11, and Debian's AutoFDO tools: in words.
    #[default]
    Words,
    /// GCC 12 and later: in bytes.
    Bytes,
}

/// The profile that `create_gcov` would write, and the number of instructions without a function or a line; `None` where no
/// instruction has both.
pub fn gcov(executed: &Executed, programs: &[Arc<Image>], version: GcovVersion) -> (Option<Vec<u8>>, u64) {
    let sampled = sample(executed, programs);
    if sampled.functions.is_empty() {
        return (None, sampled.left_out);
    }
    let mut names: BTreeMap<&str, u32> = BTreeMap::from([("", 0)]);
    let mut counts: Vec<u64> = Vec::new();
    for (name, function) in &sampled.functions {
        names.insert(cut(name), 0);
        function.each(&mut |function| {
            names.extend(function.inlined.keys().map(|(_, name)| (cut(name), 0)));
            let targets = function.body.values().flat_map(|count| count.targets.keys());
            names.extend(targets.map(|name| (cut(name), 0)));
            counts.extend(function.body.values().map(|count| count.passes));
        });
    }
    names.values_mut().zip(0..).for_each(|(name, number)| *name = number);
    let mut strings = Words::default();
    strings.word(names.len() as u32);
    names.keys().for_each(|name| strings.string(name, version));
    let mut functions = Words::default();
    functions.word(sampled.functions.len() as u32);
    for (name, function) in &sampled.functions {
        functions.counter(function.head);
        functions.function(&names, name, function);
    }
    let mut out = Words::default();
    out.word(MAGIC);
    out.word(if version == GcovVersion::Bytes { 2 } else { 1 });
    out.word(0);
    out.section(NAMES, &strings);
    out.section(FUNCTIONS, &functions);
    let mut none = Words::default();
    none.word(0);
    out.section(MODULES, &none);
    out.section(WORKING_SET, &working_set(counts));
    (Some(out.0), sampled.left_out)
}

/// A name as long as it may be, up to what would end it.
fn cut(name: &str) -> &str {
    let name = &name[..name.floor_char_boundary(LONGEST_NAME)];
    name.split('\0').next().unwrap_or(name)
}

/// How many of the greatest counts make up each share of all, and the smallest of them.
fn working_set(mut counts: Vec<u64>) -> Words {
    counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
    let total = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
    let mut out = Words::default();
    let (mut sum, mut seen) = (0u64, 0);
    for bucket in 1..=BUCKETS {
        let wanted = total / (BUCKETS + 1) * bucket;
        while sum < wanted && seen < counts.len() {
            sum = sum.saturating_add(counts[seen]);
            seen += 1;
        }
        out.word(seen as u32);
        out.counter(seen.checked_sub(1).map_or(0, |last| counts[last]));
    }
    out
}

/// Little-endian words.
#[derive(Debug, Default)]
struct Words(Vec<u8>);

impl Words {
    fn word(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn counter(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    /// A string with the zero that ends it.
    fn string(&mut self, text: &str, version: GcovVersion) {
        let length = match version {
            GcovVersion::Words => text.len() / 4 + 1,
            GcovVersion::Bytes => text.len() + 1,
        };
        let bytes = if version == GcovVersion::Words { length * 4 } else { length };
        self.word(length as u32);
        self.0.extend(text.bytes().chain(std::iter::repeat(0)).take(bytes));
    }

    fn section(&mut self, tag: u32, section: &Words) {
        self.word(tag);
        self.word((section.0.len() / 4) as u32);
        self.0.extend(&section.0);
    }

    fn function(&mut self, names: &BTreeMap<&str, u32>, name: &str, function: &Function) {
        let number = |name: &str| names.get(cut(name)).copied().unwrap_or(0);
        let place = |(offset, discriminator): Place| offset << 16 | discriminator & 0xffff;
        self.word(number(name));
        self.word(function.body.len() as u32);
        self.word(function.inlined.len() as u32);
        for (at, count) in &function.body {
            self.word(place(*at));
            self.word(count.targets.len() as u32);
            self.counter(count.passes);
            for (target, calls) in &count.targets {
                self.word(TARGETS);
                self.counter(number(target).into());
                self.counter(*calls);
            }
        }
        for ((at, name), inlined) in &function.inlined {
            self.word(place(*at));
            self.function(names, name, inlined);
        }
    }
}
