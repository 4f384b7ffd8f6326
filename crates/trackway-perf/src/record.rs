//! The records of a recording: `perf_event.h` and perf's own types from 64 on.

use std::fmt::Write;
use std::ops::Range;

use trackway_core::{ErrorKind, Result, SharedBytes};

use crate::fields::{Fields, Order};
use crate::header::{Attr, Header};

/// Bits of `misc` (`PERF_RECORD_MISC_*`).
const CPUMODE: u16 = 7;
const CPUMODE_KERNEL: u16 = 1;
const MMAP_DATA: u16 = 1 << 13;
const COMM_EXEC: u16 = 1 << 13;
const SWITCH_OUT: u16 = 1 << 13;
const MMAP_BUILD_ID: u16 = 1 << 14;

/// `PROT_EXEC`.
const PROT_EXEC: u32 = 4;

/// Fields at the end of a record (`PERF_SAMPLE_*`), in their order.
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_ID: u64 = 1 << 6;
const SAMPLE_STREAM_ID: u64 = 1 << 9;
const SAMPLE_CPU: u64 = 1 << 7;
const SAMPLE_IDENTIFIER: u64 = 1 << 16;

/// The name of a type of record.
pub(crate) fn name(kind: u32) -> &'static str {
    match kind {
        1 => "MMAP",
        2 => "LOST",
        3 => "COMM",
        4 => "EXIT",
        5 => "THROTTLE",
        6 => "UNTHROTTLE",
        7 => "FORK",
        8 => "READ",
        9 => "SAMPLE",
        10 => "MMAP2",
        11 => "AUX",
        12 => "ITRACE_START",
        13 => "LOST_SAMPLES",
        14 => "SWITCH",
        15 => "SWITCH_CPU_WIDE",
        16 => "NAMESPACES",
        17 => "KSYMBOL",
        18 => "BPF_EVENT",
        19 => "CGROUP",
        20 => "TEXT_POKE",
        21 => "AUX_OUTPUT_HW_ID",
        64 => "HEADER_ATTR",
        65 => "EVENT_TYPE",
        66 => "TRACING_DATA",
        67 => "BUILD_ID",
        68 => "FINISHED_ROUND",
        69 => "ID_INDEX",
        70 => "AUXTRACE_INFO",
        71 => "AUXTRACE",
        72 => "AUXTRACE_ERROR",
        73 => "THREAD_MAP",
        74 => "CPU_MAP",
        79 => "TIME_CONV",
        80 => "HEADER_FEATURE",
        81 => "COMPRESSED",
        82 => "FINISHED_INIT",
        _ => "record",
    }
}

/// Fields at the end of a record: when and where it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) pid: Option<u32>,
    pub(crate) tid: Option<u32>,
    pub(crate) time: Option<u64>,
    pub(crate) cpu: Option<u32>,
}

/// A file or other memory that is mapped for execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mmap {
    /// `None` for the kernel and its modules.
    pub(crate) pid: Option<u32>,
    pub(crate) range: Range<u64>,
    /// Offset in the file of the first byte.
    pub(crate) pgoff: u64,
    pub(crate) name: String,
    pub(crate) build_id: Option<Vec<u8>>,
}

/// The content of a record, as far as it is of interest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Mmap(Mmap),
    Comm {
        pid: u32,
        tid: u32,
        name: String,
        exec: bool,
    },
    Fork {
        pid: u32,
        parent: u32,
        tid: u32,
    },
    Exit {
        pid: u32,
        tid: u32,
    },
    /// A stretch of the AUX area was filled.
    Aux {
        offset: u64,
        size: u64,
        flags: u64,
    },
    /// The trace of a thread begins.
    ItraceStart {
        pid: u32,
        tid: u32,
    },
    /// A thread leaves the core or comes to it; the stamp says which.
    Switch {
        out: bool,
    },
    Ksymbol {
        address: u64,
        length: u32,
        name: String,
    },
    HwId(u64),
    Lost(u64),
    AuxtraceInfo {
        kind: u32,
    },
    /// Bytes of the AUX area follow the record.
    Auxtrace {
        size: u64,
        offset: u64,
        tid: u32,
        cpu: u32,
    },
    Attr(Attr),
    BuildId {
        name: String,
        id: Vec<u8>,
    },
    Compressed,
    Other,
}

/// A record.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) offset: u64,
    pub(crate) kind: u32,
    pub(crate) body: Body,
    pub(crate) stamp: Stamp,
    /// Where its fields are in the file.
    pub(crate) fields: Range<u64>,
    /// Bytes after it that belong to it, as far as they are in the file.
    pub(crate) payload: Range<u64>,
}

/// Walks over the records.
#[derive(Debug)]
pub(crate) struct Records {
    file: SharedBytes,
    order: Order,
    at: u64,
    end: u64,
    attrs: Vec<Attr>,
}

impl Records {
    pub(crate) fn new(file: &SharedBytes, header: &Header) -> Self {
        let Range { start, end } = header.data;
        Records {
            file: SharedBytes::clone(file),
            order: header.order,
            at: start,
            end,
            attrs: header.attrs.clone(),
        }
    }

    /// True if no record follows.
    pub(crate) fn is_over(&self) -> bool {
        self.at >= self.end
    }

    /// The next record. After an error in a field the record after it follows; after one in its size, nothing.
    pub(crate) fn next(&mut self) -> Result<Option<Record>> {
        let (offset, end) = (self.at, self.end);
        if offset >= end {
            return Ok(None);
        }
        let file = SharedBytes::clone(&self.file);
        let bytes = (*file).as_ref();
        self.at = end;
        let rest = bytes.get(offset as usize..end as usize).unwrap_or_default();
        let mut fields = Fields::new(rest, offset, self.order, "record");
        let kind = fields.u32("type")?;
        let misc = fields.u16("misc")?;
        let here = fields;
        let size = fields.u16("size")?;
        if size < 8 {
            return Err(here.fail(ErrorKind::Illegal { found: size.into() }, "size"));
        }
        let Some(body) = rest.get(8..usize::from(size)) else {
            return Err(ErrorKind::Truncated.at(offset, name(kind), "", ""));
        };
        self.at = offset + u64::from(size);
        let base = offset + 8;
        let mut record = Record {
            offset,
            kind,
            body: Body::Other,
            stamp: self.stamp(kind, body, base),
            fields: base..self.at,
            payload: self.at..self.at,
        };
        record.body = self.body(kind, misc, Fields::new(body, base, self.order, name(kind)))?;
        if let Body::Attr(attr) = &record.body {
            self.attrs.push(attr.clone());
        }
        let after = match record.body {
            Body::Auxtrace { size, .. } => size,
            // Its size is that of the record alone.
            Body::Other if kind == 66 => {
                let size = Fields::new(body, base, self.order, name(kind)).u32("size")?;
                u64::from(size).next_multiple_of(8)
            }
            _ => 0,
        };
        record.payload.end = self.at.saturating_add(after).min(end);
        self.at = record.payload.end;
        Ok(Some(record))
    }

    /// The fields at the end of a record of the kernel (`sample_id_all`).
    fn stamp(&self, kind: u32, body: &[u8], base: u64) -> Stamp {
        let mut stamp = Stamp::default();
        let Some(attr) = self.attr_of(kind, body) else { return stamp };
        let in_order = [SAMPLE_TID, SAMPLE_TIME, SAMPLE_ID, SAMPLE_STREAM_ID, SAMPLE_CPU, SAMPLE_IDENTIFIER];
        let present = in_order.iter().filter(|&&field| attr.sample_type & field != 0);
        let Some(start) = body.len().checked_sub(8 * present.clone().count()) else { return stamp };
        let mut fields = Fields::new(&body[start..], base + start as u64, self.order, "sample_id");
        for &field in present {
            let read = match field {
                SAMPLE_TID => fields.u32("pid").and_then(|pid| {
                    stamp.pid = Some(pid);
                    stamp.tid = Some(fields.u32("tid")?);
                    Ok(())
                }),
                SAMPLE_TIME => fields.u64("time").map(|time| stamp.time = Some(time)),
                SAMPLE_CPU => fields.u32("cpu").and_then(|cpu| {
                    stamp.cpu = Some(cpu);
                    fields.u32("res").map(drop)
                }),
                _ => fields.u64("id").map(drop),
            };
            if read.is_err() {
                break;
            }
        }
        stamp
    }

    /// The event that a record belongs to: the id at its end says which, where events differ.
    fn attr_of(&self, kind: u32, body: &[u8]) -> Option<&Attr> {
        let first = self.attrs.first().filter(|attr| attr.sample_id_all && kind < 64 && kind != 9)?;
        if self.attrs.iter().all(|attr| attr.sample_type == first.sample_type) {
            return Some(first);
        }
        if self.attrs.iter().all(|attr| attr.sample_type & SAMPLE_IDENTIFIER != 0) {
            let start = body.len().checked_sub(8)?;
            let id = Fields::new(&body[start..], 0, self.order, "sample_id").u64("id").ok()?;
            return self.attrs.iter().find(|attr| attr.ids.contains(&id)).or(Some(first));
        }
        Some(first)
    }

    fn body(&self, kind: u32, misc: u16, mut fields: Fields<'_>) -> Result<Body> {
        let f = &mut fields;
        Ok(match kind {
            1 | 10 => {
                let pid = f.u32("pid")?;
                f.u32("tid")?;
                let start = f.u64("addr")?;
                let here = *f;
                let length = f.u64("len")?;
                let end = start.checked_add(length);
                let end = end.ok_or_else(|| here.fail(ErrorKind::Illegal { found: length }, "len"))?;
                let pgoff = f.u64("pgoff")?;
                let (mut build_id, mut executable) = (None, misc & MMAP_DATA == 0);
                if kind == 10 {
                    let identity = f.take(24, "ino")?;
                    if misc & MMAP_BUILD_ID != 0 {
                        let size = usize::from(identity[0]).min(20);
                        build_id = Some(identity[4..4 + size].to_vec());
                    }
                    executable = f.u32("prot")? & PROT_EXEC != 0;
                    f.u32("flags")?;
                }
                let kernel = misc & CPUMODE == CPUMODE_KERNEL;
                let pid = Some(pid).filter(|&pid| pid != u32::MAX && !kernel);
                let name = f.text(usize::MAX);
                if !executable {
                    return Ok(Body::Other);
                }
                Body::Mmap(Mmap { pid, range: start..end, pgoff, name, build_id })
            }
            2 => {
                f.u64("id")?;
                Body::Lost(f.u64("lost")?)
            }
            3 => {
                let (pid, tid) = (f.u32("pid")?, f.u32("tid")?);
                Body::Comm { pid, tid, name: f.text(16), exec: misc & COMM_EXEC != 0 }
            }
            4 | 7 => {
                let (pid, parent, tid) = (f.u32("pid")?, f.u32("ppid")?, f.u32("tid")?);
                f.u32("ptid")?;
                if kind == 7 { Body::Fork { pid, parent, tid } } else { Body::Exit { pid, tid } }
            }
            11 => {
                Body::Aux { offset: f.u64("aux_offset")?, size: f.u64("aux_size")?, flags: f.u64("flags")? }
            }
            12 => Body::ItraceStart { pid: f.u32("pid")?, tid: f.u32("tid")? },
            14 | 15 => Body::Switch { out: misc & SWITCH_OUT != 0 },
            17 => {
                let (address, length) = (f.u64("addr")?, f.u32("len")?);
                f.u32("ksym_type")?;
                Body::Ksymbol { address, length, name: f.text(usize::MAX) }
            }
            21 => Body::HwId(f.u64("hw_id")?),
            64 => {
                let mut ahead = *f;
                ahead.u32("type")?;
                let length = (ahead.u32("size")? as usize).clamp(64, f.rest().len().max(64));
                let mut attr = Attr::read(f, self.order, length)?;
                while let Ok(id) = f.u64("id") {
                    attr.ids.push(id);
                }
                Body::Attr(attr)
            }
            67 => {
                f.u32("pid")?;
                let id = f.take(24, "build_id")?;
                // The byte after the 20 of the id is its length, in newer files.
                let length = if misc & 1 << 15 != 0 { usize::from(id[20]).min(20) } else { 20 };
                Body::BuildId { name: f.text(usize::MAX), id: trim(&id[..length]) }
            }
            70 => Body::AuxtraceInfo { kind: f.u32("type")? },
            71 => {
                let (size, offset) = (f.u64("size")?, f.u64("offset")?);
                f.u64("reference")?;
                f.u32("idx")?;
                Body::Auxtrace { size, offset, tid: f.u32("tid")?, cpu: f.u32("cpu")? }
            }
            81 => Body::Compressed,
            _ => Body::Other,
        })
    }
}

/// A build id without the zeros that fill it up.
pub(crate) fn trim(id: &[u8]) -> Vec<u8> {
    let end = id.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    id[..end.next_multiple_of(4).min(id.len())].to_vec()
}

/// A build id in hex.
pub(crate) fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Record {
    /// The record's fields for people.
    pub(crate) fn show(&self, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match &self.body {
            Body::Mmap(Mmap { pid, range, pgoff, name, build_id }) => {
                let owner = pid.map_or("kernel".to_string(), |pid| format!("pid {pid}"));
                let id = build_id.as_ref().map_or(String::new(), |id| format!(" build id {}", hex(id)));
                write!(out, "{owner} {:#x}-{:#x} at {pgoff:#x} of {name}{id}", range.start, range.end)
            }
            Body::Comm { pid, tid, name, exec } => {
                write!(out, "pid {pid} tid {tid} {name}{}", if *exec { " (exec)" } else { "" })
            }
            Body::Fork { pid, parent, tid } => write!(out, "pid {pid} tid {tid} from pid {parent}"),
            Body::Exit { pid, tid } => write!(out, "pid {pid} tid {tid}"),
            Body::Aux { offset, size, flags } => {
                write!(out, "{size:#x} bytes at {offset:#x} flags {flags:#x}")
            }
            Body::ItraceStart { pid, tid } => write!(out, "pid {pid} tid {tid}"),
            Body::Switch { out: leaves } => write!(out, "{}", if *leaves { "out" } else { "in" }),
            Body::Ksymbol { address, length, name } => write!(out, "{address:#x} {length} bytes {name}"),
            Body::HwId(id) => write!(out, "{id:#x}"),
            Body::Lost(count) => write!(out, "{count} records"),
            Body::AuxtraceInfo { kind } => write!(out, "type {kind}"),
            Body::Auxtrace { size, offset, tid, cpu } => {
                let owner = |name, value: &u32| match *value {
                    u32::MAX => String::new(),
                    value => format!(" {name} {value}"),
                };
                write!(out, "{size:#x} bytes at {offset:#x}{}{}", owner("tid", tid), owner("cpu", cpu))
            }
            Body::Attr(attr) => write!(out, "pmu {} sample_type {:#x}", attr.pmu, attr.sample_type),
            Body::BuildId { name, id } => write!(out, "{} {name}", hex(id)),
            Body::Compressed | Body::Other => write!(out, "{} bytes", self.fields.end - self.fields.start),
        };
        let Stamp { pid, tid, time, cpu } = self.stamp;
        if let (Some(pid), Some(tid)) = (pid, tid) {
            let _ = write!(out, " [{pid}/{tid}");
            let _ = cpu.map_or(Ok(()), |cpu| write!(out, " cpu {cpu}"));
            let _ = time.map_or(Ok(()), |time| write!(out, " time {time}"));
            out.push(']');
        }
    }
}
