//! Usual groups against checking record by record.

use std::io::Write;
use std::sync::{Arc, Mutex};

use trackway_core::*;
use trackway_testkit::random::{Numbers, Program, Rates, Walk};

use super::*;
use crate::{Config, Container, Lower, Trace, WriteConfig};

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn findings(bytes: &[u8], shortcuts: bool) -> Option<(String, usize)> {
    let input = Input::from_vec(bytes.to_vec());
    let trace = Trace::open(input, Config::default(), false).ok()?;
    let mut all = Vec::new();
    let checked = check_with(trace.records(), &mut |finding| all.push(finding), shortcuts);
    Some((format!("{all:?} {checked:?}"), all.len()))
}

/// Makes loads and stores of no-ops, and adds registers; a few do not fit.
fn dress(numbers: &mut Numbers, batch: &mut Batch) {
    let mut events = std::mem::take(&mut batch.events);
    for event in &mut events {
        let EventKind::Step(step) = &mut event.kind else { continue };
        let begun = batch.begin_accesses();
        for _ in 0..numbers.below(4) {
            let role = [RegRole::Source, RegRole::Destination, RegRole::State][numbers.below(3) as usize];
            let class = if numbers.one_in(9) { RegClass::Csr } else { RegClass::Int };
            let most = if numbers.one_in(30) { 40 } else { 32 };
            let reg = Reg { class, number: numbers.below(most) as u16 };
            let value = Value::Word(numbers.draw());
            batch.regs.push(RegAccess { reg, role, update: RegUpdate::Set, value, known: None });
        }
        if matches!(step.encoding, 0x13 | 1) && numbers.one_in(2) {
            // ld, sd, lw; c.ld, c.sd, c.lw.
            let choices = [(0x53503, 0x6108, 8), (0xb53023, 0xe10c, 8), (0x52503, 0x4108, 4)];
            let n = numbers.below(3) as usize;
            let (wide, narrow, size) = choices[n];
            step.encoding = if step.length == 2 { narrow } else { wide };
            let is_write = (n == 1) != numbers.one_in(30);
            let kind = if is_write { MemKind::Write } else { MemKind::Read };
            let data = Value::Word(numbers.draw() >> if size == 4 && !numbers.one_in(30) { 32 } else { 0 });
            let size = if numbers.one_in(30) { 64 / size } else { size };
            for _ in 0..1 + u64::from(numbers.one_in(30)) {
                batch.mem.push(MemAccess::new(kind, 0x9000, size, data));
            }
        }
        step.accesses = batch.end_accesses(begun).unwrap();
    }
    batch.events = events;
}

#[test]
fn usual_instructions_are_checked_as_all_others() {
    let (mut traces, mut found) = (0, 0);
    for seed in 0..1500 {
        let numbers = &mut Numbers(seed);
        let count = 4 + numbers.below(60) as usize;
        let program = Program::new(numbers, 0x8000, count);
        let rate = |on: bool| if on { 30 } else { 0 };
        let rates = Rates {
            exception: rate(numbers.one_in(3)),
            interrupt: rate(numbers.one_in(3)),
            privilege: numbers.one_in(3),
            context: rate(numbers.one_in(3)),
            ..Rates::default()
        };
        let steps = 20 + numbers.below(300) as usize;
        let mut walk = Walk::new(numbers, &program, steps, rates);
        dress(numbers, &mut walk.batch);
        let file = Memory::default();
        let config = WriteConfig { container: Container::Plain, ..WriteConfig::default() };
        let meta = Meta::new(FormatId::new("model"), Isa::Rv64);
        let mut lower = Lower::new(Output::Stream(Box::new(file.clone())), meta, config).unwrap();
        lower.put(&walk.batch).unwrap();
        lower.finish().unwrap();
        let mut bytes = file.0.lock().unwrap().clone();
        for _ in 0..numbers.below(12) {
            let at = numbers.below(bytes.len() as u64) as usize;
            bytes[at] = numbers.draw() as u8;
        }
        let usual = findings(&bytes, true);
        assert_eq!(usual, findings(&bytes, false), "seed {seed}");
        traces += u32::from(usual.is_some());
        found += usual.map_or(0, |(_, found)| found);
    }
    assert!(traces > 500 && found > 2000, "{traces}, {found}");
}
