//! Every integer and system instruction. Floating point is in `execute_float.rs`.

use trackway_isa::riscv::{Class, Extension, Inst, Op};

use super::{Hart, crypto};
use crate::bus::Bus;
use crate::csr::{self, CY, IR, status};
use crate::effects::Observe;
use crate::state::Level;
use crate::trap::{Exception, cause};

/// Sign-extends 32 bits.
#[inline(always)]
const fn word(value: u64) -> u64 {
    value as i32 as u64
}

impl Hart {
    /// Writes an integer register.
    #[inline(always)]
    pub(super) fn write_x<const RV64: bool, E: Observe>(&mut self, rd: u8, value: u64, fx: &mut E) {
        let value = if RV64 { value } else { value & 0xffff_ffff };
        if rd != 0 {
            let old = std::mem::replace(&mut self.state.x[usize::from(rd & 31)], value);
            fx.x(rd, old, value);
        }
    }

    /// Executes one instruction at `pc`; returns the address of the next. In a stretch those that decide about more than
    /// registers and memory fail, and nothing has happened then.
    #[inline(always)]
    pub(super) fn execute<const RV64: bool, const STRETCH: bool, B: Bus, E: Observe>(
        &mut self,
        inst: &Inst,
        pc: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<u64, Exception> {
        let xlen: u32 = if RV64 { 64 } else { 32 };
        let clip = |value: u64| if RV64 { value } else { value & 0xffff_ffff };
        // Registers hold zero-extended values on RV32; this is the signed one.
        let signed = |value: u64| if RV64 { value as i64 } else { i64::from(value as i32) };
        let a = self.state.x[usize::from(inst.rs1 & 31)];
        let b = self.state.x[usize::from(inst.rs2 & 31)];
        let imm = i64::from(inst.imm) as u64;
        let next = clip(pc.wrapping_add(u64::from(inst.length)));
        let address = clip(a.wrapping_add(imm));
        let shift = b as u32 & (xlen - 1);
        let shift_imm = inst.imm as u32 & (xlen - 1);

        macro_rules! branch {
            ($taken:expr) => {{
                if !$taken {
                    return Ok(next);
                }
                return self.jump(clip(pc.wrapping_add(imm)));
            }};
        }
        macro_rules! amo {
            ($size:literal, $old:ident, $new:expr) => {{
                let old = self.amo::<$size, B, E>(a, bus, fx, |$old| $new)?;
                if $size == 4 { word(old) } else { old }
            }};
        }

        let value = match inst.op {
            Op::Lui => imm,
            Op::Auipc => pc.wrapping_add(imm),
            Op::Jal => {
                let to = self.jump(clip(pc.wrapping_add(imm)))?;
                self.write_x::<RV64, E>(inst.rd, next, fx);
                return Ok(to);
            }
            Op::Jalr => {
                let to = self.jump(address & !1)?;
                self.write_x::<RV64, E>(inst.rd, next, fx);
                return Ok(to);
            }
            Op::Beq => branch!(a == b),
            Op::Bne => branch!(a != b),
            Op::Blt => branch!(signed(a) < signed(b)),
            Op::Bge => branch!(signed(a) >= signed(b)),
            Op::Bltu => branch!(a < b),
            Op::Bgeu => branch!(a >= b),
            Op::Lb => self.load::<1, B, E>(address, bus, fx)? as i8 as u64,
            Op::Lh => self.load::<2, B, E>(address, bus, fx)? as i16 as u64,
            Op::Lw => word(self.load::<4, B, E>(address, bus, fx)?),
            Op::Lbu => self.load::<1, B, E>(address, bus, fx)?,
            Op::Lhu => self.load::<2, B, E>(address, bus, fx)?,
            Op::Lwu => self.load::<4, B, E>(address, bus, fx)?,
            Op::Ld => self.load::<8, B, E>(address, bus, fx)?,
            Op::Sb => return self.store::<1, B, E>(address, b, bus, fx).map(|()| next),
            Op::Sh => return self.store::<2, B, E>(address, b, bus, fx).map(|()| next),
            Op::Sw => return self.store::<4, B, E>(address, b, bus, fx).map(|()| next),
            Op::Sd => return self.store::<8, B, E>(address, b, bus, fx).map(|()| next),
            Op::Addi => a.wrapping_add(imm),
            Op::Slti => u64::from(signed(a) < imm as i64),
            Op::Sltiu => u64::from(a < clip(imm)),
            Op::Xori => a ^ imm,
            Op::Ori => a | imm,
            Op::Andi => a & imm,
            Op::Slli => a << shift_imm,
            Op::Srli => a >> shift_imm,
            Op::Srai => (signed(a) >> shift_imm) as u64,
            Op::Add => a.wrapping_add(b),
            Op::Sub => a.wrapping_sub(b),
            Op::Sll => a << shift,
            Op::Slt => u64::from(signed(a) < signed(b)),
            Op::Sltu => u64::from(a < b),
            Op::Xor => a ^ b,
            Op::Srl => a >> shift,
            Op::Sra => (signed(a) >> shift) as u64,
            Op::Or => a | b,
            Op::And => a & b,
            Op::Addiw => word(a.wrapping_add(imm)),
            Op::Slliw => word(a << (inst.imm & 31)),
            Op::Srliw => word(u64::from(a as u32 >> (inst.imm & 31))),
            Op::Sraiw => (a as i32 >> (inst.imm & 31)) as u64,
            Op::Addw => word(a.wrapping_add(b)),
            Op::Subw => word(a.wrapping_sub(b)),
            Op::Sllw => word(a << (b & 31)),
            Op::Srlw => word(u64::from(a as u32 >> (b & 31))),
            Op::Sraw => (a as i32 >> (b & 31)) as u64,

            Op::Mul => a.wrapping_mul(b),
            Op::Mulh => ((i128::from(signed(a)) * i128::from(signed(b))) >> xlen) as u64,
            Op::Mulhsu => (i128::from(signed(a)).wrapping_mul(i128::from(b)) >> xlen) as u64,
            Op::Mulhu => ((u128::from(a) * u128::from(b)) >> xlen) as u64,
            Op::Div if b == 0 => u64::MAX,
            Op::Div => signed(a).wrapping_div(signed(b)) as u64,
            Op::Divu => a.checked_div(b).unwrap_or(u64::MAX),
            Op::Rem if b == 0 => a,
            Op::Rem => signed(a).wrapping_rem(signed(b)) as u64,
            Op::Remu => a.checked_rem(b).unwrap_or(a),
            Op::Mulw => word(a.wrapping_mul(b)),
            Op::Divw if b as u32 == 0 => u64::MAX,
            Op::Divw => (a as i32).wrapping_div(b as i32) as u64,
            Op::Divuw => (a as u32).checked_div(b as u32).map_or(u64::MAX, |q| word(q.into())),
            Op::Remw if b as u32 == 0 => word(a),
            Op::Remw => (a as i32).wrapping_rem(b as i32) as u64,
            Op::Remuw => (a as u32).checked_rem(b as u32).map_or(word(a), |r| word(r.into())),

            Op::LrW => word(self.load_reserved::<4, B, E>(a, bus, fx)?),
            Op::LrD => self.load_reserved::<8, B, E>(a, bus, fx)?,
            Op::ScW => u64::from(!self.store_conditional::<4, B, E>(a, b, bus, fx)?),
            Op::ScD => u64::from(!self.store_conditional::<8, B, E>(a, b, bus, fx)?),
            Op::AmoswapW => amo!(4, _old, b),
            Op::AmoaddW => amo!(4, old, old.wrapping_add(b)),
            Op::AmoxorW => amo!(4, old, old ^ b),
            Op::AmoandW => amo!(4, old, old & b),
            Op::AmoorW => amo!(4, old, old | b),
            Op::AmominW => amo!(4, old, (old as i32).min(b as i32) as u64),
            Op::AmomaxW => amo!(4, old, (old as i32).max(b as i32) as u64),
            Op::AmominuW => amo!(4, old, (old as u32).min(b as u32).into()),
            Op::AmomaxuW => amo!(4, old, (old as u32).max(b as u32).into()),
            Op::AmoswapD => amo!(8, _old, b),
            Op::AmoaddD => amo!(8, old, old.wrapping_add(b)),
            Op::AmoxorD => amo!(8, old, old ^ b),
            Op::AmoandD => amo!(8, old, old & b),
            Op::AmoorD => amo!(8, old, old | b),
            Op::AmominD => amo!(8, old, (old as i64).min(b as i64) as u64),
            Op::AmomaxD => amo!(8, old, (old as i64).max(b as i64) as u64),
            Op::AmominuD => amo!(8, old, old.min(b)),
            Op::AmomaxuD => amo!(8, old, old.max(b)),

            Op::Sh1add => (a << 1).wrapping_add(b),
            Op::Sh2add => (a << 2).wrapping_add(b),
            Op::Sh3add => (a << 3).wrapping_add(b),
            Op::AddUw => (a & 0xffff_ffff).wrapping_add(b),
            Op::Sh1addUw => ((a & 0xffff_ffff) << 1).wrapping_add(b),
            Op::Sh2addUw => ((a & 0xffff_ffff) << 2).wrapping_add(b),
            Op::Sh3addUw => ((a & 0xffff_ffff) << 3).wrapping_add(b),
            Op::SlliUw => (a & 0xffff_ffff) << shift_imm,
            Op::Andn => a & !b,
            Op::Orn => a | !b,
            Op::Xnor => !(a ^ b),
            Op::Clz => u64::from(a.leading_zeros() - (64 - xlen)),
            Op::Ctz => u64::from(a.trailing_zeros().min(xlen)),
            Op::Cpop => u64::from(a.count_ones()),
            Op::Clzw => u64::from((a as u32).leading_zeros()),
            Op::Ctzw => u64::from((a as u32).trailing_zeros()),
            Op::Cpopw => u64::from((a as u32).count_ones()),
            Op::Max => signed(a).max(signed(b)) as u64,
            Op::Maxu => a.max(b),
            Op::Min => signed(a).min(signed(b)) as u64,
            Op::Minu => a.min(b),
            Op::SextB => a as i8 as u64,
            Op::SextH => a as i16 as u64,
            Op::ZextH => a & 0xffff,
            Op::Rol if RV64 => a.rotate_left(shift),
            Op::Rol => (a as u32).rotate_left(shift).into(),
            Op::Ror if RV64 => a.rotate_right(shift),
            Op::Ror => (a as u32).rotate_right(shift).into(),
            Op::Rori if RV64 => a.rotate_right(shift_imm),
            Op::Rori => (a as u32).rotate_right(shift_imm).into(),
            Op::Rolw => word((a as u32).rotate_left(b as u32 & 31).into()),
            Op::Rorw => word((a as u32).rotate_right(b as u32 & 31).into()),
            Op::Roriw => word((a as u32).rotate_right(inst.imm as u32 & 31).into()),
            Op::OrcB => u64::from_le_bytes(a.to_le_bytes().map(|byte| if byte == 0 { 0 } else { 0xff })),
            Op::Rev8 => a.swap_bytes() >> (64 - xlen),
            Op::Clmul => clmul(a, b) as u64,
            Op::Clmulh => (clmul(a, b) >> xlen) as u64,
            Op::Clmulr => (clmul(a, b) >> (xlen - 1)) as u64,
            Op::Bclr => a & !(1 << shift),
            Op::Bclri => a & !(1 << shift_imm),
            Op::Bext => a >> shift & 1,
            Op::Bexti => a >> shift_imm & 1,
            Op::Binv => a ^ 1 << shift,
            Op::Binvi => a ^ 1 << shift_imm,
            Op::Bset => a | 1 << shift,
            Op::Bseti => a | 1 << shift_imm,
            Op::CzeroEqz => {
                if b == 0 {
                    0
                } else {
                    a
                }
            }
            Op::CzeroNez => {
                if b != 0 {
                    0
                } else {
                    a
                }
            }

            Op::Fence | Op::WrsNto | Op::WrsSto => return Ok(next),
            _ if STRETCH && ends_stretch(inst) => return Err(self.illegal(inst.word)),
            _ => return self.execute_uncommon::<RV64, B, E>(inst, next, bus, fx),
        };
        self.write_x::<RV64, E>(inst.rd, value, fx);
        Ok(next)
    }

    /// A jump or taken branch; without C its target can be misaligned.
    #[inline(always)]
    fn jump(&self, to: u64) -> Result<u64, Exception> {
        if to & 2 != 0 && to & !self.pc_mask() != 0 {
            return Err(Exception::new(cause::FETCH_MISALIGNED, to));
        }
        Ok(to)
    }

    /// Instructions that are not worth a place in the hot loop.
    #[inline(never)]
    fn execute_uncommon<const RV64: bool, B: Bus, E: Observe>(
        &mut self,
        inst: &Inst,
        next: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<u64, Exception> {
        let illegal = self.illegal(inst.word);
        let level = self.state.level;
        let mstatus = self.state.csr.mstatus;
        match inst.op {
            Op::Csrrw | Op::Csrrs | Op::Csrrc | Op::Csrrwi | Op::Csrrsi | Op::Csrrci => {
                self.access_csr::<RV64, E>(inst, fx)?;
            }
            Op::FenceI => self.flush_decoded(),
            Op::Ecall => return Err(Exception::new(cause::ECALL_U + level as u8, 0)),
            Op::Ebreak => {
                let value = if self.config.tval_breakpoint { self.state.pc } else { 0 };
                return Err(Exception::new(cause::BREAKPOINT, value));
            }
            Op::Mret if level == Level::M => return Ok(self.mret(fx)),
            Op::Sret if self.config.supervisor => {
                let trapped = level == Level::S && mstatus & status::TSR != 0;
                if level == Level::U || trapped {
                    return Err(illegal);
                }
                return Ok(self.sret(fx));
            }
            Op::Wfi => {
                let trapped = level != Level::M && mstatus & status::TW != 0;
                if trapped || level == Level::U && self.config.supervisor {
                    return Err(illegal);
                }
                self.state.waiting = self.mip() & self.state.csr.mie == 0;
            }
            Op::SfenceVma | Op::SinvalVma if self.config.supervisor => {
                if level == Level::U || level == Level::S && mstatus & status::TVM != 0 {
                    return Err(illegal);
                }
                self.flush_translations();
            }
            // Svinval: the fences around invalidations, which are done at once here.
            Op::SfenceWInval | Op::SfenceInvalIr if self.config.supervisor => {
                if level == Level::U {
                    return Err(illegal);
                }
            }
            _ => match inst.op.extension() {
                Extension::Zabha | Extension::Zacas => self.execute_atomic::<RV64, B, E>(inst, bus, fx)?,
                Extension::Zicbom | Extension::Zicboz => self.execute_cache_block(inst, bus, fx)?,
                // May-be-operations that nothing has defined yet.
                Extension::Zimop => self.write_x::<RV64, E>(inst.rd, 0, fx),
                Extension::Zbkb
                | Extension::Zbkx
                | Extension::Zknd
                | Extension::Zkne
                | Extension::Zknh
                | Extension::Zksed
                | Extension::Zksh => {
                    let [a, b] = [inst.rs1, inst.rs2].map(|n| self.state.x[usize::from(n & 31)]);
                    let value = crypto::result::<RV64>(inst, a, b).ok_or(illegal)?;
                    self.write_x::<RV64, E>(inst.rd, value, fx);
                }
                _ => return self.execute_float::<RV64, B, E>(inst, next, bus, fx),
            },
        }
        Ok(next)
    }

    /// Reads and writes a CSR as the six instructions do (unprivileged 6.1).
    fn access_csr<const RV64: bool, E: Observe>(&mut self, inst: &Inst, fx: &mut E) -> Result<(), Exception> {
        let number = inst.imm as u16 & 0xfff;
        let (_, writes) = inst.csr_access();
        if !self.csr_allowed(number, writes) {
            return Err(self.illegal(inst.word));
        }
        let old = self.read_csr(number).ok_or(self.illegal(inst.word))?;
        if inst.csr_access().0 {
            fx.csr_read(number, old);
        }
        if writes {
            let immediate = matches!(inst.op, Op::Csrrwi | Op::Csrrsi | Op::Csrrci);
            let operand =
                if immediate { u64::from(inst.rs1) } else { self.state.x[usize::from(inst.rs1 & 31)] };
            // Setting and clearing bits of mip works on what software wrote, not on the external line.
            let base = if number == csr::MIP { self.state.csr.mip } else { old };
            let new = match inst.op {
                Op::Csrrw | Op::Csrrwi => operand,
                Op::Csrrs | Op::Csrrsi => base | operand,
                _ => base & !operand,
            };
            let float = matches!(number, csr::FFLAGS | csr::FRM | csr::FCSR);
            if float {
                self.dirty_float(fx);
            }
            if !self.write_csr(number, new) {
                return Err(self.illegal(inst.word));
            }
            // A value written to the entropy source cannot be read back.
            if number != csr::SEED {
                fx.csr(number, self.read_csr(number).unwrap_or_default());
            }
            self.hold_counter(number);
        }
        self.write_x::<RV64, E>(inst.rd, old, fx);
        Ok(())
    }

    /// A counter that was written does not count the instruction that wrote it: what comes after the
    /// instruction is the value written.
    fn hold_counter(&mut self, number: u16) {
        let csr = &mut self.state.csr;
        match number {
            csr::MCYCLE | csr::MCYCLEH if csr.mcountinhibit & CY == 0 => {
                csr.mcycle = csr.mcycle.wrapping_sub(1);
            }
            csr::MINSTRET | csr::MINSTRETH if csr.mcountinhibit & IR == 0 => {
                csr.minstret = csr.minstret.wrapping_sub(1);
            }
            _ => {}
        }
    }
}

/// Control registers, traps, fences and waiting are the driver's business, too; the others have more than one access or
/// two results.
fn ends_stretch(inst: &Inst) -> bool {
    let class = inst.op.class();
    matches!(class, Class::Csr | Class::System | Class::Fence | Class::ZeroBlock) || inst.is_compare_swap()
}

/// Product without carries.
fn clmul(a: u64, b: u64) -> u128 {
    (0..64).filter(|n| b >> n & 1 != 0).fold(0, |sum, n| sum ^ u128::from(a) << n)
}
