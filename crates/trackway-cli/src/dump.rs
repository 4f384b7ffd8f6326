//! `trackway dump`: instructions, events or native items.

mod addresses;
mod lines;
mod part;

use std::io::{BufWriter, Write};

use serde_json::json;
use trackway::{Health, Trace};
use trackway_core::Item;

use crate::args::{DumpArgs, Shape};
use crate::colours::Colours;
use crate::event_json;
use crate::exit::{Exit, Failure};
use crate::json::{Object, object, put_errors, write_line};
use crate::listing::Listing;
use crate::open::open;
use crate::pager;
use crate::pcs::{Pcs, Runs};
use crate::plain::plain;
use crate::report::{self, exit_of, placed, print_health, say};
use crate::view::View;
use lines::EventLines;
use part::Part;

pub(crate) fn run(args: &DumpArgs) -> Result<Exit, Failure> {
    if args.attempted && args.shape != Shape::Pcs {
        let text = "--attempted is for --as pcs: the other shapes show attempted instructions anyway";
        return Err(Failure::Usage(text.into()));
    }
    let mut trace = open(&args.common, &args.file)?;
    if args.raw {
        return items(trace, args);
    }
    let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
    let programs = trace.programs().map_err(failed)?;
    let (mut part, mut source) = Part::new(args, &mut trace, &programs)?;
    let (colours, isa, format) = (Colours::of_stdout(), trace.meta().isa, trace.format());
    let new_view = || -> Box<dyn View> {
        match args.shape {
            Shape::Pcs => Box::new(Pcs::new(args.attempted, args.jsonl)),
            Shape::Runs => Box::new(Runs::new(args.jsonl, isa)),
            _ if args.jsonl => Box::new(event_json::Lines::new(isa, programs.clone())),
            Shape::Events => Box::new(EventLines::new(colours)),
            Shape::Text => Box::new(Listing::new(isa, format, programs.clone(), colours)),
        }
    };
    let mut out = pager::stdout(args.common.no_pager);
    let shown = part.show(&mut *source, &new_view, &mut *out)?;
    let (mut health, ended) = shown;
    health.doubt(&trace.facts());
    if args.jsonl && (health.errors > 0 || health.is_unfollowed() || ended.is_err()) {
        print_end(&mut out, &health, ended.as_ref().err())?;
    }
    drop(out);
    pager::wait();
    if let (Err(failure), true) = (&ended, args.jsonl) {
        // The stream has its end already.
        return Ok(report::failure(failure, ""));
    }
    ended?;
    if args.shape == Shape::Text && !args.jsonl || health.errors > 0 {
        print_health(&health, &args.common);
    }
    Ok(exit_of(&health, &args.common))
}

/// The last object of a stream in which something was wrong.
fn print_end(out: &mut impl Write, health: &Health, ended: Option<&Failure>) -> std::io::Result<()> {
    let mut end = object("end");
    put_errors(&mut end, health, ended);
    write_line(out, &end.into())?;
    out.flush()
}

/// `--raw`: native items.
fn items(mut trace: Trace, args: &DumpArgs) -> Result<Exit, Failure> {
    let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
    let mut items = trace.items().map_err(failed)?;
    let colours = Colours::of_stdout();
    let (Colours { faint, name, bad, .. }, are_on) = (colours, colours.are_on());
    let mut out = BufWriter::with_capacity(1 << 16, pager::stdout(args.common.no_pager));
    let mut item = Item::default();
    let mut health = Health::default();
    let last = args.skip.saturating_add(args.limit.unwrap_or(u64::MAX));
    if args.common.verbose {
        items.annotate();
    }
    let mut number = match args.skip {
        0 => 0,
        skip => items.seek(skip).map_err(|error| placed(&args.common, &args.file, error.into()))?,
    };
    let mut ended = Ok(());
    while number < last {
        match items.next(&mut item) {
            Ok(true) => {}
            Ok(false) => {
                if args.skip > 0 && number <= args.skip {
                    let text = format!("{}: there are {number} items", args.file.display());
                    ended = Err(Failure::Usage(text));
                }
                break;
            }
            Err(error) => {
                out.flush()?;
                match items.resync() {
                    Ok(Some(skipped)) if !args.common.strict => {
                        health.passed(error);
                        health.counts.gaps += 1;
                        health.counts.skipped += skipped;
                        if !args.jsonl {
                            let offset = error.offset;
                            writeln!(
                                out,
                                "{faint}{offset:#010x}{faint:#} {bad}-- {error}{bad:#}; {skipped} bytes skipped"
                            )?;
                        }
                        continue;
                    }
                    _ => {
                        ended = Err(placed(&args.common, &args.file, error.into()));
                        break;
                    }
                }
            }
        }
        if number >= args.skip {
            if args.jsonl {
                write_line(&mut out, &item_object(&item, number).into())?;
            } else {
                let space = if item.text.is_empty() { "" } else { " " };
                let (offset, word, text) = (item.offset, &item.name, plain(&item.text));
                if are_on {
                    writeln!(out, "{faint}{offset:#010x}{faint:#} {name}{word}{name:#}{space}{text}")?;
                } else {
                    writeln!(out, "{offset:#010x} {word}{space}{text}")?;
                }
                if !item.note.is_empty() {
                    writeln!(out, "{:>10} {}", number + 1, plain(&item.note))?;
                }
            }
        }
        number += 1;
    }
    if args.jsonl && (health.errors > 0 || health.is_unfollowed() || ended.is_err()) {
        print_end(&mut out, &health, ended.as_ref().err())?;
    }
    out.flush()?;
    drop(out);
    pager::wait();
    if let (Err(failure), true) = (&ended, args.jsonl) {
        return Ok(report::failure(failure, "dump --raw"));
    }
    ended?;
    if let Some(passed) = health.first_errors.first() {
        say!("damaged: {}", passed.error);
    }
    Ok(exit_of(&health, &args.common))
}

fn item_object(item: &Item, number: u64) -> Object {
    let mut object = object("item");
    object.extend([
        ("item".to_string(), json!(item.name)),
        ("number".to_string(), json!(number)),
        ("offset".to_string(), json!(item.offset)),
        ("length".to_string(), json!(item.len)),
        ("text".to_string(), json!(item.text)),
    ]);
    if !item.note.is_empty() {
        object.insert("note".into(), json!(item.note));
    }
    object
}
