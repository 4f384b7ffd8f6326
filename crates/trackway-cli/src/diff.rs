//! `trackway diff`: two traces of any formats, aligned and compared.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueHint;
use serde_json::{Value as Json, json};
use trackway::cut::{Selection, Window};
use trackway::format::{Format, Program as Files};
use trackway::{Health, Options, Position, Trace};
use trackway_core::{Batch, Error, FormatId, Isa, Meta, Observer, Source};
use trackway_image::Image;
use trackway_tools::diff::{self, Difference, Excerpt, Group, Kind, NotCompared, Report, Stretch, Tolerate};

use crate::args::{Common, RecordArgs, format};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::json::{self, Object, hex, key, object, put_errors};
use crate::listing::Listing;
use crate::output::write_file;
use crate::plain::plain;
use crate::progress::Progress;
use crate::record;
use crate::report::{exit_of, placed, placed_at, print_damage};
use crate::sections;
use crate::view::{Budget, View};

/// Arguments of `diff`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The first trace; `-` is stdin
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// The second trace
    #[arg(value_name = "B", required_unless_present = "record")]
    pub(crate) b: Option<PathBuf>,
    /// Compare with a fresh run of this program on the golden model, instead of B; its arguments follow `--`, its
    /// machine is [machine] of --config-b
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["b", "format_b", "source_b", "elf_b"], value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,
    /// Compare only these: pcs (addresses, encodings, outcomes, instructions on one side only), regs, mem, traps,
    /// contexts, time
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', value_parser = group)]
    pub(crate) only: Vec<Group>,
    /// Compare everything but these
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', value_parser = group)]
    pub(crate) ignore: Vec<Group>,
    /// Differences that do not count: csr:NAME or reg:NAME, values of that register; mem:FIRST-LAST, accesses to these
    /// addresses and registers loaded from there; order:N, the same instructions in another order within N; sc-failure,
    /// a store-conditional that fails on one side only, and the turn of the loop that tries again
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', value_parser = tolerate)]
    pub(crate) tolerate: Vec<Tolerate>,
    /// ELF file of the program that A is of
    #[arg(long, value_name = "PATH[@ADDR]", value_hint = ValueHint::FilePath)]
    pub(crate) elf_a: Vec<String>,
    /// ELF file of the program that B is of
    #[arg(long, value_name = "PATH[@ADDR]", value_hint = ValueHint::FilePath)]
    pub(crate) elf_b: Vec<String>,
    /// Settings of A
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config_a: Option<PathBuf>,
    /// Settings of B
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config_b: Option<PathBuf>,
    /// Format of A
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) format_a: Option<FormatId>,
    /// Format of B
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) format_b: Option<FormatId>,
    /// Source of A [default: each with the one of the same name in B]
    #[arg(long, value_name = "NAME")]
    pub(crate) source_a: Option<String>,
    /// Source of B
    #[arg(long, value_name = "NAME")]
    pub(crate) source_b: Option<String>,
    /// Begin here in both traces
    #[arg(long, value_name = "POSITION")]
    pub(crate) from: Option<String>,
    /// End before the next instruction at this position in both traces
    #[arg(long, value_name = "POSITION")]
    pub(crate) to: Option<String>,
    /// Show at most N differences; all are counted [default: 20, with --json 1000]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the result as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
    /// Arguments of the program to record
    #[arg(last = true, value_name = "ARGS", requires = "record")]
    pub(crate) arguments: Vec<String>,
}

fn group(name: &str) -> Result<Group, String> {
    name.parse()
}

fn tolerate(text: &str) -> Result<Tolerate, String> {
    text.parse()
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let options = options(args)?;
    let [mut a, mut b] = [Side::open(args, 0)?, Side::open(args, 1)?];
    refuse_idle(args, &a, &b)?;
    refuse_other_architecture(&a, &b)?;
    let mut result = Comparison::default();
    let pairs = pairs(&a, &b, &mut result)?;
    let progress = Progress::new(args.common.quiet);
    for (n, pair) in pairs.into_iter().enumerate() {
        if n > 0 || pair.is_some() {
            a.pick(args, pair.as_deref())?;
            b.pick(args, pair.as_deref())?;
        }
        let (mut ours, mut theirs) = (a.read(args)?, b.read(args)?);
        let compared = diff::diff(&mut ours, &mut theirs, &options, &mut |source, _| {
            progress.count_source(source);
        });
        let compared = compared.map_err(|error| placed(&args.common, &args.a, error.into()))?;
        let bases = [ours.base, theirs.base];
        result.add(pair, compared, bases, options.limit);
        a.health.add(ours.finish());
        b.health.add(theirs.finish());
    }
    drop(progress);
    conclude(args, &mut a, &mut b, &result)
}

fn options(args: &Args) -> Result<diff::Options, Failure> {
    let mut groups = if args.only.is_empty() { Group::ALL.to_vec() } else { args.only.clone() };
    groups.retain(|group| !args.ignore.contains(group));
    groups.sort_unstable();
    groups.dedup();
    if groups.is_empty() {
        return Err(Failure::Usage("--only and --ignore leave nothing to compare".into()));
    }
    let limit = args.limit.unwrap_or(if args.json || args.junit.is_some() { 1000 } else { 20 });
    Ok(diff::Options { groups, tolerate: args.tolerate.clone(), limit, ..diff::Options::default() })
}

/// A trace, or a program that runs.
struct Side {
    path: PathBuf,
    common: Common,
    trace: Option<Trace>,
    /// The program to run, and its arguments.
    record: Option<RecordArgs>,
    meta: Meta,
    programs: Vec<Arc<Image>>,
    health: Sum,
}

/// The health of what was read of all sources.
#[derive(Default)]
struct Sum(Health);

impl Sum {
    fn add(&mut self, other: Health) {
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
    fn open(args: &Args, n: usize) -> Result<Self, Failure> {
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
    fn pick(&mut self, args: &Args, source: Option<&str>) -> Result<(), Failure> {
        if self.path.as_os_str() == "-" {
            let text = "stdin with several sources is read once only: choose one with --source";
            return Err(Failure::Usage(text.into()));
        }
        let own = if self.path == args.a { &args.source_a } else { &args.source_b };
        self.common.source = source.map(str::to_string).or_else(|| own.clone());
        self.reopen()
    }

    /// Its events, and the number of the first instruction.
    fn read(&mut self, args: &Args) -> Result<Read, Failure> {
        if let Some(record) = &self.record {
            return Ok(Read::new(Box::new(record::recorder(record)?.0), 0));
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
            return Ok(Read::new(source, 0));
        }
        let selection = Selection::range(base, end).checked().map_err(failed)?;
        Ok(Read::new(Box::new(Window::new(source, selection, None)), base))
    }

    fn format(&self) -> Option<&'static dyn Format> {
        self.trace.as_ref().map(Trace::format)
    }

    fn symbol(&self, pc: Option<u64>) -> Option<String> {
        self.programs.first()?.place(pc?)
    }
}

/// A source that keeps the health of what was read.
struct Read {
    source: Box<dyn Source>,
    health: Health,
    last: Option<Error>,
    /// Number of its first instruction.
    base: u64,
}

impl Read {
    fn new(source: Box<dyn Source>, base: u64) -> Self {
        Read { source, health: Health::default(), last: None, base }
    }

    fn finish(mut self) -> Health {
        self.health.counts.doubtful += self.source.doubtful();
        let items = self.source.census().total();
        self.health.items = (items > 0).then_some(items);
        self.health
    }
}

impl Source for Read {
    fn meta(&self) -> &Meta {
        self.source.meta()
    }

    fn inner(&self) -> Option<&dyn Source> {
        Some(&*self.source)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Source> {
        Some(&mut *self.source)
    }

    fn fill(&mut self, batch: &mut Batch) -> trackway_core::Result<bool> {
        let filled = self.source.fill(batch);
        match filled {
            Ok(_) => self.health.counts.observe(batch),
            Err(error) => self.last = Some(error),
        }
        filled
    }

    fn resync(&mut self) -> trackway_core::Result<bool> {
        let found = self.source.resync()?;
        if let Some(error) = self.last.take_if(|_| found) {
            self.health.passed(error);
        }
        Ok(found)
    }
}

/// Settings for both may concern one of them only, but not neither.
fn refuse_idle(args: &Args, a: &Side, b: &Side) -> Result<(), Failure> {
    let formats: Vec<&dyn Format> =
        [a, b].iter().filter_map(|side| side.format()).map(|format| format as _).collect();
    let used: &[&str] = if args.record.is_some() { &sections::NAMES } else { &[] };
    for (side, own) in [(a, &args.config_a), (b, &args.config_b)] {
        let Some(trace) = &side.trace else { continue };
        if own.is_some() {
            args.common.context.refuse_idle(trace.settings(), &[trace.format()], &[])?;
        } else if args.common.config.is_some() {
            args.common.context.refuse_idle(trace.settings(), &formats, used)?;
        }
    }
    Ok(())
}

fn refuse_other_architecture(a: &Side, b: &Side) -> Result<(), Failure> {
    let family = |isa: Isa| if matches!(isa, Isa::A32 | Isa::T32) { Isa::A64 } else { isa };
    let (one, other) = (a.meta.isa, b.meta.isa);
    if family(one) != family(other) && one != Isa::Other && other != Isa::Other {
        return Err(Failure::Usage(format!(
            "A is {one}, B is {other}: only one architecture can be compared"
        )));
    }
    Ok(())
}

/// The sources to compare with each other, by name; `None` where there is one on each side.
fn pairs(a: &Side, b: &Side, result: &mut Comparison) -> Result<Vec<Option<String>>, Failure> {
    let names =
        |side: &Side| if side.common.source.is_some() { Vec::new() } else { side.meta.sources.clone() };
    let (ours, theirs) = (names(a), names(b));
    match (ours.len() > 1, theirs.len() > 1) {
        (false, false) => return Ok(vec![None]),
        (true, true) => {}
        (several, _) => {
            let (side, option, list) = if several { ("A", "a", ours) } else { ("B", "b", theirs) };
            let text = format!(
                "{side} has several sources: choose one with --source-{option} ({})",
                list.join(", ")
            );
            return Err(Failure::Usage(text));
        }
    }
    for (list, others, side, other) in [(&ours, &theirs, "A", "B"), (&theirs, &ours, "B", "A")] {
        for name in list.iter().filter(|name| !others.contains(name)) {
            let what = format!("source {} of {side}", plain(name));
            let why = format!("{other} has no source of that name");
            result.report.not_compared.push(NotCompared { what, why, count: None });
        }
    }
    Ok(ours.into_iter().filter(|name| theirs.contains(name)).map(Some).collect())
}

/// The results of all sources.
#[derive(Default)]
struct Comparison {
    report: Report,
    /// Source of each difference.
    sources: Vec<Option<String>>,
}

impl Comparison {
    fn add(&mut self, source: Option<String>, report: Report, bases: [u64; 2], limit: usize) {
        let sum = &mut self.report;
        report
            .compared
            .into_iter()
            .for_each(|(group, count)| *sum.compared.entry(group).or_default() += count);
        for kind in 0..3 {
            sum.counts[kind] += report.counts[kind];
            sum.instructions[kind] += report.instructions[kind];
        }
        sum.tolerated += report.tolerated;
        for new in report.not_compared {
            match sum.not_compared.iter_mut().find(|known| (&known.what, &known.why) == (&new.what, &new.why))
            {
                Some(known) => known.count = known.count.zip(new.count).map(|(one, other)| one + other),
                None => sum.not_compared.push(new),
            }
        }
        for (error, new) in sum.errors.iter_mut().zip(report.errors) {
            *error = error.or(new);
        }
        for mut difference in report.differences {
            for (stretch, base) in [(&mut difference.a, bases[0]), (&mut difference.b, bases[1])] {
                (stretch.from, stretch.to) = (stretch.from + base, stretch.to + base);
            }
            for (excerpt, base) in difference.excerpts.iter_mut().flatten().zip(bases) {
                excerpt.batch.first_instruction += base;
            }
            if sum.differences.len() < limit {
                sum.differences.push(difference);
                self.sources.push(source.clone());
            }
        }
    }

    /// Why it is not equal, in a line.
    fn verdict(&self) -> String {
        let Report { counts, instructions, .. } = &self.report;
        if counts.iter().all(|count| *count == 0) {
            return if self.report.has_compared() {
                format!("equal: {}", self.compared())
            } else {
                "nothing was compared: the traces share nothing of what was asked for".into()
            };
        }
        let part = |kind: Kind| {
            let (count, of) = (counts[kind as usize], instructions[kind as usize]);
            let of = if of == count { String::new() } else { format!(" ({of} instructions)") };
            format!("{count} {}{of}", kind.as_str())
        };
        let nothing = if self.report.has_compared() { "" } else { "; nothing else could be compared" };
        format!("different: {}{nothing}", Kind::ALL.map(part).join(", "))
    }

    fn compared(&self) -> String {
        let list = self.report.compared.iter().filter(|(_, count)| **count > 0);
        list.map(|(group, count)| format!("{count} {}", group.plural())).collect::<Vec<_>>().join(", ")
    }
}

fn conclude(args: &Args, a: &mut Side, b: &mut Side, result: &Comparison) -> Result<Exit, Failure> {
    let report = &result.report;
    let failures: Vec<Failure> = [&*a, &*b]
        .into_iter()
        .zip(report.errors)
        .filter_map(|(side, error)| {
            Some(placed_at(&side.common, &side.path, error?, side.health.0.counts.instructions))
        })
        .collect();
    if let Some(path) = &args.junit {
        let name = format!("{} {}", a.path.display(), b.path.display());
        write_file(path, report.junit(&name).as_bytes())?;
    }
    if args.json {
        json::print(as_json(a, b, result, failures.first()))?;
    } else {
        print(&mut std::io::stdout().lock(), args, a, b, result)?;
    }
    [&*a, &*b].iter().for_each(|side| print_damage(&side.health.0));
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    let exits = [&*a, &*b].map(|side| exit_of(&side.health.0, &args.common));
    Ok(match exits {
        [Exit::Unreadable, _] | [_, Exit::Unreadable] => Exit::Unreadable,
        _ if !report.is_equal() => Exit::Found,
        [Exit::Gaps, _] | [_, Exit::Gaps] => Exit::Gaps,
        _ => Exit::Fine,
    })
}

fn as_json(a: &Side, b: &Side, result: &Comparison, ended: Option<&Failure>) -> Object {
    let report = &result.report;
    let by_kind = |counts: &[u64; 3]| -> Json {
        Kind::ALL
            .iter()
            .map(|kind| (kind.as_str().to_string(), json!(counts[*kind as usize])))
            .collect::<Object>()
            .into()
    };
    let mut object = object("diff");
    let compared: Object =
        report.compared.iter().map(|(group, count)| (key(group.plural()), json!(count))).collect();
    let not_compared: Vec<Json> = report
        .not_compared
        .iter()
        .map(|entry| json!({ "what": entry.what, "why": entry.why, "count": entry.count }))
        .collect();
    let differences = report.differences.iter().zip(&result.sources);
    let differences: Vec<Json> =
        differences.map(|(found, source)| difference(a, b, found, source.as_deref())).collect();
    object.extend([
        ("a".to_string(), json!(a.path.display().to_string())),
        ("b".to_string(), json!(b.path.display().to_string())),
        ("equal".to_string(), json!(report.is_equal())),
        ("verdict".to_string(), json!(result.verdict())),
        ("compared".to_string(), compared.into()),
        ("not_compared".to_string(), not_compared.into()),
        ("tolerated".to_string(), json!(report.tolerated)),
        ("counts".to_string(), by_kind(&report.counts)),
        ("instructions".to_string(), by_kind(&report.instructions)),
        ("differences".to_string(), differences.into()),
    ]);
    let mut health = Sum::default();
    [a, b].iter().for_each(|side| {
        health.0.errors += side.health.0.errors;
        health.0.counts.skipped += side.health.0.counts.skipped;
        health.0.first_errors.extend(side.health.0.first_errors.iter().copied());
    });
    put_errors(&mut object, &health.0, ended);
    object
}

fn difference(a: &Side, b: &Side, found: &Difference, source: Option<&str>) -> Json {
    let stretch = |side: &Side, at: &Stretch| json!({ "from": at.from, "to": at.to, "pc": at.pc.map(hex), "symbol": side.symbol(at.pc) });
    let fields: Vec<Json> = found
        .fields
        .iter()
        .map(
            |field| json!({ "field": field.name, "group": field.group.as_str(), "a": field.a, "b": field.b }),
        )
        .collect();
    let mut object = json!({
        "kind": found.kind.as_str(),
        "a": stretch(a, &found.a),
        "b": stretch(b, &found.b),
        "fields": fields,
    });
    if let Some(source) = source {
        object["source"] = json!(source);
    }
    if let Some([ours, theirs]) = &found.excerpts {
        object["context"] = json!({ "a": lines(a, ours), "b": lines(b, theirs) });
    }
    object
}

/// The instructions of an excerpt, as `dump` lists them.
fn lines(side: &Side, excerpt: &Excerpt) -> Vec<String> {
    let Some(format) = side.format().or_else(|| trackway::FORMATS.first().copied()) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (n, event) in excerpt.batch.events.iter().enumerate() {
        let mut text = Vec::new();
        let mut listing = Listing::of(&mut text, excerpt.isa, format, side.programs.clone());
        // Writing to memory cannot fail.
        let _ = listing.event(
            &excerpt.batch,
            event,
            excerpt.batch.first_instruction + n as u64,
            &mut Budget(u64::MAX),
        );
        drop(listing);
        out.extend(String::from_utf8_lossy(&text).lines().enumerate().map(|(line, text)| {
            let mark = if line == 0 && n >= excerpt.first { '>' } else { ' ' };
            format!("{mark} {}", text.trim_end())
        }));
    }
    out
}

fn print(out: &mut impl Write, args: &Args, a: &Side, b: &Side, result: &Comparison) -> std::io::Result<()> {
    let report = &result.report;
    if let Some((first, source)) = report.differences.iter().zip(&result.sources).next() {
        print_first(out, a, b, first, source.as_deref())?;
    }
    for (found, source) in report.differences.iter().zip(&result.sources) {
        writeln!(out, "{}", line(a, b, found, source.as_deref()))?;
    }
    let total: u64 = report.counts.iter().sum();
    let shown = report.differences.len() as u64;
    if total > shown {
        writeln!(out, "… and {} more (--limit N shows more)", total - shown)?;
    }
    writeln!(out, "{}", result.verdict())?;
    if total > 0 && report.has_compared() {
        writeln!(out, "compared: {}", result.compared())?;
    }
    if report.tolerated > 0 {
        writeln!(out, "tolerated: {}", report.tolerated)?;
    }
    for NotCompared { what, why, count } in &report.not_compared {
        let count = count.map_or(String::new(), |count| format!(" ({count})"));
        writeln!(out, "not compared: {what}{count}: {why}")?;
    }
    if !args.common.quiet {
        for (name, side) in [("A", a), ("B", b)] {
            writeln!(out, "{name}: {}: {}", side.path.display(), side.health.0.line())?;
        }
    }
    Ok(())
}

/// The first difference, with the instructions around it on both sides.
fn print_first(
    out: &mut impl Write,
    a: &Side,
    b: &Side,
    found: &Difference,
    source: Option<&str>,
) -> std::io::Result<()> {
    let Some([ours, theirs]) = &found.excerpts else { return Ok(()) };
    let source = source.map_or(String::new(), |name| format!(" of source {}", plain(name)));
    writeln!(out, "first difference{source}: instruction {} of A, {} of B", found.a.from, found.b.from)?;
    for (name, side, excerpt) in [("A", a, ours), ("B", b, theirs)] {
        writeln!(out, "{name}: {}", side.path.display())?;
        lines(side, excerpt).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    writeln!(out)
}

/// A difference in one line.
fn line(a: &Side, b: &Side, found: &Difference, source: Option<&str>) -> String {
    let stretch = |at: &Stretch| match at.to - at.from {
        1 => at.from.to_string(),
        0 => format!("before {}", at.from),
        _ => format!("{}..{}", at.from, at.to),
    };
    let source = source.map_or(String::new(), |name| format!("{}: ", plain(name)));
    let mut text =
        format!("{source}{:<8}  A {}  B {}", found.kind.as_str(), stretch(&found.a), stretch(&found.b));
    let (side, at) = if found.kind == Kind::Inserted { (b, &found.b) } else { (a, &found.a) };
    if let Some(pc) = at.pc {
        text += &format!("  {pc:#x}");
    }
    if let Some(place) = side.symbol(at.pc) {
        text += &format!(" <{}>", plain(&place));
    }
    for field in found.fields.iter().take(4) {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
        text += &format!("  {}: {} | {}", field.name, value(&field.a), value(&field.b));
    }
    if found.fields.len() > 4 {
        text += "  …";
    }
    text
}
