//! `doctor` on damaged settings: a hundred seeded cases, each a recorded run encoded anew with random legal settings, of which
//! some are then changed, or a wrong program is named beside the right one.

#[path = "../../trackway/tests/prove_support/mod.rs"]
mod prove_support;

use prove_support::{Folder, Run};
use trackway::events::{Batch, EventKind, SplitMix64, Time, TimeKind};
use trackway::format::{Format, Program, Settings, Value, Writing};
use trackway::io::Target;
use trackway::{FORMATS, Options};
use trackway_tools::doctor::{Budget, diagnose, weigh};

/// A trace whose settings are known.
struct Case {
    format: &'static dyn Format,
    bytes: Vec<u8>,
    program: Program,
    truth: Settings,
}

fn format(id: &str) -> &'static dyn Format {
    FORMATS.iter().copied().find(|format| format.id().as_str() == id).unwrap()
}

fn settings(text: &str) -> Settings {
    Settings { path: None, table: text.parse().expect(text) }
}

/// The events, for comparison.
fn events(case: &Case, settings: &Settings, program: &Program) -> Option<Vec<String>> {
    let options = Options {
        format: Some(case.format.id()),
        program: program.clone(),
        threads: 1,
        ..Options::default().settings(settings.clone())
    };
    let mut trace = options.open_bytes(case.bytes.clone()).ok()?;
    let mut source = trace.events().ok()?;
    let (mut batch, mut lines) = (Batch::default(), Vec::new());
    for _ in 0..100_000 {
        match source.fill(&mut batch) {
            Ok(true) => lines.push(format!("{batch:?}")),
            Ok(false) => break,
            Err(error) => {
                lines.push(error.to_string());
                if !source.resync().unwrap_or(false) {
                    break;
                }
            }
        }
    }
    Some(lines)
}

fn pick<'p, T>(random: &mut SplitMix64, from: &'p [T]) -> &'p T {
    &from[random.below(from.len() as u64) as usize]
}

/// Random legal settings of E-Trace for a run on a core of `bits` bits.
fn etrace_settings(random: &mut SplitMix64, bits: u32) -> String {
    let one_in = |random: &mut SplitMix64, n: u64| random.below(n) == 0;
    let draft = one_in(random, 3);
    let mut text = format!("[etrace]\ndialect = \"{}\"\n", if draft { "draft-1.1.1" } else { "v2" });
    let mut stamps = false;
    text += &match random.below(5) {
        0 | 1 => "framing = \"smi\"\n".to_string(),
        2 | 3 => {
            let stamp = if one_in(random, 2) { 0 } else { 1 + random.below(8) };
            stamps = stamp > 0;
            let (srcid, kind) = (*pick(random, &[0, 0, 3, 4, 8, 12]), *pick(random, &[0, 2]));
            format!(
                "framing = \"encap\"\nsrcid_width = {srcid}\ntype_width = {kind}\ntimestamp_bytes = {stamp}\n"
            )
        }
        _ if draft => format!("framing = \"ultrasoc\"\nsrcid_width = {}\n", random.below(9)),
        _ => format!("framing = \"atb\"\nalign = {}\n", pick(random, &[1, 2, 4, 8])),
    };
    let widths: &[u32] = if bits == 32 { &[32, 32, 34] } else { &[64, 64, 40, 48, 39, 57, 32] };
    text +=
        &format!("iaddress_width = {}\niaddress_lsb = {}\n", pick(random, widths), pick(random, &[1, 1, 0]));
    text += &format!("privilege_width = {}\n", if draft { 3 } else { *pick(random, &[2, 2, 2, 3]) });
    match random.below(2) {
        0 => text += "nocontext = 1\n",
        _ => text += &format!("nocontext = 0\ncontext_width = {}\n", 1 + random.below(32)),
    }
    if !draft && one_in(random, 2) {
        text += &format!("notime = 0\ntime_width = {}\n", 16 + random.below(33));
    }
    text += &format!("ecause_width = {}\n", 4 + random.below(5));
    let mut options = Vec::new();
    match random.below(4) {
        0 => {
            text += &format!("return_stack_size = {}\n", 1 + random.below(5));
            options.push("\"implicit_return\"");
        }
        1 => {
            text += &format!("call_counter_size = {}\n", 1 + random.below(6));
            options.push("\"implicit_return\"");
        }
        _ => {}
    }
    let (predicts, caches) = (one_in(random, 4), one_in(random, 4));
    if predicts {
        text += &format!("bpred_size = {}\n", 2 + random.below(6));
        options.push("\"branch_prediction\"");
    }
    if caches {
        text += &format!("cache_size = {}\n", 2 + random.below(6));
        options.push("\"jump_target_cache\"");
    }
    text += &format!("f0s_width = {}\n", u64::from(predicts && caches));
    if one_in(random, 4) {
        options.push("\"full_address\"");
    }
    text += &format!("support_layout = \"{}\"\n", pick(random, &["reference", "reference", "all", "pulp"]));
    text += &format!("options = [{}]\n", options.join(", "));
    text += &format!(
        "[etrace.encoder]\nresync_mode = \"packets\"\nresync_interval = {}\nstamps = {stamps}\n",
        8 + random.below(40)
    );
    text
}

/// Writes a run by settings.
fn encode(format: &'static dyn Format, run: &Run, text: &str) -> Option<Case> {
    let folder = Folder::new();
    let path = folder.0.join(format!("run.{}", format.extensions()[0]));
    let (target, truth) = (Target::new(&path), settings(text));
    let writing = Writing { target: target.clone(), settings: &truth, program: &run.program, threads: 1 };
    let mut sink = format.create(writing, &run.meta).ok()?;
    run.batches.iter().try_for_each(|batch| sink.put(batch)).ok()?;
    sink.finish().ok()?;
    target.commit().ok()?;
    let bytes = std::fs::read(&path).ok()?;
    Some(Case { format, bytes, program: run.program.clone(), truth })
}

/// The run with a time that advances, as hardware has it.
fn timed(run: &Run) -> Run {
    let mut now = 0x1234;
    let mut run = run.clone();
    run.meta.timestamps = true;
    run.with(|batch| {
        let mut out = batch.clone();
        out.events.clear();
        for (n, event) in batch.events.iter().enumerate() {
            if n % 16 == 0 {
                now += 37;
                let time = Time { kind: TimeKind::Timestamp, value: Some(now), clock: 0 };
                out.push(event.offset, EventKind::Time(time));
            }
            out.events.push(*event);
        }
        out
    })
}

/// Changes some settings; returns what was done.
fn damage(random: &mut SplitMix64, truth: &Settings, section: &str) -> (Settings, Vec<String>) {
    let mut damaged = truth.clone();
    let mut done = Vec::new();
    let table = damaged.table.get_mut(section).and_then(Value::as_table_mut).unwrap();
    table.remove("encoder");
    for _ in 0..1 + random.below(3) {
        let mut set = |key: &str, value: Value| {
            done.push(format!("{key} = {value}"));
            table.insert(key.into(), value);
        };
        match random.below(8) {
            0 => set("iaddress_width", Value::Integer(*pick(random, &[64, 32, 40, 48, 56]))),
            1 => set("iaddress_lsb", Value::Integer(random.below(3) as i64)),
            2 => set("dialect", pick(random, &["v2", "draft-1.1.1"]).to_string().into()),
            3 => set("framing", pick(random, &["smi", "encap", "ultrasoc", "atb"]).to_string().into()),
            4 => set("srcid_width", Value::Integer(random.below(17) as i64)),
            5 => {
                set("nocontext", Value::Integer(random.below(2) as i64));
                set("context_width", Value::Integer(1 + random.below(32) as i64));
            }
            6 => {
                set("notime", Value::Integer(random.below(2) as i64));
                set("time_width", Value::Integer(1 + random.below(48) as i64));
            }
            _ => set("privilege_width", Value::Integer(1 + random.below(4) as i64)),
        }
    }
    (damaged, done)
}

#[test]
fn damaged_etrace_settings_are_found() {
    let runs = [
        (Run::recorded("rv64-mix", 4000), 64),
        (Run::recorded("rv64-privileged", 4000), 64),
        (Run::recorded("rv32-mix", 4000), 32),
        (Run::recorded("rv32-privileged", 3000), 32),
        (Run::recorded("rv64-integer", 3000), 64),
        (Run::opened("testdata/stf/sort/trace.stf", Some("programs/riscv/sort.elf")), 64),
    ];
    let runs = runs.map(|(run, bits)| (timed(&run), bits));
    let cases: u64 = std::env::var("TRACKWAY_CASES").map_or(60, |text| text.parse().unwrap());
    let (mut right, mut seed, mut total) = (0, 0, 0);
    while total < cases {
        seed += 1;
        let mut random = SplitMix64(seed);
        let (run, bits) = pick(&mut random, &runs);
        let text = etrace_settings(&mut random, *bits);
        let Some(case) = encode(format("etrace"), run, &text) else {
            eprintln!("seed {seed}: not encoded\n{text}");
            continue;
        };
        let expected = events(&case, &case.truth, &case.program);
        let (given, done) = damage(&mut random, &case.truth, "etrace");
        if events(&case, &given, &case.program) == expected {
            continue;
        }
        total += 1;
        let began = std::time::Instant::now();
        let options = Options { program: case.program.clone(), ..Options::default() };
        let found = diagnose(&options, Some(case.format.id()), &given, &case.bytes, false, Budget::default());
        let first = found.first();
        let is_right = first.is_some_and(|first| events(&case, &first.settings, &first.program) == expected);
        right += u64::from(is_right);
        let took = began.elapsed().as_millis();
        let tries = first.map_or(0, |first| first.tries);
        eprintln!("seed {seed}: {is_right} {} bytes, {tries} tries, {took} ms, {done:?}", case.bytes.len());
        if !is_right {
            let with = Options { format: Some(case.format.id()), ..options.clone() };
            eprintln!("truth: {:?}\n{text}", weigh(&with, &case.truth, &case.bytes));
            if let Some(first) = first {
                eprintln!("found: {:?} second {:?}\n{}", first.fit, first.second, first.toml());
            }
        }
    }
    eprintln!("{right} of {total}");
}
