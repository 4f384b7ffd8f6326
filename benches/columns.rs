//! Export of STF to Parquet, all columns of the instructions: beside arrow-rs's own writer on the same record batches,
//! with the same encodings, compression and groups of rows; and two threads beside one.

use std::io::{Result, Write};
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use trackway::events::Batch;
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::Target;
use trackway::{Options, Trace};
use trackway_bench::recorded::recorded_stf;
use trackway_bench::{Measure, run};
use trackway_columns::{Chunk, Integers, Parquet, Selection, Sink, Table, ToArrow};
use trackway_columns::{parquet_properties, read, rows_of};

const INSTRUCTIONS: u64 = 1_000_000;
/// The program ends after some 140,000 instructions.
const REPEATS: usize = 20;
const PASSES: usize = 9;
const UNSIGNED: Integers = Integers::Unsigned;

fn main() {
    let table = Table::named("instructions").expect("a table");
    let selection = Selection::of(table);
    let stf = repeated(recorded_stf(INSTRUCTIONS));
    let open = |threads: usize| {
        let elf = concat!(env!("CARGO_MANIFEST_DIR"), "/../programs/riscv/elf/rv64-mix.elf");
        Options::default().threads(threads).elf(elf).open_bytes(stf.clone()).expect("a good trace")
    };
    let mut batches =
        Batches { to_arrow: ToArrow::new(table, &selection, UNSIGNED), groups: vec![Vec::new()] };
    walk(open(1), &selection, &mut batches);
    let export = |trace: Trace, threads: usize| {
        let out = Shared::default();
        let sink = Parquet::new(out.clone(), table, &selection, UNSIGNED, threads);
        let rows = walk(trace, &selection, &mut sink.expect("a writer"));
        (rows, out)
    };
    let bytes =
        |threads: usize| std::mem::take(&mut *export(open(threads), threads).1.0.lock().expect("a lock"));
    let alone = || {
        let mut out = Vec::new();
        let properties = Some(parquet_properties(table, UNSIGNED));
        let schema = Arc::clone(batches.to_arrow.schema());
        let mut writer = ArrowWriter::try_new(&mut out, schema, properties).expect("a writer");
        for group in &batches.groups {
            group.iter().for_each(|batch| writer.write(batch).expect("memory"));
            writer.flush().expect("memory");
        }
        let rows = writer.close().expect("memory").file_metadata().num_rows();
        (rows as u64, out)
    };
    let (one, two, theirs) = (bytes(1), bytes(2), alone().1);
    assert!(one == two, "the bytes do not depend on the number of threads");
    assert!(one == theirs, "the bytes are those of the writer alone");
    let results = run(
        PASSES,
        vec![
            Measure::new("writer alone", "instructions", || alone().0),
            Measure::prepared("walk", "instructions", || open(1), |trace| walk(trace, &selection, &mut Drop)),
            Measure::prepared("export, 1 thread", "instructions", || open(1), |trace| export(trace, 1).0),
            Measure::prepared("export, 2 threads", "instructions", || open(2), |trace| export(trace, 2).0),
        ],
    );
    results.rate("walk");
    results.slower("export, 1 thread", "writer alone", Some(1.3));
    results.faster("export, 2 threads", "export, 1 thread", Some(1.6));
}

/// The same execution many times in one trace.
fn repeated(stf: Vec<u8>) -> Vec<u8> {
    let path = std::env::temp_dir().join(format!("trackway-bench-columns-{}.stf", std::process::id()));
    let (settings, program, target) = (Settings::default(), Program::default(), Target::new(&path));
    let writing = Writing { target: target.clone(), settings: &settings, program: &program, threads: 1 };
    let open = || Options::default().threads(1).open_bytes(stf.clone()).expect("a good trace");
    let mut sink = trackway::stf::FORMAT.create(writing, open().meta()).expect("a sink");
    let mut batch = Batch::default();
    for _ in 0..REPEATS {
        let mut source = open().events().expect("events");
        while source.fill(&mut batch).expect("a good trace") {
            sink.put(&batch).expect("it is written");
        }
    }
    sink.finish().expect("it is written");
    target.commit().expect("it is written");
    let bytes = std::fs::read(&path).expect("the trace");
    std::fs::remove_file(&path).expect("the trace");
    bytes
}

/// Reads a trace into a sink; returns its instructions.
fn walk(mut trace: Trace, selection: &Selection, sink: &mut dyn Sink) -> u64 {
    let (mut rows, mut source) = rows_of(&mut trace, selection, None, None).expect("rows");
    let (health, ended) = read(&mut *source, false, &mut rows, sink, |_, _| {});
    assert!(ended.is_ok());
    sink.finish().expect("memory");
    health.counts.instructions
}

/// Rows that are thrown away.
struct Drop;

impl Sink for Drop {
    fn put(&mut self, chunk: Chunk) -> Result<()> {
        std::hint::black_box(chunk);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The record batches, by groups of rows.
struct Batches {
    to_arrow: ToArrow,
    groups: Vec<Vec<RecordBatch>>,
}

impl Sink for Batches {
    fn put(&mut self, chunk: Chunk) -> Result<()> {
        let batch = self.to_arrow.batch(chunk).map_err(std::io::Error::other)?;
        self.groups.last_mut().expect("a group").push(batch);
        Ok(())
    }

    fn group(&mut self) -> Result<()> {
        self.groups.push(Vec::new());
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Memory that a writer shares with the one who made it.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().expect("a lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
