//! One of the two traces that are compared.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway::cut::{Selection, Window};
use trackway::format::{Format, Program as Files};
use trackway::{Health, Options, Position, Trace};
use trackway_core::{FormatId, Isa, Meta, Observer, Source};
use trackway_image::Image;

use super::Args;
use crate::args::{Common, RecordArgs};
use crate::exit::Failure;
use crate::interrupt;
use crate::progress::Watched;
use crate::record;
use crate::report::placed;

/// A trace, or a program that runs.
pub(super) struct Side {
    pub(super) path: PathBuf,
    pub(super) common: Common,
    pub(super) trace: Option<Trace>,
    /// The program to run, and its arguments.
    record: Option<RecordArgs>,
    pub(super) meta: Meta,
    pub(super) programs: Vec<Arc<Image>>,
    pub(super) health: Sum,
}

/// The health of what was read of all sources.
#[derive(Default)]
pub(super) struct Sum(pub(super) Health);

impl Sum {
    pub(super) fn add(&mut self, other: Health) {
        let Health { items, counts, errors, first_errors, doubts } = other;
        self.0.items = match (self.0.items, items) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.0.counts.merge(Box::new(counts));
        self.0.errors += errors;
        self.0.first_errors.extend(first_errors);
        self.0.doubts.extend(doubts);
    }
}

impl Side {
    pub(super) fn open(args: &Args, n: usize) -> Result<Self, Failure> {
        let pick =
            |both: &Option<PathBuf>, own: [&Option<PathBuf>; 2]| own[n].clone().or_else(|| both.clone());
        let mut common = args.common.clone();
        let elf = [&args.elf_a, &args.elf_b][n];
        if !elf.is_empty() {
            common.elf = elf.clone();
        }
        common.config = pick(&args.common.config, [&args.config_a, &args.config_b]);
        common.format = [args.format_a, args.format_b][n].or(args.common.format);
        common.source = [&args.source_a, &args.source_b][n].clone().or(args.common.source.clone());
        let path = match (n, &args.b, &args.record) {
            (0, ..) => args.a.clone(),
            (_, Some(path), _) => path.clone(),
            (_, None, Some(program)) => return Self::recorded(args, program, common),
            (_, None, None) => {
                return Err(Failure::Usage("diff takes two traces, or --record PROGRAM".into()));
            }
        };
        if n == 1 && path.as_os_str() == "-" && args.a == path {
            return Err(Failure::Usage("stdin is one trace, not two".into()));
        }
        let mut side = Side {
            meta: Meta::new(FormatId::new("none"), Isa::Other),
            path,
            common,
            trace: None,
            record: None,
            programs: Vec::new(),
            health: Sum::default(),
        };
        side.reopen()?;
        Ok(side)
    }

    fn recorded(args: &Args, program: &Path, mut common: Common) -> Result<Self, Failure> {
        common.elf = vec![program.display().to_string()];
        let record = RecordArgs {
            program: program.into(),
            arguments: args.arguments.clone(),
            config: common.config.clone(),
            from: args.from.clone(),
            to: args.to.clone(),
            context: common.context.clone(),
            ..RecordArgs::default()
        };
        let files = Files { elf: common.elf.clone(), ..Files::default() };
        let programs = vec![Arc::new(files.load().map_err(|error| Failure::input(program, error))?)];
        let meta = record::recorder(&record)?.0.meta().clone();
        let path = program.into();
        Ok(Side { path, common, trace: None, record: Some(record), meta, programs, health: Sum::default() })
    }

    fn failed(&self, error: trackway::Error) -> Failure {
        placed(&self.common, &self.path, error)
    }

    fn reopen(&mut self) -> Result<(), Failure> {
        let options = Options { cancel: interrupt::cancel(), ..self.common.options()? };
        let opened = match options.open(&self.path) {
            // An option of the other trace's format does not apply to this one.
            Err(trackway::Error::Config(_)) if !options.flags.is_empty() => {
                Options { flags: Vec::new(), ..options.clone() }.open(&self.path)
            }
            opened => opened,
        };
        let mut trace = opened.map_err(|error| self.failed(error))?;
        self.programs = trace.programs().map_err(|error| self.failed(error))?;
        self.meta = trace.meta().clone();
        self.trace = Some(trace);
        Ok(())
    }

    /// Opens it again for one source of several.
    pub(super) fn pick(&mut self, args: &Args, source: Option<&str>) -> Result<(), Failure> {
        if self.path.as_os_str() == "-" {
            let text = "stdin with several sources is read once only: choose one with --source";
            return Err(Failure::Usage(text.into()));
        }
        let own = if self.path == args.a { &args.source_a } else { &args.source_b };
        self.common.source = source.map(str::to_string).or_else(|| own.clone());
        self.reopen()
    }

    /// Its events, and the number of the first instruction.
    pub(super) fn read(&mut self, args: &Args) -> Result<(Watched<'static>, u64), Failure> {
        if let Some(record) = &self.record {
            return Ok((Watched::new(Box::new(record::recorder(record)?.0), None), 0));
        }
        let Side { common, path, trace, programs, .. } = self;
        let Some(trace) = trace else { return Err(Failure::Usage("no trace".into())) };
        let failed = |error: trackway::Error| placed(common, path, error);
        let parse =
            |text: &Option<String>| text.as_deref().map(|text| Position::parse(text, programs)).transpose();
        let (from, to) = (parse(&args.from).map_err(failed)?, parse(&args.to).map_err(failed)?);
        let base = from.as_ref().map_or(Ok(0), |from| trace.locate(from, None)).map_err(failed)?;
        let end = to.as_ref().map_or(Ok(u64::MAX), |to| trace.locate(to, Some(base))).map_err(failed)?;
        let source = trace.expanded().map_err(failed)?;
        if from.is_none() && to.is_none() {
            return Ok((Watched::new(source, None), 0));
        }
        let selection = Selection::range(base, end).checked().map_err(failed)?;
        Ok((Watched::new(Box::new(Window::new(source, selection, None)), None), base))
    }

    pub(super) fn format(&self) -> Option<&'static dyn Format> {
        self.trace.as_ref().map(Trace::format)
    }

    pub(super) fn symbol(&self, pc: Option<u64>) -> Option<String> {
        self.programs.first()?.place(pc?)
    }
}
