//! The snapshots of the corpus against the listings that OpenCSD 1.7.1 made of them: packets byte by byte,
//! and the executed instructions of each source, one by one. Where both differ, the difference is listed
//! here with its reason.

mod corpus_support;

use corpus_support::*;
use trackway_core::{Count, Source};
use trackway_ete::{Options, Snapshot, lift};
use trackway_image::Image;
use trackway_testkit::lines::{filled, observed};

/// Where ours differ from OpenCSD's, for each source: at which instruction of theirs, how many of theirs
/// are not in ours, what ours has in their place.
struct Difference {
    snapshot: &'static str,
    source: &'static str,
    /// Index into OpenCSD's instructions.
    at: usize,
    /// Number of OpenCSD's instructions that did not run.
    theirs: usize,
    /// Number of instructions there instead.
    ours: usize,
    /// Why ours is right.
    #[allow(dead_code)] // For readers.
    reason: &'static str,
}

const DIFFERENCES: &[Difference] = &[Difference {
    snapshot: "ete_ip",
    source: "ETE_0_s1",
    at: 5838,
    theirs: 9131,
    ours: 0,
    reason: "K10.5.5.6: the return at 0x1aa944 has no target address and the return stack is off, so the \
                 address is not known at the exception. OpenCSD walks 9131 instructions from after the return \
                 to the exception, across functions. Ours is a gap.",
}];

/// Its image is not the program that ran: N atoms at branches that are always taken. OpenCSD walks on, ours waits for
/// the next address.
const ANOTHER_PROGRAM: &str = "juno_r1_1";

#[test]
fn instructions_are_those_of_opencsd() {
    let Some(root) = corpus() else { return };
    for name in SNAPSHOTS {
        let folder = root.join(name);
        let ours = decode(&folder, 1);
        let theirs: Vec<Listed> = listing(&folder);
        // A source without a single packet is not in the listing, or there as an empty session.
        let ours: Vec<&Decoded> = ours.iter().filter(|one| !one.pcs.is_empty()).collect();
        let theirs: Vec<&Listed> = theirs.iter().filter(|one| !one.pcs.is_empty()).collect();
        assert_eq!(ours.len(), theirs.len(), "{name}: sources with instructions");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours.id, theirs.id, "{name}: trace id");
            assert_eq!(ours.errors, [""; 0], "{name} {}", ours.name);
            let mut expected = theirs.pcs.clone();
            let mine = DIFFERENCES.iter().filter(|row| row.snapshot == *name && row.source == ours.name);
            for row in mine.rev() {
                assert_eq!(row.ours, 0, "replacements are not needed so far");
                expected.drain(row.at..row.at + row.theirs);
            }
            if *name == ANOTHER_PROGRAM {
                let mut theirs = expected.iter();
                let missing = ours.pcs.iter().position(|pc| !theirs.any(|other| other == pc));
                assert_eq!(missing, None, "{name} {}: not in OpenCSD's, in order", ours.name);
                continue;
            }
            let at = ours.pcs.iter().zip(&expected).position(|(a, b)| a != b);
            assert!(at.is_none(), "{name} {}: instruction {at:?} differs", ours.name);
            assert_eq!(ours.pcs.len(), expected.len(), "{name} {}", ours.name);
        }
    }
}

/// Differences other than instructions: contexts, exceptions, time, marks, gaps. A text that ends in
/// `*` is a beginning; an empty one is nothing.
struct Expected {
    snapshot: &'static str,
    source: &'static str,
    ours: &'static str,
    theirs: &'static str,
    times: usize,
    /// Why ours is right.
    #[allow(dead_code)] // For readers.
    reason: &'static str,
}

#[rustfmt::skip]
const EXPECTED: &[Expected] = &{
    const fn row(
        snapshot: &'static str,
        source: &'static str,
        ours: &'static str,
        theirs: &'static str,
        times: usize,
        reason: &'static str,
    ) -> Expected {
        Expected { snapshot, source, ours, theirs, times, reason }
    }
    const LOST: &str = "K10.5.5.4.1: the address is not known here, which OpenCSD does not report.";
    const UNKNOWN: &str = "K10.5.2.16: a count of this form is unknown; OpenCSD prints 0.";
    [
        row("bugfix-exact-match", "etm_1", "gap: lost-sync", "", 1, "K10.5.1.1: bytes before the first synchronisation."),
        row("ete_ip", "ETE_0_s1", "gap: lost-sync", "", 2, LOST),
        row("ete_spec_1", "ETE_0_s1", "gap: discarded", "", 1, "K10.5.3.3: P0 elements are unresolved at the end."),
        row("event_test", "ETE_0_s1", "event 0", "event 1", 1, "K10.5.2.17: bit 0 is event 0; OpenCSD prints all bits as a number."),
        row("maxspec0_commopt1", "ETE_0_s1", "cycles ?", "cycles 0", 1, UNKNOWN),
        row("q_elem", "ETE_0_s2", "gap: lost-sync", "", 1, LOST),
        row("q_elem", "ETE_0_s2", "no path from 0x0, 1 instructions", "no path from 0x6960c, 1 instructions", 1,
            "K10.5.5.15.1: an atom between the return at 0x69608 and Q has no address, so Q has none to start from."),
        row("q_elem", "ETE_0_s2", "gap: unexplained", "", 2, "K10.5.5.6: the exception lies below the current address; OpenCSD is silent."),
    ]
};

/// Contexts, exceptions, timestamps, cycle counts, events and gaps, each after as many instructions.
#[test]
fn elements_are_those_of_opencsd() {
    let Some(root) = corpus() else { return };
    let mut found = vec![0; EXPECTED.len()];
    let mut compared = 0;
    for name in SNAPSHOTS.iter().filter(|name| **name != ANOTHER_PROGRAM) {
        let folder = root.join(name);
        let mut listed: Vec<Listed> = listing(&folder);
        for ours in decode(&folder, 1) {
            let Some(index) = listed.iter().position(|one| one.id == ours.id) else {
                assert_eq!(ours.elements.list, [], "{name} {}: not listed", ours.name);
                continue;
            };
            let theirs = listed.remove(index).elements.list;
            let is_of = |snapshot: &str, source: &str| snapshot == *name && source == ours.name;
            // Instructions that only theirs has do not count.
            let place = |mut before: usize| {
                for row in DIFFERENCES.iter().filter(|row| is_of(row.snapshot, row.source)) {
                    before -= before.saturating_sub(row.at).min(row.theirs);
                }
                before
            };
            let theirs = theirs.into_iter().map(|(before, text)| (place(before), text));
            let (mut a, mut b) = (ours.elements.list.iter().peekable(), theirs.peekable());
            while a.peek().is_some() || b.peek().is_some() {
                if a.peek().copied() == b.peek() {
                    a.next();
                    b.next();
                    compared += 1;
                    continue;
                }
                let fits = |pattern: &str, text: Option<&str>| match (pattern.strip_suffix('*'), text) {
                    (_, None) => pattern.is_empty(),
                    (Some(start), Some(text)) => text.starts_with(start),
                    (None, Some(text)) => pattern.is_empty() || text == pattern,
                };
                let (mine, other) = (a.peek().map(|one| &*one.1), b.peek().map(|one| &*one.1));
                let listed = EXPECTED.iter().position(|row| {
                    is_of(row.snapshot, row.source) && fits(row.ours, mine) && fits(row.theirs, other)
                });
                let Some(row) = listed else {
                    panic!("{name} {}: {:?} is not {:?}", ours.name, a.peek(), b.peek());
                };
                found[row] += 1;
                if !EXPECTED[row].ours.is_empty() {
                    a.next();
                }
                if !EXPECTED[row].theirs.is_empty() {
                    b.next();
                }
            }
        }
        for left in listed {
            assert_eq!(left.elements.list, [], "{name}: source {:#x}", left.id);
        }
    }
    for (row, found) in EXPECTED.iter().zip(found) {
        assert_eq!(row.times, found, "{} {}: {:?}, {:?}", row.snapshot, row.source, row.ours, row.theirs);
    }
    assert!(compared > 1_500, "{compared}");
}

/// Numbers of elements by kind: OpenCSD's, and ours.
#[test]
fn numbers_are_those_of_opencsd() {
    let Some(root) = corpus() else { return };
    // Snapshot, instructions, doubtful runs, gaps for missing code.
    let expected = [
        ("001-ack_test", 90654, 0, 0),
        ("002-ack_test_scr", 5146, 0, 0),
        ("bugfix-exact-match", 7_581_461, 0, 0),
        ("init-short-addr", 0, 0, 5),
        (ANOTHER_PROGRAM, 25262, 679, 8309),
        ("q_elem", 2277, 0, 0),
    ];
    for (name, instructions, doubtful, missing) in expected {
        let ours = decode(&root.join(name), 1);
        let sum = |count: fn(&Decoded) -> usize| ours.iter().map(count).sum::<usize>();
        assert_eq!(sum(|one| one.pcs.len()), instructions, "{name}: instructions");
        assert_eq!(sum(|one| one.doubtful), doubtful, "{name}: doubtful runs");
        assert_eq!(
            sum(|one| one.gaps.iter().filter(|gap| gap.contains("NoCode")).count()),
            missing,
            "{name}: gaps for missing code"
        );
    }
    // Nine Q elements of q_elem have no path; with 33 instructions.
    let q: Vec<String> = decode(&root.join("q_elem"), 1).into_iter().flat_map(|one| one.gaps).collect();
    let no_path: Vec<_> = q.iter().filter(|gap| gap.contains("NoPath")).collect();
    let of = |count: u32| no_path.iter().filter(|gap| gap.contains(&format!("Some({count}), bytes"))).count();
    assert_eq!((of(4), of(1), no_path.len()), (8, 1, 9), "{no_path:?}");
}

/// 002-ack_test_scr has a log that the processor model itself wrote.
#[test]
fn instructions_are_those_of_the_processor_log() {
    let Some(root) = corpus() else { return };
    let folder = root.join("002-ack_test_scr");
    let log = std::fs::read_to_string(folder.join("test_TARMAC")).unwrap();
    // `1 clk cpu0 IT (1) 10300000 14004000 O EL3h_s : B 0x10310000`
    let executed: Vec<u64> = log
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let kind = words.nth(3)?;
            let pc = words.nth(1)?;
            // With translation on: `00092c00:000010092c00_NS`. IS: its condition failed.
            let pc = pc.split(':').next()?;
            matches!(kind, "IT" | "IS").then(|| u64::from_str_radix(pc, 16).ok())?
        })
        .collect();
    assert!(executed.len() > 5146);
    let ours = &decode(&folder, 1)[0];
    assert_eq!(ours.pcs.len(), 5146);
    // Three stretches of the log, in order; between them tracing was off.
    let mut at = 0;
    let mut skipped = Vec::new();
    for (index, pc) in ours.pcs.iter().enumerate() {
        let ahead = executed[at..].iter().position(|found| found == pc);
        let Some(ahead) = ahead else { panic!("instruction {index} at {pc:#x} is not in the log") };
        if index == 0 {
            // Tracing starts somewhere: where the log has the first three instructions in a row.
            at = (0..executed.len())
                .find(|&at| executed[at..].starts_with(&ours.pcs[..20]))
                .expect("the first twenty instructions are in the log");
        } else if ahead > 0 {
            skipped.push(ahead);
            at += ahead;
        }
        assert_eq!(executed[at], *pc, "instruction {index}");
        at += 1;
    }
    assert_eq!(skipped, [60, 63]);
}

/// Packets: the same bytes cut at the same places, and of the same kind.
#[test]
fn packets_are_those_of_opencsd() {
    let Some(root) = corpus() else { return };
    let mut compared = 0;
    for name in SNAPSHOTS {
        let folder = root.join(name);
        let theirs: Vec<Listed> =
            listing(&folder).into_iter().filter(|one| !one.packets.is_empty()).collect();
        if theirs.is_empty() {
            assert_eq!(*name, "bugfix-exact-match", "its listing has elements only");
            continue;
        }
        let ours = packets(&folder);
        let ours: Vec<_> = ours.into_iter().filter(|one| !one.1.is_empty()).collect();
        assert_eq!(ours.len(), theirs.len(), "{name}: sources with packets");
        for ((source, ours), theirs) in ours.iter().zip(&theirs) {
            let theirs = joined(&theirs.packets);
            for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                assert_eq!(ours.0, theirs.0, "{name} {source}: bytes of packet {index}");
                assert!(
                    names_agree(&ours.1, &theirs.1),
                    "{name} {source}: packet {index} {:x?}: {} is not {}",
                    ours.0,
                    ours.1,
                    theirs.1
                );
                compared += 1;
            }
            assert_eq!(ours.len(), theirs.len(), "{name} {source}: number of packets");
        }
    }
    assert!(compared > 45_000, "{compared}");
}

/// All snapshots, each source alone: parts of any size, on any number of threads, have the same events.
#[test]
fn the_number_of_threads_does_not_matter() {
    let Some(root) = corpus() else { return };
    for name in SNAPSHOTS {
        let mut snapshot = Snapshot::open(&root.join(name)).unwrap();
        for trace in snapshot.sources(&open, &Image::default) {
            let decode = |threads, min_part| {
                lift(vec![trace.clone()], &Options { threads, min_part, ..Options::default() })
            };
            let one = filled(&mut decode(1, None));
            let large = (*trace.data).as_ref().len() > 100_000;
            let ways: &[(usize, usize)] =
                if large { &[(2, 1), (3, 20_000)] } else { &[(1, 1), (2, 1), (4, 900)] };
            for &(threads, part) in ways {
                let many = observed(&mut decode(threads, Some(part)));
                let at = one.iter().zip(&many).position(|(a, b)| a != b);
                assert_eq!(
                    at.map(|n| (&one[n], &many[n])),
                    None,
                    "{name} with {threads} threads, event {at:?}"
                );
                assert_eq!(one.len(), many.len(), "{name} with {threads} threads");
            }
        }
    }
}

/// The census has the packets that `Packets` returns, on any number of threads.
#[test]
fn packets_are_counted_by_name() {
    let Some(root) = corpus() else { return };
    for name in SNAPSHOTS {
        let folder = root.join(name);
        let mut expected = std::collections::BTreeMap::new();
        for (_, packets) in packets(&folder) {
            for (_, name) in packets {
                *expected.entry(name).or_insert(0u64) += 1;
            }
        }
        for threads in [1, 3] {
            let mut snapshot = Snapshot::open(&folder).unwrap();
            let traces = snapshot.sources(&open, &Image::default);
            let mut events = lift(traces, &Options { threads, ..Options::default() });
            let mut count = Count::default();
            while events.observe(&mut count).unwrap() {}
            let census: std::collections::BTreeMap<String, u64> =
                events.census().entries().map(|(name, count)| (name.to_string(), count)).collect();
            assert_eq!(census, expected, "{name}");
        }
    }
}
