//! Runs as logs that Trackway reads and does not write.

use std::fmt::Write;

use trackway::events::{
    Batch, EventKind, Isa, MemAccess, MemKind, Outcome, Privilege, RegAccess, RegClass, RegRole, Step, Value,
};
use trackway::isa::{Control, flow, registers};

use super::Run;

/// The run as a log of that format, if there is a layout for it here and it is of its architecture.
pub fn log(format: &str, run: &Run) -> Option<Vec<u8>> {
    match (format, run.meta.isa) {
        ("tarmac", Isa::A64) => Some(text(run, tarmac).into()),
        ("riscv-dv", Isa::Rv64) => Some(riscv_dv(run).into()),
        ("rvfi-dii", Isa::Rv64) => Some(rvfi_dii(run)),
        ("rvfi-vcd", Isa::Rv64) => Some(rvfi_vcd(run).into()),
        ("qemu-exec", Isa::Rv64) => Some(qemu_exec(run).into()),
        _ => None,
    }
}

/// One instruction after the other, numbered from 1.
fn text(run: &Run, line: impl Fn(&mut String, u64, &Batch, &Step)) -> String {
    let (mut out, mut number) = (String::new(), 0);
    for batch in &run.batches {
        for event in &batch.events {
            if let EventKind::Step(step) = &event.kind {
                number += 1;
                line(&mut out, number, batch, step);
            }
        }
    }
    out
}

/// As Fast Models write it.
fn tarmac(out: &mut String, n: u64, batch: &Batch, step: &Step) {
    let pc = step.pc.unwrap();
    writeln!(out, "{n} clk IT ({n}) {pc:08x} {:08x} O EL0t_n : text", step.encoding).unwrap();
    for access in batch.mem_of(step.accesses) {
        let kind = if access.kind == MemKind::Write { "MW" } else { "MR" };
        let value = if let Value::Word(value) = access.data { value } else { 0 };
        let (size, address) = (access.size.min(8), access.address);
        let digits = 2 * size as usize;
        let value = if size < 8 { value & ((1 << (8 * size)) - 1) } else { value };
        writeln!(out, "{n} clk {kind}{size} {address:016x}:{address:012x}_NS {value:0digits$x}").unwrap();
    }
    writeln!(out, "{n} clk R X{} {:016x}", n % 31, pc ^ n).unwrap();
}

/// A step, as a log of a RISC-V core shows it.
#[derive(Default)]
struct Shown {
    pc: u64,
    /// Address of the step after it.
    next: u64,
    encoding: u32,
    trapped: bool,
    mode: u8,
    reads: Vec<(u16, u64)>,
    writes: Vec<RegAccess>,
    mem: Option<(MemAccess, u64)>,
}

fn word(value: Value) -> u64 {
    if let Value::Word(value) = value { value } else { 0 }
}

/// The steps of a run on a RISC-V core, with the registers that they read.
fn shown(run: &Run) -> Vec<Shown> {
    let (mut all, mut mode, mut known): (Vec<Shown>, u8, [u64; 32]) = (Vec::new(), 3, [0; 32]);
    for batch in &run.batches {
        for event in &batch.events {
            match &event.kind {
                EventKind::Context(n) => {
                    mode = match batch.contexts[*n as usize].privilege {
                        Some(Privilege::U) => 0,
                        Some(Privilege::S) => 1,
                        Some(Privilege::M) => 3,
                        _ => mode,
                    };
                }
                EventKind::Step(step) => {
                    let mut one = Shown {
                        pc: step.pc.unwrap(),
                        encoding: step.encoding,
                        trapped: step.outcome == Outcome::Attempted,
                        mode,
                        ..Shown::default()
                    };
                    let sources = registers(run.meta.isa, step.encoding).into_iter();
                    for reg in sources.flat_map(|all| all.sources().collect::<Vec<_>>()) {
                        if reg.class == RegClass::Int && one.reads.len() < 2 {
                            one.reads.push((reg.number, known[usize::from(reg.number)]));
                        }
                    }
                    for access in batch.regs_of(step.accesses) {
                        if access.role == RegRole::Destination && matches!(access.value, Value::Word(_)) {
                            one.writes.push(*access);
                            if access.reg.class == RegClass::Int {
                                known[usize::from(access.reg.number)] = word(access.value);
                            }
                        }
                    }
                    known[0] = 0;
                    let stored =
                        |access: &MemAccess| batch.mem_extra_of(access).map(|extra| word(extra.stored));
                    one.mem = batch.mem_of(step.accesses).first().map(|m| (*m, stored(m).unwrap_or(0)));
                    if let Some(last) = all.last_mut() {
                        last.next = one.pc;
                    }
                    all.push(one);
                }
                _ => {}
            }
        }
    }
    if let Some(last) = all.last_mut() {
        last.next = last.pc + flow(run.meta.isa, last.pc, last.encoding).length as u64;
    }
    all
}

fn riscv_dv(run: &Run) -> String {
    let mut out = "pc,instr,gpr,csr,binary,mode,instr_str,operand,pad\n".to_string();
    for step in shown(run) {
        let list = |class: &[RegClass]| {
            let own = step.writes.iter().filter(|access| class.contains(&access.reg.class));
            let name = |access: &RegAccess| trackway::isa::reg_name(run.meta.isa, access.reg);
            own.map(|access| format!("{}:{:016x}", name(access), word(access.value)))
                .collect::<Vec<_>>()
                .join(";")
        };
        let text = trackway::isa::text(run.meta.isa, step.pc, step.encoding);
        let name = text.split(' ').next().unwrap();
        let (gpr, csr) = (list(&[RegClass::Int, RegClass::Float]), list(&[RegClass::Csr]));
        let Shown { pc, encoding, mode, .. } = step;
        writeln!(out, "{pc:016x},{name},{gpr},{csr},{encoding:08x},{mode},\"{text}\",,").unwrap();
    }
    out
}

/// The fields of a retirement port, in the order of a packet: order, addresses, instruction, registers, memory, masks,
/// numbers, flags.
fn port(order: u64, step: &Shown, handler: bool) -> [u64; 18] {
    let read = |n: usize| step.reads.get(n).copied().unwrap_or((0, 0));
    let write = step.writes.iter().find(|access| access.reg.class == RegClass::Int && access.reg.number > 0);
    let write =
        write.filter(|_| !step.trapped).map_or((0, 0), |access| (access.reg.number, word(access.value)));
    let (mut address, mut rdata, mut wdata, mut rmask, mut wmask) = (0, 0, 0, 0, 0);
    if let Some((access, stored)) = step.mem.filter(|(access, _)| access.size <= 8) {
        let mask = (1u64 << access.size) - 1;
        address = access.address;
        match access.kind {
            MemKind::Read => (rdata, rmask) = (word(access.data), mask),
            MemKind::Write => (wdata, wmask) = (word(access.data), mask),
            MemKind::ReadWrite => (rdata, wdata, rmask, wmask) = (word(access.data), stored, mask, mask),
            _ => {}
        }
    }
    let (one, two) = (read(0), read(1));
    [
        order,
        step.pc,
        step.next,
        step.encoding.into(),
        one.1,
        two.1,
        write.1,
        address,
        rdata,
        wdata,
        rmask,
        wmask,
        one.0.into(),
        two.0.into(),
        write.0.into(),
        step.trapped.into(),
        0,
        handler.into(),
    ]
}

fn ports(run: &Run) -> Vec<([u64; 18], u8)> {
    let steps = shown(run);
    let handlers = std::iter::once(false).chain(steps.iter().map(|step| step.trapped));
    steps
        .iter()
        .zip(handlers)
        .enumerate()
        .map(|(n, (step, handler))| (port(n as u64, step, handler), step.mode))
        .collect()
}

fn rvfi_dii(run: &Run) -> Vec<u8> {
    let mut out = Vec::new();
    for (port, _) in ports(run) {
        port[..10].iter().for_each(|word| out.extend(word.to_le_bytes()));
        out.extend(port[10..].iter().map(|byte| *byte as u8));
    }
    out
}

/// Two instructions at most retire in a cycle, of a long run one, so that it stays small; every third cycle has none.
fn rvfi_vcd(run: &Run) -> String {
    const SIGNALS: [(&str, usize); 20] = [
        ("valid", 1),
        ("order", 64),
        ("pc_rdata", 64),
        ("pc_wdata", 64),
        ("insn", 32),
        ("rs1_rdata", 64),
        ("rs2_rdata", 64),
        ("rd_wdata", 64),
        ("mem_addr", 64),
        ("mem_rdata", 64),
        ("mem_wdata", 64),
        ("mem_rmask", 8),
        ("mem_wmask", 8),
        ("rs1_addr", 5),
        ("rs2_addr", 5),
        ("rd_addr", 5),
        ("trap", 1),
        ("halt", 1),
        ("intr", 1),
        ("mode", 2),
    ];
    let mut out =
        "$timescale 1ns $end\n$scope module top $end\n$var wire 1 ! clk $end\n$scope module core $end\n"
            .to_string();
    let code = |n: usize| char::from(b'#' + n as u8);
    let ports = ports(run);
    let channels = if ports.len() > 4_000 { 1 } else { 2 };
    for (n, (name, width)) in SIGNALS.iter().enumerate() {
        let width = channels * width;
        writeln!(out, "$var wire {width} {} rvfi_{name} [{}:0] $end", code(n), width - 1).unwrap();
    }
    out += "$upscope $end\n$upscope $end\n$enddefinitions $end\n#0\n$dumpvars\n0!\n";
    (0..SIGNALS.len()).for_each(|n| writeln!(out, "bx {}", code(n)).unwrap());
    out += "$end\n";
    let mut last = vec![String::new(); SIGNALS.len()];
    let mut time = 0;
    for (cycle, pair) in ports.chunks(channels).flat_map(|pair| [pair, &[]]).enumerate() {
        let is_idle = pair.is_empty();
        if is_idle && cycle % 3 != 0 {
            continue;
        }
        time += 10;
        writeln!(out, "#{time}\n1!").unwrap();
        // Registers change after the edge; the next edge samples them.
        for (n, (_, width)) in SIGNALS.iter().enumerate() {
            let value = |channel: usize| match (pair.get(channel), n) {
                (None, 0) => format!("{:0width$b}", 0),
                (None, _) => "x".repeat(*width),
                (Some(_), 0) => "1".to_string(),
                (Some((_, mode)), 19) => format!("{mode:02b}"),
                (Some((port, _)), n) => format!("{:0width$b}", port[n - 1]),
            };
            let bits: String = (0..channels).rev().map(value).collect();
            if last[n] != bits {
                // Leading zeros are left out.
                let short = bits.trim_start_matches('0');
                writeln!(out, "b{} {}", if short.starts_with('1') { short } else { &bits }, code(n)).unwrap();
                last[n] = bits;
            }
        }
        time += 10;
        writeln!(out, "#{time}\n0!").unwrap();
    }
    for edge in ["1!", "0!"] {
        time += 10;
        writeln!(out, "#{time}\n{edge}").unwrap();
    }
    out
}

/// A line for each block: it ends with a transfer, a system instruction, or its page.
fn qemu_exec(run: &Run) -> String {
    let (mut out, mut block, mut expected) = (String::new(), None, None);
    for Shown { pc, encoding, .. } in shown(run) {
        let starts = match block {
            Some((start, count)) => {
                expected != Some(pc) || start >> 12 != (pc + 3) >> 12 && pc & 0xfff != 0xffc || count == 512
            }
            None => true,
        };
        if starts {
            writeln!(out, "Trace 0: 0x7f6680000100 [0000000000000000/{pc:016x}/00207600/00000200] ").unwrap();
        }
        let count = block.filter(|_| !starts).map_or(0, |(_, count)| count) + 1;
        block = Some((block.filter(|_| !starts).map_or(pc, |(start, _)| start), count));
        let flow = flow(run.meta.isa, pc, encoding);
        let system = encoding & 0x7f == 0x73;
        expected = (flow.control == Control::Sequential && !system).then_some(pc + u64::from(flow.length));
    }
    out
}
