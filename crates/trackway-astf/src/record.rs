//! Every record of the format, declared once, in the order of the spec.
//!
//! All bit positions are within the 256-bit little-endian record; reserved bits are fields too, so that
//! reading and writing back is byte-exact.

use trackway_core::Syscall;

use crate::layout::{Bits, Field, Words, records};

records! {
    /// ASTF 4.2, table 5: the first record; always stored raw.
    Header = 0x41, "Header", "ASTF 4.2" {
        /// `STF`.
        [31:8] magic_header: u32,
        /// Major version of the format.
        [39:32] version_major: u8,
        /// Minor version of the format.
        [47:40] version_minor: u8,
        /// Reserved.
        reserved [63:48] reserved16: u16,
        /// `format_cfg`: the records after this one are compressed.
        [64:64] compressed: bool,
        /// `format_cfg`: compressed by zlib, not LZMA.
        [65:65] use_zlib: bool,
        /// Reserved.
        reserved [127:66] reserved62: u64,
        /// `feature_cfg`: for future use, 0.
        [128:128] reginfo: bool,
        /// `feature_cfg`: for future use, 0.
        [129:129] meminfo: bool,
        /// `feature_cfg`: for future use, 0.
        [130:130] addrinfo_d: bool,
        /// `feature_cfg`: for future use, 0.
        [131:131] addrinfo_i: bool,
        /// `feature_cfg`: for future use, 0.
        [132:132] pseudo: bool,
        /// `feature_cfg`: one exception level only (a Basic trace).
        [133:133] single_el: bool,
        /// `feature_cfg`: there are Timestamp records.
        [134:134] timestamps: bool,
        /// Reserved.
        reserved [191:135] reserved57: u64,
        /// Reserved.
        reserved [255:192] reserved64: u64,
    }

    /// ASTF 4.4, table 6: execution state for the instructions that follow.
    Context = 0x08, "Context", "ASTF 4.4" {
        /// Streaming SVE mode.
        [8:8] pstate_sm: bool,
        /// Data independent timing.
        [9:9] pstate_dit: bool,
        /// Speculative store bypass.
        [10:10] pstate_ssbs: bool,
        /// Reserved.
        reserved [15:11] reserved5a: u8,
        /// Reserved.
        reserved [31:16] reserved16: u16,
        /// Effective vector length, as LEN: (evl + 1) × 128 bits.
        [35:32] evl: u8,
        /// Reserved.
        reserved [47:36] reserved12: u16,
        /// The PE is in a mode that the format does not cover.
        [48:48] unsupported: bool,
        /// Tag check faults: 0 none, 1 synchronous, 2 asynchronous, 3 asymmetric.
        [50:49] mte_tcf: u8,
        /// Reserved.
        reserved [55:51] reserved5b: u8,
        /// Exception level.
        [57:56] el: u8,
        /// Reserved.
        reserved [59:58] reserved2: u8,
        /// Secure state.
        [60:60] secure: bool,
        /// PSTATE.SP: the level's own stack pointer (table 6 has the two names swapped).
        [61:61] handler: bool,
        /// `pid` is valid.
        [62:62] pid_valid: bool,
        /// `tid` is valid.
        [63:63] tid_valid: bool,
        /// Process id.
        [127:64] pid: u64,
        /// Thread id.
        [191:128] tid: u64,
        /// Reserved (`reserved68` in the table, 64 bits wide).
        reserved [255:192] reserved64: u64,
    }

    /// ASTF 4.5, table 7: one instruction.
    Instruction = 0x01, "Instruction", "ASTF 4.5" {
        /// Use of `xattr`, see [`Instruction::attribute`].
        [9:8] xattr_mode: u8,
        /// Reserved.
        reserved [15:10] reserved6: u8,
        /// Reserved.
        reserved [16:16] reserved1: bool,
        /// The access touched tag memory.
        [17:17] ea_tagged: bool,
        /// The instruction took an exception.
        [18:18] trap: bool,
        /// The instruction is a branch.
        [19:19] is_branch: bool,
        /// The access read memory.
        [20:20] is_read: bool,
        /// The access wrote memory.
        [21:21] is_write: bool,
        /// `ea` holds the address accessed, or the target of a taken branch.
        [22:22] ea_valid: bool,
        /// Extra EA records follow.
        [23:23] extra_eas: bool,
        /// Bytes accessed, minus one; 0 for ranges.
        [31:24] ea_size: u8,
        /// The instruction word.
        [63:32] iword: u32,
        /// Address of the instruction.
        [127:64] pc: u64,
        /// Address accessed, or target.
        [191:128] ea: u64,
        /// ASTF tables 8 to 10, by `xattr_mode`.
        [255:192] xattr: u64,
    }

    /// ASTF 4.6, table 11: one or two more accesses of the instruction before it.
    ExtraEa = 0x07, "Extra EA", "ASTF 4.6" {
        /// Reserved.
        reserved [15:8] mem0_reserved8: u8,
        /// Reserved.
        reserved [20:16] mem0_reserved5: u8,
        /// The first access touched tag memory.
        [21:21] mem0_tagged: bool,
        /// The first access read memory.
        [22:22] mem0_is_read: bool,
        /// The first access wrote memory.
        [23:23] mem0_is_write: bool,
        /// Bytes, minus one; 0 for a range.
        [31:24] mem0_size: u8,
        /// Reserved.
        reserved [63:32] mem0_reserved32: u32,
        /// Address of the first access.
        [127:64] mem0_addr: u64,
        /// The `mem1` fields hold another access.
        [128:128] mem1_valid: bool,
        /// More Extra EA records follow.
        [129:129] extra_eas: bool,
        /// `mem1_addr` is the length of a range at `mem0_addr`.
        [130:130] mem1_addr_range: bool,
        /// Reserved.
        reserved [135:131] reserved5a: u8,
        /// Reserved.
        reserved [143:136] reserved8: u8,
        /// Reserved.
        reserved [148:144] reserved5b: u8,
        /// The second access touched tag memory.
        [149:149] mem1_tagged: bool,
        /// The second access read memory.
        [150:150] mem1_is_read: bool,
        /// The second access wrote memory.
        [151:151] mem1_is_write: bool,
        /// Bytes, minus one.
        [159:152] mem1_size: u8,
        /// Reserved.
        reserved [191:160] mem1_reserved32: u32,
        /// Address of the second access, or the length of the range.
        [255:192] mem1_addr: u64,
    }

    /// ASTF 4.7, table 12: exception, interrupt, exception return, reset.
    Trap = 0x05, "Trap", "ASTF 4.7" {
        /// Reserved.
        reserved [15:8] reserved8: u8,
        /// See [`TrapType`].
        [18:16] trap_type: u8,
        /// Reserved.
        reserved [19:19] reserved1a: bool,
        /// 0 none, 1 SVC, 2 HVC, 3 SMC.
        [21:20] syscall_type: u8,
        /// Reserved.
        reserved [23:22] reserved2: u8,
        /// A virtual interrupt or SError.
        [24:24] is_virtual: bool,
        /// Reserved.
        reserved [25:25] reserved1b: bool,
        /// Exception class, as in ESR_ELx.
        [31:26] ec: u8,
        /// Immediate of the system call instruction.
        [47:32] syscall_index: u16,
        /// Reserved.
        reserved [63:48] reserved16: u16,
        /// Address at which execution continues.
        [127:64] target_pc: u64,
        /// Reserved.
        reserved [255:128] reserved128: u128,
    }

    /// ASTF 4.8, table 13: start of a metadata string.
    StringRecord = 0x43, "String", "ASTF 4.8" {
        /// Reserved.
        reserved [15:8] reserved8: u8,
        /// Bytes of the whole string.
        [31:16] size: u16,
        /// Its first 28 bytes.
        [255:32] string: [u8; 28],
    }

    /// ASTF 4.8, table 14: the next bytes of a metadata string.
    StringContinuation = 0x44, "String continuation", "ASTF 4.8" {
        /// The next 31 bytes.
        [255:8] string: [u8; 31],
    }

    /// ASTF 4.9, table 15: the time.
    Timestamp = 0x45, "Timestamp", "ASTF 4.9" {
        /// 1: microseconds.
        [15:8] unit: u8,
        /// Reserved.
        reserved [31:16] reserved16: u16,
        /// Reserved.
        reserved [63:32] reserved32: u32,
        /// `value[0]`: the time.
        [127:64] value0: u64,
        /// `value[1]`: reserved.
        reserved [191:128] value1: u64,
        /// Reserved.
        reserved [255:192] reserved64: u64,
    }
}

/// ASTF tables 8 to 10: the three uses of `xattr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// Not in use (modes 0 and 3); the bits are reserved.
    None,
    /// Mode 1: length of a range access.
    Range(u64),
    /// Mode 2: index into a ZA tile, and the bits above it.
    Sme(u8, u64),
}

impl Instruction {
    /// The extended attribute, by `xattr_mode`.
    #[inline(always)]
    pub fn attribute(&self) -> Attribute {
        match self.xattr_mode {
            1 => Attribute::Range(self.xattr),
            2 => Attribute::Sme(self.xattr as u8, self.xattr >> 8),
            _ => Attribute::None,
        }
    }

    /// True if any bit of the extended attribute or of its mode is set.
    pub(crate) fn has_xattr(&self) -> bool {
        self.xattr_mode != 0 || self.xattr != 0
    }
}

/// One memory access of an Instruction or an Extra EA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Virtual address.
    pub address: u64,
    /// Bytes of a single access, minus one, as recorded.
    pub size: u8,
    /// Length in bytes, for a range.
    pub range: Option<u64>,
    /// It touched tag memory.
    pub tagged: bool,
    /// It read memory.
    pub read: bool,
    /// It wrote memory.
    pub write: bool,
}

impl Instruction {
    /// Its own access; `None` for a branch, and without `ea_valid`.
    #[inline(always)]
    pub fn access(&self) -> Option<Access> {
        (self.ea_valid && !self.is_branch).then_some(Access {
            address: self.ea,
            size: self.ea_size,
            range: (self.xattr_mode == 1).then_some(self.xattr),
            tagged: self.ea_tagged,
            read: self.is_read,
            write: self.is_write,
        })
    }
}

impl ExtraEa {
    /// Its accesses: one or two.
    pub fn accesses(&self) -> (Access, Option<Access>) {
        let first = Access {
            address: self.mem0_addr,
            size: self.mem0_size,
            range: self.mem1_addr_range.then_some(self.mem1_addr),
            tagged: self.mem0_tagged,
            read: self.mem0_is_read,
            write: self.mem0_is_write,
        };
        let second = (self.mem1_valid && !self.mem1_addr_range).then_some(Access {
            address: self.mem1_addr,
            size: self.mem1_size,
            range: None,
            tagged: self.mem1_tagged,
            read: self.mem1_is_read,
            write: self.mem1_is_write,
        });
        (first, second)
    }
}

/// ASTF table 12: values of `trap_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrapType(pub u8);

impl TrapType {
    /// Synchronous exception.
    pub const SYNCHRONOUS: TrapType = TrapType(0);
    /// System error.
    pub const SERROR: TrapType = TrapType(1);
    /// Interrupt.
    pub const IRQ: TrapType = TrapType(2);
    /// Fast interrupt.
    pub const FIQ: TrapType = TrapType(3);
    /// Exception return.
    pub const RETURN: TrapType = TrapType(4);
    /// Reset.
    pub const RESET: TrapType = TrapType(5);

    /// Its name in table 12.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "Synchronous Exception",
            1 => "SError",
            2 => "IRQ",
            3 => "FIQ",
            4 => "Exception Return",
            5 => "PE Reset",
            _ => "reserved trap type",
        }
    }

    /// The exception level whose address range the target is in; `None` for returns and resets, whose level is only in
    /// the next Context.
    pub(crate) fn target_level(self, el: Option<u8>) -> Option<u8> {
        el.filter(|_| !matches!(self, TrapType::RETURN | TrapType::RESET))
    }
}

/// The `syscall_type` and exception class of a system call instruction.
pub(crate) fn syscall_codes(syscall: Syscall) -> (u8, u8) {
    match syscall {
        Syscall::Svc | Syscall::Ecall => (1, 0x15),
        Syscall::Hvc => (2, 0x16),
        Syscall::Smc => (3, 0x17),
    }
}

/// Conformance level (ASTF 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// One exception level, no Trap records.
    #[default]
    Basic,
    /// All exception levels, traps, an unbroken flow.
    BasicPlus,
}

impl Level {
    /// Its name in the spec.
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Basic => "Basic",
            Level::BasicPlus => "BasicPlus",
        }
    }
}

/// No level or storage has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName;

/// In upper or lower case.
impl std::str::FromStr for Level {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let mut levels = [Level::Basic, Level::BasicPlus].into_iter();
        levels.find(|level| level.as_str().eq_ignore_ascii_case(name)).ok_or(UnknownName)
    }
}

impl Header {
    /// `STF`, after the type byte `A`.
    pub const MAGIC: u32 = u32::from_le_bytes(*b"STF\0");
    /// The version of the format that this crate writes.
    pub const VERSION: (u8, u8) = (0, 11);

    /// The Header of a raw trace.
    pub fn new(level: Level, timestamps: bool) -> Self {
        Header {
            magic_header: Self::MAGIC,
            version_major: Self::VERSION.0,
            version_minor: Self::VERSION.1,
            single_el: level == Level::Basic,
            timestamps,
            ..Header::default()
        }
    }

    /// The level that `single_el` declares.
    pub fn level(&self) -> Level {
        if self.single_el { Level::Basic } else { Level::BasicPlus }
    }
}
