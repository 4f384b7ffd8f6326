//! One walk over all records: trace units, stretches of the AUX area, processes.

use std::collections::BTreeMap;
use std::ops::Range;

use trackway_core::{Error, ErrorKind, Result, SharedBytes};

use crate::coresight::{CS_ETM, Units, other_kind};
use crate::fields::Fields;
use crate::header::{BUILD_ID, Header, SIMPLEPERF_FILE2};
use crate::record::{Body, Records, name, trim};
use crate::tasks::World;

/// A buffer of the AUX area: that of a core, or of a thread on all cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    Cpu(u32),
    Thread(u32),
}

/// A stretch of a buffer that is in the file (`AUXTRACE`).
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) owner: Owner,
    /// Place in the buffer.
    pub(crate) offset: u64,
    /// Place in the file; shorter than `size` where the file is cut.
    pub(crate) bytes: Range<u64>,
    pub(crate) size: u64,
}

/// A stretch of a buffer that was filled at once (`AUX`).
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    pub(crate) cpu: Option<u32>,
    pub(crate) tid: Option<u32>,
    pub(crate) when: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) flags: u64,
    /// Offset of the record in the file.
    pub(crate) at: u64,
}

/// All that the records say.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) units: Option<Units>,
    /// Offset of the record with the trace units.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) filled: Vec<Filled>,
    pub(crate) world: World,
    /// Kinds of traces that are not CoreSight.
    pub(crate) others: Vec<&'static str>,
    /// Number of records of each type.
    pub(crate) counts: BTreeMap<u32, u64>,
    /// Records that were lost while recording.
    pub(crate) lost: u64,
    pub(crate) compressed: u64,
    /// Errors in records, the first of each kind of record.
    pub(crate) errors: Vec<Error>,
    /// Where the code of a module begins, after the start of its mapping (simpleperf).
    pub(crate) module_offsets: BTreeMap<String, u64>,
}

/// Errors that are kept.
const MOST_ERRORS: usize = 100;

impl Scan {
    pub(crate) fn of(file: &SharedBytes, header: &Header) -> Self {
        let mut scan = Scan::default();
        let mut records = Records::new(file, header);
        let mut events = Vec::new();
        let mut ids = Vec::new();
        let mut builds: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let bytes = (**file).as_ref();
        for index in 0u64.. {
            let record = match records.next() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(error) => {
                    scan.fail(error);
                    continue;
                }
            };
            *scan.counts.entry(record.kind).or_default() += 1;
            // Without times, the order in the file has to do.
            let when = record.stamp.time.unwrap_or(index);
            match record.body {
                Body::AuxtraceInfo { kind: CS_ETM } => {
                    let start = record.fields.start as usize + 4;
                    let body = bytes.get(start..record.fields.end as usize).unwrap_or_default();
                    let item = name(record.kind);
                    match Units::read(&mut Fields::new(body, start as u64, header.order, item)) {
                        Ok(units) => scan.units = Some(units),
                        Err(error) => scan.fail(error),
                    }
                }
                Body::AuxtraceInfo { kind } => scan.others.push(other_kind(kind)),
                Body::Auxtrace { size, offset, tid, cpu } => {
                    let owner = if cpu == u32::MAX { Owner::Thread(tid) } else { Owner::Cpu(cpu) };
                    let there = record.payload.end - record.payload.start;
                    if there < size {
                        scan.fail(ErrorKind::Truncated.at(record.offset, name(record.kind), "data", ""));
                    }
                    scan.pieces.push(Piece { owner, offset, bytes: record.payload, size });
                }
                Body::Aux { offset, size, flags } => scan.filled.push(Filled {
                    cpu: record.stamp.cpu,
                    tid: record.stamp.tid,
                    when,
                    offset,
                    size,
                    flags,
                    at: record.offset,
                }),
                Body::HwId(id) => ids.extend(record.stamp.cpu.map(|cpu| (cpu, id))),
                Body::Lost(count) => scan.lost = scan.lost.saturating_add(count),
                Body::Compressed => scan.compressed += 1,
                Body::BuildId { name, id } => drop(builds.insert(name, id)),
                Body::Attr(_) | Body::Exit { .. } | Body::Other => {}
                body => events.push((when, body, record.stamp.cpu, record.stamp.tid)),
            }
        }
        if let Some(units) = &mut scan.units {
            ids.into_iter().for_each(|(cpu, id)| units.set_id(cpu, id));
        }
        if let Some(section) = header.feature(bytes, BUILD_ID)
            && let Err(error) = build_ids(section, header, &mut builds)
        {
            scan.fail(error);
        }
        if let Some(section) = header.feature(bytes, SIMPLEPERF_FILE2) {
            scan.module_offsets = module_offsets(section, header);
        }
        // Buffers of cores come one after the other in the file, not in order of time.
        events.sort_by_key(|event| event.0);
        for (when, mut body, cpu, tid) in events {
            if let Body::Mmap(mmap) = &mut body
                && mmap.build_id.is_none()
            {
                let known = builds.get(&mmap.name).or_else(|| builds.get(kernel_name(&mmap.name)));
                mmap.build_id = known.cloned();
            }
            scan.world.apply(when, body, cpu, tid);
        }
        scan
    }

    fn fail(&mut self, error: Error) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(error);
        }
    }
}

/// `[kernel.kallsyms]_stext` has the build id of `[kernel.kallsyms]`.
fn kernel_name(name: &str) -> &str {
    name.find(']').map_or(name, |end| &name[..=end])
}

/// The section of build ids: records of its own kind (`perf_record_header_build_id`).
fn build_ids(section: &[u8], header: &Header, builds: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    let mut fields = Fields::new(section, 0, header.order, "build ids");
    while !fields.rest().is_empty() {
        fields.u32("type")?;
        let misc = fields.u16("misc")?;
        let here = fields;
        let size = usize::from(fields.u16("size")?);
        let rest = size.checked_sub(36);
        let rest = rest.ok_or_else(|| here.fail(ErrorKind::Illegal { found: size as u64 }, "size"))?;
        fields.u32("pid")?;
        let id = fields.take(24, "build_id")?;
        let length = if misc & 1 << 15 != 0 { usize::from(id[20]).min(20) } else { 20 };
        let name = fields.text(rest);
        fields.take(rest, "filename")?;
        builds.insert(name, trim(&id[..length]));
    }
    Ok(())
}

/// Where the code of modules begins in their mappings, in simpleperf's list of files (`FileFeature` in protobuf).
fn module_offsets(section: &[u8], header: &Header) -> BTreeMap<String, u64> {
    let mut offsets = BTreeMap::new();
    let mut fields = Fields::new(section, 0, header.order, "files");
    while let Ok(size) = fields.u32("size") {
        let Ok(message) = fields.take(size as usize, "file") else { break };
        let (mut path, mut offset) = (None, None);
        each_field(message, &mut |number, value| match (number, value) {
            (1, Value::Bytes(bytes)) => path = Some(String::from_utf8_lossy(bytes).into_owned()),
            (7, Value::Bytes(module)) => each_field(module, &mut |number, value| {
                if let (1, Value::Number(n)) = (number, value) {
                    offset = Some(n);
                }
            }),
            _ => {}
        });
        if let (Some(path), Some(offset)) = (path, offset) {
            offsets.insert(path, offset);
        }
    }
    offsets
}

/// A value of a protobuf message.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Visits the fields of a protobuf message, as far as they can be read.
fn each_field<'a>(mut bytes: &'a [u8], visit: &mut dyn FnMut(u64, Value<'a>)) {
    while let Some((key, rest)) = varint(bytes) {
        bytes = rest;
        let value = match key & 7 {
            0 => varint(bytes).map(|(n, rest)| (Value::Number(n), rest)),
            1 => bytes.split_at_checked(8).map(|(value, rest)| (Value::Bytes(value), rest)),
            2 => varint(bytes).and_then(|(length, rest)| {
                let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                Some((Value::Bytes(value), rest))
            }),
            5 => bytes.split_at_checked(4).map(|(value, rest)| (Value::Bytes(value), rest)),
            _ => None,
        };
        let Some((value, rest)) = value else { return };
        bytes = rest;
        visit(key >> 3, value);
    }
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    let value = bytes[..=end].iter().rev().fold(0u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
    Some((value, &bytes[end + 1..]))
}
