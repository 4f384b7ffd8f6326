//! The trace encoder interface of a core (appendix B), for models and test benches of hardware.

use trackway_core::Result;

use crate::config::Config;
use crate::group::{Frame, Group};
use crate::record::Record;
use crate::register;
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

/// The new pc. The appendix allows "pc + 2" and "pc + 4" to be encoded directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pc {
    /// Advanced by the length of the instruction.
    Increment,
    /// Set to an address.
    To(u64),
}

/// The effects of one instruction or trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceData {
    /// The pc after it.
    pub pc: Pc,
    /// The instruction; none for interrupts.
    pub instr: Option<(ISize, u32)>,
    /// The integer register written.
    pub gpr: Option<(u8, u64)>,
    /// The floating-point register written.
    pub fpr: Option<(u8, u64)>,
    /// CSRs written: four for exceptions that write xtval.
    pub csr: [Option<(u16, u64)>; 4],
    /// New privilege mode, if it changed.
    pub privilege: Option<u8>,
    /// Physical address.
    pub paddr: Option<u64>,
    /// Effective address.
    pub eaddr: Option<u64>,
    /// Memory store data.
    pub memdata: Option<(MemSize, u64)>,
    /// Exception flags that are set in fcsr.
    pub fcsr: Option<u8>,
}

impl TraceData {
    /// An instruction without effects other than the pc.
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

    /// The group that describes it.
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

/// Encodes the effects of instructions.
///
/// ```
/// use trackway_tandem::{Config, encoder::*};
/// let mut encoder = TraceEncoder::new(&Config::default())?;
/// encoder.put(&TraceData { gpr: Some((3, 0x1234)), ..TraceData::new(ISize::ISize32Bit, 0x0062_81b3) })?;
/// encoder.mtime_in(7)?;
/// encoder.mcycle_in(1200)?;
/// encoder.minstret_in(1000)?;
/// // Table C.1, then the timer and the counters outside any group.
/// assert_eq!(encoder.out()?[..8], [0x01, 0x03, 0x11, 0xb3, 0x81, 0x62, 0x00, 0x04]);
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TraceEncoder {
    config: Config,
    writer: Writer<Vec<u8>>,
}

impl TraceEncoder {
    /// Creates an encoder with the widths of `config`.
    pub fn new(config: &Config) -> Result<Self> {
        Ok(TraceEncoder { config: *config, writer: Writer::new(Vec::new(), config)? })
    }

    /// Encodes an instruction or trap.
    pub fn put(&mut self, data: &TraceData) -> Result<()> {
        self.writer.write_group(&data.group())
    }

    /// Encodes the timer, which does not belong to an instruction.
    pub fn mtime_in(&mut self, mtime: u64) -> Result<()> {
        self.writer.write(&Record::Mtime(mtime))
    }

    /// Encodes the cycle counter; on RV32 both halves.
    pub fn mcycle_in(&mut self, mcycle: u64) -> Result<()> {
        self.counter(0xb00, mcycle)
    }

    /// Encodes the counter of retired instructions; on RV32 both halves.
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

    /// Takes the bytes encoded so far.
    pub fn out(&mut self) -> Result<Vec<u8>> {
        let writer = std::mem::replace(&mut self.writer, Writer::new(Vec::new(), &self.config)?);
        writer.into_inner()
    }
}
