//! Hardware threads: the sources of a trace that records several.

use std::ops::ControlFlow;

use crate::config::Config;
use crate::header::Header;
use crate::read::{Records, Scan};
use crate::record::Record;
use crate::remark::{Ids, Remark};

/// More threads than this are not sources but damage.
const MOST: usize = 4096;

/// The hardware threads to read, each as a source. Empty if the trace has one only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HwThreads {
    /// The thread before the first PROCESS_ID_EXT.
    pub(crate) first: u32,
    pub(crate) wanted: Vec<u32>,
}

impl HwThreads {
    /// Reads all records for PROCESS_ID_EXT. Damage is reported when the events are read.
    pub(crate) fn find(mut records: Records, header: &Header, config: Config) -> Self {
        let mut ids = header.ids.unwrap_or(Ids::from(config.process_id));
        let mut found: Vec<u32> = Vec::new();
        let mut visit = |_: u64, record: &Record<'_>, _: &[u8]| {
            match *record {
                Record::ProcessIdExt { first, second, third } => {
                    let thread = ids.hw_thread().map(|n| [first, second, third][n]);
                    found.extend(thread.filter(|thread| !found.contains(thread)));
                }
                Record::Comment { text } => {
                    if let Some(Remark::Ids(new)) = Remark::read(text.0) {
                        ids = new;
                    }
                }
                _ => {}
            }
            if found.len() > MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        loop {
            match records.scan(&mut visit) {
                Err(_) if records.skip_part().is_some() => {}
                Ok(Scan::Stopped) => return HwThreads::default(),
                Ok(Scan::Ended) | Err(_) => break,
            }
        }
        match &found[..] {
            [first, _, ..] => HwThreads { first: *first, wanted: found },
            _ => HwThreads::default(),
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.wanted.iter().map(|thread| name(*thread)).collect()
    }

    /// Keeps one thread by name; the error has the names.
    pub(crate) fn choose(&mut self, chosen: &str) -> Result<(), String> {
        let names = self.names();
        if names.is_empty() {
            return match chosen {
                ONLY => Ok(()),
                _ => Err(format!("--source {chosen}: there is only {ONLY}")),
            };
        }
        self.wanted.retain(|thread| name(*thread).eq_ignore_ascii_case(chosen));
        match self.wanted.is_empty() {
            true => Err(format!("--source {chosen}: there are {}", names.join(", "))),
            false => Ok(()),
        }
    }
}

/// Name of the source of a trace that has one only.
const ONLY: &str = "0";

fn name(thread: u32) -> String {
    format!("hart{thread}")
}
