//! The C interface of OpenCSD (`opencsd_c_api.h`), and a decoder of one ETMv4 source on top of it.

use std::ffi::{CString, c_char, c_int, c_uchar, c_void};
use std::path::Path;

/// `ocsd_etmv4_cfg`.
#[repr(C)]
struct Etmv4Config {
    idr0: u32,
    idr1: u32,
    idr2: u32,
    idr8: u32,
    idr9: u32,
    idr10: u32,
    idr11: u32,
    idr12: u32,
    idr13: u32,
    configr: u32,
    traceidr: u32,
    arch_version: c_int,
    core_profile: c_int,
}

/// The beginning of `ocsd_generic_trace_elem`.
#[repr(C)]
struct Element {
    kind: c_int,
    isa: c_int,
    start: u64,
    end: u64,
}

type ElementFn = extern "C" fn(*const c_void, u64, u8, *const Element) -> c_int;
type PacketFn = extern "C" fn(*const c_void, c_int, u64, *const c_void) -> c_int;

unsafe extern "C" {
    fn ocsd_create_dcd_tree(source: c_int, flags: u32) -> *mut c_void;
    fn ocsd_destroy_dcd_tree(tree: *mut c_void);
    fn ocsd_dt_process_data(
        tree: *mut c_void,
        operation: c_int,
        index: u64,
        size: u32,
        data: *const u8,
        processed: *mut u32,
    ) -> c_int;
    fn ocsd_dt_set_gen_elem_outfn(tree: *mut c_void, function: ElementFn, context: *const c_void) -> c_int;
    fn ocsd_dt_create_decoder(
        tree: *mut c_void,
        name: *const c_char,
        flags: c_int,
        config: *const c_void,
        id: *mut c_uchar,
    ) -> c_int;
    fn ocsd_dt_attach_packet_callback(
        tree: *mut c_void,
        id: c_uchar,
        kind: c_int,
        function: PacketFn,
        context: *const c_void,
    ) -> c_int;
    fn ocsd_dt_add_binfile_mem_acc(
        tree: *mut c_void,
        address: u64,
        space: c_int,
        path: *const c_char,
    ) -> c_int;
    fn ocsd_dt_add_buffer_mem_acc(
        tree: *mut c_void,
        address: u64,
        space: c_int,
        bytes: *const u8,
        length: u32,
    ) -> c_int;
}

const FRAME_FORMATTED: c_int = 0;
const MEM_ALIGN: u32 = 4;
const PACKET_PROC: c_int = 1;
const FULL_DECODER: c_int = 2;
const MEM_SPACE_ANY: c_int = 0x1f;
const ARCH_V8: c_int = 0x800;
const PROFILE_A: c_int = 3;
const INSTR_RANGE: c_int = 5;
const OP_DATA: c_int = 0;
const OP_EOT: c_int = 1;
const OP_RESET: c_int = 3;

/// Counts of what was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Ranges of instructions.
    pub ranges: u64,
    /// Instructions.
    pub instructions: u64,
}

extern "C" fn count_element(context: *const c_void, _: u64, _: u8, element: *const Element) -> c_int {
    // SAFETY: the library passes back the pointer to `Counts` that it was given, and a valid element.
    let (counts, element) = unsafe { (&mut *context.cast::<Counts>().cast_mut(), &*element) };
    if element.kind == INSTR_RANGE {
        counts.ranges += 1;
        counts.instructions += (element.end - element.start) / 4;
    }
    0
}

extern "C" fn count_packet(context: *const c_void, _: c_int, _: u64, _: *const c_void) -> c_int {
    // SAFETY: the library passes back the pointer to `Counts` that it was given.
    unsafe { (*context.cast::<Counts>().cast_mut()).packets += 1 };
    0
}

/// The program, each part with its address.
pub enum Program<'a> {
    /// None: packets only.
    None,
    /// As files, which the library reads again and again.
    Files(&'a [(&'a Path, u64)]),
    /// As bytes.
    Memory(Vec<(Vec<u8>, u64)>),
}

/// A decoder of one ETMv4 source in CoreSight frames.
pub struct Decoder {
    tree: *mut c_void,
    counts: Box<Counts>,
    /// The library keeps pointers to them.
    memory: Vec<(Vec<u8>, u64)>,
}

impl Decoder {
    /// Registers by name, and the program.
    pub fn new(register: impl Fn(&str) -> u64, program: Program<'_>) -> Option<Self> {
        let get = |name| register(name) as u32;
        let config = Etmv4Config {
            idr0: get("TRCIDR0"),
            idr1: get("TRCIDR1"),
            idr2: get("TRCIDR2"),
            idr8: get("TRCIDR8"),
            idr9: 0,
            idr10: 0,
            idr11: 0,
            idr12: 0,
            idr13: 0,
            configr: get("TRCCONFIGR"),
            traceidr: get("TRCTRACEIDR"),
            arch_version: ARCH_V8,
            core_profile: PROFILE_A,
        };
        let mut counts = Box::<Counts>::default();
        let context: *const c_void = (&raw mut *counts).cast();
        let flags = if matches!(program, Program::None) { PACKET_PROC } else { FULL_DECODER };
        let mut id = 0;
        // SAFETY: every pointer is valid for the call; `counts` and the bytes of the program live as long as the tree.
        unsafe {
            let tree = ocsd_create_dcd_tree(FRAME_FORMATTED, MEM_ALIGN);
            if tree.is_null() {
                return None;
            }
            let mut decoder = Decoder { tree, counts, memory: Vec::new() };
            let config = (&raw const config).cast();
            let made = ocsd_dt_create_decoder(tree, c"ETMV4I".as_ptr(), flags, config, &mut id);
            if made != 0 {
                return None;
            }
            match program {
                Program::None => {
                    let attached = ocsd_dt_attach_packet_callback(tree, id, 0, count_packet, context);
                    return (attached == 0).then_some(decoder);
                }
                Program::Files(files) => {
                    for (path, address) in files {
                        let path = CString::new(path.to_str()?).ok()?;
                        ocsd_dt_add_binfile_mem_acc(tree, *address, MEM_SPACE_ANY, path.as_ptr());
                    }
                }
                Program::Memory(memory) => {
                    decoder.memory = memory;
                    for (bytes, address) in &decoder.memory {
                        let length = u32::try_from(bytes.len()).ok()?;
                        ocsd_dt_add_buffer_mem_acc(tree, *address, MEM_SPACE_ANY, bytes.as_ptr(), length);
                    }
                }
            }
            (ocsd_dt_set_gen_elem_outfn(tree, count_element, context) == 0).then_some(decoder)
        }
    }

    /// Decodes a whole buffer from the start.
    pub fn decode(&mut self, data: &[u8]) -> Counts {
        *self.counts = Counts::default();
        let mut processed = 0;
        // SAFETY: the tree is alive, and the block is valid for its size.
        unsafe {
            ocsd_dt_process_data(self.tree, OP_RESET, 0, 0, std::ptr::null(), &mut processed);
            let mut index = 0;
            for block in data.chunks(1 << 18) {
                let size = block.len() as u32;
                ocsd_dt_process_data(self.tree, OP_DATA, index, size, block.as_ptr(), &mut processed);
                index += u64::from(size);
            }
            ocsd_dt_process_data(self.tree, OP_EOT, 0, 0, std::ptr::null(), &mut processed);
        }
        *self.counts
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: the tree was made by the library and is destroyed once.
        unsafe { ocsd_destroy_dcd_tree(self.tree) };
    }
}
