//! Runs as logs that Trackway reads and does not write.

use std::fmt::Write;

use trackway::events::{Batch, EventKind, Isa, MemKind, Step, Value};

use super::Run;

/// The run as a log of that format, if there is a layout for it here and it is of its architecture.
pub fn log(format: &str, run: &Run) -> Option<String> {
    match (format, run.meta.isa) {
        ("tarmac", Isa::A64) => Some(text(run, tarmac)),
        _ => None,
    }
}

/// One instruction after the other, numbered from 1.
fn text(run: &Run, line: impl Fn(&mut String, u64, &Batch, &Step)) -> String {
    let (mut out, mut number) = (String::new(), 0);
    for batch in &run.batches {
        for event in &batch.events {
            if let EventKind::Step(step) = &event.kind {
                number += 1;
                line(&mut out, number, batch, step);
            }
        }
    }
    out
}

/// As Fast Models write it.
fn tarmac(out: &mut String, n: u64, batch: &Batch, step: &Step) {
    let pc = step.pc.unwrap();
    writeln!(out, "{n} clk IT ({n}) {pc:08x} {:08x} O EL0t_n : text", step.encoding).unwrap();
    for access in batch.mem_of(step.accesses) {
        let kind = if access.kind == MemKind::Write { "MW" } else { "MR" };
        let value = if let Value::Word(value) = access.data { value } else { 0 };
        let (size, address) = (access.size.min(8), access.address);
        let digits = 2 * size as usize;
        let value = if size < 8 { value & ((1 << (8 * size)) - 1) } else { value };
        writeln!(out, "{n} clk {kind}{size} {address:016x}:{address:012x}_NS {value:0digits$x}").unwrap();
    }
    writeln!(out, "{n} clk R X{} {:016x}", n % 31, pc ^ n).unwrap();
}
