//! Register access, status, and the sequences of K10.5.7.1, K10.5.7.6 and K10.5.10.

use std::fmt::Write as _;

use super::filter::Filter;
use super::pack::Packer;
use super::registers::{Registers, SAVED, is_register, names};
use super::unit::{Need, Program, Unit};
use crate::config::{ConfigError, number, refuse};

/// TRCSTATR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// IDLE: nothing is traced, and all trace has left the unit.
    pub idle: bool,
    /// PMSTABLE: registers have stable values.
    pub stable: bool,
}

/// Maximum number of reads in a polling loop (K10.5.7.1: it might never complete).
const POLLS: u32 = 1 << 16;
/// Cycles between two reads of TRCSTATR.
const POLL_CYCLES: u64 = 16;

/// The registers that an operating system saves (K10.5.7.6), in the order of the list.
///
/// As text, one line per 32 bits: `TRCACVR0[63:32] = 0x00000000`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved(pub Vec<(String, u64)>);

impl Saved {
    /// Writes the text.
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

    /// Reads the text.
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
    /// The saved registers of a process that was never traced.
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
        // Resources are paused while nothing is traced.
        Status { idle, stable: quiet || self.prohibited }
    }

    /// Reads a register. Most are reliable only while [`Status::stable`].
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

    /// Writes a register. All but TRCPRGCTLR need the unit to be disabled and idle, or the OS lock to be set.
    pub fn write(&mut self, name: &str, value: u64) -> Result<(), ConfigError> {
        let known = SAVED.iter().any(|row| name.starts_with(row.name)) && is_register(name);
        self.demand(known, &format!("{name}: not a writable register"))?;
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

    /// TRCPRGCTLR.EN becomes 1: compression restarts.
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
        (self.packer.out, self.packer.packets, self.packer.base) = (out, packets, self.taken);
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

    /// TRCPRGCTLR.EN becomes 0: unresolved elements are discarded, the rest leaves the unit.
    fn cease(&mut self) {
        self.settle();
        if self.lost {
            self.packer.drop_waiting();
        } else if self.packer.depth > 0 {
            self.packer.flush();
            self.packer.discard(false, false);
        } else {
            self.packer.flush();
        }
        self.checkpoint();
        let (victlr, rsr) = (self.read("TRCVICTLR"), self.read("TRCRSR"));
        // TRCVICTLR.SSSTATUS and TRCRSR.TA keep the state.
        self.registers.set("TRCVICTLR", victlr.unwrap_or(0));
        self.registers.set("TRCRSR", rsr.unwrap_or(0));
        self.registers.set("TRCPRGCTLR", 0);
        self.enabled = false;
        self.forget();
    }

    /// Prohibits or allows tracing, as TRFCR_ELx does.
    pub fn prohibit(&mut self, prohibited: bool) {
        if prohibited && !self.prohibited {
            self.stop(None);
        }
        self.prohibited = prohibited;
    }

    /// Sets or clears the OS lock (OSLAR_EL1); nothing is traced while it is set.
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
            // A context synchronisation event comes between two reads.
            self.cycle += POLL_CYCLES;
        }
        refuse(format!("the trace unit never becomes {what}"))
    }

    /// K10.5.7.1.1: enables the unit and waits until it is not idle.
    pub fn enable(&mut self) -> Result<(), ConfigError> {
        self.write("TRCPRGCTLR", 1)?;
        self.poll("busy", |status| !status.idle)
    }

    /// K10.5.7.1.2: enters a trace prohibited region, lets all trace leave the unit, disables it and waits until it is idle
    /// and stable. No trace is lost.
    pub fn disable(&mut self) -> Result<(), ConfigError> {
        let prohibited = self.prohibited;
        self.prohibit(true);
        self.tsb_csync();
        self.write("TRCPRGCTLR", 0)?;
        let polled = self.poll("idle", |status| status.idle && status.stable);
        self.prohibited = prohibited;
        polled
    }

    /// K10.5.7.1.3: saves the registers before a power down, under the OS lock.
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

    /// K10.5.7.1.3: restores the registers after a power down, and enables the unit if it was enabled.
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
        // Power was off: all other state is lost.
        self.enabled = false;
        self.locked = true;
        self.registers = registers;
        self.forget();
        self.filter = Filter::new(&self.registers);
        self.lock(false);
        Ok(())
    }

    /// K10.5.10: switches a traced process out, in a trace prohibited region; returns the registers to restore later.
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

    /// K10.5.10: switches a traced process in while tracing is prohibited, then allows tracing.
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
