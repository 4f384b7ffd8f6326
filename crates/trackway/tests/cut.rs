//! Cutting traces, for every format: parts join to the same trace, slices are legal, work items see every event once.

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use common::{Run, arm, file, riscv};
use trackway::cut::{self, By, ContextIs, Origin, Provenance, Selection, WorkItem};
use trackway::events::{Context, EventKind, Fact, Fate, Item, SplitMix64};
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::Target;
use trackway::machine::{Content, Machine};
use trackway::{ConvertOptions, FORMATS, Options, Trace, convert_with};
use trackway_testkit::lines::Lines;

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

/// Seeds of the cuts of a sample: the first `count`, or those of `TRACKWAY_SEEDS=100..400`.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("TRACKWAY_SEEDS") else { return 0..count };
    let (from, to) = text.split_once("..").expect("TRACKWAY_SEEDS=FROM..TO");
    from.parse().unwrap()..to.parse().unwrap()
}

/// The random numbers of a seed.
fn random(seed: u64) -> SplitMix64 {
    SplitMix64(SplitMix64(seed).next_u64())
}

/// Writes a run, where the format holds it.
fn write(run: &Run, format: &'static dyn Format, path: PathBuf, settings: &Settings) -> Option<Sample> {
    let program = Program { elf: vec![run.elf.display().to_string()], ..Program::default() };
    let target = Target::new(&path);
    let writing = Writing { target: target.clone(), settings, program: &program, threads: 1 };
    let mut sink = format.create(writing, &run.meta).ok()?;
    run.batches.iter().for_each(|batch| sink.put(batch).unwrap());
    sink.finish().unwrap();
    target.commit().unwrap();
    Some(Sample { path, options: Options { program, ..Options::default() } })
}

/// A trace of every format.
fn written(folder: &Path, limit: u64, rounds: usize) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (n, run) in [riscv(limit), arm(rounds)].into_iter().enumerate() {
        for &format in FORMATS {
            let path = folder.join(format!("trace-{n}.{}", format.extensions()[0]));
            let mut settings = Settings::default();
            settings.set("stf", "chunk", 4096);
            samples.extend(write(&run, format, path, &settings));
        }
    }
    for format in FORMATS.iter().filter(|format| format.is_written()) {
        let is = |sample: &Sample| sample.path.extension().is_some_and(|end| end == format.extensions()[0]);
        assert!(samples.iter().any(is), "{} holds neither run", format.title());
    }
    samples
}

/// Traces of several sources: two trace units, and two harts in one stream.
fn several(folder: &Path) -> Vec<Sample> {
    let units = folder.join("units.ete");
    let traces =
        ["testdata/astf/sort.astf", "testdata/astf/levels.astf"].map(|path| Trace::open(file(path)).unwrap());
    let target = Target::new(&units);
    let merged = cut::merge(traces.into(), &target, &ConvertOptions::default(), By::Time, |_, _| {}).unwrap();
    merged.commit().unwrap();
    let (run, etrace) =
        (riscv(2_000), FORMATS.iter().find(|format| format.id().as_str() == "etrace").unwrap());
    let mut harts = Vec::new();
    for source in [1, 2] {
        let text = format!(
            "[etrace]\nframing = \"encap\"\nsrcid_width = 3\ntype_width = 2\n[etrace.encoder]\nsource = {source}\nresync_max = 3\n"
        );
        let config = folder.join("hart.toml");
        std::fs::write(&config, text).unwrap();
        let settings = Settings::read(&config).unwrap();
        let sample = write(&run, *etrace, folder.join(format!("hart-{source}.etrace")), &settings).unwrap();
        let (mut items, mut item, mut starts) = (sample.open().items().unwrap(), Item::default(), Vec::new());
        while items.next(&mut item).unwrap() {
            starts.push(item.offset as usize);
        }
        let bytes = std::fs::read(&sample.path).unwrap();
        starts.push(bytes.len());
        let packets: Vec<Vec<u8>> = starts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect();
        harts.push((packets, sample));
    }
    let [(one, sample), (two, _)] = <[_; 2]>::try_from(harts).ok().unwrap();
    let both: Vec<u8> = one.iter().zip(&two).flat_map(|(one, two)| [one.as_slice(), two].concat()).collect();
    let path = folder.join("harts.etrace");
    std::fs::write(&path, both).unwrap();
    let settings = Settings::beside_trace(&sample.path).unwrap();
    vec![
        Sample { path: units, options: Options::default() },
        Sample { path, options: Options { settings, ..sample.options } },
    ]
}

/// The traces of the repository.
fn golden() -> Vec<Sample> {
    let plain = |path: PathBuf| Sample { path, options: Options::default() };
    let mut samples: Vec<Sample> = [
        "stf/sort/trace.stf",
        "stf/everything/trace.stf",
        "astf/levels.astf",
        "astf/sort.astf",
        "astf/example/example-lzma.astf",
        "astf/example/example-zlib.astf",
        "tandem/sort/trace.tv",
        "ete/count",
    ]
    .iter()
    .map(|path| plain(file(&format!("testdata/{path}"))))
    .collect();
    for case in folders(&file("testdata/etrace")) {
        let settings = Settings::read(&case.join("config.toml")).unwrap();
        samples.push(Sample { path: case.join("input"), options: Options::default().settings(settings) });
    }
    samples
}

/// The files of a folder, in order.
fn folders(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(path).unwrap().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The traces of the corpus that can be read to their end.
fn corpus() -> Vec<Sample> {
    let Some(corpus) = trackway_testkit::corpus() else { return Vec::new() };
    let mut samples = Vec::new();
    for folder in
        ["stf", "astf", "tandem/own", "ete"].map(|name| corpus.join(name)).iter().filter(|path| path.exists())
    {
        samples.extend(folders(folder).into_iter().map(|path| Sample { path, options: Options::default() }));
    }
    for case in folders(&corpus.join("etrace")) {
        let Ok(settings) = Settings::read(&case.join("params.toml")) else { continue };
        samples.push(Sample { path: case.join("trace.bin"), options: Options::default().settings(settings) });
    }
    samples.retain(|sample| {
        let Ok(mut trace) = sample.options.open(&sample.path) else { return false };
        let (mut batch, mut count) = (Default::default(), 0);
        let Ok(mut source) = trace.events() else { return false };
        while let Ok(more) = source.fill(&mut batch) {
            count += batch.instructions();
            if !more || count > 20_000 {
                return !more && count > 0;
            }
        }
        false
    });
    samples
}

/// All of them.
fn samples(folder: &Path) -> Vec<Sample> {
    let written = written(folder, 4_000, 8).into_iter();
    written.chain(several(folder)).chain(golden()).chain(corpus()).collect()
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

/// Events, with the number of their source.
fn events(trace: &mut Trace) -> Vec<String> {
    let mut source = trace.events().unwrap();
    let (mut lines, mut batch) = (Vec::new(), Default::default());
    loop {
        match source.fill(&mut batch) {
            Ok(false) => return lines,
            Ok(true) => lines.extend(batch.events.iter().map(|event| {
                let mut line = format!("{} ", batch.source);
                batch.write_line(event, &mut line);
                line
            })),
            Err(error) => {
                lines.push(error.to_string());
                if !source.resync().unwrap_or(false) {
                    return lines;
                }
            }
        }
    }
}

/// Events without the offsets of their items.
fn unplaced(lines: Vec<String>) -> Vec<String> {
    let words = |line: String| match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
        [source, _, rest] => format!("{source} {rest}"),
        _ => line.clone(),
    };
    lines.into_iter().map(words).collect()
}

/// Opens a part, or a slice of one source: settings are beside it, or those of the whole.
fn open_part(sample: &Sample, path: &Path) -> Trace {
    let beside = Settings::beside_trace(path).unwrap().filter(|settings| !settings.table.is_empty());
    let settings = beside.or(sample.options.settings.clone());
    let options = Options { settings, source: None, ..sample.options.clone() };
    options.open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn parts_join_to_the_same_trace() {
    let folder = Folder::new("parts");
    for sample in samples(&folder.0) {
        let mut trace = sample.open();
        let name = sample.path.display();
        let (whole, broken) = (unplaced(events(&mut sample.open())), findings(&mut trace));
        for seed in seeds(3) {
            let parts = folder.fresh("parts");
            let places = |size: u64| {
                let mut random = random(seed);
                let count = random.below(12);
                let mut places: Vec<u64> = (0..count).map(|_| random.below(size.max(1))).collect();
                places.sort_unstable();
                places
            };
            let split = cut::split_at(&trace, &parts, sample.open().settings(), places)
                .unwrap_or_else(|error| panic!("{name}, seed {seed}: {error}"));
            let mut traces: Vec<Trace> = split.parts.iter().map(|path| open_part(&sample, path)).collect();
            for part in &mut traces {
                let mut found = findings(part);
                // The note that it is a part.
                found.remove("stf.part");
                let more: Vec<_> = found.difference(&broken).collect();
                assert!(more.is_empty(), "{name}, seed {seed}: {:?} breaks {more:?}", part.path());
            }
            // In any order.
            traces.reverse();
            let out = parts.join(sample.path.file_name().unwrap());
            let target = Target::new(&out);
            let format = Some(sample.open().format());
            let options = ConvertOptions { into: format, ..ConvertOptions::default() };
            let merged = cut::merge(traces, &target, &options, By::Place, |_, _| {})
                .unwrap_or_else(|error| panic!("{name}, seed {seed}: {error}"));
            merged.commit().unwrap();
            let joined = unplaced(events(&mut open_part(&sample, &out)));
            assert!(joined == whole, "{name}, seed {seed}, in {} parts", split.parts.len());
        }
    }
}

/// A copy in the same format has the same bytes inside its container.
#[test]
fn copies_are_exact() {
    let folder = Folder::new("copies");
    for sample in samples(&folder.0) {
        let (mut trace, name) = (sample.open(), sample.path.display());
        let out = folder.fresh("copy").join(sample.path.file_name().unwrap());
        let target = Target::new(&out);
        let options = ConvertOptions { into: Some(trace.format()), ..ConvertOptions::default() };
        let copied = convert_with(&mut trace, &target, &options, |_, _| {})
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_ne!(copied.proved, Some(false), "{name}: {:?}", copied.reasons);
        copied.commit().unwrap();
        let bytes = |trace: &mut Trace| -> Vec<u8> {
            (*trace.bytes().unwrap().read_whole().unwrap()).as_ref().to_vec()
        };
        assert!(bytes(&mut sample.open()) == bytes(&mut open_part(&sample, &out)), "{name}");
    }
}

#[test]
fn a_spike_log_is_cut_between_instructions() {
    let folder = Folder::new("spike");
    let spike = *FORMATS.iter().find(|format| format.id().as_str() == "spike").unwrap();
    let path = folder.0.join("trace.spike");
    let sample = write(&riscv(3_000), spike, path, &Settings::default()).unwrap();
    let split = |sample: &Sample, name: &str| {
        let trace = sample.open();
        cut::split(&trace, &folder.fresh(name), 4, trace.settings()).unwrap()
    };
    let four = split(&sample, "four");
    assert_eq!((four.parts.len(), &four.why), (4, &None));
    let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
    let parts: Vec<String> = four.parts.iter().map(read).collect();
    let whole = read(&sample.path);
    assert!(parts.concat() == whole);
    for part in &parts {
        assert!(part.len() > whole.len() / 5 && part.starts_with("core   0: "), "{}", &part[..60]);
    }
    let count = |path: &Path| {
        let (mut source, mut batch) = (open_part(&sample, path).events().unwrap(), Default::default());
        let mut count = 0;
        while source.fill(&mut batch).unwrap() {
            count += batch.instructions();
        }
        count
    };
    assert_eq!(four.parts.iter().map(|path| count(path)).sum::<u64>(), count(&sample.path));
    // Two cores: the lines of one lie between those of the other.
    let line = |line: &str| format!("{line}\n{}\n", line.replace("core   0", "core   1"));
    let both: String = whole.lines().map(line).collect();
    std::fs::write(&sample.path, both).unwrap();
    let one = split(&sample, "one");
    assert_eq!(one.parts.len(), 1);
    assert_eq!(one.why.as_deref(), Some("it cannot be cut: the lines of its cores are mixed"));
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

/// Writes a slice; its ledger is proved. True if it lists attempted instructions as dropped.
fn slice(sample: &Sample, selection: Selection, out: &Path) -> (Trace, bool) {
    let mut trace = sample.open();
    let selection = selection.checked().unwrap();
    let of = Origin::of(&trace).unwrap();
    let what = format!("{}, {selection:?}", sample.path.display());
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
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(sliced.proved, Some(true), "{what}: {:?}", sliced.reasons);
    sliced.commit().unwrap();
    (open_part(sample, out), sliced.ledger.count(Fate::Dropped, Fact::Attempted) > 0)
}

/// An instruction: its address, and whether it was only attempted.
type Place = (Option<u64>, bool);

/// All instructions.
fn pcs(trace: &mut Trace) -> Vec<Place> {
    let mut steps = trace.steps().unwrap();
    let mut pcs = Vec::new();
    while let Some(step) = steps.next().unwrap() {
        pcs.push((step.pc, !step.is_retired()));
    }
    pcs
}

/// The same instructions; of those that retired, where `lost` says that others are gone: the draft of E-Trace shows the
/// address of a trap's instruction only if another one is before it.
fn are_same(one: &[Place], other: &[Place], lost: bool) -> bool {
    let kept =
        |places: &[Place]| places.iter().filter(|place| !(lost && place.1)).copied().collect::<Vec<_>>();
    kept(one) == kept(other)
}

/// The context at each instruction.
fn contexts(trace: &mut Trace) -> Vec<Context> {
    let (mut source, mut batch) = (trace.expanded().unwrap(), Default::default());
    let (mut all, mut context) = (Vec::new(), Context::default());
    while source.fill(&mut batch).unwrap() {
        for event in &batch.events {
            match event.kind {
                EventKind::Context(n) => context.update(&batch.contexts[n as usize]),
                kind => all.extend((0..kind.instructions()).map(|_| context)),
            }
        }
    }
    all
}

/// The state after `count` instructions, as text: context and the registers that are known completely. Events after
/// the last of them count unless it is the `last` of a slice, which some formats end with an event of their own.
fn state(trace: &mut Trace, count: u64, last: bool) -> Vec<String> {
    let (mut source, mut batch, mut number) = (trace.expanded().unwrap(), Default::default(), 0);
    let mut machine = Machine::new(trace.meta().isa);
    'read: while source.fill(&mut batch).unwrap() {
        for event in &batch.events {
            if number == count && (last || event.kind.instructions() > 0) {
                break 'read;
            }
            machine.apply(&batch, event, number);
            number += event.kind.instructions();
        }
    }
    // A mode that has ended is not news at the start of a slice.
    let unsupported = machine.context.unsupported.filter(|begins| *begins);
    let context = Context { change: None, unsupported, ..machine.context };
    let mut lines = vec![format!("{context:?}")];
    for (reg, known) in machine.registers.iter() {
        if let Some(content @ (Content::Word(_, u64::MAX) | Content::Bytes(_))) = known.content {
            lines.push(format!("{reg} {content:?}"));
        }
    }
    lines
}

#[test]
fn slices_are_legal_and_join() {
    let folder = Folder::new("slices");
    for sample in samples(&folder.0) {
        let name = sample.path.display();
        let sources = sample.open().meta().sources.clone();
        let picked: Vec<Option<String>> =
            if sources.len() > 1 { sources.into_iter().map(Some).collect() } else { vec![None] };
        for source in picked {
            let options = Options { source, ..sample.options.clone() };
            let sample = Sample { path: sample.path.clone(), options };
            for seed in seeds(3) {
                let what = format!("{name}, {:?}, seed {seed}", sample.options.source);
                cut_into_slices(&folder, &sample, &mut random(seed), &what);
            }
        }
    }
}

/// A synchronisation packet begins each stretch, and has no place for a `notify` of its instruction: the ledger must not
/// count another one in its stead.
#[test]
fn marks_at_the_start_of_a_stretch_are_listed_as_dropped() {
    let folder = Folder::new("notify");
    for case in ["v2-counter-pulp", "v2-encap-type"].map(|name| file("testdata/etrace").join(name)) {
        let settings = Settings::read(&case.join("config.toml")).unwrap();
        let sample = Sample { path: case.join("input"), options: Options::default().settings(settings) };
        for from in 0..24 {
            let selection = Selection { sample: Some((116, 48)), ..Selection::range(from, 1 << 20) };
            slice(&sample, selection, &folder.0.join("sampled.te"));
        }
    }
}

fn cut_into_slices(folder: &Folder, sample: &Sample, random: &mut SplitMix64, what: &str) {
    let (whole, broken) = (pcs(&mut sample.open()), findings(&mut sample.open()));
    let count = whole.len() as u64;
    if count < 3 {
        return;
    }
    let format = sample.open().format();
    let end = format.extensions()[0];
    let out = folder.fresh("out");
    let mut cuts = [random.below(count - 2) + 1, random.below(count - 2) + 1];
    cuts.sort_unstable();
    let [from, to] = if cuts[0] < cuts[1] { cuts } else { [1, count - 1] };
    let any_lost = std::cell::Cell::new(false);
    let check = |selection: Selection, file: &str, expected: &[&[Place]]| {
        let path = out.join(format!("{file}.{end}"));
        let (mut sliced, lost) = slice(sample, selection.clone(), &path);
        any_lost.set(any_lost.get() | lost);
        // A commit log cannot show a gap, and its flow seems to break there.
        let is_new = |rule: &&&str| {
            **rule != "spike.flow" || (selection.ranges.len(), &selection.sample) == (1, &None)
        };
        let more: Vec<_> = findings(&mut sliced).difference(&broken).filter(is_new).copied().collect();
        assert!(more.is_empty(), "{what} {selection:?} breaks {more:?}");
        let of = Provenance::of(&sliced);
        assert!(
            matches!(&of, Some(Provenance::Slice { selection: written, .. }) if *written == selection),
            "{what} {selection:?}: {of:?}"
        );
        assert!(are_same(&pcs(&mut sliced), &expected.concat(), lost), "{what} {selection:?}");
        path
    };
    let [a, b] = [from as usize, to as usize];
    let paths = [
        check(Selection::range(0, from), "a", &[&whole[..a]]),
        check(Selection::range(from, to), "b", &[&whole[a..b]]),
        check(Selection::range(to, count), "c", &[&whole[b..]]),
    ];
    let lost = any_lost.get();
    // The registers that a reader needs may come with the first instruction.
    let last = to == from + 1;
    let (expected, found) =
        (state(&mut sample.open(), from + 1, last), state(&mut open_part(sample, &paths[1]), 1, last));
    // A commit log holds the context, not the contents of registers.
    let held = if format.id().as_str() == "spike" { 1 } else { expected.len().max(found.len()) };
    assert!(
        lost || found[..held.min(found.len())] == expected[..held.min(expected.len())],
        "{what}: state at {from}: {found:#?}\nexpected {expected:#?}"
    );
    let two = Selection { ranges: vec![(0, from), (to, count)], ..Selection::default() };
    check(two, "two", &[&whole[..a], &whole[b..]]);
    let (every, length) = (random.below(count) + 2, random.below(count) + 1);
    let (every, length) = (every.max(length), every.min(length));
    let sampled = Selection { sample: Some((every, length)), ..Selection::range(from, count) };
    let kept: Vec<&[Place]> =
        whole[a..].chunks(every as usize).map(|chunk| &chunk[..chunk.len().min(length as usize)]).collect();
    check(sampled, "sampled", &kept);
    let contexts = contexts(&mut sample.open());
    if let Some(level) = contexts.get(a).and_then(|context| context.privilege) {
        let is = ContextIs("privilege".into(), level.as_str().into());
        let kept = whole.iter().zip(&contexts).filter(|(_, context)| context.privilege == Some(level));
        let kept: Vec<Place> = kept.map(|(place, _)| *place).collect();
        check(Selection { contexts: vec![is], ..Selection::default() }, "level", &[&kept]);
    }
    let traces = [2, 0, 1].iter().map(|&n: &usize| open_part(sample, &paths[n])).collect();
    let joined = out.join(format!("joined.{end}"));
    let target = Target::new(&joined);
    // With the images of memory spaces, where it names any.
    let mut settings = sample.open().settings().clone();
    settings.set("astf", "allow_nonconforming", true);
    let options =
        ConvertOptions { into: Some(format), settings: Some(settings), ..ConvertOptions::default() };
    let merged = cut::merge(traces, &target, &options, By::Place, |_, _| {})
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    merged.commit().unwrap();
    assert!(are_same(&pcs(&mut open_part(sample, &joined)), &whole, lost), "{what}: joined");
}

#[test]
fn work_items_see_every_event_once() {
    let folder = Folder::new("items");
    for sample in samples(&folder.0) {
        let name = sample.path.display();
        let whole = events(&mut sample.open());
        let whole: Vec<&str> = whole.iter().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
        for seed in seeds(4) {
            let parts = random(seed).below(16) as usize + 1;
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
