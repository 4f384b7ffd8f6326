//! Progress on stderr, on a terminal only.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trackway::{Health, Trace};
use trackway_core::{Batch, Error, Meta, Observer, Result, SharedBytes, Source};

/// A line with share, rate, time left and errors so far. A thread draws it, so that commands that have nothing to
/// report for a while are seen to work.
pub(crate) struct Progress {
    shared: Option<Arc<Shared>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    meter: Mutex<Meter>,
    ended: Condvar,
    /// The file that is read, for the share where no source has one.
    file: Mutex<Option<SharedBytes>>,
}

impl Shared {
    fn meter(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self) -> MutexGuard<'_, Option<SharedBytes>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much of the file has been read.
    fn share(&self) -> Option<(u64, u64)> {
        let file = self.file();
        let bytes = file.as_deref()?;
        Some((bytes.position()? as u64, bytes.as_ref().len() as u64))
    }
}

/// Commands that end sooner show nothing.
const PATIENCE: Duration = Duration::from_millis(500);
const BETWEEN: Duration = Duration::from_millis(200);

impl Progress {
    /// Hidden unless stderr is a terminal and --quiet is absent.
    pub(crate) fn new(quiet: bool) -> Self {
        Self::shown(!quiet)
    }

    /// For commands that print as they go: hidden where stdout is a terminal too.
    pub(crate) fn beside_output(quiet: bool) -> Self {
        Self::shown(!quiet && !std::io::stdout().is_terminal())
    }

    fn shown(wanted: bool) -> Self {
        if !wanted || !std::io::stderr().is_terminal() {
            return Progress { shared: None, thread: None };
        }
        let (meter, file) = (Mutex::new(Meter::default()), Mutex::new(None));
        let shared = Arc::new(Shared { meter, ended: Condvar::new(), file });
        let draws = Arc::clone(&shared);
        Progress { shared: Some(shared), thread: Some(std::thread::spawn(move || draw(&draws))) }
    }

    /// Names the work.
    pub(crate) fn say(&self, what: &'static str) {
        self.set(|meter| meter.what = what);
    }

    /// Shows how far the file of a trace has been read, until a source says it better.
    pub(crate) fn follow(&self, trace: &Trace) {
        if let Some(shared) = &self.shared {
            *shared.file() = trace.file().cloned();
        }
    }

    /// Shows how far the source has been read.
    pub(crate) fn update(&self, source: &dyn Source, health: &Health) {
        self.set(|meter| {
            meter.share = source.progress();
            (meter.instructions, meter.errors) = (health.counts.instructions, health.errors);
        });
    }

    /// Shows how far a source has been read, where instructions are not counted.
    pub(crate) fn count_source(&self, source: &dyn Source) {
        self.set(|meter| meter.share = source.progress());
    }

    /// Shows how many instructions are done, of how many if it is known.
    pub(crate) fn count(&self, instructions: u64, of: Option<u64>) {
        self.set(|meter| {
            meter.share = of.map(|of| (instructions, of));
            meter.instructions = instructions;
        });
    }

    fn set(&self, change: impl FnOnce(&mut Meter)) {
        if let Some(shared) = &self.shared {
            change(&mut shared.meter());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.set(|meter| meter.ended = true);
        if let (Some(shared), Some(thread)) = (&self.shared, self.thread.take()) {
            shared.ended.notify_all();
            // A thread that failed to draw has nothing to clean up.
            let _ = thread.join();
        }
    }
}

/// A source that keeps the health of its events, and may show its progress batch by batch.
pub(crate) struct Watched<'p> {
    source: Box<dyn Source>,
    progress: Option<&'p Progress>,
    health: Health,
    /// The last error, until decoding continues after it.
    last: Option<Error>,
}

impl<'p> Watched<'p> {
    pub(crate) fn new(source: Box<dyn Source>, progress: Option<&'p Progress>) -> Self {
        Watched { source, progress, health: Health::default(), last: None }
    }

    pub(crate) fn finish(mut self) -> Health {
        self.health.counts.doubtful += self.source.doubtful();
        let items = self.source.census().total();
        self.health.items = (items > 0).then_some(items);
        self.health
    }
}

impl Source for Watched<'_> {
    fn meta(&self) -> &Meta {
        self.source.meta()
    }

    fn inner(&self) -> Option<&dyn Source> {
        Some(&*self.source)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Source> {
        Some(&mut *self.source)
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let filled = self.source.fill(batch);
        match filled {
            Ok(_) => self.health.counts.observe(batch),
            Err(error) => self.last = Some(error),
        }
        if let Some(progress) = self.progress {
            progress.update(&*self.source, &self.health);
        }
        filled
    }

    fn resync(&mut self) -> Result<bool> {
        let found = self.source.resync()?;
        if let Some(error) = self.last.take_if(|_| found) {
            self.health.passed(error);
        }
        Ok(found)
    }
}

/// Draws until the end, then clears the line.
fn draw(shared: &Shared) {
    let start = Instant::now();
    let mut stderr = std::io::stderr();
    let mut drawn = false;
    let mut meter = shared.meter();
    while !meter.ended {
        let pause = if drawn { BETWEEN } else { PATIENCE };
        meter = shared.ended.wait_timeout(meter, pause).unwrap_or_else(PoisonError::into_inner).0;
        if !meter.ended && start.elapsed() >= PATIENCE {
            let width =
                terminal_size::terminal_size_of(&stderr).map_or(80, |(width, _)| usize::from(width.0));
            // A line that fills the terminal would wrap in some.
            let share = meter.share.or_else(|| shared.share());
            let line = Meter { share, ..meter.clone() }.line(width.saturating_sub(1), start.elapsed());
            drop(meter);
            // A terminal that is gone stops the drawing, not the command.
            let _ = write!(stderr, "\r{line}\x1b[K").and_then(|()| stderr.flush());
            drawn = true;
            meter = shared.meter();
        }
    }
    if drawn {
        let _ = write!(stderr, "\r\x1b[K").and_then(|()| stderr.flush());
    }
}

/// The state of a run.
#[derive(Clone, Debug, Default)]
struct Meter {
    what: &'static str,
    /// Done and all, in the source's own unit.
    share: Option<(u64, u64)>,
    instructions: u64,
    errors: u64,
    ended: bool,
}

impl Meter {
    /// The line after `elapsed`, at most `width` characters wide: what does not fit is left out, the least important
    /// first.
    fn line(&self, width: usize, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64().max(1e-3);
        let share =
            self.share.filter(|&(_, all)| all > 0).map(|(done, all)| (done as f64 / all as f64).min(1.0));
        // The place in the line, the most important part first.
        let mut parts: Vec<(u8, String)> = Vec::new();
        if let Some(share) = share {
            parts.push((1, format!("{:3.0}%", share * 100.0)));
            if share > 0.0 {
                let left = seconds * (1.0 - share) / share;
                parts.push((5, format!("eta {}", clock(left))));
            }
        } else {
            parts.push((5, clock(seconds)));
        }
        if self.errors > 0 {
            parts.push((4, format!("{} errors", self.errors)));
        }
        if self.instructions > 0 {
            parts.push((3, format!("{}/s", short(self.instructions as f64 / seconds))));
            parts.push((2, format!("{} instructions", short(self.instructions as f64))));
        }
        if !self.what.is_empty() {
            parts.push((0, self.what.to_string()));
        }
        let mut line: Vec<(u8, String)> = Vec::new();
        let mut used = 0;
        for part in parts {
            let wide = part.1.chars().count() + if line.is_empty() { 0 } else { 2 };
            if used + wide <= width {
                used += wide;
                line.push(part);
            }
        }
        line.sort_by_key(|part| part.0);
        let mut text = line.into_iter().map(|part| part.1).collect::<Vec<_>>().join("  ");
        if let Some(share) = share.filter(|_| width >= used + 14) {
            let cells = (width - used - 4).min(30);
            let full = (share * cells as f64) as usize;
            text = format!("[{}{}] {text}", "#".repeat(full), " ".repeat(cells - full));
        }
        text
    }
}

/// Hours, minutes and seconds.
fn clock(seconds: f64) -> String {
    // A time that does not fit is as good as never.
    let seconds = seconds.min(359_999.0) as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A number in few characters.
fn short(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{:.1} G", n / 1e9),
        n if n >= 1e6 => format!("{:.1} M", n / 1e6),
        n if n >= 1e3 => format!("{:.1} k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_never_wider_than_the_terminal() {
        for (share, instructions, errors) in [
            (None, 0, 0),
            (Some((0, 0)), 1, 0),
            (Some((0, 10)), 0, 0),
            (Some((3, 1 << 60)), 140_000_000, 3),
            (Some((12, 10)), u64::MAX, u64::MAX),
        ] {
            for what in ["", "checking", "reading back what was written"] {
                let meter = Meter { what, share, instructions, errors, ended: false };
                for width in 0..200 {
                    for seconds in [0, 1, 59, 3600, 1 << 40] {
                        let line = meter.line(width, Duration::from_secs(seconds));
                        assert!(line.chars().count() <= width, "{width}: {line:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_most_important_comes_first() {
        let meter =
            Meter { what: "", share: Some((1, 4)), instructions: 70_000_000, errors: 2, ended: false };
        let line = |width| meter.line(width, Duration::from_secs(10));
        assert_eq!(
            line(99),
            "[#######                       ]  25%  70.0 M instructions  7.0 M/s  2 errors  eta 0:30"
        );
        assert_eq!(line(40), " 25%  7.0 M/s  2 errors  eta 0:30");
        assert_eq!(line(24), " 25%  2 errors  eta 0:30");
        assert_eq!(line(14), " 25%  eta 0:30");
        assert_eq!(line(4), " 25%");
        assert_eq!(line(3), "");
        let unknown = Meter { what: "checking", ..Meter::default() };
        assert_eq!(unknown.line(80, Duration::from_secs(61)), "checking  1:01");
    }
}
