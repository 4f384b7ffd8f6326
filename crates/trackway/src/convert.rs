//! A trace in another format, with the ledger of what was lost and the proof of it.

use std::path::Path;

use trackway_core::{
    Ahead, Batch, Context, Contexts, Counting, Counts, ErrorKind, Event, EventKind, Fact, Fate, InTurn,
    Ledger, Mark, MarkKind, Meta, Observer, Pool, Source,
};
use trackway_format::{Carried, Error, Format, Program, Result, Settings, When, Writing};
use trackway_io::Target;

use crate::conversion::{Conversion, Written};
use crate::expand::Expander;
use crate::formats::{for_output, insert_name};
use crate::groups::{Before, read_in_groups};
use crate::health::{Ended, Health};
use crate::machine::Machine;
use crate::program_check::ProgramCheck;
use crate::proof::{self, Prove};
use crate::slice::{Provenance, Selection, Window};
use crate::trace::{Options, Trace};

/// How to convert.
#[derive(Clone, Default)]
pub struct ConvertOptions {
    /// Output format; without it the extension of the output decides, else the format of the input.
    pub into: Option<&'static dyn Format>,
    /// Settings of the output; without them those of the input.
    pub settings: Option<Settings>,
    /// Fail on damage and refuse losses.
    pub strict: bool,
    /// Whether the output is read back and compared.
    pub prove: Prove,
    /// Convert only this part, and write down where it is from.
    pub part: Option<(Selection, Provenance)>,
}

impl std::fmt::Debug for ConvertOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ConvertOptions(into {:?}, strict {})", self.into.map(|into| into.id()), self.strict)
    }
}

/// Writes `trace` to `to`. The same format is copied item by item; another one goes through events. Where the target holds
/// one source and the trace has several, each gets a file of its own, `OUT.NAME.ext`.
///
/// ```
/// # fn main() -> trackway::Result<()> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/stf/sort/trace.stf");
/// # let to = std::env::temp_dir().join(format!("trackway-doc-{}.tv", std::process::id()));
/// let mut trace = trackway::Trace::open(path)?;
/// let conversion = trackway::convert(&mut trace, &to, &Default::default())?;
/// print!("{}", conversion.ledger);
/// assert!(conversion.ledger.is_lossy()); // tandem holds no comments
/// # std::fs::remove_file(to).unwrap();
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Besides those of reading and writing: [`Error::Unproved`] where the output does not hold what the ledger says. Nothing
/// is written then.
pub fn convert(trace: &mut Trace, to: impl AsRef<Path>, options: &ConvertOptions) -> Result<Conversion> {
    let target = Target::new(to.as_ref());
    let conversion = convert_with(trace, &target, options, |_, _| {})?;
    if conversion.proved == Some(false) {
        return Err(Error::Unproved(conversion.reasons.join("; ")));
    }
    conversion.commit()?;
    Ok(conversion)
}

/// As [`convert`], for a caller that looks at the result before it [commits](Conversion::commit) it, with a call after each
/// batch for progress.
pub fn convert_with(
    trace: &mut Trace,
    target: &Target,
    options: &ConvertOptions,
    progress: impl FnMut(&dyn Source, &Health) + Send,
) -> Result<Conversion> {
    let by_name = || target.path.as_deref().and_then(|path| for_output(trace.formats(), path));
    let into = options.into.or_else(by_name).unwrap_or(trace.format());
    let settings = options.settings.clone().unwrap_or_else(|| trace.settings().clone());
    if options.prove == Prove::Always {
        proof::refuse(trace, target)?;
    }
    let mut conversion = if options.part.is_none()
        && into.id() == trace.format().id()
        && !needs_events(into, &settings, trace.settings())
    {
        copy(trace, target, &settings)?
    } else {
        lower(events_of(trace, into, options)?, target, into, &settings, options, progress)?
    };
    conversion.health.iter_mut().for_each(|health| health.doubt(&trace.facts()));
    let mut original = || selected(&mut trace.reopen()?, into, options);
    add_proof(&mut conversion, trace, into, &settings, options, &mut original)?;
    Ok(conversion)
}

/// Proves a conversion, where its input was read to the end.
fn add_proof(
    conversion: &mut Conversion,
    trace: &Trace,
    into: &'static dyn Format,
    settings: &Settings,
    options: &ConvertOptions,
    original: &mut dyn FnMut() -> Result<Box<dyn Source>>,
) -> Result<()> {
    let done = match &conversion.ended {
        None => true,
        Some(Error::Trace(error)) => error.kind != ErrorKind::Cancelled,
        Some(_) => false,
    };
    if !done || conversion.count == 0 {
        return Ok(());
    }
    // A copy is read with the program that its original needs.
    let copied = conversion.outputs.iter().all(|output| output.ledger.is_none());
    let program = if copied { trace.program().clone() } else { trace.program_of_output() };
    let reading = Options {
        formats: trace.formats().to_vec(),
        format: Some(into.id()),
        program,
        threads: trace.threads(),
        ..Options::default()
    };
    proof::add(conversion, trace, &reading, settings, options.prove, original)
}

/// The same items in another container.
fn copy(trace: &mut Trace, target: &Target, settings: &Settings) -> Result<Conversion> {
    let (program, threads) = (trace.program().clone(), trace.threads());
    if threads > 1 {
        target.write_in_background();
    }
    let writing = Writing { target: target.clone(), settings, program: &program, threads };
    let items = trace.copy_to(writing)?;
    let mut ledger = Ledger::default();
    ledger.add(Fate::Kept, Fact::Items, items);
    let outputs = vec![Written { target: target.clone(), ledger: None, source: None }];
    Ok(Conversion { ledger, count: items, outputs, ..Conversion::default() })
}

/// The events to convert.
fn selected(trace: &mut Trace, into: &dyn Format, options: &ConvertOptions) -> Result<Box<dyn Source>> {
    let Some((selection, provenance)) = &options.part else { return trace.expanded() };
    trace.refuse_several()?;
    let mut source = trace.expanded()?;
    let mut machine = Machine::new(source.meta().isa);
    // From the last place before the first instruction where all of the state is known.
    if let (false, first) = selection.keeps(0)
        && let Some((index, name)) = trace.index_part()
        && let Some((saved, known)) = index.sources.get(&name).and_then(|part| part.known_at_or_before(first))
    {
        if source.restore(&saved)? {
            machine = known;
        } else {
            source = trace.expanded()?;
        }
    }
    let remark = into.holds_comments().then(|| provenance.to_string());
    Ok(Box::new(Window::new(source, selection.clone(), remark).entered(machine)))
}

/// Events to convert.
pub(crate) struct Events {
    pub(crate) source: Box<dyn Source>,
    /// Facts about all of them.
    pub(crate) meta: Meta,
    pub(crate) program: Program,
    pub(crate) threads: usize,
    /// Compares them with the program.
    pub(crate) check: Option<ProgramCheck>,
    /// Makes the runs among them to steps, where the source does not.
    pub(crate) expander: Option<Expander>,
}

/// The events of a trace, as far as they are wanted.
fn events_of(trace: &mut Trace, into: &dyn Format, options: &ConvertOptions) -> Result<Events> {
    let (mut program, threads) = (trace.program_of_output(), trace.threads());
    let programs = trace.programs()?;
    if into.id() == trace.format().id() {
        program.carried = Carried(programs.clone());
    }
    let (source, expander) = match &options.part {
        // By the threads that work on them, and not by the one that reads.
        None => {
            let source = trace.events()?;
            let context = source.context();
            (source, (!programs.is_empty()).then(|| Expander::new(programs.clone(), context)))
        }
        Some(_) => (selected(trace, into, options)?, None),
    };
    let meta = if options.part.is_some() { source.meta() } else { trace.meta() }.clone();
    // A flow trace has no encodings of its own to compare.
    let compare = !programs.is_empty() && !meta.flow_only;
    let check = compare.then(|| ProgramCheck::new(meta.isa, &programs));
    Ok(Events { source, meta, program, threads, check, expander })
}

/// As [`convert_with`], for events that do not come from one trace; `trace` is the first of those that they come from.
#[expect(clippy::too_many_arguments, reason = "one caller, and each is of another kind")]
pub(crate) fn convert_events(
    events: Events,
    trace: &Trace,
    target: &Target,
    into: &'static dyn Format,
    settings: &Settings,
    options: &ConvertOptions,
    original: &mut dyn FnMut() -> Result<Box<dyn Source>>,
    progress: impl FnMut(&dyn Source, &Health) + Send,
) -> Result<Conversion> {
    let mut conversion = lower(events, target, into, settings, options, progress)?;
    add_proof(&mut conversion, trace, into, settings, options, original)?;
    Ok(conversion)
}

/// Through events.
fn lower(
    events: Events,
    target: &Target,
    into: &'static dyn Format,
    settings: &Settings,
    options: &ConvertOptions,
    progress: impl FnMut(&dyn Source, &Health) + Send,
) -> Result<Conversion> {
    let Events { mut source, meta: all, program, threads, mut check, expander } = events;
    let split = all.sources.len() > 1 && !into.holds_several_sources();
    let metas = if split { one_each(&all) } else { vec![all.clone()] };
    let mut outputs: Vec<Written> = Vec::new();
    let mut sinks = Vec::new();
    for (n, meta) in metas.iter().enumerate() {
        let target = if split { target_of(target, &meta.sources[0])? } else { target.clone() };
        if threads > 1 {
            target.write_in_background();
        }
        let writing = Writing { target: target.clone(), settings, program: &program, threads };
        sinks.push(Counting::new(into.create(writing, meta).map_err(of_target)?, meta));
        outputs.push(Written { target, ledger: None, source: split.then_some(n as u16) });
    }
    let mut count = 0;
    let apart = check.as_ref().map(ProgramCheck::apart);
    // Each thread writes ahead for all sinks; one alone has none to write ahead of.
    let writers: Pool<Vec<Option<Box<dyn Ahead>>>> = Pool::default();
    for _ in 0..if threads > 1 { threads } else { 0 } {
        writers.put(sinks.iter().map(Counting::ahead).collect());
    }
    // A thread lowers what it has worked on itself, when it is its turn.
    let lowering = InTurn::new(sinks);
    let place = |source: u16| if split { usize::from(source) } else { 0 };
    let mut past = Past { group: 0, contexts: Contexts::new(&all), source: 0, context: source.context() };
    let (health, ended) = read_in_groups(
        &mut *source,
        (threads, options.strict),
        &mut past,
        progress,
        || (apart.as_ref().map(ProgramCheck::apart), expander.clone(), writers.take_or(Vec::new)),
        |(check, expander, writers), (group, mut contexts, source, context), batches| {
            let turn = lowering.turn(group);
            if let Some(expander) = expander {
                expander.enter(source, context);
                batches.iter_mut().for_each(|batch| expander.batch(batch));
            }
            if let (Some(check), Some(first)) = (&mut *check, batches.first()) {
                check.enter(first.source, contexts.of(first.source));
                batches.iter().for_each(|batch| check.observe(batch));
            }
            let mut facts: Vec<(u16, Counts)> = Vec::new();
            for batch in &*batches {
                if let Some(writer) = writer(writers, place(batch.source)) {
                    writer.write(batch, contexts.of(batch.source));
                }
                if facts.last().is_none_or(|(source, _)| *source != batch.source) {
                    facts.push((batch.source, Counts::default()));
                }
                if let Some((_, facts)) = facts.last_mut() {
                    facts.add_batch(batch, &mut contexts);
                }
            }
            let is_gap = |event: &&Event| matches!(event.kind, EventKind::Gap(_));
            let events = batches.iter().flat_map(|batch| &batch.events);
            let events = events.filter(|event| !is_gap(event)).count() as u64;
            let lowered = turn.take(|sinks| {
                for (source, facts) in facts {
                    sinks.get_mut(place(source)).into_iter().for_each(|sink| sink.add(&facts));
                }
                for batch in batches {
                    if let Some(sink) = sinks.get_mut(place(batch.source)) {
                        let writer = writer(writers, place(batch.source));
                        batch.source = if split { 0 } else { batch.source };
                        sink.put_counted(batch, writer)?;
                    }
                }
                Ok(())
            });
            (events, check.as_mut().map(ProgramCheck::take), lowered)
        },
        |(events, compared, lowered)| {
            if let (Some(check), Some(compared)) = (&mut check, compared) {
                check.add(compared);
            }
            count += events;
            // None only after an error, which has come before.
            lowered.unwrap_or(Ok::<(), trackway_core::Error>(()))
        },
    );
    let mut sinks = lowering.into_inner();
    if let Err(Ended::Caller(error)) = ended {
        return Err(of_target(error.into()));
    }
    let verdict = check.map(|check| check.verdict()).unwrap_or_default();
    if verdict.is_wrong() {
        return Err(Error::Config(verdict.to_string()));
    }
    let warnings = if verdict.is_right() { Vec::new() } else { vec![verdict.to_string()] };
    if matches!(&ended, Err(Ended::Error(error)) if error.kind == ErrorKind::Cancelled) {
        let note = interrupted(health.counts.instructions);
        sinks.iter_mut().try_for_each(|sink| sink.put(&note))?;
    }
    // What came before damage is in the output, and the output is whole.
    let mut ledger = Ledger::default();
    for (sink, output) in sinks.iter_mut().zip(&mut outputs) {
        let one = sink.finish().map_err(|error| of_target(error.into()))?;
        ledger.merge(&one);
        output.ledger = Some(one);
    }
    if let Some((_, provenance)) = options.part.as_ref().filter(|_| !into.holds_comments()) {
        outputs.iter().try_for_each(|output| provenance.write_beside(&output.target))?;
    }
    let ended = match ended {
        Err(Ended::Error(error)) => Some(error.into()),
        Err(Ended::Strict(error)) => Some(Error::Strict(error.to_string())),
        _ => None,
    };
    Ok(Conversion { ledger, count, health: Some(health), ended, outputs, warnings, ..Conversion::default() })
}

/// The writer ahead for a sink, if it has one.
fn writer(writers: &mut [Option<Box<dyn Ahead>>], place: usize) -> Option<&mut dyn Ahead> {
    Some(&mut **writers.get_mut(place)?.as_mut()?)
}

/// State that counting and comparing need from the events before.
struct Past {
    /// The number of the next group.
    group: usize,
    /// Of each source, with the instruction set of the trace.
    contexts: Contexts,
    /// The last one, and its context alone.
    source: u16,
    context: Context,
}

impl Before for Past {
    type State = (usize, Contexts, u16, Context);

    fn state(&mut self) -> Self::State {
        self.group += 1;
        (self.group - 1, self.contexts.clone(), self.source, self.context)
    }

    fn batch(&mut self, batch: &Batch) {
        if std::mem::replace(&mut self.source, batch.source) != batch.source {
            self.context = Context::default();
        }
        for context in &batch.contexts {
            self.context.update(context);
            self.contexts.of(batch.source).update(context);
        }
    }
}

/// The last event of an output whose conversion was interrupted.
fn interrupted(instructions: u64) -> Batch {
    let mut batch = Batch { first_instruction: instructions, ..Batch::default() };
    let text = format!("the conversion was interrupted after {instructions} instructions");
    let text = batch.add_bytes(text.as_bytes());
    batch.push(0, EventKind::Mark(Mark { text, ..Mark::new(MarkKind::Note) }));
    batch
}

/// An error of the target: a reason in words has no place in the input.
fn of_target(error: Error) -> Error {
    match error {
        Error::Trace(trackway_core::Error { kind: ErrorKind::Reason { text, .. }, section, .. }) => {
            Error::Unsupported(format!("{text} [{section}]"))
        }
        error => error,
    }
}

/// The facts of each source alone.
fn one_each(meta: &Meta) -> Vec<Meta> {
    let one = |name: &String| Meta { sources: vec![name.clone()], ..meta.clone() };
    meta.sources.iter().map(one).collect()
}

/// The output of one source of several.
fn target_of(target: &Target, source: &str) -> Result<Target> {
    let Some(path) = &target.path else {
        let text = "the trace has several sources and the output format holds one: they need a file each";
        return Err(Error::Unsupported(text.into()));
    };
    Ok(Target::new(insert_name(path, source)))
}

/// True if a setting was changed that a copy cannot honour.
fn needs_events(into: &dyn Format, settings: &Settings, before: &Settings) -> bool {
    let id = into.id();
    let value = |settings: &Settings, key: &str| settings.table.get(id.as_str())?.get(key).cloned();
    into.flags()
        .iter()
        .filter(|flag| flag.when == When::Lowering)
        .any(|flag| value(settings, flag.key) != value(before, flag.key))
        || into.asks_for_encoding(settings)
}
