//! Decoding and encoding a real execution beside riscv-etrace 0.10: same stream, one run, interleaved passes,
//! medians. Needs the corpus.

#[path = "../../../crates/trackway-etrace-peer/tests/peer/mod.rs"]
mod peer;

use std::sync::Arc;
use std::time::Instant;

use riscv_etrace::{binary, instruction};
use trackway_core::*;
use trackway_etrace::port::{Block, Cycle, Itype};
use trackway_etrace::{Config, Dialect, Encoder, Lift, Lower, ResyncMode};
use trackway_image::{Image, Space};
use trackway_testkit::qemu;

const PASSES: usize = 3;

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

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Seconds that this thread was on a processor; other work on the machine does not count.
fn on_cpu() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}

/// Runs and times work of this thread.
fn time(work: impl FnOnce() -> u64) -> (u64, f64) {
    let (start, cpu) = (Instant::now(), on_cpu());
    let count = work();
    let cpu = cpu.and_then(|before| Some(on_cpu()? - before));
    (count, cpu.unwrap_or_else(|| start.elapsed().as_secs_f64()))
}

/// Runs and times work of several threads, by the clock.
fn time_wall(work: impl FnOnce() -> u64) -> (u64, f64) {
    let start = Instant::now();
    let count = work();
    (count, start.elapsed().as_secs_f64())
}

fn lift(
    bytes: &SharedBytes,
    config: &Config,
    image: &Arc<Image>,
    jobs: usize,
    mut each: impl FnMut(&Run),
) -> u64 {
    let mut lift = Lift::new(Input::Whole(Arc::clone(bytes)), config, Arc::clone(image), jobs).unwrap();
    let (mut batch, mut instructions) = (Batch::default(), 0);
    while lift.fill(&mut batch).unwrap() {
        for event in &batch.events {
            if let EventKind::Run(run) = &event.kind {
                instructions += u64::from(run.count);
                each(run);
            }
        }
    }
    instructions
}

fn main() {
    for name in ["qsortmix", "bzip2"] {
        let Some(run) = qemu::Run::corpus("rv64gc", name) else { return };
        bench(name, &run);
    }
}

fn bench(name: &str, run: &qemu::Run) {
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
    let once = lower.into_inner();
    // Session after session: the same stretch until there are 100 million instructions.
    let times = 100_000_000_u64.div_ceil(length);
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
    let elf_bytes = run.elf.clone();

    println!("{name}: {} instructions in {times} sessions of {length}, {} bytes", length * times, all.len());
    let mut t: [Vec<f64>; 5] = Default::default();
    for _ in 0..PASSES {
        let (n, seconds) = time(|| lift(&bytes, &config, &image, 1, |_| {}));
        assert_eq!(n, length * times);
        t[0].push(seconds);
        let (n, seconds) = time(|| {
            let mut sum = 0u64;
            lift(&bytes, &config, &image, 1, |run| {
                let mut pc = run.start;
                while pc < run.end {
                    sum = sum.wrapping_add(pc);
                    pc += u64::from(lengths[((pc - base) / 2) as usize]);
                }
            });
            std::hint::black_box(sum)
        });
        std::hint::black_box(n);
        t[1].push(seconds);
        let (_, one) = time_wall(|| lift(&bytes, &config, &image, 1, |_| {}));
        let (n, two) = time_wall(|| lift(&bytes, &config, &image, 2, |_| {}));
        assert_eq!(n, length * times);
        t[2].push(two / one);
        let (n, seconds) = time(|| {
            let mut count = 0;
            let code = binary::from_fn(|pc: u64| {
                let slot = (pc.wrapping_sub(base) / 2) as usize;
                table.get(slot).and_then(|insn| *insn).ok_or(binary::error::NoInstruction)
            });
            peer::walk(all, &params, code, |item| {
                count += u64::from(item.instruction().is_some());
            })
            .unwrap();
            count
        });
        assert_eq!(n, length * times);
        t[3].push(seconds);
    }
    // The slowest way has a tenth of the stream.
    let tenth = &all[..once.len() * (times / 10) as usize];
    for _ in 0..3 {
        let (n, seconds) = time(|| {
            let elf = elf::ElfBytes::<elf::endian::LittleEndian>::minimal_parse(&elf_bytes).unwrap();
            let code: binary::elf::Elf<_, _, instruction::base::Set> = binary::elf::Elf::new(elf).unwrap();
            let mut count = 0;
            peer::walk(tenth, &params, code, |item| count += u64::from(item.instruction().is_some()))
                .unwrap();
            count
        });
        assert_eq!(n, length * (times / 10));
        t[4].push(seconds * times as f64 / (times / 10) as f64);
    }
    let rate = |n: usize, t: &[Vec<f64>; 5]| (length * times) as f64 / median(t[n].clone()) / 1e6;
    let (ours, pcs, peer_table, peer_elf) = (rate(0, &t), rate(1, &t), rate(3, &t), rate(4, &t));
    let two = 1.0 / median(t[2].clone());
    println!("  decode, runs             {ours:9.1} M/s");
    println!("  decode, every pc         {pcs:9.1} M/s");
    println!("  decode, 2 threads        {two:9.2} times one thread, by the clock (goal 1.6)");
    println!(
        "  peer, pre-decoded table  {peer_table:9.1} M/s   ours {:.1} times (goal 10), every pc {:.1}",
        ours / peer_table,
        pcs / peer_table
    );
    println!("  peer, ELF binary         {peer_elf:9.1} M/s   ours {:.1} times (goal 25)", ours / peer_elf);
    encoders(&config, &steps, length);
}

fn encoders(config: &Config, steps: &Batch, length: u64) {
    let params = peer::parameters(config);
    let rows = peer::rows(steps);
    let blocks: Vec<Block> = steps
        .events
        .iter()
        .map(|event| {
            let EventKind::Step(step) = event.kind else { unreachable!() };
            let pc = step.pc.unwrap();
            let control = trackway_isa::flow(Isa::Rv64, pc, step.encoding).control;
            let itype = Itype::of(control, step.taken.unwrap_or(false), 4);
            Block::single(itype, pc, true, u8::from(step.length == 4))
        })
        .collect();
    let mut t: [Vec<f64>; 3] = Default::default();
    for _ in 0..PASSES {
        let (_, seconds) = time(|| {
            let mut encoder = Encoder::new(config).unwrap();
            for (n, block) in blocks.iter().enumerate() {
                let cycle = Cycle {
                    blocks: std::slice::from_ref(block),
                    privilege: 3,
                    cycle: n as u64,
                    ..Cycle::default()
                };
                encoder.cycle(&cycle).unwrap();
            }
            encoder.finish(0).unwrap();
            encoder.writer.packets
        });
        t[0].push(seconds);
        let (_, seconds) = time(|| {
            let mut lower = Lower::new(std::io::sink(), config, Isa::Rv64, None).unwrap();
            lower.put(steps).unwrap();
            lower.finish().unwrap();
            lower.encoder().writer.packets
        });
        t[1].push(seconds);
        let mut since = 0;
        let (_, seconds) = time(|| {
            let bytes = peer::encode(&rows, &params, Default::default(), |_| {
                since += 1;
                let due = since == 5000;
                since = if due { 0 } else { since };
                due
            });
            bytes.unwrap().len() as u64
        });
        t[2].push(seconds);
    }
    let rate = |n: usize| length as f64 / median(t[n].clone()) / 1e6;
    let peer = rate(2);
    println!(
        "  encode, port             {:9.1} M/s   {:.1} times the peer (goal 3)",
        rate(0),
        rate(0) / peer
    );
    println!("  encode, events           {:9.1} M/s   {:.1} times the peer", rate(1), rate(1) / peer);
    println!("  peer, generator          {peer:9.1} M/s");
}
