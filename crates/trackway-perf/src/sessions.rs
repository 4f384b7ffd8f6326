//! Sessions of trace units: stretches of the AUX area that are decoded on their own.
//!
//! The kernel enables a trace unit and its sink when a thread comes to a core, and disables both when it leaves or when the
//! buffer is full. Each `AUX` record is one such session: packets before it mean nothing to those in it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use trackway_core::{Buffer, GapReason, SharedBytes};
use trackway_ete::{Config, Framing, Options, Session, Survey, TraceSource};
use trackway_image::Image;

use crate::coresight::{Unit, Units};
use crate::scan::{Filled, Owner, Piece, Scan};
use crate::tasks::{Missing, Threads, World};

/// Flags of an `AUX` record (`PERF_AUX_FLAG_*`).
const TRUNCATED: u64 = 1;
const OVERWRITE: u64 = 2;
const PARTIAL: u64 = 4;
const COLLISION: u64 = 8;
const FORMAT: u64 = 0xff00;
const FORMAT_RAW: u64 = 0x0100;

/// Pieces that one `AUX` record is looked for in: the newest before its end.
const NEAR: usize = 16;

/// Bits of TRCCONFIGR.
const CID: u64 = 1 << 6;
const VMID: u64 = 1 << 7;
const VMIDOPT: u64 = 1 << 15;

/// A stretch of the file with the trace of one unit.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    /// Index in the configurations.
    pub(crate) unit: usize,
    pub(crate) framing: Framing,
    /// Where its bytes are in the file.
    pub(crate) bytes: Range<u64>,
    pub(crate) when: u64,
    /// The thread, where the trace does not say it.
    pub(crate) tid: Option<u32>,
    /// Ids in the frames that no unit has, one bit each.
    pub(crate) strange: u128,
    /// Something is missing before it, or after it.
    pub(crate) before: Option<Lost>,
    pub(crate) after: Option<Lost>,
}

/// Trace that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) reason: GapReason,
    /// Bytes of it, where the recording says.
    pub(crate) bytes: Option<u64>,
    /// Offset of the record that says so.
    pub(crate) at: u64,
}

/// A source: what a core or a thread executed.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) name: String,
    pub(crate) stretches: Vec<Stretch>,
}

/// The sources of a recording.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) configs: Vec<Config>,
    /// Trace ids in the frames that no trace unit has.
    pub(crate) strange_ids: Vec<String>,
    /// Other remarks for people.
    pub(crate) remarks: Vec<String>,
}

/// A part of a file that is mapped or in memory.
struct Part {
    file: SharedBytes,
    range: Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        (*self.file).as_ref().get(self.range.clone()).unwrap_or_default()
    }
}

impl Buffer for Part {
    fn release(&self, read: Range<usize>) {
        self.file.release(self.range.start + read.start..self.range.start + read.end);
    }
}

/// Bytes of the file, not copied.
pub(crate) fn part(file: &SharedBytes, range: &Range<u64>) -> SharedBytes {
    let range = range.start as usize..range.end as usize;
    Arc::new(Part { file: SharedBytes::clone(file), range })
}

/// The surroundings of a stretch, for its decoder.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) file: SharedBytes,
    pub(crate) image: Arc<Image>,
    pub(crate) world: Arc<World>,
    pub(crate) missing: Arc<Missing>,
    pub(crate) changing: Arc<BTreeSet<u32>>,
    pub(crate) configs: Arc<Vec<Config>>,
    pub(crate) options: Options,
}

impl Surroundings {
    /// A stretch for the decoder of ETE, with its options.
    pub(crate) fn session(&self, stretch: &Stretch) -> (Session, Options) {
        let config = self.configs[stretch.unit].clone();
        let traced = config.registers.get("TRCCONFIGR").copied().unwrap_or(0);
        let threads = Threads {
            world: Arc::clone(&self.world),
            missing: Arc::clone(&self.missing),
            changing: Arc::clone(&self.changing),
            when: stretch.when,
            tid: stretch.tid,
            in_vmid: traced & (VMID | VMIDOPT) == VMID | VMIDOPT,
            in_context_id: traced & CID != 0,
        };
        let known_ids = self.configs.iter().fold(0, |ids, config| ids | 1 << config.trace_id);
        let options = Options { strange_ids: Some(stretch.strange), known_ids, ..self.options };
        let source = TraceSource {
            config,
            framing: stretch.framing,
            data: part(&self.file, &stretch.bytes),
            image: Arc::clone(&self.image),
        };
        (Session { source, base: stretch.bytes.start, tasks: Some(Arc::new(threads)) }, options)
    }
}

/// Sorts the stretches of the AUX area by source.
pub(crate) fn lanes(file: &SharedBytes, scan: &Scan, units: &Units) -> Lanes {
    let mut pieces: BTreeMap<Owner, Vec<usize>> = BTreeMap::new();
    for (n, piece) in scan.pieces.iter().enumerate() {
        pieces.entry(piece.owner).or_default().push(n);
    }
    pieces.values_mut().for_each(|of| of.sort_by_key(|&n| scan.pieces[n].offset));
    let claimed = vec![None; scan.pieces.len()];
    let mut sorter =
        Sorter { file, scan, units, pieces, claimed, lanes: BTreeMap::new(), out: Lanes::default() };
    let mut filled: Vec<&Filled> = scan.filled.iter().collect();
    filled.sort_by_key(|filled| filled.offset);
    filled.into_iter().for_each(|filled| sorter.filled(filled));
    let mut alone = (0, 0);
    for (n, piece) in scan.pieces.iter().enumerate() {
        if sorter.claimed[n].is_some() {
            continue;
        }
        // Its record is lost, but the bytes are there.
        alone = (alone.0 + 1, alone.1 + piece.size);
        let guess = Filled {
            cpu: None,
            tid: None,
            when: u64::MAX,
            offset: piece.offset,
            size: piece.size,
            flags: if sorter.looks_framed(&piece.bytes) { 0 } else { FORMAT_RAW },
            at: piece.bytes.start,
        };
        sorter.stretch(piece, &guess, piece.bytes.clone());
    }
    if alone.0 > 0 && !scan.filled.is_empty() {
        let text = format!("{} AUXTRACE records, {} bytes, have no AUX record", alone.0, alone.1);
        sorter.out.remarks.push(text);
    }
    let Sorter { lanes, mut out, .. } = sorter;
    out.lanes = lanes.into_values().collect();
    for lane in &mut out.lanes {
        lane.stretches.sort_by_key(|stretch| (stretch.when, stretch.bytes.start));
    }
    out
}

struct Sorter<'s> {
    file: &'s SharedBytes,
    scan: &'s Scan,
    units: &'s Units,
    /// Indexes of the pieces, in order of their offset.
    pieces: BTreeMap<Owner, Vec<usize>>,
    /// How far each piece is decoded: no byte is decoded twice.
    claimed: Vec<Option<u64>>,
    lanes: BTreeMap<Owner, Lane>,
    out: Lanes,
}

impl Sorter<'_> {
    /// The pieces in the file of a stretch that was filled.
    fn filled(&mut self, filled: &Filled) {
        let owners = [filled.cpu.map(Owner::Cpu), filled.tid.map(Owner::Thread)];
        let mut owners: Vec<Owner> = owners.into_iter().flatten().collect();
        if owners.is_empty() {
            owners = self.pieces.keys().copied().collect();
        }
        let mut found = false;
        for owner in owners {
            let Some(pieces) = self.pieces.get(&owner) else { continue };
            let end =
                filled.offset.saturating_add(if filled.flags & OVERWRITE == 0 { filled.size } else { 0 });
            let before = pieces.partition_point(|&n| self.scan.pieces[n].offset < end);
            let near: Vec<usize> = pieces[..before].iter().rev().take(NEAR).rev().copied().collect();
            for n in near {
                let piece = &self.scan.pieces[n];
                let Some(range) = self.claim(n, piece, filled) else { continue };
                found = true;
                self.stretch(piece, filled, range);
                if filled.flags & OVERWRITE != 0 {
                    break;
                }
            }
        }
        if !found && filled.size > 0 {
            self.nothing(filled);
        }
    }

    /// The bytes of the file that a piece has of a stretch.
    fn claim(&mut self, n: usize, piece: &Piece, filled: &Filled) -> Option<Range<u64>> {
        let (mut start, mut end) = (filled.offset, filled.offset.saturating_add(filled.size));
        let last = piece.offset.saturating_add(piece.size);
        if filled.flags & OVERWRITE != 0 {
            // The offset is that of the end; the piece has the newest bytes only.
            end = filled.offset;
            start = end.saturating_sub(filled.size.min(piece.size));
            if start < piece.offset || end > last {
                return None;
            }
        }
        let from = start.max(piece.offset).max(self.claimed[n].unwrap_or(0));
        let to = end.min(last);
        if from >= to {
            return None;
        }
        self.claimed[n] = Some(to);
        let place = |at: u64| (piece.bytes.start + (at - piece.offset)).min(piece.bytes.end);
        Some(place(from)..place(to))
    }

    /// An `AUX` record whose bytes are not in the file.
    fn nothing(&mut self, filled: &Filled) {
        let threads = self.scan.pieces.iter().any(|piece| matches!(piece.owner, Owner::Thread(_)));
        let owner = match (filled.cpu, filled.tid) {
            (_, Some(tid)) if threads => Owner::Thread(tid),
            (Some(cpu), _) => Owner::Cpu(cpu),
            _ => return,
        };
        let Some(unit) = filled.cpu.and_then(|cpu| self.units.of_cpu(cpu)).or(self.units.all.first()) else {
            return;
        };
        let lost = Lost { reason: GapReason::Unexplained, bytes: Some(filled.size), at: filled.at };
        let Some(unit) = self.unit(unit) else { return };
        let stretch = Stretch {
            unit,
            framing: Framing::Raw,
            bytes: filled.at..filled.at,
            when: filled.when,
            tid: filled.tid,
            strange: 0,
            before: Some(lost),
            after: None,
        };
        self.lane(owner).stretches.push(stretch);
    }

    /// A stretch of the file: that of one unit, or frames of several.
    fn stretch(&mut self, piece: &Piece, filled: &Filled, bytes: Range<u64>) {
        let (tid, near) = match piece.owner {
            Owner::Thread(tid) => (Some(tid), filled.cpu),
            Owner::Cpu(cpu) => (self.scan.world.running(cpu, filled.when).or(filled.tid), Some(cpu)),
        };
        let flag = |bit: u64| filled.flags & bit != 0;
        let lost = |reason| Lost { reason, bytes: None, at: filled.at };
        let raw = filled.flags & FORMAT == FORMAT_RAW;
        // A ring in memory keeps its newest bytes; a unit that writes raw bytes stops when its buffer is full.
        let overflow = (flag(TRUNCATED) || flag(PARTIAL)).then(|| lost(GapReason::Overflow));
        let before = overflow.filter(|_| !raw).or(flag(COLLISION).then(|| lost(GapReason::Unexplained)));
        let after = overflow.filter(|_| raw);
        let framing = if raw { Framing::Raw } else { Framing::Coresight };
        let stretch = Stretch { unit: 0, framing, bytes, when: filled.when, tid, strange: 0, before, after };
        if raw {
            let cpu = near.or(filled.cpu);
            let Some(unit) = cpu.and_then(|cpu| self.units.of_cpu(cpu)).or(self.units.all.first()) else {
                return;
            };
            let owner = piece.owner;
            return self.add(owner, unit, stretch);
        }
        let survey = Survey::of(Framing::Coresight, &part(self.file, &stretch.bytes));
        let known = self.units.all.iter().filter_map(|unit| unit.config.as_ref().ok());
        let known = known.fold(0u128, |ids, config| ids | 1 << config.trace_id);
        let strange = survey.strange(known);
        for (id, count) in survey.ids().into_iter().filter(|(id, _)| *id < 0x70) {
            let Some(unit) = self.units.of_id(id, near) else {
                let text = format!("{count} bytes with trace id {id:#x}, which no trace unit has");
                remark(&mut self.out.strange_ids, text);
                continue;
            };
            let owner = match piece.owner {
                Owner::Cpu(_) => Owner::Cpu(unit.cpu),
                thread => thread,
            };
            self.add(owner, unit, Stretch { strange, ..stretch.clone() });
        }
    }

    fn add(&mut self, owner: Owner, unit: &Unit, stretch: Stretch) {
        if let Some(unit) = self.unit(unit) {
            self.lane(owner).stretches.push(Stretch { unit, ..stretch });
        }
    }

    fn lane(&mut self, owner: Owner) -> &mut Lane {
        let name = match owner {
            Owner::Cpu(cpu) => format!("cpu{cpu}"),
            Owner::Thread(tid) => format!("thread{tid}"),
        };
        self.lanes.entry(owner).or_insert_with(|| Lane { name, stretches: Vec::new() })
    }

    /// The number of a unit's configuration; `None`, with a remark, if it is not decoded.
    fn unit(&mut self, unit: &Unit) -> Option<usize> {
        match &unit.config {
            Ok(config) => {
                let known = self.out.configs.iter().position(|other| other == config);
                Some(known.unwrap_or_else(|| {
                    self.out.configs.push(config.clone());
                    self.out.configs.len() - 1
                }))
            }
            Err(reason) => {
                remark(&mut self.out.remarks, format!("cpu {}: {reason}", unit.cpu));
                None
            }
        }
    }

    /// Frames have bytes of a known id, and nearly no others.
    fn looks_framed(&self, bytes: &Range<u64>) -> bool {
        let ids = Survey::of(Framing::Coresight, &part(self.file, bytes)).ids();
        let known = |id: u8| self.units.of_id(id, None).is_some();
        let sum =
            |wanted: bool| ids.iter().filter(|(id, _)| known(*id) == wanted).map(|id| id.1).sum::<u64>();
        sum(true) > sum(false)
    }
}

/// Adds a remark, once; a damaged recording can have any number.
fn remark(remarks: &mut Vec<String>, text: String) {
    if remarks.len() < 100 && !remarks.contains(&text) {
        remarks.push(text);
    }
}
