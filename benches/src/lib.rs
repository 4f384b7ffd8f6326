//! Measuring: contestants in turn, medians, and one table of results.
//!
//! `cargo xtask bench` runs all jobs and prints their rows as one table. One job alone:
//! `cargo bench -p trackway-bench --bench JOB -- [MEASURE…] [--passes N] [--cpu]`, which runs the measures whose
//! names begin so, with time on a core instead of time passed.

use std::time::{Duration, Instant};

#[cfg(feature = "opencsd")]
pub mod opencsd;
pub mod recorded;

/// A clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time passed.
    Wall,
    /// Time that this thread was on a core, where the system records it: other work on the machine does not count.
    Thread,
}

impl Clock {
    /// Seconds since some moment.
    fn seconds(self, start: Instant) -> f64 {
        let on_core = || {
            let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
            text.split_whitespace().next()?.parse::<f64>().ok()
        };
        let nanoseconds = if self == Clock::Thread { on_core() } else { None };
        nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
    }
}

/// Something to measure.
pub struct Measure<'a> {
    name: String,
    unit: &'static str,
    clock: Clock,
    work: Work<'a>,
}

/// A pass takes at least this long.
const SHORTEST: Duration = Duration::from_millis(200);

/// Does one pass; is given a clock, and returns the count and the seconds.
type Work<'a> = Box<dyn FnMut(&dyn Fn() -> f64) -> (u64, f64) + 'a>;

impl<'a> Measure<'a> {
    /// `work` returns how many of `unit` it did; time passed counts.
    pub fn new(name: impl Into<String>, unit: &'static str, mut work: impl FnMut() -> u64 + 'a) -> Self {
        Self::prepared(name, unit, || (), move |()| work())
    }

    /// `prepare` makes what `work` needs, and its time does not count.
    pub fn prepared<T>(
        name: impl Into<String>,
        unit: &'static str,
        mut prepare: impl FnMut() -> T + 'a,
        mut work: impl FnMut(T) -> u64 + 'a,
    ) -> Self {
        let work = move |now: &dyn Fn() -> f64| {
            let prepared = prepare();
            let before = now();
            let count = std::hint::black_box(work(prepared));
            (count, now() - before)
        };
        Measure { name: name.into(), unit, clock: Clock::Wall, work: Box::new(work) }
    }

    /// Counts the time that this thread is on a core.
    pub fn on_core(self) -> Self {
        Measure { clock: Clock::Thread, ..self }
    }
}

/// Times of one measure.
struct Measured {
    name: String,
    unit: &'static str,
    count: u64,
    /// Seconds of each pass, in their order.
    seconds: Vec<f64>,
}

impl Measured {
    fn rate(&self) -> String {
        let rate = self.count as f64 / median(self.seconds.clone());
        match self.unit {
            "bytes" if rate >= 1e9 => format!("{:.2} GB/s", rate / 1e9),
            "bytes" => format!("{:.0} MB/s", rate / 1e6),
            unit => format!("{:.1} M {unit}/s", rate / 1e6),
        }
    }
}

/// The value in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Times of all measures.
pub struct Results(Vec<Measured>);

/// Runs the measures in turn, so that a change of the machine's speed hits all alike.
pub fn run(passes: usize, measures: Vec<Measure<'_>>) -> Results {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |n: usize| arguments.get(n + 1)?.parse().ok();
    let given = arguments.iter().position(|argument| argument == "--passes").and_then(value);
    let passes: usize = given.unwrap_or(passes).max(1);
    let on_core = arguments.iter().any(|argument| argument == "--cpu");
    let names: Vec<&String> =
        arguments.iter().filter(|name| !name.starts_with('-') && name.parse::<usize>().is_err()).collect();
    let chosen = |measure: &Measure<'_>| {
        names.is_empty() || names.iter().any(|name| measure.name.starts_with(name.as_str()))
    };
    let mut measures: Vec<Measure<'_>> = measures.into_iter().filter(chosen).collect();
    let empty = |measure: &Measure<'_>| {
        let (name, unit) = (measure.name.clone(), measure.unit);
        Measured { name, unit, count: 0, seconds: Vec::new() }
    };
    let mut results: Vec<Measured> = measures.iter().map(empty).collect();
    let start = Instant::now();
    for _ in 0..passes {
        for (measure, measured) in measures.iter_mut().zip(&mut results) {
            let clock = if on_core { Clock::Thread } else { measure.clock };
            let (count, seconds) = repeated(&mut measure.work, &|| clock.seconds(start));
            measured.count = count;
            measured.seconds.push(seconds);
        }
    }
    Results(results)
}

/// One pass: the work once, or as often as it takes for the clock of a core, which advances a few milliseconds at a
/// time. Returns the count and the seconds of one time.
fn repeated(work: &mut Work<'_>, now: &dyn Fn() -> f64) -> (u64, f64) {
    let (begin, mut times, mut seconds) = (Instant::now(), 0, 0.0);
    loop {
        let (count, took) = work(now);
        (times, seconds) = (times + 1, seconds + took);
        if begin.elapsed() >= SHORTEST && seconds > 0.0 {
            return (count, seconds / f64::from(times));
        }
    }
}

impl Results {
    fn find(&self, name: &str) -> Option<&Measured> {
        self.0.iter().find(|measured| measured.name == name)
    }

    /// A row for a rate alone.
    pub fn rate(&self, name: &str) {
        if let Some(ours) = self.find(name) {
            row([name, &ours.rate(), "", "", ""]);
        }
    }

    /// A row for a rate with a goal in millions per second.
    pub fn reach(&self, name: &str, goal: f64) {
        if let Some(ours) = self.find(name) {
            row([name, &ours.rate(), "", "", &format!("at least {goal} M/s")]);
        }
    }

    /// A row for a rate, and how many times as fast it is as another.
    pub fn faster(&self, name: &str, beside: &str, goal: Option<f64>) {
        let speed = |measured: &Measured, seconds: f64| measured.count as f64 / seconds;
        self.compare(name, beside, goal.map(|goal| format!("at least {goal}")), |ours, theirs, seconds| {
            speed(ours, seconds[0]) / speed(theirs, seconds[1])
        });
    }

    /// A row for a rate, and how many times as long it takes as another.
    pub fn slower(&self, name: &str, beside: &str, goal: Option<f64>) {
        self.compare(name, beside, goal.map(|goal| format!("at most {goal}")), |_, _, seconds| {
            seconds[0] / seconds[1]
        });
    }

    /// The median of the ratios of neighbouring passes, since a machine changes its clock between passes, and the ratio
    /// of the best passes.
    fn compare(
        &self,
        name: &str,
        beside: &str,
        goal: Option<String>,
        ratio: impl Fn(&Measured, &Measured, [f64; 2]) -> f64,
    ) {
        let (Some(ours), Some(theirs)) = (self.find(name), self.find(beside)) else { return };
        let passes = ours.seconds.iter().zip(&theirs.seconds);
        let ratios =
            median(passes.map(|(&ours_took, &took)| ratio(ours, theirs, [ours_took, took])).collect());
        let best = |measured: &Measured| measured.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let best = ratio(ours, theirs, [best(ours), best(theirs)]);
        let against = format!("{beside}: {}", theirs.rate());
        let ratio = format!("{ratios:.2} ({best:.2})");
        row([name, &ours.rate(), &against, &ratio, &goal.unwrap_or_default()]);
    }
}

/// A row of the table: measure, our rate, what it is compared with, their ratio (of the best passes), the goal.
pub fn row(cells: [&str; 5]) {
    println!("| {} |", cells.join(" | "));
}
