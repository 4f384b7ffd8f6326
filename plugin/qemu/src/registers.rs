//! Registers: the integer ones and the privilege, where they are asked for. QEMU reads them one by one through the
//! lists that it has for debuggers, which takes far longer than recording the instruction.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::buffer::Buffer;

/// The word that begins a record: the number of the register is in it, its value follows.
const REGISTER: u32 = 0xb000_0000;

/// Numbers that are not those of integer registers.
const RISCV_LEVEL: u32 = 64;
const ARM_LEVEL: u32 = 65;

/// A list of GLib, as documented: what it holds, and how many.
#[repr(C)]
struct List {
    data: *mut c_void,
    length: c_uint,
}

/// What QEMU says of a register.
#[repr(C)]
struct Described {
    handle: *mut c_void,
    name: *const c_char,
    feature: *const c_char,
}

unsafe extern "C" {
    fn qemu_plugin_get_registers() -> *mut List;
    fn qemu_plugin_read_register(handle: *mut c_void, to: *mut List) -> c_int;
    fn g_byte_array_new() -> *mut List;
    fn g_byte_array_set_size(list: *mut List, length: c_uint) -> *mut List;
    fn g_array_free(list: *mut List, content: c_int) -> *mut c_void;
}

/// The registers of one virtual CPU.
pub(crate) struct Registers {
    known: Vec<Known>,
    bytes: *mut List,
}

struct Known {
    handle: *mut c_void,
    number: u32,
    mask: u64,
    value: Option<u64>,
}

/// How many of a list are integer registers; the rest are pc and flags.
fn integers(feature: &str) -> usize {
    match feature {
        "org.gnu.gdb.riscv.cpu" | "org.gnu.gdb.aarch64.core" => 32,
        "org.gnu.gdb.arm.core" => 15,
        _ => 0,
    }
}

impl Registers {
    /// Those of the current virtual CPU.
    pub(crate) unsafe fn new() -> Self {
        let mut known: Vec<Known> = Vec::new();
        let mut of_core = 0;
        let text = |at: *const c_char| {
            if at.is_null() { "" } else { unsafe { CStr::from_ptr(at) }.to_str().unwrap_or_default() }
        };
        unsafe {
            let list = qemu_plugin_get_registers();
            let described =
                std::slice::from_raw_parts((*list).data.cast::<Described>(), (*list).length as usize);
            for one in described {
                let (name, feature) = (text(one.name), text(one.feature));
                let number = match name {
                    "zero" => None,
                    "priv" => Some((RISCV_LEVEL, 3)),
                    "cpsr" if integers(feature) > 0 => Some((ARM_LEVEL, 0x1f)),
                    _ if integers(feature) > of_core => Some((of_core as u32, u64::MAX)),
                    _ => None,
                };
                of_core += usize::from(integers(feature) > 0);
                if let Some((number, mask)) = number {
                    known.push(Known { handle: one.handle, number, mask, value: None });
                }
            }
            g_array_free(list, 1);
            Registers { known, bytes: g_byte_array_new() }
        }
    }

    /// Appends those that changed since the last time; true if the buffer is now full.
    pub(crate) unsafe fn put(&mut self, buffer: *mut Buffer) -> bool {
        let mut full = false;
        for known in &mut self.known {
            let value = unsafe {
                g_byte_array_set_size(self.bytes, 0);
                // The size that is returned became a truth value in a later version of the API.
                qemu_plugin_read_register(known.handle, self.bytes);
                let length = ((*self.bytes).length as usize).min(8);
                let mut value = [0; 8];
                std::ptr::copy_nonoverlapping((*self.bytes).data.cast::<u8>(), value.as_mut_ptr(), length);
                u64::from_le_bytes(value) & known.mask
            };
            if known.value != Some(value) {
                known.value = Some(value);
                let record = [REGISTER | known.number, value as u32, (value >> 32) as u32];
                full |= unsafe { Buffer::put(buffer, record) };
            }
        }
        full
    }
}
