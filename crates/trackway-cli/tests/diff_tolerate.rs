//! `trackway diff --tolerate` from outside: each tolerance passes its difference, and the same difference elsewhere counts.

mod common;

use common::{Folder, text, trackway};
use trackway::format::{Program, Settings, Writing};
use trackway::io::Target;
use trackway_core::*;

/// An instruction with its effects.
#[derive(Clone)]
struct Made {
    pc: u64,
    encoding: u32,
    taken: Option<bool>,
    writes: Vec<(Reg, u64)>,
    memory: Option<MemAccess>,
}

fn int(number: u16) -> Reg {
    Reg { class: RegClass::Int, number }
}

/// `addi x5, x5, 1` here and there; `number` tells the turns apart.
fn plain(pc: u64, number: u64) -> Made {
    Made { pc, encoding: 0x0012_8293, taken: None, writes: vec![(int(5), number)], memory: None }
}

/// Twenty plain instructions, `middle`, and twenty more after it.
fn around(middle: &[Made]) -> Vec<Made> {
    let begin = (0..20).map(|n| plain(0x1_0000 + 4 * n, n));
    let end = (0..20).map(|n| plain(0x1_0100 + 4 * n, 100 + n));
    begin.chain(middle.iter().cloned()).chain(end).collect()
}

fn write(path: &str, made: &[Made]) {
    let format = trackway::FORMATS.iter().find(|format| format.id().as_str() == "stf").expect("STF");
    let (settings, program, target) = (Settings::default(), Program::default(), Target::new(path));
    let writing = Writing { target: target.clone(), settings: &settings, program: &program, threads: 1 };
    let mut sink = format.create(writing, &Meta::new(FormatId::new("made"), Isa::Rv64)).expect("a sink");
    let mut batch = Batch::default();
    for made in made {
        let begun = batch.begin_accesses();
        for &(reg, value) in &made.writes {
            batch.regs.push(RegAccess {
                reg,
                role: RegRole::Destination,
                update: RegUpdate::Set,
                value: Value::Word(value),
                known: None,
            });
        }
        batch.mem.extend(made.memory);
        let accesses = batch.end_accesses(begun).expect("few");
        let step = Step { accesses, taken: made.taken, ..Step::new(made.pc, made.encoding, 4) };
        batch.push(0, EventKind::Step(step));
    }
    sink.put(&batch).expect("written");
    Sink::finish(&mut *sink).expect("written");
    target.commit().expect("written");
}

/// The exit code of a comparison under each tolerance.
fn exits(name: &str, a: &[Made], b: &[Made], expected: &[(&str, i32)]) {
    let folder = Folder::new(&format!("diff-tolerate-{name}"));
    let (one, other) = (folder.file("a.stf"), folder.file("b.stf"));
    write(&one, a);
    write(&other, b);
    assert_eq!(trackway(&["diff", &one, &one]).status.code(), Some(0), "{name}: a trace and itself");
    for (a, b) in [(&one, &other), (&other, &one)] {
        let output = trackway(&["diff", a, b]);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", text(&output.stdout));
        for &(tolerance, code) in expected {
            let output = trackway(&["diff", a, b, "--tolerate", tolerance]);
            let said = text(&output.stdout);
            assert_eq!(output.status.code(), Some(code), "{name}, {tolerance}: {said}");
            assert!(code == 1 || said.contains("\ntolerated: "), "{name}, {tolerance}: {said}");
        }
    }
}

#[test]
fn registers() {
    let add = |value| Made { writes: vec![(int(10), value)], ..plain(0x1_0050, 0) };
    let expected =
        [("reg:x10", 0), ("reg:a0", 0), ("csr:mcycle,reg:x10", 0), ("reg:x11", 1), ("csr:mcycle", 1)];
    exits("reg", &around(&[add(5)]), &around(&[add(6)]), &expected);
}

/// The register itself, and the one that it is read into.
#[test]
fn control_registers() {
    let mcycle = Reg { class: RegClass::Csr, number: 0xb00 };
    // csrw mcycle, x5
    let written = |value| Made { encoding: 0xb002_9073, writes: vec![(mcycle, value)], ..plain(0x1_0050, 0) };
    let expected = [("csr:mcycle", 0), ("csr:0xb00", 0), ("csr:minstret", 1), ("reg:x10", 1)];
    exits("csr-write", &around(&[written(5)]), &around(&[written(6)]), &expected);
    // csrr x10, mcycle
    let read = |value| Made { encoding: 0xb000_2573, writes: vec![(int(10), value)], ..plain(0x1_0050, 0) };
    exits("csr-read", &around(&[read(5)]), &around(&[read(6)]), &[("csr:mcycle", 0), ("csr:minstret", 1)]);
}

/// The data of a load, and the register that it loads.
#[test]
fn memory() {
    // ld x10, 0(x11)
    let load = |value| Made {
        encoding: 0x0005_b503,
        writes: vec![(int(10), value)],
        memory: Some(MemAccess::read(0x2000, 8, Value::Word(value))),
        ..plain(0x1_0050, 0)
    };
    let expected = [
        ("mem:0x2000-0x2fff", 0),
        ("mem:0x2000", 0),
        ("mem:0x2007-0x2008", 0),
        ("mem:0x2008-0x2fff", 1),
        ("mem:0x1000-0x1fff", 1),
    ];
    exits("mem", &around(&[load(5)]), &around(&[load(6)]), &expected);
    // Another address is tolerated only if both are in the range.
    let store = |address| Made {
        encoding: 0x00a5_b023,
        writes: Vec::new(),
        memory: Some(MemAccess::write(address, 8, Value::Word(1))),
        ..plain(0x1_0050, 0)
    };
    let expected = [("mem:0x2000-0x2fff", 0), ("mem:0x2000-0x20ff", 1)];
    exits("mem-place", &around(&[store(0x2000)]), &around(&[store(0x2100)]), &expected);
}

/// The same instructions in another order.
#[test]
fn order() {
    let block = |order: [u64; 4]| -> Vec<Made> {
        around(&order.map(|n| Made { writes: vec![(int(10), n)], ..plain(0x1_0050 + 4 * n, 0) }))
    };
    let expected = [("order:4", 0), ("order:16", 0), ("order:2", 1), ("sc-failure", 1)];
    exits("order", &block([0, 1, 2, 3]), &block([3, 1, 2, 0]), &expected);
    // One instead of another is not an order.
    exits("order-other", &block([0, 1, 2, 3]), &block([0, 1, 2, 2]), &[("order:16", 1)]);
}

/// A loop that tries a store-conditional again; a loop of other instructions that goes round once more.
#[test]
fn sc_failure() {
    let turn = |store: u32, fails: bool| -> Vec<Made> {
        let result = u64::from(fails);
        let memory = (!fails).then(|| MemAccess::write(0x2000, 4, Value::Word(1)));
        vec![
            // lr.w x10, (x11)
            Made {
                encoding: 0x1005_a52f,
                writes: vec![(int(10), 7)],
                memory: Some(MemAccess::read(0x2000, 4, Value::Word(7))),
                ..plain(0x1_0050, 0)
            },
            Made { encoding: store, writes: vec![(int(12), result)], memory, ..plain(0x1_0054, 0) },
            // bnez x12, -8
            Made { encoding: 0xfe06_1ce3, taken: Some(fails), writes: Vec::new(), ..plain(0x1_0058, 0) },
        ]
    };
    // sc.w x12, x10, (x11)
    let sc = 0x18a5_a62f;
    let once = around(&turn(sc, false));
    let twice = around(&[turn(sc, true), turn(sc, false)].concat());
    let expected = [("sc-failure", 0), ("order:2", 1), ("mem:0x3000", 1)];
    exits("sc", &once, &twice, &expected);
    // sltiu x12, x12, 1
    let other = 0x0016_3613;
    let once = around(&turn(other, false));
    let twice = around(&[turn(other, true), turn(other, false)].concat());
    exits("sc-other", &once, &twice, &[("sc-failure", 1)]);
}
