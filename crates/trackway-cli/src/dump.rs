//! `trackway dump`: instructions, events or native items.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use trackway::{Counts, Health, Trace};
use trackway_core::{Batch, Event, EventKind, Item, Source};
use trackway_image::Image;

use crate::cli::{DumpArgs, Shape};
use crate::exit::{Exit, Failure};
use crate::listing::Listing;
use crate::open::open;
use crate::pcs::{Pcs, Runs};
use crate::position::Position;
use crate::progress::Progress;
use crate::report::{self, exit_of, placed, print_health, say};
use crate::view::{View, Window};
use crate::walk::walk;

pub(crate) fn run(args: &DumpArgs) -> Result<Exit, Failure> {
    let mut trace = open(&args.common, &args.file)?;
    if args.raw {
        return items(trace, args);
    }
    let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
    let programs = trace.programs().map_err(failed)?;
    let meta = trace.meta().clone();
    let shape = args.shape;
    let expanded = matches!(shape, Shape::Text | Shape::Pcs);
    let mut source = if expanded { trace.expanded() } else { trace.events() }.map_err(failed)?;
    let out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut view: Box<dyn View + '_> = match shape {
        _ if args.jsonl => Box::new(Lines { out, json: true, line: String::new() }),
        Shape::Events => Box::new(Lines { out, json: false, line: String::new() }),
        Shape::Text => Box::new(Listing::new(out, &trace, programs.clone())),
        Shape::Pcs => Box::new(Pcs::new(out, args.attempted, &meta, programs.clone())),
        Shape::Runs => Box::new(Runs::new(out, &meta)),
    };
    let result = show(args, &mut *source, &mut *view, &programs);
    // Events before an error are shown before it.
    view.end()?;
    drop(view);
    let health = result?;
    if args.shape == Shape::Text && !args.jsonl || health.first_error.is_some() {
        print_health(&health, &args.common);
    }
    Ok(exit_of(&health, &args.common))
}

fn show(
    args: &DumpArgs,
    source: &mut dyn Source,
    view: &mut dyn View,
    programs: &[Arc<Image>],
) -> Result<Health, Failure> {
    let read = |text: &Option<String>| text.as_deref().map(|text| Position::read(text, programs)).transpose();
    let (from, to) = (read(&args.from)?, read(&args.to)?);
    let skip = match from {
        Some(Position::Number(n)) => n,
        _ => args.skip,
    };
    if skip > 0 {
        source.seek(skip).map_err(|error| placed(&args.common, &args.file, error.into()))?;
    }
    let limit = args.limit.unwrap_or(u64::MAX);
    // Where `--from` is searched for, the window begins when it is found.
    let mut window = match from {
        None | Some(Position::Number(_)) => Some(Window { from: skip, to: skip.saturating_add(limit) }),
        Some(_) => None,
    };
    let mut begun = false;
    let (mut shown, mut reached) = (0, 0);
    let progress = Progress::beside_output(args.common.quiet);
    let (health, walked) = walk(&args.common, &args.file, source, &progress, |batch| {
        let mut number = batch.first_instruction;
        for event in &batch.events {
            if window.is_none() && from.is_some_and(|from| from.is_reached(event, number)) {
                window = Some(Window { from: number, to: number.saturating_add(limit) });
            }
            let instructions = event.kind.instructions();
            if let Some(window) = window {
                if begun && to.is_some_and(|to| to.is_reached(event, number)) {
                    return Ok(ControlFlow::Break(()));
                }
                let wanted = match instructions {
                    0 => number >= window.from && (number < window.to || number == 0),
                    n => number + n > window.from && number < window.to,
                };
                if wanted {
                    view.event(batch, event, number, window)?;
                    begun |= instructions > 0;
                    shown += (number + instructions).min(window.to)
                        - number.max(window.from).min(number + instructions);
                }
            }
            number += instructions;
        }
        reached = number.max(reached);
        let ended = window.is_some_and(|window| number >= window.to);
        Ok(if ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    walked?;
    let never = window.is_none_or(|window| !begun && reached <= window.from);
    if let (true, Some(from)) = (never, &args.from) {
        return Err(Failure::Usage(format!("{}: the trace never reaches {from}", args.file.display())));
    }
    // Batches are read whole; the health is that of the window.
    Ok(Health { counts: Counts { instructions: shown, ..health.counts }, ..health })
}

/// One line per event: text or JSON.
struct Lines<W> {
    out: W,
    json: bool,
    line: String,
}

impl<W: Write> View for Lines<W> {
    fn event(&mut self, batch: &Batch, event: &Event, number: u64, _: Window) -> std::io::Result<()> {
        if self.json {
            let mut object = Map::new();
            let mut fields = Map::new();
            let kind = batch.event_fields(event, &mut |name, value| {
                fields.insert(name.to_string(), json!(value));
            });
            object.insert("event".into(), json!(kind));
            object.insert("offset".into(), json!(event.offset));
            if batch.source != 0 {
                object.insert("source".into(), json!(batch.source));
            }
            if matches!(event.kind, EventKind::Step(_) | EventKind::Run(_)) {
                object.insert("number".into(), json!(number));
            }
            object.append(&mut fields);
            return writeln!(self.out, "{}", Json::Object(object));
        }
        self.line.clear();
        batch.write_line(event, &mut self.line);
        writeln!(self.out, "{}", self.line)
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// `--raw`: native items.
fn items(mut trace: Trace, args: &DumpArgs) -> Result<Exit, Failure> {
    let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
    let mut items = trace.items().map_err(failed)?;
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
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
    while number < last {
        match items.next(&mut item) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                out.flush()?;
                match items.resync() {
                    Ok(Some(skipped)) if !args.common.strict => {
                        health.passed(error);
                        health.counts.gaps += 1;
                        health.counts.skipped += skipped;
                        writeln!(out, "{:#010x} -- {error}; {skipped} bytes skipped", error.offset)?;
                        continue;
                    }
                    _ => return Err(report::placed(&args.common, &args.file, error.into())),
                }
            }
        }
        if number >= args.skip {
            if args.jsonl {
                let mut object = json!({
                    "item": item.name, "number": number, "offset": item.offset, "length": item.len, "text": item.text,
                });
                if !item.note.is_empty() {
                    object["note"] = json!(item.note);
                }
                writeln!(out, "{object}")?;
            } else {
                let space = if item.text.is_empty() { "" } else { " " };
                writeln!(out, "{:#010x} {}{space}{}", item.offset, item.name, item.text)?;
                if !item.note.is_empty() {
                    writeln!(out, "{:>10} {}", number + 1, item.note)?;
                }
            }
        }
        number += 1;
    }
    out.flush()?;
    if let Some(error) = health.first_error {
        say!("damaged: {error}");
    }
    Ok(exit_of(&health, &args.common))
}
