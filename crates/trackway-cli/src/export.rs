//! `trackway export`: a trace as tables, or as a trace for a simulator.

mod file;
mod folder;
mod simulator;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::json;
use trackway::Health;
use trackway_columns::{Ended, Integers, Selection, Table};

use crate::analyse::Input;
use crate::args::Common;
use crate::convert::is_same;
use crate::exit::{Exit, Failure};
use crate::json::{Object, object, print};
use crate::report::{exit_of, placed_at, print_damage, say};

/// Shapes of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// Apache Parquet
    Parquet,
    /// Apache Arrow IPC: the file format, or the stream format on stdout
    Arrow,
    /// Comma-separated values
    Csv,
    /// One JSON object per row
    Jsonl,
    /// A trace for ChampSim, 64 bytes per instruction
    Champsim,
    /// A trace for ChampSim, in the layout of its CloudSuite traces
    ChampsimCloudsuite,
}

impl Shape {
    /// The ends of names.
    const ENDS: [(&'static str, Shape); 4] =
        [("parquet", Shape::Parquet), ("arrow", Shape::Arrow), ("csv", Shape::Csv), ("jsonl", Shape::Jsonl)];

    fn end(self) -> &'static str {
        Self::ENDS.iter().find(|(_, shape)| *shape == self).map_or("", |(end, _)| end)
    }

    fn is_text(self) -> bool {
        matches!(self, Shape::Csv | Shape::Jsonl)
    }
}

/// Unsigned numbers, for engines that have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mapping {
    /// As they are
    #[default]
    Unsigned,
    /// Signed with the same bits, and text without dictionaries: for Spark
    Signed,
    /// 64-bit ones as decimal(20,0)
    Decimal,
}

impl From<Mapping> for Integers {
    fn from(mapping: Mapping) -> Self {
        match mapping {
            Mapping::Unsigned => Integers::Unsigned,
            Mapping::Signed => Integers::Signed,
            Mapping::Decimal => Integers::Decimal,
        }
    }
}

/// Arguments of `export`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) input: Input,
    /// File (.parquet, .arrow, .csv, .jsonl), folder (ends with /), or `-`: an Arrow stream on stdout
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Tables to write [default: instructions into a file, all into a folder]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tables: Vec<String>,
    /// Columns to write, NAME or TABLE.NAME [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,
    /// Shape of the output [default: by the end of its name; parquet in a folder]
    #[arg(long = "as", value_name = "SHAPE")]
    shape: Option<Shape>,
    /// How unsigned numbers are written
    #[arg(long, value_name = "HOW", default_value = "unsigned")]
    integers: Mapping,
    /// Parts of each table in a folder [default: by the size of the trace]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    parts: Option<u32>,
    /// Refuse to write more than this as CSV or JSON lines
    #[arg(long, value_name = "MB", default_value_t = 1024)]
    max_size: u64,
    /// Where to write the ledger of a simulator's trace; JSON when it ends in .json
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Args {
    fn common(&self) -> &Common {
        &self.input.common
    }

    fn is_folder(&self) -> bool {
        let text = self.output.as_os_str().as_encoded_bytes();
        text.ends_with(b"/") || self.output.is_dir()
    }

    /// The shape, by the option or the name.
    fn shape(&self) -> Result<Shape, Failure> {
        if let Some(shape) = self.shape {
            return Ok(shape);
        }
        if self.is_folder() {
            return Ok(Shape::Parquet);
        }
        if self.output.as_os_str() == "-" {
            return Ok(Shape::Arrow);
        }
        let end = self.output.extension().and_then(|end| end.to_str()).unwrap_or_default();
        let found = Shape::ENDS.iter().find(|(known, _)| *known == end).map(|(_, shape)| *shape);
        found.ok_or_else(|| {
            let text = "use .parquet, .arrow, .csv or .jsonl, a folder (DIR/), or --as SHAPE";
            Failure::Usage(format!("{}: no shape has this name; {text}", self.output.display()))
        })
    }

    /// The tables and columns that are asked for.
    fn selection(&self) -> Result<Selection, Failure> {
        let tables = match self.tables.is_empty() && !self.is_folder() {
            true => vec!["instructions".to_string()],
            false => self.tables.clone(),
        };
        Selection::new(&tables, &self.columns).map_err(|error| Failure::Usage(error.to_string()))
    }

    /// Refuses options that mean nothing for the shape.
    fn refuse_idle(&self, shape: Shape) -> Result<(), Failure> {
        let is_simulator = matches!(shape, Shape::Champsim | Shape::ChampsimCloudsuite);
        let numbers = matches!(shape, Shape::Parquet | Shape::Arrow);
        let named = [
            ("--tables", !self.tables.is_empty(), !is_simulator, "a simulator's trace has no tables"),
            ("--columns", !self.columns.is_empty(), !is_simulator, "a simulator's trace has no columns"),
            ("--integers", self.integers != Mapping::Unsigned, numbers, "it is for Parquet and Arrow"),
            ("--parts", self.parts.is_some(), self.is_folder() && !is_simulator, "it is for a folder"),
            (
                "--ledger",
                self.ledger.is_some(),
                is_simulator,
                "it is for --as champsim: tables keep what they name",
            ),
        ];
        match named.iter().find(|(_, given, means, _)| *given && !means) {
            Some((name, .., why)) => Err(Failure::Usage(format!("{name}: {why}"))),
            None => Ok(()),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let shape = args.shape()?;
    args.refuse_idle(shape)?;
    if is_same(&args.input.file, &args.output) {
        return Err(Failure::Usage("input and output are the same file".into()));
    }
    match shape {
        Shape::Champsim | Shape::ChampsimCloudsuite => return simulator::run(args, shape),
        Shape::Parquet | Shape::Arrow if !cfg!(feature = "columns") => {
            let text = "this program was built without Arrow and Parquet";
            let advice = "build it with `cargo build --release -p trackway-cli --features columns`, or export .csv or .jsonl";
            return Err(Failure::Usage(format!("{}: {text}: {advice}", args.output.display())));
        }
        _ => {}
    }
    let selection = args.selection()?;
    if args.is_folder() {
        return folder::run(args, shape, &selection);
    }
    let tables: Vec<&Table> = selection.tables().collect();
    if tables.len() > 1 && shape != Shape::Jsonl {
        let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        let text = format!(
            "{}: one table per file, and {} are asked for: name a folder, DIR/",
            args.output.display(),
            names.join(", ")
        );
        return Err(Failure::Usage(text));
    }
    file::run(args, shape, &selection)
}

/// Rows and files of a table.
struct Written {
    table: &'static Table,
    rows: u64,
    files: u64,
}

/// Ends the command: prints what was written, damage, and the exit code.
fn conclude(
    args: &Args,
    outputs: &[String],
    written: &[Written],
    uncoded: u64,
    health: &Health,
) -> Result<Exit, Failure> {
    if args.json {
        let mut object: Object = object("export");
        let table = |one: &Written| json!({ "name": one.table.name, "rows": one.rows, "files": one.files });
        object.insert("outputs".into(), json!(outputs));
        object.insert("tables".into(), written.iter().map(table).collect());
        object.insert("instructions_without_code".into(), json!(uncoded));
        crate::json::put_errors(&mut object, health, None);
        print(object)?;
    } else if !args.common().quiet {
        for Written { table, rows, files } in written {
            let files = if *files > 1 { format!(" in {files} files") } else { String::new() };
            say!("{}: {rows} rows{files}", table.name);
        }
    }
    if uncoded > 0 {
        say!("{uncoded} instructions have no row: their code is not known; name the program with --elf");
    }
    print_damage(health);
    if !args.common().quiet && !args.json {
        say!("{}", health.line());
    }
    Ok(exit_of(health, args.common()))
}

/// The end of the reading, as a failure.
fn failure(args: &Args, health: &Health, ended: Ended) -> Failure {
    match ended {
        Ended::Error(error) => placed_at(args.common(), &args.input.file, error, health.counts.instructions),
        Ended::Strict(error) => Failure::Strict(format!("{}: {error}", args.input.file.display())),
        Ended::Caller(error) => written(args, &args.output, error),
    }
}

/// True if damage ended the reading, not the caller.
fn is_damage(ended: &Result<(), Ended>) -> bool {
    matches!(ended, Err(Ended::Error(error)) if error.kind != trackway_core::ErrorKind::Cancelled)
}

/// A failure to write.
fn written(args: &Args, path: &Path, error: std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::FileTooLarge {
        let text = format!("would have more than {} MB", args.max_size);
        let advice = "choose columns with --columns, a part with --from and --to, .parquet, or allow it with --max-size";
        return Failure::Usage(format!("{} {text}: {advice}", path.display()));
    }
    Failure::Written { path: path.into(), error }
}
