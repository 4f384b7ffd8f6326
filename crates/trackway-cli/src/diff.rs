//! `trackway diff`: two traces of any formats, aligned and compared.

mod show;
mod side;

use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use trackway::format::Format;
use trackway_core::{FormatId, Isa};
use trackway_tools::diff::{self, Group, Kind, NotCompared, Report, Tolerate};

use self::side::Side;
use crate::args::{Common, format};
use crate::exit::{Exit, Failure};
use crate::json;
use crate::output::write_file;
use crate::plain::plain;
use crate::progress::Progress;
use crate::report::{exit_of, placed, placed_at, print_damage};
use crate::sections;

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
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', value_parser = group())]
    pub(crate) only: Vec<Group>,
    /// Compare everything but these
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', value_parser = group())]
    pub(crate) ignore: Vec<Group>,
    /// Differences that do not count: reg:NAME, values of that register; csr:NAME, values of that control register and
    /// of registers it is read into; mem:FIRST-LAST, accesses to these addresses and registers loaded from there; order:N, the same instructions in another order within N; sc-failure,
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

fn group() -> impl TypedValueParser<Value = Group> {
    let names = Group::ALL.iter().map(|group| group.as_str());
    PossibleValuesParser::new(names).try_map(|name| name.parse())
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
        let [(mut ours, base_a), (mut theirs, base_b)] = [a.read(args)?, b.read(args)?];
        let compared = diff::diff(&mut ours, &mut theirs, &options, &mut |source, _| {
            progress.count_source(source);
        });
        let compared = compared.map_err(|error| placed(&args.common, &args.a, error.into()))?;
        result.add(pair, compared, [base_a, base_b], options.limit);
        a.health.add(ours.finish());
        b.health.add(theirs.finish());
    }
    drop(progress);
    result.report.forget_absent();
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
        json::print(show::as_json(a, b, result, failures.first()))?;
    } else {
        show::print(&mut std::io::stdout().lock(), args, a, b, result)?;
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
