//! `trackway find`: instructions that meet conditions.

use std::io::{BufWriter, Write};
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use trackway::{Health, Trace};
use trackway_core::{Batch, EventKind, Isa, Observer, Saved};
use trackway_image::{Image, Listing as Columns};
use trackway_isa::Class;
use trackway_tools::find::{Conditions, Find, Match};

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::json::{Object, object, put_errors, write_line};
use crate::open::open;
use crate::past::Places;
use crate::progress::Progress;
use crate::proposed::Proposed;
use crate::report::{exit_of, placed, print_damage, print_health};
use crate::walk::{observe_until, walk};

/// Arguments of `find`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
An instruction must meet all conditions; a condition that is repeated, or has a list, is met by any of its values
(--reg and --context: by all). A line begins with the number that --from, --to and --at take.
Exit codes are those of grep: 0 if something was found, 1 if nothing was.")]
pub(crate) struct Args {
    /// Trace; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// At this address, or in this range, whose end is not in it
    #[arg(long, value_name = "ADDR|A-B")]
    pub(crate) pc: Vec<String>,
    /// At the first instruction of this function
    #[arg(long, value_name = "NAME")]
    pub(crate) sym: Vec<String>,
    /// Anywhere in this function
    #[arg(long, value_name = "NAME")]
    pub(crate) within: Vec<String>,
    /// With this mnemonic
    #[arg(long, value_name = "MNEMONIC", value_delimiter = ',')]
    pub(crate) op: Vec<String>,
    /// Of this class: integer, load, store, branch, call, …
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = classes(), hide_possible_values = true)]
    pub(crate) class: Vec<String>,
    /// Accessing memory here; the end of a range is not in it
    #[arg(long, value_name = "ADDR|ADDR:LEN|A-B")]
    pub(crate) mem: Vec<String>,
    /// Reading or writing this register, with this value if one is given
    #[arg(long, value_name = "R[=VALUE]")]
    pub(crate) reg: Vec<String>,
    /// Trapping: any, exception, interrupt, return, the number of a cause or a part of its name
    #[arg(long, value_name = "CAUSE", value_parser = traps(), hide_possible_values = true)]
    pub(crate) trap: Option<String>,
    /// In a context with this value: privilege=u, pid=7, asid=0x2, …
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) context: Vec<String>,
    /// Print only how many there are
    #[arg(long, conflicts_with_all = ["limit", "context_lines"])]
    pub(crate) count: bool,
    /// Show at most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Show N instructions before and after each
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    pub(crate) context_lines: u64,
    /// One JSON object
    #[arg(long, conflicts_with_all = ["jsonl", "context_lines"])]
    pub(crate) json: bool,
    /// One JSON object per match, and one at the end
    #[arg(long, conflicts_with = "context_lines")]
    pub(crate) jsonl: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

fn classes() -> Proposed {
    Proposed(Class::ALL.iter().map(|class| class.as_str().replace(' ', "-")).collect())
}

fn traps() -> Proposed {
    Proposed(["any", "exception", "interrupt", "return"].map(String::from).to_vec())
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut trace = open(&args.common, &args.file)?;
    let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
    let programs = trace.programs().map_err(failed)?;
    let conditions = conditions(args, trace.meta().isa, &programs)?;
    if args.context_lines > 0 {
        trace.refuse_several().map_err(failed)?;
    }
    let mut search = Search::new(args, &mut trace, programs, conditions);
    let (health, ended) = search.run()?;
    let count = search.count;
    let unanswered = search.conditions.unanswered(search.has_memory, search.has_registers);
    if let (0, Some([option, what]), Ok(())) = (count, unanswered, &ended) {
        return Err(Failure::Usage(format!("{}: {option}: the trace has no {what}", args.file.display())));
    }
    if !args.json && !args.jsonl {
        search.around()?;
        if args.count {
            writeln!(search.out, "{count}")?;
        }
    }
    search.end(&health, ended.as_ref().err())?;
    drop(search);
    ended?;
    if args.json || args.jsonl || args.count {
        print_damage(&health);
    } else {
        print_health(&health, &args.common);
    }
    Ok(match exit_of(&health, &args.common) {
        // As grep has it.
        Exit::Fine if count == 0 => Exit::Found,
        exit => exit,
    })
}

fn conditions(args: &Args, isa: Isa, programs: &[Arc<Image>]) -> Result<Conditions, Failure> {
    let mut conditions = Conditions::default();
    let trap: Vec<String> = args.trap.iter().cloned().collect();
    for (name, values) in [
        ("pc", &args.pc),
        ("sym", &args.sym),
        ("within", &args.within),
        ("op", &args.op),
        ("class", &args.class),
        ("mem", &args.mem),
        ("reg", &args.reg),
        ("trap", &trap),
        ("context", &args.context),
    ] {
        for value in values {
            let added = conditions.add(name, value, isa, programs);
            added.map_err(|error| Failure::Usage(error.to_string()))?;
        }
    }
    if conditions.is_empty() {
        let text =
            "nothing to look for: --pc, --sym, --within, --op, --class, --mem, --reg, --trap or --context";
        return Err(Failure::Usage(text.into()));
    }
    Ok(conditions)
}

struct Search<'a> {
    args: &'a Args,
    trace: &'a mut Trace,
    programs: Vec<Arc<Image>>,
    conditions: Conditions,
    places: Places,
    out: BufWriter<std::io::Stdout>,
    source: Option<u16>,
    count: u64,
    has_memory: bool,
    has_registers: bool,
    /// Matches for `--json`, and those whose surroundings are shown.
    kept: Vec<Match>,
}

/// Matches that are kept for one JSON object, or to show their surroundings.
const MOST: usize = 1 << 20;

impl<'a> Search<'a> {
    fn new(args: &'a Args, trace: &'a mut Trace, programs: Vec<Arc<Image>>, conditions: Conditions) -> Self {
        let places = Places::new(&programs);
        let out = BufWriter::with_capacity(1 << 16, std::io::stdout());
        let (has_memory, has_registers) = (false, false);
        let (source, count, kept) = (None, 0, Vec::new());
        Search {
            args,
            trace,
            programs,
            conditions,
            places,
            out,
            source,
            count,
            has_memory,
            has_registers,
            kept,
        }
    }

    fn find(&self, most: Option<usize>) -> Find {
        let (format, isa) = (self.trace.format(), self.trace.meta().isa);
        Find::new(self.conditions.clone(), format, isa, self.programs.clone(), most)
    }

    fn is_enough(&self) -> bool {
        self.args.limit.is_some_and(|limit| self.count >= limit)
    }

    /// Searches and prints; returns the health of what was read, and what ended it.
    fn run(&mut self) -> Result<(Health, Result<(), Failure>), Failure> {
        let args = self.args;
        let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
        if let Some(stretches) = self.stretches() {
            return self.by_index(stretches);
        }
        let limited = args.limit.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let mut find = self.find(if args.count { Some(0) } else { limited });
        if !find.in_parts() {
            return self.in_order(0);
        }
        let mut source = self.trace.events().map_err(failed)?;
        let limit = args.limit.unwrap_or(u64::MAX);
        let enough = |find: &Find| find.count >= limit || !args.count && find.has_overflowed();
        let (health, ended) = observe_until(&args.common, &args.file, &mut *source, &mut find, enough);
        (self.has_memory, self.has_registers) = (find.has_memory, find.has_registers);
        if args.count {
            self.count = find.count;
            return Ok((health, ended));
        }
        let overflowed = find.has_overflowed() && (find.matches.len() as u64) < limit;
        for found in find.matches.drain(..) {
            self.show(&found)?;
        }
        // There are too many to keep: from here on they are printed as they come.
        if overflowed { self.in_order(self.count) } else { Ok((health, ended)) }
    }

    /// The stretches that can have a match, by the index; `None` where reading all is as well.
    fn stretches(&mut self) -> Option<Vec<(Option<Saved>, Range<u64>)>> {
        if !self.conditions.has_addresses() {
            return None;
        }
        let (index, name) = self.trace.index_part()?;
        let part = index.sources.get(&name).filter(|part| part.is_complete && part.all.errors == 0)?;
        let mut found: Vec<(Option<Saved>, Range<u64>)> = Vec::new();
        for stretch in part.stretches().filter(|stretch| self.conditions.meets_sketch(stretch.sketch)) {
            let range = stretch.before.instructions..stretch.after.instructions;
            match found.last_mut() {
                Some((_, last)) if last.end == range.start => last.end = range.end,
                _ => found
                    .push((stretch.checkpoint.map(|one| Saved { source: 0, ..one.saved.clone() }), range)),
            }
        }
        let length: u64 = found.iter().map(|(_, range)| range.end - range.start).sum();
        let is_short = length < part.all.instructions / 2;
        // Skipped stretches may have values of registers.
        self.has_registers = true;
        self.has_memory = part.stretches().any(|stretch| stretch.sketch.may_access(&(0..u64::MAX)));
        is_short.then_some(found)
    }

    /// Searches these stretches only.
    fn by_index(
        &mut self,
        stretches: Vec<(Option<Saved>, Range<u64>)>,
    ) -> Result<(Health, Result<(), Failure>), Failure> {
        let args = self.args;
        let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
        let mut find = self.find(None);
        let mut health = Health::default();
        for (saved, range) in stretches {
            let mut source = self.trace.events().map_err(failed)?;
            if let Some(saved) = saved
                && !source.restore(&saved).map_err(|error| failed(error.into()))?
            {
                return self.in_order(self.count);
            }
            find.jump(range.start, source.context());
            let progress = Progress::beside_output(args.common.quiet);
            let (read, ended) = walk(&args.common, &args.file, &mut *source, &progress, |batch, _| {
                if batch.first_instruction >= range.end {
                    return Ok(ControlFlow::Break(()));
                }
                find.observe(batch);
                for found in std::mem::take(&mut find.matches) {
                    if range.contains(&found.number) && !self.is_enough() {
                        self.show(&found)?;
                    }
                }
                Ok(if self.is_enough() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            });
            health.counts.merge(Box::new(read.counts));
            if ended.is_err() || self.is_enough() {
                return Ok((health, ended));
            }
        }
        Ok((health, Ok(())))
    }

    /// Searches in order, and prints as it goes, all but the first matches.
    fn in_order(&mut self, mut skip: u64) -> Result<(Health, Result<(), Failure>), Failure> {
        let args = self.args;
        let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
        let mut find = self.find(None);
        let mut source = self.trace.events().map_err(failed)?;
        let progress = Progress::beside_output(args.common.quiet);
        let read = walk(&args.common, &args.file, &mut *source, &progress, |batch, _| {
            find.observe(batch);
            for found in std::mem::take(&mut find.matches) {
                if skip > 0 {
                    skip -= 1;
                } else if !self.is_enough() {
                    self.show(&found)?;
                }
            }
            Ok(if self.is_enough() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        });
        (self.has_memory, self.has_registers) = (find.has_memory, find.has_registers);
        Ok(read)
    }

    fn show(&mut self, found: &Match) -> Result<(), Failure> {
        self.count += 1;
        if self.args.count {
            return Ok(());
        }
        if self.args.json || self.args.context_lines > 0 {
            if self.kept.len() == MOST {
                return Err(Failure::Usage(format!(
                    "more than {MOST} matches: use --limit, --count or --jsonl"
                )));
            }
            self.kept.push(*found);
        } else if self.args.jsonl {
            let mut line = object("match");
            self.put(&mut line, found);
            write_line(&mut self.out, &line.into())?;
        } else {
            self.heading(found.source)?;
            let line = self.line(found);
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    /// The heading of a source, where there are several.
    fn heading(&mut self, source: u16) -> Result<(), Failure> {
        if self.source.replace(source) != Some(source)
            && let Some(name) = self.name(source)
        {
            writeln!(self.out, "# source {name}")?;
        }
        Ok(())
    }

    fn name(&self, source: u16) -> Option<String> {
        let names = &self.trace.meta().sources;
        names.get(usize::from(source)).filter(|_| names.len() > 1).cloned()
    }

    fn line(&mut self, found: &Match) -> String {
        let pc = found.pc.map_or("?".into(), |pc| format!("{pc:016x}"));
        let encoding = match found.length {
            0 => "?".into(),
            length => Columns::encoding(found.isa, found.encoding, length),
        };
        let text = self.places.text(found.isa, found.pc, found.encoding, found.length);
        let line = format!(
            "{:>9}  {pc:16}  {encoding:>8}  {text:<32}{}",
            found.number,
            self.places.suffix(found.pc)
        );
        line.trim_end().to_string()
    }

    fn put(&mut self, line: &mut Object, found: &Match) {
        line.extend(self.name(found.source).map(|name| ("source".to_string(), json!(name))));
        line.insert("instruction".into(), json!(found.number));
        self.places.put(line, found.isa, found.pc, found.encoding, found.length);
    }

    /// Prints the matches with the instructions around them.
    fn around(&mut self) -> Result<(), Failure> {
        let lines = self.args.context_lines;
        let kept = std::mem::take(&mut self.kept);
        if lines == 0 || kept.is_empty() {
            return Ok(());
        }
        let failed = |error: trackway::Error| placed(&self.args.common, &self.args.file, error);
        let mut windows: Vec<Range<u64>> = Vec::new();
        for found in &kept {
            let (from, to) = (found.number.saturating_sub(lines), found.number.saturating_add(lines + 1));
            match windows.last_mut() {
                Some(last) if last.end >= from => last.end = to,
                _ => windows.push(from..to),
            }
        }
        let is_match = |number: u64| kept.binary_search_by_key(&number, |found| found.number).is_ok();
        let mut begun = false;
        for window in windows {
            if std::mem::replace(&mut begun, true) {
                writeln!(self.out, "--")?;
            }
            let mut source = self.trace.expanded().map_err(failed)?;
            source.seek(window.start).map_err(|error| failed(error.into()))?;
            let mut isa = source.context().isa.unwrap_or(source.meta().isa);
            let progress = Progress::beside_output(true);
            let (_, ended) = walk(&self.args.common, &self.args.file, &mut *source, &progress, |batch, _| {
                self.window(batch, &window, &mut isa, &is_match)
            });
            ended?;
        }
        Ok(())
    }

    fn window(
        &mut self,
        batch: &Batch,
        window: &Range<u64>,
        isa: &mut Isa,
        is_match: &dyn Fn(u64) -> bool,
    ) -> Result<ControlFlow<()>, Failure> {
        let mut number = batch.first_instruction;
        for event in &batch.events {
            if number >= window.end {
                return Ok(ControlFlow::Break(()));
            }
            match event.kind {
                EventKind::Step(step) if window.contains(&number) => {
                    let (encoding, length) = (step.encoding, step.length);
                    let found = Match { source: 0, number, pc: step.pc, encoding, length, isa: *isa };
                    let mark = if is_match(number) { '>' } else { ' ' };
                    let line = self.line(&found);
                    writeln!(self.out, "{mark}{line}")?;
                }
                EventKind::Context(n) => *isa = batch.contexts[n as usize].isa.unwrap_or(*isa),
                _ => {}
            }
            number += event.kind.instructions();
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Prints what comes last.
    fn end(&mut self, health: &Health, ended: Option<&Failure>) -> Result<(), Failure> {
        if self.args.json || self.args.jsonl {
            let mut end = object(if self.args.json { "find" } else { "end" });
            if self.args.json {
                end.insert("file".into(), json!(self.args.file.display().to_string()));
            }
            end.insert("count".into(), json!(self.count));
            if self.args.json && !self.args.count {
                let kept = std::mem::take(&mut self.kept);
                let mut one = |found: &Match| {
                    let mut line = Object::new();
                    self.put(&mut line, found);
                    json!(line)
                };
                let matches: Vec<_> = kept.iter().map(&mut one).collect();
                end.insert("matches".into(), json!(matches));
            }
            put_errors(&mut end, health, ended);
            self.out.flush()?;
            crate::json::print(end)?;
        }
        Ok(self.out.flush()?)
    }
}
