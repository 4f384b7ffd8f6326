//! `trackway simpoint`: intervals that represent a whole trace.

use std::fmt::Write as _;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use trackway::cut::Selection;
use trackway::io::{FileError, Target};
use trackway_core::Observer;
use trackway_tools::simpoint::{Estimate, Interval, Intervals, Point, choose, estimates};

use crate::analyse::{Analysed, Input};
use crate::args::ConvertArgs;
use crate::convert;
use crate::exit::{Exit, Failure};
use crate::json::{object, put_errors};
use crate::output::write_file;
use crate::progress::Progress;
use crate::report::placed;
use crate::walk::{checked_program, walk};

/// Arguments of `simpoint`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The method of SimPoint 3: vectors of executed blocks, projected to 15 dimensions, clustered by k-means; the smallest
number of clusters, up to the square root of that of the intervals, whose Bayesian information criterion reaches 90 %
of its range. The same trace has the same points.
Shares of instructions by class are compared with those of the whole trace: how far they are off is printed.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Instructions of an interval
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    interval: u64,
    /// At most this many points
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1000))]
    max_points: u32,
    /// Write X.bb, X.simpoints and X.weights in SimPoint's formats
    #[arg(short, long, value_name = "X")]
    output: Option<PathBuf>,
    /// Refuse vectors (X.bb) of more than this
    #[arg(long, value_name = "MB", default_value_t = 1024, requires = "output")]
    max_size: u64,
    /// Write the chosen intervals as traces into this folder
    #[arg(long, value_name = "DIR")]
    slices: Option<PathBuf>,
    /// Instructions before the interval in a slice [default: as many as an interval has]
    #[arg(long, value_name = "N", requires = "slices")]
    warm_up: Option<u64>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Chooses points.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let analysed = intervals(args)?;
    let intervals = &analysed.result;
    let points = choose(intervals, args.max_points as usize);
    if let Some(prefix) = &args.output {
        let numbered = || points.iter().enumerate();
        let chosen = numbered().map(|(n, point)| format!("{} {n}\n", point.interval));
        let weights = numbered().map(|(n, point)| format!("{:.6} {n}\n", point.weight));
        write_file(&with(prefix, "simpoints"), chosen.collect::<String>().as_bytes())?;
        write_file(&with(prefix, "weights"), weights.collect::<String>().as_bytes())?;
    }
    let mut shown = Shown { args, first: analysed.first, intervals, points: &points, slices: Vec::new() };
    shown.write_slices()?;
    if args.json {
        let mut object = object("simpoint");
        object.insert("file".into(), json!(args.input.file.display().to_string()));
        shown.json(&mut object);
        put_errors(&mut object, &analysed.health, analysed.ended.as_ref().err());
        crate::json::print(object)?;
    } else {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}{}", shown.text(), analysed.health.line())?;
    }
    analysed.end(&args.input.common)
}

/// `prefix` with an extension after it, whatever it ends in.
fn with(prefix: &Path, extension: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!(".{extension}"));
    name.into()
}

/// Cuts the trace into intervals; their vectors are written on the way.
fn intervals(args: &Args) -> Result<Analysed<Vec<Interval>>, Failure> {
    let (input, common) = (&args.input, &args.input.common);
    let path = args.output.as_ref().map(|prefix| with(prefix, "bb"));
    let written = |error: FileError| Failure::Written { path: error.path, error: error.error };
    let target = path.as_deref().map(Target::new);
    let mut output = target.as_ref().map(Target::create).transpose().map_err(written)?;
    let (mut failed, mut left) = (None, args.max_size.saturating_mul(1_000_000));
    let analysed = input.analyse(|trace, source, programs| {
        let isa = trace.meta().isa;
        let mut checked = checked_program(isa, programs);
        if let Err(error) = trace.refuse_several() {
            return (Vec::new(), checked, Default::default(), Err(placed(common, &input.file, error)));
        }
        let mut row = |blocks: &[(u32, u64)]| {
            let Some(output) = &mut output else { return };
            let mut line = String::from("T");
            for (id, count) in blocks {
                // Writing to a string cannot fail.
                let _ = write!(line, ":{}:{count} ", id + 1);
            }
            line.push('\n');
            left = left.checked_sub(line.len() as u64).unwrap_or_else(|| {
                failed.get_or_insert(std::io::ErrorKind::FileTooLarge.into());
                0
            });
            if failed.is_some() {
                return;
            }
            if let Err(error) = output.as_write().write_all(line.as_bytes()) {
                failed.get_or_insert(error);
            }
        };
        let mut intervals = Intervals::new(isa, programs, args.interval);
        let progress = Progress::new(common.quiet);
        let (health, ended) = walk(common, &input.file, source, &progress, |batch, _| {
            intervals.observe(batch, &mut row);
            checked.observe(batch);
            Ok(ControlFlow::Continue(()))
        });
        (intervals.finish(&mut row), checked, health, ended)
    })?;
    let analysed = analysed.unless(|intervals| intervals.is_empty(), input)?;
    if let (Some(target), Some(mut output), Some(path)) = (target, output, path) {
        let flushed = failed.map_or_else(|| output.as_write().flush(), Err);
        flushed.map_err(|error| match error.kind() {
            std::io::ErrorKind::FileTooLarge => Failure::Usage(format!(
                "{} would have more than {} MB: longer intervals make it smaller, or allow it with --max-size",
                path.display(),
                args.max_size
            )),
            _ => Failure::Written { path, error },
        })?;
        drop(output);
        target.commit().map_err(written)?;
    }
    Ok(analysed)
}

/// The points, as they are shown.
struct Shown<'a> {
    args: &'a Args,
    /// Number of the first instruction.
    first: u64,
    intervals: &'a [Interval],
    points: &'a [Point],
    /// File of each point, and the instructions in it before the interval.
    slices: Vec<(PathBuf, u64)>,
}

impl Shown<'_> {
    fn write_slices(&mut self) -> Result<(), Failure> {
        let Some(folder) = &self.args.slices else { return Ok(()) };
        let input = &self.args.input;
        std::fs::create_dir_all(folder).map_err(|error| Failure::Written { path: folder.clone(), error })?;
        let extension = input.file.extension().map_or(String::new(), |end| format!(".{}", end.display()));
        for (n, point) in self.points.iter().enumerate() {
            let interval = &self.intervals[point.interval];
            let start = self.first + interval.start;
            let from = start.saturating_sub(self.args.warm_up.unwrap_or(self.args.interval));
            let output = folder.join(format!("point-{n:02}{extension}"));
            let mut common = input.common.clone();
            common.quiet = true;
            let convert = ConvertArgs {
                input: input.file.clone(),
                output: output.clone(),
                into: None,
                from: vec![from.to_string()],
                to: vec![(start + interval.instructions).to_string()],
                ledger: None,
                prove: false,
                no_prove: false,
                keep_partial: false,
                json: false,
                common,
            };
            convert::run_part(&convert, "slice", Selection::default())?;
            self.slices.push((output, start - from));
        }
        Ok(())
    }

    fn estimates(&self) -> Vec<(&'static str, Estimate)> {
        let mut estimates: Vec<_> = estimates(self.intervals, self.points).into_iter().collect();
        estimates.sort_by(|(a, x), (b, y)| y.whole.total_cmp(&x.whole).then_with(|| a.cmp(b)));
        estimates
    }

    fn json(&self, object: &mut crate::json::Object) {
        let of_point = |(n, point): (usize, &Point)| {
            let interval = &self.intervals[point.interval];
            let slice = self.slices.get(n);
            json!({
                "interval": point.interval, "from": self.first + interval.start,
                "to": self.first + interval.start + interval.instructions,
                "weight_per_million": millionths(point.weight), "intervals": point.intervals, "gaps": interval.gaps,
                "slice": slice.map(|(path, _)| path.display().to_string()), "warm_up": slice.map(|(_, n)| n),
            })
        };
        let of_estimate = |(name, estimate): (&'static str, Estimate)| {
            let [whole, weighted] = [estimate.whole, estimate.weighted].map(millionths);
            json!({ "name": name, "whole_per_million": whole, "weighted_per_million": weighted })
        };
        let points: Json = self.points.iter().enumerate().map(of_point).collect();
        let estimates: Json = self.estimates().into_iter().map(of_estimate).collect();
        object.extend([
            ("interval".to_string(), json!(self.args.interval)),
            ("intervals".to_string(), json!(self.intervals.len())),
            ("points".to_string(), points),
            ("estimates".to_string(), estimates),
        ]);
    }

    fn text(&self) -> String {
        let mut out = format!(
            "{} intervals of {} instructions, {} points\n{:>10} {:>14} {:>14} {:>9} {:>10}\n",
            self.intervals.len(),
            self.args.interval,
            self.points.len(),
            "interval",
            "from",
            "to",
            "weight",
            "represents"
        );
        // Writing to a string cannot fail.
        for (n, point) in self.points.iter().enumerate() {
            let interval = &self.intervals[point.interval];
            let from = self.first + interval.start;
            let gaps =
                if interval.gaps > 0 { format!("  {} gaps in it", interval.gaps) } else { String::new() };
            let slice = self.slices.get(n).map_or(String::new(), |(path, warm_up)| {
                format!("  {}, {warm_up} before it", path.display())
            });
            let _ = writeln!(
                out,
                "{:>10} {from:>14} {:>14} {:>8.2}% {:>10}{gaps}{slice}",
                point.interval,
                from + interval.instructions,
                100.0 * point.weight,
                point.intervals,
            );
        }
        let _ = writeln!(out, "share of instructions       whole   weighted      error");
        for (name, Estimate { whole, weighted }) in self.estimates() {
            let [whole, weighted] = [100.0 * whole, 100.0 * weighted];
            let error = weighted - whole;
            let _ = writeln!(out, "  {name:<20} {whole:>9.3}% {weighted:>9.3}% {error:>+9.3}%");
        }
        out
    }
}

/// Six digits of a share; numbers of JSON are whole.
fn millionths(share: f64) -> u64 {
    (share * 1e6).round() as u64
}
