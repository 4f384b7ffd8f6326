//! Progress on stderr, on a terminal only.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use trackway::Health;
use trackway_core::Source;

/// A bar with rate and time left where the size of the source is known, else a count.
pub(crate) struct Progress {
    bar: ProgressBar,
}

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
        let shown = wanted && std::io::stderr().is_terminal();
        let bar = if shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Progress { bar }
    }

    /// Shows what is being done, where progress is unknown.
    pub(crate) fn say(&self, what: &'static str) {
        self.bar.set_message(what);
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    }

    /// Shows how far the source has been read.
    pub(crate) fn update(&self, source: &dyn Source, health: &Health) {
        if self.bar.is_hidden() {
            return;
        }
        if let Some((done, total)) = source.progress() {
            if self.bar.length() != Some(total) {
                self.bar.set_length(total);
                let style = ProgressStyle::with_template("{bar:30} {percent:>3}% {msg} {elapsed} eta {eta}");
                self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            }
            self.bar.set_position(done);
        }
        let seconds = self.bar.elapsed().as_secs_f64().max(1e-3);
        let (instructions, errors) = (health.counts.instructions, health.errors);
        let rate = instructions as f64 / seconds / 1e6;
        self.bar.set_message(format!("{instructions} instructions, {rate:.1} M/s, {errors} errors"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
