//! The devices: each knows its registers by their offset.

use std::collections::VecDeque;

/// Input of the PLIC that the UART drives.
pub(super) const UART_INPUT: u8 = 10;

/// Core-local interruptor: software and timer interrupts.
#[derive(Clone, Debug)]
pub(super) struct Clint {
    pub(super) msip: u32,
    pub(super) mtime: u64,
    pub(super) mtimecmp: u64,
}

impl Default for Clint {
    fn default() -> Self {
        Self { msip: 0, mtime: 0, mtimecmp: u64::MAX }
    }
}

/// A 4-byte half or all 8 bytes of a register.
fn part(value: u64, offset: u64, size: usize) -> Option<u64> {
    match (offset & 7, size) {
        (0, 8) => Some(value),
        (0, 4) => Some(value & 0xffff_ffff),
        (4, 4) => Some(value >> 32),
        _ => None,
    }
}

fn set_part(old: u64, offset: u64, size: usize, value: u64) -> Option<u64> {
    match (offset & 7, size) {
        (0, 8) => Some(value),
        (0, 4) => Some(old & !0xffff_ffff | value & 0xffff_ffff),
        (4, 4) => Some(old & 0xffff_ffff | value << 32),
        _ => None,
    }
}

impl Clint {
    pub(super) fn read(&self, offset: u64, size: usize) -> Option<u64> {
        match offset {
            0 if size == 4 => Some(self.msip.into()),
            0x4000..=0x4007 => part(self.mtimecmp, offset, size),
            0xbff8..=0xbfff => part(self.mtime, offset, size),
            4..=0xbff7 if size == 4 => Some(0),
            _ => None,
        }
    }

    pub(super) fn write(&mut self, offset: u64, size: usize, value: u64) -> Option<()> {
        match offset {
            0 if size == 4 => self.msip = value as u32 & 1,
            0x4000..=0x4007 => self.mtimecmp = set_part(self.mtimecmp, offset, size, value)?,
            0xbff8..=0xbfff => self.mtime = set_part(self.mtime, offset, size, value)?,
            4..=0xbff7 if size == 4 => {}
            _ => return None,
        }
        Some(())
    }
}

/// Platform-level interrupt controller: 31 inputs, contexts M and S.
#[derive(Clone, Debug, Default)]
pub(super) struct Plic {
    priority: [u32; 32],
    level: u32,
    pending: u32,
    claimed: u32,
    enable: [u32; 2],
    threshold: [u32; 2],
}

impl Plic {
    pub(super) fn set(&mut self, input: u8, on: bool) {
        if !(1..32).contains(&input) {
            return;
        }
        let bit = 1 << input;
        self.level = if on { self.level | bit } else { self.level & !bit };
        // The gateway forwards a level that is high and not being served.
        self.pending = self.pending & !bit | self.level & bit & !self.claimed;
    }

    /// The input with the highest priority; the lowest number among equals.
    fn best(&self, context: usize) -> u32 {
        let ready = self.pending & self.enable[context];
        (1..32)
            .filter(|n| ready >> n & 1 != 0 && self.priority[*n as usize] > self.threshold[context])
            .max_by_key(|n| (self.priority[*n as usize], 32 - n))
            .unwrap_or(0)
    }

    pub(super) fn raises(&self, context: usize) -> bool {
        self.pending != 0 && self.best(context) != 0
    }

    pub(super) fn read(&mut self, offset: u64, size: usize) -> Option<u64> {
        if size != 4 || !offset.is_multiple_of(4) {
            return None;
        }
        Some(match offset {
            0x0000..=0x007f => self.priority[(offset / 4) as usize].into(),
            0x1000 => self.pending.into(),
            0x2000 | 0x2080 => self.enable[(offset >> 7 & 1) as usize].into(),
            0x20_0000 | 0x20_1000 => self.threshold[(offset >> 12 & 1) as usize].into(),
            0x20_0004 | 0x20_1004 => {
                let input = self.best((offset >> 12 & 1) as usize);
                if input != 0 {
                    self.claimed |= 1 << input;
                    self.pending &= !(1 << input);
                }
                input.into()
            }
            _ => 0,
        })
    }

    pub(super) fn write(&mut self, offset: u64, size: usize, value: u64) -> Option<()> {
        if size != 4 || !offset.is_multiple_of(4) {
            return None;
        }
        match offset {
            0x0004..=0x007f => self.priority[(offset / 4) as usize] = value as u32 & 7,
            0x2000 | 0x2080 => self.enable[(offset >> 7 & 1) as usize] = value as u32 & !1,
            0x20_0000 | 0x20_1000 => self.threshold[(offset >> 12 & 1) as usize] = value as u32 & 7,
            0x20_0004 | 0x20_1004 => {
                let input = value as u32 & 31;
                self.claimed &= !(1 << input);
                self.pending |= self.level & 1 << input & !1;
            }
            _ => {}
        }
        Some(())
    }
}

/// A 16550 as far as a console needs it.
#[derive(Clone, Debug, Default)]
pub(super) struct Uart {
    pub(super) output: Vec<u8>,
    pub(super) input: VecDeque<u8>,
    enable: u8,
    control: u8,
    scratch: u8,
    divisor: [u8; 2],
    modem: u8,
}

impl Uart {
    /// Is its interrupt line up? Data received, or room to send.
    pub(super) fn interrupts(&self) -> bool {
        self.enable & 1 != 0 && !self.input.is_empty() || self.enable & 2 != 0
    }

    pub(super) fn read(&mut self, offset: u64, size: usize) -> Option<u64> {
        if size != 1 {
            return None;
        }
        let latch = self.control & 0x80 != 0;
        Some(u64::from(match offset {
            0 | 1 if latch => self.divisor[offset as usize],
            0 => self.input.pop_front().unwrap_or(0),
            1 => self.enable,
            2 if self.enable & 1 != 0 && !self.input.is_empty() => 0xc4,
            2 if self.enable & 2 != 0 => 0xc2,
            2 => 0xc1,
            3 => self.control,
            4 => self.modem,
            5 => 0x60 | u8::from(!self.input.is_empty()),
            6 => 0xb0,
            7 => self.scratch,
            _ => return None,
        }))
    }

    pub(super) fn write(&mut self, offset: u64, size: usize, value: u64) -> Option<()> {
        if size != 1 {
            return None;
        }
        let (value, latch) = (value as u8, self.control & 0x80 != 0);
        match offset {
            0 | 1 if latch => self.divisor[offset as usize] = value,
            0 => self.output.push(value),
            1 => self.enable = value & 0xf,
            2 | 5 | 6 => {}
            3 => self.control = value,
            4 => self.modem = value,
            7 => self.scratch = value,
            _ => return None,
        }
        Some(())
    }
}
