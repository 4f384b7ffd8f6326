//! Writing snapshot folders that OpenCSD and Trackway read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use trackway_core::{Context, Privilege, Result, Security};
use trackway_image::{Image, Space};

use super::read::SNAPSHOT_INI;
use crate::config::{Config, Framing, to_toml};
use crate::transport::buffer::{BufferConfig, TraceBuffer};
use crate::transport::frames::write::FrameWriter;
use crate::transport::output::{UnitSink, WrittenSource};

/// Number of frames between two synchronisations in `dstream_coresight`.
const FRAMES_PER_SYNC: u32 = 64;

/// Writes a snapshot folder: registers, core and bytes of each source, and the program that ran.
#[derive(Debug)]
pub struct SnapshotWriter {
    folder: PathBuf,
    framing: Framing,
    buffer: Option<BufferConfig>,
    /// Raw: one file per source.
    files: Vec<BufWriter<File>>,
    /// With a trace buffer: one per source.
    buffers: Vec<TraceBuffer>,
    /// In frames: one file and the frame writer; the trace ids of the sources.
    frames: Option<(BufWriter<File>, FrameWriter)>,
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
        std::fs::create_dir_all(folder)?;
        let frames = match framing {
            Framing::Raw => None,
            framing => {
                let every = (framing == Framing::Dstream).then_some(FRAMES_PER_SYNC);
                let file = BufWriter::new(File::create(folder.join(FRAMED))?);
                Some((file, FrameWriter::new(every)))
            }
        };
        let folder = folder.to_path_buf();
        let (files, buffers) = (Vec::new(), Vec::new());
        Ok(SnapshotWriter { folder, framing, buffer, files, buffers, frames, ids })
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
            self.files.push(BufWriter::new(File::create(path)?));
        }
        self.files[n].write_all(bytes)?;
        Ok(())
    }

    fn write_text(&self, name: &str, text: &str) -> Result<()> {
        Ok(std::fs::write(self.folder.join(name), text)?)
    }

    /// Writes the `.ini` files.
    fn describe(&self, written: &[WrittenSource]) -> Result<()> {
        let mut devices = Vec::new();
        let mut dumps = Dumps::default();
        for (n, source) in written.iter().enumerate() {
            let core = format!("cpu_{n}.ini");
            self.write_text(&core, &dumps.core_ini(&source.config.core, &source.image, &self.folder)?)?;
            let unit = format!("ete_{n}.ini");
            self.write_text(&unit, &unit_ini(&source.config))?;
            devices.extend([core, unit]);
        }
        let list: String =
            devices.iter().enumerate().map(|(n, file)| format!("device{n}={file}\n")).collect();
        let text = format!(
            "[snapshot]\nversion=1.0\ndescription=Written by Trackway\n\n[device_list]\n{list}\n[trace]\nmetadata=trace.ini\n"
        );
        self.write_text(SNAPSHOT_INI, &text)?;
        self.write_text("trace.ini", &self.trace_ini(written))?;
        let registers: Vec<_> = written
            .iter()
            .map(|source| {
                let Config { name, core, registers, .. } = &source.config;
                (name.clone(), core.clone(), registers.clone())
            })
            .collect();
        self.write_text("ete.toml", &to_toml(&registers, self.framing))
    }

    fn trace_ini(&self, written: &[WrittenSource]) -> String {
        let framed = self.frames.is_some();
        let count = if framed { 1 } else { written.len() };
        let names: Vec<String> = (0..count).map(|n| format!("buffer{n}")).collect();
        let mut text = format!("[trace_buffers]\nbuffers={}\n", names.join(","));
        for (n, name) in names.iter().enumerate() {
            let file = if framed { FRAMED.to_string() } else { buffer_name(n) };
            let format = self.framing.as_str();
            text += &format!("\n[{name}]\nname=ETB_{n}\nfile={file}\nformat={format}\n");
        }
        text += "\n[source_buffers]\n";
        for (n, source) in written.iter().enumerate() {
            text += &format!("{}=ETB_{}\n", source.config.name, if framed { 0 } else { n });
        }
        text += "\n[core_trace_sources]\n";
        for source in written {
            text += &format!("{}={}\n", source.config.core, source.config.name);
        }
        text
    }
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
        self.describe(written)
    }
}

/// Registers of a trace unit.
fn unit_ini(config: &Config) -> String {
    let mut text = format!("[device]\nname={}\nclass=trace_source\ntype=ETE\n\n[regs]\n", config.name);
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
    fn core_ini(&mut self, core: &str, image: &Image, folder: &Path) -> Result<String> {
        let mut text = format!(
            "[device]\nname={core}\nclass=core\ntype=ARM-AA64\n\n[regs]\nPC(size:64)=0x0\nSP(size:64)=0x0\nSCTLR_EL1=0x0\nCPSR=0x0\n"
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
