//! Checks a trace against the rules of the format.

mod checker;
mod group;
mod trap;

use std::collections::VecDeque;

use trackway_core::{Finding, Result};

pub use checker::Checker;

use crate::config::Config;
use crate::layout::{RECORD, from_bytes};
use crate::records::Records;

/// The findings of a trace, one after the other.
///
/// ```
/// use trackway_astf::{Config, Storage, Trace};
/// use trackway_core::Input;
///
/// let mut bytes = trackway_astf::example(Storage::Raw);
/// bytes[4 * 32 + 7] ^= 0x40; // record 4, the first Context: pid_valid
/// let mut check = Trace::open(Input::from_vec(bytes), Config::default())?.check();
/// let finding = check.next_finding()?.expect("a thread id without a process id");
/// assert_eq!(finding.rule.name, "astf.tid-needs-pid");
/// assert_eq!((finding.item, finding.offset), (4, 128));
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Check {
    records: Records,
    checker: Checker,
    found: VecDeque<Finding>,
    ended: bool,
}

impl Check {
    pub(crate) fn new(records: Records, config: Config) -> Self {
        Check { records, checker: Checker::new(config), found: VecDeque::new(), ended: false }
    }

    /// The next finding; `None` at the end. After an error it continues after the damage where the storage has a place
    /// to enter; otherwise the trace has ended, and findings about its end follow.
    pub fn next_finding(&mut self) -> Result<Option<Finding>> {
        loop {
            if let Some(finding) = self.found.pop_front() {
                return Ok(Some(finding));
            }
            if self.ended {
                return Ok(None);
            }
            let result = self.advance();
            self.found.extend(self.checker.take());
            result?;
        }
    }

    /// Checks a chunk up to its first finding.
    fn advance(&mut self) -> Result<()> {
        match self.records.chunk() {
            Ok(Some((mut offset, chunk))) => {
                let mut used = 0;
                for record in chunk {
                    self.checker.record(offset, &from_bytes(record));
                    offset += record.len() as u64;
                    used += 1;
                    if self.checker.has_findings() {
                        break;
                    }
                }
                self.records.consume(used);
                Ok(())
            }
            Ok(None) => {
                self.end();
                Ok(())
            }
            Err(error) => {
                match self.records.resync() {
                    Some(_) => self.checker.lose_records(self.records.offset() / RECORD as u64),
                    None => self.end(),
                }
                Err(error)
            }
        }
    }

    fn end(&mut self) {
        self.ended = true;
        self.checker.end(self.records.offset());
    }

    /// Number of the next record, the Header included.
    pub fn records(&self) -> u64 {
        self.checker.records()
    }
}
