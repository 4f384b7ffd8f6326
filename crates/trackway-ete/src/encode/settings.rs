//! How trace units are programmed and modelled, from TOML: registers in `[ete]`, the rest in `[ete.unit]`.

use super::model::{FifoModel, Model, SourceAddresses};
use super::registers::{Implementation, Registers};
use crate::config::{Framing, Unusable, unusable};
use crate::transport::buffer::{BufferSettings, Mode};

/// One trace unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitSettings {
    /// Name of the source.
    pub name: String,
    /// Name of its core.
    pub core: String,
    /// Its registers.
    pub registers: Registers,
}

/// All trace units, and what becomes of their bytes.
///
/// ```
/// use trackway_ete::encode::Settings;
/// let settings = Settings::from_toml("[ete]\nTRCSYNCPR = 0xa\n[ete.unit]\npreset = 'minimal'\nmax_spec = 15\n")?;
/// let registers = &settings.units[0].registers;
/// assert_eq!((registers.get("TRCSYNCPR"), registers.get("TRCIDR8")), (0xa, 15));
/// assert_eq!(registers.get("TRCVICTLR"), 0x006f_0201);
/// # Ok::<(), trackway_ete::Unusable>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The units, one for each source; the last stands for all further ones, with trace ids of their own.
    pub units: Vec<UnitSettings>,
    /// How they behave.
    pub model: Model,
    /// How their bytes are laid down.
    pub framing: Framing,
    /// A buffer that keeps only so much.
    pub buffer: Option<BufferSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        let registers = Registers::new(&Implementation::default()).everything();
        Settings {
            units: vec![UnitSettings { name: "ETE_0".into(), core: "cpu_0".into(), registers }],
            model: Model::default(),
            framing: Framing::Raw,
            buffer: None,
        }
    }
}

/// Takes keys out of a table, each of one type.
struct Keys {
    table: toml::Table,
}

impl Keys {
    fn number(&mut self, key: &str, into: &mut u64) -> Result<(), Unusable> {
        let value = match self.table.remove(key) {
            None => return Ok(()),
            Some(toml::Value::Integer(value)) => u64::try_from(value).ok(),
            Some(toml::Value::String(text)) => crate::config::number(&text),
            Some(_) => None,
        };
        match value {
            Some(value) => {
                *into = value;
                Ok(())
            }
            None => unusable(format!("[ete.unit] {key} is not a number")),
        }
    }

    fn small(&mut self, key: &str, into: &mut u32) -> Result<(), Unusable> {
        let mut wide = u64::from(*into);
        self.number(key, &mut wide)?;
        match u32::try_from(wide) {
            Ok(value) => {
                *into = value;
                Ok(())
            }
            Err(_) => unusable(format!("[ete.unit] {key} is too large")),
        }
    }

    fn flag(&mut self, key: &str, into: &mut bool) -> Result<(), Unusable> {
        match self.table.remove(key) {
            None => Ok(()),
            Some(toml::Value::Boolean(value)) => {
                *into = value;
                Ok(())
            }
            Some(_) => unusable(format!("[ete.unit] {key} is neither true nor false")),
        }
    }

    fn word(&mut self, key: &str) -> Result<Option<String>, Unusable> {
        match self.table.remove(key) {
            None => Ok(None),
            Some(toml::Value::String(word)) => Ok(Some(word)),
            Some(_) => unusable(format!("[ete.unit] {key} is not a word")),
        }
    }
}

impl Settings {
    /// From the text of a configuration file; what it does not say is as in the default.
    pub fn from_toml(text: &str) -> Result<Self, Unusable> {
        let root: toml::Table =
            text.parse().map_err(|error: toml::de::Error| Unusable { what: error.to_string() })?;
        let section = match root.get("ete") {
            Some(toml::Value::Table(section)) => section.clone(),
            _ => toml::Table::new(),
        };
        let table = match section.get("unit") {
            None => toml::Table::new(),
            Some(toml::Value::Table(table)) => table.clone(),
            Some(_) => return unusable("`ete.unit` is not a section"),
        };
        let mut keys = Keys { table };
        let mut settings = Settings::default();
        let base = programming(&mut keys)?;
        settings.model(&mut keys)?;
        settings.output(&mut keys)?;
        if let Some(key) = keys.table.keys().next() {
            return unusable(format!("[ete.unit] has no key `{key}`"));
        }
        let given = crate::config::read_toml(text)?;
        if settings.framing == Framing::Raw {
            settings.framing = given.framing;
        }
        settings.units = given
            .sources
            .into_iter()
            .enumerate()
            .map(|(n, source)| {
                let mut registers = base.clone();
                if n > 0 {
                    registers.set("TRCTRACEIDR", 0x10 + n as u64);
                }
                registers.0.extend(source.registers);
                let named = !matches!(source.name.as_str(), "ete") && source.name != format!("ete{n}");
                UnitSettings {
                    name: if named { source.name } else { format!("ETE_{n}") },
                    core: if source.core.is_empty() { format!("cpu_{n}") } else { source.core },
                    registers,
                }
            })
            .collect();
        for unit in &settings.units {
            unit.registers.check()?;
        }
        Ok(settings)
    }

    fn model(&mut self, keys: &mut Keys) -> Result<(), Unusable> {
        let model = &mut self.model;
        keys.number("seed", &mut model.seed)?;
        keys.small("mispredict", &mut model.mispredict)?;
        keys.small("run_ahead", &mut model.run_ahead)?;
        keys.flag("late_mispredict", &mut model.late_mispredict)?;
        keys.small("commit_every", &mut model.commit_every)?;
        keys.small("q", &mut model.q)?;
        keys.small("sync_delay", &mut model.sync_delay)?;
        keys.flag("sync_unresolved", &mut model.sync_unresolved)?;
        keys.small("cycles_per_instruction", &mut model.cycles_per_instruction)?;
        keys.small("cycles_per_tick", &mut model.cycles_per_tick)?;
        keys.number("first_timestamp", &mut model.first_timestamp)?;
        keys.flag("halts", &mut model.halts)?;
        model.source_addresses = match keys.word("source_addresses")?.as_deref() {
            None | Some("never") => SourceAddresses::Never,
            Some("always") => SourceAddresses::Always,
            Some("sometimes") => SourceAddresses::Sometimes,
            Some(word) => {
                return unusable(format!("source_addresses `{word}` is none of never, always, sometimes"));
            }
        };
        let mut fifo = FifoModel { bytes: 0, cycles_per_byte: 1 };
        keys.small("fifo_bytes", &mut fifo.bytes)?;
        keys.small("cycles_per_byte", &mut fifo.cycles_per_byte)?;
        model.fifo = (fifo.bytes > 0).then_some(fifo);
        Ok(())
    }

    fn output(&mut self, keys: &mut Keys) -> Result<(), Unusable> {
        if let Some(word) = keys.word("format")? {
            self.framing = match Framing::from_word(&word) {
                Some(framing) => framing,
                None => return unusable(format!("format `{word}` is not known")),
            };
        }
        let mut bytes = 0;
        keys.number("buffer_bytes", &mut bytes)?;
        let mode = match keys.word("buffer")?.as_deref() {
            None => return Ok(()),
            Some("fill") => Mode::Fill,
            Some("wrap") => Mode::Wrap,
            Some("circular") => Mode::Circular,
            Some(word) => return unusable(format!("buffer `{word}` is none of fill, wrap, circular")),
        };
        if bytes == 0 {
            return unusable("a buffer needs its size, `buffer_bytes`");
        }
        self.buffer = Some(BufferSettings { mode, bytes });
        Ok(())
    }

    /// The unit for source `n`.
    pub fn unit(&self, n: usize) -> UnitSettings {
        if let Some(unit) = self.units.get(n) {
            return unit.clone();
        }
        let mut unit = self.units.last().cloned().unwrap_or_else(|| Settings::default().units[0].clone());
        let id = unit.registers.get("TRCTRACEIDR") + (n + 1 - self.units.len().max(1)) as u64;
        unit.registers.set("TRCTRACEIDR", id & 0x7f);
        (unit.name, unit.core) = (format!("ETE_{n}"), format!("cpu_{n}"));
        unit
    }
}

/// The preset, and what the unit is.
fn programming(keys: &mut Keys) -> Result<Registers, Unusable> {
    let mut implementation = Implementation::default();
    let (mut minor, mut cycle_bits) = (u64::from(implementation.minor), 20);
    keys.number("minor", &mut minor)?;
    keys.number("cycle_bits", &mut cycle_bits)?;
    keys.small("max_spec", &mut implementation.max_spec)?;
    keys.flag("commopt", &mut implementation.commopt)?;
    keys.flag("commtrans", &mut implementation.commtrans)?;
    keys.flag("wfx_is_p0", &mut implementation.wfx_is_p0)?;
    keys.flag("timestamp_markers", &mut implementation.timestamp_markers)?;
    if minor > 15 || !(12..=20).contains(&cycle_bits) {
        return unusable("[ete.unit] minor is 0 to 15, cycle_bits 12 to 20");
    }
    (implementation.minor, implementation.cycle_bits) = (minor as u8, cycle_bits as u8);
    let (mut first, mut last) = (0, u64::MAX);
    keys.number("first", &mut first)?;
    keys.number("last", &mut last)?;
    let registers = Registers::new(&implementation);
    Ok(match keys.word("preset")?.as_deref() {
        None | Some("everything") => registers.everything(),
        Some("minimal") => registers.minimal(),
        Some("exclude") => registers.exclude(first, last),
        Some("include") => registers.include(first, last),
        Some(word) => {
            return unusable(format!("preset `{word}` is none of everything, minimal, exclude, include"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_registers_over_them() {
        let text = "[ete]\nTRCCONFIGR = 0x10\n[ete.unit]\npreset = 'exclude'\nfirst = 0x2000\nlast = '0x200f'\n\
                    mispredict = 9\nsource_addresses = 'sometimes'\nbuffer = 'circular'\nbuffer_bytes = 4096\n";
        let settings = Settings::from_toml(text).unwrap();
        let registers = &settings.units[0].registers;
        assert_eq!((registers.get("TRCCONFIGR"), registers.get("TRCACVR1")), (0x10, 0x200f));
        assert_eq!(settings.model.mispredict, 9);
        assert_eq!(settings.buffer.map(|buffer| buffer.bytes), Some(4096));
        for wrong in [
            "[ete.unit]\nfoo = 1",
            "[ete.unit]\npreset = 'x'",
            "[ete]\nTRCFOO = 1",
            "[ete.unit]\nseed = 'x'",
            "[ete.unit]\nbuffer = 'fill'",
        ] {
            assert!(Settings::from_toml(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn registers_are_read_again() {
        let unit = Settings::default().unit(1);
        let text =
            crate::config::to_toml(&[(unit.name, unit.core, unit.registers.0.clone())], Framing::Coresight);
        let read = crate::read_toml(&text).unwrap();
        assert_eq!((read.framing, &read.sources[0].registers), (Framing::Coresight, &unit.registers.0));
        assert_eq!(read.sources[0].trace_id, 0x11);
    }
}
