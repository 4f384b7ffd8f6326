//! The logs of RISC-V cores: what the corpus holds by an obvious count, every cut, seeded damage, conversions.

mod common;

use std::collections::BTreeMap;

use common::{logs, riscv};
use trackway::events::{
    Batch, Cancel, EventKind, Fate, FormatId, Outcome, Reg, RegAccess, RegClass, RegRole, SplitMix64, Step,
    Value,
};
use trackway::format::Opening;
use trackway::io::File;
use trackway::{ConvertOptions, FORMATS, Options, Prove, Settings, Trace, by_id, convert};
use trackway_hart::{AdUpdate, Misaligned};
use trackway_testkit::cut::every_cut;
use trackway_testkit::lines::{at_most, filled, observed};
use trackway_testkit::{cuts, later_cuts, stretch, sweep};

/// Logs of the corpus without lines of `-l`.
const COMMITS: [&str; 4] =
    ["rv32-atomic.log", "rv64-sv39.log", "rv64-mix.first-20000.log", "rv64-float.first-12000.log.xz"];

/// A log of the corpus, decompressed.
fn spike(name: &str) -> Option<Vec<u8>> {
    let path = trackway_testkit::corpus_part(&format!("logs/spike/{name}"))?;
    let bytes = Options::default().open(path).unwrap().bytes().unwrap().read_whole().unwrap();
    Some((*bytes).as_ref().to_vec())
}

fn open(bytes: &[u8]) -> Trace {
    Options::default().open_bytes(bytes.to_vec()).unwrap()
}

fn each_step(bytes: &[u8], mut each: impl FnMut(&Batch, &Step)) {
    let mut trace = open(bytes);
    let (mut events, mut batch) = (trace.events().unwrap(), Batch::default());
    while events.fill(&mut batch).unwrap() {
        for event in &batch.events {
            if let EventKind::Step(step) = &event.kind {
                each(&batch, step);
            }
        }
    }
}

/// Address, encoding and registers of a commit, by its words.
fn by_words(line: &str) -> (u64, u32, Vec<(Reg, u64)>) {
    let hex =
        |word: &str| u64::from_str_radix(word.trim_matches(['(', ')']).trim_start_matches("0x"), 16).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let (mut regs, mut n) = (Vec::new(), 5);
    while n < words.len() && words[n] != "mem" {
        let (class, rest) = words[n].split_at(1);
        let (class, number) = match class {
            "x" => (RegClass::Int, rest),
            "f" => (RegClass::Float, rest),
            _ => (RegClass::Csr, rest.split('_').next().unwrap()),
        };
        regs.push((Reg { class, number: number.parse().unwrap() }, hex(words[n + 1])));
        n += 2;
    }
    (hex(words[3]), hex(words[4]) as u32, regs)
}

#[test]
fn spike_logs_hold_what_their_words_say() {
    for name in COMMITS {
        let Some(bytes) = spike(name) else { return };
        let text = String::from_utf8(bytes.clone()).unwrap();
        let (mut wanted, mut places) = (BTreeMap::new(), Vec::new());
        for line in text.lines() {
            let (pc, encoding, regs) = by_words(line);
            places.push((pc, encoding));
            wanted.extend(regs);
        }
        let (mut found, mut steps) = (BTreeMap::new(), Vec::new());
        each_step(&bytes, |batch, step| {
            steps.push((step.pc.unwrap(), step.encoding));
            for access in batch.regs_of(step.accesses).iter().filter(|one| one.role == RegRole::Destination) {
                let Value::Word(value) = access.value else { panic!("{name}: a value") };
                found.insert(access.reg, value);
            }
        });
        assert!(steps == places, "{name}: {} of {} instructions", steps.len(), places.len());
        assert_eq!(found, wanted, "{name}: registers at the end");
        assert_eq!(
            open(&bytes).check(&mut |finding| panic!("{name}: {finding}")).unwrap(),
            places.len() as u64
        );
    }
}

/// With `-l` an instruction that traps is there, attempted, and so is its exception.
#[test]
fn both_logs_of_spike_in_one() {
    let Some(bytes) = spike("rv64-sv39.both.log") else { return };
    let text = String::from_utf8(bytes.clone()).unwrap();
    let commits =
        text.lines().filter(|line| line.as_bytes()[10] != b'0' && line.as_bytes()[11] == b' ').count();
    let lines = filled(&mut *open(&bytes).events().unwrap());
    let count = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
    assert_eq!((count("outcome=retired"), count("outcome=attempted")), (commits, 1));
    assert!(
        lines.iter().any(|line| line.contains("trap kind=exception cause=0x9 from=0x800011de")),
        "{lines:#?}"
    );
    let mut texts = bytes.clone();
    let at = text.find("addi    a1, t0, 32").unwrap();
    texts[at..at + 4].copy_from_slice(b"andi");
    let mut found = Vec::new();
    open(&texts).check(&mut |finding| found.push(finding.rule.name)).unwrap();
    assert_eq!(found, ["spike.text"]);
}

/// By events, and by way of another format, the bytes come back.
#[test]
fn spike_logs_come_back() {
    let folder = std::env::temp_dir().join(format!("trackway-spike-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let spike_format = by_id(FORMATS, FormatId::new("spike"));
    for name in COMMITS {
        let Some(bytes) = spike(name) else { return };
        for (n, via) in ["stf", "tv"].iter().enumerate() {
            let (middle, back) = (folder.join(format!("{n}.{via}")), folder.join(format!("{n}.spike")));
            let options = ConvertOptions { prove: Prove::Always, ..ConvertOptions::default() };
            convert(&mut open(&bytes), &middle, &options).unwrap();
            let options = ConvertOptions { into: spike_format, ..options };
            let trace = &mut Trace::open(&middle).unwrap();
            let ledger = convert(trace, &back, &options).unwrap().ledger;
            assert!(std::fs::read(&back).unwrap() == bytes, "{name} by way of {via}\n{ledger}");
            assert_eq!(ledger.count(Fate::Dropped, trackway::events::Fact::Instructions), 0, "{name}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// After a halt the core was reset: the next instruction does not follow it, without a finding.
#[test]
fn a_halt_ends_a_run() {
    let run = logs::log("rvfi-dii", &riscv(40)).unwrap();
    let mut halt = [0; 88];
    halt[86] = 1;
    let both = [&run[..], &halt, &run].concat();
    let options = Options { format: Some(FormatId::new("rvfi-dii")), ..Options::default() };
    let events = |bytes: &[u8]| {
        let mut trace = options.open_bytes(bytes.to_vec()).unwrap();
        filled(&mut *trace.events().unwrap())
            .iter()
            .map(|line| line.split_once(' ').unwrap().1.to_string())
            .collect()
    };
    let (one, two): (Vec<String>, Vec<String>) = (events(&run), events(&both));
    let count = |lines: &[String], word: &str| lines.iter().filter(|line| line.contains(word)).count();
    assert_eq!(count(&two, "outcome=retired"), 2 * count(&one, "outcome=retired"));
    for word in ["trap kind=exception", "trap kind=interrupt", "gap"] {
        assert_eq!(count(&two, word), 2 * count(&one, word), "{word}");
    }
    // Without the halt an instruction is missing between the runs.
    let rules = |bytes: &[u8]| {
        let mut rules = Vec::new();
        options
            .open_bytes(bytes.to_vec())
            .unwrap()
            .check(&mut |finding| rules.push(finding.rule.name))
            .unwrap();
        rules
    };
    assert_eq!(rules(&both), rules(&run).repeat(2));
    assert_ne!(rules(&[&run[..], &run].concat()), rules(&run).repeat(2));
}

/// The kinds of logs, each with a sample.
fn samples() -> Vec<(&'static str, Vec<u8>, Options)> {
    let run = riscv(1_500);
    let options = Options { part: Some(256), ..Options::default() };
    let mut all = Vec::new();
    for id in ["riscv-dv", "rvfi-dii", "rvfi-vcd"] {
        all.push((id, logs::log(id, &run).unwrap(), options.clone()));
    }
    let with_elf = options.clone().elf(run.elf.display().to_string());
    all.push(("qemu-exec", logs::log("qemu-exec", &run).unwrap(), with_elf));
    let mut spike = Vec::new();
    for name in COMMITS.iter().chain(&["rv64-sv39.both.log"]) {
        let Some(bytes) = self::spike(name) else { break };
        spike.push(("spike", bytes, options.clone()));
    }
    all.extend(spike);
    all
}

/// The first lines of a long log of Spike, for tests that read it from its start again and again.
fn start(bytes: &[u8]) -> &[u8] {
    let spike = bytes.starts_with(b"core") && !sweep();
    let end = bytes.iter().skip(20_000).position(|byte| *byte == b'\n').filter(|_| spike);
    end.map_or(bytes, |end| &bytes[..20_000 + end + 1])
}

#[test]
fn a_log_is_recognised_by_its_content() {
    for (id, bytes, options) in samples() {
        let trace = options.open_bytes(bytes).unwrap();
        assert_eq!(trace.meta().format.as_str(), id);
    }
}

#[test]
fn every_cut_delivers_what_came_before() {
    for (id, bytes, options) in samples() {
        let bytes = start(&bytes);
        let options = Options { format: Some(FormatId::new(id)), ..options };
        let whole = filled(&mut *options.open_bytes(bytes.to_vec()).unwrap().events().unwrap());
        for cut in cuts(bytes.len()).chain(bytes.len().saturating_sub(200)..bytes.len()) {
            let Ok(mut trace) = options.open_bytes(bytes[..cut].to_vec()) else { continue };
            let lines = filled(&mut *trace.events().unwrap());
            let kept = lines.iter().zip(&whole).take_while(|(one, other)| one == other).count();
            // The last instruction does not know what follows it; the error.
            assert!(lines.len() - kept <= 5, "{id}: cut at {cut}: {:?}", &lines[kept..]);
        }
    }
}

/// Half a number looks like a number: a line without its end is not read.
#[test]
fn a_number_that_is_cut_is_not_believed() {
    let lines = "core   0: 3 0x0000000080000000 (0x00000297) x5  0x0000000080000000\n\
                 core   0: 3 0x0000000080000004 (0x00128293) x5  0x0000000080000001\n";
    for cut in 67..lines.len() {
        let options = Options { format: Some(FormatId::new("spike")), ..Options::default() };
        let mut trace = options.open_bytes(lines.as_bytes()[..cut].to_vec()).unwrap();
        let found = filled(&mut *trace.events().unwrap());
        assert_eq!(found.iter().filter(|line| line.contains(" step ")).count(), 1, "cut at {cut}");
        assert!(found.last().unwrap().contains("truncated") || cut == 67, "cut at {cut}: {found:?}");
    }
}

/// Nothing follows the last edge of a VCD that is cut: its instruction is at the last line, not at the start.
#[test]
fn the_last_instruction_of_a_cut_vcd_has_its_place() {
    let bytes = logs::log("rvfi-vcd", &riscv(3)).unwrap();
    let options = Options { format: Some(FormatId::new("rvfi-vcd")), ..Options::default() };
    let body = bytes.windows(2).position(|pair| pair == b"\n#").unwrap();
    let mut placed = 0;
    for cut in (body..bytes.len()).step_by(7) {
        let lines = filled(&mut *options.open_bytes(bytes[..cut].to_vec()).unwrap().events().unwrap());
        let steps: Vec<usize> =
            lines.iter().filter(|line| line.contains(" step ")).map(|line| offset(line)).collect();
        placed += steps.len();
        assert!(steps.iter().all(|at| *at > body && *at < cut), "cut at {cut}: {lines:?}");
        assert!(steps.is_sorted(), "cut at {cut}: {lines:?}");
    }
    assert!(placed > 10);
}

/// With `TRACKWAY_SWEEP` every one.
#[test]
fn all_cuts_in_the_middle_deliver_what_came_before() {
    for (id, bytes, options) in samples() {
        let format = by_id(FORMATS, FormatId::new(id)).unwrap();
        every_cut(id, &bytes, later_cuts(bytes.len()), |input| {
            let opening = Opening {
                file: File::from_input(input).unwrap(),
                settings: Settings::default(),
                program: options.program.clone(),
                threads: 1,
                part: None,
                force: false,
                strict: false,
                source: None,
                cancel: Cancel::default(),
            };
            let mut opened = format.open(opening).unwrap();
            move || opened.events().unwrap()
        });
    }
}

/// The offset of an event, from its line.
fn offset(line: &str) -> usize {
    let word = line.split(' ').next().unwrap();
    usize::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(usize::MAX)
}

#[test]
fn damage_is_an_error_with_its_line_and_reading_goes_on() {
    let mut errors = BTreeMap::new();
    for (id, all, options) in samples() {
        let options = Options { format: Some(FormatId::new(id)), ..options };
        let read = |bytes: &[u8]| filled(&mut *options.open_bytes(bytes.to_vec()).unwrap().events().unwrap());
        let (mut random, is_spike) = (SplitMix64(11), id == "spike");
        let all_lines = if is_spike { Vec::new() } else { read(&all) };
        for round in 0..200 {
            // Lines of Spike mean the same anywhere; other logs are short.
            let bytes = if is_spike { stretch(&all, 20_000, &mut random) } else { &all };
            let read = if is_spike { read(bytes) } else { Vec::new() };
            let whole = if is_spike { &read } else { &all_lines };
            let mut damaged = bytes.to_vec();
            let at = random.below(bytes.len() as u64) as usize;
            damaged[at] ^= 1 << random.below(8);
            let Ok(mut trace) = options.open_bytes(damaged) else { continue };
            let lines = at_most(20 * whole.len(), &mut *trace.events().unwrap()).expect("it ends");
            assert!(observed(&mut *trace.events().unwrap()) == lines, "{id}: round {round}");
            // Everything before the damaged line is there, unless the damage makes it a log of several cores.
            let text = !matches!(id, "rvfi-dii");
            let newline = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
            let line_start = if text { newline } else { at / 88 * 88 };
            let due = whole.iter().take_while(|line| offset(line) < line_start).count();
            let kept = lines.iter().zip(whole).take_while(|(one, other)| one == other).count();
            let several = !trace.meta().sources.is_empty();
            assert!(several || kept + 4 >= due, "{id}: round {round}: {kept} of {due} are left");
            *errors.entry(id).or_insert(0) += lines.iter().filter(|line| line.starts_with("error")).count();
            trace.check(&mut |_| {}).unwrap();
            let mut items = trace.items().unwrap();
            let mut item = trackway::events::Item::default();
            while items.next(&mut item).is_ok_and(|more| more) {}
        }
    }
    for id in ["spike", "riscv-dv", "rvfi-vcd", "qemu-exec"] {
        assert!(errors.get(id).is_none_or(|count| *count > 20), "{id}: {errors:?}");
    }
}

#[test]
fn samples_convert_with_a_proof() {
    let folder = std::env::temp_dir().join(format!("trackway-logs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (id, bytes, options) in samples() {
        for extension in ["stf", "tv", "etrace", "spike"] {
            let to = folder.join(format!("{id}.{extension}"));
            let mut trace = options.open_bytes(start(&bytes).to_vec()).unwrap();
            let into = trackway::for_output(FORMATS, &to);
            let convert = ConvertOptions { into, prove: Prove::Always, ..ConvertOptions::default() };
            let result = trackway::convert(&mut trace, &to, &convert);
            assert!(result.is_ok(), "{id} to {extension}: {:?}", result.err());
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Addresses of all instructions.
fn pcs(trace: &mut Trace) -> Vec<u64> {
    let (mut steps, mut batch, mut all) = (trace.expanded().unwrap(), Batch::default(), Vec::new());
    while steps.fill(&mut batch).unwrap() {
        let pc = |event: &trackway::events::Event| match &event.kind {
            EventKind::Step(step) => step.pc,
            _ => None,
        };
        all.extend(batch.events.iter().filter_map(pc));
    }
    all
}

/// The samples of one run hold the same instructions.
#[test]
fn all_kinds_hold_the_same_instructions() {
    let mut wanted: Option<Vec<u64>> = None;
    for (id, bytes, options) in samples().into_iter().filter(|(id, ..)| *id != "spike") {
        let found = pcs(&mut options.open_bytes(bytes).unwrap());
        let wanted = wanted.get_or_insert(found.clone());
        // The last block is not known to be cut.
        assert!(found.starts_with(wanted), "{id}: {} of {}", found.len(), wanted.len());
        assert!(wanted.len() >= 1_500 && found.len() - wanted.len() < 64, "{id}: {}", found.len());
    }
}

/// The samples of `testdata`: the first instructions of a run. `TRACKWAY_BLESS=1` writes them anew.
#[test]
fn testdata_is_what_the_writers_write() {
    let run = riscv(200);
    let bless = std::env::var_os("TRACKWAY_BLESS").is_some();
    for (id, extension) in [
        ("spike", "spike"),
        ("riscv-dv", "csv"),
        ("rvfi-dii", "rvfi"),
        ("rvfi-vcd", "vcd"),
        ("qemu-exec", "qemu"),
    ] {
        let path = common::file(&format!("testdata/{id}/mix.{extension}"));
        let bytes = match logs::log(id, &run) {
            Some(bytes) => bytes,
            None => written(by_id(FORMATS, FormatId::new(id)).unwrap(), &run),
        };
        if bless {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        assert!(std::fs::read(&path).unwrap_or_default() == bytes, "{}: TRACKWAY_BLESS=1", path.display());
        let options = Options::default().elf(run.elf.display().to_string());
        let mut found = Vec::new();
        options.open(&path).unwrap().check(&mut |finding| found.push(finding.to_string())).unwrap();
        assert_eq!(found, Vec::<String>::new(), "{id}");
    }
}

/// A run in a format that is written.
fn written(format: &dyn trackway::format::Format, run: &common::Run) -> Vec<u8> {
    let path = std::env::temp_dir().join(format!(
        "trackway-written-{}.{}",
        std::process::id(),
        format.extensions()[0]
    ));
    let (settings, program) = (trackway::Settings::default(), trackway::format::Program::default());
    let target = trackway::io::Target::new(&path);
    let writing = trackway::format::Writing {
        target: target.clone(),
        settings: &settings,
        program: &program,
        threads: 1,
    };
    let mut sink = format.create(writing, &run.meta).unwrap();
    run.batches.iter().for_each(|batch| sink.put(batch).unwrap());
    sink.finish().unwrap();
    target.commit().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    bytes
}

/// An instruction that retired.
struct Effects {
    at: (u64, u32),
    regs: Vec<(Reg, u64)>,
    mem: Vec<(u64, u64)>,
    target: Option<u64>,
    /// Address of the instruction after it, attempted or not.
    next: Option<u64>,
}

/// The instructions of a trace that retired, from the first at `start` on.
fn effects(batches: &[Batch], start: u64) -> Vec<Effects> {
    let mut all: Vec<Effects> = Vec::new();
    let steps = batches.iter().flat_map(|batch| batch.events.iter().map(move |event| (batch, event)));
    for (batch, event) in steps {
        let EventKind::Step(step) = &event.kind else { continue };
        if let Some(last) = all.last_mut() {
            last.next = last.next.or(step.pc);
        }
        if step.outcome == Outcome::Attempted {
            continue;
        }
        let value = |access: &RegAccess| if let Value::Word(value) = access.value { value } else { 0 };
        let writes = batch.regs_of(step.accesses).iter().filter(|one| one.role == RegRole::Destination);
        let mut regs: Vec<_> = writes.map(|access| (access.reg, value(access))).collect();
        regs.sort_unstable();
        let mem = batch.mem_of(step.accesses).iter().map(|access| (access.address, access.size)).collect();
        let target = batch.extra_of(step).and_then(|extra| extra.target);
        all.push(Effects { at: (step.pc.unwrap(), step.encoding), regs, mem, target, next: None });
    }
    let first = all.iter().position(|one| one.at.0 == start).unwrap();
    all.split_off(first)
}

/// The golden model, set as Spike is, does the same; what Spike's log does not hold is the attempted instructions.
#[test]
fn a_golden_run_differs_in_what_spike_does_not_hold() {
    for (name, log) in [("rv32-atomic", "rv32-atomic.log"), ("rv64-sv39", "rv64-sv39.log")] {
        let Some(bytes) = spike(log) else { return };
        let golden = common::golden(&format!("programs/riscv/elf/{name}.elf"), |config| {
            (config.misaligned, config.ad_update) = (Misaligned::Trap, AdUpdate::Trap);
        });
        let (mut trace, mut batch, mut batches) = (open(&bytes), Batch::default(), Vec::new());
        let mut events = trace.events().unwrap();
        while events.fill(&mut batch).unwrap() {
            batches.push(batch.clone());
        }
        let (ours, theirs) = (effects(&golden.batches, 0x8000_0000), effects(&batches, 0x8000_0000));
        for (n, (one, other)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!((one.at, &one.regs, &one.mem), (other.at, &other.regs, &other.mem), "{name}: {n}");
            assert!(other.target.is_none() || one.next.is_none() || other.target == one.next, "{name}: {n}");
        }
        // Spike executes one more before it looks at the word that ends the run.
        assert!(theirs.len() - ours.len() <= 1, "{name}: {} and {}", theirs.len(), ours.len());
    }
}

/// QEMU's blocks expand to the instructions that it logs one by one.
#[test]
fn qemu_logs_hold_what_single_steps_say() {
    let folder = std::env::temp_dir().join(format!("trackway-qemu-log-{}", std::process::id()));
    for (part, qemu) in [("rv64gc", "qemu-riscv64"), ("aarch64", "qemu-aarch64")] {
        if std::process::Command::new(qemu).arg("--version").output().is_err() {
            trackway_testkit::skipped(&format!("no {qemu}"));
            continue;
        }
        let Some(run) = trackway_testkit::qemu::Run::corpus(part, "qsortmix") else { return };
        std::fs::create_dir_all(&folder).unwrap();
        let elf = folder.join("program.elf");
        std::fs::write(&elf, &run.elf).unwrap();
        std::fs::set_permissions(&elf, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let log = |name: &str, options: &[&str]| {
            let path = folder.join(name);
            let program = ["-D", path.to_str().unwrap(), elf.to_str().unwrap(), "60"];
            let mut command = std::process::Command::new(qemu);
            command.env_clear().args(["-seed", "1"]).args(options).args(program).output().unwrap();
            path
        };
        let single = std::fs::read_to_string(log("single", &["-singlestep", "-d", "exec,nochain"])).unwrap();
        let single: Vec<u64> = single
            .lines()
            .map(|line| u64::from_str_radix(line.split('/').nth(1).unwrap(), 16).unwrap())
            .collect();
        for (name, items) in [("blocks", "exec,nochain"), ("listed", "in_asm,exec,nochain")] {
            let path = log(name, &["-d", items]);
            let options = Options::default();
            let listed = name == "listed";
            let options = if listed { options } else { options.elf(elf.display().to_string()) };
            let found = pcs(&mut options.open(&path).unwrap());
            assert!(
                single.len() > 50_000 && found == single,
                "{part} {name}: {} of {}",
                found.len(),
                single.len()
            );
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}
