//! Arrow and Parquet hold what the chunks hold, also addresses from 2⁶³ on.
#![cfg(feature = "columns")]

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use trackway_columns::{CHUNK, Chunk, Integers, Parquet, Rows, Selection, Sink, Table, ToArrow};
use trackway_core::{Batch, EventKind, FormatId, Isa, Meta, Step};

const HIGH: u64 = 0xffff_ffc0_0000_1000;

/// Three instructions: one at a high address, one of another class, one without an address.
fn chunk(selection: &Selection) -> Chunk {
    let format = trackway::FORMATS[0];
    let meta = Meta::new(FormatId::new("stf"), Isa::Rv64);
    let mut rows = Rows::new(selection, format, &meta, &[]);
    let mut batch = Batch::default();
    batch.push(0, EventKind::Step(Step::new(HIGH, 0x0005_b503, 4)));
    batch.push(8, EventKind::Step(Step::new(HIGH + 4, 0x8082, 2)));
    batch.push(16, EventKind::Step(Step { pc: None, ..Step::new(0, 0x0505, 2) }));
    let mut found = None;
    let mut emit = |chunk: Chunk| {
        found = Some(chunk);
        std::ops::ControlFlow::Continue(())
    };
    assert!(rows.take(&batch, &mut emit).is_continue() && rows.flush(&mut emit).is_continue());
    found.expect("rows")
}

fn instructions() -> (&'static Table, Selection) {
    let table = Table::named("instructions").unwrap();
    (table, Selection::of(table))
}

#[test]
fn an_address_from_2_to_the_63_survives_every_mapping() {
    let (table, selection) = instructions();
    let batch = |integers| -> RecordBatch {
        ToArrow::new(table, &selection, integers).batch(chunk(&selection)).unwrap()
    };
    let plain = batch(Integers::Unsigned);
    let pc = plain["pc"].as_primitive::<UInt64Type>();
    assert_eq!((pc.value(0), pc.is_null(2)), (HIGH, true));
    let words = plain["mnemonic"].as_dictionary::<Int32Type>();
    let texts = words.values().as_string::<i32>();
    assert_eq!(texts.value(words.keys().value(1) as usize), "ret");
    let signed = batch(Integers::Signed);
    assert_eq!(signed["pc"].as_primitive::<Int64Type>().value(0) as u64, HIGH);
    assert_eq!(signed["mnemonic"].as_string::<i32>().value(0), "ld");
    let decimal = batch(Integers::Decimal);
    assert_eq!(decimal["pc"].as_primitive::<Decimal128Type>().value(0), i128::from(HIGH));
}

#[test]
fn parquet_reads_back_for_any_number_of_threads() {
    let (table, selection) = instructions();
    for integers in [Integers::Unsigned, Integers::Signed, Integers::Decimal] {
        let expected = ToArrow::new(table, &selection, integers).batch(chunk(&selection)).unwrap();
        let mut files = Vec::new();
        for threads in [1, 2, 5] {
            let mut file = Vec::new();
            let mut sink = Parquet::new(&mut file, table, &selection, integers, threads).unwrap();
            sink.put(chunk(&selection)).unwrap();
            sink.finish().unwrap();
            drop(sink);
            files.push(file);
        }
        assert!(files.iter().all(|file| *file == files[0]), "the same bytes");
        let path = std::env::temp_dir().join(format!("trackway-columns-{}-{integers:?}", std::process::id()));
        std::fs::write(&path, &files[0]).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&path).unwrap()).unwrap();
        let read: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].columns(), expected.columns());
        assert_eq!(read[0].schema().fields(), expected.schema().fields());
    }
}

/// A full chunk, whose addresses begin at `first`.
fn full(selection: &Selection, first: u64) -> Chunk {
    let meta = Meta::new(FormatId::new("stf"), Isa::Rv64);
    let mut rows = Rows::new(selection, trackway::FORMATS[0], &meta, &[]);
    let mut batch = Batch::default();
    for n in 0..CHUNK as u64 {
        let encoding = if n % 7 == 0 { 0x8082 } else { 0x0505 };
        batch.push(n, EventKind::Step(Step::new(first + 2 * (n % 1000), encoding, 2)));
    }
    let mut chunks = Vec::new();
    let mut emit = |chunk: Chunk| {
        chunks.push(chunk);
        std::ops::ControlFlow::Continue(())
    };
    assert!(rows.take(&batch, &mut emit).is_continue() && rows.flush(&mut emit).is_continue());
    chunks.pop().expect("rows")
}

#[test]
fn groups_of_many_chunks_have_the_same_bytes_for_any_number_of_threads() {
    let (table, selection) = instructions();
    let write = |threads: usize| {
        let mut file = Vec::new();
        let mut sink = Parquet::new(&mut file, table, &selection, Integers::Unsigned, threads).unwrap();
        for group in 0..3 {
            for n in 0..3 {
                sink.put(full(&selection, (group * 3 + n) << 20)).unwrap();
            }
            sink.group().unwrap();
        }
        sink.finish().unwrap();
        drop(sink);
        file
    };
    let one = write(1);
    for threads in [2, 3, 64] {
        assert!(write(threads) == one, "{threads} threads");
    }
    let path = std::env::temp_dir().join(format!("trackway-columns-{}-groups", std::process::id()));
    std::fs::write(&path, &one).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&path).unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let groups: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(groups, [3 * CHUNK as i64; 3]);
}

/// A disk that is full after the first bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_on_any_number_of_threads() {
    let (table, selection) = instructions();
    for threads in [1, 3] {
        let mut sink = Parquet::new(Full(64), table, &selection, Integers::Unsigned, threads).unwrap();
        let put = (0..4).try_for_each(|n| sink.put(full(&selection, n << 20)).and_then(|()| sink.group()));
        let ended = put.and_then(|()| sink.finish());
        assert_eq!(ended.unwrap_err().kind(), std::io::ErrorKind::StorageFull, "{threads} threads");
    }
}
