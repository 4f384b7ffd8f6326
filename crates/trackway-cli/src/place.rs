//! Positions of the command line as instruction numbers.

use trackway::{Position, Result, Trace};

use crate::exit::Failure;

/// The ranges between `from` and `to`, one by one; a single end or start may be missing.
pub(crate) fn ranges(trace: &mut Trace, from: &[String], to: &[String]) -> Result<Vec<(u64, u64)>, Failure> {
    if from.len().max(to.len()) > 1 && from.len() != to.len() {
        let text = format!("{} --from and {} --to: several ranges need both of each", from.len(), to.len());
        return Err(Failure::Usage(text));
    }
    let mut locate = |text: Option<&String>, after: Option<u64>, default: u64| -> Result<u64, Failure> {
        let Some(text) = text else { return Ok(default) };
        let failed = |error: trackway::Error| Failure::Usage(error.to_string());
        let position = Position::parse(text, &trace.programs().map_err(failed)?).map_err(failed)?;
        trace.locate(&position, after).map_err(failed)
    };
    let mut found = Vec::new();
    for n in 0..from.len().max(to.len()) {
        let start = locate(from.get(n), None, 0)?;
        found.push((start, locate(to.get(n), Some(start), u64::MAX)?));
    }
    Ok(found)
}
