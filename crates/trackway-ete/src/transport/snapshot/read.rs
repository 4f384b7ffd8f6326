//! Snapshot folders as OpenCSD and Arm's debuggers write them: `.ini` files, trace buffers, memory dumps.
//!
//! Variations are accepted: keys in any case, either line end, register names followed by an address, commas at the end
//! of lists, missing dumps, empty buffers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway_core::{Buffer, Privilege, Security, SharedBytes};
use trackway_image::{Image, Space};

use crate::config::{Config, ConfigError, Framing, number, refuse};
use crate::profile::Profile;
use crate::transport::input::TraceSource;

/// The file that makes a folder a snapshot.
pub(crate) const SNAPSHOT_INI: &str = "snapshot.ini";

/// The description of a snapshot folder.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The folder.
    pub folder: PathBuf,
    /// Description in `snapshot.ini`.
    pub description: Option<String>,
    /// The sources that can be decoded, in the order of the buffers, then by trace id.
    pub sources: Vec<SnapshotSource>,
    /// Remarks on anything that was left out or is unusual.
    pub notes: Vec<String>,
}

/// A source of a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotSource {
    /// The trace unit's registers.
    pub config: Config,
    /// How the source's bytes are stored in the buffer.
    pub framing: Framing,
    /// File of the buffer.
    pub buffer: PathBuf,
    /// Dumps of the core's memory.
    pub dumps: Vec<Dump>,
}

/// A dump of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// The file.
    pub file: PathBuf,
    /// Address of the first byte.
    pub address: u64,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes; up to the end of the file if not given.
    pub length: Option<u64>,
    /// The contexts that see the memory.
    pub space: Space,
}

/// An `.ini` file: sections in order, each with its keys in order, in lower case.
#[derive(Debug, Default)]
struct Ini(Vec<(String, Vec<(String, String)>)>);

impl Ini {
    fn read(text: &str) -> Self {
        let mut ini = Ini::default();
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[') {
                let name = name.split(']').next().unwrap_or(name);
                ini.0.push((name.trim().to_string(), Vec::new()));
            } else if !line.starts_with([';', '#'])
                && let Some((key, value)) = line.split_once('=')
                && let Some(section) = ini.0.last_mut()
            {
                section.1.push((key.trim().to_string(), value.trim().trim_matches('"').to_string()));
            }
        }
        ini
    }

    fn open(path: &Path) -> Result<Self, ConfigError> {
        match std::fs::read(path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                Ok(Self::read(text.trim_start_matches('\u{feff}')))
            }
            Err(error) => refuse(format!("{}: {error}", path.display())),
        }
    }

    fn section(&self, name: &str) -> &[(String, String)] {
        let section = self.0.iter().find(|section| section.0.eq_ignore_ascii_case(name));
        section.map_or(&[], |section| &section.1)
    }

    fn get(&self, section: &str, key: &str) -> Option<&str> {
        get(self.section(section), key)
    }
}

fn get<'a>(keys: &'a [(String, String)], key: &str) -> Option<&'a str> {
    keys.iter().find(|pair| pair.0.eq_ignore_ascii_case(key)).map(|pair| pair.1.as_str())
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty())
}

/// A device of the snapshot.
#[derive(Debug)]
struct Device {
    name: String,
    class: String,
    kind: String,
    registers: BTreeMap<String, u64>,
    dumps: Vec<Dump>,
}

impl Device {
    fn open(folder: &Path, file: &str, notes: &mut Vec<String>) -> Result<Self, ConfigError> {
        let ini = Ini::open(&folder.join(file))?;
        let word = |key| ini.get("device", key).unwrap_or_default().to_string();
        let mut device = Device {
            name: word("name"),
            class: word("class").to_ascii_lowercase(),
            kind: word("type"),
            registers: BTreeMap::new(),
            dumps: Vec::new(),
        };
        for (key, value) in ini.section("regs") {
            // `TRCIDR0(0x1E0)`, `PC(size:64)`.
            let name = key.split('(').next().unwrap_or(key).trim().to_uppercase();
            match number(value) {
                Some(value) => {
                    device.registers.insert(name, value);
                }
                None => notes.push(format!("{file}: {key}: `{value}` is not a number")),
            }
        }
        for (name, keys) in &ini.0 {
            if name.len() >= 4 && name.is_char_boundary(4) && name[..4].eq_ignore_ascii_case("dump") {
                match dump(folder, keys) {
                    Some(dump) if dump.file.is_file() => device.dumps.push(dump),
                    Some(dump) => notes.push(format!("{file}: [{name}]: {} is missing", dump.file.display())),
                    None => {
                        notes.push(format!("{file}: [{name}] has no file, no address or an unknown space"))
                    }
                }
            }
        }
        Ok(device)
    }

    /// True for ETE, false for ETMv4; `None` for other trace sources.
    fn is_ete(&self) -> Option<bool> {
        let kind = self.kind.to_ascii_uppercase();
        if kind.starts_with("ETE") {
            Some(true)
        } else if kind.starts_with("ETM4") || kind.starts_with("ETMV4") {
            Some(false)
        } else {
            None
        }
    }
}

fn dump(folder: &Path, keys: &[(String, String)]) -> Option<Dump> {
    Some(Dump {
        file: folder.join(get(keys, "file")?.replace('\\', "/")),
        address: number(get(keys, "address")?)?,
        offset: get(keys, "offset").and_then(number).unwrap_or(0),
        length: get(keys, "length").and_then(number),
        space: match get(keys, "space") {
            Some(word) => space(word)?,
            None => Space::default(),
        },
    })
}

/// The contexts of a memory space; EL0 sees that of EL1.
fn space(word: &str) -> Option<Space> {
    use Privilege::{El0, El1, El2, El3};
    use Security::{NonSecure, Realm, Root, Secure};
    let (privileges, security) = match word.trim().to_ascii_uppercase().as_str() {
        "ANY" | "" => (vec![], None),
        "EL1S" => (vec![El0, El1], Some(Secure)),
        "EL1N" => (vec![El0, El1], Some(NonSecure)),
        "EL1R" => (vec![El0, El1], Some(Realm)),
        "EL2S" => (vec![El2], Some(Secure)),
        "EL2" | "EL2N" => (vec![El2], Some(NonSecure)),
        "EL2R" => (vec![El2], Some(Realm)),
        "EL3" => (vec![El3], None),
        "ROOT" => (vec![El3], Some(Root)),
        "S" => (vec![], Some(Secure)),
        "N" => (vec![], Some(NonSecure)),
        "R" => (vec![], Some(Realm)),
        _ => return None,
    };
    Some(Space { privileges, security, ..Space::default() })
}

impl Snapshot {
    /// Reads the `.ini` files of a folder.
    pub fn open(folder: &Path) -> Result<Self, ConfigError> {
        let mut snapshot = Snapshot { folder: folder.to_path_buf(), ..Snapshot::default() };
        let ini = Ini::open(&folder.join(SNAPSHOT_INI))?;
        snapshot.description = ini.get("snapshot", "description").map(str::to_string);
        let mut devices = Vec::new();
        for (key, file) in ini.section("device_list") {
            match Device::open(folder, file, &mut snapshot.notes) {
                Ok(device) => devices.push(device),
                Err(error) => snapshot.notes.push(format!("{key}: {error}")),
            }
        }
        let Some(metadata) = ini.get("trace", "metadata") else {
            return refuse(format!("{}: no [trace] metadata", folder.join(SNAPSHOT_INI).display()));
        };
        let trace = Ini::open(&folder.join(metadata))?;
        snapshot.read_sources(&trace, &devices);
        if snapshot.sources.is_empty() {
            let notes = snapshot.notes.join("; ");
            return refuse(format!("{}: no ETE or ETMv4 source in it; {notes}", folder.display()));
        }
        Ok(snapshot)
    }

    fn read_sources(&mut self, trace: &Ini, devices: &[Device]) {
        let device = |name: &str| devices.iter().find(|device| device.name.eq_ignore_ascii_case(name));
        let listed: Vec<String> =
            list(trace.get("trace_buffers", "buffers").unwrap_or_default()).map(str::to_lowercase).collect();
        for (section, keys) in &trace.0 {
            if !listed.contains(&section.to_lowercase()) {
                continue;
            }
            let (Some(name), Some(file)) = (get(keys, "name"), get(keys, "file")) else {
                self.notes.push(format!("[{section}]: buffer without a name or a file"));
                continue;
            };
            let word = get(keys, "format").unwrap_or("coresight");
            let Ok(framing) = word.parse::<Framing>() else {
                self.notes.push(format!("[{section}]: format `{word}` is not known"));
                continue;
            };
            let mut sources = Vec::new();
            for (source, buffers) in trace.section("source_buffers") {
                if !list(buffers).any(|buffer| buffer.eq_ignore_ascii_case(name)) {
                    continue;
                }
                let Some(unit) = device(source) else {
                    self.notes.push(format!("{source}: no device of this name"));
                    continue;
                };
                let core = trace
                    .section("core_trace_sources")
                    .iter()
                    .find(|(_, traced)| traced.eq_ignore_ascii_case(source))
                    .and_then(|(core, _)| device(core))
                    .or_else(|| devices.iter().find(|device| device.class == "core"));
                match read_source(unit, core) {
                    Ok(config) => sources.push(SnapshotSource {
                        config,
                        framing,
                        buffer: self.folder.join(file.replace('\\', "/")),
                        dumps: core.map(|core| core.dumps.clone()).unwrap_or_default(),
                    }),
                    Err(error) => self.notes.push(error.message),
                }
            }
            sources.sort_by_key(|source| source.config.trace_id);
            self.sources.append(&mut sources);
        }
    }

    /// Opens buffers and dumps with `open`. Sources with the same dumps share one image. A dump or buffer that cannot be
    /// opened is noted and has no bytes. `base` returns the image that the dumps are added to: empty, or with programs
    /// from elsewhere.
    pub fn sources(
        &mut self,
        open: &dyn Fn(&Path) -> std::io::Result<SharedBytes>,
        base: &dyn Fn() -> Image,
    ) -> Vec<TraceSource> {
        let mut images: Vec<(Vec<Dump>, Arc<Image>)> = Vec::new();
        let mut buffers: BTreeMap<PathBuf, SharedBytes> = BTreeMap::new();
        let mut traces = Vec::new();
        for source in &self.sources {
            let image = match images.iter().find(|(dumps, _)| *dumps == source.dumps) {
                Some((_, image)) => Arc::clone(image),
                None => {
                    let image = Arc::new(image_of(base(), &source.dumps, open, &mut self.notes));
                    images.push((source.dumps.clone(), Arc::clone(&image)));
                    image
                }
            };
            let data = match buffers.get(&source.buffer) {
                Some(data) => Arc::clone(data),
                None => {
                    let data = open(&source.buffer).unwrap_or_else(|error| {
                        self.notes.push(format!("{}: {error}", source.buffer.display()));
                        Arc::new(Vec::new())
                    });
                    buffers.insert(source.buffer.clone(), Arc::clone(&data));
                    data
                }
            };
            traces.push(TraceSource { config: source.config.clone(), framing: source.framing, data, image });
        }
        traces
    }
}

fn read_source(unit: &Device, core: Option<&Device>) -> Result<Config, ConfigError> {
    let Some(ete) = unit.is_ete() else {
        return refuse(format!("{}: a source of type {} is not decoded", unit.name, unit.kind));
    };
    let mut config = Config::from_registers(&unit.name, unit.registers.clone(), Some(ete))?;
    if let Some(core) = core {
        config.core = core.name.clone();
        config.profile = Profile::of(&core.kind, config.dialect.minor);
    }
    Ok(config)
}

fn image_of(
    mut image: Image,
    dumps: &[Dump],
    open: &dyn Fn(&Path) -> std::io::Result<SharedBytes>,
    notes: &mut Vec<String>,
) -> Image {
    for dump in dumps {
        let name = dump.file.display().to_string();
        match open(&dump.file) {
            Err(error) => notes.push(format!("{name}: {error}")),
            Ok(data) => {
                let part: SharedBytes = Arc::new(Part { data, offset: dump.offset, length: dump.length });
                if let Err(error) = image.add_raw(&name, dump.address, part, dump.space.clone()) {
                    notes.push(format!("{name}: {error}"));
                }
            }
        }
    }
    image
}

/// A part of a file.
struct Part {
    data: SharedBytes,
    offset: u64,
    length: Option<u64>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        let bytes = (*self.data).as_ref();
        let start = usize::try_from(self.offset).map_or(bytes.len(), |offset| offset.min(bytes.len()));
        let rest = &bytes[start..];
        match self.length.and_then(|length| usize::try_from(length).ok()) {
            Some(length) => &rest[..length.min(rest.len())],
            None => rest,
        }
    }
}

impl Buffer for Part {
    fn release(&self, read: Range<usize>) {
        if let Ok(offset) = usize::try_from(self.offset) {
            self.data.release(offset.saturating_add(read.start)..offset.saturating_add(read.end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ini_files_with_variations() {
        let ini =
            Ini::read("; comment\r\n[Trace_Buffers]\r\nBuffers = a,b, \r\n\r\n[a]\nfile=x = y\n= \nfoo\n");
        assert_eq!(ini.get("trace_buffers", "BUFFERS"), Some("a,b,"));
        assert_eq!(list("a,b, ").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(ini.get("a", "file"), Some("x = y"));
        assert_eq!(ini.get("b", "file"), None);
    }

    #[test]
    fn memory_spaces() {
        use trackway_core::Context;
        let sees = |word, el, security| {
            let context = Context { privilege: Some(el), security: Some(security), ..Context::default() };
            space(word).unwrap().matches(&context)
        };
        assert!(sees("EL1S", Privilege::El0, Security::Secure));
        assert!(!sees("EL1S", Privilege::El0, Security::NonSecure));
        assert!(sees("el2", Privilege::El2, Security::NonSecure));
        assert!(sees("EL2R", Privilege::El2, Security::Realm));
        assert!(sees("ROOT", Privilege::El3, Security::Root));
        assert!(sees("EL3", Privilege::El3, Security::Secure));
        assert!(sees("N", Privilege::El2, Security::NonSecure));
        assert!(sees("ANY", Privilege::El2, Security::Realm));
        assert!(space("EL9").is_none());
    }
}
