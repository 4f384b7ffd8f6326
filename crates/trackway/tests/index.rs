//! The index: made for every format, used for every position, and never believed where it does not belong.

mod common;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use trackway::cut::{Origin, Provenance, Selection};
use trackway::events::{Batch, Context, Count, EventKind, Input, Isa, Observer, Saved, Source, SplitMix64};
use trackway::format::{Format, Opening, Program, Settings, Writing};
use trackway::index::{Builder, Cache, Fault, Index, Part, beside};
use trackway::io::Target;
use trackway::{
    Before, ConvertOptions, FORMATS, Indexing, Options, Position, Prove, Trace, convert_with, read_in_groups,
};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, RecordOptions, Recorder};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trackway-index-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn cache(&self) -> Cache {
        Cache { folder: self.0.join("cache"), failed: None }
    }

    fn cached(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.0.join("cache")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn repo(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Settings of outputs that are not compressed.
fn plain_settings() -> Settings {
    let mut settings = Settings::default();
    settings.set("stf", "container", "plain");
    settings.set("astf", "container", "raw");
    settings
}

/// A trace in `format`, if it can hold the events.
fn written(
    folder: &Folder,
    format: &'static dyn Format,
    elf: &Path,
    meta: &trackway::events::Meta,
    batches: &[Batch],
) -> Option<(PathBuf, Options)> {
    written_with(folder, format, elf, meta, batches, &plain_settings())
}

fn written_with(
    folder: &Folder,
    format: &'static dyn Format,
    elf: &Path,
    meta: &trackway::events::Meta,
    batches: &[Batch],
    settings: &Settings,
) -> Option<(PathBuf, Options)> {
    let path = folder.0.join(format!("{}.{}", format.id(), format.extensions()[0]));
    let program = Program { elf: vec![elf.display().to_string()], ..Program::default() };
    let target = Target::new(&path);
    let writing = Writing { target: target.clone(), settings, program: &program, threads: 1 };
    let mut sink = format.create(writing, meta).ok()?;
    batches.iter().for_each(|batch| sink.put(batch).unwrap());
    sink.finish().unwrap();
    target.commit().unwrap();
    Some((path, Options { program, ..Options::default() }))
}

/// A run of `rv64-mix`.
fn recorder(limit: u64) -> (PathBuf, Recorder) {
    recorder_of("rv64-mix", limit)
}

fn recorder_of(name: &str, limit: u64) -> (PathBuf, Recorder) {
    let elf = repo(&format!("programs/riscv/elf/{name}.elf"));
    let program = trackway_hart::Program::read(&std::fs::read(&elf).unwrap()).unwrap();
    let config = MachineConfig { ram: 1 << 20, ..MachineConfig::new(Config::new(program.isa)) };
    let mut machine = Machine::new(config, &program).unwrap();
    machine.leave_rom();
    let options = RecordOptions { limit, ..RecordOptions::default() };
    (elf, Recorder::new(trackway_hart::Target::Machine(Box::new(machine)), options))
}

fn batches(source: &mut dyn Source) -> Vec<Batch> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    while source.fill(&mut batch).unwrap() {
        all.push(batch.clone());
    }
    all
}

/// A trace of every format, with its distance between checkpoints.
fn samples(folder: &Folder) -> Vec<(PathBuf, Options, u64)> {
    let (elf, mut recorder) = recorder(100_000);
    let (meta, run) = (recorder.meta().clone(), batches(&mut recorder));
    let mut sort = Trace::open(repo("testdata/astf/sort.astf")).unwrap();
    let arm = batches(&mut *sort.events().unwrap());
    let long: Vec<Batch> = (0..200).flat_map(|_| arm.clone()).collect();
    let samples = FORMATS.iter().filter(|format| format.is_written()).map(|format| {
        let made = written(folder, *format, &elf, &meta, &run).map(|(path, options)| (path, options, 4000));
        made.or_else(|| {
            let elf = repo("programs/aarch64/sort.elf");
            let made = written(folder, *format, &elf, sort.meta(), &long);
            made.map(|(path, options)| (path, options, 500))
        })
        .or_else(|| {
            let run = common::arm(100);
            let path = folder.0.join("perf.data");
            std::fs::write(&path, common::perf::recording(format.id().as_str(), &run, 1)?).unwrap();
            Some((path, Options::default().elf(run.elf.display().to_string()), 500))
        })
        .unwrap_or_else(|| panic!("{} holds neither run", format.title()))
    });
    samples.collect()
}

/// Events with the number of their first instruction, from instruction `n` on, and the context before the first batch.
fn lines_from(trace: &mut Trace, n: u64) -> (Vec<String>, Context, u64) {
    let mut source = trace.events().unwrap();
    let first = source.seek(n).unwrap();
    let context = source.context();
    (lines_of(&mut *source), context, first)
}

/// The events that are left, likewise.
fn lines_of(source: &mut dyn Source) -> Vec<String> {
    let (mut lines, mut batch) = (Vec::new(), Batch::default());
    while source.fill(&mut batch).unwrap() {
        let mut number = batch.first_instruction;
        for event in &batch.events {
            let mut line = format!("{number} ");
            batch.write_line(event, &mut line);
            lines.push(line);
            number += event.kind.instructions();
        }
    }
    lines
}

fn off(options: &Options) -> Options {
    Options { index: Indexing::Off, ..options.clone() }
}

#[test]
fn a_seek_delivers_the_rest_in_every_format() {
    let folder = Folder::new("seek");
    for (path, options, distance) in samples(&folder) {
        let what = path.display();
        let (all, _, _) = lines_from(&mut off(&options).open(&path).unwrap(), 0);
        for threads in [1, 2] {
            let mut trace = options.clone().threads(threads).open(&path).unwrap();
            let (index, health) = trace.make_index(Some(distance), |_, _| {}).unwrap();
            let part = index.sources.values().next().unwrap();
            assert!(part.is_complete && part.checkpoints.len() > 3, "{what}: {}", part.checkpoints.len());
            assert_eq!(part.all.instructions, health.counts.instructions, "{what}");
            assert!(part.checkpoints.iter().all(|one| one.machine().is_some()), "{what}");
            trace.set_index(index.clone()).unwrap();
            let count = health.counts.instructions;
            for n in [3 * distance, count / 3, count / 2, count - 1, count + 5] {
                let (rest, context, first) = lines_from(&mut trace, n);
                assert!(first <= n && n - first <= part.widest() + 5, "{what}: {first} for {n}");
                assert!(all.ends_with(&rest), "{what}: other events from {n} on");
                // Batches of flow formats are long: the first place may come later.
                assert!(first > 0 || part.at_or_before(n).is_none(), "{what}");
                let expected = part.at_or_before(n).map_or(Context::default(), |one| one.saved.context);
                assert_eq!(context, expected, "{what}");
            }
            assert_eq!(trace.instructions().unwrap(), count);
        }
    }
}

/// A run that changes its context often, as a ZSTF file with chunks of 100 instructions and as a log in small parts.
fn parts(folder: &Folder) -> [(PathBuf, Options); 2] {
    let (elf, mut recorder) = recorder_of("rv64-sv39-extra", 20_000);
    let (meta, run) = (recorder.meta().clone(), batches(&mut recorder));
    let mut settings = Settings::default();
    settings.set("stf", "container", "zstf");
    settings.set("stf", "chunk", 100);
    ["stf", "spike"].map(|id| {
        let format = FORMATS.iter().find(|format| format.id().as_str() == id).unwrap();
        let (path, options) = written_with(folder, *format, &elf, &meta, &run, &settings).unwrap();
        (path, Options { part: (id == "spike").then_some(8 << 10), ..options })
    })
}

#[test]
fn parts_on_threads_have_the_places_of_one_thread() {
    let folder = Folder::new("chunks");
    for (path, options) in parts(&folder) {
        parts_of_one(&path, &options);
    }
}

fn parts_of_one(path: &Path, options: &Options) {
    let open = |threads| off(options).threads(threads).open(path).unwrap();
    assert!(open(2).events().unwrap().places_parts(), "{}", path.display());
    let (index, _) = open(2).make_index(Some(300), |_, _| {}).unwrap();
    let (mut source, mut places) = (open(2).events().unwrap(), Places::default());
    while source.observe(&mut places).unwrap() {}

    let mut plain = open(1);
    let mut source = plain.events().unwrap();
    let (mut machine, mut context) = (trackway::machine::Machine::new(Isa::Rv64), Context::default());
    let mut at: Vec<(trackway::machine::Machine, Context)> = Vec::new();
    for batch in batches(&mut *source) {
        for event in &batch.events {
            if event.kind.instructions() > 0 {
                at.push((machine.clone(), context));
            }
            machine.apply(
                &batch,
                event,
                at.len().saturating_sub(usize::from(event.kind.instructions() > 0)) as u64,
            );
            if let EventKind::Context(n) = event.kind {
                context.update(&batch.contexts[n as usize]);
            }
        }
    }
    let contexts: std::collections::HashSet<String> =
        at.iter().map(|(_, context)| format!("{context:?}")).collect();
    assert!(contexts.len() > 2);
    let whole = &index.sources.values().next().unwrap().checkpoints;
    assert!(whole.len() > 4 && places.0.len() > whole.len(), "{} and {}", whole.len(), places.0.len());
    for saved in whole
        .iter()
        .map(|one| &one.saved)
        .chain(&places.0)
        .filter(|saved| saved.instruction < at.len() as u64)
    {
        assert_eq!(saved.context, at[saved.instruction as usize].1, "at {}", saved.instruction);
    }
    for one in whole {
        assert_eq!(one.machine().as_ref(), Some(&at[one.saved.instruction as usize].0));
    }
}

/// Opening a log reads all of it for its cores and trap vectors; an index spares the next one that.
#[test]
fn an_index_holds_the_survey_of_a_log() {
    let folder = Folder::new("survey");
    let log = |core: u32, n: u64| format!("core   {core}: 3 0x{:016x} (0x00000013)\n", 0x8000_0000 + 4 * n);
    let path = folder.0.join("two.log");
    let lines: String = (0..20_000).map(|n| log(u32::from(n > 15_000 && n % 2 == 0), n)).collect();
    std::fs::write(&path, &lines).unwrap();
    let options = Options::default();
    let (index, _, _) = options.open(&path).unwrap().write_index(|_, _| {}).unwrap();
    let survey = index.survey.clone().unwrap();
    let mut indexed = options.open(&path).unwrap();
    assert_eq!(indexed.meta().sources, ["core 0", "core 1"]);
    assert_eq!(indexed.index().unwrap().survey, Some(survey.clone()));
    for source in ["1", "core 1"] {
        let one = Options { source: Some(source.into()), ..options.clone() };
        let mut batch = Batch::default();
        assert!(one.open(&path).unwrap().events().unwrap().fill(&mut batch).unwrap(), "{source}");
    }
    // A survey is believed, so that it has to be one of this very file; bytes that are none are not.
    let bytes: String = (0..10).map(|n| log(0, n)).collect();
    for (surveyed, sources) in [(Some(survey), 2), (None, 0), (Some(vec![0xff; 9]), 0)] {
        let file = trackway::io::File {
            surveyed,
            ..trackway::io::File::from_input(Input::from_vec(bytes.clone().into())).unwrap()
        };
        let opening = Opening {
            file,
            settings: Settings::default(),
            program: Program::default(),
            threads: 1,
            part: None,
            force: false,
            strict: false,
            source: None,
            cancel: Default::default(),
        };
        let format = FORMATS.iter().find(|format| format.id().as_str() == "spike").unwrap();
        assert_eq!(format.open(opening).unwrap().meta().sources.len(), sources);
    }
}

/// Parts of a flow trace end at places too, which are those of the index that commands make on the way.
#[test]
fn parts_of_a_flow_trace_end_at_places() {
    let folder = Folder::new("flow-parts");
    let (elf, mut recorder) = recorder_of("rv64-sv39-extra", 60_000);
    let (meta, run) = (recorder.meta().clone(), batches(&mut recorder));
    let (path, options) = written(&folder, &trackway::etrace::FORMAT, &elf, &meta, &run).unwrap();
    let options = Options { part: Some(64), ..off(&options) };
    let all = lines_of(&mut *options.open(&path).unwrap().events().unwrap());
    let mut trace = options.clone().threads(2).open(&path).unwrap();
    let (mut source, mut places) = (trace.events().unwrap(), Places::default());
    while source.observe(&mut places).unwrap() {}
    assert!(places.0.len() > 10, "{}", places.0.len());
    for saved in &places.0 {
        for threads in [1, 2] {
            let mut source = options.clone().threads(threads).open(&path).unwrap().events().unwrap();
            assert!(source.restore(saved).unwrap());
            assert_eq!(source.context(), saved.context);
            let rest = lines_of(&mut *source);
            let next = format!("{} ", saved.instruction);
            assert!(all.ends_with(&rest) && rest.iter().any(|line| line.starts_with(&next)), "{saved:?}");
        }
    }

    // An index that is made on the way, with checkpoints as far apart as parts.
    let mut builder = Builder::new(trace.meta(), false).with_distance(100);
    let mut source = trace.events().unwrap();
    while source.observe(&mut builder).unwrap() {}
    drop(source);
    let index = builder.finish(true);
    let part = index.sources.values().next().unwrap().clone();
    assert!(part.checkpoints.len() > 5, "{}", part.checkpoints.len());
    let mut trace = Options { index: Indexing::Beside, ..options }.threads(2).open(&path).unwrap();
    trace.set_index(index).unwrap();
    let (rest, _, first) = lines_from(&mut trace, part.all.instructions / 2);
    assert!(first > 0 && all.ends_with(&rest), "{first}");
}

/// All places that a source says.
#[derive(Default)]
struct Places(Vec<Saved>);

impl Observer for Places {
    fn observe(&mut self, _: &Batch) {}

    fn place(&mut self, save: &mut dyn FnMut() -> Option<Saved>) {
        self.0.extend(save());
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Places::default())
    }

    fn merge(&mut self, _: Box<dyn Observer>) {}
}

#[test]
fn positions_are_the_same_with_and_without() {
    let folder = Folder::new("positions");
    for (path, options, distance) in samples(&folder) {
        let mut plain = off(&options).open(&path).unwrap();
        let mut trace = options.open(&path).unwrap();
        let (index, _) = trace.make_index(Some(distance), |_, _| {}).unwrap();
        let part = index.sources.values().next().unwrap().clone();
        trace.set_index(index).unwrap();
        let mut steps = plain.steps().unwrap();
        let mut pcs = Vec::new();
        while let Some(step) = steps.next().unwrap() {
            pcs.push(step.pc.unwrap());
        }
        let mut positions: Vec<Position> =
            pcs.iter().step_by(pcs.len() / 9).map(|pc| Position::Pc(*pc)).collect();
        positions.extend([Position::Pc(3), Position::End(1), Position::End(77), Position::Number(9)]);
        let tally = part.all.tally;
        for n in [0, 1, tally.traps / 2, tally.traps.saturating_sub(1), tally.traps] {
            positions.push(Position::Trap(n));
        }
        positions.extend([Position::Gap(0), Position::Mark(0), Position::Mark(tally.marks / 2)]);
        let times = [part.all.latest.unwrap_or(5), part.all.latest.unwrap_or(5) / 2, 0, u64::MAX];
        positions.extend(times.map(Position::Time));
        for position in positions {
            for after in [None, Some(10), Some(part.all.instructions / 2)] {
                let found = trace.locate(&position, after).map_err(|error| error.to_string());
                let wanted = plain.locate(&position, after).map_err(|error| error.to_string());
                assert_eq!(found, wanted, "{}: {position} after {after:?}", path.display());
            }
        }
        // A stretch that the sketch leaves out really has no such address.
        for stretch in part.stretches() {
            let range = stretch.before.instructions as usize..stretch.after.instructions as usize;
            assert!(pcs[range].iter().all(|pc| stretch.sketch.may_execute(&(*pc..pc + 1))));
        }
    }
}

/// A plain STF trace of 2 MB.
fn sample(folder: &Folder) -> (PathBuf, Options) {
    let (elf, mut recorder) = recorder(60_000);
    let meta = recorder.meta().clone();
    written(folder, &trackway::stf::FORMAT, &elf, &meta, &batches(&mut recorder)).unwrap()
}

/// The builder while a trace is read anyway: following the machine costs too much for that.
fn without_machine(mut part: Part) -> Part {
    part.all.depth = None;
    for checkpoint in &mut part.checkpoints {
        (checkpoint.machine, checkpoint.before.depth) = (None, None);
    }
    part
}

#[test]
fn an_index_is_made_on_the_way() {
    let folder = Folder::new("on-the-way");
    let (path, options) = sample(&folder);
    let slow =
        Options { index: Indexing::Cache(folder.cache(), Duration::from_secs(3600)), ..options.clone() };
    batches(&mut *slow.open(&path).unwrap().events().unwrap());
    assert!(folder.cached().is_empty(), "a trace that is read at once needs none");
    let options = Options { index: Indexing::Cache(folder.cache(), Duration::ZERO), ..options };
    let part = |index: &Index| index.sources.values().next().unwrap().clone();

    // As far as it was read.
    let mut source = options.open(&path).unwrap().events().unwrap();
    let mut batch = Batch::default();
    while batch.first_instruction < 30_000 {
        assert!(source.fill(&mut batch).unwrap());
    }
    drop(source);
    assert_eq!(folder.cached().len(), 1);
    let mut trace = options.open(&path).unwrap();
    let found = part(&trace.index().unwrap());
    assert!(!found.is_complete && found.checkpoints.len() == 1 && found.all.instructions >= 30_000);

    // It is continued from there.
    let mut source = trace.events().unwrap();
    assert_eq!(source.seek(50_000).unwrap(), found.checkpoints[0].saved.instruction);
    while source.fill(&mut batch).unwrap() {}
    drop(source);
    let continued = part(&options.open(&path).unwrap().index().unwrap());
    assert!(continued.is_complete && continued.checkpoints.len() == 3, "{}", continued.checkpoints.len());
    let whole = options.clone().threads(1).open(&path).unwrap().make_index(None, |_, _| {}).unwrap().0;
    assert_eq!(continued, without_machine(part(&whole)));

    // In parts, on threads.
    std::fs::remove_file(&folder.cached()[0]).unwrap();
    let mut trace = Options { part: Some(1 << 12), ..options.clone() }.threads(2).open(&path).unwrap();
    let mut source = trace.events().unwrap();
    let mut count = Count::default();
    while source.observe(&mut count).unwrap() {}
    drop(source);
    assert_eq!(count.0, 60_000);
    let in_parts = part(&options.open(&path).unwrap().index().unwrap());
    assert!(in_parts.is_complete && in_parts.all.instructions == 60_000);
    assert_eq!(in_parts.all.tally, continued.all.tally);

    // Nothing is made or used.
    std::fs::remove_file(&folder.cached()[0]).unwrap();
    batches(&mut *off(&options).open(&path).unwrap().events().unwrap());
    assert!(folder.cached().is_empty());
    let beside_only = Options { index: Indexing::Beside, ..options };
    batches(&mut *beside_only.open(&path).unwrap().events().unwrap());
    assert!(folder.cached().is_empty());
}

/// Nothing has to be known of the events before.
struct Alone;

impl Before for Alone {
    type State = ();

    fn state(&mut self) {}

    fn batch(&mut self, _: &Batch) {}
}

/// Threads that read in groups show the batches to the index themselves.
#[test]
fn an_index_is_made_in_groups() {
    let folder = Folder::new("in-groups");
    let (elf, mut recorder) = recorder(100_000);
    let (meta, run) = (recorder.meta().clone(), batches(&mut recorder));
    let formats: [(&'static dyn Format, bool); 2] =
        [(&trackway::stf::FORMAT, false), (&trackway::tandem::FORMAT, true)];
    for (format, damage) in formats {
        let (path, options) = written(&folder, format, &elf, &meta, &run).unwrap();
        if damage {
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle..middle + 64].fill(0xee);
            std::fs::write(&path, bytes).unwrap();
        }
        let options = Options { index: Indexing::Cache(folder.cache(), Duration::ZERO), ..options };
        let read = |threads: usize| {
            folder.cached().iter().for_each(|file| std::fs::remove_file(file).unwrap());
            let mut source = options.clone().threads(threads).open(&path).unwrap().events().unwrap();
            let (health, ended) = read_in_groups::<_, _, _, ()>(
                &mut *source,
                (threads, false),
                &mut Alone,
                |_, _| {},
                || (),
                |(), (), _| (),
                |()| Ok(()),
            );
            ended.unwrap();
            drop(source);
            let index = options.open(&path).unwrap().index().unwrap();
            (health, index.sources.values().next().unwrap().clone())
        };
        let (health, alone) = read(1);
        assert_eq!(health.errors > 0, damage);
        for threads in 2..4 {
            let (_, found) = read(threads);
            assert_eq!((found.all, found.is_complete), (alone.all, true), "{} {threads}", format.id());
            assert!(found.checkpoints.len() >= 3, "{}", found.checkpoints.len());
            // Each is where it says it is, and as many errors are before it.
            for checkpoint in &found.checkpoints {
                let mut trace = off(&options).open(&path).unwrap();
                let (mut source, mut batch, mut errors) = (trace.events().unwrap(), Batch::default(), 0);
                while source.save().is_none_or(|saved| saved.position < checkpoint.saved.position) {
                    if source.fill(&mut batch).is_err() {
                        errors += 1;
                        assert!(source.resync().unwrap());
                    }
                }
                assert_eq!(source.save().unwrap(), checkpoint.saved);
                assert_eq!(checkpoint.before.errors, errors);
            }
        }
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_reported() {
    static FAILED: AtomicBool = AtomicBool::new(false);
    let folder = Folder::new("no-cache");
    let (path, options) = sample(&folder);
    // A file where the folder should be.
    let cache = Cache { folder: path.clone(), failed: Some(|_, _| FAILED.store(true, Relaxed)) };
    let options = Options { index: Indexing::Cache(cache, Duration::ZERO), ..options };
    assert_eq!(options.open(&path).unwrap().instructions().unwrap(), 60_000);
    assert!(FAILED.load(Relaxed));
}

/// Slices of a trace begin with the state there, wherever it comes from.
#[test]
fn a_slice_is_the_same_with_and_without() {
    let folder = Folder::new("slices");
    for (path, options, distance) in samples(&folder) {
        let mut trace = options.open(&path).unwrap();
        let (index, health) = trace.make_index(Some(distance), |_, _| {}).unwrap();
        let mut plain = off(&options).open(&path).unwrap();
        trace.set_index(index).unwrap();
        let (into, name): (&'static dyn Format, _) = match trace.meta().isa {
            Isa::A64 => (&trackway::astf::FORMAT, "slice.astf"),
            _ => (&trackway::stf::FORMAT, "slice.stf"),
        };
        let slice = |trace: &mut Trace, from: u64| {
            let (target, selection) = (Target::new(folder.0.join(name)), Selection::range(from, from + 300));
            let of = Origin::of(trace).unwrap();
            let part = Some((selection.clone(), Provenance::Slice { of, selection }));
            let mut settings = plain_settings();
            settings.set("astf", "allow_nonconforming", true);
            let (into, settings, prove) = (Some(into), Some(settings), Prove::Never);
            let options = ConvertOptions { into, settings, prove, part, ..ConvertOptions::default() };
            convert_with(trace, &target, &options, |_, _| {}).unwrap().commit().unwrap();
            std::fs::read(folder.0.join(name)).unwrap()
        };
        let count = health.counts.instructions;
        for from in [distance + 5, count / 3, count / 2, count - 400] {
            assert!(slice(&mut trace, from) == slice(&mut plain, from), "{}: from {from}", path.display());
        }
    }
}

#[test]
fn an_index_of_something_else_is_not_believed() {
    let folder = Folder::new("identity");
    let (path, options) = sample(&folder);
    let (index, file, _) = options.open(&path).unwrap().write_index(|_, _| {}).unwrap();
    assert_eq!(file, beside(&path));
    assert!(
        std::fs::metadata(&file).unwrap().len() < std::fs::metadata(&path).unwrap().len() / 100 + (64 << 10)
    );
    assert_eq!(options.open(&path).unwrap().index().as_deref(), Some(&*index));
    let fault = |options: &Options, path: &Path| {
        let mut trace = options.open(path).unwrap();
        assert!(trace.index().is_none());
        trace.index_fault().unwrap().1
    };
    assert_eq!(
        fault(&Options { strict: true, ..options.clone() }, &path),
        Fault::Stale("it was made with other settings")
    );
    // The program matters where the path is followed through it, and only there.
    assert!(
        Options { program: Program::default(), ..options.clone() }.open(&path).unwrap().index().is_some()
    );
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let rom = folder.0.join("rom");
    std::fs::write(&rom, [0; 64]).unwrap();
    let raw = vec![format!("{}@0x40000000", rom.display())];
    let program = Program { raw, ..options.program.clone() };
    let flow = [options.clone(), Options { program, ..options.clone() }];
    let (_, mut recorder) = recorder(5_000);
    let (meta, run) = (recorder.meta().clone(), batches(&mut recorder));
    let (etrace, _) = written(&folder, &trackway::etrace::FORMAT, &elf, &meta, &run).unwrap();
    flow[0].open(&etrace).unwrap().write_index(|_, _| {}).unwrap();
    assert!(flow[0].open(&etrace).unwrap().index().is_some());
    assert_eq!(fault(&flow[1], &etrace), Fault::Stale("it was made with another program"));

    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(fault(&options, &path), Fault::Stale("the trace was written again since"));
    std::fs::write(&path, &bytes[..bytes.len() - 30]).unwrap();
    assert_eq!(fault(&options, &path), Fault::Stale("the trace has changed since"));
    std::fs::write(&file, b"something else, and long enough to be an index").unwrap();
    assert_eq!(fault(&options, &path), Fault::Foreign);
}

#[test]
fn a_damaged_index_changes_nothing() {
    let folder = Folder::new("damaged");
    let (path, options) = sample(&folder);
    let (_, file, _) = options.open(&path).unwrap().write_index(|_, _| {}).unwrap();
    let whole = std::fs::read(&file).unwrap();
    let (all, _, _) = lines_from(&mut off(&options).open(&path).unwrap(), 0);
    let mut random = SplitMix64(5);
    for round in 0..40 {
        let mut bytes = whole.clone();
        match round % 3 {
            0 => bytes.truncate(random.below(bytes.len() as u64) as usize),
            1 => bytes[random.below(whole.len() as u64) as usize] ^= 1 << random.below(8),
            _ => bytes.extend((0..1 + random.below(9)).map(|_| random.below(256) as u8)),
        }
        std::fs::write(&file, bytes).unwrap();
        let mut trace = options.open(&path).unwrap();
        assert!(trace.index().is_none() && trace.index_fault().is_some(), "round {round}");
        if round % 10 == 0 {
            assert!(lines_from(&mut trace, 50_000).0 == all, "round {round}");
        }
    }
}

#[test]
fn each_source_has_its_part() {
    let folder = Folder::new("sources");
    let count = folder.0.join("count");
    std::fs::create_dir(&count).unwrap();
    for entry in std::fs::read_dir(repo("testdata/ete/count")).unwrap().flatten() {
        std::fs::copy(entry.path(), count.join(entry.file_name())).unwrap();
    }
    let mut whole = Trace::open(&count).unwrap();
    let (index, _) = whole.make_index(Some(10), |_, _| {}).unwrap();
    assert_eq!(index.sources.keys().collect::<Vec<_>>(), ["ETE_0", "ETE_1"]);
    for name in ["ETE_0", "ETE_1"] {
        let options = Options { source: Some(name.into()), ..Options::default() };
        let (all, _, _) = lines_from(&mut off(&options).open(&count).unwrap(), 0);
        let mut trace = options.open(&count).unwrap();
        trace.set_index(index.clone()).unwrap();
        let (rest, _, first) = lines_from(&mut trace, u64::MAX);
        let places = index.sources[name].checkpoints.len();
        assert!(all.ends_with(&rest) && (first > 0) == (places > 0), "{name}: {first}, {places} places");
    }
}
