//! Every floating-point instruction: NaN boxing, rounding modes and flags around [`float`].

use trackway_isa::riscv::{Inst, Op};

use super::Hart;
use crate::bus::Bus;
use crate::csr::{self, status};
use crate::effects::Observe;
use crate::float::{self, F16, F32, F64, Flags, Rounding};
use crate::trap::Exception;

/// Format of an operand, from bits 26:25 of an encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    H,
    S,
    D,
}

impl Kind {
    const fn bits(self) -> u32 {
        match self {
            Kind::H => 16,
            Kind::S => 32,
            Kind::D => 64,
        }
    }

    const fn nan(self) -> u64 {
        match self {
            Kind::H => 0x7e00,
            Kind::S => 0x7fc0_0000,
            Kind::D => 0x7ff8_0000_0000_0000,
        }
    }

    /// The value in a register; one that is not boxed counts as the canonical NaN.
    const fn unbox(self, register: u64) -> u64 {
        let bits = self.bits();
        if bits == 64 {
            register
        } else if register >> bits == u64::MAX >> bits {
            register & ((1 << bits) - 1)
        } else {
            self.nan()
        }
    }

    const fn boxed(self, value: u64) -> u64 {
        let bits = self.bits();
        if bits == 64 { value } else { value | u64::MAX << bits }
    }
}

/// Calls a function of [`float`] in the format of `$kind`.
macro_rules! by_kind {
    ($kind:expr, $function:ident($($argument:expr),*)) => {
        match $kind {
            Kind::H => float::$function::<F16>($($argument),*),
            Kind::S => float::$function::<F32>($($argument),*),
            Kind::D => float::$function::<F64>($($argument),*),
        }
    };
}

impl Hart {
    fn write_f<E: Observe>(&mut self, rd: u8, kind: Kind, value: u64, fx: &mut E) {
        let value = kind.boxed(value);
        let old = std::mem::replace(&mut self.state.f[usize::from(rd & 31)], value);
        fx.f(rd, old, value);
        self.dirty_float(fx);
    }

    fn accrue<E: Observe>(&mut self, flags: Flags, fx: &mut E) {
        if flags != 0 {
            self.state.csr.fflags |= flags;
            fx.csr(csr::FFLAGS, self.state.csr.fflags.into());
            self.dirty_float(fx);
        }
    }

    /// Executes a floating-point instruction; anything else that comes here is illegal.
    #[inline(never)]
    pub(super) fn execute_float<const RV64: bool, B: Bus, E: Observe>(
        &mut self,
        inst: &Inst,
        next: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<u64, Exception> {
        let illegal = self.illegal(inst.word);
        if self.state.csr.mstatus & status::FS == 0 {
            return Err(illegal);
        }
        let [x1, x2] = [inst.rs1, inst.rs2].map(|n| self.state.x[usize::from(n & 31)]);
        let registers = [inst.rs1, inst.rs2, inst.rs3].map(|n| self.state.f[usize::from(n & 31)]);
        let address = x1.wrapping_add(i64::from(inst.imm) as u64);
        let address = if RV64 { address } else { address & 0xffff_ffff };
        let kind = match inst.word >> 25 & 3 {
            0 => Kind::S,
            1 => Kind::D,
            _ => Kind::H,
        };
        let [a, b, c] = registers.map(|register| kind.unbox(register));
        // Reserved rounding modes make the instruction illegal, but only where it has one.
        let mode = || {
            let bits = if inst.rm == 7 { self.state.csr.frm } else { inst.rm };
            Rounding::from_bits(bits).ok_or(illegal)
        };
        let sign = 1u64 << (kind.bits() - 1);
        let int32 = |v: u64| i64::from(v as i32);
        let uint32 = |v: u64| u64::from(v as u32);

        let (value, flags) = match inst.op {
            Op::Flh | Op::Flw | Op::Fld => {
                let (kind, value) = match inst.op {
                    Op::Flh => (Kind::H, self.load::<2, B, E>(address, bus, fx)?),
                    Op::Flw => (Kind::S, self.load::<4, B, E>(address, bus, fx)?),
                    _ => (Kind::D, self.load::<8, B, E>(address, bus, fx)?),
                };
                self.write_f(inst.rd, kind, value, fx);
                return Ok(next);
            }
            Op::Fsh => return self.store::<2, B, E>(address, registers[1], bus, fx).map(|()| next),
            Op::Fsw => return self.store::<4, B, E>(address, registers[1], bus, fx).map(|()| next),
            Op::Fsd => return self.store::<8, B, E>(address, registers[1], bus, fx).map(|()| next),

            Op::FaddH | Op::FaddS | Op::FaddD => by_kind!(kind, add(a, b, mode()?)),
            Op::FsubH | Op::FsubS | Op::FsubD => by_kind!(kind, sub(a, b, mode()?)),
            Op::FmulH | Op::FmulS | Op::FmulD => by_kind!(kind, mul(a, b, mode()?)),
            Op::FdivH | Op::FdivS | Op::FdivD => by_kind!(kind, div(a, b, mode()?)),
            Op::FsqrtH | Op::FsqrtS | Op::FsqrtD => by_kind!(kind, sqrt(a, mode()?)),
            Op::FmaddH | Op::FmaddS | Op::FmaddD => by_kind!(kind, fma(a, b, c, mode()?)),
            Op::FmsubH | Op::FmsubS | Op::FmsubD => by_kind!(kind, fma(a, b, c ^ sign, mode()?)),
            Op::FnmsubH | Op::FnmsubS | Op::FnmsubD => by_kind!(kind, fma(a ^ sign, b, c, mode()?)),
            Op::FnmaddH | Op::FnmaddS | Op::FnmaddD => {
                by_kind!(kind, fma(a ^ sign, b, c ^ sign, mode()?))
            }
            Op::FsgnjH | Op::FsgnjS | Op::FsgnjD => (a & !sign | b & sign, 0),
            Op::FsgnjnH | Op::FsgnjnS | Op::FsgnjnD => (a & !sign | !b & sign, 0),
            Op::FsgnjxH | Op::FsgnjxS | Op::FsgnjxD => (a ^ b & sign, 0),
            Op::FminH | Op::FminS | Op::FminD => by_kind!(kind, min(a, b)),
            Op::FmaxH | Op::FmaxS | Op::FmaxD => by_kind!(kind, max(a, b)),

            Op::FliH | Op::FliS | Op::FliD => by_kind!(kind, constant(inst.rs1)),
            Op::FminmH | Op::FminmS | Op::FminmD => by_kind!(kind, minimum(a, b)),
            Op::FmaxmH | Op::FmaxmS | Op::FmaxmD => by_kind!(kind, maximum(a, b)),
            Op::FroundnxH | Op::FroundnxS | Op::FroundnxD => by_kind!(kind, round_to_integer(a, mode()?)),
            Op::FroundH | Op::FroundS | Op::FroundD => {
                let (value, flags) = by_kind!(kind, round_to_integer(a, mode()?));
                (value, flags & !float::NX)
            }
            Op::FmvpDX => (x1 & 0xffff_ffff | x2 << 32, 0),

            Op::FcvtSD => float::convert::<F64, F32>(Kind::D.unbox(registers[0]), mode()?),
            Op::FcvtDS => float::convert::<F32, F64>(Kind::S.unbox(registers[0]), mode()?),
            Op::FcvtSH => float::convert::<F16, F32>(Kind::H.unbox(registers[0]), mode()?),
            Op::FcvtHS => float::convert::<F32, F16>(Kind::S.unbox(registers[0]), mode()?),
            Op::FcvtDH => float::convert::<F16, F64>(Kind::H.unbox(registers[0]), mode()?),
            Op::FcvtHD => float::convert::<F64, F16>(Kind::D.unbox(registers[0]), mode()?),
            Op::FcvtHW | Op::FcvtSW | Op::FcvtDW => by_kind!(kind, from_i64(int32(x1), mode()?)),
            Op::FcvtHWu | Op::FcvtSWu | Op::FcvtDWu => by_kind!(kind, from_u64(uint32(x1), mode()?)),
            Op::FcvtHL | Op::FcvtSL | Op::FcvtDL => by_kind!(kind, from_i64(x1 as i64, mode()?)),
            Op::FcvtHLu | Op::FcvtSLu | Op::FcvtDLu => by_kind!(kind, from_u64(x1, mode()?)),
            Op::FmvHX | Op::FmvWX | Op::FmvDX => (x1 & (u64::MAX >> (64 - kind.bits())), 0),

            _ => {
                let (value, flags) = self.float_to_x(inst, kind, a, b, registers[0], mode, illegal)?;
                self.accrue(flags, fx);
                self.write_x::<RV64, E>(inst.rd, value, fx);
                return Ok(next);
            }
        };
        self.accrue(flags, fx);
        self.write_f(inst.rd, kind, value, fx);
        Ok(next)
    }

    /// Instructions with an integer result.
    #[allow(clippy::too_many_arguments)] // one match, cut in two to fit a screen
    fn float_to_x(
        &self,
        inst: &Inst,
        kind: Kind,
        a: u64,
        b: u64,
        register: u64,
        mode: impl Fn() -> Result<Rounding, Exception>,
        illegal: Exception,
    ) -> Result<(u64, Flags), Exception> {
        let truth = |(truth, flags): (bool, Flags)| (u64::from(truth), flags);
        Ok(match inst.op {
            Op::FeqH | Op::FeqS | Op::FeqD => truth(by_kind!(kind, eq(a, b))),
            Op::FltH | Op::FltS | Op::FltD => truth(by_kind!(kind, lt(a, b))),
            Op::FleH | Op::FleS | Op::FleD => truth(by_kind!(kind, le(a, b))),
            Op::FltqH | Op::FltqS | Op::FltqD => truth(by_kind!(kind, lt_quiet(a, b))),
            Op::FleqH | Op::FleqS | Op::FleqD => truth(by_kind!(kind, le_quiet(a, b))),
            Op::FcvtmodWD => {
                let (value, flags) = float::to_i32_modular::<F64>(a);
                (value as u64, flags)
            }
            Op::FclassH | Op::FclassS | Op::FclassD => (by_kind!(kind, class(a)), 0),
            Op::FcvtWH | Op::FcvtWS | Op::FcvtWD => {
                let (value, flags) = by_kind!(kind, to_i32(a, mode()?));
                (value as u64, flags)
            }
            Op::FcvtWuH | Op::FcvtWuS | Op::FcvtWuD => {
                let (value, flags) = by_kind!(kind, to_u32(a, mode()?));
                (value as i32 as u64, flags)
            }
            Op::FcvtLH | Op::FcvtLS | Op::FcvtLD => {
                let (value, flags) = by_kind!(kind, to_i64(a, mode()?));
                (value as u64, flags)
            }
            Op::FcvtLuH | Op::FcvtLuS | Op::FcvtLuD => by_kind!(kind, to_u64(a, mode()?)),
            Op::FmvXH => (register as i16 as u64, 0),
            Op::FmvXW => (register as i32 as u64, 0),
            Op::FmvXD => (register, 0),
            Op::FmvhXD => (register >> 32, 0),
            _ => return Err(illegal),
        })
    }
}
