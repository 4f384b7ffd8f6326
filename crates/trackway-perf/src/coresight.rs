//! The trace units of a recording: `AUXTRACE_INFO` of CoreSight (`cs-etm.h`), and the ids that the kernel chose.

use std::collections::BTreeMap;

use trackway_core::{ErrorKind, Result};
use trackway_ete::Config;

use crate::fields::Fields;

/// `PERF_AUXTRACE_CS_ETM`.
pub(crate) const CS_ETM: u32 = 3;

/// Other kinds of AUX areas, by their number.
pub(crate) fn other_kind(kind: u32) -> &'static str {
    match kind {
        1 => "Intel PT",
        2 => "Intel BTS",
        4 => "Arm SPE",
        5 => "s390 sampling",
        6 => "HiSilicon PTT",
        _ => "an unknown kind of trace",
    }
}

const ETMV3: u64 = 0x3030_3030_3030_3030;
const ETMV4: u64 = 0x4040_4040_4040_4040;
const ETE: u64 = 0x5050_5050_5050_5050;

/// Registers of ETMv4, in their order.
const ETMV4_REGISTERS: [&str; 7] =
    ["TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCAUTHSTATUS"];
/// Registers of ETE: one more, before what newer versions add.
const ETE_REGISTERS: [&str; 8] =
    ["TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCAUTHSTATUS", "TRCDEVARCH"];
/// Number of values of ETMv3.
const ETMV3_VALUES: u64 = 4;

/// Bit 31 of a trace id: the id is in `AUX_OUTPUT_HW_ID` records only.
const ID_UNUSED: u64 = 1 << 31;

/// A trace unit.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) cpu: u32,
    /// Its registers, or why it is not decoded.
    pub(crate) config: std::result::Result<Config, String>,
    /// The sink that its trace goes to, where the kernel says.
    pub(crate) sink: Option<u32>,
    /// The id is known.
    pub(crate) has_id: bool,
}

/// The trace units of a recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Units {
    /// Version of the header.
    pub(crate) version: u64,
    /// The AUX area is a ring that is overwritten, and saved now and then.
    pub(crate) snapshot: bool,
    pub(crate) all: Vec<Unit>,
}

impl Units {
    /// Reads the body of an `AUXTRACE_INFO` record after its type.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Self> {
        fields.u32("reserved")?;
        let here = *fields;
        let version = fields.u64("version")?;
        if version > 2 {
            return Err(here.fail(ErrorKind::Unsupported { found: version }, "version"));
        }
        let cpus = fields.u64("nr_cpus")? & 0xffff_ffff;
        let snapshot = fields.u64("snapshot")? != 0;
        let mut units = Units { version, snapshot, all: Vec::new() };
        for _ in 0..cpus {
            match unit(fields, version) {
                Ok(unit) => units.all.push(unit),
                Err(error) if units.all.is_empty() => return Err(error),
                // Recordings of some cores only have fewer units than they say.
                Err(_) => break,
            }
        }
        Ok(units)
    }

    /// The kernel's word on the id of a core's trace unit (`AUX_OUTPUT_HW_ID`).
    pub(crate) fn set_id(&mut self, cpu: u32, hw_id: u64) {
        let id = (hw_id & 0xff) as u8;
        // Versions above 0.1 are not known.
        let minor = hw_id >> 56 & 0xf;
        if hw_id >> 60 != 0 || !(1..0x70).contains(&id) {
            return;
        }
        for unit in self.all.iter_mut().filter(|unit| unit.cpu == cpu) {
            unit.has_id = true;
            unit.sink = (minor > 0).then_some((hw_id >> 8) as u32);
            if let Ok(config) = &mut unit.config {
                config.trace_id = id;
                config.registers.insert("TRCTRACEIDR".into(), id.into());
            }
        }
    }

    pub(crate) fn of_cpu(&self, cpu: u32) -> Option<&Unit> {
        self.all.iter().find(|unit| unit.cpu == cpu)
    }

    /// The unit with a trace id. Each sink has its own ids; `near` is a core whose trace goes to the same one.
    pub(crate) fn of_id(&self, id: u8, near: Option<u32>) -> Option<&Unit> {
        let sink = near.and_then(|cpu| self.of_cpu(cpu)).and_then(|unit| unit.sink);
        let is_it =
            |unit: &&Unit| unit.has_id && unit.config.as_ref().is_ok_and(|config| config.trace_id == id);
        let mut found = self.all.iter().filter(is_it);
        found.clone().find(|unit| sink.is_some() && unit.sink == sink).or_else(|| found.next())
    }
}

fn unit(fields: &mut Fields<'_>, version: u64) -> Result<Unit> {
    let start = *fields;
    let magic = fields.u64("magic")?;
    let cpu = fields.u64("cpu")? as u32;
    let names: &[&str] = match magic {
        ETMV4 => &ETMV4_REGISTERS,
        ETE => &ETE_REGISTERS,
        ETMV3 => &[],
        found => return Err(start.fail(ErrorKind::Unknown { found }, "magic")),
    };
    let mut count = if magic == ETMV3 { ETMV3_VALUES } else { names.len() as u64 };
    if version > 0 {
        let here = *fields;
        count = fields.u64("nr_params")?;
        if count > 64 || (count as usize) < names.len() {
            return Err(here.fail(ErrorKind::Illegal { found: count }, "nr_params"));
        }
    }
    let mut registers = BTreeMap::new();
    for n in 0..count as usize {
        let name = names.get(n).copied();
        let value = fields.u64(name.unwrap_or("parameter"))?;
        if let Some(name) = name {
            registers.insert(name.to_string(), value);
        }
    }
    if magic == ETMV3 {
        let reason = "an ETMv3 or PTM trace unit: Trackway decodes ETMv4 and ETE".to_string();
        return Ok(Unit { cpu, config: Err(reason), sink: None, has_id: false });
    }
    let id = registers.get("TRCTRACEIDR").copied().unwrap_or(0);
    let has_id = id & ID_UNUSED == 0 && (1..0x70).contains(&(id & 0xff));
    let config = Config::from_registers(format!("cpu{cpu}"), registers, Some(magic == ETE));
    let config =
        config.map(|config| Config { core: cpu.to_string(), ..config }).map_err(|error| error.message);
    Ok(Unit { cpu, config, sink: None, has_id })
}
