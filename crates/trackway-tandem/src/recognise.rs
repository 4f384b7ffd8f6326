//! The parameters of a trace by trial: it has no header that names them.

use std::cmp::Reverse;

use crate::config::{Config, Profile};
use crate::group::{Frame, Group};
use crate::read::{next_group, scan};
use crate::record::{Record, number};
use crate::registers::Registers;
use crate::view::View;

/// Bytes of a group that the end of the head may cut; more than that is damage.
const LONGEST_END: usize = 1 << 12;

/// Groups that a damaged trace has at least: fewer may be there by chance.
const FEWEST_GROUPS: usize = 4;

/// Finds the parameters with which `head`, the start of a trace, reads best; `None` if it is not a trace. Up to a
/// quarter of it may be damaged.
///
/// RV64 is tried before RV32, the widest FLEN first, and the profile of the specification before that of the
/// Bluespec encoders. Among several that read equally well, the plausibility of the pc and the order of the items
/// decide.
pub fn recognise(head: &[u8]) -> Option<Config> {
    let mut best: Option<(Score, Config)> = None;
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

/// How well parameters fit: bytes that could not be read, the fewer the better, then plausibility.
type Score = (Reverse<usize>, usize);

/// How well `head` reads with these parameters; `None` if it does not.
fn trial(head: &[u8], config: &Config) -> Option<Score> {
    let widths = config.widths().ok()?;
    let registers = Registers::new(&widths);
    let mut group = Group::default();
    let (mut at, mut groups, mut plausible, mut bluespec) = (0, 0usize, 0usize, true);
    let (mut lost, mut ended, mut implied) = (0, 0usize, false);
    let mut pc = None;
    while at < head.len() && 4 * lost <= head.len() {
        let rest = &head[at..];
        let (len, good) = match scan(rest, &widths, &mut group) {
            Ok(0) => break,
            Ok(len) => {
                let good = !group.records.is_empty() && View::of(&group, &widths, &registers).is_ok();
                (len, good)
            }
            // The head may end anywhere.
            Err(error) if error.is_truncated() && rest.len() < LONGEST_END => break,
            Err(_) => (next_group(rest, rest, &widths, implied).unwrap_or(rest.len()), false),
        };
        at += len;
        if !good {
            lost += len;
            pc = None;
            continue;
        }
        implied |= group.frame == Frame::Implied;
        // An address that is read too wide swallows the end group after it.
        ended += usize::from(group.frame == Frame::Ended);
        groups += 1;
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
    let damaged = lost > 0 || head.first() != Some(&number::BEGIN_GROUP);
    if groups == 0 || 4 * lost > head.len() || (damaged && ended < FEWEST_GROUPS) {
        return None;
    }
    let matches = bluespec == (config.profile == Profile::Bluespec);
    Some((Reverse(lost), 4 * plausible + groups + ended + usize::from(matches)))
}

/// Is the group as the Bluespec encoders write it: pc first, none of the items that they never use?
fn is_bluespec(records: &[Record]) -> bool {
    let first = matches!(records[0], Record::Pc(_) | Record::HartReset | Record::StateInitialization);
    let late_pc = records[1..].iter().any(|record| matches!(record, Record::Pc(_)));
    first
        && !late_pc
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
