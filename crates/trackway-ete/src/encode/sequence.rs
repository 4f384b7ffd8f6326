//! Register accesses, status, and the sequences of K10.5.7.1, K10.5.7.6 and K10.5.10.

use std::fmt::Write as _;

use super::filter::Filter;
use super::pack::Packer;
use super::registers::{Registers, SAVED, is_register, names};
use super::unit::{Need, Program, Unit};
use crate::config::{ConfigError, number, refuse};

/// TRCSTATR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// IDLE: nothing is traced, and all that was has left the unit.
    pub idle: bool,
    /// PMSTABLE: registers read as they are.
    pub stable: bool,
}

/// How often a loop polls TRCSTATR before it gives up (K10.5.7.1: it might never complete).
const POLLS: u32 = 1 << 16;
/// Cycles between two reads of TRCSTATR.
const POLL_CYCLES: u64 = 16;

/// The registers of K10.5.7.6, in their order: what an operating system keeps of a trace unit.
///
/// Its text is one line for each 32 bits, `TRCACVR0[63:32] = 0x00000000`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved(pub Vec<(String, u64)>);

impl Saved {
    /// As text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.0 {
            let _ = if is_wide(name) {
                writeln!(
                    text,
                    "{name}[31:0] = {:#010x}\n{name}[63:32] = {:#010x}",
                    value & 0xffff_ffff,
                    value >> 32
                )
            } else {
                writeln!(text, "{name} = {value:#010x}")
            };
        }
        text
    }

    /// From text.
    pub fn from_text(text: &str) -> Result<Self, ConfigError> {
        let mut saved: Vec<(String, u64)> = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let parts = line.split_once('=').map(|(name, value)| (name.trim(), number(value)));
            let Some((name, Some(value))) = parts else {
                return refuse(format!("`{line}` is not a register and its value"));
            };
            let (name, half) = match name.split_once('[') {
                None => (name, None),
                Some((name, "31:0]")) => (name, Some(0)),
                Some((name, "63:32]")) => (name, Some(32)),
                Some(_) => return refuse(format!("`{line}`: bits 31:0 or 63:32")),
            };
            if !is_register(name) || half.is_some() != is_wide(name) || value > u64::from(u32::MAX) {
                return refuse(format!("`{line}` is not a register of the list"));
            }
            let value = value << half.unwrap_or(0);
            match saved.last_mut() {
                Some(last) if last.0 == name => last.1 |= value,
                _ => saved.push((name.to_string(), value)),
            }
        }
        Ok(Saved(saved))
    }
}

impl From<&Registers> for Saved {
    /// What would be saved of a unit with these registers: so a process is prepared that was never traced.
    fn from(registers: &Registers) -> Self {
        Saved(SAVED.iter().flat_map(names).map(|name| (name.clone(), registers.get(&name))).collect())
    }
}

fn is_wide(name: &str) -> bool {
    SAVED.iter().any(|row| row.wide && name.starts_with(row.name))
}

impl Unit {
    /// TRCSTATR.
    pub fn status(&mut self) -> Status {
        let quiet = !self.enabled || self.locked;
        let idle = quiet && self.packer.out.len() == self.accepted && self.fifo.is_empty(self.cycle);
        // Resources are paused where nothing is traced.
        Status { idle, stable: quiet || self.prohibited }
    }

    /// Reads a register. Most read as they are only while [`Status::stable`].
    pub fn read(&mut self, name: &str) -> Result<u64, ConfigError> {
        self.demand(is_register(name), &format!("{name}: no such register"))?;
        if name == "TRCSTATR" {
            let Status { idle, stable } = self.status();
            return Ok(u64::from(idle) | u64::from(stable) << 1);
        }
        Ok(match name {
            "TRCPRGCTLR" => u64::from(self.enabled),
            "TRCVICTLR" if self.enabled => {
                self.registers.get(name) & !(1 << 9) | u64::from(self.filter.started) << 9
            }
            "TRCRSR" if self.enabled => self.registers.get(name) & !(1 << 12) | u64::from(self.tracing) << 12,
            _ => self.registers.get(name),
        })
    }

    /// Writes a register. All but TRCPRGCTLR are written while the unit is disabled and idle, or the OS lock is
    /// set.
    pub fn write(&mut self, name: &str, value: u64) -> Result<(), ConfigError> {
        let known = SAVED.iter().any(|row| name.starts_with(row.name)) && is_register(name);
        self.demand(known, &format!("{name}: no register that can be written"))?;
        if name == "TRCPRGCTLR" {
            match value & 1 {
                1 if !self.enabled => self.start(),
                0 if self.enabled => self.cease(),
                _ => {}
            }
            return Ok(());
        }
        let idle = self.status().idle;
        self.demand(idle, &format!("{name} is written while the trace unit is not idle"))?;
        self.registers.set(name, value);
        Ok(())
    }

    /// TRCPRGCTLR.EN becomes 1: compression starts anew.
    fn start(&mut self) {
        self.registers.set("TRCPRGCTLR", 1);
        if let Ok(config) = self.registers.config("unit") {
            self.config = config;
        }
        self.program = Program::new(&self.registers, &self.config);
        self.filter = Filter::new(&self.registers);
        let out = std::mem::take(&mut self.packer.out);
        let packets = self.packer.packets;
        self.packer = Packer::new(&self.config);
        (self.packer.out, self.packer.packets) = (out, packets);
        self.enabled = true;
        self.lost = false;
        self.forget();
        (self.synchronised, self.aligned) = (false, false);
        self.sync_delay = None;
        self.count_unknown = true;
        self.timestamp_due = false;
        let context = self.context;
        self.set_context(context);
        self.need = Need::Yes;
    }

    /// TRCPRGCTLR.EN becomes 0: what is not resolved is discarded, the rest leaves the unit.
    fn cease(&mut self) {
        self.settle();
        if self.lost {
            self.packer.drop_waiting();
        } else if self.packer.depth > 0 {
            self.packer.flush();
            self.packer.discard(false);
        } else {
            self.packer.flush();
        }
        self.checkpoint();
        let (victlr, rsr) = (self.read("TRCVICTLR"), self.read("TRCRSR"));
        // The start/stop logic and whether tracing was active stay in their registers.
        self.registers.set("TRCVICTLR", victlr.unwrap_or(0));
        self.registers.set("TRCRSR", rsr.unwrap_or(0));
        self.registers.set("TRCPRGCTLR", 0);
        self.enabled = false;
        self.forget();
    }

    /// TRFCR_ELx prohibits tracing, or allows it again.
    pub fn prohibit(&mut self, prohibited: bool) {
        if prohibited && !self.prohibited {
            self.stop(None);
        }
        self.prohibited = prohibited;
    }

    /// OSLAR_EL1: with the lock set nothing is traced.
    pub fn lock(&mut self, locked: bool) {
        if locked && !self.locked {
            self.stop(None);
            self.packer.flush();
            self.checkpoint();
        }
        self.locked = locked;
        if !locked && self.registers.get("TRCPRGCTLR") == 1 && !self.enabled {
            self.start();
        }
    }

    /// Polls TRCSTATR until `done`.
    fn poll(&mut self, what: &str, done: impl Fn(Status) -> bool) -> Result<(), ConfigError> {
        for _ in 0..POLLS {
            if done(self.status()) {
                return Ok(());
            }
            // A context synchronisation event stands between two reads.
            self.cycle += POLL_CYCLES;
        }
        refuse(format!("the trace unit never becomes {what}"))
    }

    /// K10.5.7.1.1: enables the unit and waits until it is not idle.
    pub fn enable(&mut self) -> Result<(), ConfigError> {
        self.write("TRCPRGCTLR", 1)?;
        self.poll("busy", |status| !status.idle)
    }

    /// K10.5.7.1.2: enters a trace prohibited region, has all trace leave the unit, disables it and waits until it is
    /// idle and stable. Nothing of the trace is lost.
    pub fn disable(&mut self) -> Result<(), ConfigError> {
        let prohibited = self.prohibited;
        self.prohibit(true);
        self.tsb_csync();
        self.write("TRCPRGCTLR", 0)?;
        let polled = self.poll("idle", |status| status.idle && status.stable);
        self.prohibited = prohibited;
        polled
    }

    /// K10.5.7.1.3: saves the unit's registers over a power down, under the OS lock.
    pub fn save(&mut self) -> Result<Saved, ConfigError> {
        let prohibited = self.prohibited;
        self.prohibit(true);
        self.tsb_csync();
        self.lock(true);
        self.poll("stable", |status| status.stable)?;
        self.prohibited = prohibited;
        let mut saved = Vec::new();
        for name in SAVED.iter().flat_map(names) {
            let value = self.read(&name)?;
            saved.push((name, value));
        }
        self.poll("idle", |status| status.idle)?;
        Ok(Saved(saved))
    }

    /// K10.5.7.1.3: restores registers after a power down. The unit is enabled if it was.
    pub fn restore(&mut self, saved: &Saved) -> Result<(), ConfigError> {
        let identity = |name: &str| name.starts_with("TRCIDR") || name == "TRCDEVARCH";
        let mut registers = Registers::default();
        for (name, &value) in self.registers.0.iter().filter(|(name, _)| identity(name)) {
            registers.set(name, value);
        }
        for (name, value) in &saved.0 {
            registers.set(name, *value);
        }
        registers.check()?;
        // Power was off: nothing of the unit's state is left.
        self.enabled = false;
        self.locked = true;
        self.registers = registers;
        self.forget();
        self.filter = Filter::new(&self.registers);
        self.lock(false);
        Ok(())
    }

    /// K10.5.10: switches a traced process out, in a trace prohibited region: gives what is to be restored later.
    pub fn switch_out(&mut self) -> Result<Saved, ConfigError> {
        self.prohibit(true);
        self.tsb_csync();
        let enabled = self.enabled;
        self.write("TRCPRGCTLR", 0)?;
        self.poll("idle", |status| status.idle && status.stable)?;
        let mut saved = Vec::new();
        for name in SAVED.iter().flat_map(names) {
            let value = if name == "TRCPRGCTLR" { u64::from(enabled) } else { self.read(&name)? };
            saved.push((name, value));
        }
        Ok(Saved(saved))
    }

    /// K10.5.10: switches a traced process in, while tracing is prohibited, and then allows it.
    pub fn switch_in(&mut self, saved: &Saved) -> Result<(), ConfigError> {
        self.prohibit(true);
        let mut enable = 0;
        for (name, value) in &saved.0 {
            if name == "TRCPRGCTLR" {
                enable = *value;
            } else {
                self.write(name, *value)?;
            }
        }
        self.write("TRCPRGCTLR", enable)?;
        self.prohibit(false);
        Ok(())
    }
}
