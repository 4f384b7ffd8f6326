//! Comparison of traces made in memory: planted differences are found, and nothing else.

use std::sync::Mutex;

use proptest::prelude::*;
use trackway_core::*;
use trackway_tools::diff::{Group, Kind, Options, Report, Tolerate, diff};

/// One instruction, or something between instructions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    Step { pc: u64, value: Option<u64> },
    Attempted { pc: u64 },
    Trap { cause: u64, value: Option<u64> },
    Gap(GapReason),
    Off,
}

/// A trace that a function of the instruction's number makes.
struct Source<F> {
    meta: Meta,
    make: F,
    next: u64,
    count: u64,
    number: u64,
}

impl<F: FnMut(u64) -> Made> Source<F> {
    fn new(format: &'static str, count: u64, make: F) -> Self {
        let meta = Meta::new(FormatId::new(format), Isa::Rv64);
        Source { meta, make, next: 0, count, number: 0 }
    }
}

impl<F: FnMut(u64) -> Made + Send> trackway_core::Source for Source<F> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        batch.first_instruction = self.number;
        while self.next < self.count && !batch.is_full() {
            match (self.make)(self.next) {
                Made::Gap(reason) => batch.push_gap(0, Gap::new(reason)),
                Made::Off => batch.push(0, EventKind::Mark(Mark::new(MarkKind::TraceOff))),
                Made::Trap { cause, value } => {
                    let trap = Trap { cause: Some(cause), value, ..Trap::new(TrapKind::Exception) };
                    batch.push_trap(0, trap);
                }
                Made::Attempted { pc } => {
                    let step = Step { outcome: Outcome::Attempted, ..Step::new(pc, 0x13, 4) };
                    batch.push(0, EventKind::Step(step));
                    self.number += 1;
                }
                Made::Step { pc, value } => {
                    let begun = batch.begin_accesses();
                    if let Some(value) = value {
                        batch.regs.push(RegAccess {
                            reg: Reg { class: RegClass::Int, number: 10 },
                            role: RegRole::Destination,
                            update: RegUpdate::Set,
                            value: Value::Word(value),
                            known: None,
                        });
                    }
                    let accesses = batch.end_accesses(begun).expect("one access");
                    batch.push(0, EventKind::Step(Step { accesses, ..Step::new(pc, 0x13, 4) }));
                    self.number += 1;
                }
            }
            self.next += 1;
        }
        Ok(!batch.events.is_empty())
    }
}

fn compare(a: &[Made], b: &[Made], options: &Options) -> Report {
    compare_as(["one", "one"], Isa::Rv64, a, b, options)
}

fn compare_as(formats: [&'static str; 2], isa: Isa, a: &[Made], b: &[Made], options: &Options) -> Report {
    let mut one = Source::new(formats[0], a.len() as u64, |n| a[n as usize]);
    let mut other = Source::new(formats[1], b.len() as u64, |n| b[n as usize]);
    (one.meta.isa, other.meta.isa) = (isa, isa);
    diff(&mut one, &mut other, options, &mut |_, _| {}).expect("nobody cancels it")
}

/// Facts that were not compared: reason and number.
fn left_out<'r>(report: &'r Report, what: &str) -> Option<(&'r str, Option<u64>)> {
    let entry = report.not_compared.iter().find(|entry| entry.what == what)?;
    Some((&entry.why, entry.count))
}

/// Nested loops: 37 instructions twenty times, then the same in another function.
fn looping(n: u64) -> u64 {
    0x1_0000 + 4 * (n % 37) + 0x400 * (n / 740 % 11)
}

fn step(n: u64, data: bool) -> Made {
    Made::Step { pc: looping(n), value: data.then_some(n.wrapping_mul(0x9e37_79b9)) }
}

/// Kind, and place and length in both.
fn found(report: &Report) -> Vec<(Kind, u64, u64, u64, u64)> {
    let differences = report.differences.iter();
    differences.map(|d| (d.kind, d.a.from, d.a.to - d.a.from, d.b.from, d.b.to - d.b.from)).collect()
}

/// A change, insertions and deletions of one and of a thousand instructions in ten million, and nothing else.
#[test]
fn planted_differences_in_ten_million() {
    const ALL: u64 = 10_000_000;
    for data in [true, false] {
        let mut a = Source::new("one", ALL, |n| step(n, data));
        let other = |n: u64| Made::Step { pc: 0x9_0000 + 4 * (n % 1000), value: data.then_some(n) };
        // Number in the second to number in the first.
        let edited = |n: u64| match n {
            1_000_000 => other(0),
            2_000_000 => other(1),
            5_000_000..5_001_000 => other(n),
            _ => {
                let inserted = u64::from(n > 2_000_000) + if n >= 5_001_000 { 1000 } else { 0 };
                let mut n = n - inserted;
                n += u64::from(n >= 3_000_000);
                n += if n >= 8_000_000 { 1000 } else { 0 };
                step(n, data)
            }
        };
        let mut b = Source::new("one", ALL + 1 - 1 + 1000 - 1000, edited);
        let report = diff(&mut a, &mut b, &Options::default(), &mut |_, _| {}).unwrap();
        let found = found(&report);
        let kinds: Vec<(Kind, u64, u64)> = found.iter().map(|d| (d.0, d.2, d.4)).collect();
        assert_eq!(
            kinds,
            [
                (Kind::Changed, 1, 1),
                (Kind::Inserted, 0, 1),
                (Kind::Deleted, 1, 0),
                (Kind::Inserted, 0, 1000),
                (Kind::Deleted, 1000, 0)
            ],
            "{found:?}"
        );
        let places: Vec<u64> = found.iter().map(|d| d.1).collect();
        for (found, planted) in places.iter().zip([1_000_000, 2_000_000, 3_000_000, 5_000_000, 8_000_000]) {
            // Without data, where in its loop an instruction is missing cannot be seen.
            assert!(found.abs_diff(planted) < if data { 1 } else { 740 }, "{places:?}");
        }
        assert_eq!(report.counts, [1, 2, 2]);
        assert_eq!(report.instructions, [1, 1001, 1001]);
        assert_eq!(report.compared[&Group::Pcs], ALL - 1001);
    }
}

/// An edit of a list of instructions.
#[derive(Clone, Debug)]
enum Edit {
    Change,
    Insert(usize),
    Delete(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let length = prop_oneof![4 => 1..8usize, 2 => 8..200usize, 1 => 200..1500usize];
    prop_oneof![Just(Edit::Change), length.clone().prop_map(Edit::Insert), length.prop_map(Edit::Delete),]
}

/// A walk through random loops: the way, not the data, may repeat.
fn walk(loops: &[(u8, u8)], data: bool) -> Vec<Made> {
    let mut out = Vec::new();
    for (n, &(body, turns)) in loops.iter().enumerate() {
        for turn in 0..=u64::from(turns % 40) {
            for place in 0..=u64::from(body % 24) {
                let value = data.then_some(out.len() as u64 * 3 + turn);
                out.push(Made::Step { pc: 0x1000 + 0x100 * (n as u64 % 7) + 4 * place, value });
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Random edits are found with no more differences than were planted, and a trace equals itself.
    #[test]
    fn random_edits(
        loops in prop::collection::vec(any::<(u8, u8)>(), 20..60),
        edits in prop::collection::vec((edit(), any::<prop::sample::Index>()), 0..6),
        data in any::<bool>(),
    ) {
        let a = walk(&loops, data);
        let mut b = a.clone();
        // Foreign instructions: those of another function.
        let other = |n: usize| Made::Step { pc: 0x9_0000 + 4 * (n as u64 % 300), value: data.then_some(n as u64) };
        for (n, (edit, place)) in edits.iter().enumerate() {
            let place = place.index(b.len());
            match *edit {
                Edit::Change => b[place] = other(1000 * n),
                Edit::Insert(length) => drop(b.splice(place..place, (0..length).map(|k| other(1000 * n + k)))),
                Edit::Delete(length) => drop(b.drain(place..(place + length).min(b.len()))),
            }
            if b.is_empty() {
                b.push(other(0));
            }
        }
        let report = compare(&a, &b, &Options::default());
        let total: u64 = report.counts.iter().sum();
        let most = edits.len() as u64;
        prop_assert!(total <= most, "{total} of {}: {:?}", edits.len(), found(&report));
        prop_assert_eq!(report.is_equal(), a == b);
        prop_assert!(compare(&a, &a, &Options::default()).is_equal());
        // The other way round it is as many.
        let back = compare(&b, &a, &Options::default());
        prop_assert!(back.counts.iter().sum::<u64>() <= most, "back: {:?}", found(&back));
    }
}

/// Turns of a loop are told apart by data: what is missing is one difference, although the addresses agree for long.
#[test]
fn a_missing_turn_of_a_loop() {
    let turns: Vec<Made> =
        (0..40_000).map(|n| Made::Step { pc: 0x1000 + 4 * (n % 5), value: Some(n) }).collect();
    let mut b = turns.clone();
    b.drain(10_000..11_000);
    let report = compare(&turns, &b, &Options::default());
    assert_eq!(found(&report), [(Kind::Deleted, 10_000, 1000, 10_000, 0)]);
}

/// Data that differ throughout are changes, at the speed of reading; addresses are not shifted for them.
#[test]
fn other_data_on_the_same_way() {
    let a: Vec<Made> = (0..200_000).map(|n| step(n, true)).collect();
    let other = |n: u64| Made::Step { pc: looping(n), value: Some(n ^ 0x5555_0000_0000) };
    let b: Vec<Made> = (0..200_000).map(other).collect();
    let report = compare(&a, &b, &Options::default());
    assert_eq!(report.counts, [1, 0, 0], "{:?}", found(&report));
    assert_eq!(report.instructions, [200_000, 0, 0]);
    let fields = &report.differences[0].fields;
    assert!(fields.iter().all(|field| field.name == "x10") && fields.len() == 16, "{fields:?}");
    let options = Options { groups: vec![Group::Pcs], ..Options::default() };
    assert!(compare(&a, &b, &options).is_equal());
    let options = Options { tolerate: vec!["reg:x10".parse().unwrap()], ..Options::default() };
    let report = compare(&a, &b, &options);
    assert!(report.is_equal() && report.tolerated == 200_000);
}

/// Traces that share nothing are never equal.
#[test]
fn nothing_in_common() {
    let a: Vec<Made> = (0..5000).map(|n| step(n, true)).collect();
    let b: Vec<Made> = (0..5000).map(|n| Made::Step { pc: 0x8_0000 + 4 * n, value: Some(n) }).collect();
    for groups in [Group::ALL.to_vec(), vec![Group::Mem], vec![Group::Time], vec![Group::Traps]] {
        let options = Options { groups, ..Options::default() };
        for (a, b) in [(&a, &b), (&a, &vec![]), (&vec![], &b), (&vec![], &vec![])] {
            let report = compare(a, b, &options);
            assert!(!report.is_equal(), "{} and {}: {report:?}", a.len(), b.len());
        }
        if options.groups == [Group::Mem] {
            let report = compare(&a, &a, &options);
            assert!(!report.is_equal() && !report.has_compared(), "no memory: {report:?}");
        }
    }
}

/// What the other side has in a gap is not compared; the comparison continues after it.
#[test]
fn gaps() {
    for data in [true, false] {
        let a: Vec<Made> = (0..100_000).map(|n| step(n, data)).collect();
        let mut b = a.clone();
        b.splice(60_000..65_000, [Made::Gap(GapReason::Overflow)]);
        b.splice(20_000..20_010, [Made::Gap(GapReason::Overflow)]);
        for (one, other, side) in [(&a, &b, 0), (&b, &a, 1)] {
            let report = compare(one, other, &Options::default());
            assert!(report.is_equal(), "{:?}", found(&report));
            let lost: u64 = report
                .not_compared
                .iter()
                .filter(|entry| entry.why.contains("gap") && entry.what.contains(["A", "B"][side]))
                .filter_map(|entry| entry.count)
                .sum();
            // Without data, the turns of a loop before the gap may be those after it.
            assert!(lost <= 5010 && (!data || lost == 5010), "{lost}");
        }
    }
}

/// A trace that stops earlier is shorter, however it ends; only what was lost is a gap.
/// Gaps that both traces have are passed without reading far ahead: a trace may have one every few instructions.
#[test]
fn many_gaps_on_both_sides() {
    let made = |n: u64| match n % 4 {
        3 => Made::Gap(GapReason::NoCode),
        _ => step(looping(n), true),
    };
    // Events read of each side, and how far one was ahead at most.
    let read = Mutex::new(([0u64; 2], 0));
    let count = |side: usize, n: u64| {
        let (so_far, ahead) = &mut *read.lock().unwrap();
        so_far[side] = n;
        *ahead = (*ahead).max(so_far[0].abs_diff(so_far[1]));
        made(n)
    };
    let mut a = Source::new("one", 60_000, |n| count(0, n));
    let mut b = Source::new("one", 60_000, |n| count(1, n));
    let report = diff(&mut a, &mut b, &Options::default(), &mut |_, _| {}).unwrap();
    assert!(report.is_equal());
    let ahead = read.lock().unwrap().1;
    assert!(ahead < 5_000, "{ahead} events ahead");
    let mut a = Source::new("one", 60_000, made);
    let mut b = Source::new("one", 60_000, |n| if n == 50_000 { step(9, true) } else { made(n) });
    let report = diff(&mut a, &mut b, &Options::default(), &mut |_, _| {}).unwrap();
    assert_eq!(found(&report), [(Kind::Changed, 37_500, 1, 37_500, 1)]);
    // A stretch more on one side.
    let more = |n: u64| match n {
        ..50_000 => made(n),
        50_003 => Made::Gap(GapReason::NoCode),
        50_000..50_003 => Made::Step { pc: 4 * n, value: Some(n) },
        _ => made(n - 4),
    };
    let (mut a, mut b) = (Source::new("one", 60_000, made), Source::new("one", 60_004, more));
    let report = diff(&mut a, &mut b, &Options::default(), &mut |_, _| {}).unwrap();
    assert_eq!(found(&report), [(Kind::Inserted, 37_500, 0, 37_500, 3)]);
}

#[test]
fn an_earlier_end() {
    let a: Vec<Made> = (0..3000).map(|n| step(n, true)).collect();
    let until = |end: usize, last: &[Made]| [&a[..end], last].concat();
    let ends: [&[Made]; 3] = [&[], &[Made::Off], &[Made::Gap(GapReason::Filtered)]];
    for last in ends {
        let b = until(2500, last);
        assert_eq!(found(&compare(&a, &b, &Options::default())), [(Kind::Deleted, 2500, 500, 2500, 0)]);
        assert_eq!(found(&compare(&b, &a, &Options::default())), [(Kind::Inserted, 2500, 0, 2500, 500)]);
        // A trace that ends alike is equal, whatever it says there.
        assert!(compare(&a, &until(3000, last), &Options::default()).is_equal());
    }
    for reason in [GapReason::Overflow, GapReason::Discarded, GapReason::BadInput, GapReason::NoCode] {
        let mut b = until(2500, &[Made::Gap(reason)]);
        let report = compare(&a, &b, &Options::default());
        assert!(report.is_equal(), "{reason}: {:?}", found(&report));
        assert_eq!(
            left_out(&report, "instructions of A (one)"),
            Some(("B (one) has a gap there", Some(500)))
        );
        // Also if a difference is near.
        b[2490] = step(9, true);
        let report = compare(&a, &b, &Options::default());
        assert_eq!(found(&report), [(Kind::Changed, 2490, 1, 2490, 1)], "{reason}");
        assert_eq!(
            left_out(&report, "instructions of A (one)"),
            Some(("B (one) has a gap there", Some(500)))
        );
    }
}

/// Details of traps are compared where both formats have them; the rest is said.
#[test]
fn traps_of_two_formats() {
    let with = |cause: u64, value: Option<u64>| -> Vec<Made> {
        let steps: Vec<Made> = (0..100).map(|n| step(n, false)).collect();
        [&steps[..50], &[Made::Trap { cause, value }], &steps[50..]].concat()
    };
    let across =
        |isa: Isa, a: &[Made], b: &[Made]| compare_as(["one", "other"], isa, a, b, &Options::default());
    let (known, other) = (with(5, Some(0x1234)), with(5, Some(0x5678)));
    for (a, b) in [(&known, &other), (&known, &with(7, Some(0x1234)))] {
        let report = across(Isa::Rv64, a, b);
        assert_eq!(report.counts, [1, 0, 0], "{report:?}");
    }
    // 0 may mean none, but not within one format.
    let zero = with(5, Some(0));
    let report = across(Isa::Rv64, &known, &zero);
    assert!(report.is_equal(), "{report:?}");
    assert_eq!(left_out(&report, "trap values"), Some(("0 in B (other), where it may mean none", Some(1))));
    let report = across(Isa::Rv64, &zero, &zero);
    assert!(report.is_equal() && left_out(&report, "trap values").is_none(), "{report:?}");
    assert!(!compare(&known, &zero, &Options::default()).is_equal());
    let report = across(Isa::Rv64, &known, &with(5, None));
    assert!(report.is_equal(), "{report:?}");
    assert_eq!(left_out(&report, "trap values"), Some(("none in B (other)", Some(1))));
    assert!(!compare(&known, &with(5, None), &Options::default()).is_equal());
    // Arm's causes have numbers of each format's own.
    let report = across(Isa::A64, &known, &with(7, Some(0x1234)));
    assert!(report.is_equal(), "{report:?}");
    assert_eq!(left_out(&report, "trap causes"), Some(("each format has its own numbers", Some(1))));
    let report = compare_as(["one"; 2], Isa::A64, &known, &with(7, Some(0x1234)), &Options::default());
    assert_eq!(report.counts, [1, 0, 0], "{report:?}");
}

/// An instruction that was only attempted is not compared with a format that never has any; others must have it.
#[test]
fn attempted_instructions() {
    let steps: Vec<Made> = (0..100).map(|n| step(n, false)).collect();
    let attempted = Made::Attempted { pc: 0x4000 };
    let one = [&steps[..50], &[attempted], &steps[50..]].concat();
    let two = [&one[..80], &[attempted], &one[80..]].concat();
    let across = |a: &[Made], b: &[Made]| compare_as(["one", "other"], Isa::Rv64, a, b, &Options::default());
    let report = across(&two, &steps);
    assert!(report.is_equal(), "{report:?}");
    assert_eq!(left_out(&report, "attempted instructions"), Some(("none in B (other)", Some(2))));
    // The system call that ends a program is the last instruction.
    let ends = [&steps[..], &[attempted, Made::Trap { cause: 8, value: None }]].concat();
    for (a, b, lacking) in [(&ends, &steps, "none in B (other)"), (&steps, &ends, "none in A (one)")] {
        let report = across(a, b);
        assert!(report.is_equal(), "{report:?}");
        assert_eq!(left_out(&report, "attempted instructions"), Some((lacking, Some(1))));
        assert_eq!(left_out(&report, "traps").map(|(why, _)| why), Some(lacking));
    }
    assert_eq!(across(&[&one[..], &[attempted]].concat(), &one).counts, [0, 0, 1]);
    let report = across(&two, &one);
    assert_eq!(found(&report), [(Kind::Deleted, 80, 1, 80, 0)]);
    assert_eq!(left_out(&report, "attempted instructions"), None);
    assert_eq!(compare(&one, &steps, &Options::default()).counts, [0, 0, 1]);
    // Retired in the one, attempted in the other.
    let retired: Vec<Made> = one
        .iter()
        .map(|made| if *made == attempted { Made::Step { pc: 0x4000, value: None } } else { *made })
        .collect();
    let report = across(&one, &retired);
    assert!(report.is_equal(), "{report:?}");
    assert_eq!(left_out(&report, "attempted instructions"), Some(("none in B (other)", Some(1))));
}

/// Without a common place within the bound, the rest is not aligned, and the report says so.
#[test]
fn no_alignment() {
    let a = Source::new("one", 700_000, |n| step(n, false));
    let b = Source::new("one", 800_000, |n| {
        if n < 1000 { step(n, false) } else { Made::Step { pc: 8 * n, value: None } }
    });
    let (mut a, mut b) = (a, b);
    let report = diff(&mut a, &mut b, &Options::default(), &mut |_, _| {}).unwrap();
    assert_eq!(found(&report), [(Kind::Changed, 1000, 699_000, 1000, 799_000)]);
    assert!(report.not_compared.iter().any(|entry| entry.why.contains("no common place")), "{report:?}");
    assert_eq!(report.compared[&Group::Pcs], 1000);
}

/// Instructions in another order are tolerated within a window.
#[test]
fn order() {
    let a: Vec<Made> = (0..1000).map(|n| Made::Step { pc: 4 * n, value: None }).collect();
    let mut b = a.clone();
    b.swap(500, 503);
    assert!(!compare(&a, &b, &Options::default()).is_equal());
    let tolerate = |n| Options { tolerate: vec![Tolerate::Order(n)], ..Options::default() };
    assert!(compare(&a, &b, &tolerate(4)).is_equal());
    assert!(!compare(&a, &b, &tolerate(3)).is_equal());
}

/// Unknown on one side is not a difference, and is counted.
#[test]
fn another_format_knows_less() {
    let mut a = Source::new("one", 3000, |n| step(n, true));
    let mut b = Source::new("other", 3000, |n| step(n, false));
    let report = diff(&mut a, &mut b, &Options::default(), &mut |_, _| {}).unwrap();
    assert!(report.is_equal());
    let registers = report.not_compared.iter().find(|entry| entry.what == "registers").expect("registers");
    assert_eq!((registers.count, &*registers.why), (Some(3000), "none in B (other)"));
    // The same format would have them.
    let mut a = Source::new("one", 3000, |n| step(n, true));
    let mut b = Source::new("one", 3000, |n| step(n, n != 1000));
    let report = diff(&mut a, &mut b, &Options::default(), &mut |_, _| {}).unwrap();
    assert_eq!(found(&report), [(Kind::Changed, 1000, 1, 1000, 1)]);
    let field = &report.differences[0].fields[0];
    assert_eq!((&*field.name, field.b.as_deref()), ("x10", None));
}
