//! The call tree: shapes by hand, and real runs against a slow reading of the same instructions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway::Trace;
use trackway_core::*;
use trackway_image::{Image, Space};
use trackway_isa::{Control, flow};
use trackway_tools::calls::{CallTree, Called, NodeKind};

/// Steps of a program in memory: calls, returns and what is between them.
#[derive(Default)]
struct Script(Batch);

const JAL: u32 = 0x0000_00ef; // jal ra, .
const RET: u32 = 0x0000_8067;
const NOP: u32 = 0x0000_0013;
const JUMP: u32 = 0x0000_006f; // j .
const JR: u32 = 0x0003_0067; // jr t1
const MRET: u32 = 0x3020_0073;

impl Script {
    fn step(&mut self, pc: u64, encoding: u32) -> &mut Self {
        self.0.push(0, EventKind::Step(Step::new(pc, encoding, 4)));
        self
    }

    fn called(&self) -> Called {
        let mut tree = CallTree::new(Isa::Rv64, &[]);
        tree.observe(&self.0);
        tree.finish()
    }
}

/// Paths of labels with the instructions in them.
fn paths(called: &Called) -> BTreeMap<String, u64> {
    let nodes = called.tree.nodes();
    let label = |id: u32| match nodes[id as usize].kind {
        NodeKind::Thread(_) => None,
        NodeKind::Function(id) => Some(called.functions.get(id).label()),
        NodeKind::Handler(id) => Some(format!("{}!", called.functions.get(id).label())),
    };
    let executed = (0..).zip(nodes).filter(|(_, node)| node.instructions > 0);
    let path = |id| called.tree.path(id).into_iter().filter_map(label).collect::<Vec<_>>().join(" ");
    executed.map(|(id, node)| (path(id), node.instructions)).collect()
}

fn expect(script: &Script, wanted: &[(&str, u64)]) {
    let wanted: BTreeMap<String, u64> = wanted.iter().map(|(path, n)| (path.to_string(), *n)).collect();
    assert_eq!(paths(&script.called()), wanted);
}

#[test]
fn calls_and_recursion() {
    let mut script = Script::default();
    // 0x1000 calls 0x2000, which calls itself once; both return.
    script.step(0x1000, JAL).step(0x2000, JAL).step(0x2000, NOP).step(0x2004, RET);
    script.step(0x2004, RET).step(0x1004, NOP);
    expect(&script, &[("0x1000", 2), ("0x1000 0x2000", 2), ("0x1000 0x2000 0x2000", 2)]);
    let called = script.called();
    let totals = called.tree.by_function();
    let id = (0..).zip(called.functions.all()).find(|(_, function)| function.address == 0x2000).unwrap().0;
    // Recursion is counted once.
    assert_eq!((totals[&id].inclusive, totals[&id].exclusive, totals[&id].calls), (4, 4, 2));
}

#[test]
fn a_return_past_several_calls_leaves_their_frames() {
    let mut script = Script::default();
    script.step(0x1000, JAL).step(0x2000, JAL).step(0x3000, NOP).step(0x3004, RET).step(0x1004, NOP);
    expect(&script, &[("0x1000", 2), ("0x1000 0x2000", 1), ("0x1000 0x2000 0x3000", 2)]);
}

#[test]
fn an_interrupt_is_a_frame_of_its_own() {
    let mut script = Script::default();
    script.step(0x1000, JAL).step(0x2000, NOP);
    let trap = Trap { from: Some(0x2004), return_address: Some(0x2004), ..Trap::new(TrapKind::Interrupt) };
    script.0.push_trap(0, trap);
    script.step(0x9000, NOP).step(0x9004, MRET).step(0x2004, RET).step(0x1004, NOP);
    expect(&script, &[("0x1000", 2), ("0x1000 0x2000", 2), ("0x1000 0x2000 0x9000!", 2)]);
}

/// With symbols a jump to another function takes the place of the one that jumped.
#[test]
fn a_tail_call_takes_the_place_of_its_caller() {
    let (programs, [a, b, c]) = sort();
    let mut script = Script::default();
    script.step(a, JAL).step(b, JUMP).step(c, NOP).step(c + 4, RET).step(a + 4, NOP);
    let mut tree = CallTree::new(Isa::Rv64, &programs);
    tree.observe(&script.0);
    let called = tree.finish();
    let name = |address| programs[0].place(address).unwrap();
    let wanted =
        [(name(a), 2), (format!("{} {}", name(a), name(b)), 1), (format!("{} {}", name(a), name(c)), 2)];
    assert_eq!(paths(&called), wanted.into());
}

/// `longjmp` goes to the return address of `setjmp`, which no open frame has: the function there is on the stack, and those
/// above it are left. It is a guess, since the function may be there twice.
#[test]
fn a_longjmp_returns_to_the_function_that_called_setjmp() {
    let (programs, [a, b, c]) = sort();
    for longjmp in [RET, JR] {
        let mut script = Script::default();
        script.step(a, JAL).step(b, RET).step(a + 4, JAL).step(c, JAL).step(b, longjmp);
        script.step(a + 4, NOP).step(a + 8, JAL).step(c, RET).step(a + 12, NOP);
        let mut tree = CallTree::new(Isa::Rv64, &programs);
        tree.observe(&script.0);
        let called = tree.finish();
        let path = |list: &[u64]| {
            list.iter().map(|pc| programs[0].place(*pc).unwrap()).collect::<Vec<_>>().join(" ")
        };
        let wanted = [(path(&[a]), 5), (path(&[a, b]), 1), (path(&[a, c]), 2), (path(&[a, c, b]), 1)];
        assert_eq!(paths(&called), wanted.into());
        let guesses: u64 = called.tree.nodes().iter().map(|node| node.guesses).sum();
        assert_eq!(guesses, 1);
    }
}

/// A program, and where three of its functions begin.
fn sort() -> ([Arc<Image>; 1], [u64; 3]) {
    let bytes = std::fs::read(root().join("programs/riscv/sort.elf")).unwrap();
    let mut image = Image::default();
    image.add_elf("sort", Arc::new(bytes), None, Space::default()).unwrap();
    let places: Vec<u64> = image.parts()[0].symbols().all().iter().map(|symbol| symbol.address).collect();
    ([Arc::new(image)], [places[0], places[1], places[2]])
}

/// After a gap the function is the one that the program says, and that it is a guess is counted.
#[test]
fn a_gap_is_survived() {
    let mut script = Script::default();
    script.step(0x1000, JAL).step(0x2000, NOP);
    script.0.push_gap(0, Gap::new(GapReason::Overflow));
    script.step(0x2008, RET).step(0x1004, NOP);
    expect(&script, &[("0x1000", 2), ("0x1000 0x2000", 2)]);
}

/// After a gap in an inner function control may be in an outer one: the frames above it are left for good.
#[test]
fn a_gap_can_leave_frames() {
    let (programs, [a, b, c]) = sort();
    let mut script = Script::default();
    script.step(a, JAL).step(b, JAL).step(c, NOP);
    script.0.push_gap(0, Gap::new(GapReason::Overflow));
    script.step(a + 8, JUMP).step(a + 8, NOP).step(a + 12, JAL).step(b, NOP);
    let mut tree = CallTree::new(Isa::Rv64, &programs);
    tree.observe(&script.0);
    let called = tree.finish();
    let name = |address| programs[0].place(address).unwrap();
    let path = |list: &[u64]| list.iter().map(|pc| name(*pc)).collect::<Vec<_>>().join(" ");
    assert_eq!(paths(&called), [(path(&[a]), 4), (path(&[a, b]), 2), (path(&[a, b, c]), 1)].into());
    let guesses: u64 = called.tree.nodes().iter().map(|node| node.guesses).sum();
    assert_eq!(guesses, 1);
}

/// Recursion deeper than the frames that are kept comes back to the function that began it.
#[test]
fn recursion_of_any_depth() {
    const DEPTH: u64 = 10_000;
    let mut script = Script::default();
    script.step(0x1000, JAL);
    for _ in 0..DEPTH {
        script.step(0x2000, JAL);
    }
    script.step(0x2000, RET);
    for _ in 0..DEPTH {
        script.step(0x2004, RET);
    }
    script.step(0x1004, NOP);
    let called = script.called();
    let total: u64 = called.tree.nodes().iter().map(|node| node.instructions).sum();
    assert_eq!(total, 2 * DEPTH + 3);
    assert!(called.tree.nodes().len() < 5000, "{}", called.tree.nodes().len());
    let deep = called.tree.nodes().iter().map(|node| node.depth).max().unwrap();
    assert!(deep > 4000);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Instructions by path of functions, with nothing clever: one step after the other, a list of return addresses.
fn slowly(trace: &mut Trace) -> BTreeMap<String, u64> {
    let programs = trace.programs().unwrap();
    let isa = trace.meta().isa;
    let function = |pc: u64| {
        let (symbol, _) = programs.first()?.symbol(pc)?;
        Some(symbol.demangled().into_owned())
    };
    let mut paths: BTreeMap<String, u64> = BTreeMap::new();
    let mut stack: Vec<(Option<u64>, String)> = Vec::new();
    let (mut batch, mut source) = (Batch::default(), trace.expanded().unwrap());
    let mut before: Option<(u64, u64, Control)> = None;
    while source.fill(&mut batch).unwrap() {
        for event in &batch.events {
            assert!(!matches!(event.kind, EventKind::Gap(_)), "chosen without them");
            let EventKind::Step(step) = event.kind else { continue };
            let pc = step.pc.unwrap();
            if stack.is_empty() {
                stack.push((None, function(pc).unwrap_or_else(|| format!("{pc:#x}"))));
            }
            match before {
                Some((_, end, Control::Call | Control::IndirectCall)) => {
                    stack.push((Some(end), function(pc).unwrap_or_else(|| format!("{pc:#x}"))));
                }
                Some((_, end, Control::Return | Control::IndirectJump)) if pc != end => {
                    if let Some(at) = stack.iter().rposition(|(back, _)| *back == Some(pc)) {
                        stack.truncate(at);
                    }
                }
                _ => {}
            }
            if let (Some(name), Some(top)) = (function(pc), stack.last_mut()) {
                top.1 = name;
            }
            let path: Vec<&str> = stack.iter().map(|(_, name)| name.as_str()).collect();
            *paths.entry(path.join(" ")).or_default() += 1;
            before = Some((pc, pc + u64::from(step.length), flow(isa, pc, step.encoding).control));
        }
    }
    paths
}

/// Real runs of both architectures; blocks belong to the function that they begin in.
#[test]
fn slow_and_fast_agree() {
    for (file, elf) in [
        ("testdata/stf/sort/trace.stf", Some("programs/riscv/sort.elf")),
        ("testdata/astf/sort.astf", Some("programs/aarch64/sort.elf")),
        ("testdata/tandem/sort/trace.tv", Some("programs/riscv/sort.elf")),
    ] {
        let path = root().join(file);
        let open = || {
            let mut options = Trace::options();
            if let Some(elf) = elf {
                options = options.elf(root().join(elf).display().to_string());
            }
            options.open(&path).unwrap_or_else(|error| panic!("{file}: {error}"))
        };
        let mut trace = open();
        let mut tree = CallTree::new(trace.meta().isa, &trace.programs().unwrap());
        let (mut batch, mut source) = (Batch::default(), trace.events().unwrap());
        while source.fill(&mut batch).unwrap() {
            tree.observe(&batch);
        }
        let called = tree.finish();
        assert!(called.tree.agrees_with(&called.executed), "{file}");
        assert_eq!(paths(&called), slowly(&mut open()), "{file}");
    }
}
