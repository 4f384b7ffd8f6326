//! The functions of `trackway.h`: pointers in, numbers and texts out. Nothing else is here.
//!
//! `unsafe` rests on the contract of the header: `core` comes from `trackway_new`, is not used after `trackway_free` nor
//! by two threads at once, and strings end with a zero byte. NULL is met everywhere. No panic crosses into C.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Core, Retired};

/// A core and the texts that C was shown.
struct Handle {
    core: Core,
    text: CString,
    error: CString,
}

thread_local! {
    /// Why no core could be made.
    static FAILED: RefCell<CString> = RefCell::default();
}

/// Text for C; zero bytes inside end it.
fn c_text(text: String) -> CString {
    let bytes = text.into_bytes().into_iter().take_while(|byte| *byte != 0).collect::<Vec<u8>>();
    CString::new(bytes).unwrap_or_default()
}

/// A string of C; NULL is empty.
///
/// # Safety
/// NULL, or a string that ends with a zero byte.
unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not NULL, and the caller says that it ends.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Runs a call on a core; `otherwise` for NULL and where it fails, which the core then explains.
///
/// # Safety
/// NULL, or a core of `trackway_new` that was not freed and that no other thread uses now.
unsafe fn with<T>(core: *mut c_void, otherwise: T, call: impl FnOnce(&mut Handle) -> Result<T, String>) -> T {
    // SAFETY: as above.
    let Some(handle) = (unsafe { core.cast::<Handle>().as_mut() }) else { return otherwise };
    let done = catch_unwind(AssertUnwindSafe(|| call(handle)));
    match done.unwrap_or_else(|_| Err("an internal error".to_string())) {
        Ok(value) => value,
        Err(text) => {
            handle.error = c_text(text);
            otherwise
        }
    }
}

/// See `trackway.h`.
///
/// # Safety
/// Strings are NULL or end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trackway_new(
    description: *const c_char,
    isa: *const c_char,
    reset_pc: u64,
) -> *mut c_void {
    // SAFETY: as above.
    let (description, isa) = unsafe { (text_of(description), text_of(isa)) };
    let made = catch_unwind(|| Core::new(&description, &isa, reset_pc));
    match made.unwrap_or_else(|_| Err("an internal error".to_string())) {
        Ok(core) => {
            let handle = Handle { core, text: CString::default(), error: CString::default() };
            Box::into_raw(Box::new(handle)).cast()
        }
        Err(text) => {
            FAILED.with_borrow_mut(|failed| *failed = c_text(text));
            std::ptr::null_mut()
        }
    }
}

/// See `trackway.h`.
///
/// # Safety
/// NULL, or a core of `trackway_new` that was not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trackway_free(core: *mut c_void) {
    if !core.is_null() {
        // SAFETY: it comes from `Box::into_raw`, and is freed once.
        drop(unsafe { Box::from_raw(core.cast::<Handle>()) });
    }
}

/// Functions that take a core and numbers, and call a method of it.
macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty = $otherwise:expr, |$core:ident| $body:expr;)*) => {$(
        /// See `trackway.h`.
        ///
        /// # Safety
        /// NULL, or a core of `trackway_new` that was not freed and that no other thread uses now.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(core: *mut c_void, $($argument: $type),*) -> $result {
            // SAFETY: as above.
            unsafe { with(core, $otherwise, |handle| { let $core = &mut handle.core; $body }) }
        }
    )*};
}

/// A count as C has it.
fn count(n: usize) -> c_int {
    c_int::try_from(n).unwrap_or(c_int::MAX)
}

/// The number of a register.
fn register(number: u32) -> Result<u16, String> {
    u16::try_from(number).map_err(|_| format!("there is no register {number}"))
}

calls! {
    trackway_add_memory(address: u64, size: u64, is_zero: c_int) -> c_int = -1, |core|
        core.add_memory(address, size, is_zero != 0).map(|()| 0);
    trackway_add_device(address: u64, size: u64) -> c_int = -1, |core| core.add_device(address, size).map(|()| 0);
    trackway_retired(
        pc: u64, instruction: u32, next_pc: u64, trap: c_int, rd: c_int, rd_value: u64, mem_address: u64,
        mem_read_mask: u32, mem_read_data: u64, mem_write_mask: u32, mem_write_data: u64
    ) -> c_int = -1, |core| {
        let rd = u8::try_from(rd).map_err(|_| format!("there is no register {rd}"))?;
        let trap = trap != 0;
        let retired = Retired {
            pc, instruction, next_pc, trap, rd, rd_value, mem_address, mem_read_mask, mem_read_data, mem_write_mask,
            mem_write_data,
        };
        core.retired(&retired).map(count)
    };
    trackway_wrote_f(number: u32, value: u64) -> c_int = -1, |core| core.wrote_f(register(number)?, value).map(|()| 0);
    trackway_wrote_csr(number: u32, value: u64) -> c_int = -1, |core|
        core.wrote_csr(register(number)?, value).map(|()| 0);
    trackway_interrupt(cause: u32) -> c_int = -1, |core| { core.interrupt(cause); Ok(0) };
    trackway_set_csr(number: u32, value: u64) -> c_int = -1, |core| core.set_csr(register(number)?, value).map(|()| 0);
    trackway_set_x(number: u32, value: u64) -> c_int = -1, |core| core.set_x(register(number)?, value).map(|()| 0);
    trackway_set_f(number: u32, value: u64) -> c_int = -1, |core| core.set_f(register(number)?, value).map(|()| 0);
    trackway_set_mmio(address: u64, value: u64) -> c_int = -1, |core| { core.set_mmio(address, value); Ok(0) };
    trackway_step() -> c_int = -1, |core| Ok(c_int::from(core.step()));
    trackway_fetched() -> u32 = 0, |core| Ok(core.fetched());
    trackway_mem_address() -> u64 = 0, |core| Ok(core.accessed().mem_address);
    trackway_mem_read_mask() -> u32 = 0, |core| Ok(core.accessed().mem_read_mask);
    trackway_mem_read_data() -> u64 = 0, |core| Ok(core.accessed().mem_read_data);
    trackway_mem_write_mask() -> u32 = 0, |core| Ok(core.accessed().mem_write_mask);
    trackway_mem_write_data() -> u64 = 0, |core| Ok(core.accessed().mem_write_data);
    trackway_pc() -> u64 = 0, |core| Ok(core.pc());
    trackway_x(number: u32) -> u64 = 0, |core| Ok(core.x(number));
    trackway_f(number: u32) -> u64 = 0, |core| Ok(core.f(number));
    trackway_csr(number: u32) -> u64 = 0, |core|
        core.csr(register(number)?).ok_or_else(|| format!("the core has no control register {number:#x}"));
    trackway_mismatches() -> c_int = -1, |core| Ok(count(core.report().mismatches.len()));
    trackway_passed() -> c_int = -1, |core| Ok(c_int::from(core.report().passed()));
}

/// See `trackway.h`.
///
/// # Safety
/// As for the other functions; `path` is NULL or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trackway_load_elf(core: *mut c_void, path: *const c_char) -> c_int {
    // SAFETY: as above.
    unsafe {
        let path = text_of(path);
        with(core, -1, |handle| handle.core.load_elf(&path).map(|()| 0))
    }
}

/// See `trackway.h`.
///
/// # Safety
/// As for the other functions; `bytes` is NULL or has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trackway_load(
    core: *mut c_void,
    address: u64,
    bytes: *const c_void,
    size: u64,
) -> c_int {
    let Some(length) = usize::try_from(size).ok().filter(|_| !bytes.is_null() && size <= 1 << 40) else {
        return -1;
    };
    // SAFETY: the caller says that there are `size` of them.
    unsafe {
        let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), length);
        with(core, -1, |handle| handle.core.load(address, bytes).map(|()| 0))
    }
}

/// See `trackway.h`.
///
/// # Safety
/// As for the other functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trackway_report(core: *mut c_void) -> *const c_char {
    // SAFETY: as above.
    unsafe {
        with(core, std::ptr::null(), |handle| {
            handle.text = c_text(handle.core.report().text());
            Ok(handle.text.as_ptr())
        })
    }
}

/// See `trackway.h`.
///
/// # Safety
/// As for the other functions; `name` is NULL or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trackway_junit(core: *mut c_void, name: *const c_char) -> *const c_char {
    // SAFETY: as above.
    unsafe {
        let name = text_of(name);
        with(core, std::ptr::null(), |handle| {
            handle.text = c_text(handle.core.report().junit(&name));
            Ok(handle.text.as_ptr())
        })
    }
}

/// See `trackway.h`.
///
/// # Safety
/// As for the other functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trackway_error(core: *mut c_void) -> *const c_char {
    // SAFETY: as above.
    match unsafe { core.cast::<Handle>().as_ref() } {
        Some(handle) => handle.error.as_ptr(),
        None => FAILED.with_borrow(|failed| failed.as_ptr()),
    }
}
