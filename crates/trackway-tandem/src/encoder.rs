//! The trace encoder interface (appendix B): what a core hands over, and the bytes it becomes.

use trackway_core::Result;

use crate::config::Config;
use crate::read::{Frame, Group};
use crate::record::{Record, register};
use crate::write::Writer;

/// Size of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ISize {
    /// 16 bits.
    ISize16Bit,
    /// 32 bits.
    ISize32Bit,
}

/// Size of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemSize {
    /// 8 bits.
    MemSize8Bit,
    /// 16 bits.
    MemSize16Bit,
    /// 32 bits.
    MemSize32Bit,
    /// 64 bits.
    MemSize64Bit,
}

/// Where the pc goes. The appendix allows to say "pc + 2" and "pc + 4" directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pc {
    /// By the length of the instruction.
    Increment,
    /// There.
    To(u64),
}

/// What one instruction or trap did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceData {
    /// The new pc.
    pub pc: Pc,
    /// The instruction; none for interrupts.
    pub instr: Option<(ISize, u32)>,
    /// The integer register written.
    pub gpr: Option<(u8, u64)>,
    /// The floating-point register written.
    pub fpr: Option<(u8, u64)>,
    /// CSRs written: four for exceptions that write xtval.
    pub csr: [Option<(u16, u64)>; 4],
    /// Privilege mode, where it changed (a trap does that, in general).
    pub privilege: Option<u8>,
    /// Physical address.
    pub paddr: Option<u64>,
    /// Effective address.
    pub eaddr: Option<u64>,
    /// Memory store data.
    pub memdata: Option<(MemSize, u64)>,
    /// New exception flags, or-ed into fcsr.
    pub fcsr: Option<u8>,
}

impl TraceData {
    /// An instruction that only moves on.
    pub fn new(size: ISize, instr: u32) -> Self {
        TraceData {
            pc: Pc::Increment,
            instr: Some((size, instr)),
            gpr: None,
            fpr: None,
            csr: [None; 4],
            privilege: None,
            paddr: None,
            eaddr: None,
            memdata: None,
            fcsr: None,
        }
    }

    /// The group that tells it.
    pub fn group(&self) -> Group {
        let mut records = vec![match self.pc {
            Pc::Increment => Record::IncrementPc,
            Pc::To(pc) => Record::Pc(pc),
        }];
        records.extend(self.instr.map(|(size, instr)| match size {
            ISize::ISize16Bit => Record::Instruction16(instr as u16),
            ISize::ISize32Bit => Record::Instruction32(instr),
        }));
        let full = |address, data| Record::FullRegister { address, data };
        records.extend(self.gpr.map(|(n, data)| full(register::GPR + u16::from(n & 0x1f), data)));
        records.extend(self.fpr.map(|(n, data)| full(register::FPR + u16::from(n & 0x1f), data)));
        records.extend(self.fcsr.map(|mask| Record::OrRegister { address: 3, mask }));
        records.extend(self.csr.iter().flatten().map(|&(address, data)| full(address & 0xfff, data)));
        records.extend(self.paddr.map(Record::PhysicalAddress));
        records.extend(self.eaddr.map(Record::EffectiveAddress));
        records.extend(self.memdata.map(|(size, data)| Record::StoreData { size: size as u8, data }));
        records.extend(self.privilege.map(Record::PrivilegeMode));
        Group { offset: 0, frame: Frame::Ended, records }
    }
}

/// Turns what a core hands over into bytes.
///
/// ```
/// use trackway_tandem::{Config, encoder::*};
/// let mut encoder = TraceEncoder::new(&Config::default())?;
/// encoder.put(&TraceData { gpr: Some((3, 0x1234)), ..TraceData::new(ISize::ISize32Bit, 0x0062_81b3) })?;
/// encoder.mtime_in(7)?;
/// // Table C.1, then the timer outside any group.
/// assert_eq!(encoder.out()?[..8], [0x01, 0x03, 0x11, 0xb3, 0x81, 0x62, 0x00, 0x04]);
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TraceEncoder {
    config: Config,
    writer: Writer<Vec<u8>>,
}

impl TraceEncoder {
    /// An encoder with the widths of `config`.
    pub fn new(config: &Config) -> Result<Self> {
        Ok(TraceEncoder { config: *config, writer: Writer::new(Vec::new(), config)? })
    }

    /// Takes what an instruction or trap did.
    pub fn put(&mut self, data: &TraceData) -> Result<()> {
        self.writer.write_group(&data.group())
    }

    /// Takes the timer: state that belongs to no instruction.
    pub fn mtime_in(&mut self, mtime: u64) -> Result<()> {
        self.writer.write(&Record::Mtime(mtime))
    }

    /// Takes the cycle counter; on RV32 both halves.
    pub fn mcycle_in(&mut self, mcycle: u64) -> Result<()> {
        self.counter(0xb00, mcycle)
    }

    /// Takes the counter of retired instructions; on RV32 both halves.
    pub fn minstret_in(&mut self, minstret: u64) -> Result<()> {
        self.counter(0xb02, minstret)
    }

    fn counter(&mut self, address: u16, value: u64) -> Result<()> {
        if self.config.xlen == 64 {
            return self.writer.write(&Record::FullRegister { address, data: value });
        }
        self.writer.write(&Record::FullRegister { address, data: value & 0xffff_ffff })?;
        self.writer.write(&Record::FullRegister { address: address + 0x80, data: value >> 32 })
    }

    /// Gives the bytes gathered so far.
    pub fn out(&mut self) -> Result<Vec<u8>> {
        let writer = std::mem::replace(&mut self.writer, Writer::new(Vec::new(), &self.config)?);
        writer.into_inner()
    }
}
