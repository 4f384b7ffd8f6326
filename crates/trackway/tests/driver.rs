//! The one driver, held for every format in the list and for one that is not in it: any cut of the input, any number of
//! threads, any damage, a cancelled run.

mod common;
#[path = "../examples/own_format.rs"]
#[allow(dead_code, reason = "the example has a main of its own")]
mod own_format;

use std::path::{Path, PathBuf};

use common::{Run, arm, riscv};
use trackway::events::{Batch, Cancel, Context, ErrorKind, EventKind, Meta, SplitMix64};
use trackway::format::{Format, Program, Settings, When, Writing};
use trackway::io::Target;
use trackway::{ConvertOptions, FORMATS, Options, Prove, convert_with};
use trackway_testkit::lines::{Lines, at_most, filled, observed};
use trackway_testkit::places::{Places, places};

fn formats() -> Vec<&'static dyn Format> {
    FORMATS.iter().copied().chain([own_format::FORMAT]).collect()
}

/// A trace of one format, in a folder of its own.
struct Sample {
    format: &'static dyn Format,
    folder: PathBuf,
    path: PathBuf,
    options: Options,
}

impl Drop for Sample {
    fn drop(&mut self) {
        // If it cannot be removed, it is in the system's own temporary folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The run in `format`, if it can hold it.
fn written(run: &Run, format: &'static dyn Format, name: &str) -> Option<Sample> {
    written_with(run, format, name, |_| {})
}

/// The same with more settings.
fn written_with(
    run: &Run,
    format: &'static dyn Format,
    name: &str,
    set: impl FnOnce(&mut Settings),
) -> Option<Sample> {
    let id = format.id();
    let folder = std::env::temp_dir().join(format!("trackway-driver-{}-{name}-{id}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("trace.{}", format.extensions()[0]));
    let program = Program { elf: vec![run.elf.display().to_string()], ..Program::default() };
    let mut settings = Settings::default();
    // Small chunks, so that there are several.
    if let Some(flag) = format.flags().iter().find(|flag| flag.name == "chunk" && flag.when == When::Writing)
    {
        settings.set(id.as_str(), flag.key, 4096);
    }
    set(&mut settings);
    let options = Options { formats: formats(), program, part: Some(256), ..Options::default() };
    let sample = Sample { format, folder, path, options };
    let (target, program) = (Target::new(&sample.path), &sample.options.program);
    let writing = Writing { target: target.clone(), settings: &settings, program, threads: 1 };
    let mut sink = match format.create(writing, &run.meta) {
        Ok(sink) => sink,
        Err(_) => {
            // A log or a recording is only read.
            let made = common::logs::log(id.as_str(), run);
            let made = made.or_else(|| common::perf::recording(id.as_str(), run, 2));
            std::fs::write(&sample.path, made?).unwrap();
            return Some(sample);
        }
    };
    for batch in &run.batches {
        sink.put(batch).unwrap();
    }
    sink.finish().unwrap();
    target.commit().unwrap();
    Some(sample)
}

/// A trace of every format.
fn samples(name: &str) -> Vec<Sample> {
    samples_of(&[riscv(20_000), arm(40)], name)
}

/// One of the runs in every format.
fn samples_of(runs: &[Run], name: &str) -> Vec<Sample> {
    let samples = formats().into_iter().map(|format| {
        let found = runs.iter().find_map(|run| written(run, format, name));
        found.unwrap_or_else(|| panic!("{} holds neither run", format.title()))
    });
    samples.collect()
}

impl Sample {
    fn source(&self, threads: usize) -> trackway::Result<Box<dyn trackway::events::Source>> {
        let options = Options { threads, ..self.options.clone() };
        options.open(&self.path)?.events()
    }

    /// Events and errors by `fill`, then by `observe` on `threads` threads: the same lines.
    fn lines(&self, threads: usize) -> Vec<String> {
        match self.source(threads) {
            Ok(mut source) if threads > 1 => observed(&mut *source),
            Ok(mut source) => filled(&mut *source),
            Err(error) => vec![format!("error {error}")],
        }
    }

    /// The file that holds the packets or records: the trace, or the largest file of a folder that is not a program.
    fn data(&self) -> PathBuf {
        if self.path.is_file() {
            return self.path.clone();
        }
        let mut trace = self.options.open(&self.path).unwrap();
        let bytes = trace.bytes().unwrap().read_whole().unwrap();
        let files = std::fs::read_dir(&self.path).unwrap().map(|entry| entry.unwrap().path());
        let is_data = |path: &PathBuf| std::fs::read(path).unwrap() == (*bytes).as_ref();
        files.into_iter().find(is_data).expect("a file of the folder holds the bytes")
    }
}

#[test]
fn any_number_of_threads_sees_the_same_events() {
    for sample in samples("threads") {
        let title = sample.format.title();
        let serial = sample.lines(1);
        assert!(serial.len() > 100, "{title}: {} events", serial.len());
        assert!(!serial.iter().any(|line| line.starts_with("error")), "{title}");
        for threads in [2, 3, 7] {
            assert!(sample.lines(threads) == serial, "{title}: {threads} threads see other events");
        }
    }
}

#[test]
fn a_cut_changes_nothing_before_it() {
    for sample in samples("cuts") {
        let title = sample.format.title();
        let whole = sample.lines(1);
        let data = sample.data();
        let bytes = std::fs::read(&data).unwrap();
        let cuts = (0..64).chain((1..=40).map(|n| bytes.len() * n / 41)).chain(bytes.len() - 40..bytes.len());
        for cut in cuts.filter(|cut| *cut < bytes.len()) {
            std::fs::write(&data, &bytes[..cut]).unwrap();
            let lines = sample.lines(1);
            // The last events may be of what was cut: a run that ends early, a gap, the error.
            let kept = lines.iter().zip(&whole).take_while(|(one, other)| one == other).count();
            assert!(lines.len() - kept <= 8, "{title}: cut at {cut}: {:?}", &lines[kept..]);
            assert!(sample.lines(3) == lines, "{title}: cut at {cut}: threads see other events");
        }
    }
}

#[test]
fn damage_is_reported_alike_on_any_number_of_threads() {
    for sample in samples("damage") {
        let title = sample.format.title();
        let data = sample.data();
        let bytes = std::fs::read(&data).unwrap();
        // Damage does not multiply the work either, which is counted in events.
        let most = 3 * sample.lines(1).len() + 5000;
        for seed in trackway_testkit::random::seeds(0..60) {
            let mut random = SplitMix64(seed);
            let mut damaged = bytes.clone();
            for _ in 0..1 + random.below(8) {
                let at = random.below(damaged.len() as u64) as usize;
                damaged[at] ^= 1 << random.below(8);
            }
            std::fs::write(&data, &damaged).unwrap();
            let Ok(mut source) = sample.source(1) else { continue };
            let Some(serial) = at_most(most, &mut *source) else {
                panic!("{title}: seed {seed}: more than {most} events and errors");
            };
            if seed % 2 == 0 {
                assert!(
                    sample.lines(3) == serial,
                    "{title}: seed {seed}: threads see other events or errors"
                );
            }
        }
    }
}

impl Sample {
    /// The places of the trace; `None` if it has far more events than it should.
    fn places(&self, threads: usize, most: usize) -> Option<Places> {
        places(&mut *self.source(threads).ok()?, most)
    }

    /// Restores `count` places in sources on one thread and on several.
    fn check_places(&self, found: &Places, what: &str, count: usize) {
        let what = format!("{}: {what}", self.format.title());
        found.check(&what, count, &|| self.source(1).unwrap());
        found.check(&format!("{what}, several threads"), count, &|| self.source(3).unwrap());
        // Observers see the same.
        let (at, saved, _) = &found.places[found.places.len() / 2];
        let mut source = self.source(3).unwrap();
        assert_eq!(source.restore(saved), Ok(true), "{what}");
        let event = |line: &String| match line.starts_with("error") {
            true => line.clone(),
            false => line.split_once(' ').unwrap().1.to_string(),
        };
        let wanted: Vec<String> = found.lines[*at..].iter().map(event).collect();
        assert!(observed(&mut *source) == wanted, "{what}: observers see other events after line {at}");
    }
}

#[test]
fn a_source_that_is_restored_delivers_the_rest() {
    for sample in samples_of(&[riscv(150_000), arm(400)], "restored") {
        let title = sample.format.title();
        for threads in [1, 3] {
            let found = sample.places(threads, usize::MAX - 1).unwrap();
            assert!(found.places.len() > 4, "{title}: {} places", found.places.len());
            assert!(found.widest <= 100_000, "{title}: no place in {} instructions", found.widest);
            let largest = found.places.iter().map(|place| place.1.state.len()).max();
            assert!(largest <= Some(1024), "{title}: {largest:?} bytes");
            sample.check_places(&found, &format!("saved with {threads} threads"), 4);
        }
        let found = sample.places(1, usize::MAX - 1).unwrap();
        found.damage(60, &|| sample.source(1).unwrap());
    }
}

/// All files of a folder with their names, in order.
fn content(path: &Path, found: &mut Vec<u8>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        found.extend(entry.file_name().unwrap().as_encoded_bytes());
        if entry.is_dir() { content(&entry, found) } else { found.extend(std::fs::read(&entry).unwrap()) }
    }
}

impl Sample {
    /// Everything that a conversion on that many threads leaves, or its error.
    fn converted(&self, threads: usize, into: &'static dyn Format) -> Vec<u8> {
        let folder = self.folder.join("converted");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let target = Target::new(folder.join(format!("trace.{}", into.extensions()[0])));
        let how = ConvertOptions { into: Some(into), prove: Prove::Never, ..ConvertOptions::default() };
        let options = Options { threads, ..self.options.clone() };
        let converted =
            options.open(&self.path).and_then(|mut trace| convert_with(&mut trace, &target, &how, |_, _| {}));
        match converted {
            Err(error) => error.to_string().into(),
            Ok(conversion) => {
                let (ledger, health, ended) = (&conversion.ledger, &conversion.health, &conversion.ended);
                let (count, warnings) = (conversion.count, &conversion.warnings);
                let mut found = format!("{ledger} {health:?} {ended:?} {count} {warnings:?}").into_bytes();
                conversion.commit().unwrap();
                content(&folder, &mut found);
                found
            }
        }
    }

    /// Findings on that many threads, and the number of items.
    fn checked(&self, threads: usize) -> String {
        let options = Options { threads, ..self.options.clone() };
        let mut found = String::new();
        let checked = options.open(&self.path).and_then(|mut trace| {
            trackway::check_with_program(&mut trace, &mut |finding| found += &format!("{finding:?}\n"))
        });
        format!("{found}{checked:?}")
    }
}

/// Conversions and findings are the same on any number of threads, of whole, cut and damaged traces.
#[test]
fn any_number_of_threads_writes_and_finds_the_same() {
    let of = |name: &str| *FORMATS.iter().find(|format| format.id().as_str() == name).unwrap();
    let mut samples = samples_of(&[riscv(9_000), arm(20)], "written");
    samples.extend(written(&two_cores(arm(10)), of("ete"), "written-cores"));
    for sample in samples {
        let title = sample.format.title();
        let data = sample.data();
        let bytes = std::fs::read(&data).unwrap();
        let mut damaged = bytes.clone();
        let mut random = SplitMix64(5);
        for _ in 0..6 {
            let at = random.below(bytes.len() as u64) as usize;
            damaged[at] ^= 1 << random.below(8);
        }
        let cut = &bytes[..bytes.len() * 2 / 3];
        for (what, bytes, threads) in
            [("whole", &bytes[..], &[2, 3, 8][..]), ("cut", cut, &[2]), ("damaged", &damaged, &[3])]
        {
            std::fs::write(&data, bytes).unwrap();
            let found = sample.checked(1);
            for &threads in threads {
                assert!(sample.checked(threads) == found, "{title}, {what}: {threads} threads find others");
            }
            for into in formats().into_iter().filter(|format| format.is_written()) {
                let serial = sample.converted(1, into);
                for &threads in threads {
                    let same = sample.converted(threads, into) == serial;
                    assert!(same, "{title} to {}, {what}: {threads} threads write others", into.title());
                }
            }
        }
    }
}

/// A run whose instructions change between two hardware threads.
fn two_threads(run: Run) -> Run {
    let mut batches = Vec::new();
    for (n, batch) in run.batches.into_iter().enumerate() {
        let mut change = Batch::default();
        change.push_context(0, Context { hw_thread: Some(n as u64 % 2), pid: Some(1), ..Context::default() });
        batches.extend([change, batch]);
    }
    Run { batches, ..run }
}

/// Two cores that run the same.
fn two_cores(run: Run) -> Run {
    let other = |batch: &Batch| Batch { source: 1, ..batch.clone() };
    let batches = run.batches.iter().flat_map(|batch| [batch.clone(), other(batch)]).collect();
    let meta = Meta { sources: vec!["core0".into(), "core1".into()], ..run.meta };
    Run { batches, meta, ..run }
}

#[test]
fn each_of_several_sources_has_places_of_its_own() {
    let of = |name: &str| *FORMATS.iter().find(|format| format.id().as_str() == name).unwrap();
    let source = |id: i64| {
        move |settings: &mut Settings| {
            settings.set("etrace", "framing", "encap");
            settings.set("etrace", "srcid_width", 4);
            settings.set("etrace", "type_width", 2);
            let mut encoder = toml::Table::new();
            encoder.insert("source".into(), id.into());
            settings.set("etrace", "encoder", encoder);
        }
    };
    let first = written_with(&riscv(60_000), of("etrace"), "first", source(5)).unwrap();
    let second = written_with(&riscv(40_000), of("etrace"), "second", source(6)).unwrap();
    let both = [std::fs::read(&first.path).unwrap(), std::fs::read(&second.path).unwrap()].concat();
    std::fs::write(&first.path, both).unwrap();
    let threads = written(&two_threads(riscv(15_000)), of("stf"), "threads").unwrap();
    let cores = written(&two_cores(arm(200)), of("ete"), "cores").unwrap();
    for sample in [first, threads, cores] {
        let title = sample.format.title();
        let found = sample.places(1, usize::MAX - 1).unwrap();
        for source in 0..2 {
            let own = found.places.iter().filter(|place| place.1.source == source).count();
            assert!(own > 1, "{title}: {own} places of source {source}");
        }
        sample.check_places(&found, "several sources", 6);
    }
}

/// A single compressed stream has no place to enter; chunks, blocks and plain files do.
#[test]
fn containers_say_whether_they_can_be_entered() {
    let runs = [riscv(30_000), arm(400)];
    let containers = [
        ("stf", "plain", true),
        ("stf", "zstf", true),
        ("stf", "gzip", false),
        ("stf", "xz", false),
        ("astf", "raw", true),
        ("astf", "xz", true),
        ("astf", "zlib", false),
        ("tandem", "plain", true),
        ("tandem", "zstd", false),
    ];
    for (id, container, enters) in containers {
        let format = *FORMATS.iter().find(|format| format.id().as_str() == id).unwrap();
        let set = |settings: &mut Settings| {
            // Only a ZSTF file has chunks.
            settings.table.remove(id);
            settings.set(id, "container", container);
        };
        let sample = runs.iter().find_map(|run| written_with(run, format, container, set)).unwrap();
        let found = sample.places(1, usize::MAX - 1).unwrap();
        assert_eq!(found.places.len() > 4, enters, "{id} {container}: {} places", found.places.len());
        assert_eq!(found.places.is_empty(), !enters, "{id} {container}");
        if enters {
            sample.check_places(&found, container, 4);
        }
    }
}

/// Real traces.
#[test]
fn places_in_the_corpus() {
    let traces =
        ["stf/dhrystone_opt1.zstf", "ete/juno_r1_1", "ete/ss_ib_el1ns", "ete/tme_simple", "ete/q_elem"];
    for name in traces {
        let Some(path) = trackway_testkit::corpus_part(name) else { continue };
        let open = || Options::default().open(&path).unwrap().events().unwrap();
        let found = places(&mut *open(), 2_000_000).unwrap();
        found.check(name, 4, &open);
        found.damage(20, &open);
        println!("{name}: {} places, {} instructions apart at most", found.places.len(), found.widest);
    }
}

#[test]
fn places_survive_damage_around_them() {
    for sample in samples_of(&[riscv(60_000), arm(120)], "places") {
        let data = sample.data();
        let bytes = std::fs::read(&data).unwrap();
        let most = 50 * sample.lines(1).len();
        let mut random = SplitMix64(3);
        let mut tried = 0;
        for round in 0..12 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + round % 3 {
                let at = random.below(damaged.len() as u64) as usize;
                damaged[at] ^= 1 << random.below(8);
            }
            std::fs::write(&data, &damaged).unwrap();
            let Some(found) =
                sample.places(1 + 2 * (round % 2), most).filter(|found| !found.places.is_empty())
            else {
                continue;
            };
            sample.check_places(&found, &format!("round {round}"), 2);
            tried += 1;
        }
        assert!(tried > 6, "{}: {tried} rounds", sample.format.title());
    }
}

#[test]
fn a_cancelled_run_ends_between_batches() {
    for sample in samples("cancel") {
        let title = sample.format.title();
        let whole = sample.lines(1);
        for threads in [1, 3] {
            let cancel = Cancel::default();
            let options = Options { threads, cancel: cancel.clone(), ..sample.options.clone() };
            let mut source = options.open(&sample.path).unwrap().events().unwrap();
            let (mut batch, mut seen) = (Batch::default(), Lines::default());
            assert!(source.fill(&mut batch).unwrap(), "{title}");
            trackway::events::Observer::observe(&mut seen, &batch);
            cancel.cancel();
            let stopped = if threads > 1 { source.observe(&mut seen) } else { source.fill(&mut batch) };
            assert_eq!(stopped.unwrap_err().kind, ErrorKind::Cancelled, "{title}: {threads} threads");
            assert!(whole.starts_with(&seen.0), "{title}: {threads} threads");
        }
    }
}

/// `events` is not numbered across sources, and an opened file can be asked twice.
#[test]
fn a_file_is_read_as_often_as_asked_and_a_stream_once() {
    for sample in samples("again") {
        let title = sample.format.title();
        let mut trace = sample.options.open(&sample.path).unwrap();
        let first = filled(&mut *trace.events().unwrap());
        assert!(filled(&mut *trace.events().unwrap()) == first, "{title}: the second reading differs");
        assert!(trace.items().is_ok() && trace.bytes().is_ok(), "{title}");
    }
}

#[test]
fn every_setting_is_documented_and_the_template_reads_back() {
    for format in formats() {
        let template = trackway::format::template(format);
        let plain = |line: &str| match line.strip_prefix("# ") {
            Some(rest) if rest.contains(" = ") || rest.starts_with('[') => rest.to_string(),
            _ => line.to_string(),
        };
        let text: String = template.lines().map(|line| plain(line) + "\n").collect();
        let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        let section = table[format.id().as_str()].as_table().unwrap();
        let settings = Settings::default();
        settings.refuse_unknown(format.id().as_str(), section, format.keys()).unwrap();
        for key in format.keys() {
            assert!(!key.doc.is_empty(), "{}: {} is not documented", format.title(), key.name);
        }
        let mut misspelt = toml::Table::new();
        misspelt.insert(format!("{}x", format.keys()[0].name), 1.into());
        let error = settings.refuse_unknown("", &misspelt, format.keys()).unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean {:?}", format.keys()[0].name)), "{error}");
    }
}

#[test]
fn rules_are_named_by_their_format() {
    for format in formats() {
        let (id, rules) = (format.id(), format.rules());
        assert!(!rules.is_empty(), "{id}");
        for (n, rule) in rules.iter().enumerate() {
            let name = rule.name.strip_prefix(&format!("{id}.")).unwrap_or_else(|| panic!("{}", rule.name));
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
            assert!(!rule.section.is_empty() && !rule.demand.is_empty(), "{name}");
            assert!(rules[..n].iter().all(|other| other.name != rule.name), "{name} is declared twice");
        }
    }
}

/// Counting instructions is the least that every format must agree on.
#[test]
fn steps_are_counted_alike() {
    for sample in samples("steps") {
        let mut trace = sample.options.open(&sample.path).unwrap();
        let (mut batch, mut instructions) = (Batch::default(), 0);
        let mut source = trace.events().unwrap();
        while source.fill(&mut batch).unwrap() {
            instructions += batch.instructions();
            assert!(batch.events.iter().all(|event| event.kind.instructions() < 1 << 20));
        }
        let mut steps = trace.steps().unwrap();
        let mut count = 0;
        while steps.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, instructions, "{}", sample.format.title());
    }
}

#[test]
fn a_run_without_its_program_is_an_error() {
    // Snapshots bring it along; a recording has gaps that name it.
    let is_alone = |sample: &&Sample| sample.path.is_file() && sample.format.is_written();
    for sample in samples("program").iter().filter(is_alone) {
        let mut trace = sample.options.open(&sample.path).unwrap();
        let mut source = trace.events().unwrap();
        let mut batch = Batch::default();
        assert!(source.fill(&mut batch).unwrap());
        let has_runs = batch.events.iter().any(|event| matches!(event.kind, EventKind::Run(_)));
        if has_runs {
            let settings = trace.settings().clone();
            let mut settings = Settings { path: None, ..settings };
            settings.table.remove("program");
            let alone =
                Options { program: Program::default(), settings: Some(settings), ..sample.options.clone() };
            let steps = alone.open(&sample.path).and_then(|mut trace| trace.steps()?.next().map(drop));
            assert!(steps.is_err(), "{}: silence where the program is missing", sample.format.title());
        }
    }
}
