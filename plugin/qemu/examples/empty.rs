//! A plugin with an empty callback for each instruction and for each access: the measure of ours.
//!
//! SPDX-License-Identifier: MIT

#[allow(dead_code)]
#[path = "../src/api.rs"]
mod api;

use std::ffi::{c_char, c_int, c_uint, c_void};

/// The version of the API that this file is for.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: c_int = api::VERSION;

/// # Safety
/// Called by QEMU once, with arguments as its documentation says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    _: *const c_void,
    _: c_int,
    _: *const *const c_char,
) -> c_int {
    unsafe { api::qemu_plugin_register_vcpu_tb_trans_cb(id, translate) };
    0
}

extern "C" fn translate(_: u64, block: *mut c_void) {
    unsafe {
        for n in 0..api::qemu_plugin_tb_n_insns(block) {
            let instruction = api::qemu_plugin_tb_get_insn(block, n);
            let data = std::ptr::null_mut();
            api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, execute, api::NO_REGS, data);
            api::qemu_plugin_register_vcpu_mem_cb(instruction, access, api::NO_REGS, api::MEM_RW, data);
        }
    }
}

extern "C" fn execute(_: c_uint, _: *mut c_void) {}

extern "C" fn access(_: c_uint, _: u32, _: u64, _: *mut c_void) {}
