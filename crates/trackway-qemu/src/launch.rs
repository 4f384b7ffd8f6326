//! The command that runs a guest.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use trackway_core::Isa;

use crate::clock::Clock;
use crate::probe::Qemu;
use crate::program::{Mode, Program};
use crate::session::Session;

/// A guest that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// User or system mode.
    pub mode: Mode,
    /// The emulator.
    pub qemu: Qemu,
    /// Our plugin.
    pub plugin: PathBuf,
    /// The file of the program that runs.
    pub file: PathBuf,
    /// Its headers.
    pub program: Program,
    /// Arguments: of the program, or of QEMU in system mode.
    pub arguments: Vec<String>,
    /// Variables of the environment.
    pub environment: Vec<(String, String)>,
    /// The same bytes each time: a fixed seed, an empty environment, time by instructions.
    pub deterministic: bool,
    /// Seed of random numbers.
    pub seed: Option<u64>,
    /// Leave out what is not in the program's own file.
    pub skip_libs: bool,
    /// Record registers: from plugin API 4.
    pub registers: bool,
}

impl Command {
    /// The words of the command line, without the emulator.
    pub fn words(&self, folder: &Path) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |list: &[&str]| words.extend(list.iter().map(|word| word.to_string()));
        let seed = self.seed.or(self.deterministic.then_some(1)).map(|seed| seed.to_string());
        if let Some(seed) = &seed {
            add(&["-seed", seed]);
        }
        // A comma in the value of an option is written twice.
        let path = |path: &Path| path.display().to_string().replace(',', ",,");
        let libs = if self.skip_libs { ",libs=skip" } else { "" };
        let registers = if self.registers { ",regs=on" } else { "" };
        add(&["-plugin", &format!("{},folder={}{libs}{registers}", path(&self.plugin), path(folder))]);
        let program = self.file.display().to_string();
        match self.mode {
            Mode::User => {
                let prefix = std::env::var("QEMU_LD_PREFIX").ok().filter(|_| self.deterministic);
                if let Some(prefix) = prefix {
                    add(&["-L", &prefix]);
                }
                add(&[&program]);
            }
            Mode::System => {
                let has = |names: &[&str]| self.arguments.iter().any(|word| names.contains(&word.as_str()));
                if !has(&["-M", "-machine"]) {
                    add(&["-M", "virt"]);
                }
                if self.program.isa == Isa::A64 && !has(&["-cpu"]) {
                    add(&["-cpu", "max"]);
                }
                if !has(&["-nographic", "-display", "-serial"]) {
                    add(&["-nographic"]);
                }
                if !has(&["-nic", "-net", "-netdev"]) {
                    add(&["-nic", "none"]);
                }
                let riscv = matches!(self.program.isa, Isa::Rv32 | Isa::Rv64);
                // It lies where the firmware would be.
                if riscv && (0x7fff_0000..0x8020_0000).contains(&self.program.code) && !has(&["-bios"]) {
                    add(&["-bios", "none"]);
                }
                if !self.arguments.contains(&program) {
                    add(&["-kernel", &program]);
                }
                if let Some(log) = self.log(folder) {
                    add(&["-d", "int", "-D", &log.display().to_string()]);
                }
                if self.deterministic && !has(&["-icount"]) {
                    // With sleep the host's time gets in while nothing runs: a timer then comes a tick earlier or later.
                    add(&["-icount", "shift=0,sleep=off", "-rtc", "base=2000-01-01,clock=vm"]);
                }
            }
        }
        words.extend(self.arguments.iter().cloned());
        words
    }

    /// The clock of the machine, where it counts instructions.
    pub(crate) fn clock(&self, folder: &Path) -> Option<Clock> {
        let is_machine = self.mode == Mode::System;
        is_machine.then(|| Clock::new(self.program.isa, &self.words(folder))).flatten()
    }

    /// The file that QEMU logs exceptions and interrupts to, unless the arguments ask for a log of their own.
    pub fn log(&self, folder: &Path) -> Option<PathBuf> {
        let own = self.arguments.iter().any(|word| word == "-d" || word == "-D");
        (self.mode == Mode::System && !own).then(|| folder.join("int.log"))
    }

    /// Starts it.
    pub fn start(
        &self,
        session: &Session,
        input: Stdio,
        output: Stdio,
    ) -> std::io::Result<std::process::Child> {
        let mut command = std::process::Command::new(&self.qemu.path);
        if self.deterministic {
            command.env_clear();
        }
        command.args(self.words(session.folder())).stdin(input).stdout(output);
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).spawn()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let qemu = Qemu { path: "qemu".into(), version: "7.2".into(), api: 1 };
        let user = Command {
            mode: Mode::User,
            qemu,
            plugin: "/p,1.so".into(),
            file: "prog".into(),
            program: Program { architecture: "aarch64", isa: Isa::A64, start: 0, code: 0 },
            arguments: vec!["-x".into()],
            environment: Vec::new(),
            deterministic: true,
            seed: None,
            skip_libs: false,
            registers: false,
        };
        let words = user.words(Path::new("/f")).join(" ");
        assert!(words.starts_with("-seed 1 -plugin /p,,1.so,folder=/f"), "{words}");
        assert!(words.ends_with("prog -x"), "{words}");
        let system = Command {
            mode: Mode::System,
            program: Program { isa: Isa::Rv64, code: 0x8000_0000, ..user.program },
            arguments: vec!["-smp".into(), "2".into()],
            deterministic: false,
            ..user
        };
        let words = system.words(Path::new("/f")).join(" ");
        assert_eq!(
            words,
            "-plugin /p,,1.so,folder=/f -M virt -nographic -nic none -bios none -kernel prog -d int -D /f/int.log -smp 2"
        );
    }
}
