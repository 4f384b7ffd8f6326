//! Any bytes as the records of a raw trace: they write back as they were, lift and show without a panic,
//! and what is lowered again lifts to the same instructions.
#![no_main]

use std::cell::RefCell;
use std::io::Write;
use std::sync::{Arc, Mutex};

use libfuzzer_sys::fuzz_target;
use trackway_astf::{Checker, Config, Header, Level, Lines, Lower, Storage, Trace, WriteConfig, from_bytes, to_bytes};
use trackway_astf::{Record, show};
use trackway_core::{Batch, EventKind, Input, Sink, Source};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

thread_local! {
    /// Its disassembler is dear to make.
    static LINES: RefCell<Lines> = RefCell::new(Lines::new(Storage::Raw));
}

fuzz_target!(|data: &[u8]| {
    let level = if data.first().is_some_and(|byte| byte & 1 == 1) { Level::Basic } else { Level::BasicPlus };
    let mut file = to_bytes(&Header::new(level, true).write()).to_vec();
    file.extend_from_slice(data.get(1..).unwrap_or_default());

    let mut checker = Checker::new(Config::default());
    for (bytes, n) in file.as_chunks::<32>().0.iter().zip(0..) {
        let words = from_bytes(bytes);
        let record = Record::read(&words);
        assert_eq!(to_bytes(&record.write()), *bytes);
        let mut text = String::new();
        show(&record, &mut text);
        LINES.with_borrow_mut(|lines| lines.line(&words, &mut text));
        checker.record(n * 32, &words);
    }
    checker.end(file.len() as u64);

    let steps = lift(&file);
    let Some(lowered) = lower(&file) else { return };
    // Nothing is made up: what comes back is a part of what was there, in order.
    let mut all = steps.iter();
    for step in lift(&lowered) {
        assert!(all.any(|other| *other == step), "{step:x?} was not in the trace");
    }
});

fn open(file: &[u8]) -> Trace {
    Trace::open(Input::from_vec(file.to_vec()), Config::default()).unwrap()
}

/// Address and word of every instruction before damage.
fn lift(file: &[u8]) -> Vec<(u64, u32)> {
    let (mut source, mut batch, mut steps) = (open(file).source(), Batch::default(), Vec::new());
    while let Ok(true) = source.fill(&mut batch) {
        for event in &batch.events {
            if let EventKind::Step(step) = event.kind {
                // Lowering strips what is above an address, by the level that the context tells.
                steps.push((step.pc.unwrap() & ((1 << 52) - 1), step.encoding));
            }
        }
    }
    steps
}

fn lower(file: &[u8]) -> Option<Vec<u8>> {
    let (out, mut source, mut batch) = (Shared::default(), open(file).source(), Batch::default());
    let config = WriteConfig { storage: Storage::Raw, allow_nonconforming: true, ..WriteConfig::default() };
    let mut sink = Lower::new(Box::new(out.clone()), source.meta().clone(), config).ok()?;
    while let Ok(true) = source.fill(&mut batch) {
        sink.put(&batch).ok()?;
    }
    sink.finish().ok()?;
    drop(sink);
    let bytes = std::mem::take(&mut *out.0.lock().unwrap());
    Some(bytes)
}
