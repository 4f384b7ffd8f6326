//! ETE and ETMv4: packets and full decoding of a snapshot of the corpus, beside OpenCSD (feature `opencsd`); and the trace
//! unit, which gets the decoded runs from memory and whose bytes are thrown away.
//!
//! One thread is measured by its time on a core, two threads by the time passed. *Warm* uses a block table that was
//! built before, *cold* builds it in the pass. OpenCSD has the program in memory, as we have; given as files, which its
//! tools do, it reads them again and again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway_bench::{Measure, run};
use trackway_core::{Batch, Count, Meta, Result, SharedBytes, Sink, Source};
use trackway_ete::encode::EncodeConfig;
use trackway_ete::{
    Deframed, Frames, Framing, Lower, Options, Packet, Reader, Snapshot, TraceSource, UnitSink, lift,
};
use trackway_image::Image;

const PASSES: usize = 10;

fn main() {
    let Some(folder) = trackway_testkit::corpus_part("ete/bugfix-exact-match") else { return };
    let trace = trace(&folder);
    let data: &[u8] = (*trace.data).as_ref();
    println!("bugfix-exact-match: {} bytes, source {}", data.len(), trace.config.name);

    // A new image of the same bytes, so that its block table is empty.
    let files: BTreeMap<PathBuf, SharedBytes> = std::fs::read_dir(&folder)
        .expect("a folder")
        .flatten()
        .filter_map(|entry| Some((entry.path(), open(&entry.path()).ok()?)))
        .collect();
    let in_memory = |path: &Path| Ok(Arc::clone(&files[path]));
    let mut snapshot = Snapshot::open(&folder).expect("a snapshot");
    let id = trace.config.trace_id;
    let mut cold = || pick(snapshot.sources(&in_memory, &Image::default), id);
    let mut measures = vec![
        Measure::new("full decode, warm", "instructions", || full(&trace, 1)).on_core(),
        Measure::new("full decode, cold", "instructions", || full(&cold(), 1)).on_core(),
        Measure::new("packets", "packets", || packets(&trace)).on_core(),
    ];
    measures.extend(opencsd(&folder, &trace));
    let results = run(PASSES, measures);
    let peer = cfg!(feature = "opencsd");
    for (ours, theirs, goal) in [
        ("full decode, warm", "OpenCSD, full decode", Some(30.0)),
        ("full decode, cold", "OpenCSD, full decode", Some(25.0)),
        ("full decode, warm", "OpenCSD, program as files", None),
        ("packets", "OpenCSD, packets", Some(8.0)),
    ] {
        if peer {
            results.faster(ours, theirs, goal);
        } else {
            results.rate(ours);
        }
    }

    let (meta, batches) = lifted(&trace);
    let unit = "trace unit, from runs";
    let lower = || lowered(&trace, &meta, &batches);
    run(PASSES, vec![Measure::new(unit, "instructions", lower).on_core()]).reach(unit, 100.0);

    // The trace as it is, and eight of it in a row.
    for times in [1, 8] {
        let data = (*trace.data).as_ref().repeat(times);
        let trace = TraceSource { data: Arc::new(data), ..trace.clone() };
        let name = |threads: usize| format!("full decode, {times} x the trace, threads: {threads}");
        let measure = |threads| {
            let trace = &trace;
            Measure::new(name(threads), "instructions", move || full(trace, threads))
        };
        run(PASSES, vec![measure(1), measure(2)]).faster(&name(2), &name(1), Some(1.6));
    }
}

#[cfg(not(feature = "opencsd"))]
fn opencsd<'a>(_: &Path, _: &'a TraceSource) -> Vec<Measure<'a>> {
    trackway_testkit::skipped("OpenCSD (build with the feature opencsd; Debian: libopencsd-dev)");
    Vec::new()
}

/// The same by OpenCSD.
#[cfg(feature = "opencsd")]
fn opencsd<'a>(folder: &Path, trace: &'a TraceSource) -> Vec<Measure<'a>> {
    use trackway_bench::opencsd::{Decoder, Program};
    let snapshot = Snapshot::open(folder).expect("a snapshot");
    let source = snapshot.sources.iter().find(|source| source.config.name == trace.config.name);
    let source = source.expect("the source");
    let register = |name: &str| source.config.registers.get(name).copied().unwrap_or(0);
    let files: Vec<(&Path, u64)> =
        source.dumps.iter().map(|dump| (dump.file.as_path(), dump.address)).collect();
    let bytes = |(path, address): &(&Path, u64)| (std::fs::read(path).expect("a dump"), *address);
    let memory = Program::Memory(files.iter().map(bytes).collect());
    let mut decoder = Decoder::new(register, memory).expect("OpenCSD decodes ETMv4");
    let mut from_files = Decoder::new(register, Program::Files(&files)).expect("OpenCSD decodes ETMv4");
    let mut processor = Decoder::new(register, Program::None).expect("OpenCSD reads ETMv4 packets");
    let data: &[u8] = (*trace.data).as_ref();
    vec![
        Measure::new("OpenCSD, full decode", "instructions", move || decoder.decode(data).instructions)
            .on_core(),
        Measure::new("OpenCSD, program as files", "instructions", move || {
            from_files.decode(data).instructions
        })
        .on_core(),
        Measure::new("OpenCSD, packets", "packets", move || processor.decode(data).packets).on_core(),
    ]
}

fn open(path: &Path) -> std::io::Result<SharedBytes> {
    Ok(Arc::new(std::fs::read(path)?))
}

/// The one source that has packets.
fn trace(folder: &Path) -> TraceSource {
    let mut snapshot = Snapshot::open(folder).expect("a snapshot");
    let traces = snapshot.sources(&open, &Image::default);
    let ids = trackway_ete::ids(traces[0].framing, (*traces[0].data).as_ref());
    let busiest = ids.iter().max_by_key(|id| id.1).expect("an id").0;
    pick(traces, busiest)
}

fn pick(traces: Vec<TraceSource>, id: u8) -> TraceSource {
    traces.into_iter().find(|trace| trace.config.trace_id == id).expect("its source")
}

/// Instructions.
fn full(trace: &TraceSource, threads: usize) -> u64 {
    let mut events = lift(vec![trace.clone()], &Options { threads, ..Options::default() });
    let mut count = Count::default();
    while events.observe(&mut count).expect("a good trace") {}
    count.0
}

/// All events.
fn lifted(trace: &TraceSource) -> (Meta, Vec<Batch>) {
    let mut events = lift(vec![trace.clone()], &Options::default());
    let (mut batches, mut batch) = (Vec::new(), Batch::default());
    while events.fill(&mut batch).expect("a good trace") {
        batches.push(std::mem::take(&mut batch));
    }
    (events.meta().clone(), batches)
}

/// Instructions that go through a trace unit.
fn lowered(trace: &TraceSource, meta: &Meta, batches: &[Batch]) -> u64 {
    struct Nowhere;
    impl UnitSink for Nowhere {
        fn write(&mut self, _: usize, bytes: &[u8]) -> Result<()> {
            std::hint::black_box(bytes);
            Ok(())
        }
    }
    let images = vec![Arc::clone(&trace.image)];
    let mut lower = Lower::new(meta, &EncodeConfig::default(), images, Nowhere).expect("a trace unit");
    batches.iter().for_each(|batch| lower.put(batch).expect("bytes"));
    lower.finish().expect("an account");
    batches.iter().map(Batch::instructions).sum()
}

/// Frames taken apart and packets read.
fn packets(trace: &TraceSource) -> u64 {
    let data = (*trace.data).as_ref();
    let reader = Reader::new(&trace.config.dialect);
    let mut frames = Frames::new(Framing::Coresight, data);
    let mut piece = Deframed::default();
    let mut packet = Packet::Ignore;
    let (mut at, mut count, mut begun) = (0, 0, false);
    loop {
        let more = frames.pull(data, trace.config.trace_id, piece.bytes.len() + (1 << 16), &mut piece);
        if !begun {
            let found =
                piece.bytes.windows(12).position(|window| window == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80]);
            at = found.map_or(0, |found| found);
            begun = found.is_some();
        }
        // No packet is cut at the end of a piece.
        let bytes = &piece.bytes[..];
        let end = if more { bytes.len().saturating_sub(64) } else { bytes.len() };
        while at < end {
            let Ok(length) = reader.read_into(&bytes[at..], 0, &mut packet) else { break };
            std::hint::black_box(&packet);
            at += length;
            count += 1;
        }
        if !more {
            return count;
        }
        piece.consume(at);
        at = 0;
    }
}
