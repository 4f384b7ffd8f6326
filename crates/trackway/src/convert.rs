//! A trace in another format, with the ledger of what was lost.

use std::path::Path;

use trackway_core::{Batch, Counting, Fact, Fate, Ledger, Observer, Source};
use trackway_format::{Error, Format, Result, Settings, When, Writing};
use trackway_io::Target;

use crate::formats::for_output;
use crate::health::{Ended, Health, read_all};
use crate::trace::Trace;

/// How to convert.
#[derive(Clone, Default)]
pub struct ConvertOptions {
    /// Output format; without it the extension of the output decides, else the format of the input.
    pub into: Option<&'static dyn Format>,
    /// Settings of the output; without them those of the input.
    pub settings: Option<Settings>,
    /// Fail on damage and refuse losses.
    pub strict: bool,
}

impl std::fmt::Debug for ConvertOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ConvertOptions(into {:?}, strict {})", self.into.map(|into| into.id()), self.strict)
    }
}

/// Result of a conversion.
#[derive(Debug, Default)]
pub struct Conversion {
    /// Everything kept, derived, dropped and invented.
    pub ledger: Ledger,
    /// Items copied, or events converted; gaps do not count.
    pub count: u64,
    /// How well the input was read; `None` for a copy in the same format.
    pub health: Option<Health>,
    /// An error that ended the input early. The output holds what came before it.
    pub ended: Option<Error>,
}

/// Writes `trace` to `to`. The same format is copied item by item; another one goes through events.
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
pub fn convert(trace: &mut Trace, to: impl AsRef<Path>, options: &ConvertOptions) -> Result<Conversion> {
    let target = Target::new(to.as_ref());
    let conversion = convert_with(trace, &target, options, |_, _| {})?;
    target.commit()?;
    Ok(conversion)
}

/// As [`convert`], to a target that the caller keeps and commits, with a call after each batch for progress.
pub fn convert_with(
    trace: &mut Trace,
    target: &Target,
    options: &ConvertOptions,
    progress: impl FnMut(&dyn Source, &Health),
) -> Result<Conversion> {
    let by_name = || target.path.as_deref().and_then(|path| for_output(crate::FORMATS, path));
    let into = options.into.or_else(by_name).unwrap_or(trace.format());
    let settings = options.settings.clone().unwrap_or_else(|| trace.settings().clone());
    let program = trace.program().clone();
    let writing =
        Writing { target: target.clone(), settings: &settings, program: &program, threads: trace.threads() };
    if into.id() == trace.format().id() && !needs_events(into, &settings, trace.settings()) {
        let items = trace.copy_to(writing)?;
        let mut ledger = Ledger::default();
        ledger.add(Fate::Kept, Fact::Items, items);
        return Ok(Conversion { ledger, count: items, ..Conversion::default() });
    }
    let meta = trace.meta().clone();
    let mut source = trace.expanded()?;
    let mut sink = Counting::new(into.create(writing, &meta)?, &meta);
    let mut batch = Batch::default();
    let mut count = 0;
    let (health, ended) = read_all(
        &mut *source,
        options.strict,
        |source, counts| {
            let more = source.fill(&mut batch).map_err(Ended::Error)?;
            counts.observe(&batch);
            count += batch.events.len().saturating_sub(batch.gaps.len()) as u64;
            sink.put(&batch).map_err(Ended::Caller)?;
            Ok(more)
        },
        progress,
    );
    if let Err(Ended::Caller(error)) = ended {
        return Err(error.into());
    }
    // What came before damage is in the output, and the output is whole.
    let ledger = sink.finish()?;
    let ended = match ended {
        Err(Ended::Error(error)) => Some(error.into()),
        Err(Ended::Strict(error)) => Some(Error::Strict(error.to_string())),
        _ => None,
    };
    Ok(Conversion { ledger, count, health: Some(health), ended })
}

/// True if a setting was changed that a copy cannot honour.
fn needs_events(into: &dyn Format, settings: &Settings, before: &Settings) -> bool {
    let id = into.id();
    let value = |settings: &Settings, key: &str| settings.table.get(id.as_str())?.get(key).cloned();
    into.flags()
        .iter()
        .filter(|flag| flag.when == When::Lowering)
        .any(|flag| value(settings, flag.key) != value(before, flag.key))
}
