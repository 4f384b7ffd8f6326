//! Progress on stderr, on a terminal only.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use trackway_core::Source;

/// A bar with rate and time left where the source knows how far it goes, else a count.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Hidden unless stderr is a terminal and nobody asked for quiet.
    pub(crate) fn new(quiet: bool) -> Self {
        Self::shown(!quiet)
    }

    /// For those who print as they go: hidden, too, where that would go to the same terminal.
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

    /// Says what goes on, where it cannot be told how far it is.
    pub(crate) fn say(&self, what: &'static str) {
        self.bar.set_message(what);
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    }

    /// So many instructions were read, so many errors met.
    pub(crate) fn update(&self, source: &dyn Source, instructions: u64, errors: u64) {
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
        let rate = instructions as f64 / seconds / 1e6;
        self.bar.set_message(format!("{instructions} instructions, {rate:.1} M/s, {errors} errors"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
