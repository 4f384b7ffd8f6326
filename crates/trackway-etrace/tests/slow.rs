//! A slow decoder written straight from the pseudocode of chapter 11: one instruction at a time, no tables.
//! It applies where there is no branch predictor and no jump target cache; with version 2's amendments
//! (`thaddr`, privilege) where the dialect has them.

mod common;

use std::sync::Arc;

use common::image_of;
use trackway_core::*;
use trackway_etrace::wire::instruction::{Packet, qual_status};
use trackway_etrace::{Config, Dialect, Reader, ResyncMode};
use trackway_image::Memory;
use trackway_testkit::random::{Numbers, Program, Rates, Seen, Walk};

/// The global variables of chapter 11.
struct Slow {
    memory: Arc<Memory>,
    config: Config,
    pc: u64,
    last_pc: u64,
    branches: u32,
    branch_map: u64,
    stop_at_last_branch: bool,
    inferred_address: bool,
    start_of_trace: bool,
    address: u64,
    return_stack: Vec<u64>,
    privilege: u32,
    options: trackway_etrace::Options,
    /// Arguments of `report_pc`.
    pcs: Vec<u64>,
}

/// The fields of a packet that the functions look at.
#[derive(Clone, Copy, Default)]
struct TeInst {
    format: u32,
    notify: bool,
    updiscon: bool,
    irreport: bool,
    irdepth: u32,
    privilege: u32,
}

type Outcome<T> = std::result::Result<T, String>;

impl Slow {
    fn get_instr(&self, pc: u64) -> Outcome<(u32, u8)> {
        self.memory.fetch(Isa::Rv64, pc).ok_or(format!("no code at {pc:#x}"))
    }

    fn process(&mut self, packet: &Packet) -> Outcome<()> {
        let lsb = self.config.params.iaddress_lsb;
        let width = self.config.params.iaddress_width;
        let v2 = self.config.dialect == Dialect::V2;
        let (te_inst, address, branch) = match packet {
            Packet::Support(support) => return self.process_support(support),
            Packet::Context(_) => return Ok(()),
            Packet::Trap(trap) => {
                if v2 && !trap.thaddr {
                    return Ok(()); // trap only: nothing retired
                }
                (
                    TeInst { format: 3, privilege: trap.privilege, ..TeInst::default() },
                    trap.address,
                    trap.branch,
                )
            }
            Packet::Start(start) => (
                TeInst { format: 3, privilege: start.privilege, ..TeInst::default() },
                start.address,
                start.branch,
            ),
            _ => return self.process_flow(packet),
        };
        let is_trap = matches!(packet, Packet::Trap(_));
        self.inferred_address = false;
        self.address = mask(address << lsb, width);
        if is_trap || self.start_of_trace {
            self.branches = 0;
            self.branch_map = 0;
        }
        if is_branch(self.get_instr(self.address)?.0) {
            self.branch_map |= u64::from(branch) << self.branches;
            self.branches += 1;
        }
        if !is_trap && !self.start_of_trace {
            self.follow_execution_path(self.address, te_inst)?;
        } else {
            self.pc = self.address;
            self.pcs.push(self.pc);
            self.last_pc = self.pc;
        }
        self.privilege = te_inst.privilege;
        self.start_of_trace = false;
        self.return_stack.clear();
        Ok(())
    }

    fn process_flow(&mut self, packet: &Packet) -> Outcome<()> {
        if self.start_of_trace {
            return Err("expecting trace to start with format 3".into());
        }
        let (format, map, count, reported) = match packet {
            Packet::Address(reported) => (2, 0, None, Some(*reported)),
            Packet::Branches(packet) if packet.branches == 0 => (1, packet.branch_map, Some(31), None),
            Packet::Branches(packet) => (1, packet.branch_map, Some(packet.branches), Some(packet.reported)),
            _ => return Err("chapter 11 knows no format 0".into()),
        };
        let mut te_inst = TeInst { format, ..TeInst::default() };
        if let Some(reported) = reported {
            self.stop_at_last_branch = false;
            let value = reported.address << self.config.params.iaddress_lsb;
            let base = if self.options.full_address { 0 } else { self.address };
            self.address = mask(base.wrapping_add(value), self.config.params.iaddress_width);
            te_inst.notify = reported.notify;
            te_inst.updiscon = reported.updiscon;
            te_inst.irreport = reported.irreport;
            te_inst.irdepth = reported.irdepth;
        }
        if let Some(count) = count {
            self.stop_at_last_branch = reported.is_none();
            self.branch_map |= (u64::from(map) & ((1 << count) - 1)) << self.branches;
            self.branches += count;
        }
        self.follow_execution_path(self.address, te_inst)
    }

    fn unprocessed(&self) -> Outcome<bool> {
        Ok(self.branches != u32::from(is_branch(self.get_instr(self.pc)?.0)))
    }

    fn follow_execution_path(&mut self, address: u64, te_inst: TeInst) -> Outcome<()> {
        let previous_address = self.pc;
        let v2 = self.config.dialect == Dialect::V2;
        for _ in 0..10_000 {
            if self.inferred_address {
                let stop_here = self.next_pc(previous_address, te_inst)?;
                self.pcs.push(self.pc);
                if stop_here {
                    self.inferred_address = false;
                }
                continue;
            }
            let stop_here = self.next_pc(address, te_inst)?;
            self.pcs.push(self.pc);
            let at_branch = is_branch(self.get_instr(self.pc)?.0);
            if self.branches == 1 && at_branch && self.stop_at_last_branch {
                self.stop_at_last_branch = false;
                return Ok(());
            }
            if stop_here {
                if self.unprocessed()? {
                    return Err("unprocessed branches".into());
                }
                return Ok(());
            }
            let here = self.pc == address && !self.unprocessed()?;
            if te_inst.format != 3 && here && !self.stop_at_last_branch && te_inst.notify {
                return Ok(());
            }
            if te_inst.format != 3
                && here
                && !self.stop_at_last_branch
                && !is_uninferable_discon(self.get_instr(self.last_pc)?.0)
                && !te_inst.updiscon
                && (!te_inst.irreport || te_inst.irdepth as usize == self.return_stack.len())
            {
                self.inferred_address = true;
                return Ok(());
            }
            let trap_return = is_return_from_trap(self.get_instr(self.last_pc)?.0);
            let gate = !v2 || te_inst.privilege == self.privilege || trap_return;
            if te_inst.format == 3 && here && gate {
                return Ok(());
            }
        }
        Err("walks for ever".into())
    }

    fn next_pc(&mut self, address: u64, te_inst: TeInst) -> Outcome<bool> {
        let (instr, size) = self.get_instr(self.pc)?;
        let this_pc = self.pc;
        let flow = trackway_isa::flow(Isa::Rv64, this_pc, instr);
        let mut stop_here = false;
        if is_inferable_jump(instr) {
            self.pc = flow.target.ok_or("no target")?;
        } else if let Some(target) = self.sequential_jump(instr)? {
            self.pc = target;
        } else if self.is_implicit_return(instr, te_inst) {
            self.pc = self.return_stack.pop().ok_or("empty stack")?;
        } else if is_uninferable_discon(instr) {
            if self.stop_at_last_branch {
                return Err("unexpected uninferable discontinuity".into());
            }
            self.pc = address;
            stop_here = true;
        } else if is_branch(instr) {
            if self.branches == 0 {
                return Err("cannot resolve branch".into());
            }
            let taken = self.branch_map & 1 == 0;
            self.branches -= 1;
            self.branch_map >>= 1;
            self.pc = if taken { flow.target.ok_or("no target")? } else { this_pc + u64::from(size) };
        } else {
            self.pc += u64::from(size);
        }
        if is_call(instr) && self.options.implicit_return {
            if self.return_stack.len() == self.config.max_depth() as usize {
                self.return_stack.remove(0);
            }
            self.return_stack.push(this_pc + u64::from(size));
        }
        self.last_pc = this_pc;
        Ok(stop_here)
    }

    fn sequential_jump(&self, instr: u32) -> Outcome<Option<u64>> {
        if !self.options.sijump {
            return Ok(None);
        }
        let (before, _) = self.get_instr(self.last_pc)?;
        Ok(trackway_etrace::port::sequential_target(Isa::Rv64, self.last_pc, before, instr))
    }

    fn is_implicit_return(&self, instr: u32, te_inst: TeInst) -> bool {
        if !self.options.implicit_return || !is_return(instr) {
            return false;
        }
        if te_inst.irreport && te_inst.irdepth as usize == self.return_stack.len() {
            return false;
        }
        !self.return_stack.is_empty()
    }

    fn process_support(&mut self, support: &trackway_etrace::wire::instruction::Support) -> Outcome<()> {
        self.options = self.config.options_after(support.ioptions, support.doptions, self.options);
        if support.qual_status != qual_status::NO_CHANGE {
            self.start_of_trace = true;
        }
        if support.qual_status == qual_status::ENDED_UPD && self.inferred_address {
            let previous_address = self.pc;
            self.inferred_address = false;
            while !self.next_pc(previous_address, TeInst::default())? {
                self.pcs.push(self.pc);
            }
            self.pcs.push(self.pc);
        }
        Ok(())
    }
}

// The predicates of chapter 11, on encodings.

fn is_branch(e: u32) -> bool {
    match e & 3 {
        3 => e & 0x7f == 0x63,
        1 => matches!(e >> 13 & 7, 6 | 7),
        _ => false,
    }
}

fn is_jalr(e: u32) -> bool {
    e & 0x7f == 0x67
}

fn is_c_jr_or_jalr(e: u32) -> bool {
    e & 3 == 2 && e >> 13 & 7 == 4 && e & 0x7c == 0 && e >> 7 & 31 != 0
}

fn is_inferable_jump(e: u32) -> bool {
    e & 0x7f == 0x6f || (e & 3 == 1 && e >> 13 & 7 == 5) || (is_jalr(e) && e >> 15 & 31 == 0)
}

fn is_uninferable_jump(e: u32) -> bool {
    (is_jalr(e) && e >> 15 & 31 != 0) || is_c_jr_or_jalr(e)
}

fn is_return_from_trap(e: u32) -> bool {
    matches!(e, 0x0020_0073 | 0x1020_0073 | 0x3020_0073 | 0x7b20_0073)
}

fn is_uninferable_discon(e: u32) -> bool {
    is_uninferable_jump(e) || is_return_from_trap(e)
}

/// By the classes of 4.1.1, not chapter 11's tests for `x1` alone (formats/etrace.md, 1.4-15).
fn is_call(e: u32) -> bool {
    let (rd, rs) = (e >> 7 & 31, e >> 15 & 31);
    let link = |r: u32| r == 1 || r == 5;
    match e & 0x7f {
        0x6f => link(rd),
        0x67 => link(rd) && !(link(rs) && rs != rd),
        _ => is_c_jr_or_jalr(e) && e >> 12 & 1 == 1 && rd != 5,
    }
}

fn is_return(e: u32) -> bool {
    let (rd, rs) = (e >> 7 & 31, e >> 15 & 31);
    let link = |r: u32| r == 1 || r == 5;
    (is_jalr(e) && link(rs) && !link(rd)) || (is_c_jr_or_jalr(e) && e >> 12 & 1 == 0 && link(rd))
}

fn slow_pcs(bytes: &[u8], config: &Config, memory: &Arc<Memory>) -> Outcome<Vec<u64>> {
    let mut slow = Slow {
        memory: Arc::clone(memory),
        config: config.clone(),
        pc: 0,
        last_pc: 0,
        branches: 0,
        branch_map: 0,
        stop_at_last_branch: false,
        inferred_address: false,
        start_of_trace: true,
        address: 0,
        return_stack: Vec::new(),
        privilege: 0,
        options: config.options,
        pcs: Vec::new(),
    };
    let mut reader = Reader::new(Input::from_vec(bytes.to_vec()), config);
    while let Some(item) = reader.read().map_err(|error| error.to_string())? {
        let packet = *item.packet().ok_or("not an instruction packet")?;
        slow.process(&packet).map_err(|error| format!("{:#x}: {error}", item.offset))?;
    }
    Ok(slow.pcs)
}

/// Exact mode: chapter 11 decodes our packets to the execution that was encoded.
#[test]
fn chapter_11_follows_our_encoder() {
    let mut compared = [0; 2];
    for seed in 0..5000 {
        let numbers = &mut Numbers(seed);
        let count = 4 + numbers.below(60) as usize;
        let program = Program::new(numbers, 0x8000, count);
        let on = numbers.draw();
        let rate = |bit: u32, rate: u64| if on >> bit & 1 == 1 { rate } else { 0 };
        let rates = Rates {
            exception: rate(0, 14),
            interrupt: rate(1, 14),
            stray_return: rate(2, 3),
            privilege: on & 8 == 8,
            context: 0,
            notify: rate(5, 12),
            ..Rates::default()
        };
        let walk = Walk::new(numbers, &program, 250, rates);
        for dialect in Dialect::ALL {
            let mut config = Config::new(dialect);
            config.support = trackway_etrace::SupportLayout::named("all").unwrap();
            config.params.iaddress_width = 64;
            config.params.sijump = 1;
            config.params.return_stack_size = 3;
            config.options.full_address = on & 64 == 64;
            config.options.sijump = on & 128 == 128;
            config.options.implicit_return = on & 256 == 256;
            config.encoder.resync_mode = ResyncMode::Packets;
            config.encoder.resync_interval = Some(1 + on % 23);
            let (bytes, _) = common::encode(&walk.batch, &config);
            let memory = image_of(&program).memory(&Context::default());
            let wanted: Vec<u64> = walk
                .seen
                .iter()
                .filter_map(|seen| match seen {
                    Seen::Retired(pc, _) => Some(*pc),
                    Seen::Trap(..) => None,
                })
                .collect();
            match slow_pcs(&bytes, &config, &memory) {
                Ok(pcs) if pcs == wanted => compared[usize::from(dialect == Dialect::V2)] += 1,
                found => panic!(
                    "seed {seed} {dialect:?} {:?}: {:?} wanted {:x?}\n{}",
                    config.options,
                    found.map(|pcs| (
                        pcs.iter().zip(&wanted).take_while(|(a, b)| a == b).count(),
                        format!("{pcs:x?}")
                    )),
                    wanted,
                    common::raw(&bytes, &config)
                ),
            }
        }
    }
    assert_eq!(compared, [5000, 5000]);
}
