//! The parameters of a trace by trial: it has no header that names them.

use crate::config::{Config, Profile};
use crate::group::{Frame, Group};
use crate::read::scan;
use crate::record::{Record, number};
use crate::registers::Registers;
use crate::view::View;

/// Finds parameters with which `head`, the start of a trace, reads without error; `None` if there are none.
///
/// RV64 is tried before RV32, the widest FLEN first, and the profile of the specification before that of the
/// Bluespec encoders. Among several that read, the plausibility of the pc and the order of the items decide.
pub fn recognise(head: &[u8]) -> Option<Config> {
    if head.first() != Some(&number::BEGIN_GROUP) {
        return None;
    }
    let mut best: Option<(usize, Config)> = None;
    for xlen in [64, 32] {
        for flen in [64, 32] {
            for mlen in if xlen == 64 { &[64][..] } else { &[34, 32] } {
                for profile in [Profile::Spec, Profile::Bluespec] {
                    let config = Config { xlen, flen, mlen: *mlen, profile, ..Config::default() };
                    if let Some(score) = trial(head, &config)
                        && best.as_ref().is_none_or(|(most, _)| score > *most)
                    {
                        best = Some((score, config));
                    }
                }
            }
        }
    }
    best.map(|(_, config)| config)
}

/// How plausible `head` is with these parameters; `None` if it cannot be read.
fn trial(head: &[u8], config: &Config) -> Option<usize> {
    let widths = config.widths().ok()?;
    let registers = Registers::new(&widths);
    let mut group = Group::default();
    let (mut at, mut groups, mut plausible, mut bluespec) = (0, 0usize, 0usize, true);
    let mut pc = None;
    while at < head.len() {
        match scan(&head[at..], &widths, &mut group) {
            Ok(0) => break,
            Ok(len) => at += len,
            // The head may end anywhere.
            Err(error) if error.is_truncated() => break,
            Err(_) => return None,
        }
        if group.records.is_empty() || View::of(&group, &widths, &registers).is_err() {
            return None;
        }
        // An address that is read too wide swallows the end group after it.
        groups += 1 + usize::from(group.frame == Frame::Ended);
        bluespec &= group.frame == Frame::Ended && is_bluespec(&group.records);
        // With the wrong widths the pc does not advance by instruction lengths.
        for record in &group.records {
            match *record {
                Record::Pc(next) => {
                    plausible += usize::from(pc.is_some_and(|pc: u64| next.abs_diff(pc) <= 0x10_0000));
                    pc = Some(next);
                }
                Record::IncrementPc | Record::HartReset | Record::StateInitialization => plausible += 1,
                _ => {}
            }
        }
    }
    if groups == 0 {
        return None;
    }
    let matches = bluespec == (config.profile == Profile::Bluespec);
    Some(4 * plausible + groups + usize::from(matches))
}

/// Is the group as the Bluespec encoders write it: pc first, none of the items that they never use?
fn is_bluespec(records: &[Record]) -> bool {
    let first = matches!(records[0], Record::Pc(_) | Record::HartReset | Record::StateInitialization);
    first
        && !records.iter().any(|record| {
            matches!(
                record,
                Record::IncrementPc
                    | Record::AddRegister { .. }
                    | Record::OrRegister { .. }
                    | Record::MemoryResponse { .. }
                    | Record::PhysicalAddress(_)
                    | Record::Mtime(_)
                    | Record::PcPhysicalAddress(_)
            )
        })
}
