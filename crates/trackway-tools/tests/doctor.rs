//! `doctor` on damaged settings: a hundred seeded cases, each a recorded run encoded anew with random legal settings, of which
//! some are then changed, or a wrong program is named beside the right one.

#[path = "../../trackway/tests/prove_support/mod.rs"]
mod prove_support;

use prove_support::{Folder, Run};
use trackway::events::{EventKind, SplitMix64, Time, TimeKind};
use trackway::format::{Format, Program, Settings, Value, Writing};
use trackway::io::Target;
use trackway::{FORMATS, Options};
use trackway_testkit::lines;
use trackway_tools::doctor::{Budget, Sure, diagnose, examine, weigh};

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
    lines::at_most(1_000_000, &mut *trace.events().ok()?)
}

fn pick<'p, T>(random: &mut SplitMix64, from: &'p [T]) -> &'p T {
    &from[random.below(from.len() as u64) as usize]
}

/// Random legal settings of E-Trace for a run on a core of `bits` bits.
fn etrace_settings(random: &mut SplitMix64, bits: u32, timed: bool) -> String {
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
    if !draft && timed && one_in(random, 2) {
        text += &format!("notime = 0\ntime_width = {}\n", pick(random, &[16, 24, 32, 40, 48, 56, 64, 37]));
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

/// Random settings of a trace unit.
fn ete_settings(random: &mut SplitMix64) -> String {
    let framing = *pick(random, &["source_data", "coresight"]);
    let mut config = 1 | random.below(2) << 11 | random.below(2) << 12;
    if random.below(3) == 0 {
        config |= 1 << 4;
    }
    config |= (random.below(4)) << 6;
    format!(
        "[ete]\nformat = \"{framing}\"\nTRCCONFIGR = {config:#x}\nTRCTRACEIDR = {}\nTRCSYNCPR = {}\n[ete.unit]\n\
         max_spec = {}\ncommopt = {}\nminor = {}\ncommit_every = {}\nmispredict = {}\n",
        1 + random.below(0x6f),
        8 + random.below(3),
        pick(random, &[0, 0, 1, 3, 8, 15]),
        random.below(2) == 0,
        random.below(4),
        pick(random, &[4, 16]),
        pick(random, &[0, 0, 100]),
    )
}

/// Random settings of tandem for a core of `bits` bits.
fn tandem_settings(random: &mut SplitMix64, bits: u32) -> String {
    let mlen = if bits == 64 { 64 } else { *pick(random, &[32, 34]) };
    let flen = *pick(random, &[64, 64, 32]);
    let profile = *pick(random, &["spec", "bluespec"]);
    format!("[tandem]\nxlen = {bits}\nflen = {flen}\nmlen = {mlen}\nprofile = \"{profile}\"\n")
}

/// Writes a run by settings.
fn encode(format: &'static dyn Format, run: &Run, text: &str) -> Option<Case> {
    let folder = Folder::new();
    let path = folder.0.join(format!("run.{}", format.extensions()[0]));
    let (target, mut truth) = (Target::new(&path), settings(text));
    let writing = Writing { target: target.clone(), settings: &truth, program: &run.program, threads: 1 };
    let mut sink = format.create(writing, &run.meta).ok()?;
    run.batches.iter().try_for_each(|batch| sink.put(batch)).ok()?;
    sink.finish().ok()?;
    target.commit().ok()?;
    let bytes = if path.is_dir() {
        // Of a snapshot the bytes alone, and the registers of its unit.
        let unit = trackway::ete::encode::EncodeConfig::from_toml(text).ok()?.unit(0);
        let section = truth.table.get_mut("ete")?.as_table_mut()?;
        section.remove("unit");
        for name in ["TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCCONFIGR", "TRCDEVARCH", "TRCTRACEIDR"] {
            section.insert(name.into(), format!("{:#x}", unit.registers.get(name)).into());
        }
        section.remove("TRCSYNCPR");
        let files = ["trace.bin", "trace_0.bin"].map(|name| path.join(name));
        std::fs::read(files.iter().find(|file| file.is_file())?).ok()?
    } else {
        std::fs::read(&path).ok()?
    };
    if let Some(section) = truth.table.get_mut(format.id().as_str()).and_then(Value::as_table_mut) {
        section.remove("encoder");
    }
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
            if n.is_multiple_of(16) {
                now += 37;
                let time = Time { kind: TimeKind::Timestamp, value: Some(now), clock: 0 };
                out.push(event.offset, EventKind::Time(time));
            }
            out.events.push(*event);
        }
        out
    })
}

/// A wrong value of some key of a format; the keys it replaces.
fn wrong(format: &str, random: &mut SplitMix64) -> Vec<(&'static str, Value)> {
    let number = |value: u64| Value::Integer(value as i64);
    let hex = |value: u64| Value::String(format!("{value:#x}"));
    match format {
        "etrace" => match random.below(8) {
            0 => vec![("iaddress_width", number(*pick(random, &[64, 32, 40, 48, 56])))],
            1 => vec![("iaddress_lsb", number(random.below(3)))],
            2 => vec![("dialect", pick(random, &["v2", "draft-1.1.1"]).to_string().into())],
            3 => vec![("framing", pick(random, &["smi", "encap", "ultrasoc", "atb"]).to_string().into())],
            4 => vec![("srcid_width", number(random.below(17)))],
            5 => {
                let width = number(1 + random.below(32));
                vec![("nocontext", number(random.below(2))), ("context_width", width)]
            }
            6 => {
                let width = number(1 + random.below(48));
                vec![("notime", number(random.below(2))), ("time_width", width)]
            }
            _ => vec![("privilege_width", number(1 + random.below(4)))],
        },
        "ete" => match random.below(6) {
            0 => vec![("format", pick(random, &["source_data", "coresight"]).to_string().into())],
            1 => vec![("TRCTRACEIDR", hex(1 + random.below(0x6f)))],
            2 => vec![("TRCCONFIGR", hex(1 | random.below(2) << 12))],
            3 => vec![("TRCIDR8", hex(random.below(16)))],
            4 => vec![("TRCIDR2", hex(*pick(random, &[0x5000_0000, 0xd000_0080, 0xd000_1000])))],
            _ => vec![("TRCIDR0", hex(0x28c1_cea1 ^ random.below(2) << 29 ^ random.below(2) << 30))],
        },
        _ => match random.below(4) {
            0 => vec![("xlen", number(*pick(random, &[32, 64]))), ("mlen", number(64))],
            1 => vec![("flen", number(*pick(random, &[0, 32, 64])))],
            2 => vec![("mlen", number(*pick(random, &[32, 34, 64])))],
            _ => vec![("profile", pick(random, &["spec", "bluespec"]).to_string().into())],
        },
    }
}

/// Changes some settings; returns what was done.
fn damage(random: &mut SplitMix64, truth: &Settings, format: &str) -> (Settings, Vec<String>) {
    let mut damaged = truth.clone();
    let mut done = Vec::new();
    let table = damaged.table.get_mut(format).and_then(Value::as_table_mut).unwrap();
    for _ in 0..1 + random.below(3) {
        for (key, value) in wrong(format, random) {
            done.push(format!("{key} = {value}"));
            table.insert(key.into(), value);
        }
    }
    (damaged, done)
}

/// In how many of a hundred cases the answer named first decodes to the events of the right settings, from seeds that
/// nobody looked at while the search was made.
#[test]
fn a_hundred_damaged_configurations() {
    let number = |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let first = number("TRACKWAY_SEED", 70_000);
    let certain = judge(first.., number("TRACKWAY_CASES", 100));
    assert!(certain >= 12, "hardly ever certain: {certain} times");
}

/// Cases that an earlier search had wrong: a program moved to fit wrong settings, a time taken apart into time and context,
/// framings whose packets are mostly of format 0, registers that no ETE has.
#[test]
fn cases_that_were_wrong() {
    let seeds = [
        10_017, 10_047, 10_051, 10_085, 10_110, 10_116, 10_119, 10_131, 10_158, 10_166, 10_173, 10_205,
        10_227, 20_008, 20_018, 20_030, 20_130, 20_139, 20_154, 20_192, 20_200, 20_222,
    ];
    judge(seeds, seeds.len() as u64);
}

/// Tries the first `cases` seeds that make one; 95 of a hundred have to be right, and all that are certain. Returns how
/// many are.
fn judge(seeds: impl IntoIterator<Item = u64>, cases: u64) -> u64 {
    let riscv = [
        ("rv64-mix", 4000, 64),
        ("rv64-privileged", 4000, 64),
        ("rv32-mix", 4000, 32),
        ("rv32-privileged", 3000, 32),
        ("rv64-integer", 3000, 64),
    ];
    let mut runs: Vec<(Run, u32)> =
        riscv.iter().map(|(name, limit, bits)| (Run::recorded(name, *limit), *bits)).collect();
    runs.iter_mut().for_each(|(run, _)| *run = timed(run));
    runs.push((Run::opened("testdata/stf/sort/trace.stf", Some("programs/riscv/sort.elf")), 64));
    let arm = [
        Run::opened("testdata/astf/sort.astf", Some("programs/aarch64/sort.elf")),
        Run::opened("testdata/astf/levels.astf", Some("programs/aarch64/levels.elf")),
    ];
    let only = std::env::var("TRACKWAY_ONLY").ok();
    let (mut right, mut total) = (0, 0);
    let (mut failures, mut misled) = (Vec::new(), Vec::new());
    // How many were right, of how many, by how sure the answer was.
    let mut by_sure = [[0u64; 2]; 3];
    for seed in seeds {
        if total == cases {
            break;
        }
        let mut random = SplitMix64(seed);
        let name = *pick(&mut random, &["etrace", "etrace", "etrace", "ete", "tandem"]);
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let (text, run, others) = if name == "ete" {
            let n = random.below(2) as usize;
            (ete_settings(&mut random), &arm[n], vec![&arm[1 - n]])
        } else {
            let (run, bits) = pick(&mut random, &runs);
            let text = match name {
                "etrace" => etrace_settings(&mut random, *bits, run.meta.timestamps),
                _ => tandem_settings(&mut random, *bits),
            };
            let others = runs.iter().map(|(run, _)| run).filter(|other| other.program != run.program);
            (text, run, others.collect())
        };
        // Some settings do not go with a run, and some damage changes nothing.
        let Some(case) = encode(format(name), run, &text) else { continue };
        let expected = events(&case, &case.truth, &case.program);
        let mut program = case.program.clone();
        let (mut given, mut done) = (case.truth.clone(), Vec::new());
        if name != "tandem" && random.below(5) == 0 {
            // A wrong program beside the right one.
            program.elf.insert(0, pick(&mut random, &others).program.elf[0].clone());
            done.push(format!("--elf {}", program.elf[0]));
        }
        if done.is_empty() || random.below(2) == 0 {
            let (settings, what) = damage(&mut random, &case.truth, name);
            given = settings;
            done.extend(what);
        }
        if expected.is_none() || events(&case, &given, &program) == expected {
            continue;
        }
        total += 1;
        let began = std::time::Instant::now();
        let options = Options { program, ..Options::default() };
        let found = diagnose(&options, Some(case.format.id()), &given, &case.bytes, false, Budget::default());
        let is_right =
            found.first().is_some_and(|first| events(&case, &first.settings, &first.program) == expected);
        right += u64::from(is_right);
        let sure = found.first().map_or(Sure::Guess, |first| first.sure);
        by_sure[sure as usize][0] += u64::from(is_right);
        by_sure[sure as usize][1] += 1;
        if sure == Sure::Certain && !is_right {
            misled.push(seed);
        }
        let (took, tries) = (began.elapsed().as_millis(), found.first().map_or(0, |first| first.tries));
        println!(
            "seed {seed}: {name} {is_right}, {}, {} bytes, {tries} tries, {took} ms, {done:?}",
            sure.as_str(),
            case.bytes.len()
        );
        if !is_right {
            let with =
                Options { format: Some(case.format.id()), program: case.program.clone(), ..options.clone() };
            let fit = weigh(&with, &case.truth, &case.bytes);
            let first = found.first().map(|first| format!("{first:?}\n{}", first.toml()));
            failures.push(format!(
                "seed {seed}, {done:?}, truth {fit:?}:\n{}\nfound {}\n",
                case.truth.table,
                first.unwrap_or_default()
            ));
        }
    }
    println!("{right} of {total}; guesses, likely, certain: {by_sure:?}\n{}", failures.join("\n"));
    assert!(100 * right >= 95 * total, "{right} of {total}");
    assert!(misled.is_empty(), "certain and wrong: seeds {misled:?}");
    by_sure[Sure::Certain as usize][1]
}

/// Settings that are right are left alone.
#[test]
fn right_settings_stay() {
    let runs = [Run::recorded("rv64-mix", 3000), Run::recorded("rv32-privileged", 2000)];
    for (seed, (run, bits)) in [(1, (&runs[0], 64)), (2, (&runs[1], 32)), (3, (&runs[0], 64))] {
        let mut random = SplitMix64(seed);
        let text = etrace_settings(&mut random, bits, false);
        let case = encode(format("etrace"), run, &text).expect("it can be encoded");
        let options = Options { program: case.program.clone(), ..Options::default() };
        let found =
            diagnose(&options, Some(case.format.id()), &case.truth, &case.bytes, false, Budget::default());
        let first = &found[0];
        assert!(first.changes.is_empty() && first.fit.is_clean(), "seed {seed}: {:?}", first.changes);
    }
}

/// The bytes of a dump in words of the other order, and a circular buffer.
#[test]
fn byte_order_and_wrapped_buffers() {
    let folder = Folder::new();
    let run = Run::recorded("rv64-mix", 4000);
    let case = encode(format("etrace"), &run, "[etrace]\niaddress_width = 64\n").unwrap();
    let path = folder.0.join("swapped");
    let mut bytes = case.bytes.clone();
    bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    std::fs::write(&path, bytes).unwrap();
    let options = Options { program: case.program.clone(), ..Options::default() };
    let budget = Budget { tries: 300, ..Budget::default() };
    let report = examine(&path, &options, budget).unwrap();
    let changed = report.transfer.expect("it was changed").what;
    assert!(changed.contains("32-bit words are in reverse order"), "{changed}");
    assert_eq!(report.diagnosis.expect("settings are found").format.as_str(), "etrace");

    let arm = Run::opened("testdata/astf/sort.astf", Some("programs/aarch64/sort.elf"));
    let text = "[ete]\nTRCSYNCPR = 8\nTRCCONFIGR = 0x11\n[ete.unit]\nmax_spec = 0\n";
    let case = encode(format("ete"), &arm, text).unwrap();
    // The newest bytes are where the oldest were.
    let mut wrapped = case.bytes.clone();
    let pointer = wrapped.len() / 3;
    wrapped.rotate_right(pointer);
    let case = Case { bytes: wrapped, ..case };
    let options = Options { program: case.program.clone(), ..Options::default() };
    let found =
        diagnose(&options, Some(case.format.id()), &case.truth, &case.bytes, false, Budget::default());
    assert!(found[0].fit.percent() >= 90, "{:?}", found[0]);
}

/// Traces of other encoders, by their bytes and their program alone.
#[test]
fn parameters_of_other_encoders_are_found_from_nothing() {
    let Some(corpus) = trackway_testkit::corpus_part("etrace") else { return };
    let mut wrong = Vec::new();
    for name in trackway_testkit::ETRACE_CASES {
        let truth = Settings::read(&corpus.join(name).join("params.toml")).unwrap();
        let elf = truth.resolve(truth.table["program"].as_str().unwrap());
        let program = Program { elf: vec![elf.display().to_string()], ..Program::default() };
        let bytes = std::fs::read(corpus.join(name).join("trace.bin")).unwrap();
        let options = Options { program, ..Options::default() };
        let budget = Budget { tries: 2000, bytes: 8192 };
        let found = diagnose(&options, None, &Settings::default(), &bytes, false, budget);
        let Some(first) = found.first() else {
            wrong.push(format!("{name}: nothing is found"));
            continue;
        };
        let pcs = |settings: &Settings| -> Option<Vec<u64>> {
            let options = Options { format: Some(first.format), ..options.clone() };
            let mut trace = options.settings(settings.clone()).open_bytes(bytes.clone()).ok()?;
            let (mut steps, mut pcs) = (trace.steps().ok()?, Vec::new());
            while let Some(step) = steps.next().ok()? {
                pcs.extend(step.pc);
            }
            Some(pcs)
        };
        let is_right = first.format.as_str() == "etrace" && pcs(&first.settings) == pcs(&truth);
        println!("{name}: {is_right}, {}, {} tries", first.sure.as_str(), first.tries);
        if !is_right {
            wrong.push(format!("{name}, {}:\n{}", first.sure.as_str(), first.toml()));
        }
        assert!(is_right || first.sure != Sure::Certain, "{name} is certain and wrong:\n{}", first.toml());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Raw buffers of trace units whose registers are known: what `doctor` names decodes like them, or it says that it guesses.
#[test]
fn raw_buffers_of_units_are_not_claimed_with_other_settings() {
    let Some(corpus) = trackway_testkit::corpus_part("ete") else { return };
    for (name, session) in [("ete_ip", 1), ("q_elem", 1), ("q_elem", 2), ("rme_test", 1), ("ete-wfet", 1)] {
        let folder = corpus.join(name);
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
        let (cpu, unit) = (read("cpu_0.ini"), read(&format!("ETE_0_s{session}.ini")));
        let value = |line: &str, key: &str| line.strip_prefix(key).map(|value| value.trim().to_string());
        let files = cpu.lines().filter_map(|line| value(line, "file="));
        let places = cpu.lines().filter_map(|line| value(line, "address="));
        let raw = files.zip(places).map(|(file, at)| format!("{}@{at}", folder.join(file).display()));
        let program = Program { raw: raw.collect(), ..Program::default() };
        let registers = unit.lines().filter(|line| line.starts_with("TRC"));
        let lines: Vec<String> = registers.map(|line| line.replace('=', " = ")).collect();
        let truth = settings(&format!("[ete]\nformat = \"source_data\"\n{}\n", lines.join("\n")));
        let path = folder.join(format!("session{session}.bin"));
        let bytes = std::fs::read(&path).unwrap();
        let case = Case { format: format("ete"), bytes, program: program.clone(), truth };
        let expected = events(&case, &case.truth, &program).expect("the truth decodes");
        let options = Options { program: program.clone(), ..Options::default() };
        let report = examine(&path, &options, Budget::default()).unwrap();
        let Some(found) = report.diagnosis else { continue };
        let same = events(&case, &found.settings, &found.program) == Some(expected);
        assert!(
            same || found.sure == Sure::Guess,
            "{name} {session}: {}\n{}",
            found.sure.as_str(),
            found.toml()
        );
    }
}
