//! Searches in parts, merged, find what a search of the whole finds, wherever it is cut.
#![allow(clippy::single_range_in_vec_init)] // lists of ranges

use std::path::Path;

use trackway::Trace;
use trackway_core::{Batch, Observer, Reg, RegClass};
use trackway_isa::Class;
use trackway_testkit::random::Numbers;
use trackway_tools::find::{Conditions, Find, RegisterIs};

/// The batches of a trace of the repository.
fn batches(trace: &mut Trace) -> Vec<Batch> {
    let mut source = trace.events().unwrap();
    let mut batch = Batch::default();
    let mut all = Vec::new();
    while source.fill(&mut batch).unwrap() {
        all.push(batch.clone());
    }
    all
}

#[test]
fn parts_find_what_the_whole_finds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let a0 = RegisterIs { reg: Reg { class: RegClass::Int, number: 10 }, value: Some(0x11148) };
    let conditions = [
        Conditions { classes: vec![Class::Store, Class::Branch], ..Conditions::default() },
        Conditions { operations: vec!["ld".into()], memory: vec![0x11148..0x11160], ..Conditions::default() },
        Conditions { code: vec![0x10110..0x10130], ..Conditions::default() },
        Conditions { registers: vec![a0], ..Conditions::default() },
    ];
    let mut numbers = Numbers(5);
    for file in ["testdata/stf/sort/trace.stf", "testdata/astf/sort.astf"] {
        let mut trace = Trace::open(root.join(file)).unwrap();
        let (programs, isa, format) = (trace.programs().unwrap(), trace.meta().isa, trace.format());
        let batches = batches(&mut trace);
        for conditions in &conditions {
            let new = || Find::new(conditions.clone(), format, isa, programs.clone(), None);
            let mut whole = new();
            assert!(whole.in_parts());
            batches.iter().for_each(|batch| whole.observe(batch));
            for _ in 0..20 {
                let mut merged = new();
                let mut part = merged.fork();
                for batch in &batches {
                    let mut at = 0;
                    while at < batch.events.len() {
                        let to = (at + 1 + numbers.below(60) as usize).min(batch.events.len());
                        part.observe(&Batch { events: batch.events[at..to].to_vec(), ..batch.clone() });
                        at = to;
                        if numbers.one_in(2) {
                            let full = std::mem::replace(&mut part, merged.fork());
                            merged.merge(full);
                        }
                    }
                }
                merged.merge(part);
                assert_eq!(
                    (merged.count, &merged.matches),
                    (whole.count, &whole.matches),
                    "{file} {conditions:?}"
                );
            }
        }
    }
}
