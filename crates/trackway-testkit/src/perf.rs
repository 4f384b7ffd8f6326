//! A writer of `perf.data` for tests: what `perf record` with CoreSight leaves behind, from streams of our own.
//!
//! ```
//! use trackway_testkit::perf::Recording;
//! let mut recording = Recording::new();
//! recording.comm(7, 7, "loop", true);
//! assert!(recording.finish().starts_with(b"PERFILE2"));
//! ```

use std::collections::BTreeMap;

/// Flags of [`Recording::aux`] (`PERF_AUX_FLAG_*`).
pub const TRUNCATED: u64 = 1;
/// The AUX area is a ring that is overwritten.
pub const OVERWRITE: u64 = 2;
/// Bytes as one trace unit wrote them, without frames.
pub const RAW: u64 = 0x100;

/// The PMU number of `cs_etm`.
const PMU: u32 = 8;
/// Fields of samples; all but the address are at the end of each record.
const ADDRESS: u64 = 1;
const THREAD: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const CPU: u64 = 1 << 7;
const IDENTIFIER: u64 = 1 << 16;
const SAMPLE_ID: u64 = 71;

/// A recording that is being written.
#[derive(Clone, Debug)]
pub struct Recording {
    big: bool,
    sample_type: u64,
    /// Version of the header of trace units.
    version: u64,
    snapshot: bool,
    /// cpu, ETE or ETMv4, registers.
    units: Vec<(u32, bool, BTreeMap<String, u64>)>,
    records: Vec<u8>,
    /// Offsets of the AUXTRACE records in `records`.
    index: Vec<u64>,
    build_ids: Vec<u8>,
    /// Time, process, thread and cpu of the next record.
    pub time: u64,
    /// Process of the next record.
    pub pid: u32,
    /// Thread of the next record.
    pub tid: u32,
    /// Core of the next record.
    pub cpu: u32,
}

impl Default for Recording {
    fn default() -> Self {
        Self::new()
    }
}

impl Recording {
    /// An empty one, little-endian, with version 1 of the header of trace units.
    pub fn new() -> Self {
        Recording {
            big: false,
            sample_type: ADDRESS | THREAD | TIME | CPU | IDENTIFIER,
            version: 1,
            snapshot: false,
            units: Vec::new(),
            records: Vec::new(),
            index: Vec::new(),
            build_ids: Vec::new(),
            time: 1000,
            pid: 0,
            tid: 0,
            cpu: 0,
        }
    }

    /// The same in the byte order of a big-endian machine; before the first record.
    pub fn big_endian(self) -> Self {
        Recording { big: true, ..self }
    }

    /// Records have no time; before the first one.
    pub fn without_time(self) -> Self {
        Recording { sample_type: self.sample_type & !TIME, ..self }
    }

    /// Records do not say their core; before the first one.
    pub fn without_cpu(self) -> Self {
        Recording { sample_type: self.sample_type & !CPU, ..self }
    }

    /// Version of the header of trace units: 0 or 1.
    pub fn version(self, version: u64) -> Self {
        Recording { version, ..self }
    }

    /// The AUX area was saved by snapshots.
    pub fn snapshot(self) -> Self {
        Recording { snapshot: true, ..self }
    }

    /// The trace unit of a core.
    pub fn unit(&mut self, cpu: u32, ete: bool, registers: BTreeMap<String, u64>) {
        self.units.push((cpu, ete, registers));
    }

    fn word<const N: usize>(&self, mut little: [u8; N]) -> [u8; N] {
        if self.big {
            little.reverse();
        }
        little
    }

    fn u16(&self, value: u16) -> [u8; 2] {
        self.word(value.to_le_bytes())
    }

    fn u32(&self, value: u32) -> [u8; 4] {
        self.word(value.to_le_bytes())
    }

    fn u64(&self, value: u64) -> [u8; 8] {
        self.word(value.to_le_bytes())
    }

    fn words(&self, words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|&word| self.u64(word)).collect()
    }

    /// Adds a record; those of the kernel get their stamp.
    pub fn record(&mut self, kind: u32, misc: u16, body: &[u8]) {
        let mut bytes = body.to_vec();
        if kind < 64 {
            bytes.extend(self.u32(self.pid));
            bytes.extend(self.u32(self.tid));
            if self.sample_type & TIME != 0 {
                bytes.extend(self.u64(self.time));
            }
            if self.sample_type & CPU != 0 {
                bytes.extend(self.u32(self.cpu));
                bytes.extend(self.u32(0));
            }
            bytes.extend(self.u64(SAMPLE_ID));
            self.time += 10;
        }
        let mut record = self.u32(kind).to_vec();
        record.extend(self.u16(misc));
        record.extend(self.u16((bytes.len() + 8) as u16));
        record.extend(bytes);
        self.records.extend(record);
    }

    fn text(text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((bytes.len() + 1).next_multiple_of(8), 0);
        bytes
    }

    fn pair(&self, pid: u32, tid: u32) -> Vec<u8> {
        [self.u32(pid), self.u32(tid)].concat()
    }

    /// A thread gets its name, by `exec` or otherwise.
    pub fn comm(&mut self, pid: u32, tid: u32, name: &str, exec: bool) {
        let body = [self.pair(pid, tid), Self::text(name)].concat();
        self.record(3, if exec { 0x2002 } else { 2 }, &body);
    }

    /// A process or thread begins.
    pub fn fork(&mut self, pid: u32, parent: u32, tid: u32) {
        let mut body = self.pair(pid, parent);
        body.extend(self.pair(tid, parent));
        body.extend(self.u64(self.time));
        self.record(7, 0, &body);
    }

    /// A file is mapped for execution (`MMAP2`).
    pub fn mmap(&mut self, pid: u32, address: u64, length: u64, pgoff: u64, name: &str, id: Option<&[u8]>) {
        let mut body = self.pair(pid, pid);
        body.extend(self.words(&[address, length, pgoff]));
        let mut identity = [0; 24];
        if let Some(id) = id {
            identity[0] = id.len() as u8;
            identity[4..4 + id.len()].copy_from_slice(id);
        }
        body.extend(identity);
        body.extend(self.u32(5));
        body.extend(self.u32(2));
        body.extend(Self::text(name));
        self.record(10, if id.is_some() { 0x4002 } else { 2 }, &body);
    }

    /// The kernel or a module is mapped (`MMAP`).
    pub fn kernel_mmap(&mut self, address: u64, length: u64, pgoff: u64, name: &str) {
        let mut body = self.pair(u32::MAX, 0);
        body.extend(self.words(&[address, length, pgoff]));
        body.extend(Self::text(name));
        self.record(1, 1, &body);
    }

    /// The kernel made code at run time (`KSYMBOL`).
    pub fn ksymbol(&mut self, address: u64, length: u32, name: &str) {
        let mut body = self.u64(address).to_vec();
        body.extend(self.u32(length));
        body.extend(self.u32(1));
        body.extend(Self::text(name));
        self.record(17, 0, &body);
    }

    /// The trace of a thread begins.
    pub fn itrace_start(&mut self, pid: u32, tid: u32) {
        self.record(12, 0, &self.pair(pid, tid));
    }

    /// The current thread leaves the core or comes to it.
    pub fn switch(&mut self, out: bool) {
        self.record(14, if out { 0x2000 } else { 0 }, &[]);
    }

    /// The id of the trace unit of the current core (`AUX_OUTPUT_HW_ID`).
    pub fn hw_id(&mut self, id: u64) {
        self.record(21, 0, &self.u64(id));
    }

    /// A stretch of the AUX area of the current core was filled.
    pub fn aux(&mut self, offset: u64, size: u64, flags: u64) {
        self.record(11, 0, &self.words(&[offset, size, flags]));
    }

    /// Bytes of the AUX area of a core, or of a thread on any core (`cpu` is -1).
    pub fn auxtrace(&mut self, offset: u64, cpu: i32, tid: i32, bytes: &[u8]) {
        let mut body = self.words(&[bytes.len() as u64, offset, 0]);
        for word in [0, tid as u32, cpu as u32, 0] {
            body.extend(self.u32(word));
        }
        self.index.push(self.records.len() as u64);
        self.record(71, 0, &body);
        self.records.extend(bytes);
    }

    /// A session of a core: its `AUX` record, and its bytes at once.
    pub fn session(&mut self, offset: u64, flags: u64, bytes: &[u8]) {
        self.aux(offset, bytes.len() as u64, flags);
        let mut bytes = bytes.to_vec();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        self.auxtrace(offset, self.cpu as i32, -1, &bytes);
    }

    /// The build id of a file, in the section of build ids.
    pub fn build_id(&mut self, pid: u32, name: &str, id: &[u8]) {
        let name = Self::text(name);
        let mut full = id.to_vec();
        full.resize(24, 0);
        full[20] = id.len() as u8;
        let mut record = self.u32(67).to_vec();
        record.extend(self.u16(0x8002));
        record.extend(self.u16((36 + name.len()) as u16));
        record.extend(self.u32(pid));
        record.extend(full);
        record.extend(name);
        self.build_ids.extend(record);
    }

    /// The record of the trace units.
    fn units_record(&self) -> Vec<u8> {
        let mut body = [self.u32(3), self.u32(0)].concat();
        let cpus = u64::from(PMU) << 32 | self.units.len() as u64;
        body.extend(self.words(&[self.version, cpus, self.snapshot.into()]));
        for (cpu, ete, registers) in &self.units {
            let mut names = vec![
                "TRCCONFIGR",
                "TRCTRACEIDR",
                "TRCIDR0",
                "TRCIDR1",
                "TRCIDR2",
                "TRCIDR8",
                "TRCAUTHSTATUS",
            ];
            if *ete {
                names.push("TRCDEVARCH");
            }
            let magic = if *ete { 0x5050_5050_5050_5050 } else { 0x4040_4040_4040_4040 };
            body.extend(self.words(&[magic, (*cpu).into()]));
            if self.version > 0 {
                body.extend(self.u64(names.len() as u64));
            }
            let values: Vec<u64> =
                names.iter().map(|name| registers.get(*name).copied().unwrap_or(0)).collect();
            body.extend(self.words(&values));
        }
        body
    }

    fn attr(&self) -> Vec<u8> {
        let mut attr = self.u32(PMU).to_vec();
        attr.extend(self.u32(112));
        attr.extend(self.words(&[0, 1, self.sample_type, 4]));
        // disabled, inherit, exclude_kernel, mmap, comm, sample_id_all, mmap2, comm_exec
        let flags: u64 = 1 | 1 << 1 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 18 | 1 << 23 | 1 << 24;
        attr.extend(self.u64(if self.big { flags.reverse_bits() } else { flags }));
        attr.resize(112, 0);
        attr
    }

    /// Everything after the trace units, with those before it.
    fn data(&self) -> (Vec<u8>, Vec<u64>) {
        let mut with = Recording { records: Vec::new(), ..self.clone() };
        with.record(70, 0, &self.units_record());
        let before = with.records.len() as u64;
        let index = self.index.iter().map(|at| at + before).collect();
        ([with.records, self.records.clone()].concat(), index)
    }

    /// The file.
    pub fn finish(&self) -> Vec<u8> {
        let (data, index) = self.data();
        // Magic number, sizes and sections, features; then an id, an attribute, the data.
        let (ids, attrs) = (104, 112);
        let attr_size = 112 + 16;
        let start = attrs + attr_size;
        let mut file = if self.big { b"2ELIFREP".to_vec() } else { b"PERFILE2".to_vec() };
        file.extend(self.words(&[104, attr_size, attrs, attr_size, start, data.len() as u64, 0, 0]));
        let string =
            |text: &str| [self.u32(64).to_vec(), text.bytes().chain([0; 64]).take(64).collect()].concat();
        let mut command = self.u32(2).to_vec();
        command.extend(string("perf"));
        command.extend(string("record"));
        let entries = index.iter().flat_map(|at| self.words(&[at + start, 48]));
        let auxtrace: Vec<u8> = self.u64(index.len() as u64).into_iter().chain(entries).collect();
        let features: [(u32, Vec<u8>); 6] = [
            (2, self.build_ids.clone()),
            (4, string("6.1.0")),
            (5, string("6.1")),
            (6, string("aarch64")),
            (11, command),
            (18, auxtrace),
        ];
        let flags = features.iter().fold(0u64, |flags, (bit, _)| flags | 1 << bit);
        file.extend(self.words(&[flags, 0, 0, 0]));
        file.extend(self.u64(SAMPLE_ID));
        file.extend(self.attr());
        file.extend(self.words(&[ids, 8]));
        file.extend(data);
        let mut at = file.len() + 16 * features.len();
        for (_, bytes) in &features {
            file.extend(self.words(&[at as u64, bytes.len() as u64]));
            at += bytes.len();
        }
        features.iter().for_each(|(_, bytes)| file.extend(bytes));
        file
    }

    /// The same as a stream, as `perf record -o -` writes it.
    pub fn pipe(&self) -> Vec<u8> {
        let mut file = if self.big { b"2ELIFREP".to_vec() } else { b"PERFILE2".to_vec() };
        file.extend(self.u64(16));
        let mut attr = Recording { records: Vec::new(), ..self.clone() };
        attr.record(64, 0, &[self.attr(), self.u64(SAMPLE_ID).to_vec()].concat());
        file.extend(attr.records);
        file.extend(self.data().0);
        file
    }
}
