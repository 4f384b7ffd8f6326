//! Runs a small bare-metal program at EL1 and EL0 and records it: `levels PROGRAM.elf OUT.astf`.
//!
//! Writes a BasicPlus trace from a simulator. The simulator is as small as the program that it
//! is for (`programs/aarch64/levels.S`): what that does not use ends the run with an error. The [`Producer`]
//! does the rest: it writes the Header, puts Timestamp, Trap and Context in order, and refuses what is not legal.

use std::error::Error;
use std::io::Write;

use trackway_astf::{Completion, Context, Level, Producer, Trap, TrapType, WriteConfig};
use trackway_core::{MemAccess, MemKind, Value};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [program, out] = &args[..] else { return Err("usage: levels PROGRAM.elf OUT.astf".into()) };
    record(&std::fs::read(program)?, std::fs::File::create(out)?)
}

/// Runs the program from its entry until it jumps to itself; writes the trace.
pub(crate) fn record(elf: &[u8], out: impl Write) -> Result<(), Box<dyn Error>> {
    let mut trace = Producer::create(out, Level::BasicPlus, true, &WriteConfig::default())?;
    trace.string(b"programs/aarch64/levels.elf, recorded by the example of the same name")?;
    let mut core = Core::load(elf).ok_or("not an ELF file of 64 bits")?;
    trace.timestamp(core.time())?;
    while !core.halted {
        core.step(&mut trace)?;
    }
    trace.finish()?;
    Ok(())
}

/// A core, its memory and its clock.
#[derive(Default)]
struct Core {
    /// Address and bytes of what is loaded; nothing else is there.
    segments: Vec<(u64, Vec<u8>)>,
    pc: u64,
    x: [u64; 32],
    /// Z of the flags: all that the program asks for.
    zero: bool,
    el: u8,
    vbar: u64,
    elr: u64,
    spsr: u64,
    esr: u64,
    /// Instructions so far, and microseconds that were slept.
    count: u64,
    slept: u64,
    halted: bool,
}

/// Effects of an instruction.
enum Did {
    Next,
    Branch(Option<u64>),
    Access(MemAccess),
    Exception { class: u8, call: Option<u16>, access: Option<MemAccess> },
    Return,
    Wait,
}

impl Core {
    fn load(elf: &[u8]) -> Option<Core> {
        let number = |at: usize, len: usize| {
            let bytes = elf.get(at..at + len)?;
            Some(bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte)))
        };
        if !elf.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let mut core = Core { pc: number(24, 8)?, el: 1, ..Core::default() };
        for n in 0..number(56, 2)? {
            let at = (number(32, 8)? + n * number(54, 2)?) as usize;
            if number(at, 4)? == 1 {
                let (offset, address, size) = (number(at + 8, 8)?, number(at + 16, 8)?, number(at + 32, 8)?);
                let bytes = elf.get(offset as usize..(offset + size) as usize)?;
                core.segments.push((address, bytes.to_vec()));
            }
        }
        Some(core)
    }

    /// Microseconds: 4 instructions each, from 100 on.
    fn time(&self) -> u64 {
        100 + self.count / 4 + self.slept
    }

    /// The bytes at an address; none where nothing is loaded.
    fn at(&mut self, address: u64, len: usize) -> Option<&mut [u8]> {
        self.segments.iter_mut().find_map(|(start, bytes)| {
            let from = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get_mut(from..from + len)
        })
    }

    fn read(&mut self, address: u64, len: usize) -> Option<u64> {
        Some(self.at(address, len)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// One instruction, and what it leads to.
    fn step<W: Write>(&mut self, trace: &mut Producer<W>) -> Result<(), Box<dyn Error>> {
        let pc = self.pc;
        let word = self.read(pc, 4).ok_or_else(|| format!("nothing to fetch at {pc:#x}"))? as u32;
        trace.context(Context { el: self.el, handler: self.el > 0, ..Context::default() })?;
        let did = self.execute(word).ok_or_else(|| format!("{word:#010x} at {pc:#x} is not simulated"))?;
        let accesses = match &did {
            Did::Access(access) | Did::Exception { access: Some(access), .. } => std::slice::from_ref(access),
            _ => &[],
        };
        let done = match did {
            Did::Branch(Some(target)) => Completion::Taken(target),
            Did::Branch(None) => Completion::NotTaken,
            Did::Exception { .. } => Completion::Trapped,
            _ => Completion::Next,
        };
        trace.instruction(pc, word, done, accesses)?;
        self.count += 1;
        self.pc = pc + 4;
        match did {
            Did::Branch(Some(target)) => (self.pc, self.halted) = (target, target == pc),
            Did::Exception { class, call, .. } => {
                self.elr = if call.is_some() { pc + 4 } else { pc };
                self.esr = u64::from(class) << 26;
                let syscall = call.map_or((0, 0), |number| (1, number));
                let trap =
                    Trap { ec: class, syscall_type: syscall.0, syscall_index: syscall.1, ..Trap::default() };
                self.enter(0x400, trap, trace)?;
            }
            Did::Return => {
                (self.pc, self.el) = (self.elr, self.spsr as u8 >> 2 & 3);
                let trap = Trap { trap_type: TrapType::RETURN.0, target_pc: self.pc, ..Trap::default() };
                self.switched(trap, trace)?;
            }
            Did::Wait => {
                // Sleeps for a while, and an interrupt ends it.
                let from = self.time();
                self.slept += 50;
                trace.suspend(from, self.time())?;
                self.elr = self.pc;
                self.enter(0x480, Trap { trap_type: TrapType::IRQ.0, ..Trap::default() }, trace)?;
            }
            Did::Next | Did::Branch(None) | Did::Access(_) => {}
        }
        Ok(())
    }

    /// Takes an exception from EL0 to EL1.
    fn enter<W: Write>(
        &mut self,
        vector: u64,
        trap: Trap,
        trace: &mut Producer<W>,
    ) -> Result<(), Box<dyn Error>> {
        if self.el != 0 {
            return Err("an exception at EL1 is not simulated".into());
        }
        (self.spsr, self.el, self.pc) = (0, 1, self.vbar + vector);
        self.switched(Trap { target_pc: self.pc, ..trap }, trace)
    }

    /// A Trap, and the time if it has moved on; the Context comes with the next instruction.
    fn switched<W: Write>(&mut self, trap: Trap, trace: &mut Producer<W>) -> Result<(), Box<dyn Error>> {
        trace.trap(trap)?;
        // A time that is recorded already is not recorded again.
        let _ = trace.timestamp(self.time());
        Ok(())
    }

    /// Executes an instruction; `None` if the program does not use it.
    fn execute(&mut self, word: u32) -> Option<Did> {
        let (rd, rn, rm) = (word as usize & 31, word as usize >> 5 & 31, word as usize >> 16 & 31);
        let signed = |value: u32, bits: u32| i64::from((value << (32 - bits)) as i32 >> (32 - bits));
        let imm12 = u64::from(word >> 10 & 0xfff);
        Some(match word {
            0x0000_0000 => Did::Exception { class: 0, call: None, access: None },
            0xd503_207f => Did::Wait,
            0xd69f_03e0 => Did::Return,
            _ if word & 0xffe0_001f == 0xd400_0001 => {
                Did::Exception { class: 0x15, call: Some((word >> 5) as u16), access: None }
            }
            _ if word & 0xffd0_0000 == 0xd510_0000 => {
                let register = match word >> 5 & 0x7fff {
                    0x4600 => &mut self.vbar,
                    0x4201 => &mut self.elr,
                    0x4200 => &mut self.spsr,
                    0x4290 => &mut self.esr,
                    _ => return None,
                };
                // Bit 21: MRS.
                if word >> 21 & 1 == 1 {
                    self.x[rd] = *register
                } else {
                    *register = self.x[rd]
                }
                Did::Next
            }
            _ if word & 0x9f00_0000 == 0x1000_0000 => {
                let offset = signed((word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3, 21);
                self.x[rd] = self.pc.wrapping_add_signed(offset);
                Did::Next
            }
            _ if word & 0xffe0_0000 == 0xd280_0000 => {
                self.x[rd] = u64::from(word >> 5 & 0xffff);
                Did::Next
            }
            _ if word & 0xffc0_0000 == 0x9100_0000 => {
                self.x[rd] = self.x[rn].wrapping_add(imm12);
                Did::Next
            }
            _ if word & 0xffc0_0000 == 0xf100_0000 => {
                let result = self.x[rn].wrapping_sub(imm12);
                self.zero = result == 0;
                if rd != 31 {
                    self.x[rd] = result;
                }
                Did::Next
            }
            _ if word & 0xffe0_fc00 == 0x8b00_0000 => {
                self.x[rd] = self.x[rn].wrapping_add(self.x[rm]);
                Did::Next
            }
            // LSR: UBFM with all bits up to the last.
            _ if word & 0xffc0_fc00 == 0xd340_fc00 => {
                self.x[rd] = self.x[rn] >> (word >> 16 & 63);
                Did::Next
            }
            _ if word & 0xfc00_0000 == 0x1400_0000 => {
                Did::Branch(Some(self.pc.wrapping_add_signed(signed(word & 0x3ff_ffff, 26) << 2)))
            }
            // EQ and NE.
            _ if word & 0xff00_001e == 0x5400_0000 => {
                let target = self.pc.wrapping_add_signed(signed(word >> 5 & 0x7_ffff, 19) << 2);
                Did::Branch((self.zero == (word & 1 == 0)).then_some(target))
            }
            _ if word & 0xffc0_0000 == 0xa940_0000 => {
                let address = self.x[rn].wrapping_add_signed(signed(word >> 15 & 0x7f, 7) << 3);
                match (self.read(address, 8), self.read(address + 8, 8)) {
                    (Some(first), Some(second)) => {
                        (self.x[rd], self.x[word as usize >> 10 & 31]) = (first, second);
                        Did::Access(MemAccess::read(address, 16, Value::Unknown))
                    }
                    _ => aborts(address, 16),
                }
            }
            // LDR and STR of 64 bits.
            _ if word & 0xff80_0000 == 0xf900_0000 => {
                let address = self.x[rn].wrapping_add(imm12 << 3);
                if word >> 22 & 1 == 1 {
                    match self.read(address, 8) {
                        Some(value) => {
                            self.x[rd] = value;
                            Did::Access(MemAccess::read(address, 8, Value::Unknown))
                        }
                        None => aborts(address, 8),
                    }
                } else {
                    let value = self.x[rd].to_le_bytes();
                    match self.at(address, 8) {
                        Some(bytes) => {
                            bytes.copy_from_slice(&value);
                            Did::Access(MemAccess::write(address, 8, Value::Unknown))
                        }
                        None => aborts(address, 8),
                    }
                }
            }
            _ => return None,
        })
    }
}

/// A Data Abort from EL0: nothing was read or written, the address is known.
fn aborts(address: u64, size: u64) -> Did {
    let access = MemAccess::new(MemKind::Faulting, address, size, Value::Unknown);
    Did::Exception { class: 0x24, call: None, access: Some(access) }
}
