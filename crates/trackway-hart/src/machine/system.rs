//! The memory map: RAM first, then everything else.

use super::devices::{Clint, Plic, Uart};
use crate::bus::{Bus, load};
use crate::config::Config;
use crate::ram::Ram;

/// Base of the RAM.
pub const RAM_BASE: u64 = 0x8000_0000;
/// Where the core starts.
pub const ROM_BASE: u64 = 0x1000;

const FINISHER: u64 = 0x10_0000;
const CLINT: u64 = 0x200_0000;
const PLIC: u64 = 0xc00_0000;
const UART: u64 = 0x1000_0000;

/// The state of a machine's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Still running.
    Running,
    /// The program said that it ended well.
    Passed,
    /// The program reported failure with this code.
    Failed(u64),
}

/// Memory and devices of a [`Machine`](super::Machine).
#[derive(Clone, Debug)]
pub struct System {
    ram: Ram,
    pub(super) rom: Vec<u8>,
    pub(super) clint: Clint,
    pub(super) plic: Plic,
    pub(super) uart: Uart,
    pub(super) tohost: u64,
    pub(super) fromhost: u64,
    pub(super) status: Status,
    /// A device changed, or the program ended: interrupt lines and status must be looked at.
    pub(super) changed: bool,
}

impl System {
    pub(super) fn new(ram: usize, core: &Config, entry: u64) -> Self {
        Self {
            ram: Ram::new(RAM_BASE, ram),
            rom: reset_rom(core.is_rv32(), entry),
            clint: Clint::default(),
            plic: Plic::default(),
            uart: Uart::default(),
            tohost: u64::MAX,
            fromhost: u64::MAX,
            status: Status::Running,
            changed: false,
        }
    }

    /// The RAM.
    pub fn ram(&self) -> &Ram {
        &self.ram
    }

    /// Copies bytes into RAM; false where they do not fit. Flush the core afterwards if it has run.
    pub fn load(&mut self, address: u64, bytes: &[u8]) -> bool {
        self.ram.load(address, bytes)
    }

    #[cold]
    #[inline(never)]
    fn read_device(&mut self, address: u64, size: usize) -> Option<u64> {
        match address {
            0x1000..=0xffff => load(&self.rom, (address - ROM_BASE) as usize, size),
            0x10_0000..=0x10_0fff => Some(0),
            0x200_0000..=0x200_ffff => self.clint.read(address - CLINT, size),
            0xc00_0000..=0xc5f_ffff => {
                self.changed = true;
                self.plic.read(address - PLIC, size)
            }
            0x1000_0000..=0x1000_00ff => {
                self.changed = true;
                self.uart.read(address - UART, size)
            }
            _ => None,
        }
    }

    #[cold]
    #[inline(never)]
    fn write_device(&mut self, address: u64, size: usize, value: u64) -> bool {
        self.changed = true;
        let done = match address {
            0x10_0000..=0x10_0fff => {
                self.finish(address - FINISHER, value);
                Some(())
            }
            0x200_0000..=0x200_ffff => self.clint.write(address - CLINT, size, value),
            0xc00_0000..=0xc5f_ffff => self.plic.write(address - PLIC, size, value),
            0x1000_0000..=0x1000_00ff => self.uart.write(address - UART, size, value),
            _ => None,
        };
        done.is_some()
    }

    /// The test finisher.
    fn finish(&mut self, offset: u64, value: u64) {
        match (offset, value & 0xffff) {
            (0, 0x5555) => self.status = Status::Passed,
            (0, 0x3333) => self.status = Status::Failed(value >> 16 & 0xffff),
            _ => {}
        }
    }

    /// A command of HTIF: device and command in the top 16 bits, a payload below.
    #[cold]
    #[inline(never)]
    fn command(&mut self) {
        self.changed = true;
        let Some(command) = self.ram.read(self.tohost, 8) else { return };
        if command == 0 {
            return;
        }
        let mut answer = 0;
        match (command >> 48, command & 0xffff_ffff_ffff) {
            (0, 1) => self.status = Status::Passed,
            (0, code) if code & 1 != 0 => self.status = Status::Failed(code >> 1),
            (0, pointer) => {
                self.proxy(pointer);
                answer = 1;
            }
            (0x0101, byte) => {
                self.uart.output.push(byte as u8);
                answer = 0x0101 << 48;
            }
            _ => {}
        }
        self.ram.write(self.tohost, 8, 0);
        if self.fromhost != u64::MAX {
            self.ram.write(self.fromhost, 8, answer);
        }
    }

    /// A system call of the test environment: number, then arguments, as 64-bit words. Only writing is known.
    fn proxy(&mut self, at: u64) {
        let mut words = [0; 4];
        for (n, word) in words.iter_mut().enumerate() {
            *word = self.ram.read(at.wrapping_add(8 * n as u64), 8).unwrap_or(0);
        }
        let result = match words {
            [64, _, from, length] if length <= 1 << 20 => {
                for n in 0..length {
                    let byte = self.ram.read(from.wrapping_add(n), 1).unwrap_or(0);
                    self.uart.output.push(byte as u8);
                }
                length
            }
            [93, code, ..] => {
                self.status = if code == 0 { Status::Passed } else { Status::Failed(code) };
                0
            }
            _ => u64::MAX - 37,
        };
        self.ram.write(at, 8, result);
    }
}

impl Bus for System {
    #[inline(always)]
    fn read(&mut self, address: u64, size: usize) -> Option<u64> {
        match self.ram.read(address, size) {
            None => self.read_device(address, size),
            found => found,
        }
    }

    #[inline(always)]
    fn write(&mut self, address: u64, size: usize, value: u64) -> bool {
        if !self.ram.write(address, size, value) {
            return self.write_device(address, size, value);
        }
        // A 32-bit program stores the low word last or alone.
        if address == self.tohost {
            self.command();
        }
        true
    }

    #[inline(always)]
    fn is_changed(&self) -> bool {
        self.changed
    }

    fn fetch(&mut self, address: u64) -> Option<u16> {
        let half = match self.ram.read(address, 2) {
            None if (0x1000..=0xffff).contains(&address) => self.read_device(address, 2),
            half => half,
        };
        half.map(|half| half as u16)
    }

    fn writable(&mut self, address: u64, size: usize) -> bool {
        // Atomics work on RAM only.
        self.ram.read(address, size).is_some()
    }
}

/// The instructions that QEMU's reset vector has: hart id and a null device tree, then the program.
fn reset_rom(rv32: bool, entry: u64) -> Vec<u8> {
    let (load_tree, load_entry) = if rv32 { (0x0202_a583, 0x0182_a283) } else { (0x0202_b583, 0x0182_b283) };
    let words: [u32; 10] = [
        0x0000_0297, // auipc t0, 0
        0x0282_8613, // addi a2, t0, 40
        0xf140_2573, // csrr a0, mhartid
        load_tree,   // l a1, 32(t0)
        load_entry,  // l t0, 24(t0)
        0x0002_8067, // jr t0
        entry as u32,
        (entry >> 32) as u32,
        0,
        0,
    ];
    let mut rom: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    rom.resize(0xf000, 0);
    rom
}
