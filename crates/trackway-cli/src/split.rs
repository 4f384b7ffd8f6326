//! `trackway split`: a trace as several files, or as work items.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use trackway::cut::{self, WorkItem};
use trackway::format::When;

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::json::{object, print, write_line};
use crate::open::{open, open_to_write};
use crate::report::{placed, say};

/// Arguments of `split`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Folder for the parts
    #[arg(value_name = "DIR", required_unless_present = "plan", conflicts_with = "plan")]
    folder: Option<PathBuf>,
    /// How many parts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    parts: u32,
    /// Print work items as JSON lines instead: `trackway stats --item` runs one
    #[arg(long)]
    plan: bool,
    /// One JSON object
    #[arg(long, conflicts_with = "plan")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.plan {
        return plan(args);
    }
    let trace = open_to_write(&args.common, &args.input, None)?;
    let settings = args.common.context.write_settings(trace.settings(), trace.format())?;
    let Some(folder) = &args.folder else { return Err(Failure::Usage("split needs a folder".into())) };
    let split = cut::split(&trace, folder, args.parts as usize, &settings)
        .map_err(|error| placed(&args.common, &args.input, error))?;
    if let Some(why) = split.why.as_ref().filter(|_| !args.common.quiet) {
        say!("{}: {why}", args.input.display());
    }
    let paths: Vec<String> = split.parts.iter().map(|path| path.display().to_string()).collect();
    if args.json {
        let mut object = object("split");
        object.insert("parts".into(), json!(paths));
        object.insert("why".into(), json!(split.why));
        print(object)?;
    } else {
        let mut out = std::io::stdout().lock();
        paths.iter().try_for_each(|path| writeln!(out, "{path}"))?;
    }
    Ok(Exit::Fine)
}

/// Prints the work items, one JSON object per line.
fn plan(args: &Args) -> Result<Exit, Failure> {
    let common = &args.common;
    let trace = open(common, &args.input)?;
    let plan = cut::plan(&trace, args.parts as usize).map_err(|error| placed(common, &args.input, error))?;
    if let Some(why) = plan.why.as_ref().filter(|_| !common.quiet) {
        say!("{}: {why}", args.input.display());
    }
    let mut options = Vec::new();
    for (flag, value) in common.context.flags.iter().filter(|(flag, _)| flag.when == When::Reading) {
        let value = serde_json::to_value(value).map_err(|error| Failure::Usage(error.to_string()))?;
        options.push((flag.name.to_string(), value));
    }
    let mut out = std::io::stdout().lock();
    for item in plan.items {
        let item = WorkItem {
            only: common.source.clone(),
            elf: common.elf.clone(),
            image: common.image.clone(),
            config: common.config.as_ref().map(|path| path.display().to_string()),
            options: options.clone(),
            ..item
        };
        let mut line = object("work-item");
        if let Ok(Json::Object(item)) = serde_json::to_value(&item) {
            line.extend(item);
        }
        write_line(&mut out, &Json::Object(line))?;
    }
    Ok(Exit::Fine)
}
