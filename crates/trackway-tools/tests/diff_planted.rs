//! A change, and insertions and deletions of one and of a thousand instructions, are found through files in every pair of
//! formats of one architecture, and nothing else is.
//!
//! The ordinary run takes short traces; `TRACKWAY_SWEEP=1` takes ten million instructions, and says how long that takes.

use std::path::{Path, PathBuf};
use std::time::Instant;

use trackway::events::*;
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::Target;
use trackway::{FORMATS, Options};
use trackway_tools::diff::{self, Kind, Report};

/// A loop in which an edit of one instruction is another way through the program, too: the third instruction branches to
/// itself, the fourth chooses between two ways of the same length.
struct Code {
    isa: Isa,
    base: u64,
    words: [u32; 9],
    formats: [&'static str; 3],
}

const SELF: usize = 2;
const FORK: usize = 3;

const RISCV: Code = Code {
    isa: Isa::Rv64,
    base: 0x8000_0000,
    // addi x5, x5, 1; ld x10, (x11); beqz x6, .; beqz x7, +12; nop; j +12; nop; nop; j -32
    words: [
        0x0012_8293,
        0x0005_b503,
        0x0003_0063,
        0x0003_8663,
        0x0000_0013,
        0x00c0_006f,
        0x0000_0013,
        0x0000_0013,
        0xfe1f_f06f,
    ],
    formats: ["stf", "etrace", "tandem"],
};

const ARM: Code = Code {
    isa: Isa::A64,
    base: 0x8_0000,
    // add x5, x5, #1; ldr x10, [x11]; cbz w6, .; cbz w7, +12; nop; b +12; nop; nop; b -32
    words: [
        0x9100_04a5,
        0xf940_016a,
        0x3400_0006,
        0x3400_0067,
        0xd503_201f,
        0x1400_0003,
        0xd503_201f,
        0xd503_201f,
        0x17ff_fff8,
    ],
    formats: ["stf", "astf", "ete"],
};

/// The turns of the loop: how often the branch to itself is taken, and which way the fork goes.
struct Turns {
    count: u64,
    edited: bool,
}

impl Turns {
    /// Edits are at these tenths of the trace.
    fn at(&self, tenth: u64, turn: u64) -> bool {
        turn == self.count * tenth / 10
    }

    fn selves(&self, turn: u64) -> u64 {
        let usual = if self.at(8, turn) { 1200 } else { 3 };
        match self.edited {
            true if self.at(2, turn) => usual + 1,
            true if self.at(3, turn) => usual - 1,
            true if self.at(5, turn) => usual + 1000,
            true if self.at(8, turn) => usual - 1000,
            _ => usual,
        }
    }

    fn forks(&self, turn: u64) -> bool {
        turn.is_multiple_of(3) ^ (self.edited && self.at(1, turn))
    }

    fn instructions(&self) -> u64 {
        (0..self.count).map(|turn| self.selves(turn) + 7).sum()
    }
}

impl Code {
    fn step(&self, place: usize, turn: u64, taken: Option<bool>, batch: &mut Batch) {
        let begun = batch.begin_accesses();
        let mixed = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let written = match place {
            0 => Some((5, turn)),
            1 => {
                let address = 0x9000_0000 + 8 * (turn % 4096);
                batch.mem.push(MemAccess::read(address, 8, Value::Word(mixed)));
                Some((10, mixed))
            }
            _ => None,
        };
        if let Some((number, value)) = written {
            batch.regs.push(RegAccess {
                reg: Reg { class: RegClass::Int, number },
                role: RegRole::Destination,
                update: RegUpdate::Set,
                value: Value::Word(value),
                known: None,
            });
        }
        let accesses = batch.end_accesses(begun).expect("two accesses");
        let pc = self.base + 4 * place as u64;
        let step = Step { accesses, taken, ..Step::new(pc, self.words[place], 4) };
        batch.push(0, EventKind::Step(step));
    }

    fn turn(&self, turns: &Turns, turn: u64, batch: &mut Batch) {
        self.step(0, turn, None, batch);
        self.step(1, turn, None, batch);
        let selves = turns.selves(turn);
        (0..=selves).for_each(|n| self.step(SELF, turn, Some(n < selves), batch));
        let forks = turns.forks(turn);
        self.step(FORK, turn, Some(forks), batch);
        if forks {
            self.step(6, turn, None, batch);
            self.step(7, turn, None, batch);
        } else {
            self.step(4, turn, None, batch);
            self.step(5, turn, Some(true), batch);
        }
        self.step(8, turn, Some(true), batch);
    }

    fn write(&self, turns: &Turns, format: &'static dyn Format, program: &Program, path: &Path) {
        let (settings, target) = (Settings::default(), Target::new(path));
        let writing = Writing { target: target.clone(), settings: &settings, program, threads: 1 };
        let mut sink =
            format.create(writing, &Meta::new(FormatId::new("made"), self.isa)).expect("it takes this code");
        let mut batch = Batch::with_capacity();
        let mut number = 0;
        for turn in 0..turns.count {
            self.turn(turns, turn, &mut batch);
            if batch.events.len() > 2048 || turn + 1 == turns.count {
                batch.first_instruction = number;
                number += batch.instructions();
                sink.put(&batch).expect("it is written");
                batch.clear();
            }
        }
        assert_eq!(number, turns.instructions());
        Sink::finish(&mut *sink).expect("it is written");
        target.commit().expect("it is written");
    }
}

fn read(format: &'static dyn Format, program: &Program, path: &Path) -> Box<dyn Source> {
    let settings = Settings::beside_trace(path).expect("settings").unwrap_or_default();
    let options =
        Options { format: Some(format.id()), program: program.clone(), threads: 1, ..Options::default() };
    options.settings(settings).open(path).and_then(|mut trace| trace.expanded()).expect("a good trace")
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // If it cannot be removed, it is in the system's own temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn every_pair(code: &Code) {
    let sweep = std::env::var_os("TRACKWAY_SWEEP").is_some();
    let count = if sweep { 1_000_000 } else { 6000 };
    let folder =
        Folder(std::env::temp_dir().join(format!("trackway-planted-{}-{}", code.isa, std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let image = folder.0.join("code.bin");
    let bytes: Vec<u8> = code.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(&image, bytes).expect("a file");
    let program =
        Program { raw: vec![format!("{}@{:#x}", image.display(), code.base)], ..Program::default() };
    let formats = code.formats.map(|id| *FORMATS.iter().find(|format| format.id().as_str() == id).expect(id));
    let path = |edited: bool, format: &dyn Format| {
        folder.0.join(format!("{}.{}", if edited { "edited" } else { "plain" }, format.extensions()[0]))
    };
    let plain = Turns { count, edited: false };
    for format in formats {
        for edited in [false, true] {
            code.write(&Turns { count, edited }, format, &program, &path(edited, format));
        }
    }
    let places: Vec<u64> = [1, 2, 3, 5, 8]
        .map(|tenth| (0..count * tenth / 10).map(|turn| plain.selves(turn) + 7).sum())
        .to_vec();
    for a in formats {
        for b in formats {
            let pair = format!("{}: {} and {}", code.isa, a.id(), b.id());
            let begun = Instant::now();
            let (mut one, mut other) =
                (read(a, &program, &path(false, a)), read(b, &program, &path(true, b)));
            let report = diff::diff(&mut *one, &mut *other, &diff::Options::default(), &mut |_, _| {})
                .expect("it ends");
            if sweep {
                eprintln!("{pair}: {} instructions, {:?}", plain.instructions(), begun.elapsed());
            }
            check(&pair, &report, &places);
        }
    }
}

fn check(pair: &str, report: &Report, places: &[u64]) {
    let found: Vec<(Kind, u64, u64)> = report
        .differences
        .iter()
        .map(|found| (found.kind, found.a.to - found.a.from, found.b.to - found.b.from))
        .collect();
    let expected = [
        (Kind::Changed, 3, 3),
        (Kind::Inserted, 0, 1),
        (Kind::Deleted, 1, 0),
        (Kind::Inserted, 0, 1000),
        (Kind::Deleted, 1000, 0),
    ];
    assert_eq!(found, expected, "{pair}: {:#?}", report.differences);
    assert_eq!(report.counts, [1, 2, 2], "{pair}");
    for (difference, &place) in report.differences.iter().zip(places) {
        // Which turn of the branch to itself is one too many, nobody can say.
        let (from, to) = (difference.a.from, difference.a.to);
        assert!(from >= place && to <= place + 1210, "{pair}: {difference:?}, planted near {place}");
    }
}

#[test]
fn riscv() {
    every_pair(&RISCV);
}

#[test]
fn arm() {
    every_pair(&ARM);
}
