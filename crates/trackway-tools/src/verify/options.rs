//! How to verify.

use trackway_hart::Config;

use super::masks::Masks;
use super::memory::Range;

/// Elements that a partial trace leaves out (tandem spec 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absent {
    /// Integer registers.
    pub x: bool,
    /// Floating-point registers.
    pub f: bool,
    /// Control and status registers.
    pub csr: bool,
    /// Privilege.
    pub privilege: bool,
    /// Memory accesses.
    pub memory: bool,
    /// Control registers that an instruction or a trap writes by the way: a log has those that it likes.
    pub implied: bool,
}

/// How to verify.
#[derive(Clone, Debug)]
pub struct Options {
    /// Configuration of the core.
    pub core: Config,
    /// Where it starts after reset, if known.
    pub reset_pc: Option<u64>,
    /// A trace without a reset that begins at one of these addresses begins after one.
    pub begins_at: Vec<u64>,
    /// Bits of control registers that are not compared.
    pub masks: Masks,
    /// Address ranges of devices: what they return is taken from the trace.
    pub mmio: Vec<Range>,
    /// Where memory is; everything else faults. Empty: faults are taken from the trace.
    pub map: Vec<Range>,
    /// Elements that the trace leaves out.
    pub absent: Absent,
    /// Compare `mstatus.FS` even if the trace does not record `mstatus`.
    pub strict: bool,
    /// Root causes after which to stop.
    pub stop_after: Option<usize>,
    /// Gaps, and parts that cannot be read, that a trace may have and still pass.
    pub allow_gaps: u64,
    /// List the mismatches that follow from each root cause.
    pub follow_ups: bool,
    /// A program without its system: one address space, no protection, whatever the level.
    pub flat: bool,
    /// Writes to memory by a system outside the trace are recorded.
    pub system_writes: bool,
    /// Memory whose content is unknown is zero here.
    pub zeroed: Vec<Range>,
    /// Memory that holds what the trace shows of it, such as a ROM.
    pub trusted: Vec<Range>,
    /// Instructions shown before a mismatch.
    pub history: usize,
    /// Collect coverage.
    pub coverage: bool,
    /// The extensions of the core are known: an instruction of another one is a mismatch. Else a trace that needs what
    /// the model does not have is not verified.
    pub extensions_known: bool,
}

impl Options {
    /// A complete trace, and the default masks.
    pub fn new(core: Config) -> Self {
        Options {
            core,
            reset_pc: Some(core.reset_pc),
            begins_at: Vec::new(),
            masks: Masks::default(),
            mmio: Vec::new(),
            map: Vec::new(),
            absent: Absent::default(),
            strict: false,
            stop_after: None,
            allow_gaps: 0,
            follow_ups: false,
            flat: false,
            system_writes: false,
            zeroed: Vec::new(),
            trusted: Vec::new(),
            history: 8,
            coverage: false,
            extensions_known: true,
        }
    }
}
