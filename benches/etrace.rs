//! E-Trace: decoding and encoding a real execution beside the crate riscv-etrace, on the same stream. Needs the corpus.

#[path = "../oracles/riscv-etrace/tests/peer/mod.rs"]
mod peer;

use std::sync::Arc;

use riscv_etrace::{binary, instruction};
use trackway_bench::{Measure, run as measure_all};
use trackway_core::*;
use trackway_etrace::port::{Block, Cycle, Itype};
use trackway_etrace::{Config, Dialect, Encoder, Lift, Lower, ResyncMode, lift};
use trackway_image::{Image, Space};
use trackway_testkit::qemu;

const PASSES: usize = 3;
const INSTRUCTIONS: u64 = 100_000_000;
/// Programs, and how many times as fast as the peer decoding should be: the first has many packets.
const PROGRAMS: [(&str, f64); 2] = [("qsortmix", 12.0), ("bzip2", 25.0)];

/// The longest stretch of a run without a trap, as events.
fn stretch(run: &qemu::Run) -> Batch {
    let (mut best, mut now) = (Vec::new(), Vec::new());
    let (mut events, mut batch) = (run.events(), Batch::default());
    while events.fill(&mut batch).unwrap() {
        for event in &batch.events {
            match event.kind {
                EventKind::Step(step) if step.outcome == Outcome::Retired => {
                    now.push(Step { accesses: Default::default(), extra: None, ..step });
                }
                _ => {
                    if now.len() > best.len() {
                        std::mem::swap(&mut best, &mut now);
                    }
                    now.clear();
                }
            }
        }
    }
    let mut out = Batch::default();
    for step in best {
        out.push(0, EventKind::Step(step));
    }
    out
}

/// The stream and what it ran on.
struct Stream {
    config: Config,
    image: Arc<Image>,
    bytes: SharedBytes,
    instructions: u64,
}

impl Stream {
    fn lift(&self, jobs: usize) -> Lift {
        lift(Input::Whole(Arc::clone(&self.bytes)), &self.config, Arc::clone(&self.image), jobs).unwrap()
    }

    fn observe(&self, jobs: usize) -> u64 {
        let (mut lift, mut count) = (self.lift(jobs), Count::default());
        while lift.observe(&mut count).unwrap() {}
        assert_eq!(count.0, self.instructions);
        count.0
    }

    /// Each pc separately, added up.
    fn pcs(&self, base: u64, lengths: &[u8]) -> u64 {
        let (mut lift, mut batch) = (self.lift(1), Batch::default());
        let (mut sum, mut count) = (0u64, 0);
        while lift.fill(&mut batch).unwrap() {
            for event in &batch.events {
                let EventKind::Run(run) = &event.kind else { continue };
                let mut pc = run.start;
                while pc < run.end {
                    sum = sum.wrapping_add(pc);
                    count += 1;
                    pc += u64::from(lengths[((pc - base) / 2) as usize]);
                }
            }
        }
        std::hint::black_box(sum);
        assert_eq!(count, self.instructions);
        count
    }
}

fn main() {
    for (name, goal) in PROGRAMS {
        let Some(run) = qemu::Run::corpus("rv64gc", name) else { return };
        bench(name, goal, &run);
    }
}

fn bench(program: &str, goal: f64, run: &qemu::Run) {
    let mut config = Config::new(Dialect::V2);
    config.params.iaddress_width = 64;
    config.params.ecause_width = 5;
    config.encoder.resync_mode = ResyncMode::Packets;
    config.encoder.resync_max = 4;
    let params = peer::parameters(&config);
    let steps = stretch(run);
    let length = steps.events.len() as u64;
    let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).unwrap();
    lower.put(&steps).unwrap();
    lower.finish().unwrap();
    let packets = lower.encoder().writer.packets;
    let once = lower.into_inner();
    // Session after session: the same stretch until there are enough instructions.
    let times = INSTRUCTIONS.div_ceil(length);
    let bytes: Vec<u8> = once.iter().copied().cycle().take(once.len() * times as usize).collect();
    let bytes: SharedBytes = Arc::new(bytes);
    let all = (*bytes).as_ref();

    let mut image = Image::default();
    image.add_elf("elf", Arc::new(run.elf.clone()), None, Space::default()).unwrap();
    let image = Arc::new(image);
    let memory = image.memory(&Context::default());
    let text = memory.segments().iter().find(|segment| segment.executable).unwrap();
    let (base, code) = (text.address, text.bytes());
    let set = instruction::base::Set::Rv64I;
    let table: Vec<Option<peer::Insn>> = (0..code.len() / 2)
        .map(|n| peer::Insn::extract(&code[n * 2..], &set).map(|(insn, _)| insn))
        .collect();
    let lengths: Vec<u8> = (0..code.len() / 2).map(|n| if code[n * 2] & 3 == 3 { 4 } else { 2 }).collect();
    // The slowest way has a tenth of the stream.
    let tenth = times.div_ceil(10);

    let instructions = length * times;
    println!(
        "{program}: {instructions} instructions in {times} sessions of {length}, {} packets, {} bytes",
        packets * times,
        all.len()
    );
    let stream = Stream { config, image, bytes: Arc::clone(&bytes), instructions };
    let config = &stream.config;
    let rows = peer::rows(&steps);
    let blocks = blocks(&steps);
    let name = |measure: &str| format!("{program}: {measure}");
    let measures = vec![
        Measure::new(name("decode to runs"), "instructions", || stream.observe(1)).on_core(),
        Measure::new(name("decode to pcs"), "instructions", || stream.pcs(base, &lengths)).on_core(),
        Measure::new(name("decode, 1 thread"), "instructions", || stream.observe(1)),
        Measure::new(name("decode, 2 threads"), "instructions", || stream.observe(2)),
        Measure::new(name("riscv-etrace with a table of instructions"), "instructions", || {
            let mut count = 0;
            let code = binary::from_fn(|pc: u64| {
                let slot = (pc.wrapping_sub(base) / 2) as usize;
                table.get(slot).and_then(|insn| *insn).ok_or(binary::error::NoInstruction)
            });
            peer::walk(all, &params, code, |item| count += u64::from(item.instruction().is_some())).unwrap();
            assert_eq!(count, instructions);
            count
        })
        .on_core(),
        Measure::new(name("riscv-etrace with the ELF file"), "instructions", || {
            let elf = elf::ElfBytes::<elf::endian::LittleEndian>::minimal_parse(&run.elf).unwrap();
            let code: binary::elf::Elf<_, _, instruction::base::Set> = binary::elf::Elf::new(elf).unwrap();
            let mut count = 0;
            let bytes = &all[..once.len() * tenth as usize];
            peer::walk(bytes, &params, code, |item| count += u64::from(item.instruction().is_some()))
                .unwrap();
            assert_eq!(count, length * tenth);
            count
        })
        .on_core(),
        Measure::new(name("encode from the port, many cycles at once"), "instructions", || {
            let mut encoder = Encoder::new(config).unwrap();
            // The signals of the port keep their values.
            let mut port = Cycle { privilege: 3, ..Cycle::default() };
            for _ in 0..times {
                encoder.cycles(&blocks, &port).unwrap();
                port.cycle += blocks.len() as u64;
                encoder.finish(port.cycle).unwrap();
                encoder.writer.clear();
            }
            instructions
        })
        .on_core(),
        Measure::new(name("encode from the port"), "instructions", || {
            let mut encoder = Encoder::new(config).unwrap();
            let mut port = Cycle { privilege: 3, ..Cycle::default() };
            for _ in 0..times {
                for block in &blocks {
                    port.blocks = std::slice::from_ref(block);
                    port.cycle += 1;
                    encoder.cycle(&port).unwrap();
                }
                encoder.finish(port.cycle).unwrap();
                encoder.writer.clear();
            }
            instructions
        })
        .on_core(),
        Measure::new(name("encode from events"), "instructions", || {
            for _ in 0..times {
                let mut lower = Lower::new(std::io::sink(), config, Isa::Rv64, None).unwrap();
                lower.put(&steps).unwrap();
                lower.finish().unwrap();
            }
            instructions
        })
        .on_core(),
        Measure::new(name("riscv-etrace encoding"), "instructions", || {
            for _ in 0..times {
                let mut since = 0;
                let encoded = peer::encode(&rows, &params, Default::default(), |_| {
                    since = if since == 5000 { 0 } else { since + 1 };
                    since == 5000
                });
                std::hint::black_box(encoded.unwrap());
            }
            instructions
        })
        .on_core(),
    ];
    let results = measure_all(PASSES, measures);
    for (ours, other, at_least) in [
        ("decode to runs", "riscv-etrace with a table of instructions", Some(goal)),
        ("decode to runs", "riscv-etrace with the ELF file", Some(25.0)),
        ("decode to pcs", "riscv-etrace with a table of instructions", None),
        ("decode, 2 threads", "decode, 1 thread", Some(1.6)),
        ("encode from the port", "riscv-etrace encoding", Some(6.0)),
        ("encode from the port, many cycles at once", "riscv-etrace encoding", Some(6.0)),
        ("encode from events", "riscv-etrace encoding", Some(4.0)),
    ] {
        results.faster(&name(ours), &name(other), at_least);
    }
}

/// One row of single retirement per instruction.
fn blocks(steps: &Batch) -> Vec<Block> {
    let block = |event: &Event| {
        let EventKind::Step(step) = event.kind else { unreachable!() };
        let pc = step.pc.unwrap();
        let control = trackway_isa::flow(Isa::Rv64, pc, step.encoding).control;
        let itype = Itype::new(control, step.taken.unwrap_or(false), 4);
        Block::single(itype, pc, true, u8::from(step.length == 4))
    };
    steps.events.iter().map(block).collect()
}
