//! LLVM's sample profiles, as text and in the raw binary form.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use trackway_image::Image;

use super::names::without;
use super::protobuf::varint;
use super::sampled::{Function, Place, sample};
use crate::executed::Executed;

/// The text that `llvm-profdata` and `clang -fprofile-sample-use` read, and the number of instructions without a function or a
/// line. It is empty where no instruction has both.
pub fn llvm(executed: &Executed, programs: &[Arc<Image>]) -> (String, u64) {
    let sampled = sample(executed, programs);
    let mut out = String::new();
    for (name, function) in by_total(&sampled.functions) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}:{}:{}", plain(name), function.total(), function.head);
        write_body(&mut out, function, 1);
    }
    (out, sampled.left_out)
}

/// The functions, those with most passes first.
fn by_total(functions: &BTreeMap<String, Function>) -> Vec<(&str, &Function)> {
    let mut list: Vec<(&str, &Function)> = functions.iter().map(|(name, f)| (&**name, f)).collect();
    list.sort_by_key(|(_, function)| std::cmp::Reverse(function.total()));
    list
}

fn write_body(out: &mut String, function: &Function, level: usize) {
    let place = |(offset, discriminator): Place| match discriminator {
        0 => format!("{:level$}{offset}", ""),
        _ => format!("{:level$}{offset}.{discriminator}", ""),
    };
    for (at, count) in &function.body {
        let _ = write!(out, "{}: {}", place(*at), count.passes);
        for (target, calls) in &count.targets {
            let _ = write!(out, " {}:{calls}", plain(target));
        }
        out.push('\n');
    }
    for ((at, name), inlined) in &function.inlined {
        let _ = writeln!(out, "{}: {}:{}", place(*at), plain(name), inlined.total());
        write_body(out, inlined, level + 1);
    }
}

/// A name that cannot be taken for a number, a comment or several fields.
fn plain(name: &str) -> String {
    let mut name = without(name, |letter| letter.is_whitespace() || letter == ':');
    if name.starts_with(|letter: char| letter.is_ascii() && !letter.is_ascii_alphabetic() && letter != '_') {
        name.insert(0, '_');
    }
    name
}

/// `SPROF42` and the form of the file: raw binary.
const MAGIC: u64 = 0x5350_524f_4634_32ff;
const VERSION: u64 = 103;

/// Shares of all counts that the summary has entries for, in millionths.
const CUTOFFS: [u64; 16] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 950_000,
    990_000, 999_000, 999_900, 999_990, 999_999,
];

/// The same profile in the raw binary form; `None` where no instruction has a function and a line.
pub fn llvm_binary(executed: &Executed, programs: &[Arc<Image>]) -> (Option<Vec<u8>>, u64) {
    let sampled = sample(executed, programs);
    if sampled.functions.is_empty() {
        return (None, sampled.left_out);
    }
    let mut out = Vec::new();
    [MAGIC, VERSION].into_iter().for_each(|value| varint(&mut out, value));
    write_summary(&mut out, &sampled.functions);
    let mut names: BTreeSet<&str> = sampled.functions.keys().map(String::as_str).collect();
    for function in sampled.functions.values() {
        function.each(&mut |function| {
            names.extend(function.inlined.keys().map(|(_, name)| name.as_str()));
            names.extend(function.body.values().flat_map(|count| count.targets.keys()).map(String::as_str));
        });
    }
    varint(&mut out, names.len() as u64);
    for name in &names {
        out.extend(name.bytes().map(|byte| if byte == 0 { b'?' } else { byte }));
        out.push(0);
    }
    let numbers: BTreeMap<&str, u64> = names.into_iter().zip(0..).collect();
    for (name, function) in by_total(&sampled.functions) {
        varint(&mut out, function.head);
        write_function(&mut out, &numbers, name, function);
    }
    (Some(out), sampled.left_out)
}

fn write_function(out: &mut Vec<u8>, names: &BTreeMap<&str, u64>, name: &str, function: &Function) {
    let number = |name: &str| names.get(name).copied().unwrap_or(0);
    let mut put = |values: &[u64]| values.iter().for_each(|value| varint(out, *value));
    put(&[number(name), function.total(), function.body.len() as u64]);
    for ((offset, discriminator), count) in &function.body {
        put(&[(*offset).into(), (*discriminator).into(), count.passes, count.targets.len() as u64]);
        // Those called most come first.
        let mut targets: Vec<(&String, &u64)> = count.targets.iter().collect();
        targets.sort_by_key(|(_, calls)| std::cmp::Reverse(**calls));
        targets.into_iter().for_each(|(target, calls)| put(&[number(target), *calls]));
    }
    put(&[function.inlined.len() as u64]);
    for (((offset, discriminator), name), inlined) in &function.inlined {
        [*offset, *discriminator].into_iter().for_each(|value| varint(out, value.into()));
        write_function(out, names, name, inlined);
    }
}

/// Totals, and how many of the greatest counts make up each share of all.
fn write_summary(out: &mut Vec<u8>, functions: &BTreeMap<String, Function>) {
    let mut counts: Vec<u64> = Vec::new();
    for function in functions.values() {
        function.each(&mut |function| counts.extend(function.body.values().map(|count| count.passes)));
    }
    counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
    let total = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
    let most_entered = functions.values().map(|function| function.head).max().unwrap_or(0);
    let greatest = counts.first().copied().unwrap_or(0);
    let totals = [total, greatest, most_entered, counts.len() as u64, functions.len() as u64];
    totals.into_iter().for_each(|value| varint(out, value));
    varint(out, CUTOFFS.len() as u64);
    let (mut sum, mut seen, mut least) = (0u64, 0, 0);
    for cutoff in CUTOFFS {
        let wanted = (u128::from(total) * u128::from(cutoff) / 1_000_000) as u64;
        while sum < wanted && seen < counts.len() {
            // Equal counts are counted together.
            least = counts[seen];
            let end = seen + counts[seen..].partition_point(|count| *count == least);
            sum = sum.saturating_add(least.saturating_mul((end - seen) as u64));
            seen = end;
        }
        [cutoff, least, seen as u64].into_iter().for_each(|value| varint(out, value));
    }
}
