//! QEMU plugin that hands what a guest executes to `trackway record`.
//!
//! Every virtual CPU has a buffer in a shared file: what was executed survives the end of the process, however it
//! ends. A full buffer is announced through a socket and another one taken; where too many wait, QEMU waits.
//! `STREAM.md` has the format.
//!
//! SPDX-License-Identifier: MIT

mod api;
mod buffer;
mod link;
mod plain;
#[cfg(feature = "api4")]
mod registers;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed};

use buffer::Buffer;

/// Buffers by number of the virtual CPU.
static CPUS: [AtomicPtr<Buffer>; 1 << 16] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 1 << 16];

/// The instruction set of the guest.
static SET: OnceLock<plain::Set> = OnceLock::new();

/// Registers are asked for.
static REGISTERS: AtomicBool = AtomicBool::new(false);

/// Words that begin a record other than an instruction.
const LONG: u32 = 0x8000_0000;
const SHORT: u32 = 0xc000_0000;
const CALL: u32 = 0x9000_0000;
const RETURN: u32 = 0xa000_0000;

/// In the first word of a short access: its size, whether a value follows, is it a store, and its position in the run. Below
/// are bits 47 to 32 of the address.
const SIZE: u32 = 16;
#[cfg(feature = "api4")]
const VALUE: u32 = 1 << 20;
const STORE: u32 = 21;
const POSITION: u32 = 22;
/// Positions that a short access has room for.
const POSITIONS: u32 = 1 << 8;

/// An instruction in the table: its address, encoding, and length with these bits.
type Entry = [u32; 4];
/// Its block has 16-bit instructions.
const NARROW: u32 = 1 << 8;
/// The run continues with the next one.
const CONTINUES: u32 = 1 << 9;

/// The version of the API that this file is for, which QEMU reads before anything else.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: c_int = api::VERSION;

/// # Safety
/// Called by QEMU once, with arguments as its documentation says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const c_void,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    let mut folder = None;
    let mut skip_libs = false;
    let mut registers = false;
    for n in 0..argc as usize {
        let text = unsafe { CStr::from_ptr(*argv.add(n)) }.to_string_lossy().into_owned();
        match text.split_once('=') {
            Some(("folder", path)) => folder = Some(path.to_string()),
            Some(("libs", "skip")) => skip_libs = true,
            Some(("regs", "on")) if cfg!(feature = "api4") => registers = true,
            _ => {
                eprintln!("trackway plugin: {text}: unknown argument");
                return 1;
            }
        }
    }
    let Some(folder) = folder else {
        eprintln!("trackway plugin: run by trackway record, which passes folder=PATH");
        return 1;
    };
    let info = unsafe { &*info.cast::<api::Info>() };
    let target = unsafe { CStr::from_ptr(info.target) }.to_string_lossy().into_owned();
    let _ = SET.set(plain::Set::new(&target));
    if let Err(error) = link::begin(folder, target, info, skip_libs) {
        eprintln!("trackway plugin: {error}");
        return 1;
    }
    REGISTERS.store(registers, Relaxed);
    unsafe {
        link::at_fork();
        api::qemu_plugin_register_vcpu_init_cb(id, vcpu_init);
        api::qemu_plugin_register_vcpu_exit_cb(id, vcpu_exit);
        api::qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
        if !info.system_emulation {
            api::qemu_plugin_register_vcpu_syscall_cb(id, call);
            api::qemu_plugin_register_vcpu_syscall_ret_cb(id, call_return);
        }
    }
    0
}

/// A CPU number may have been used before, by a thread that ended.
extern "C" fn vcpu_init(_: u64, cpu: c_uint) {
    forget(cpu);
}

extern "C" fn vcpu_exit(_: u64, cpu: c_uint) {
    forget(cpu);
}

fn forget(cpu: c_uint) {
    let buffer = CPUS[cpu as usize & 0xffff].swap(std::ptr::null_mut(), Relaxed);
    if !buffer.is_null() {
        link::close(buffer);
    }
}

/// The buffer of a CPU; made by its own thread, whose number it has.
#[inline(always)]
fn buffer(cpu: c_uint) -> *mut Buffer {
    let place = &CPUS[cpu as usize & 0xffff];
    let buffer = place.load(Relaxed);
    if buffer.is_null() { make(cpu) } else { buffer }
}

#[cold]
fn make(cpu: c_uint) -> *mut Buffer {
    let buffer = link::open(cpu);
    CPUS[cpu as usize & 0xffff].store(buffer, Relaxed);
    buffer
}

/// Hands the buffer of a CPU over; the CPU continues with another one.
#[cold]
fn hand_over(cpu: c_uint, buffer: *mut Buffer) {
    CPUS[cpu as usize & 0xffff].store(link::hand_over(buffer), Relaxed);
}

/// The first buffer that is meant.
fn find(meant: impl Fn(*mut Buffer) -> bool) -> Option<*mut Buffer> {
    let all = CPUS.iter().map(|place| place.load(Relaxed));
    all.filter(|buffer| !buffer.is_null()).find(|buffer| meant(*buffer))
}

/// A forked process has one CPU, and none of the buffers is its own.
fn forget_all() -> impl Iterator<Item = *mut Buffer> {
    let taken = CPUS.iter().map(|place| place.swap(std::ptr::null_mut(), Relaxed));
    taken.filter(|buffer| !buffer.is_null())
}

extern "C" fn translate(_: u64, block: *mut c_void) {
    let count = unsafe { api::qemu_plugin_tb_n_insns(block) };
    let instruction = |n: usize| unsafe { api::qemu_plugin_tb_get_insn(block, n) };
    let mut entries: Vec<Entry> = (0..count).map(|n| unsafe { entry(instruction(n)) }).collect();
    if entries.iter().any(|entry| entry[3] == 2) {
        entries.iter_mut().for_each(|entry| entry[3] |= NARROW);
    }
    let registers = REGISTERS.load(Relaxed);
    let mut begin = 0;
    while begin < count {
        let continues = |pair: &[Entry]| !registers && follows(&pair[0], &pair[1]);
        let run = &mut entries[begin..];
        let length = 1 + run.windows(2).take_while(|pair| continues(pair)).count();
        let (run, last) = (&mut run[..length], length - 1);
        run[..last].iter_mut().for_each(|entry| entry[3] |= CONTINUES);
        if let Some(number) = link::number(run) {
            let data = number as usize as *mut c_void;
            unsafe { report(instruction(begin), registers, data) };
            for position in 0..length {
                let (instruction, data) = (instruction(begin + position), position as *mut c_void);
                let kinds = api::MEM_RW;
                unsafe {
                    api::qemu_plugin_register_vcpu_mem_cb(instruction, access, api::NO_REGS, kinds, data)
                };
            }
        }
        begin += length;
    }
}

/// The second one is certain to follow the first one in the stream.
fn follows(first: &Entry, next: &Entry) -> bool {
    let size = first[3] & 0xff;
    let is_plain = SET.get().is_some_and(|set| set.is_plain(first[2], size));
    is_plain && link::address(next) == link::address(first).wrapping_add(size.into())
}

/// Address, encoding and length.
unsafe fn entry(instruction: *const c_void) -> Entry {
    unsafe {
        let (pc, size) = (api::qemu_plugin_insn_vaddr(instruction), api::qemu_plugin_insn_size(instruction));
        [pc as u32, (pc >> 32) as u32, api::encoding(instruction, size), size as u32]
    }
}

/// The run of instructions that this one begins is reported each time.
unsafe fn report(instruction: *mut c_void, registers: bool, data: *mut c_void) {
    #[cfg(feature = "api4")]
    if registers {
        let flags = api::READ_REGS;
        unsafe { api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, with_registers, flags, data) };
        return;
    }
    let _ = registers;
    unsafe { api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, execute, api::NO_REGS, data) };
}

extern "C" fn execute(cpu: c_uint, data: *mut c_void) {
    let buffer = buffer(cpu);
    if unsafe { Buffer::put(buffer, [data as usize as u32]) } {
        hand_over(cpu, buffer);
    }
}

/// As [`execute`], after the registers that the instruction before it changed.
#[cfg(feature = "api4")]
extern "C" fn with_registers(cpu: c_uint, data: *mut c_void) {
    use std::cell::RefCell;
    // A virtual CPU has a thread of its own, or shares one with the others of a machine.
    thread_local! {
        static OWN: RefCell<Vec<(c_uint, registers::Registers)>> = const { RefCell::new(Vec::new()) };
    }
    let full = OWN.with_borrow_mut(|own| unsafe {
        let at = own.iter().position(|(owner, _)| *owner == cpu).unwrap_or_else(|| {
            own.push((cpu, registers::Registers::new()));
            own.len() - 1
        });
        own[at].1.put(buffer(cpu))
    });
    if full {
        hand_over(cpu, buffer(cpu));
    }
    execute(cpu, data);
}

extern "C" fn access(cpu: c_uint, info: u32, address: u64, position: *mut c_void) {
    let buffer = buffer(cpu);
    let (kind, position) = (describe(info), position as usize as u32);
    let (high, low) = ((address >> 32) as u32, address as u32);
    let is_short = (address << 16) as i64 >> 16 == address as i64 && position < POSITIONS;
    let first = kind | position << POSITION | high & 0xffff;
    #[cfg(feature = "api4")]
    let full = {
        let value = unsafe { api::value(info) };
        if is_short && kind >> SIZE & 15 < 4 {
            unsafe { Buffer::put(buffer, [first | VALUE, low, value[0], value[1]]) }
        } else {
            long(buffer, kind, position, [high, low], Some(value))
        }
    };
    #[cfg(not(feature = "api4"))]
    let full = match is_short {
        true => unsafe { Buffer::put(buffer, [first, low]) },
        false => long(buffer, kind, position, [high, low], None),
    };
    if full {
        hand_over(cpu, buffer);
    }
}

/// Appends an access that has no room in a short record; true if the buffer is now full.
#[cold]
fn long(
    buffer: *mut Buffer,
    kind: u32,
    position: u32,
    [high, low]: [u32; 2],
    value: Option<[u32; 4]>,
) -> bool {
    let first = LONG | kind >> SIZE & 15 | (kind >> STORE & 1) << 8 | position << 12;
    match value {
        None => unsafe { Buffer::put(buffer, [first, low, high]) },
        Some([a, b, ..]) if first & 15 < 4 => unsafe {
            Buffer::put(buffer, [first | 1 << 11, low, high, a, b])
        },
        Some([a, b, c, d]) => unsafe { Buffer::put(buffer, [first | 1 << 11, low, high, a, b, c, d]) },
    }
}

/// The word for an access, without its position and address: asking QEMU about each would take longer than recording it.
#[inline(always)]
fn describe(info: u32) -> u32 {
    static KNOWN: [AtomicU64; 64] = [const { AtomicU64::new(u64::MAX) }; 64];
    let place = &KNOWN[((info ^ info >> 5 ^ info >> 13) & 63) as usize];
    let known = place.load(Relaxed);
    if (known >> 32) as u32 == info {
        return known as u32;
    }
    let word = unsafe {
        SHORT
            | (api::qemu_plugin_mem_size_shift(info) & 15) << SIZE
            | u32::from(api::qemu_plugin_mem_is_store(info)) << STORE
    };
    place.store(u64::from(info) << 32 | u64::from(word), Relaxed);
    word
}

/// clone and clone3 of all architectures: AArch64 and RISC-V, Arm, both.
const CLONES: [i64; 3] = [220, 120, 435];

#[allow(clippy::too_many_arguments)]
extern "C" fn call(
    _: u64,
    cpu: c_uint,
    number: i64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    f: u64,
    _: u64,
    _: u64,
) {
    let buffer = buffer(cpu);
    let low_high = |value: u64| [value as u32, (value >> 32) as u32];
    let mut words = [CALL; 15];
    for (n, value) in [number as u64, a, b, c, d, e, f].into_iter().enumerate() {
        words[1 + 2 * n..3 + 2 * n].copy_from_slice(&low_high(value));
    }
    // Threads wait for each other in system calls: what came before is handed over first, also before the first clone.
    if unsafe { Buffer::put(buffer, words) } || link::several() || CLONES.contains(&number) {
        hand_over(cpu, buffer);
    }
}

extern "C" fn call_return(_: u64, cpu: c_uint, number: i64, result: i64) {
    let buffer = buffer(cpu);
    let words =
        [RETURN, number as u32, (number as u64 >> 32) as u32, result as u32, (result as u64 >> 32) as u32];
    if unsafe { Buffer::put(buffer, words) } {
        hand_over(cpu, buffer);
    }
}
