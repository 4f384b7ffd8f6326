//! QEMU's plugin API as documented in `docs/devel/tcg-plugins`, in prototypes of our own.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The version that this file is built for.
#[cfg(not(any(feature = "api2", feature = "api3")))]
pub(crate) const VERSION: c_int = 1;
#[cfg(feature = "api2")]
pub(crate) const VERSION: c_int = 2;
#[cfg(all(feature = "api3", not(feature = "api4")))]
pub(crate) const VERSION: c_int = 3;
#[cfg(feature = "api4")]
pub(crate) const VERSION: c_int = 4;

pub(crate) const NO_REGS: c_int = 0;
#[cfg(feature = "api4")]
pub(crate) const READ_REGS: c_int = 1;
pub(crate) const MEM_RW: c_int = 3;

/// QEMU about itself.
#[repr(C)]
pub(crate) struct Info {
    pub(crate) target: *const c_char,
    pub(crate) lowest: c_int,
    pub(crate) current: c_int,
    pub(crate) system_emulation: bool,
}

pub(crate) type CpuFunction = extern "C" fn(u64, c_uint);
pub(crate) type Translate = extern "C" fn(u64, *mut c_void);
pub(crate) type Execute = extern "C" fn(c_uint, *mut c_void);
pub(crate) type Access = extern "C" fn(c_uint, u32, u64, *mut c_void);
pub(crate) type Call = extern "C" fn(u64, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
pub(crate) type CallReturn = extern "C" fn(u64, c_uint, i64, i64);

unsafe extern "C" {
    pub(crate) fn qemu_plugin_register_vcpu_init_cb(id: u64, function: CpuFunction);
    pub(crate) fn qemu_plugin_register_vcpu_exit_cb(id: u64, function: CpuFunction);
    pub(crate) fn qemu_plugin_register_vcpu_tb_trans_cb(id: u64, function: Translate);
    pub(crate) fn qemu_plugin_register_vcpu_syscall_cb(id: u64, function: Call);
    pub(crate) fn qemu_plugin_register_vcpu_syscall_ret_cb(id: u64, function: CallReturn);
    pub(crate) fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut c_void,
        function: Execute,
        flags: c_int,
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut c_void,
        function: Access,
        flags: c_int,
        kinds: c_int,
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_tb_n_insns(block: *const c_void) -> usize;
    pub(crate) fn qemu_plugin_tb_get_insn(block: *const c_void, n: usize) -> *mut c_void;
    pub(crate) fn qemu_plugin_insn_vaddr(instruction: *const c_void) -> u64;
    pub(crate) fn qemu_plugin_insn_size(instruction: *const c_void) -> usize;
    #[cfg(not(feature = "api3"))]
    fn qemu_plugin_insn_data(instruction: *const c_void) -> *const u8;
    #[cfg(feature = "api3")]
    fn qemu_plugin_insn_data(instruction: *const c_void, to: *mut u8, length: usize) -> usize;
    pub(crate) fn qemu_plugin_mem_size_shift(info: u32) -> c_uint;
    pub(crate) fn qemu_plugin_mem_is_store(info: u32) -> bool;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    #[cfg(feature = "api4")]
    fn qemu_plugin_mem_get_value(info: u32) -> Value;
}

/// Start, end and entry of the program, once it is loaded. None where QEMU cannot say: user mode of 10.0 is built without
/// these functions, and a plugin that needs them is refused.
pub(crate) fn program() -> Option<[u64; 3]> {
    let ask = |name: &CStr| {
        // Among all that QEMU has loaded.
        let function = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) };
        let function: Option<extern "C" fn() -> u64> = unsafe { std::mem::transmute(function) };
        function.map(|function| function())
    };
    Some([ask(c"qemu_plugin_start_code")?, ask(c"qemu_plugin_end_code")?, ask(c"qemu_plugin_entry_code")?])
}

/// The bytes of an instruction as a little-endian number.
pub(crate) unsafe fn encoding(instruction: *const c_void, size: usize) -> u32 {
    let mut bytes = [0; 4];
    #[cfg(not(feature = "api3"))]
    unsafe {
        std::ptr::copy_nonoverlapping(qemu_plugin_insn_data(instruction), bytes.as_mut_ptr(), size.min(4));
    }
    #[cfg(feature = "api3")]
    unsafe {
        qemu_plugin_insn_data(instruction, bytes.as_mut_ptr(), size.min(4));
    }
    u32::from_le_bytes(bytes)
}

/// A value of memory: its width, and up to 128 bits.
#[cfg(feature = "api4")]
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    kind: c_int,
    data: [u64; 2],
}

/// The value of the access that is being reported, in words.
#[cfg(feature = "api4")]
pub(crate) unsafe fn value(info: u32) -> [u32; 4] {
    let Value { kind, data: [low, high] } = unsafe { qemu_plugin_mem_get_value(info) };
    let low = match kind {
        0 => low & 0xff,
        1 => low & 0xffff,
        2 => low & 0xffff_ffff,
        _ => low,
    };
    [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
}
