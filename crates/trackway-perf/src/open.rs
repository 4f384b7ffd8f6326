//! perf.data as a format of Trackway.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use trackway_core::{
    ErrorKind, Finding, FormatId, Input, Isa, Items, Meta, Producer, Rule, SharedBytes, Sink, Source, Stream,
};
use trackway_ete::{Config, Options, Packets, check_packets};
use trackway_format::{
    Error, Flag, Format, Key, Opened, Opening, Probe, Recognised, Result, Settings, Writing,
};
use trackway_image::Image;

use crate::binaries::{Named, Places};
use crate::config::{FLAGS, ID, Section};
use crate::header::{ARCH, CMDLINE, Header, OS_RELEASE, VERSION, is_recording};
use crate::image::{advice, build};
use crate::items::RecordItems;
use crate::lift::Lift;
use crate::record::Records;
use crate::rules::{AUXTRACE, HEADER, LOST, RECORD, RULES, TRACE_ID};
use crate::scan::Scan;
use crate::sessions::{Lane, Lanes, Surroundings, lanes};
use crate::tasks::Unknown;

/// Recordings of perf.
pub static FORMAT: Perf = Perf;

/// The format; see [`FORMAT`].
#[derive(Clone, Copy, Debug)]
pub struct Perf;

impl Format for Perf {
    fn id(&self) -> FormatId {
        ID
    }

    fn title(&self) -> &'static str {
        "perf.data with CoreSight traces"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["data"]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        RULES
    }

    fn keys(&self) -> &'static [Key] {
        Section::KEYS
    }

    fn flags(&self) -> &'static [Flag] {
        FLAGS
    }

    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        is_recording(&probe.file.head).into()
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>> {
        Ok(Box::new(Recording::open(opening)?))
    }

    fn create(&self, _: Writing<'_>, _: &Meta) -> Result<Box<dyn Sink>> {
        Err(Error::Unsupported("perf.data is written by perf alone: Trackway reads it".to_string()))
    }

    fn is_written(&self) -> bool {
        false
    }
}

/// An opened recording.
struct Recording {
    header: Header,
    scan: Scan,
    lanes: Lanes,
    shared: Arc<Surroundings>,
    cancel: trackway_core::Cancel,
    meta: Meta,
    facts: Vec<(&'static str, String)>,
}

impl Recording {
    fn open(opening: Opening) -> Result<Self> {
        let section: Section = opening.settings.of_format(&Perf)?;
        let places = places(&opening, &section)?;
        let file = opening.file.input.read_whole().map_err(|error| Error::Trace(error.into()))?;
        let header = Header::read(&file)?;
        let scan = Scan::of(&file, &header);
        let Some(units) = &scan.units else { return Err(no_trace(&header, &scan)) };
        let mut lanes = lanes(&file, &scan, units);
        if lanes.configs.is_empty() {
            let config = units.all.iter().find_map(|unit| unit.config.clone().ok());
            let refused = || units.all.iter().find_map(|unit| unit.config.clone().err());
            let refused = || Error::Unsupported(refused().unwrap_or_else(|| "it has no trace units".into()));
            lanes.configs.push(config.ok_or_else(refused)?);
        }
        if lanes.lanes.is_empty() {
            let name = lanes.configs[0].name.clone();
            lanes.lanes.push(Lane { name, stretches: Vec::new() });
            lanes.remarks.push("it has no trace: no AUXTRACE record is in the file".to_string());
        }
        let built = build(&scan.world, &places, &scan.module_offsets)?;
        let mut facts = facts(&header, &scan, &lanes);
        facts.extend(built.refused.iter().map(|text| ("doubt", text.clone())));
        if let Some(name) = &opening.source {
            let names: Vec<String> = lanes.lanes.iter().map(|lane| lane.name.clone()).collect();
            lanes.lanes.retain(|lane| lane.name.eq_ignore_ascii_case(name));
            if lanes.lanes.is_empty() {
                return Err(Error::Config(format!("--source {name}: there are {}", names.join(", "))));
            }
        }
        let meta = meta((*file).as_ref(), &header, &scan, &lanes);
        let options = Options {
            threads: opening.threads,
            strict: opening.strict,
            show_withdrawn: section.show_withdrawn,
            min_part: opening.part,
            ..Options::default()
        };
        let mut scan = scan;
        let shared = Arc::new(Surroundings {
            file,
            image: Arc::new(built.image),
            world: Arc::new(std::mem::take(&mut scan.world)),
            missing: Arc::default(),
            changing: Arc::new(built.changing),
            configs: Arc::new(lanes.configs.clone()),
            options,
        });
        Ok(Recording { header, scan, lanes, shared, cancel: opening.cancel, meta, facts })
    }

    /// The packets of all stretches.
    fn packets(&self) -> Packets {
        let stretches = self.lanes.lanes.iter().flat_map(|lane| &lane.stretches);
        let sessions = stretches.map(|stretch| self.shared.session(stretch).0).collect();
        Packets::of_sessions(sessions, self.shared.options)
    }

    /// Everything that is wrong with the file.
    fn errors(&self) -> Vec<trackway_core::Error> {
        self.header.error.into_iter().chain(self.scan.errors.iter().copied()).collect()
    }

    fn records(&self) -> Records {
        Records::new(&self.shared.file, &self.header)
    }
}

/// Where binaries are looked for.
fn places(opening: &Opening, section: &Section) -> Result<Places> {
    if let Some(raw) = opening.program.raw.first() {
        let text = format!("--image {raw}: a recording says where its programs are; name them with --elf");
        return Err(Error::Config(text));
    }
    let folder = |given: &Option<PathBuf>, key: &str, settings: &Settings| -> Result<Option<PathBuf>> {
        let Some(path) = given else { return Ok(None) };
        // An option is relative to the current folder, a setting to its file.
        let places = [path.clone(), settings.resolve(&path.to_string_lossy())];
        let wrong = || Error::Config(format!("{key} {}: no such folder", path.display()));
        places.into_iter().find(|path| path.is_dir()).map(Some).ok_or_else(wrong)
    };
    let read = |spec: &String| Named::read(spec, &opening.program.files);
    Ok(Places {
        named: opening.program.elf.iter().map(read).collect::<Result<_, _>>()?,
        sysroots: folder(&section.sysroot, "sysroot", &opening.settings)?.into_iter().collect(),
        debug_dirs: folder(&section.debug_dir, "debug-dir", &opening.settings)?.into_iter().collect(),
    })
}

/// Why a recording has nothing to decode.
fn no_trace(header: &Header, scan: &Scan) -> Error {
    if let Some(error) = header.error.or(scan.errors.first().copied()) {
        return Error::Trace(error);
    }
    if let Some(kind) = scan.others.first() {
        return Error::Unsupported(format!(
            "its trace is {kind}: Trackway decodes CoreSight (ETMv4 and ETE)"
        ));
    }
    if scan.compressed > 0 {
        let text = "its records are compressed: record without -z, or rewrite it with `perf inject`";
        return Error::Unsupported(text.to_string());
    }
    if header.killed {
        return Error::Trace(ErrorKind::Truncated.at(header.data.start, "AUXTRACE_INFO", "", ""));
    }
    let text = "it has samples and no trace: record with `perf record -e cs_etm//u`";
    Error::Unsupported(text.to_string())
}

fn facts(header: &Header, scan: &Scan, lanes: &Lanes) -> Vec<(&'static str, String)> {
    let records: u64 = scan.counts.values().sum();
    let pipe = if header.pipe { ", written to a pipe" } else { "" };
    let mut facts = vec![("container", format!("perf.data, {records} records{pipe}"))];
    if let Some(units) = scan.units.as_ref().filter(|units| units.snapshot) {
        facts.push(("mode", format!("snapshots, header version {}", units.version)));
    }
    if header.killed {
        facts.push(("doubt", "the recorder was killed: the header does not say where the data ends".into()));
    }
    if scan.lost > 0 {
        facts.push(("doubt", format!("{} records were lost while recording", scan.lost)));
    }
    if scan.compressed > 0 {
        facts.push(("doubt", format!("{} compressed records are not read", scan.compressed)));
    }
    let remarks = lanes.strange_ids.iter().chain(&lanes.remarks);
    facts.extend(remarks.map(|text| ("doubt", text.clone())));
    facts
}

fn meta(bytes: &[u8], header: &Header, scan: &Scan, lanes: &Lanes) -> Meta {
    let first: &Config = &lanes.configs[0];
    let version = first.version();
    let mut meta = Meta { flow_only: true, version, ..Meta::new(ID, Isa::A64) };
    meta.timestamps = lanes.configs.iter().any(|config| config.timestamps);
    for lane in &lanes.lanes {
        meta.sources.push(lane.name.clone());
        let bytes: u64 = lane.stretches.iter().map(|stretch| stretch.bytes.end - stretch.bytes.start).sum();
        let units = lane.stretches.first().map_or(first, |stretch| &lanes.configs[stretch.unit]);
        let text = format!(
            "{}, trace id {:#x}, {} sessions, {bytes} bytes",
            units.version(),
            units.trace_id,
            lane.stretches.len()
        );
        meta.notes.push((format!("source {}", lane.name), text));
    }
    let text = |number| header.text(bytes, number);
    if let Some(system) = text(OS_RELEASE) {
        let machine = text(ARCH).map_or(String::new(), |machine| format!(", {machine}"));
        meta.notes.push(("system".into(), format!("Linux {system}{machine}")));
    }
    let command = header.texts(bytes, CMDLINE);
    let tool = command.first().and_then(|path| path.rsplit('/').next()).unwrap_or("perf").to_string();
    let version = text(VERSION).unwrap_or_default();
    meta.producers.push(Producer { name: tool, version, comment: command.join(" ") });
    for (tid, (pid, name)) in &scan.world.names {
        meta.threads.insert((*tid).into(), name.clone());
        let kind = if tid == pid { format!("process {pid}") } else { format!("thread {tid} of {pid}") };
        meta.notes.push((kind, name.clone()));
    }
    meta
}

impl Opened for Recording {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Files that were executed and not found are known once events were read.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.facts.clone();
        let missing = self.shared.missing.lock().unwrap_or_else(PoisonError::into_inner);
        facts.extend(missing.iter().map(|unknown| {
            let text = match unknown {
                Unknown::File(number) => advice(&self.shared.world.dsos[*number]),
                Unknown::Made(address) => {
                    let name = self.shared.world.symbols.get(address).map_or("", |(_, name)| name);
                    format!("no code of {name} at {address:#x}: the kernel made it at run time")
                }
                Unknown::Nothing { kernel: true } => {
                    "kernel code was executed, and the recording does not say where the kernel is: record as root, or \
                     name vmlinux@ADDRESS with --elf"
                        .to_string()
                }
                Unknown::Nothing { kernel: false } => {
                    "code was executed at addresses where the recording has no file mapped".to_string()
                }
            };
            ("doubt", text)
        }));
        facts
    }

    fn programs(&self) -> Vec<Arc<Image>> {
        vec![Arc::clone(&self.shared.image)]
    }

    fn places_programs(&self) -> bool {
        true
    }

    fn events(&mut self) -> Result<Box<dyn Source>> {
        let last = self.lanes.lanes.len() - 1;
        let decoders = self.lanes.lanes.iter().enumerate().map(|(n, lane)| {
            let errors = if n == last { self.errors() } else { Vec::new() };
            Lift::new(&self.shared, lane, errors)
        });
        let events = Stream::new(self.meta.clone(), decoders.collect(), self.shared.options.threads);
        Ok(Box::new(events.with_cancel(self.cancel.clone())))
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        Ok(Box::new(RecordItems::new(self.records(), self.packets(), self.header.error)))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        let mut items = self.scan.counts.values().sum();
        if let Some(error) = &self.header.error {
            report(Finding { rule: &HEADER, offset: error.offset, item: 0, message: error.to_string() });
        }
        for error in &self.scan.errors {
            report(Finding { rule: &RECORD, offset: error.offset, item: 0, message: error.to_string() });
        }
        for stretch in self.lanes.lanes.iter().flat_map(|lane| &lane.stretches) {
            for lost in stretch.before.iter().chain(&stretch.after) {
                let (rule, message): (&'static Rule, String) = match lost.bytes {
                    Some(bytes) => (&AUXTRACE, format!("{bytes} bytes are in no AUXTRACE record")),
                    None => (&LOST, format!("trace was lost: {}", lost.reason.as_str())),
                };
                report(Finding { rule, offset: lost.at, item: 0, message });
            }
        }
        for remark in &self.lanes.strange_ids {
            report(Finding { rule: &TRACE_ID, offset: 0, item: 0, message: remark.clone() });
        }
        let records = items;
        items += check_packets(self.packets(), &mut |finding| {
            report(Finding { item: finding.item + records, ..finding });
        })?;
        Ok(items)
    }

    /// The file as it is.
    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        let mut output = writing.target.create()?;
        let bytes = (*self.shared.file).as_ref();
        let written = output.as_write().write_all(bytes).and_then(|()| output.as_write().flush());
        written.map_err(trackway_core::Error::from)?;
        Ok(self.scan.counts.values().sum())
    }

    fn bytes(&mut self) -> Result<Input> {
        Ok(Input::Whole(SharedBytes::clone(&self.shared.file)))
    }
}
