//! Instructions per second of the golden model on one core: without effects, with effects, and while recording
//! plain STF that is thrown away. All three run interleaved; the median of several passes is printed.
//!
//! Time is that of the thread on its core. Programs: the C program of `programs/riscv` on bare metal, and where the corpus is there, bzip2 in Linux
//! user mode. Aim: 50, 25 and 15 million per second.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use trackway::Settings;
use trackway::format::{Program as Files, Writing};
use trackway::io::Target as Output;
use trackway_core::{Batch, Source};
use trackway_hart::linux::{Options as LinuxOptions, Process};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, Effects, Program, RecordOptions, Recorder, Target};

const PASSES: usize = 7;

fn main() {
    let mix = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/elf/rv64-mix.elf");
    let mix = Program::read(&std::fs::read(mix).expect("the program is in the repository")).expect("an ELF");
    measure("mix (bare metal)", 40, &|| {
        let config = MachineConfig { ram: 1 << 20, ..MachineConfig::new(Config::new(mix.isa)) };
        Target::Machine(Box::new(Machine::new(config, &mix).expect("it loads")))
    });
    if let Some(run) = trackway_testkit::qemu::Run::corpus("rv64gc", "bzip2") {
        let inputs = trackway_testkit::corpus().expect("it is there").join("qemu/inputs");
        let stdin = std::fs::read(inputs.join("t3k")).expect("it is in the corpus");
        let program = Program::read(&run.elf).expect("an ELF");
        measure("bzip2 (Linux)", 3, &|| {
            let mut options = LinuxOptions::new(["bzip2", "-1", "-c"].map(str::to_string));
            options.stdin = stdin.clone();
            Target::Process(Box::new(Process::new(&program, options).expect("it loads")))
        });
    }
}

/// Time that this thread was on a core, so that what else runs does not count; where the system does not tell
/// it, time that went by.
fn cpu_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// Runs a program to its end; gives the instructions.
type Way = fn(Target) -> u64;

/// The three ways, interleaved.
fn measure(name: &str, times: u32, start: &dyn Fn() -> Target) {
    let ways: [(&str, Way); 3] =
        [("without effects", plainly), ("with effects", with_effects), ("recording STF", recording)];
    let mut rates = [const { Vec::new() }; 3];
    for _ in 0..PASSES {
        for ((_, run), rates) in ways.iter().zip(&mut rates) {
            let targets: Vec<Target> = (0..times).map(|_| start()).collect();
            let begun = cpu_time();
            let count: u64 = targets.into_iter().map(run).sum();
            rates.push(count as f64 / (cpu_time() - begun).as_secs_f64() / 1e6);
        }
    }
    for ((way, _), rates) in ways.iter().zip(&mut rates) {
        rates.sort_by(f64::total_cmp);
        println!("{name:18} {way:16} {:6.1} M instructions/s", rates[PASSES / 2]);
    }
}

fn plainly(mut target: Target) -> u64 {
    match &mut target {
        Target::Machine(machine) => machine.run(u64::MAX),
        Target::Process(process) => process.run(u64::MAX),
    }
}

fn with_effects(mut target: Target) -> u64 {
    let mut effects = Effects::new();
    let mut count = 0;
    match &mut target {
        Target::Machine(machine) => {
            while machine.status() == trackway_hart::machine::Status::Running {
                machine.step(&mut effects);
                count += u64::from(effects.pc.is_some());
            }
        }
        Target::Process(process) => {
            while process.status() == trackway_hart::linux::Status::Running {
                process.step(&mut effects);
                count += u64::from(effects.pc.is_some());
            }
        }
    }
    count
}

fn recording(target: Target) -> u64 {
    let mut recorder = Recorder::new(target, RecordOptions::default());
    let format = trackway::by_id(trackway::FORMATS, "stf".parse().unwrap()).expect("STF is in the list");
    let output = Output::new(Path::new("/dev/null"));
    let meta = recorder.meta().clone();
    let mut settings = Settings::default();
    settings.set("stf", "container", "plain");
    let writing = Writing { target: output, settings: &settings, program: &Files::default(), threads: 2 };
    let mut sink = format.create(writing, &meta).expect("it opens");
    let mut batch = Batch::default();
    while recorder.fill(&mut batch).expect("the model gives no errors") {
        sink.put(&batch).expect("it is written");
    }
    sink.finish().expect("it is written");
    recorder.recorded()
}
