//! Statistics of parts, merged, equal those of the whole, wherever it is cut.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway::{Settings, Trace};
use trackway_core::*;
use trackway_image::{Image, Space, expand};
use trackway_isa::flow;
use trackway_testkit::qemu;
use trackway_testkit::random::{Numbers, Program, Rates, Walk};
use trackway_tools::asked::{Analysis, Asked};
use trackway_tools::contexts;
use trackway_tools::executed::{BlockId, Code, Executed};
use trackway_tools::stats::{By, Stats, Summary};

/// All that statistics say.
fn report(stats: Stats) -> String {
    summary(&stats.finish())
}

fn summary(stats: &Summary) -> String {
    let memory = &stats.memory;
    let kinds = [memory.loads, memory.stores, memory.atomics, memory.others];
    let bytes = [memory.bytes_read, memory.bytes_written, memory.with_data, memory.unplaced];
    let instructions = (stats.retired, stats.attempted, stats.unknown, &stats.mix.classes, &stats.contexts);
    let flow = (&stats.branches, stats.block_count(), stats.hottest(usize::MAX), executed(&stats.executed));
    let accesses =
        (kinds, bytes, memory.lines(), memory.pages(), memory.sizes(), stats.registers, stats.csrs);
    let rows = [By::Function, By::Line, By::Context, By::Source].map(|by| stats.by(by, &[]));
    let counts = (&stats.events, &stats.traps, &stats.gaps, stats.times, stats.spent());
    format!("{:?}", (instructions, flow, accesses, counts, rows))
}

/// The blocks and what followed them, in an order that does not depend on when they were met.
fn executed(executed: &Executed) -> Vec<String> {
    let spaces = executed.spaces();
    let code = |id: BlockId| {
        let code = &executed.blocks()[id as usize].code;
        format!("{:?} {:?}", spaces[code.space as usize], Code { space: 0, ..code.clone() })
    };
    let blocks = executed.blocks().iter().enumerate().map(|(id, block)| {
        format!("{} {} {:?} {:?}", code(id as BlockId), block.passes, block.outcomes, block.gaps)
    });
    let edges = executed.edges().map(|(from, to, count)| format!("{} -> {} {count}", code(from), code(to)));
    let mut all: Vec<String> = blocks.chain(edges).collect();
    all.sort();
    all
}

/// Events `from..to` of a batch.
fn piece(batch: &Batch, from: usize, to: usize) -> Batch {
    Batch { events: batch.events[from..to].to_vec(), ..batch.clone() }
}

/// A part: an observer that knows nothing of what came before.
fn part<O: Observer>(whole: &O) -> Box<O> {
    whole.fork().downcast::<O>()
}

/// Observes `batches` in parts that are cut at random, and puts them together in any order that keeps neighbours.
fn in_parts<O: Observer>(stats: &mut O, batches: &[Batch], numbers: &mut Numbers) {
    let mut parts = vec![part(stats)];
    for batch in batches {
        let mut at = 0;
        while at < batch.events.len() {
            if numbers.one_in(3) {
                parts.push(part(stats));
            }
            let longest = 1 << numbers.below(12);
            let to = (at + 1 + numbers.below(longest) as usize).min(batch.events.len());
            parts.last_mut().unwrap().observe(&piece(batch, at, to));
            at = to;
        }
    }
    while parts.len() > 1 {
        let n = numbers.below(parts.len() as u64 - 1) as usize;
        let later = parts.remove(n + 1);
        parts[n].merge(later);
    }
    stats.merge(parts.remove(0));
}

/// The analyses that are asked for, with few lines so that reuse is sampled as well.
fn asked(isa: Isa, programs: &[Arc<Image>], lines: usize) -> Asked {
    Asked::new(isa, programs, &Analysis::ALL).exact_lines(lines)
}

fn answers(asked: Asked) -> String {
    let (stats, answers) = asked.finish();
    format!("{} {answers:?}", summary(&stats))
}

/// Compares the analyses of parts, packed and unpacked or not, with those of the whole.
fn compare_asked(what: &str, isa: Isa, programs: &[Arc<Image>], batches: &[Batch], times: u64) {
    for lines in [usize::MAX, 40] {
        let mut whole = asked(isa, programs, lines);
        batches.iter().for_each(|batch| whole.observe(batch));
        let whole = answers(whole);
        for seed in 0..times {
            let numbers = &mut Numbers(seed);
            let mut parts = asked(isa, programs, lines);
            if numbers.one_in(2) {
                in_parts(&mut parts, batches, numbers);
            } else {
                // As they come: one of several parts, the rest as it is read.
                let cut = numbers.below(batches.len() as u64 + 1) as usize;
                batches[..cut].iter().for_each(|batch| parts.observe(batch));
                let mut later = part(&parts);
                in_parts(&mut *later, &batches[cut..], numbers);
                let later = parts.unpack(&later.pack().unwrap()).unwrap();
                parts.merge(Box::new(later));
            }
            if parts.is_exact() {
                assert_eq!(answers(parts), whole, "{what}, cut by {seed}, {lines} lines");
            }
        }
    }
}

/// Compares parts with the whole; returns how often the parts were exact.
fn compare(what: &str, isa: Isa, programs: &[Arc<Image>], batches: &[Batch], times: u64) -> u64 {
    compare_asked(what, isa, programs, batches, times.div_ceil(10));
    let mut whole = Stats::new(isa, programs);
    batches.iter().for_each(|batch| whole.observe(batch));
    assert!(whole.is_exact(), "{what}");
    let whole = report(whole);
    let mut exact = 0;
    for seed in 0..times {
        let mut stats = Stats::new(isa, programs);
        in_parts(&mut stats, batches, &mut Numbers(seed));
        if stats.is_exact() {
            assert_eq!(report(stats), whole, "{what}, cut by {seed}");
            exact += 1;
        }
    }
    exact
}

fn batches(source: &mut dyn Source) -> Vec<Batch> {
    let mut all = Vec::new();
    let mut batch = Batch::default();
    while source.fill(&mut batch).unwrap() {
        all.push(batch.clone());
    }
    all
}

fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(path)
}

/// A trace as it is, and with its program if there is one.
fn compare_file(path: &Path, config: Option<&Path>) {
    let mut options = Trace::options().threads(1);
    options.settings = config.map(|path| Settings::read(path).unwrap());
    let mut trace = options.open(path).unwrap();
    let (isa, programs) = (trace.meta().isa, trace.programs().unwrap());
    let batches = batches(&mut *trace.events().unwrap());
    assert!(batches.iter().any(|batch| batch.instructions() > 0), "{}", path.display());
    let what = path.display().to_string();
    assert_eq!(compare(&what, isa, &[], &batches, 20), 20, "{what}");
    if programs.iter().all(|program| program.is_everywhere()) {
        assert_eq!(compare(&what, isa, &programs, &batches, 20), 20, "{what} with its program");
    } else {
        compare(&what, isa, &programs, &batches, 20);
    }
}

#[test]
fn parts_of_stf() {
    for file in ["stf/everything/trace.stf", "stf/sort/trace.stf"] {
        compare_file(&testdata(file), None);
    }
}

#[test]
fn parts_of_astf() {
    for file in ["astf/sort.astf", "astf/example/example.astf"] {
        compare_file(&testdata(file), None);
    }
}

#[test]
fn parts_of_etrace() {
    for case in std::fs::read_dir(testdata("etrace")).unwrap() {
        let folder = case.unwrap().path();
        compare_file(&folder.join("input"), Some(&folder.join("config.toml")));
    }
}

#[test]
fn parts_of_ete() {
    compare_file(&testdata("ete/count"), None);
}

/// Steps with registers and memory, as a trace returns them.
#[test]
fn parts_of_tandem() {
    let Some(run) = qemu::Run::corpus("rv64gc", "fpmix") else { return };
    let (mut events, mut batch) = (run.events(), Batch::default());
    let config = trackway_tandem::WriteConfig::default();
    let mut lower = trackway_tandem::Lower::new(Vec::new(), events.meta(), config).unwrap();
    for _ in 0..10 {
        assert!(events.fill(&mut batch).unwrap());
        lower.put(&batch).unwrap();
    }
    let (bytes, _) = lower.into_inner().unwrap();
    let mut lift = trackway_tandem::Trace::open(Input::from_vec(bytes), config.config).unwrap().events();
    assert_eq!(compare("tandem", Isa::Rv64, &[], &batches(&mut lift), 10), 10);
}

/// The program of [`soup`].
fn program() -> Program {
    Program::new(&mut Numbers(1), 0x8000, 60)
}

/// Batches of anything that a source could return, in two sources.
fn soup(numbers: &mut Numbers, program: &Program, changes_isa: bool) -> Vec<Batch> {
    let mut all = Vec::new();
    for source in [0, 1] {
        for _ in 0..4 {
            let rates =
                Rates { exception: 20, interrupt: 20, context: 15, privilege: true, ..Rates::default() };
            let walk = Walk::new(numbers, program, 60, rates).batch;
            let mut batch = Batch { source, events: Vec::new(), ..walk.clone() };
            for event in &walk.events {
                batch.events.push(*event);
                match numbers.below(30) {
                    0 => batch.push_gap(0, Gap::new(GapReason::ALL[numbers.below(4) as usize])),
                    1 => {
                        let value = Some(numbers.below(1000)).filter(|n| *n > 100);
                        batch.push(0, EventKind::Time(Time { kind: TimeKind::Timestamp, value, clock: 0 }));
                    }
                    2 => batch.push(0, EventKind::Mark(Mark::new(MarkKind::Halt))),
                    3 => batch.push(0, EventKind::Step(Step { pc: None, ..Step::new(0, 0x13, 4) })),
                    4 => batch.push(0, EventKind::Step(Step::new(0x9000, 0, 0))),
                    5..=12 => push_run(&mut batch, numbers, program),
                    13 if changes_isa => {
                        let isa = Some([Isa::Rv32, Isa::Rv64][numbers.below(2) as usize]);
                        batch.push_context(0, Context { isa, ..Context::default() });
                    }
                    _ => {}
                }
            }
            all.push(batch);
        }
    }
    all
}

/// A run of a few instructions, mostly of the program.
fn push_run(batch: &mut Batch, numbers: &mut Numbers, program: &Program) {
    let slots = &program.slots;
    let first = numbers.below(slots.len() as u64 - 8) as usize;
    let count = 1 + numbers.below(6) as usize;
    let outside = if numbers.one_in(8) { 0x4000 } else { 0 };
    let begun = batch.begin_accesses();
    for _ in 0..numbers.below(3) {
        let kind = MemKind::ALL[numbers.below(4) as usize];
        let data = [Value::Unknown, Value::Word(1)][numbers.below(2) as usize];
        let access = MemAccess::new(kind, numbers.below(1 << 16), 1 << numbers.below(8), data);
        batch.mem.push(MemAccess { unplaced: numbers.one_in(9), ..access });
    }
    let accesses = batch.end_accesses(begun).unwrap();
    let run = Run {
        start: slots[first].pc + outside,
        end: slots[first + count].pc + outside,
        count: count as u32,
        accesses: batch.add_run_accesses(accesses),
        isa: Isa::Rv64,
        exit: Exit::ALL[numbers.below(5) as usize],
        taken: [None, Some(true), Some(false)][numbers.below(3) as usize],
        attempted: numbers.one_in(10),
        doubtful: false,
        withdrawn: numbers.one_in(10),
    };
    batch.push(0, EventKind::Run(run));
}

fn image(program: &Program, space: Space) -> Vec<Arc<Image>> {
    let mut image = Image::default();
    image.add_raw("soup", program.slots[0].pc, Arc::new(program.bytes()), space).unwrap();
    vec![Arc::new(image)]
}

#[test]
fn parts_of_anything() {
    let program = program();
    let programs = image(&program, Space::default());
    for seed in 0..40 {
        let batches = soup(&mut Numbers(seed), &program, false);
        for programs in [&[], &programs[..]] {
            assert_eq!(compare(&format!("soup {seed}"), Isa::Rv64, programs, &batches, 25), 25);
        }
    }
}

/// Where only what came before a part says what its code is, that is noticed.
#[test]
fn a_part_that_guessed_wrong_is_noticed() {
    let program = program();
    let space = Space { privileges: vec![Privilege::M], ..Space::default() };
    for (what, programs) in [("instruction set", Vec::new()), ("program", image(&program, space))] {
        let (mut exact, mut all) = (0, 0);
        for seed in 0..40 {
            let batches = soup(&mut Numbers(seed), &program, programs.is_empty());
            exact += compare(&format!("{what} {seed}"), Isa::Rv64, &programs, &batches, 25);
            all += 25;
        }
        assert!(exact < all, "{what}: {exact} of {all}");
    }
}

/// Statistics with nothing clever about them: one event after the other, every instruction decoded, a search for each count.
#[derive(Debug)]
struct Slow {
    events: BTreeMap<&'static str, u64>,
    contexts: BTreeMap<String, u64>,
    blocks: BTreeMap<u64, (u64, u64)>,
    outcomes: [u64; 3],
    /// Addresses of branches, and of what follows those whose code is not known.
    places: BTreeSet<(u64, bool)>,
    lines: BTreeSet<u64>,
    /// Start of the current block, and where it would continue.
    block: Option<(u64, u64)>,
    isa: Isa,
}

impl Default for Slow {
    fn default() -> Self {
        Slow {
            events: BTreeMap::new(),
            contexts: BTreeMap::new(),
            blocks: BTreeMap::new(),
            outcomes: [0; 3],
            places: BTreeSet::new(),
            lines: BTreeSet::new(),
            block: None,
            isa: Isa::Rv64,
        }
    }
}

impl Slow {
    fn observe(&mut self, batches: &[Batch]) {
        let mut context = Context::default();
        for (n, batch) in batches.iter().enumerate() {
            if n > 0 && batches[n - 1].source != batch.source {
                (context, self.block) = (Context::default(), None);
            }
            for event in &batch.events {
                let mut line = String::new();
                batch.write_line(event, &mut line);
                let words = ["step", "run", "trap", "context", "time", "mark", "gap"];
                let word = words.into_iter().find(|word| line.contains(&format!(" {word}"))).unwrap();
                *self.events.entry(word).or_default() += 1;
                match event.kind {
                    EventKind::Context(n) => context.update(&batch.contexts[n as usize]),
                    EventKind::Trap(_) | EventKind::Gap(_) => self.block = None,
                    EventKind::Step(step) => {
                        let Some(pc) = step.pc.filter(|_| step.length > 0) else {
                            self.block = None;
                            if let Some(pc) = step.pc {
                                self.enter(pc, pc, 1, true);
                            }
                            self.count(&context, 1);
                            continue;
                        };
                        let isa = context.isa.unwrap_or(Isa::Rv64);
                        self.block = self.block.filter(|_| isa == self.isa);
                        self.isa = isa;
                        let flow = flow(isa, pc, step.encoding);
                        if flow.conditional {
                            self.branch((pc, true), step.taken);
                        }
                        let attempted = step.outcome == Outcome::Attempted;
                        let leaves = attempted || flow.control.is_transfer() || !flow.control.retires();
                        self.enter(pc, pc + u64::from(step.length), 1, leaves);
                        self.count(&context, 1);
                    }
                    EventKind::Run(run) if !run.withdrawn => {
                        for access in batch.mem_of(batch.accesses_of(&run)).iter().filter(|mem| !mem.unplaced)
                        {
                            self.lines.extend(access.address / 64..=(access.address + access.size - 1) / 64);
                        }
                        if run.exit == Exit::Branch {
                            self.branch((run.end, false), run.taken);
                        }
                        self.block = None;
                        self.enter(run.start, run.end, run.count.into(), true);
                        self.count(&context, run.count.into());
                    }
                    _ => {}
                }
            }
        }
    }

    fn count(&mut self, context: &Context, instructions: u64) {
        let name = contexts::name(context).unwrap_or_else(|| "unknown".into());
        *self.contexts.entry(name).or_default() += instructions;
    }

    fn branch(&mut self, place: (u64, bool), taken: Option<bool>) {
        self.outcomes[taken.map_or(2, |taken| usize::from(!taken))] += 1;
        self.places.insert(place);
    }

    fn enter(&mut self, start: u64, end: u64, instructions: u64, leaves: bool) {
        let goes_on = self.block.filter(|(_, next)| *next == start);
        let first = goes_on.map_or(start, |(first, _)| first);
        let block = self.blocks.entry(first).or_default();
        block.0 += u64::from(goes_on.is_none());
        block.1 += instructions;
        self.block = (!leaves).then_some((first, end));
    }
}

#[test]
fn slow_and_fast_agree() {
    let program = program();
    for seed in 0..100 {
        let batches = soup(&mut Numbers(seed), &program, true);
        let (mut fast, mut slow) = (Stats::new(Isa::Rv64, &[]), Slow::default());
        batches.iter().for_each(|batch| fast.observe(batch));
        slow.observe(&batches);
        let fast = fast.finish();
        assert_eq!(fast.events, slow.events, "{seed}");
        assert_eq!(fast.contexts, slow.contexts, "{seed}");
        assert_eq!(
            (fast.branches.outcomes, fast.branches.distinct()),
            (slow.outcomes, slow.places.len() as u64)
        );
        assert_eq!(fast.memory.lines(), slow.lines.len() as u64, "{seed}");
        let mut hottest = fast.hottest(usize::MAX);
        hottest.sort_unstable_by_key(|(start, _)| *start);
        let blocks: Vec<_> =
            hottest.iter().map(|(start, block)| (start.pc, (block.entries, block.instructions))).collect();
        assert_eq!(blocks, Vec::from_iter(slow.blocks), "{seed}");
    }
}

/// A run by its shape is what its instructions are one by one.
#[test]
fn runs_are_counted_as_their_steps() {
    let program = program();
    let programs = image(&program, Space::default());
    for seed in 0..100 {
        let batches = soup(&mut Numbers(seed), &program, false);
        let (mut by_shape, mut by_step) = (Stats::new(Isa::Rv64, &programs), Stats::new(Isa::Rv64, &[]));
        for batch in &batches {
            by_shape.observe(batch);
            let mut expanded = Batch { events: Vec::new(), ..batch.clone() };
            for event in &batch.events {
                match event.kind {
                    EventKind::Run(run) if !run.withdrawn => {
                        let memory = programs[0].memory(&Context::default());
                        expand(&memory, &run, batch.accesses_of(&run), |kind| expanded.push(0, kind));
                    }
                    kind => expanded.push(0, kind),
                }
            }
            by_step.observe(&expanded);
        }
        assert_eq!(report(by_shape), report(by_step), "{seed}");
    }
}

/// The block and instruction set that a source ends with say nothing about the next source.
#[test]
fn a_source_begins_anew() {
    let nop = |batch: &mut Batch, pc| batch.push(0, EventKind::Step(Step::new(pc, 0x13, 4)));
    let mut first = Batch::default();
    first.push_context(0, Context { isa: Some(Isa::Rv32), pid: Some(7), ..Context::default() });
    nop(&mut first, 0x8000);
    nop(&mut first, 0x8004);
    let mut second = Batch { source: 1, ..Batch::default() };
    nop(&mut second, 0x8008);
    nop(&mut second, 0x800c);
    let mut stats = Stats::new(Isa::Rv64, &[]);
    for batch in [&first, &second] {
        let mut one = part(&stats);
        one.observe(batch);
        stats.merge(one);
    }
    assert!(stats.is_exact());
    let mut whole = Stats::new(Isa::Rv64, &[]);
    [&first, &second].into_iter().for_each(|batch| whole.observe(batch));
    let summary = whole.finish();
    let twice = |pc| {
        let at = trackway_tools::stats::Address { program: 0, pc };
        (at, trackway_tools::stats::HotBlock { entries: 1, instructions: 2 })
    };
    assert_eq!(summary.hottest(9), [twice(0x8000), twice(0x8008)]);
    assert_eq!(Vec::from_iter(summary.contexts), [("pid 0x7".to_string(), 2), ("unknown".to_string(), 2)]);
    let mut whole = Stats::new(Isa::Rv64, &[]);
    [&first, &second].into_iter().for_each(|batch| whole.observe(batch));
    assert_eq!(report(stats), report(whole));
}
