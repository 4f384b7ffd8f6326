//! Loads a program as Linux does: segments, stack, arguments, auxiliary vector.
//!
//! Addresses are those of QEMU's user mode, so that executions can be compared one to one.

use trackway_core::Isa;

use super::memory::{AddressSpace, EXEC, PAGE, READ, WRITE};
use crate::program::{LoadError, Program};

/// Bytes of stack.
const STACK: u64 = 8 << 20;

/// Where things are after loading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Stack pointer at the entry.
    pub(super) sp: u64,
    /// End of the program's data: where the heap begins.
    pub(super) brk: u64,
    /// Next address that `mmap` returns.
    pub(super) mmap: u64,
    /// The code that a signal handler returns to.
    pub(super) sigreturn: u64,
}

const fn page_up(address: u64) -> u64 {
    address.wrapping_add(PAGE - 1) & !(PAGE - 1)
}

/// Entries of the auxiliary vector, by their Linux numbers.
mod at {
    pub(super) const PHDR: u64 = 3;
    pub(super) const PHENT: u64 = 4;
    pub(super) const PHNUM: u64 = 5;
    pub(super) const PAGESZ: u64 = 6;
    pub(super) const BASE: u64 = 7;
    pub(super) const FLAGS: u64 = 8;
    pub(super) const ENTRY: u64 = 9;
    pub(super) const UID: u64 = 11;
    pub(super) const EUID: u64 = 12;
    pub(super) const GID: u64 = 13;
    pub(super) const EGID: u64 = 14;
    pub(super) const HWCAP: u64 = 16;
    pub(super) const CLKTCK: u64 = 17;
    pub(super) const SECURE: u64 = 23;
    pub(super) const RANDOM: u64 = 25;
    pub(super) const EXECFN: u64 = 31;
}

/// Puts the program, its arguments and its environment into memory.
pub(super) fn load(
    memory: &mut AddressSpace,
    program: &Program,
    arguments: &[Vec<u8>],
    environment: &[Vec<u8>],
    random: [u8; 16],
    hwcap: u64,
) -> Result<Layout, LoadError> {
    if program.interpreter {
        return Err(LoadError::new("the program needs a dynamic linker: link it with -static -no-pie"));
    }
    let limit = if program.isa == Isa::Rv32 { 1 << 32 } else { 1 << 38 };
    let mut brk = 0;
    let mut base = u64::MAX;
    for segment in &program.segments {
        let end = segment.address.checked_add(segment.size).filter(|end| *end < limit);
        let Some(end) = end else { return Err(LoadError::new("a segment lies outside the address space")) };
        let start = segment.address & !(PAGE - 1);
        let permission = |granted: bool, permission: u8| if granted { permission } else { 0 };
        let permissions = permission(segment.executable, EXEC)
            | permission(segment.writable, WRITE)
            | permission(segment.readable, READ);
        // A page that two segments share gets the rights of both, and keeps what is there.
        let start =
            (start..page_up(end)).step_by(PAGE as usize).find(|page| memory.is_free(*page, page + PAGE));
        if let Some(start) = start {
            memory.map(start, page_up(end), permissions);
        }
        memory.write_bytes(segment.address, segment.bytes());
        brk = brk.max(end);
        base = base.min(segment.address);
    }

    let wide = program.isa != Isa::Rv32;
    let word = if wide { 8 } else { 4 };
    let first = if wide { 0x40_0000_0000 } else { 0x4000_0000 };
    let bottom = first + PAGE;
    let top = bottom + STACK;
    memory.map(first, bottom, 0);
    memory.map(bottom, top, READ | WRITE);
    // li a7, 139 (rt_sigreturn); ecall
    let sigreturn = top;
    memory.map(sigreturn, sigreturn + PAGE, READ | EXEC);
    memory.write_bytes(sigreturn, &0x08b0_0893_u32.to_le_bytes());
    memory.write_bytes(sigreturn + 4, &0x0000_0073_u32.to_le_bytes());

    let mut sp = top - 8;
    let mut push = |bytes: &[u8], memory: &mut AddressSpace| {
        sp -= bytes.len() as u64 + 1;
        memory.write_bytes(sp, bytes);
        sp
    };
    let total: usize = arguments.iter().chain(environment).map(|text| text.len() + 1).sum();
    if total as u64 > STACK / 4 {
        return Err(LoadError::new("the arguments are too long"));
    }
    let name = arguments.first().cloned().unwrap_or_default();
    let file_string = push(&name, memory);
    let mut environment_at: Vec<u64> = environment.iter().rev().map(|text| push(text, memory)).collect();
    let mut arguments_at: Vec<u64> = arguments.iter().rev().map(|text| push(text, memory)).collect();
    environment_at.reverse();
    arguments_at.reverse();
    let random_at = (sp - 16) & !15;
    memory.write_bytes(random_at, &random);

    let auxiliary = [
        (at::PHDR, base + program.headers.offset),
        (at::PHENT, program.headers.size),
        (at::PHNUM, program.headers.count),
        (at::PAGESZ, PAGE),
        (at::BASE, 0),
        (at::FLAGS, 0),
        (at::ENTRY, program.entry),
        (at::UID, 0),
        (at::EUID, 0),
        (at::GID, 0),
        (at::EGID, 0),
        (at::HWCAP, hwcap),
        (at::CLKTCK, 100),
        (at::RANDOM, random_at),
        (at::SECURE, 0),
        (at::EXECFN, file_string),
        (0, 0),
    ];
    let mut words = vec![arguments.len() as u64];
    words.extend(arguments_at);
    words.push(0);
    words.extend(environment_at);
    words.push(0);
    words.extend(auxiliary.iter().flat_map(|(key, value)| [*key, *value]));
    let sp = (random_at - words.len() as u64 * word) & !15;
    for (n, value) in words.iter().enumerate() {
        memory.write_bytes(sp + n as u64 * word, &value.to_le_bytes()[..word as usize]);
    }
    Ok(Layout { sp, brk: page_up(brk), mmap: sigreturn + PAGE, sigreturn })
}
