//! When a conversion is proved, and against what.

use trackway_core::{Account, Batch, Contexts, Counts, Fact, Ledger, Meta, Source};
use trackway_format::{Error, Result, Settings};
use trackway_io::Target;

use crate::conversion::Conversion;
use crate::prove::{Pair, prove};
use crate::trace::{Options, Trace};

/// Whether a conversion is proved: its output read back and compared with its input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prove {
    /// Where it can be, up to a million instructions.
    #[default]
    Small,
    /// Always; refused where it cannot be.
    Always,
    /// Never.
    Never,
}

/// Instructions up to which a conversion is proved by itself.
const SMALL: u64 = 1_000_000;

/// Refuses a proof that cannot be.
pub(crate) fn refuse(trace: &Trace, target: &Target) -> Result<()> {
    let why = if target.is_stream() {
        "stdout, devices and pipes cannot be read back"
    } else if matches!(trace.reopen(), Err(Error::ReadOnce)) {
        "the input is a stream and cannot be read twice"
    } else {
        return Ok(());
    };
    Err(Error::Unsupported(format!("no proof is possible: {why}")))
}

/// Proves a conversion where it is wanted, and says so in it. `reading` and `settings` open its outputs, `original`
/// the events that were converted.
pub(crate) fn add(
    conversion: &mut Conversion,
    trace: &Trace,
    reading: &Options,
    settings: &Settings,
    wanted: Prove,
    original: &mut dyn FnMut() -> Result<Box<dyn Source>>,
) -> Result<()> {
    let why = match wanted {
        Prove::Never => return Ok(()),
        Prove::Small if instructions(conversion) > SMALL => "more than a million instructions",
        _ if conversion.outputs.iter().any(|output| output.target.staged().is_none()) => {
            "the output cannot be read back"
        }
        _ if matches!(trace.reopen(), Err(Error::ReadOnce)) => "the input cannot be read twice",
        _ => "",
    };
    if !why.is_empty() {
        conversion.reasons.push(format!("not proved: {why}"));
        return Ok(());
    }
    let mut reasons = Vec::new();
    for output in &conversion.outputs {
        // A copy claims nothing but its items: it has to hold all that the input holds.
        let copied;
        let ledger = match &output.ledger {
            Some(ledger) => ledger,
            None => match whole(trace, wanted)? {
                Some(ledger) => {
                    copied = ledger;
                    &copied
                }
                None => {
                    conversion.reasons.push("not proved: more than a million instructions".into());
                    return Ok(());
                }
            },
        };
        let Some(path) = output.target.staged() else { continue };
        // A folder describes itself.
        let given = || if path.is_dir() { Settings::default() } else { settings.clone() };
        let settings = Settings::beside_trace(&path)?.unwrap_or_else(given);
        let reading = reading.clone().settings(settings);
        let opened = match reading.open(&path) {
            Ok(opened) => opened,
            Err(error) => {
                reasons.push(format!("the output cannot be read: {error}"));
                continue;
            }
        };
        let pairs = pairs(original()?.meta(), opened.meta(), output.source);
        let mut original = &mut *original;
        let mut result = || opened.reopen()?.expanded();
        reasons.extend(prove(&mut original, &mut result, &pairs, ledger)?.reasons);
    }
    conversion.proved = Some(reasons.is_empty());
    conversion.reasons = reasons;
    Ok(())
}

fn instructions(conversion: &Conversion) -> u64 {
    conversion.health.as_ref().map_or(0, |health| health.counts.instructions)
}

/// The ledger of a copy: everything is kept. `None` if the trace is too long to be proved without being asked.
fn whole(trace: &Trace, wanted: Prove) -> Result<Option<Ledger>> {
    let mut trace = trace.reopen()?;
    let mut facts = Counts::of_meta(trace.meta());
    let (mut contexts, mut batch) = (Contexts::new(trace.meta()), Batch::default());
    let mut source = trace.expanded()?;
    loop {
        match source.fill(&mut batch) {
            Ok(false) => break,
            Ok(true) => facts.add_batch(&batch, &mut contexts),
            Err(_) if source.resync().unwrap_or(false) => {}
            Err(_) => break,
        }
        if wanted == Prove::Small && facts[Fact::Instructions] > SMALL {
            return Ok(None);
        }
    }
    Ok(Some(Ledger::new(&facts, &Account::default())))
}

/// Which source of the output is which of the input: by name if it has no other names, else by number.
fn pairs(original: &Meta, result: &Meta, only: Option<u16>) -> Vec<Pair> {
    if let Some(original) = only {
        return vec![Pair { original, result: 0 }];
    }
    let (ours, theirs) = (&original.sources, &result.sources);
    let by_name = theirs.iter().all(|name| ours.contains(name));
    let place = |n: usize| {
        let found = theirs.iter().position(|name| by_name && ours.get(n) == Some(name));
        // One that is not there has a number that no other has.
        found.unwrap_or(if by_name { n.max(theirs.len()) } else { n })
    };
    (0..ours.len().max(1)).map(|n| Pair { original: n as u16, result: place(n) as u16 }).collect()
}
