//! Parts that the analyses of a trace share: its arguments, how it is read, and how they end.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use trackway::cut::{Selection, Window};
use trackway::{Health, Trace};
use trackway_core::{Batch, Meta, Observer, Source};
use trackway_image::Image;
use trackway_tools::calls::{CallTree, Called, Watch};
use trackway_tools::executed::Executed;

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::open::open;
use crate::output::write_output;
use crate::place::ranges;
use crate::progress::Progress;
use crate::report::{exit_of, placed, print_damage, unfollowed};
use crate::walk::{Checked, CheckedProgram, checked_program, observe, walk};

/// The trace to analyse, or a part of it.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Input {
    /// Trace; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Begin here: N, pc:ADDRESS, sym:NAME, line:FILE:N, time:N, mark:NAME, trap:N, gap:N or end-N
    #[arg(long, value_name = "POSITION")]
    pub(crate) from: Option<String>,
    /// End before this position; pc:, sym:, line: and mark: are the next ones after the beginning
    #[arg(long, value_name = "POSITION")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The file that an analysis writes.
#[derive(clap::Args, Debug)]
pub(crate) struct Output {
    /// File to write; `-` is stdout
    #[arg(short, long, value_name = "X")]
    pub(crate) output: PathBuf,
    /// Refuse to write more than this
    #[arg(long, value_name = "MB", default_value_t = 1024)]
    pub(crate) max_size: u64,
}

impl Output {
    /// Writes it whole, unless it is too large.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.len() as u64 <= self.limit() {
            return write_output(&self.output, bytes);
        }
        Err(self.too_large(&format!("would have {} MB", bytes.len().div_ceil(1_000_000))))
    }

    /// The most bytes that it may have.
    pub(crate) fn limit(&self) -> u64 {
        self.max_size.saturating_mul(1_000_000)
    }

    /// It would be larger than that.
    pub(crate) fn too_large(&self, problem: &str) -> Failure {
        let advice = "take a part with --from and --to, or allow it with --max-size";
        Failure::Usage(format!("{} {problem}: {advice}", self.output.display()))
    }
}

/// The result of an analysis, and what belongs to it.
pub(crate) struct Analysed<T> {
    pub(crate) result: T,
    pub(crate) programs: Vec<Arc<Image>>,
    pub(crate) meta: Meta,
    /// Number of the first instruction.
    pub(crate) first: u64,
    pub(crate) health: Health,
    pub(crate) checked: CheckedProgram,
    pub(crate) ended: Result<(), Failure>,
}

impl<T> Analysed<T> {
    /// The result by itself.
    pub(crate) fn apart(self) -> (T, Analysed<()>) {
        let Analysed { result, programs, meta, first, health, checked, ended } = self;
        (result, Analysed { result: (), programs, meta, first, health, checked, ended })
    }

    /// Ends a command: damage and a program that does not fit are said, and the exit code follows.
    pub(crate) fn end(self, common: &Common) -> Result<Exit, Failure> {
        print_damage(&self.health);
        self.checked.warn();
        self.ended.map(|()| exit_of(&self.health, common))
    }

    /// The same with another result.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Analysed<U> {
        let (result, Analysed { programs, meta, first, health, checked, ended, .. }) = self.apart();
        Analysed { result: change(result), programs, meta, first, health, checked, ended }
    }

    /// Nothing at all to analyse is a failure.
    pub(crate) fn unless(self, empty: impl Fn(&T) -> bool, input: &Input) -> Result<Self, Failure> {
        if !empty(&self.result) {
            return Ok(self);
        }
        self.ended?;
        let file = input.file.display();
        Err(match unfollowed(&self.health) {
            Some(reason) => Failure::Unfollowed(format!("{file}: {reason}")),
            None => Failure::Usage(format!("{file}: there are no instructions to analyse")),
        })
    }
}

impl Input {
    /// The events of the trace, or of the part that is asked for, and the number of the first instruction.
    fn events(&self, trace: &mut Trace) -> Result<(Box<dyn Source>, u64), Failure> {
        let failed = |error: trackway::Error| placed(&self.common, &self.file, error);
        if self.from.is_none() && self.to.is_none() {
            return Ok((trace.events().map_err(failed)?, 0));
        }
        let ranges = ranges(trace, self.from.as_slice(), self.to.as_slice())?;
        let first = ranges.first().map_or(0, |(first, _)| *first);
        let selection = Selection { ranges, ..Selection::default() };
        let selection = selection.checked().map_err(|error| Failure::Usage(error.to_string()))?;
        // Places were looked for in a reading of its own.
        *trace = open(&self.common, &self.file)?;
        Ok((Box::new(Window::new(trace.expanded().map_err(failed)?, selection, None)), first))
    }

    /// Opens the trace and shows its events to `read`.
    pub(crate) fn analyse<T>(
        &self,
        read: impl FnOnce(
            &Trace,
            &mut dyn Source,
            &[Arc<Image>],
        ) -> (T, CheckedProgram, Health, Result<(), Failure>),
    ) -> Result<Analysed<T>, Failure> {
        let mut trace = open(&self.common, &self.file)?;
        let programs =
            trace.programs().map_err(|error: trackway::Error| placed(&self.common, &self.file, error))?;
        let (mut source, first) = self.events(&mut trace)?;
        let (result, checked, mut health, ended) = read(&trace, &mut *source, &programs);
        health.doubt(&trace.facts());
        let meta = source.meta().clone();
        Ok(Analysed { result, programs, meta, first, health, checked, ended })
    }

    /// The executed blocks, counted on all cores.
    pub(crate) fn executed(&self) -> Result<Analysed<Executed>, Failure> {
        let count = |in_parts: bool| {
            self.analyse(|trace, source, programs| {
                let isa = trace.meta().isa;
                let in_parts = in_parts && programs.iter().all(|program| program.is_everywhere());
                let analysis = Executed::new(isa, programs);
                let mut both = Checked { analysis, program: checked_program(isa, programs) };
                let (health, ended) = observe(&self.common, &self.file, source, in_parts, &mut both);
                (both.analysis, both.program, health, ended)
            })
        };
        let mut counted = count(true)?;
        if !counted.result.is_exact() {
            // Some part was decoded with the wrong instruction set: once more, in order.
            counted = count(false)?;
        }
        counted.result = counted.result.finish();
        let empty = |executed: &Executed| {
            executed.blocks().is_empty() && executed.unknown().values().all(|n| *n == 0)
        };
        counted.unless(empty, self)
    }

    /// An analysis that sees all batches in order.
    pub(crate) fn in_order<T>(
        &self,
        new: impl FnOnce(&Meta, &[Arc<Image>]) -> T,
        mut take: impl FnMut(&mut T, &Batch) -> ControlFlow<()>,
    ) -> Result<Analysed<T>, Failure> {
        self.analyse(|trace, source, programs| {
            let mut checked = checked_program(trace.meta().isa, programs);
            let mut analysis = new(source.meta(), programs);
            let progress = Progress::new(self.common.quiet);
            let (health, ended) = walk(&self.common, &self.file, source, &progress, |batch, _| {
                checked.observe(batch);
                Ok(take(&mut analysis, batch))
            });
            (analysis, checked, health, ended)
        })
    }

    /// The call tree, followed in order.
    pub(crate) fn called(&self, inlined: bool) -> Result<Analysed<Called>, Failure> {
        Ok(self.watched(inlined, |_| (), |()| false)?.map(|(called, ())| called))
    }

    /// The call tree, and what watched it grow; reading ends where that has `enough`.
    pub(crate) fn watched<W: Watch>(
        &self,
        inlined: bool,
        watch: impl FnOnce(&Meta) -> W,
        enough: impl Fn(&W) -> bool,
    ) -> Result<Analysed<(Called, W)>, Failure> {
        let followed = self.in_order(
            |meta, programs| {
                let tree = CallTree::new(meta.isa, programs);
                (if inlined { tree.with_inlined() } else { tree }, watch(meta))
            },
            |(tree, watch), batch| {
                tree.observe_with(batch, watch);
                if enough(watch) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        )?;
        let followed = followed.map(|(tree, mut watch)| (tree.finish_with(&mut watch), watch));
        followed.unless(|(called, _)| called.tree.nodes().iter().all(|node| node.instructions == 0), self)
    }
}
