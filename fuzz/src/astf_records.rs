//! Any bytes as the records of a raw trace: they write back as they were; lifting is the same batch by batch,
//! observed and on any number of threads; checking and showing do not panic, and findings have a place; what
//! is lowered again is a part of what was lifted, the ledger is exact, and no rule is broken but those that are named.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use trackway_astf::{Checker, Header, Level, Lines, Lower, RECORD, ReadConfig, Storage, Trace, WriteConfig};
use trackway_astf::{Record, copy, from_bytes, show, to_bytes};
use trackway_core::{
    Batch, Context, Contexts, Counts, EventKind, Fact, Fate, Finding, Input, Ledger, MemAccess, Observer,
    Severity, Sink, Source, Trap,
};
use trackway_testkit::lines::{filled, observed};
use trackway_testkit::output::Shared;

thread_local! {
    /// Its disassembler is dear to make.
    static LINES: RefCell<Lines> = RefCell::new(Lines::new(Storage::Raw));
}

/// Tries one input.
pub fn astf_records(data: &[u8]) {
    let Some((&flags, data)) = data.split_first() else { return };
    let level = if flags & 1 == 1 { Level::Basic } else { Level::BasicPlus };
    let mut file = to_bytes(&Header::new(level, flags & 2 == 0).write()).to_vec();
    file.extend_from_slice(data);

    let found = check(&file);
    let mut source = open(&file, 1).events();
    let lines = filled(&mut source);
    // Dear, and seldom different from the last time.
    if flags == 0x80 && data.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)) & 31 == 0 {
        threads(&file);
    } else {
        assert_eq!(observed(&mut open(&file, 2).events()), lines);
    }
    let mut copied = Vec::new();
    let whole = &file[..file.len() - file.len() % RECORD];
    let _ = copy(&mut open(&file, 1).records(), &mut copied, &config(false));
    assert_eq!(copied, whole, "written as it was read");

    let steps = lift(&file);
    // Nothing is made up: what comes back is a part of what was there, in order.
    if let Some((lowered, _)) = lower(&file, true) {
        let mut all = steps.iter();
        for step in lift(&lowered) {
            assert!(all.any(|other| other.0 == step.0), "{step:x?} was not in the trace");
        }
    }
    if let Some((lowered, broken)) = lower(&file, false) {
        let mut errors = BTreeMap::new();
        for finding in check(&lowered).iter().filter(|found| found.rule.severity == Severity::Error) {
            *errors.entry(finding.rule.name).or_insert(0u64) += 1;
        }
        assert_eq!(errors, broken);
        // A legal trace comes back with all that its instructions say.
        let legal = found.iter().all(|finding| finding.rule.severity != Severity::Error);
        if legal && file.len().is_multiple_of(RECORD) {
            assert_eq!(lift(&lowered), steps);
            assert_eq!(contexts(&lowered), contexts(&file));
        }
    }
}

/// Long enough to be cut into parts, on one thread and on several.
fn threads(file: &[u8]) {
    let (head, body) = file.split_at(RECORD);
    let body = body.as_chunks::<RECORD>().0;
    if body.is_empty() {
        return;
    }
    let mut long = head.to_vec();
    while long.len() < 5 << 17 {
        long.extend_from_slice(body.as_flattened());
    }
    let digest = |threads| {
        let (mut source, mut digests) = (open(&long, threads).events(), Digests::default());
        while let Ok(true) = source.observe(&mut digests) {}
        digests.0
    };
    let serial = digest(1);
    for threads in [2, 3] {
        assert!(digest(threads) == serial, "{threads} threads");
    }
}

/// Every event, by a number: text would be dear.
#[derive(Default)]
struct Digests(Vec<u64>);

impl Observer for Digests {
    fn observe(&mut self, batch: &Batch) {
        for event in &batch.events {
            let mut hash = std::hash::DefaultHasher::new();
            event.offset.hash(&mut hash);
            match event.kind {
                EventKind::Step(step) => {
                    (step.pc, step.encoding, step.taken, step.outcome as u8).hash(&mut hash);
                    for access in batch.mem_of(step.accesses) {
                        (access.kind as u8, access.address, access.size, access.tagged).hash(&mut hash);
                    }
                }
                EventKind::Context(n) => batch.contexts[n as usize].hash(&mut hash),
                EventKind::Trap(n) => batch.traps[n as usize].to.hash(&mut hash),
                EventKind::Gap(n) => batch.gaps[n as usize].from.hash(&mut hash),
                _ => {}
            }
            self.0.push(hash.finish());
        }
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Digests::default())
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        self.0.extend(later.downcast::<Self>().0);
    }
}

/// All findings, record by record and through the reader: the same, and each has a place.
fn check(file: &[u8]) -> Vec<Finding> {
    let mut checker = Checker::new(ReadConfig::default());
    for (bytes, n) in file.as_chunks::<RECORD>().0.iter().zip(0..) {
        let words = from_bytes(bytes);
        let record = Record::read(&words);
        assert_eq!(to_bytes(&record.write()), *bytes);
        let mut text = String::new();
        show(&record, &mut text);
        LINES.with_borrow_mut(|lines| lines.line(&words, &mut text));
        checker.record(n * RECORD as u64, &words);
    }
    checker.end((file.len() - file.len() % RECORD) as u64);
    let found = checker.take();
    let mut read = Vec::new();
    let (_, damage) = open(file, 1).check(&mut |finding| read.push(finding));
    let cut = file.len() - file.len() % RECORD;
    assert_eq!(damage.map(|error| error.offset as usize), (cut < file.len()).then_some(cut));
    assert_eq!(found, read);
    for finding in &found {
        assert_eq!(finding.offset, finding.item * RECORD as u64, "{finding}");
        assert!(finding.offset as usize <= file.len(), "{finding}");
    }
    found
}

fn open(file: &[u8], threads: usize) -> Trace {
    Trace::open(Input::from_vec(file.to_vec()), ReadConfig { threads, ..ReadConfig::default() }).unwrap()
}

fn config(allow_nonconforming: bool) -> WriteConfig {
    WriteConfig { storage: Storage::Raw, allow_nonconforming, ..WriteConfig::default() }
}

/// Address and word of an instruction; how it ended, what it accessed, its index.
type Lifted = ((u64, u32), (Option<bool>, Option<u64>, bool, Vec<MemAccess>, Option<u32>));

/// Every instruction before damage.
fn lift(file: &[u8]) -> Vec<Lifted> {
    let (mut source, mut batch, mut steps) = (open(file, 1).events(), Batch::default(), Vec::new());
    while let Ok(true) = source.fill(&mut batch) {
        for event in &batch.events {
            if let EventKind::Step(step) = event.kind {
                let extra = batch.extra_of(&step).copied().unwrap_or_default();
                let retired = step.outcome == trackway_core::Outcome::Retired;
                let accesses = batch.mem_of(step.accesses).to_vec();
                // Lowering strips what is above an address, by the level that the context tells.
                let place = (step.pc.unwrap() & ((1 << 52) - 1), step.encoding);
                steps.push((place, (step.taken, extra.target, retired, accesses, extra.sme_index)));
            }
        }
    }
    steps
}

/// The context of every instruction, and the traps between them.
fn contexts(file: &[u8]) -> (Vec<Context>, Vec<Trap>) {
    let (mut source, mut batch) = (open(file, 1).events(), Batch::default());
    let (mut now, mut contexts, mut traps) = (Context::default(), Vec::new(), Vec::new());
    while let Ok(true) = source.fill(&mut batch) {
        traps.extend_from_slice(&batch.traps);
        for event in &batch.events {
            match event.kind {
                EventKind::Context(n) => now = Context { unsupported: None, ..batch.contexts[n as usize] },
                EventKind::Step(_) => contexts.push(now),
                _ => {}
            }
        }
    }
    (contexts, traps)
}

/// The trace lowered again, and the rules that it breaks.
fn lower(file: &[u8], allow_nonconforming: bool) -> Option<(Vec<u8>, BTreeMap<&'static str, u64>)> {
    let (out, mut source, mut batch) = (Shared::default(), open(file, 1).events(), Batch::default());
    let mut sink =
        Lower::new(Box::new(out.clone()), source.meta().clone(), config(allow_nonconforming)).ok()?;
    let (mut facts, mut known) = (Counts::of_meta(source.meta()), Contexts::default());
    while let Ok(true) = source.fill(&mut batch) {
        facts.add_batch(&batch, &mut known);
        sink.put(&batch).ok()?;
    }
    let ledger = Ledger::new(&facts, &sink.finish().ok()?);
    drop(sink);
    let bytes = out.take();
    let mut source = open(&bytes, 1).events();
    let (mut found, mut known) = (Counts::of_meta(source.meta()), Contexts::default());
    while let Ok(true) = source.fill(&mut batch) {
        found.add_batch(&batch, &mut known);
    }
    for &fact in Fact::ALL {
        // Derived facts are not in the trace themselves.
        let listed = ledger.count(Fate::Kept, fact) + ledger.count(Fate::Invented, fact);
        let free = matches!(fact, Fact::TrapPlaces | Fact::VectorLengths) || fact.is_of_gap();
        assert!(free || listed == found[fact], "{}\n{ledger}", fact.as_str());
    }
    Some((bytes, ledger.broken))
}
