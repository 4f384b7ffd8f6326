//! The trace units that write, and what becomes of their bytes.

use super::model::Model;
use super::registers::{Implementation, Registers};
use crate::config::Framing;
use crate::transport::buffer::BufferConfig;

/// One trace unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitConfig {
    /// Name of the source.
    pub name: String,
    /// Name of its core.
    pub core: String,
    /// Values of the registers.
    pub registers: Registers,
}

/// All trace units, and what becomes of their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeConfig {
    /// One unit per source; the last is used for all further sources, with trace ids of their own.
    pub units: Vec<UnitConfig>,
    /// Behaviour that registers do not define.
    pub model: Model,
    /// How the bytes are stored.
    pub framing: Framing,
    /// A trace buffer of limited size.
    pub buffer: Option<BufferConfig>,
}

impl Default for EncodeConfig {
    fn default() -> Self {
        let registers = Registers::new(&Implementation::default()).everything();
        EncodeConfig {
            units: vec![UnitConfig { name: "ETE_0".into(), core: "cpu_0".into(), registers }],
            model: Model::default(),
            framing: Framing::Raw,
            buffer: None,
        }
    }
}

impl EncodeConfig {
    /// The unit for source `n`.
    pub fn unit(&self, n: usize) -> UnitConfig {
        if let Some(unit) = self.units.get(n) {
            return unit.clone();
        }
        let mut unit = self.units.last().cloned().unwrap_or_else(|| EncodeConfig::default().units[0].clone());
        let id = unit.registers.get("TRCTRACEIDR") + (n + 1 - self.units.len().max(1)) as u64;
        unit.registers.set("TRCTRACEIDR", id & 0x7f);
        (unit.name, unit.core) = (format!("ETE_{n}"), format!("cpu_{n}"));
        unit
    }
}
