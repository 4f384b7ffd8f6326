//! Intervals against a count that knows nothing but the list of instructions.

use std::collections::{BTreeMap, BTreeSet};

use trackway_core::*;
use trackway_tools::plot::{self, Picture, Subject};
use trackway_tools::series::{MOST_FIXED, Series, Timeline, Width, kind_name};

/// c.ld a0, 0(a0); bne a0, a1, -2; c.addi a0, 1
const LOAD: (u32, u8) = (0x6108, 2);
const BRANCH: (u32, u8) = (0xfeb5_1fe3, 4);
const ADD: (u32, u8) = (0x0505, 2);

/// One instruction of the list.
#[derive(Clone, Copy)]
struct One {
    pc: u64,
    inst: (u32, u8),
    access: Option<(u64, u64)>,
    taken: Option<bool>,
}

/// Instructions that wander over memory: mostly near, at times far away, with phases.
fn list(count: u64) -> Vec<One> {
    let mut random = SplitMix64(7);
    let mut next = |below: u64| random.below(below);
    let list = (0..count).map(|n| {
        let phase = n / 3000 % 3;
        let pc = 0x8000_0000 + 0x400 * phase + 4 * next(60);
        match next(4) {
            0 => One {
                pc,
                inst: BRANCH,
                access: None,
                taken: [Some(true), Some(false), None][next(3) as usize],
            },
            1 => {
                let base = if next(20) == 0 { 0x7fff_0000_0000 } else { 0x1_0000 * phase };
                let size = if next(50) == 0 { 300 } else { 8 };
                One { pc, inst: LOAD, access: Some((base + 8 * next(2000), size)), taken: None }
            }
            _ => One { pc, inst: ADD, access: None, taken: None },
        }
    });
    list.collect()
}

fn observed(list: &[One], width: Width) -> Timeline {
    let mut series = Series::new(Isa::Rv64, &[], width);
    let mut first = 0;
    for part in list.chunks(777) {
        let mut batch = Batch { first_instruction: first, ..Batch::default() };
        first += part.len() as u64;
        for one in part {
            let begun = batch.begin_accesses();
            batch
                .mem
                .extend(one.access.map(|(address, size)| MemAccess::read(address, size, Value::Unknown)));
            let accesses = batch.end_accesses(begun).unwrap();
            let step = Step { accesses, taken: one.taken, ..Step::new(one.pc, one.inst.0, one.inst.1) };
            batch.push(0, EventKind::Step(step));
        }
        series.observe(&batch);
    }
    series.finish().remove(&0).unwrap_or_else(|| panic!("a timeline"))
}

/// Every number of every interval, counted again from the list.
fn agrees(list: &[One], timeline: &Timeline) {
    let chunks: Vec<&[One]> = list.chunks(usize::try_from(timeline.width).unwrap_or(usize::MAX)).collect();
    assert_eq!(chunks.len(), timeline.intervals.len());
    let mut seen = BTreeSet::new();
    let mut from = 0;
    for (chunk, interval) in chunks.into_iter().zip(&timeline.intervals) {
        assert_eq!((interval.from, interval.instructions), (from, chunk.len() as u64));
        from += chunk.len() as u64;
        let (mut lines, mut pages) = (BTreeSet::new(), BTreeSet::new());
        let (mut branches, mut loads) = ([0; 3], 0);
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        for one in chunk {
            let kind = match one.inst {
                LOAD => "load",
                BRANCH => "branch",
                _ => "integer",
            };
            *kinds.entry(kind).or_default() += 1;
            if kind == "branch" {
                branches[one.taken.map_or(2, |taken| usize::from(!taken))] += 1;
            }
            if let Some((address, size)) = one.access {
                loads += 1;
                lines.extend((address..address + size).map(|byte| byte / 64));
                pages.extend((address..address + size).map(|byte| byte / 4096));
            }
        }
        let new = lines.iter().filter(|line| seen.insert(**line)).count() as u64;
        assert_eq!(
            (interval.lines(), interval.pages()),
            (lines.len() as u64, pages.len() as u64),
            "at {from}"
        );
        assert_eq!((interval.new_lines(), interval.loads, interval.branches), (new, loads, branches));
        let counted = interval.kinds.iter().enumerate().filter(|(_, count)| **count > 0);
        let counted: BTreeMap<&str, u64> = counted.map(|(kind, count)| (kind_name(kind), *count)).collect();
        assert_eq!(counted, kinds);
    }
}

#[test]
fn intervals_of_a_given_width() {
    let list = list(10_000);
    for width in [1, 7, 1000, 9999, 10_000, 20_000, u64::MAX] {
        let timeline = observed(&list, Width::Fixed(width));
        assert_eq!(timeline.width, width);
        agrees(&list, &timeline);
    }
}

/// Distinct lines are those of the wide interval, not the sum of those of the narrow ones it was put together from.
#[test]
fn intervals_that_were_put_together() {
    for (count, width) in [(100, 64), (16_384, 64), (16_385, 128), (50_000, 256)] {
        let list = list(count);
        let timeline = observed(&list, Width::Fitting);
        assert_eq!(timeline.width, width, "{count}");
        agrees(&list, &timeline);
        let executed: u64 = timeline.pcs.columns.iter().flatten().map(|(_, count)| count).sum();
        assert_eq!(executed, count);
        assert_eq!(timeline.pcs.columns.len(), timeline.intervals.len());
        let branches: u64 = timeline.branches().iter().flat_map(|(_, outcomes)| outcomes).sum();
        assert_eq!(branches, list.iter().filter(|one| one.inst == BRANCH).count() as u64);
    }
}

#[test]
fn intervals_are_bounded() {
    let list = list(MOST_FIXED as u64 + 10);
    let timeline = observed(&list, Width::Fixed(1));
    assert!(timeline.is_cut);
    assert_eq!(timeline.intervals.len(), MOST_FIXED);
    assert_eq!(
        timeline.intervals.iter().map(|interval| interval.instructions).sum::<u64>(),
        list.len() as u64
    );
}

/// A run of unknown code is in all intervals that it crosses.
#[test]
fn runs_without_code() {
    let mut batch = Batch::default();
    for n in 0..5 {
        let run = Run {
            start: 0x1000,
            end: 0x1010,
            count: 4,
            accesses: None,
            isa: Isa::A64,
            exit: Exit::Branch,
            taken: Some(n % 2 == 0),
            attempted: false,
            doubtful: false,
            withdrawn: false,
        };
        batch.push(0, EventKind::Run(run));
    }
    let mut series = Series::new(Isa::A64, &[], Width::Fixed(6));
    series.observe(&batch);
    let timeline = &series.finish()[&0];
    let counts: Vec<_> = timeline.intervals.iter().map(|i| (i.instructions, i.branches)).collect();
    assert_eq!(counts, [(6, [1, 0, 0]), (6, [1, 1, 0]), (6, [0, 1, 0]), (2, [1, 0, 0])]);
    // Where the branches are is not known.
    assert!(timeline.branches().is_empty());
}

/// Cycles and stamps: a rate where they are known, nothing across a gap.
#[test]
fn rates_end_at_gaps() {
    let mut batch = Batch::default();
    let cycles = |value| EventKind::Time(Time { kind: TimeKind::Cycles, value: Some(value), clock: 0 });
    for n in 0..40 {
        batch.push(0, EventKind::Step(Step::new(0x8000, ADD.0, ADD.1)));
        match n {
            9 | 19 => batch.push(0, cycles(20)),
            24 => batch.push_gap(0, Gap::new(GapReason::Overflow)),
            34 => batch.push(0, cycles(1000)),
            39 => batch.push(0, cycles(5)),
            _ => {}
        }
    }
    let mut series = Series::new(Isa::Rv64, &[], Width::Fixed(5));
    series.observe(&batch);
    let timeline = &series.finish()[&0];
    let half = Some(0.5);
    assert_eq!(timeline.per_cycle(), [half, half, half, half, None, None, None, Some(1.0)]);
    assert!(timeline.per_tick().iter().all(Option::is_none));
    let subject = Subject { source: None, first: 0, timeline, place: &|_| None };
    let picture = plot::svg(Picture::Ipc, &[subject], Some("x")).unwrap();
    assert!(picture.contains("1 gap (dashed)") && picture.contains("class=\"gap\""), "{picture}");
    assert_eq!(plot::svg(Picture::WorkingSet, &[subject], None), None);
}

/// Names are data in every picture, and pictures are small.
#[test]
fn pictures_are_text_and_paths() {
    let timeline = observed(&list(50_000), Width::Fitting);
    let hostile = "</script><svg onload=alert(1)>\u{202e}&";
    let subject =
        Subject { source: Some(hostile), first: 0, timeline: &timeline, place: &|_| Some(hostile.into()) };
    for what in Picture::ALL {
        let Some(picture) = plot::svg(what, &[subject, subject], Some(hostile)) else {
            assert_eq!(what, Picture::Ipc);
            continue;
        };
        assert!(!picture.contains("<script") && !picture.contains("</script"), "{what:?}");
        assert_eq!(picture.matches("<svg").count(), 1, "{what:?}");
        assert!(picture.contains("&lt;/script&gt;&lt;svg onload"), "{what:?}");
        assert!(picture.len() < 1_000_000, "{what:?}: {}", picture.len());
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{what:?}");
    }
}
