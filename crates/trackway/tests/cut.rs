//! Cutting traces, for every format: parts join to the same trace, slices are legal, work items see every event once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use trackway::cut::{self, By, Origin, Provenance, Selection, WorkItem};
use trackway::events::{Batch, Gap, GapReason, Meta, Source, SplitMix64};
use trackway::format::{Program, Settings, Writing};
use trackway::io::Target;
use trackway::{ConvertOptions, FORMATS, Options, Trace, convert_with};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, RecordOptions, Recorder};
use trackway_testkit::lines::{Lines, filled};

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("trackway-cut-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// An empty folder in it.
    fn fresh(&self, name: &str) -> PathBuf {
        let folder = self.0.join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it cannot be removed, it is in the system's own temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A trace, and how to open it.
struct Sample {
    path: PathBuf,
    options: Options,
}

impl Sample {
    fn open(&self) -> Trace {
        self.options.open(&self.path).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()))
    }
}

fn batches(source: &mut dyn Source) -> Vec<Batch> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    while source.fill(&mut batch).unwrap() {
        all.push(batch.clone());
    }
    all
}

/// Runs of a program on each architecture: its ELF file and its events.
fn runs(limit: u64, rounds: usize) -> [(PathBuf, Meta, Vec<Batch>); 2] {
    let elf = file("programs/riscv/elf/rv64-mix.elf");
    let program = trackway_hart::Program::read(&std::fs::read(&elf).unwrap()).unwrap();
    let config = MachineConfig { ram: 1 << 20, ..MachineConfig::new(Config::new(program.isa)) };
    let mut machine = Machine::new(config, &program).unwrap();
    machine.leave_rom();
    let options = RecordOptions { limit, ..RecordOptions::default() };
    let mut recorder = Recorder::new(trackway_hart::Target::Machine(Box::new(machine)), options);
    let riscv = (elf, recorder.meta().clone(), batches(&mut recorder));
    let mut trace = Trace::open(file("testdata/astf/sort.astf")).unwrap();
    let once = batches(&mut *trace.events().unwrap());
    let mut gap = Batch::default();
    gap.push_gap(0, Gap::new(GapReason::Filtered));
    let again = (0..rounds).flat_map(|_| once.iter().chain([&gap]).cloned()).collect();
    [riscv, (file("programs/aarch64/sort.elf"), trace.meta().clone(), again)]
}

/// A trace of every format.
fn written(folder: &Path, limit: u64, rounds: usize) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (n, (elf, meta, batches)) in runs(limit, rounds).into_iter().enumerate() {
        for format in FORMATS {
            let program = Program { elf: vec![elf.display().to_string()], raw: Vec::new() };
            let path = folder.join(format!("trace-{n}.{}", format.extensions()[0]));
            let target = Target::new(&path);
            let mut settings = Settings::default();
            if format.id().as_str() == "stf" {
                settings.set("stf", "chunk", 4096);
            }
            let writing =
                Writing { target: target.clone(), settings: &settings, program: &program, threads: 1 };
            let Ok(mut sink) = format.create(writing, &meta) else { continue };
            batches.iter().for_each(|batch| sink.put(batch).unwrap());
            sink.finish().unwrap();
            target.commit().unwrap();
            samples.push(Sample { path, options: Options { program, ..Options::default() } });
        }
    }
    samples
}

/// The traces of the repository.
fn golden() -> Vec<Sample> {
    let mut samples: Vec<Sample> =
        ["stf/sort/trace.stf", "stf/everything/trace.stf", "astf/levels.astf", "astf/sort.astf"]
            .iter()
            .chain(&[
                "astf/example/example-lzma.astf",
                "astf/example/example-zlib.astf",
                "tandem/sort/trace.tv",
                "ete/count",
            ])
            .map(|path| Sample { path: file(&format!("testdata/{path}")), options: Options::default() })
            .collect();
    for case in std::fs::read_dir(file("testdata/etrace")).unwrap().flatten().map(|case| case.path()) {
        let settings = Settings::read(&case.join("config.toml")).unwrap();
        samples.push(Sample { path: case.join("input"), options: Options::default().settings(settings) });
    }
    samples
}

/// Traces of the corpus.
fn corpus() -> Vec<Sample> {
    let Some(corpus) = trackway_testkit::corpus() else { return Vec::new() };
    let mut found = Vec::new();
    for name in ["bugfix-exact-match", "juno_r1_1", "ete_spec_1", "trace_file_cid_vmid", "tme_simple"] {
        found.push(corpus.join("ete").join(name));
    }
    found.retain(|path| path.exists());
    found.into_iter().map(|path| Sample { path, options: Options::default() }).collect()
}

/// The rules that a trace breaks.
fn findings(trace: &mut Trace) -> BTreeSet<&'static str> {
    let mut rules = BTreeSet::new();
    trace
        .check(&mut |finding| {
            rules.insert(finding.rule.name);
        })
        .unwrap();
    rules
}

fn events(trace: &mut Trace) -> Vec<String> {
    filled(&mut *trace.events().unwrap())
}

/// Events without the offsets of their items.
fn unplaced(lines: Vec<String>) -> Vec<String> {
    lines
        .into_iter()
        .map(|line| line.split_once(' ').map_or(String::new(), |(_, rest)| rest.to_string()))
        .collect()
}

/// Opens a part: settings are beside it, or those of the whole.
fn open_part(sample: &Sample, path: &Path) -> Trace {
    let beside = Settings::beside_trace(path).unwrap().filter(|settings| !settings.table.is_empty());
    let settings = beside.or(sample.options.settings.clone());
    let options = Options { settings, ..sample.options.clone() };
    options.open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn parts_join_to_the_same_trace() {
    let folder = Folder::new("parts");
    let mut random = SplitMix64(1);
    for sample in written(&folder.0, 6_000, 12).into_iter().chain(golden()).chain(corpus()) {
        let mut trace = sample.open();
        let name = sample.path.display();
        let (whole, broken) = (unplaced(events(&mut sample.open())), findings(&mut trace));
        for round in 0..4 {
            let parts = folder.fresh("parts");
            let count = [1, 2, 5, 12][round];
            let seed = random.next_u64();
            let places = |size: u64| {
                let mut random = SplitMix64(seed);
                let mut places: Vec<u64> = (1..count).map(|_| random.below(size.max(1))).collect();
                places.sort_unstable();
                places
            };
            let split = cut::split_at(&trace, &parts, sample.open().settings(), places)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut traces: Vec<Trace> = split.parts.iter().map(|path| open_part(&sample, path)).collect();
            for part in &mut traces {
                let found = findings(part);
                let more: Vec<_> = found.difference(&broken).collect();
                assert!(more.is_empty(), "{name}: {:?} breaks {more:?}", part.path());
            }
            // In any order.
            traces.reverse();
            let out = parts.join(sample.path.file_name().unwrap());
            let target = Target::new(&out);
            let format = Some(sample.open().format());
            let options = ConvertOptions { into: format, ..ConvertOptions::default() };
            let merged = cut::merge(traces, &target, &options, By::Place, |_, _| {})
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            merged.commit().unwrap();
            let joined = unplaced(events(&mut open_part(&sample, &out)));
            assert!(joined == whole, "{name} in {} parts", split.parts.len());
        }
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let folder = Folder::new("misfits");
    let samples = written(&folder.0, 3_000, 8);
    let sample = &samples[0];
    let split = |name: &str, parts: usize, sample: &Sample| {
        let trace = sample.open();
        cut::split(&trace, &folder.fresh(name), parts, trace.settings()).unwrap().parts
    };
    let merge = |paths: &[&PathBuf]| {
        let traces = paths.iter().map(|path| open_part(sample, path)).collect();
        let target = Target::new(folder.0.join("out.stf"));
        let merged = cut::merge(traces, &target, &ConvertOptions::default(), By::Place, |_, _| {});
        merged.map(|merged| merged.commit().unwrap()).map_err(|error| error.to_string())
    };
    let (three, two) = (split("three", 3, sample), split("two", 2, sample));
    assert_eq!((three.len(), two.len()), (3, 2));
    merge(&[&three[2], &three[0], &three[1]]).unwrap();
    assert_eq!(merge(&[&three[0], &three[2]]).unwrap_err(), "part 2 of 3 is missing");
    assert_eq!(merge(&[&three[0], &three[1]]).unwrap_err(), "part 3 of 3 is missing");
    assert!(merge(&[&three[0], &three[0], &three[1]]).unwrap_err().contains("part 1 is there twice"));
    assert!(merge(&[&two[0], &three[1]]).unwrap_err().contains("one of 3 parts"));
    let other =
        split("other", 2, &Sample { path: file("testdata/stf/sort/trace.stf"), options: Options::default() });
    assert!(merge(&[&two[0], &other[1]]).unwrap_err().contains("it is of trace.stf"));
    assert!(merge(&[&sample.path]).unwrap_err().contains("does not say which part"));
    // One that was changed.
    let mut bytes = std::fs::read(&other[1]).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&other[1], bytes).unwrap();
    assert!(merge(&[&other[0], &other[1]]).unwrap_err().contains("do not add up"));
}

/// Writes a slice; its ledger is proved.
fn slice(sample: &Sample, selection: Selection, out: &Path) -> Trace {
    let mut trace = sample.open();
    let selection = selection.checked().unwrap();
    let of = Origin::of(&trace).unwrap();
    let part = Some((selection.clone(), Provenance::Slice { of, selection }));
    let mut settings = trace.settings().clone();
    settings.set("astf", "allow_nonconforming", true);
    let options = ConvertOptions {
        into: Some(trace.format()),
        settings: Some(settings),
        part,
        ..ConvertOptions::default()
    };
    let target = Target::new(out);
    let sliced = convert_with(&mut trace, &target, &options, |_, _| {})
        .unwrap_or_else(|error| panic!("{}: {error}", out.display()));
    assert_eq!(sliced.proved, Some(true), "{}: {:?}", out.display(), sliced.reasons);
    sliced.commit().unwrap();
    open_part(sample, out)
}

/// Addresses of all instructions.
fn pcs(trace: &mut Trace) -> Vec<Option<u64>> {
    let mut steps = trace.steps().unwrap();
    let mut pcs = Vec::new();
    while let Some(step) = steps.next().unwrap() {
        pcs.push(step.pc);
    }
    pcs
}

#[test]
fn slices_are_legal_and_join() {
    let folder = Folder::new("slices");
    let mut random = SplitMix64(2);
    for sample in written(&folder.0, 3_000, 6) {
        let name = sample.path.display();
        let (whole, broken) = (pcs(&mut sample.open()), findings(&mut sample.open()));
        let count = whole.len() as u64;
        let format = sample.open().format();
        let end = format.extensions()[0];
        for round in 0..4 {
            let out = folder.fresh("out");
            let mut cuts = [random.below(count - 2) + 1, random.below(count - 2) + 1];
            cuts.sort_unstable();
            let [from, to] = if cuts[0] < cuts[1] { cuts } else { [1, count - 1] };
            let check = |selection: Selection, file: &str, expected: &[&[Option<u64>]]| {
                let path = out.join(format!("{file}.{end}"));
                let mut sliced = slice(&sample, selection.clone(), &path);
                let more: Vec<_> = findings(&mut sliced).difference(&broken).copied().collect();
                assert!(more.is_empty(), "{name} {selection:?} breaks {more:?}");
                assert!(Provenance::of(&sliced).is_some(), "{name}: no provenance");
                assert!(pcs(&mut sliced) == expected.concat(), "{name} {selection:?}");
                path
            };
            let [a, b] = [from as usize, to as usize];
            let paths = [
                check(Selection::range(0, from), "a", &[&whole[..a]]),
                check(Selection::range(from, to), "b", &[&whole[a..b]]),
                check(Selection::range(to, count), "c", &[&whole[b..]]),
            ];
            let two = Selection { ranges: vec![(0, from), (to, count)], ..Selection::default() };
            check(two, "two", &[&whole[..a], &whole[b..]]);
            if round == 0 {
                let sample = Selection { sample: Some((500, 100)), ..Selection::default() };
                let kept: Vec<&[Option<u64>]> =
                    whole.chunks(500).map(|chunk| &chunk[..chunk.len().min(100)]).collect();
                check(sample, "sampled", &kept);
            }
            let traces = [2, 0, 1].iter().map(|&n: &usize| open_part(&sample, &paths[n])).collect();
            let joined = out.join(format!("joined.{end}"));
            let target = Target::new(&joined);
            let mut settings = Settings::default();
            settings.set("astf", "allow_nonconforming", true);
            let options =
                ConvertOptions { into: Some(format), settings: Some(settings), ..ConvertOptions::default() };
            let merged = cut::merge(traces, &target, &options, By::Place, |_, _| {})
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            merged.commit().unwrap();
            assert!(pcs(&mut open_part(&sample, &joined)) == whole, "{name}: joined");
        }
    }
}

#[test]
fn work_items_see_every_event_once() {
    let folder = Folder::new("items");
    for sample in written(&folder.0, 20_000, 60).into_iter().chain(golden()).chain(corpus()) {
        let name = sample.path.display();
        let whole = events(&mut sample.open());
        for parts in [1, 3, 8] {
            let plan = cut::plan(&sample.open(), parts).unwrap();
            assert!(!plan.items.is_empty() && plan.items.len() <= parts, "{name}");
            assert!(plan.items.len() == parts || plan.why.is_some(), "{name}: why?");
            if plan.items[0].damaged {
                continue;
            }
            let mut lines = Lines::default();
            for item in &plan.items {
                // As a scheduler passes it on.
                let text = serde_json::to_string(item).unwrap();
                let item: WorkItem = serde_json::from_str(&text).unwrap();
                let mut source = sample.open().events().unwrap();
                let counts =
                    item.observe(&mut *source, &mut lines).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(counts.instructions, item.instructions);
            }
            assert!(lines.0 == whole, "{name} in {} items", plan.items.len());
        }
    }
}
