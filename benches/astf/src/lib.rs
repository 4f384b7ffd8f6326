//! What the benchmark measures with: a trace of realistic content, and medians.

use std::time::{Duration, Instant};

use trackway_astf::{Lower, Storage, WriteConfig, example};
use trackway_core::{Batch, Sink, Source};
use trackway_testkit::output::Shared;
use trackway_testkit::qemu::Run;

/// Times that the recording is repeated.
const REPEATS: usize = 4;

/// A real execution as a raw trace (bzip2 of the corpus, several times over), or the spec's example over and over.
pub fn trace() -> trackway_core::Result<Vec<u8>> {
    let Some(run) = Run::corpus("aarch64", "bzip2") else {
        let one = example(Storage::Raw);
        let mut bytes = one.clone();
        while bytes.len() < 256 << 20 {
            // Behind the Header and the strings.
            bytes.extend_from_slice(&one[3 * 32..]);
        }
        return Ok(bytes);
    };
    let out = Shared::default();
    let config = WriteConfig { storage: Storage::Raw, ..WriteConfig::default() };
    let (mut source, mut batch) = (run.events(), Batch::default());
    let mut sink = Lower::new(Box::new(out.clone()), source.meta().clone(), config)?;
    while source.fill(&mut batch)? {
        sink.put(&batch)?;
    }
    sink.finish()?;
    drop(sink);
    let mut bytes = out.take();
    // Larger than any cache, as the traces of users are.
    let once = bytes.len();
    for _ in 1..REPEATS {
        bytes.extend_from_within(32..once);
    }
    Ok(bytes)
}

/// A clock: time passed, or time that this thread had a core where the system tells (`--cpu`). The latter is
/// for machines that are busy with other things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time passed.
    Wall,
    /// Time on a core.
    Thread,
}

impl Clock {
    fn measure(self, work: &mut dyn FnMut()) -> Duration {
        let before = self.on_core();
        let start = Instant::now();
        work();
        match (before, self.on_core()) {
            (Some(before), Some(after)) => after - before,
            _ => start.elapsed(),
        }
    }

    fn on_core(self) -> Option<Duration> {
        let text =
            (self == Clock::Thread).then(|| std::fs::read_to_string("/proc/thread-self/schedstat"))?.ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    }
}

/// Runs the contestants in turn, `passes` times, and gives the median of each and the best.
pub fn medians(
    clock: Clock,
    passes: usize,
    contestants: &mut [&mut dyn FnMut()],
) -> (Vec<Duration>, Vec<Duration>) {
    let mut times = vec![Vec::new(); contestants.len()];
    for _ in 0..passes {
        for (contestant, times) in contestants.iter_mut().zip(&mut times) {
            times.push(clock.measure(*contestant));
        }
    }
    times.iter_mut().for_each(|times| times.sort_unstable());
    let at = |n: usize| times.iter().map(|times| times[n]).collect();
    (at(passes / 2), at(0))
}
