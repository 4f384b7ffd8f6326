//! Any bytes as a ZSTF file: no panic, no unbounded memory, the same events for any number of threads.

use trackway_core::{Batch, EventKind, Input, Source};
use trackway_stf::{Config, Trace};

/// Tries one input.
pub fn stf_container(data: &[u8]) {
    let mut file = b"ZSTF".to_vec();
    file.extend_from_slice(data);
    assert_eq!(run(&file, 1), run(&file, 2));
}

/// Steps, other events, errors.
fn run(file: &[u8], jobs: usize) -> (u64, u64, Vec<String>) {
    let mut found = (0, 0, Vec::new());
    let trace = match Trace::open(Input::from_vec(file.to_vec()), Config::default(), false) {
        Ok(trace) => trace,
        Err(error) => {
            found.2.push(error.to_string());
            return found;
        }
    };
    let mut source = trace.events(jobs);
    let mut batch = Batch::default();
    loop {
        match source.fill(&mut batch) {
            Ok(true) => {
                let steps =
                    batch.events.iter().filter(|event| matches!(event.kind, EventKind::Step(_))).count();
                found.0 += steps as u64;
                found.1 += (batch.events.len() - steps) as u64;
            }
            Ok(false) => return found,
            Err(error) => {
                found.2.push(error.to_string());
                if found.2.len() > 1000 || !source.resync().unwrap_or(false) {
                    return found;
                }
            }
        }
    }
}
