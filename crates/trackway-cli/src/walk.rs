//! Through all events of a trace, over what can be stepped over.

use std::ops::ControlFlow;
use std::path::Path;

use trackway_core::{Batch, EventKind, Source};

use crate::cli::Common;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::report::{Health, placed_at};

/// Shows each batch to `visit` until it breaks; gives the health of what was read.
pub(crate) fn walk(
    common: &Common,
    path: &Path,
    source: &mut dyn Source,
    mut visit: impl FnMut(&Batch) -> Result<ControlFlow<()>, Failure>,
) -> Result<Health, Failure> {
    let mut health = Health::default();
    let mut progress = Progress::new(common.quiet);
    let mut batch = Batch::default();
    loop {
        let (read, errors) = match source.fill(&mut batch) {
            Ok(true) => (batch.instructions(), 0),
            Ok(false) => break,
            Err(error) => {
                if !source.resync().unwrap_or(false) {
                    return Err(placed_at(common, path, error, health.instructions));
                }
                if common.strict {
                    return Err(Failure::Strict(format!("{}: {error}", path.display())));
                }
                health.stepped_over(error);
                (0, 1)
            }
        };
        progress.update(source, read, errors);
        if errors > 0 {
            continue;
        }
        health.instructions += read;
        health.gaps +=
            batch.events.iter().filter(|event| matches!(event.kind, EventKind::Gap(_))).count() as u64;
        health.skipped += batch.gaps.iter().filter_map(|gap| gap.bytes).sum::<u64>();
        if visit(&batch)?.is_break() {
            break;
        }
    }
    let items: u64 = source.census().iter().map(|entry| entry.1).sum();
    health.items = (items > 0).then_some(items);
    Ok(health)
}
