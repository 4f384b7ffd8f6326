//! Checks a trace against the rules of the format.

mod checker;
mod flow;
mod group;
mod instruction;
mod trap;
mod usual;

use trackway_core::{Error, Finding};

pub use checker::Checker;
use usual::Known;

use crate::config::ReadConfig;
use crate::layout::{RECORD, from_bytes};
use crate::records::Records;

/// Records after which those checked are consumed.
const PIECE: usize = 1 << 15;

/// Reports every violation of a rule; returns the number of records, and the first damage.
///
/// ```
/// use trackway_astf::{ReadConfig, Storage, Trace};
/// use trackway_core::Input;
///
/// let mut bytes = trackway_astf::example(Storage::Raw);
/// bytes[4 * 32 + 7] ^= 0x40; // record 4, the first Context: pid_valid
/// let trace = Trace::open(Input::from_vec(bytes), ReadConfig::default())?;
/// let mut findings = Vec::new();
/// assert_eq!(trace.check(&mut |finding| findings.push(finding)), (21, None));
/// let [finding, ..] = &findings[..] else { panic!("a thread id without a process id") };
/// assert_eq!((finding.rule.name, finding.item, finding.offset), ("astf.tid-needs-pid", 4, 128));
/// # Ok::<(), trackway_core::Error>(())
/// ```
pub(crate) fn check(
    records: &mut Records,
    options: ReadConfig,
    report: &mut dyn FnMut(Finding),
) -> (u64, Option<Error>) {
    check_with(records, options, true, report)
}

/// Without `with_usual` usual instructions take the way of all others, for tests.
fn check_with(
    records: &mut Records,
    options: ReadConfig,
    with_usual: bool,
    report: &mut dyn FnMut(Finding),
) -> (u64, Option<Error>) {
    let (mut checker, mut known, mut damage) = (Checker::new(options), Known::default(), None);
    loop {
        match records.chunk() {
            Ok(Some((mut offset, chunk))) => {
                // A mapped file is consumed in pieces, so that its memory is released.
                let mut chunk = &chunk[..chunk.len().min(PIECE)];
                let count = chunk.len();
                while let [record, rest @ ..] = chunk {
                    checker.record(offset, &from_bytes(record));
                    if checker.has_findings() {
                        checker.take().into_iter().for_each(&mut *report);
                    }
                    (chunk, offset) = (rest, offset + RECORD as u64);
                    if with_usual {
                        let usual = checker.usual(offset, chunk, &mut known);
                        (chunk, offset) = (&chunk[usual..], offset + (usual * RECORD) as u64);
                    }
                }
                records.consume(count);
            }
            Ok(None) => break,
            Err(error) => {
                damage.get_or_insert(error);
                if records.resync().is_none() {
                    break;
                }
                checker.lose_records(records.offset() / RECORD as u64);
            }
        }
    }
    checker.end(records.offset());
    checker.take().into_iter().for_each(report);
    (checker.records(), damage)
}
