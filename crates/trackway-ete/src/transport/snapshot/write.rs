//! Writing snapshot folders that OpenCSD and Trackway read.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway_core::{Context, Privilege, Result, Security, SharedBytes};
use trackway_format::Program;
use trackway_image::{Image, Space};
use trackway_io::{PartFile, Target};

use super::read::SNAPSHOT_INI;
use crate::config::{Config, Framing, to_toml};
use crate::transport::buffer::{BufferConfig, TraceBuffer};
use crate::transport::frames::write::FrameWriter;
use crate::transport::input::{TraceSource, in_order};
use crate::transport::output::{UnitSink, WrittenSource};

/// Number of frames between two synchronisations in `dstream_coresight`.
const FRAMES_PER_SYNC: u32 = 64;

/// Writes a snapshot folder: registers, core and bytes of each source, and the program that ran.
#[derive(Debug)]
pub struct SnapshotWriter {
    target: Target,
    folder: PathBuf,
    framing: Framing,
    buffer: Option<BufferConfig>,
    /// Raw: one file per source.
    files: Vec<BufWriter<PartFile>>,
    /// With a trace buffer: one per source.
    buffers: Vec<TraceBuffer>,
    /// In frames: one file and the frame writer; the trace ids of the sources.
    frames: Option<(BufWriter<PartFile>, FrameWriter)>,
    ids: Vec<u8>,
}

/// File with the bytes of source `n`.
fn buffer_name(n: usize) -> String {
    format!("trace_{n}.bin")
}

const FRAMED: &str = "trace.bin";

impl SnapshotWriter {
    /// Creates the folder if needed. `ids` are the trace ids of the sources.
    pub fn create(
        folder: &Path,
        framing: Framing,
        buffer: Option<BufferConfig>,
        ids: Vec<u8>,
    ) -> std::io::Result<Self> {
        Self::create_for(&Target::new(folder), folder, framing, buffer, ids)
    }

    /// As [`create`](SnapshotWriter::create), in the folder of a target, which notices that the disk is full.
    pub(crate) fn create_for(
        target: &Target,
        folder: &Path,
        framing: Framing,
        buffer: Option<BufferConfig>,
        ids: Vec<u8>,
    ) -> std::io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let frames = match framing {
            Framing::Raw => None,
            framing => {
                let every = (framing == Framing::Dstream).then_some(FRAMES_PER_SYNC);
                let file = BufWriter::new(target.create_in(&folder.join(FRAMED))?);
                Some((file, FrameWriter::new(every)))
            }
        };
        let folder = folder.to_path_buf();
        let (files, buffers) = (Vec::new(), Vec::new());
        Ok(SnapshotWriter { target: target.clone(), folder, framing, buffer, files, buffers, frames, ids })
    }

    /// Stores bytes of the trace unit, or of its trace buffer.
    fn pass(&mut self, n: usize, bytes: &[u8]) -> Result<()> {
        if let Some((file, writer)) = &mut self.frames {
            let id = self.ids.get(n).copied().unwrap_or(0x10 + n as u8);
            writer.write(id, bytes);
            file.write_all(&writer.take())?;
            return Ok(());
        }
        while self.files.len() <= n {
            let path = self.folder.join(buffer_name(self.files.len()));
            self.files.push(BufWriter::new(self.target.create_in(&path)?));
        }
        self.files[n].write_all(bytes)?;
        Ok(())
    }

    /// The files of the buffers, and the sources in each.
    fn buffers(&self, sources: usize) -> Vec<Buffer> {
        let framing = self.framing;
        if self.frames.is_some() {
            return vec![Buffer { file: FRAMED.to_string(), framing, sources: (0..sources).collect() }];
        }
        (0..sources).map(|n| Buffer { file: buffer_name(n), framing, sources: vec![n] }).collect()
    }
}

/// A file with trace bytes.
struct Buffer {
    file: String,
    framing: Framing,
    /// Numbers of its sources.
    sources: Vec<usize>,
}

/// Copies sources as they are: each buffer once, registers, and the program of each core.
pub(crate) fn copy(folder: &Path, sources: &[TraceSource], write_pointer: Option<u64>) -> Result<()> {
    let mut buffers: Vec<(SharedBytes, Buffer)> = Vec::new();
    let mut written = Vec::new();
    for (n, source) in sources.iter().enumerate() {
        written.push(WrittenSource { config: source.config.clone(), image: Arc::clone(&source.image) });
        let shared = |(data, buffer): &&mut (SharedBytes, Buffer)| {
            Arc::ptr_eq(data, &source.data) && buffer.framing == source.framing
        };
        match buffers.iter_mut().find(shared) {
            Some((_, buffer)) => buffer.sources.push(n),
            None => {
                let file = buffer_name(buffers.len());
                let bytes = (*source.data).as_ref();
                match write_pointer {
                    Some(place) => {
                        std::fs::write(folder.join(&file), in_order(bytes, source.framing, place).1)?
                    }
                    None => std::fs::write(folder.join(&file), bytes)?,
                }
                let buffer = Buffer { file, framing: source.framing, sources: vec![n] };
                buffers.push((Arc::clone(&source.data), buffer));
            }
        }
    }
    let buffers: Vec<Buffer> = buffers.into_iter().map(|(_, buffer)| buffer).collect();
    describe(folder, &mut written, &buffers)
}

/// Writes the `.ini` files and the code.
fn describe(folder: &Path, written: &mut [WrittenSource], buffers: &[Buffer]) -> Result<()> {
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text);
    let mut devices = Vec::new();
    let mut dumps = Dumps::default();
    let mut cores: Vec<(String, Arc<Image>)> = Vec::new();
    for (n, source) in written.iter_mut().enumerate() {
        let WrittenSource { config, image } = source;
        let known = cores.iter().find(|(name, _)| name.eq_ignore_ascii_case(&config.core));
        if !known.is_some_and(|(_, other)| Arc::ptr_eq(other, image)) {
            if known.is_some() || config.core.is_empty() {
                // Another program: another core.
                config.core = format!("cpu_{n}");
            }
            cores.push((config.core.clone(), Arc::clone(image)));
            let core = format!("cpu_{n}.ini");
            write(&core, &dumps.core_ini(config, image, folder)?)?;
            devices.push(core);
        }
        let unit = format!("ete_{n}.ini");
        write(&unit, &unit_ini(config))?;
        devices.push(unit);
    }
    let list: String = devices.iter().enumerate().map(|(n, file)| format!("device{n}={file}\n")).collect();
    write("trace.ini", &trace_ini(written, buffers))?;
    let framing = buffers.first().map_or(Framing::Raw, |buffer| buffer.framing);
    write("ete.toml", &to_toml(written.iter().map(|source| &source.config), framing, &Program::default()))?;
    write(
        SNAPSHOT_INI,
        &format!(
            "[snapshot]\nversion=1.0\ndescription=Written by Trackway\n\n[device_list]\n{list}\n[trace]\nmetadata=trace.ini\n"
        ),
    )?;
    Ok(())
}

fn trace_ini(written: &[WrittenSource], buffers: &[Buffer]) -> String {
    let names: Vec<String> = (0..buffers.len()).map(|n| format!("buffer{n}")).collect();
    let mut text = format!("[trace_buffers]\nbuffers={}\n", names.join(","));
    for (n, (name, Buffer { file, framing, .. })) in names.iter().zip(buffers).enumerate() {
        text += &format!("\n[{name}]\nname=ETB_{n}\nfile={file}\nformat={}\n", framing.as_str());
    }
    text += "\n[source_buffers]\n";
    for (n, buffer) in buffers.iter().enumerate() {
        for &source in &buffer.sources {
            text += &format!("{}=ETB_{n}\n", written[source].config.name);
        }
    }
    text += "\n[core_trace_sources]\n";
    for source in written {
        text += &format!("{}={}\n", source.config.core, source.config.name);
    }
    text
}

impl UnitSink for SnapshotWriter {
    fn write(&mut self, n: usize, bytes: &[u8]) -> Result<()> {
        let Some(settings) = self.buffer else { return self.pass(n, bytes) };
        while self.buffers.len() <= n {
            self.buffers.push(TraceBuffer::new(0, settings.bytes, settings.mode));
        }
        self.buffers[n].write(bytes);
        Ok(())
    }

    fn finish(&mut self, written: &[WrittenSource]) -> Result<()> {
        for (n, buffer) in std::mem::take(&mut self.buffers).into_iter().enumerate() {
            self.pass(n, &buffer.collected())?;
        }
        for n in 0..written.len() {
            self.pass(n, &[])?;
        }
        for file in &mut self.files {
            file.flush()?;
        }
        if let Some((file, writer)) = &mut self.frames {
            file.write_all(&std::mem::take(writer).finish())?;
            file.flush()?;
        }
        describe(&self.folder, &mut written.to_vec(), &self.buffers(written.len()))
    }
}

/// Registers of a trace unit.
fn unit_ini(config: &Config) -> String {
    let kind = if config.dialect.ete { "ETE" } else { "ETM4" };
    let mut text = format!("[device]\nname={}\nclass=trace_source\ntype={kind}\n\n[regs]\n", config.name);
    for (register, value) in &config.registers {
        text += &format!("{register}={value:#x}\n");
    }
    text
}

/// Dumps written so far; cores with the same program share them.
#[derive(Default)]
struct Dumps {
    known: BTreeMap<(u64, Vec<u8>), String>,
}

impl Dumps {
    fn core_ini(&mut self, config: &Config, image: &Image, folder: &Path) -> Result<String> {
        let (core, kind) = (&config.core, config.profile.core());
        let mut text = format!(
            "[device]\nname={core}\nclass=core\ntype={kind}\n\n[regs]\nPC(size:64)=0x0\nSP(size:64)=0x0\nSCTLR_EL1=0x0\nCPSR=0x0\n"
        );
        let mut number = 0;
        for (address, bytes, space) in pieces(image) {
            number += 1;
            let length = bytes.len();
            let count = self.known.len();
            let file = match self.known.get(&(address, bytes.clone())) {
                Some(file) => file.clone(),
                None => {
                    let file = format!("code_{count}.bin");
                    std::fs::write(folder.join(&file), &bytes)?;
                    self.known.insert((address, bytes), file.clone());
                    file
                }
            };
            text += &format!("\n[dump{number}]\nfile={file}\naddress={address:#x}\nlength={length:#x}\n");
            if let Some(space) = space {
                text += &format!("space={space}\n");
            }
        }
        Ok(text)
    }
}

/// Executable memory, each with the word for its memory space. Memory that all contexts see does not overlap.
fn pieces(image: &Image) -> Vec<(u64, Vec<u8>, Option<&'static str>)> {
    let mut pieces = Vec::new();
    if image.parts().iter().all(|part| part.space.is_everywhere()) {
        let memory = image.memory(&Context::default());
        for segment in memory.segments().iter().filter(|segment| segment.executable) {
            let mut bytes = segment.bytes().to_vec();
            // OpenCSD refuses a dump that ends inside a halfword.
            let end = segment.address.wrapping_add(bytes.len() as u64);
            if end % 2 == 1 && memory.bytes_at(end).is_none() {
                bytes.push(0);
            }
            pieces.push((segment.address, bytes, None));
        }
        return pieces;
    }
    for part in image.parts() {
        for segment in part.segments.iter().filter(|segment| segment.executable) {
            pieces.push((segment.address, segment.bytes().to_vec(), space_word(&part.space)));
        }
    }
    pieces
}

/// The snapshot's word for a memory space; spaces by identifier have none.
fn space_word(space: &Space) -> Option<&'static str> {
    use Privilege::{El0, El1, El2, El3};
    Some(match (&space.privileges[..], space.security) {
        ([], Some(Security::Secure)) => "S",
        ([], Some(Security::NonSecure)) => "N",
        ([], Some(Security::Realm)) => "R",
        ([El3], _) => "EL3",
        ([El2], Some(Security::Secure)) => "EL2S",
        ([El2], Some(Security::Realm)) => "EL2R",
        ([El2], _) => "EL2N",
        ([El0 | El1] | [El0, El1], Some(Security::Secure)) => "EL1S",
        ([El0 | El1] | [El0, El1], Some(Security::Realm)) => "EL1R",
        ([El0 | El1] | [El0, El1], _) => "EL1N",
        _ => return None,
    })
}
