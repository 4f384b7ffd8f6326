//! One snapshot decoded by Trackway and by OpenCSD, in one run.
//!
//! `cargo bench -p trackway-bench-ete`; `TRACKWAY_CORPUS` says where `ete/bugfix-exact-match` is. Times are CPU
//! time of one thread, median of the passes, ours and theirs in turn; with two threads wall time. *Warm* is
//! with a block table that was used before, *cold* with one that is built in the pass.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use trackway_bench_ete::cpu_seconds;
use trackway_core::{Batch, EventKind, Observer, SharedBytes, Source};
use trackway_ete::{Frames, Framing, Lift, Options, Deframed, Reader, Snapshot, TraceSource};
use trackway_image::Image;

const PASSES: usize = 10;

fn main() {
    let root = std::env::var_os("TRACKWAY_CORPUS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")),
        PathBuf::from,
    );
    let folder = root.join("ete/bugfix-exact-match");
    if !folder.is_dir() {
        println!("skipped: {} is not there", folder.display());
        return;
    }
    let trace = trace(&folder);
    let data: &[u8] = (*trace.data).as_ref();
    println!(
        "{}: {} bytes, source {}, median of {PASSES} passes",
        folder.display(),
        data.len(),
        trace.config.name
    );

    // A new image of the same bytes, so that its block table is empty.
    let files: BTreeMap<PathBuf, SharedBytes> = std::fs::read_dir(&folder)
        .expect("a folder")
        .flatten()
        .filter_map(|entry| Some((entry.path(), open(&entry.path()).ok()?)))
        .collect();
    let at_hand = |path: &Path| Ok(Arc::clone(&files[path]));
    let mut snapshot = Snapshot::open(&folder).expect("a snapshot");
    let id = trace.config.trace_id;
    let mut cold = || pick(snapshot.traces(&at_hand, &Image::default), id);
    let mut jobs: Vec<Job<'_>> = vec![
        Job::new("ours, full, warm", Box::new(|| full(&trace, 1))),
        Job::new("ours, full, cold", Box::new(|| full(&cold(), 1))),
        Job::new("ours, packets", Box::new(|| packets(&trace))),
    ];
    #[cfg(opencsd)]
    let peer = Snapshot::open(&folder).expect("a snapshot");
    #[cfg(opencsd)]
    {
        use trackway_bench_ete::opencsd::Decoder;
        let source =
            peer.sources.iter().find(|source| source.config.name == trace.config.name).expect("the source");
        let register = |name: &str| source.config.registers.get(name).copied().unwrap_or(0);
        let program: Vec<(&Path, u64)> =
            source.dumps.iter().map(|dump| (dump.file.as_path(), dump.address)).collect();
        let mut decoder = Decoder::new(register, &program).expect("OpenCSD decodes ETMv4");
        jobs.push(Job::new(
            "OpenCSD, full",
            Box::new(move || {
                let counts = decoder.decode(data);
                (counts.ranges, counts.instructions)
            }),
        ));
        let mut processor = Decoder::new(register, &[]).expect("OpenCSD reads ETMv4 packets");
        jobs.push(Job::new("OpenCSD, packets", Box::new(move || (processor.decode(data).packets, 0))));
    }
    // Interleaved, so that a change of the machine's mood hits all alike.
    for _ in 0..PASSES {
        for job in &mut jobs {
            let start = cpu_seconds();
            job.counts = std::hint::black_box((job.run)());
            job.times.push(cpu_seconds() - start);
        }
    }
    for job in &jobs {
        let seconds = median(&job.times);
        println!(
            "{:18} {:9.2} ms  {:8.1} MB/s  {:9} {} {:9} instructions  {:7.1} M instructions/s",
            job.name,
            seconds * 1e3,
            data.len() as f64 / seconds / 1e6,
            job.counts.0,
            if job.name.ends_with("packets") { "packets" } else { "runs   " },
            job.counts.1,
            job.counts.1 as f64 / seconds / 1e6,
        );
    }
    let of = |name: &str| jobs.iter().find(|job| job.name == name).map(|job| median(&job.times));
    if let (Some(theirs), Some(warm), Some(cold)) =
        (of("OpenCSD, full"), of("ours, full, warm"), of("ours, full, cold"))
    {
        println!("full decode: {:.1} x warm, {:.1} x cold (goal: 20)", theirs / warm, theirs / cold);
    } else {
        println!("OpenCSD is not installed (Debian: libopencsd-dev): ours alone");
    }
    if let (Some(theirs), Some(ours)) = (of("OpenCSD, packets"), of("ours, packets")) {
        println!("packets: {:.1} x (goal: 5)", theirs / ours);
    }
    drop(jobs);
    threads(&trace);
}

/// Wall time with one and two threads, of the trace as it is and of eight of it in a row.
fn threads(trace: &TraceSource) {
    for times in [1, 8] {
        let data = (*trace.data).as_ref().repeat(times);
        let trace = TraceSource { data: Arc::new(data), ..trace.clone() };
        let mut wall = [Vec::new(), Vec::new()];
        let mut cpu = [Vec::new(), Vec::new()];
        for _ in 0..PASSES {
            for jobs in [1, 2] {
                let (start, before) = (Instant::now(), cpu_seconds());
                std::hint::black_box(full(&trace, jobs));
                wall[jobs - 1].push(start.elapsed().as_secs_f64());
                cpu[jobs - 1].push(cpu_seconds() - before);
            }
        }
        let [one, two] = wall.map(|times| median(&times) * 1e3);
        let [cpu_one, cpu_two] = cpu.map(|times| median(&times) * 1e3);
        println!(
            "{times} x the trace, warm: one thread {one:.2} ms ({cpu_one:.2} of CPU), two {two:.2} ms \
             ({cpu_two:.2} of CPU): {:.2} x (goal: 1.6)",
            one / two
        );
    }
}

/// Something to measure.
struct Job<'a> {
    name: &'static str,
    run: Box<dyn FnMut() -> (u64, u64) + 'a>,
    counts: (u64, u64),
    times: Vec<f64>,
}

impl<'a> Job<'a> {
    fn new(name: &'static str, run: Box<dyn FnMut() -> (u64, u64) + 'a>) -> Self {
        Job { name, run, counts: (0, 0), times: Vec::new() }
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn open(path: &Path) -> std::io::Result<SharedBytes> {
    Ok(Arc::new(std::fs::read(path)?))
}

/// The one source that has packets.
fn trace(folder: &Path) -> TraceSource {
    let mut snapshot = Snapshot::open(folder).expect("a snapshot");
    let traces = snapshot.traces(&open, &Image::default);
    let ids = trackway_ete::ids(traces[0].framing, (*traces[0].data).as_ref());
    let busiest = ids.iter().max_by_key(|id| id.1).expect("an id").0;
    pick(traces, busiest)
}

fn pick(traces: Vec<TraceSource>, id: u8) -> TraceSource {
    traces.into_iter().find(|trace| trace.config.trace_id == id).expect("its source")
}

/// Counts runs and instructions.
#[derive(Default)]
struct Count {
    runs: u64,
    instructions: u64,
}

impl Observer for Count {
    fn observe(&mut self, batch: &Batch) {
        for event in &batch.events {
            if let EventKind::Run(run) = &event.kind {
                self.runs += 1;
                self.instructions += u64::from(run.count);
            }
        }
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::<Count>::default()
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = later.downcast::<Self>();
        self.runs += later.runs;
        self.instructions += later.instructions;
    }
}

/// Runs and instructions.
fn full(trace: &TraceSource, jobs: usize) -> (u64, u64) {
    let mut lift = Lift::new(vec![trace.clone()], Options { jobs, ..Options::default() });
    let mut count = Count::default();
    while lift.observe(&mut count).expect("a good trace") {}
    (count.runs, count.instructions)
}

/// Frames taken apart and packets read.
fn packets(trace: &TraceSource) -> (u64, u64) {
    let data = (*trace.data).as_ref();
    let reader = Reader::new(&trace.config.dialect);
    let mut frames = Frames::new(Framing::Coresight, data);
    let mut piece = Deframed::default();
    let (mut at, mut count, mut begun) = (0, 0, false);
    loop {
        let more = frames.pull(data, trace.config.trace_id, piece.bytes.len() + (1 << 16), &mut piece);
        if !begun {
            let found =
                piece.bytes.windows(12).position(|window| window == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80]);
            at = found.map_or(0, |found| found);
            begun = found.is_some();
        }
        while piece.bytes.len() - at > 64 || !more {
            let read = reader.read(&piece.bytes[at..], 0);
            let Ok((packet, length)) = &read else { break };
            std::hint::black_box(packet);
            at += length;
            count += 1;
        }
        if !more {
            return (count, 0);
        }
        piece.consume(at);
        at = 0;
    }
}
