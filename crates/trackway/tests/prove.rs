//! The prover on every format: honest writers pass with any settings, gaps and sources; a writer that loses one event in a
//! thousand is caught, whatever the kind of the event.

mod prove_support;

use std::sync::Arc;

use prove_support::{Round, Run, round, runs, takes, without};
use trackway::FORMATS;
use trackway::events::{
    Batch, Contexts, EventKind, Fate, Gap, GapReason, SplitMix64, Time, TimeKind, each_of_event,
};
use trackway::format::{Format, Settings};
use trackway_testkit::random::seeds;

fn settings(text: &str) -> Settings {
    Settings { path: None, table: text.parse().expect(text) }
}

#[test]
fn every_format_holds_what_its_ledger_says() {
    for run in runs() {
        for format in FORMATS.iter().copied().filter(|format| takes(*format, &run)) {
            let Round { ledger, proof, .. } = round(format, &run, &Settings::default(), None).unwrap();
            let from = run.meta.format;
            assert!(proof.holds(), "{from} to {}: {:#?}\n{ledger}", format.id(), proof.reasons);
        }
    }
}

/// Kinds of event, as a defect picks them.
fn kind(event: &EventKind) -> usize {
    match event {
        EventKind::Step(_) => 0,
        EventKind::Run(_) => 1,
        EventKind::Trap(_) => 2,
        EventKind::Context(_) => 3,
        EventKind::Time(_) => 4,
        EventKind::Mark(_) => 5,
        EventKind::State(_) => 6,
        EventKind::Gap(_) => 7,
        EventKind::Foreign(_) => 8,
    }
}

#[test]
fn a_writer_that_loses_events_is_caught() {
    for run in runs() {
        for format in FORMATS.iter().copied().filter(|format| takes(*format, &run)) {
            let Round { ledger, written, .. } = round(format, &run, &Settings::default(), None).unwrap();
            for lost in 0..9 {
                // Only what the ledger calls kept or derived would be a lie.
                let mut contexts = Contexts::new(&run.meta);
                let mut held = |batch: &Batch, event: &EventKind| {
                    let mut held = false;
                    each_of_event(batch, event, &mut contexts, &mut |fact, _| {
                        held |= ledger.rule(fact) == Fate::Kept && ledger.count(Fate::Dropped, fact) == 0;
                    });
                    held
                };
                let all =
                    run.batches.iter().flat_map(|batch| batch.events.iter().map(move |event| (batch, event)));
                let places: Vec<usize> = all
                    .filter(|(batch, event)| held(batch, &event.kind))
                    .enumerate()
                    .filter(|(_, (_, event))| kind(&event.kind) == lost)
                    .map(|(n, _)| n)
                    .collect();
                let Some(&place) = places.get(999.min(places.len() / 2)) else { continue };
                let mut contexts = Contexts::new(&run.meta);
                let mut n = 0;
                let mut defect = |batch: &Batch, _: usize, event: &trackway::events::Event| {
                    let mut held = false;
                    each_of_event(batch, &event.kind, &mut contexts, &mut |fact, _| {
                        held |= ledger.rule(fact) == Fate::Kept && ledger.count(Fate::Dropped, fact) == 0;
                    });
                    n += usize::from(held);
                    held && n - 1 == place
                };
                let caught = match round(format, &run, &Settings::default(), Some(&mut defect)) {
                    // The target writes the same without it: nothing is lost.
                    Ok(round) => !round.proof.holds() || round.written == written,
                    Err(_) => true,
                };
                assert!(caught, "{} to {}: event kind {lost} lost unnoticed", run.meta.format, format.id());
            }
        }
    }
}

/// The run with holes: stretches of events replaced by a gap.
fn with_holes(run: &Run, random: &mut SplitMix64) -> Run {
    let reasons = [
        GapReason::Overflow,
        GapReason::Discarded,
        GapReason::Filtered,
        GapReason::LostSync,
        GapReason::Unexplained,
    ];
    let mut left = 20 + random.below(400);
    let mut hole = 0;
    run.with(|batch| {
        let mut gaps = Vec::new();
        let mut out = without(batch, &mut |_, n, event| {
            // Contexts stay: only instructions and what belongs to them are lost.
            let lost = hole > 0 && !matches!(event.kind, EventKind::Context(_));
            if hole > 0 {
                hole -= 1;
            } else if left == 0 {
                (hole, left) = (1 + random.below(60), 20 + random.below(400));
                gaps.push(n);
            } else {
                left -= 1;
            }
            lost
        });
        // A gap at the end of the batch stands for the holes in it, one in the middle for each.
        if !gaps.is_empty() {
            let kept = out.events.len();
            let reason = reasons[random.below(reasons.len() as u64) as usize];
            out.push_gap(0, Gap::new(reason));
            let place = gaps[0].min(kept);
            out.events[place..].rotate_right(1);
        }
        out
    })
}

/// Settings of a target with filters, small buffers and whatever else loses or rearranges.
fn random_settings(format: &dyn Format, run: &Run, random: &mut SplitMix64) -> Settings {
    let mut pcs: Vec<u64> = Vec::new();
    for batch in run.batches.iter() {
        for event in &batch.events {
            if let EventKind::Step(step) = event.kind {
                pcs.extend(step.pc);
            }
        }
    }
    pcs.sort_unstable();
    pcs.dedup();
    let first = random.below(pcs.len() as u64) as usize;
    let last = (first + random.below(40) as usize).min(pcs.len() - 1);
    let (first, last) = (pcs[first], pcs[last]);
    let text = match format.id().as_str() {
        "etrace" => match random.below(6) {
            0 => String::new(),
            1 => format!(
                "[etrace]\nifilters = [0]\ncomparators = 1\nfilters = 1\n[[etrace.comparator]]\np_input = \"iaddr\"\n\
                 p_function = \">=\"\ns_input = \"iaddr\"\ns_function = \"<\"\nmatch_mode = \"p && s\"\np_match = {first}\n\
                 s_match = {}\n[[etrace.filter]]\ncomp1 = 0\n",
                last + 1
            ),
            2 => format!(
                "[etrace.encoder]\nbuffer = {}\ndrain = {}\n",
                32 + random.below(100),
                4 + random.below(60)
            ),
            3 => "[etrace.data]\nenable = true\n".into(),
            4 => format!(
                "[etrace.data]\nenable = true\n[etrace.encoder]\nbuffer = {}\ndrain = {}\n",
                64 + random.below(200),
                16 + random.below(200)
            ),
            _ => format!(
                "[etrace.encoder]\nresync_mode = \"packets\"\nresync_interval = {}\n",
                4 + random.below(40)
            ),
        },
        "ete" => match random.below(4) {
            0 => String::new(),
            1 => format!("[ete.unit]\npreset = \"include\"\nfirst = {first}\nlast = {last}\n"),
            2 => format!(
                "[ete.unit]\nfifo_bytes = {}\ncycles_per_byte = {}\n",
                24 + random.below(64),
                20 + random.below(300)
            ),
            _ => format!("[ete.unit]\nmax_spec = {}\ncommit_every = {}\n", random.below(8), random.below(20)),
        },
        "astf" if random.below(2) == 0 => "[astf]\nconformance = \"Basic\"\n".into(),
        "tandem" if random.below(2) == 0 => "[tandem]\nprofile = \"bluespec-compact\"\n".into(),
        "stf" if random.below(2) == 0 => "[stf]\nchunk = 100\n".into(),
        _ => String::new(),
    };
    settings(&text)
}

#[test]
fn seeded_combinations_of_filters_buffers_gaps_and_sources_hold() {
    let runs = runs();
    let mut failures = Vec::new();
    // For those who mend one format.
    let only = std::env::var("TRACKWAY_ONLY").ok();
    let seeds = seeds(0..2000);
    for seed in seeds.clone() {
        let mut random = SplitMix64(seed);
        let run = &runs[random.below(runs.len() as u64) as usize];
        let takers: Vec<_> = FORMATS.iter().copied().filter(|format| takes(*format, run)).collect();
        let format = takers[random.below(takers.len() as u64) as usize];
        if only.as_ref().is_some_and(|only| only != format.id().as_str()) {
            continue;
        }
        let mut run = window(run, &mut random);
        if random.below(2) == 0 {
            run = with_holes(&run, &mut random);
        }
        if format.holds_several_sources() && random.below(3) == 0 {
            run = twice(&run);
        }
        let settings = random_settings(format, &run, &mut random);
        match round(format, &run, &settings, None) {
            Ok(Round { proof, .. }) if proof.holds() => {}
            Ok(Round { ledger, proof, .. }) => failures.push(format!(
                "seed {seed}, {} to {}: {:#?}\n{}\n{ledger}",
                run.meta.format,
                format.id(),
                proof.reasons,
                settings.table
            )),
            Err(error) => failures.push(format!("seed {seed}, {}: {error}\n{}", format.id(), settings.table)),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} fail; the first:\n{}",
        failures.len(),
        seeds.count(),
        failures[..failures.len().min(3)].join("\n")
    );
}

/// Times in fields of every width, also between an instruction and its trap.
#[test]
fn times_hold() {
    let times = ["notime = 0\ntime_width = 40", "notime = 0\ntime_width = 12", "notime = 1"];
    let framings = [
        "framing = \"smi\"",
        "framing = \"encap\"\ntimestamp_bytes = 1",
        "framing = \"encap\"\ntimestamp_bytes = 8",
        "dialect = \"draft-1.1.1\"\nframing = \"atb\"\nalign = 4",
    ];
    let mut cases = vec![("tandem", String::new())];
    for time in times {
        for framing in framings.iter().filter(|framing| time == "notime = 1" || !framing.contains("draft")) {
            for stamps in [false, true] {
                let text = format!("[etrace]\n{framing}\n{time}\n[etrace.encoder]\nstamps = {stamps}\n");
                cases.push(("etrace", text));
            }
        }
    }
    for run in runs() {
        let run = with_times(&run);
        for (id, text) in &cases {
            let format = *FORMATS.iter().find(|format| format.id().as_str() == *id).unwrap();
            if takes(format, &run) {
                let Round { ledger, proof, .. } = round(format, &run, &settings(text), None).unwrap();
                assert!(proof.holds(), "{} {text}: {:#?}\n{ledger}", run.meta.format, proof.reasons);
            }
        }
    }
}

/// The last events, with timestamps between them that do not fit 16 bits in the end.
fn with_times(run: &Run) -> Run {
    let mut time = 60_000;
    let last = run.batches.len().saturating_sub(2);
    let timed = run.batches[last..].iter().map(|batch| {
        let mut timed = Batch { events: Vec::new(), ..batch.clone() };
        for (n, event) in batch.events.iter().enumerate() {
            if n % 3 == 0 {
                time += 50;
                let value = EventKind::Time(Time { kind: TimeKind::Timestamp, value: Some(time), clock: 0 });
                timed.push(event.offset, value);
            }
            timed.events.push(*event);
        }
        timed
    });
    let mut meta = run.meta.clone();
    meta.timestamps = true;
    Run { batches: Arc::new(timed.collect()), meta, ..run.clone() }
}

/// Some consecutive batches, cut short.
fn window(run: &Run, random: &mut SplitMix64) -> Run {
    let first = random.below(run.batches.len() as u64) as usize;
    let mut batches: Vec<Batch> = run.batches[..].iter().skip(first).take(1).cloned().collect();
    for batch in &mut batches {
        let keep = 50 + random.below(600) as usize;
        batch.events.truncate(keep);
    }
    Run { batches: Arc::new(batches), ..run.clone() }
}

/// Two cores that run the same.
fn twice(run: &Run) -> Run {
    let mut run = run.clone();
    run.meta.sources = vec!["core0".into(), "core1".into()];
    let both = run.batches.iter().flat_map(|batch| {
        let mut other = batch.clone();
        other.source = 1;
        [batch.clone(), other]
    });
    run.batches = Arc::new(both.collect());
    run
}
