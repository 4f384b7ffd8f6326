//! Helpers of the tests of this crate.
#![allow(dead_code, unreachable_pub)] // each test file uses a part of it

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use trackway_core::*;
use trackway_stf::{Config, Container, Lower, Trace, WriteConfig};
pub use trackway_testkit::lines::{filled, observed};

/// A file of the repository.
pub fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// The STF traces of the corpus.
pub fn corpus() -> Option<PathBuf> {
    trackway_testkit::corpus_part("stf")
}

/// A file in memory that stays readable after its writer is dropped.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Cursor<Vec<u8>>>>);

impl Memory {
    pub fn output(&self) -> Output {
        Output::File(Box::new(self.clone()))
    }
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().get_ref().clone()
    }
}

impl std::io::Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl std::io::Seek for Memory {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.0.lock().unwrap().seek(to)
    }
}

/// Opens bytes as a trace.
pub fn open(bytes: &[u8]) -> Result<Trace> {
    Trace::open(Input::from_vec(bytes.to_vec()), Config::default(), false)
}

/// All events as lines, with errors and gaps in their places.
pub fn lines(bytes: &[u8], jobs: usize) -> Vec<String> {
    match open(bytes) {
        Ok(trace) if jobs == 1 => filled(&mut trace.events(1)),
        Ok(trace) => observed(&mut trace.events(jobs)),
        Err(error) => vec![format!("error {error}")],
    }
}

/// Events from lines, in one batch.
pub fn batch(lines: &str) -> Batch {
    let mut batch = Batch::default();
    for line in lines.lines() {
        assert!(batch.read_line(line).is_some(), "{line}");
    }
    batch
}

/// Lowers a batch.
pub fn lower(batch: &Batch, meta: Meta, config: WriteConfig) -> (Vec<u8>, Ledger) {
    let file = Memory::default();
    let mut sink = Counting::new(Box::new(Lower::new(file.output(), meta.clone(), config).unwrap()), &meta);
    sink.put(batch).unwrap();
    let ledger = sink.finish().unwrap();
    (file.bytes(), ledger)
}

pub fn plain() -> WriteConfig {
    WriteConfig { container: Container::Plain, ..WriteConfig::default() }
}

/// The same records in another container.
pub fn rewrite(bytes: &[u8], config: WriteConfig) -> Vec<u8> {
    let file = Memory::default();
    open(bytes).unwrap().copy_to(file.output(), config).unwrap();
    file.bytes()
}

/// A line without its offset.
pub fn without_offset(line: &str) -> &str {
    line.split_once(' ').map_or(line, |(_, rest)| rest)
}

/// A trace of `n` instructions with memory accesses, branches, comments and traps.
pub fn busy_trace(n: u64) -> Vec<u8> {
    let mut text = String::from("0x0 context privilege=m hw_thread=0x0 pid=0x7 tid=0x8\n");
    let mut pc = 0x8000_0000u64;
    for i in 0..n {
        text += &match i % 7 {
            0 => format!(
                "0x0 step pc={pc:#x} encoding=0x{:x} length=0x4 outcome=retired accesses=mem(kind:read,address:{:#x},size:0x8,data:{i:#x},attributes:0x0)\n",
                0x0005_3503,
                0x1000 + 8 * i
            ),
            3 => format!(
                "0x0 mark kind=note text='note%20{i}\n0x0 step pc={pc:#x} encoding=0x0505 length=0x2 outcome=retired\n"
            ),
            5 => format!(
                "0x0 step pc={pc:#x} encoding=0x00000073 length=0x4 outcome=attempted\n0x0 trap kind=exception cause=0xb from={pc:#x} to={:#x} syscall=ecall syscall_index=0x1 words=hex.0100000000000000\n",
                pc + 4
            ),
            6 => {
                let line = format!(
                    "0x0 step pc={pc:#x} encoding=0x8082 length=0x2 outcome=retired taken=yes extra=(target:{:#x})\n",
                    pc + 0x100
                );
                pc += 0xfe;
                line
            }
            _ => format!(
                "0x0 step pc={pc:#x} encoding=0x00150513 length=0x4 outcome=retired accesses=reg(reg:x10,role:destination,update:set,value:{i:#x})\n"
            ),
        };
        pc += if matches!(i % 7, 3 | 6) { 2 } else { 4 };
    }
    lower(&batch(&text), Meta::new(trackway_stf::ID, Isa::Rv64), plain()).0
}
