//! Statistics against counts with nothing clever about them: one instruction after the other, no blocks, no merging.
//!
//! Real runs of both architectures: those of a fresh clone, and of the corpus where there is one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway::Trace;
use trackway_core::*;
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, Program, RecordOptions, Recorder, Target};
use trackway_image::{Image, Space};
use trackway_isa::{Control, class, extension, flow, mnemonic};
use trackway_testkit::qemu;
use trackway_tools::asked::{Analysis, Answers, Asked};
use trackway_tools::calls::{CallTree, Called, NodeKind};
use trackway_tools::stats::{Stats, Summary};

/// A run: as the product sees it, and step by step.
struct Run {
    name: String,
    isa: Isa,
    programs: Vec<Arc<Image>>,
    batches: Vec<Batch>,
    steps: Vec<Batch>,
}

/// Instructions of a run that are enough.
const ENOUGH: u64 = 60_000;

fn filled(source: &mut dyn Source) -> Vec<Batch> {
    let (mut all, mut batch, mut count) = (Vec::new(), Batch::default(), 0);
    while count < ENOUGH && source.fill(&mut batch).unwrap() {
        count += batch.instructions();
        all.push(batch.clone());
    }
    all
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn image(elf: Vec<u8>) -> Vec<Arc<Image>> {
    let mut image = Image::default();
    image.add_elf("program", Arc::new(elf), None, Space::default()).unwrap();
    vec![Arc::new(image)]
}

fn file(path: &str, elf: Option<&str>) -> Run {
    let open = || {
        let options = Trace::options().threads(1);
        let options = match elf {
            Some(elf) => options.elf(root(elf).display().to_string()),
            None => options,
        };
        options.open(root(path)).unwrap()
    };
    let mut trace = open();
    let (isa, programs) = (trace.meta().isa, trace.programs().unwrap());
    let batches = filled(&mut *trace.events().unwrap());
    let steps = filled(&mut *open().expanded().unwrap());
    Run { name: path.into(), isa, programs, batches, steps }
}

/// A program of the repository on the golden model.
fn recorded(path: &str) -> Run {
    let bytes = std::fs::read(root(path)).unwrap();
    let program = Program::read(&bytes).unwrap();
    let isa = program.isa;
    let config = MachineConfig { ram: 1 << 20, ..MachineConfig::new(Config::new(isa)) };
    let mut machine = Machine::new(config, &program).unwrap();
    machine.leave_rom();
    let options = RecordOptions { limit: ENOUGH, ..RecordOptions::default() };
    let batches = filled(&mut Recorder::new(Target::Machine(Box::new(machine)), options));
    Run { name: path.into(), isa, programs: image(bytes), steps: batches.clone(), batches }
}

/// A program of the repository in A32 and T32, from the list of what it executed.
fn listed(path: &str) -> Run {
    let programs = image(std::fs::read(root(path).with_extension("elf")).unwrap());
    let memory = programs[0].memory(&Context::default());
    let (mut batch, mut last) = (Batch::default(), None);
    for (mut pc, isa, count) in trackway_testkit::runs(&root(path).with_extension("runs")) {
        if last.replace(isa) != Some(isa) {
            batch.push_context(0, Context { isa: Some(isa), ..Context::default() });
        }
        for _ in 0..count {
            let (encoding, length) = memory.fetch(isa, pc).unwrap();
            batch.push(0, EventKind::Step(Step::new(pc, encoding, length)));
            pc += u64::from(length);
        }
    }
    Run { name: path.into(), isa: Isa::A32, programs, steps: vec![batch.clone()], batches: vec![batch] }
}

fn of_corpus(folder: &str, name: &str) -> Option<Run> {
    let run = qemu::Run::corpus(folder, name)?;
    let batches = filled(&mut run.events());
    let (name, isa) = (run.name.clone(), run.isa);
    Some(Run { name, isa, programs: image(run.elf), steps: batches.clone(), batches })
}

fn riscv() -> Vec<Run> {
    let mut runs = vec![
        file("testdata/stf/sort/trace.stf", Some("programs/riscv/sort.elf")),
        recorded("programs/riscv/elf/rv64-calls.elf"),
        recorded("programs/riscv/elf/rv64-mix.elf"),
        recorded("programs/riscv/elf/rv32-privileged.elf"),
    ];
    runs.extend(of_corpus("rv64gc", "qsortmix"));
    runs.extend(of_corpus("rv64gc", "sigmt"));
    runs
}

fn arm() -> Vec<Run> {
    let mut runs = vec![
        file("testdata/astf/sort.astf", Some("programs/aarch64/sort.elf")),
        file("testdata/astf/levels.astf", Some("programs/aarch64/levels.elf")),
        file("testdata/ete/count", None),
        listed("programs/arm-mix/arm-mix"),
    ];
    runs.extend(of_corpus("aarch64", "qsortmix"));
    runs.extend(of_corpus("aarch64", "sigmt"));
    runs
}

fn counted(run: &Run) -> (Summary, Answers) {
    let mut asked = Asked::new(run.isa, &run.programs, &[Analysis::Loops, Analysis::Reuse]);
    run.batches.iter().for_each(|batch| asked.observe(batch));
    asked.finish()
}

/// One event of a run, with its source and instruction set. Encodings that the trace lacks come from the program.
fn each(run: &Run, mut show: impl FnMut(u16, Isa, &Batch, &EventKind)) {
    let memory = run.programs[0].memory(&Context::default());
    let mut contexts: HashMap<u16, Context> = HashMap::new();
    for batch in &run.steps {
        let context = contexts.entry(batch.source).or_default();
        for event in &batch.events {
            if let EventKind::Context(n) = event.kind {
                context.update(&batch.contexts[n as usize]);
            }
            let (isa, mut kind) = (context.isa.unwrap_or(run.isa), event.kind);
            if let EventKind::Step(step) = &mut kind
                && step.length == 0
            {
                (step.encoding, step.length) = memory.fetch(isa, step.pc.unwrap()).unwrap_or((0, 0));
            }
            show(batch.source, isa, batch, &kind);
        }
    }
}

/// Mix, branches and footprint.
fn recount(run: &Run) {
    let (mut classes, mut extensions, mut mnemonics) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut branches: BTreeMap<u64, [u64; 3]> = BTreeMap::new();
    let (mut lines, mut pages) = (BTreeSet::new(), BTreeSet::new());
    let mut retired = 0;
    each(run, |_, isa, batch, kind| {
        let EventKind::Step(step) = kind else { return };
        retired += u64::from(step.outcome == Outcome::Retired);
        for access in batch.mem_of(step.accesses) {
            for byte in access.address..access.address + access.size.max(1) {
                lines.insert(byte / 64);
                pages.insert(byte / 4096);
            }
        }
        if step.length == 0 {
            *classes.entry("unknown").or_insert(0) += 1;
            return;
        }
        *classes.entry(class(isa, step.encoding).as_str()).or_insert(0) += 1;
        *extensions.entry(extension(isa, step.encoding)).or_insert(0) += 1;
        *mnemonics.entry(mnemonic(isa, step.encoding).into_owned()).or_insert(0) += 1;
        if flow(isa, 0, step.encoding).conditional {
            let outcomes = branches.entry(step.pc.unwrap()).or_default();
            outcomes[step.taken.map_or(2, |taken| usize::from(!taken))] += 1;
        }
    });
    let (stats, _) = counted(run);
    let name = &run.name;
    assert_eq!(stats.retired, retired, "{name}");
    assert_eq!(stats.mix.classes, classes, "{name}");
    assert_eq!(stats.mix.extensions, extensions, "{name}");
    assert_eq!(stats.mix.mnemonics, mnemonics, "{name}");
    let places = stats.branches.places.iter().map(|(address, branch)| (address.pc, branch.outcomes));
    assert_eq!(places.collect::<BTreeMap<_, _>>(), branches, "{name}");
    assert_eq!(stats.memory.lines(), lines.len() as u64, "{name}");
    assert_eq!(stats.memory.pages(), pages.len() as u64, "{name}");
}

/// Reuse distances: a list of the lines of each source, the one touched last at its end.
fn recount_reuse(run: &Run) {
    let mut stacks: HashMap<u16, Vec<u64>> = HashMap::new();
    let mut distances: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut cold, mut touches) = (0, 0);
    each(run, |source, _, batch, kind| {
        let EventKind::Step(step) = kind else { return };
        for access in batch.mem_of(step.accesses) {
            let is_data = matches!(access.kind, MemKind::Read | MemKind::Write | MemKind::ReadWrite);
            if !is_data || access.unplaced || access.size == 0 {
                continue;
            }
            let stack = stacks.entry(source).or_default();
            for line in access.address / 64..=(access.address + access.size - 1) / 64 {
                touches += 1;
                match stack.iter().rposition(|known| *known == line) {
                    None => cold += 1,
                    Some(at) => {
                        let distance = (stack.len() - at - 1) as u64;
                        stack.remove(at);
                        let mut from = distance.min(1);
                        while from > 0 && from * 2 <= distance {
                            from *= 2;
                        }
                        *distances.entry(from).or_default() += 1;
                    }
                }
                stack.push(line);
            }
        }
    });
    let (_, answers) = counted(run);
    let name = &run.name;
    match answers.reuse {
        None => assert_eq!(touches, 0, "{name}"),
        Some(reuse) => {
            assert_eq!((reuse.touches, reuse.cold, reuse.one_in), (touches, cold, 1), "{name}");
            assert_eq!(reuse.distances.entries().collect::<BTreeMap<_, _>>(), distances, "{name}");
        }
    }
}

/// Calls of one source, by step.
#[derive(Default)]
struct Frames {
    /// A number of its own for each call, and where it returns to.
    stack: Vec<(u64, Option<u64>)>,
    calls: u64,
    /// The last instruction: its control, target, address, and the address after it.
    last: Option<(Control, Option<u64>, u64, u64)>,
    trap: Option<[Option<u64>; 2]>,
}

impl Frames {
    fn call(&mut self, back: Option<u64>) {
        self.calls += 1;
        self.stack.push((self.calls, back));
    }

    fn back_to(&mut self, pc: u64, most: usize) -> bool {
        let from = self.stack.len().saturating_sub(most);
        let found = (from..self.stack.len()).rev().find(|n| self.stack[*n].1 == Some(pc));
        if let Some(at) = found {
            self.stack.truncate(at);
        }
        found.is_some()
    }

    /// Control arrives at `pc`: returns the number of the call, and true if it came by a back edge.
    fn step(&mut self, pc: u64) -> (u64, bool) {
        if self.stack.is_empty() {
            self.call(None);
        }
        let mut by_back_edge = false;
        if let Some([back, from]) = self.trap.take() {
            let after = self.last.map(|last| last.3);
            if pc != after.unwrap_or(pc + 1) && Some(pc) != back && Some(pc) != from {
                self.call(back);
            }
        } else if let Some((control, target, at, after)) = self.last {
            match control {
                Control::Call | Control::IndirectCall if pc != after => self.call(Some(after)),
                Control::CoroutineSwap if !self.back_to(pc, usize::MAX) => self.call(Some(after)),
                Control::Return if pc == after => {}
                Control::Return if !self.back_to(pc, usize::MAX) && self.stack.len() == 1 => {
                    self.stack.clear();
                }
                Control::TrapReturn => drop(self.back_to(pc, usize::MAX)),
                Control::IndirectJump | Control::OtherIndirectJump => drop(self.back_to(pc, 1)),
                Control::Branch | Control::Jump | Control::OtherJump => {
                    by_back_edge = target == Some(pc) && pc <= at;
                }
                _ => {}
            }
        }
        if self.stack.is_empty() {
            self.call(None);
        }
        (self.stack.last().unwrap().0, by_back_edge)
    }

    /// Shows each arrival at an address: the call that it is in, and whether a back edge led to it.
    fn follow(run: &Run, mut show: impl FnMut(u64, u64, bool, u64)) {
        let mut sources: HashMap<u16, Frames> = HashMap::new();
        each(run, |source, isa, batch, kind| {
            let frames = sources
                .entry(source)
                .or_insert_with(|| Frames { calls: u64::from(source) << 32, ..Frames::default() });
            match kind {
                EventKind::Step(step) => {
                    let pc = step.pc.unwrap();
                    let at = frames.last.map_or(0, |last| last.2);
                    let (call, by_back_edge) = frames.step(pc);
                    show(call, pc, by_back_edge, at);
                    let flow = flow(isa, pc, step.encoding);
                    let retired = step.outcome == Outcome::Retired && step.length > 0;
                    let control = if retired { flow.control } else { Control::Sequential };
                    frames.last = Some((control, flow.target, pc, pc + u64::from(step.length)));
                }
                EventKind::Gap(_) => *frames = Frames { calls: frames.calls, ..Frames::default() },
                EventKind::Trap(n) => {
                    let trap = &batch.traps[*n as usize];
                    match trap.kind {
                        TrapKind::Return => {}
                        TrapKind::Reset => *frames = Frames { calls: frames.calls, ..Frames::default() },
                        _ => frames.trap = Some([trap.return_address.or(trap.from), trap.from]),
                    }
                }
                _ => {}
            }
        });
    }
}

/// Loops: where back edges go is known from a first reading.
fn recount_loops(run: &Run) {
    let mut headers: BTreeMap<u64, u64> = BTreeMap::new();
    Frames::follow(run, |_, pc, by_back_edge, at| {
        if by_back_edge {
            let last = headers.entry(pc).or_default();
            *last = at.max(*last);
        }
    });
    // Trips of the entry that each call is in, and of all that ended.
    let mut open: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut trips: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut instructions: BTreeMap<u64, u64> = BTreeMap::new();
    Frames::follow(run, |call, pc, by_back_edge, _| {
        for (header, last) in &headers {
            *instructions.entry(*header).or_default() += u64::from((*header..=*last).contains(&pc));
        }
        // Below its header a loop is left.
        let left: Vec<(u64, u64)> =
            open.range((call, pc + 1)..=(call, u64::MAX)).map(|(key, _)| *key).collect();
        for key in left {
            trips.entry(key.1).or_default().extend(open.remove(&key));
        }
        if !headers.contains_key(&pc) {
            return;
        }
        match (open.get_mut(&(call, pc)), by_back_edge) {
            (Some(count), true) => *count += 1,
            (None, true) => drop(open.insert((call, pc), 2)),
            (_, false) => {
                let ended = open.insert((call, pc), 1);
                trips.entry(pc).or_default().extend(ended);
            }
        }
    });
    for ((_, header), count) in open {
        trips.entry(header).or_default().push(count);
    }
    let wanted: BTreeMap<u64, (u64, u64, [u64; 2], u64, u64)> = trips
        .into_iter()
        .map(|(header, trips)| {
            let ends = [*trips.iter().min().unwrap(), *trips.iter().max().unwrap()];
            let (entries, sum) = (trips.len() as u64, trips.iter().sum());
            (header, (entries, sum, ends, instructions[&header], headers[&header]))
        })
        .collect();
    let (_, answers) = counted(run);
    let found = answers.loops.unwrap().list;
    let found: BTreeMap<u64, (u64, u64, [u64; 2], u64, u64)> = found
        .iter()
        .map(|row| (row.header.pc, (row.entries, row.iterations, row.trips, row.instructions, row.last)))
        .collect();
    assert_eq!(found, wanted, "{}", run.name);
    assert!(!found.is_empty(), "{}", run.name);
}

/// Paths of labels with the instructions in them.
fn paths(called: &Called) -> BTreeMap<String, u64> {
    let nodes = called.tree.nodes();
    let label = |id: u32| match nodes[id as usize].kind {
        NodeKind::Thread(_) => None,
        NodeKind::Function(id) | NodeKind::Handler(id) => Some(called.functions.get(id).label()),
    };
    let mut paths = BTreeMap::new();
    for (id, node) in (0..).zip(nodes).filter(|(_, node)| node.instructions > 0) {
        let path = called.tree.path(id).into_iter().filter_map(label).collect::<Vec<_>>().join(" ");
        *paths.entry(path).or_default() += node.instructions;
    }
    paths
}

/// The call tree of runs without traps and gaps: a list of functions, of which the last one runs.
fn recount_calls(run: &Run) {
    let symbol = |pc: u64| run.programs[0].symbol(pc).map(|(symbol, _)| symbol.demangled().into_owned());
    let function = |pc: u64| symbol(pc).unwrap_or_else(|| format!("{pc:#x}"));
    let mut wanted: BTreeMap<String, u64> = BTreeMap::new();
    let mut stack: Vec<(Option<u64>, String)> = Vec::new();
    let mut before: Option<(u64, Control)> = None;
    each(run, |_, isa, _, kind| {
        assert!(!matches!(kind, EventKind::Gap(_)), "chosen without them");
        let EventKind::Step(step) = kind else { return };
        let pc = step.pc.unwrap();
        match before {
            Some((end, Control::Call | Control::IndirectCall)) if pc != end => {
                stack.push((Some(end), function(pc)));
            }
            Some((end, Control::Return | Control::IndirectJump)) if pc != end => {
                if let Some(at) = stack.iter().rposition(|(back, _)| *back == Some(pc)) {
                    stack.truncate(at);
                }
            }
            _ => {}
        }
        match stack.last_mut() {
            None => stack.push((None, function(pc))),
            // Code without a symbol belongs to the function that was called (stubs of a linker).
            Some(top) => top.1 = symbol(pc).unwrap_or_else(|| std::mem::take(&mut top.1)),
        }
        let path: Vec<&str> = stack.iter().map(|(_, name)| name.as_str()).collect();
        *wanted.entry(path.join(" ")).or_default() += 1;
        before = Some((pc + u64::from(step.length), flow(isa, pc, step.encoding).control));
    });
    let mut tree = CallTree::new(run.isa, &run.programs);
    run.batches.iter().for_each(|batch| tree.observe(batch));
    assert_eq!(paths(&tree.finish()), wanted, "{}", run.name);
}

#[test]
fn mix_branches_and_footprint() {
    riscv().iter().chain(&arm()).for_each(recount);
}

#[test]
fn reuse_distances() {
    riscv().iter().chain(&arm()).for_each(recount_reuse);
}

#[test]
fn loops() {
    riscv().iter().chain(&arm()).for_each(recount_loops);
}

#[test]
fn call_trees() {
    let plain = [
        file("testdata/stf/sort/trace.stf", Some("programs/riscv/sort.elf")),
        recorded("programs/riscv/elf/rv64-calls.elf"),
        recorded("programs/riscv/elf/rv64-mix.elf"),
        file("testdata/astf/sort.astf", Some("programs/aarch64/sort.elf")),
        listed("programs/arm-mix/arm-mix"),
    ];
    plain.iter().for_each(recount_calls);
    of_corpus("rv64gc", "qsortmix").iter().for_each(recount_calls);
    of_corpus("aarch64", "qsortmix").iter().for_each(recount_calls);
}

/// The counts of `stf_imix` for the traces of the corpus, where its classes are ours: conditional branches, multiplications,
/// divisions and the count of all. It puts loads and stores under `int` too, and calls and returns under `jal` and `jalr`.
#[test]
fn the_mix_is_that_of_stf_imix() {
    let Some(corpus) = trackway_testkit::corpus_part("stf") else { return };
    for name in ["dhry_riscv", "dhrystone_opt1", "dhrystone_spike"] {
        let text = std::fs::read_to_string(corpus.join(format!("expected/{name}.imix.txt"))).unwrap();
        let expected: BTreeMap<&str, u64> = text
            .lines()
            .skip(1)
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                Some((words.next()?, words.next()?.parse().ok()?))
            })
            .collect();
        let mut trace = Trace::options().threads(1).open(corpus.join(format!("{name}.zstf"))).unwrap();
        let mut stats = Stats::new(trace.meta().isa, &[]);
        let (mut source, mut batch) = (trace.events().unwrap(), Batch::default());
        while source.fill(&mut batch).unwrap() {
            stats.observe(&batch);
        }
        let stats = stats.finish();
        let classes = &stats.mix.classes;
        let ours = |names: &[&str]| names.iter().filter_map(|name| classes.get(name)).sum::<u64>();
        let theirs = |names: &[&str]| names.iter().filter_map(|name| expected.get(name)).sum::<u64>();
        assert_eq!(ours(&["branch"]), theirs(&["cond"]), "{name}");
        assert_eq!(ours(&["load"]), theirs(&["load"]), "{name}");
        assert_eq!(ours(&["store"]), theirs(&["store"]), "{name}");
        assert_eq!(ours(&["multiply", "divide"]), theirs(&["mul", "div"]), "{name}: {classes:?}");
        assert_eq!(ours(&["jump", "call", "return"]), theirs(&["jal", "jalr"]), "{name}");
        assert_eq!(stats.branches.outcomes.iter().sum::<u64>(), theirs(&["cond"]), "{name}");
    }
}
