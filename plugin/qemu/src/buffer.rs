//! Buffers in shared files. A buffer is a frame: its header, then its words.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Release},
};

/// Words of a buffer.
const WORDS: usize = (1 << 16) - 8;
/// Beyond this the buffer is sent: all registers and a record fit behind it.
const FULL: u32 = WORDS as u32 - 128;

/// A frame under construction, in memory that its file shares.
#[repr(C)]
pub(crate) struct Buffer {
    magic: u32,
    kind: u32,
    pid: u32,
    cpu: u32,
    tid: u32,
    /// Frames sent before this one.
    sequence: u32,
    /// Words that are there.
    length: AtomicU32,
    /// Number of the file, for removing it.
    file: u32,
    words: [u32; WORDS],
}

/// Begins each frame: `TWQ3`.
pub(crate) const MAGIC: u32 = u32::from_le_bytes(*b"TWQ3");

/// Kinds of frames.
pub(crate) const HELLO: u32 = 0;
pub(crate) const CODE: u32 = 1;
pub(crate) const EXECUTED: u32 = 2;
/// Another process is about to connect.
pub(crate) const FORK: u32 = 3;
/// The frame is in the file of its buffer.
const FILLED: u32 = 4;

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        length: usize,
        access: c_int,
        flags: c_int,
        file: c_int,
        from: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, length: usize) -> c_int;
    fn posix_fallocate(file: c_int, from: i64, length: i64) -> c_int;
}

impl Buffer {
    /// A new one in that file, which is empty. The space is taken now: a page that cannot be had later would end QEMU.
    pub(crate) fn map(file: &File, number: u32) -> io::Result<*mut Buffer> {
        match unsafe { posix_fallocate(file.as_raw_fd(), 0, size_of::<Buffer>() as i64) } {
            0 => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
        // PROT_READ | PROT_WRITE; MAP_SHARED | MAP_POPULATE: all pages at once take less than one by one.
        let at = unsafe { mmap(std::ptr::null_mut(), size_of::<Buffer>(), 3, 0x8001, file.as_raw_fd(), 0) };
        if at as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        let buffer = at.cast::<Buffer>();
        unsafe {
            (*buffer).pid = std::process::id();
            (*buffer).file = number;
            (*buffer).magic = MAGIC;
        }
        Ok(buffer)
    }

    /// Begins a frame of this kind in a buffer that is empty.
    pub(crate) unsafe fn begin(buffer: *mut Buffer, kind: u32, cpu: u32, tid: u32) {
        unsafe {
            (*buffer).kind = kind;
            (*buffer).cpu = cpu;
            (*buffer).tid = tid;
        }
    }

    /// Memory that is never read, for a process whose recorder is gone.
    pub(crate) fn private() -> *mut Buffer {
        // PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS.
        let at = unsafe { mmap(std::ptr::null_mut(), size_of::<Buffer>(), 3, 0x22, -1, 0) };
        if at as isize == -1 {
            std::process::abort();
        }
        at.cast()
    }

    pub(crate) unsafe fn unmap(buffer: *mut Buffer) {
        unsafe { munmap(buffer.cast(), size_of::<Buffer>()) };
    }

    /// Appends a record; true if the buffer is now full. The length comes last: at any moment the file is a frame.
    #[inline(always)]
    pub(crate) unsafe fn put<const N: usize>(buffer: *mut Buffer, record: [u32; N]) -> bool {
        unsafe {
            let length = *(*buffer).length.as_ptr();
            let to = (&raw mut (*buffer).words).cast::<u32>().add(length as usize);
            to.cast::<[u32; N]>().write_unaligned(record);
            (*buffer).length.store(length + N as u32, Release);
            length + N as u32 >= FULL
        }
    }

    /// The frame as bytes.
    pub(crate) unsafe fn frame<'a>(buffer: *mut Buffer) -> &'a [u8] {
        unsafe {
            let length = *(*buffer).length.as_ptr() as usize;
            std::slice::from_raw_parts(buffer.cast::<u8>(), 32 + 4 * length)
        }
    }

    /// The header alone: the recorder reads the rest in the file, and then makes it empty.
    pub(crate) unsafe fn filled(buffer: *mut Buffer) -> [u8; 32] {
        let header = unsafe {
            [
                MAGIC,
                FILLED,
                (*buffer).pid,
                (*buffer).cpu,
                (*buffer).tid,
                (*buffer).sequence,
                0,
                (*buffer).file,
            ]
        };
        let mut bytes = [0; 32];
        for (to, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(header) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// Words so far; the recorder may have taken them.
    pub(crate) unsafe fn length(buffer: *mut Buffer) -> u32 {
        unsafe { (*buffer).length.load(Acquire) }
    }

    /// Its virtual CPU and thread.
    pub(crate) unsafe fn owner(buffer: *mut Buffer) -> (u32, u32) {
        unsafe { ((*buffer).cpu, (*buffer).tid) }
    }

    /// It was handed over: a new frame begins.
    pub(crate) unsafe fn restart(buffer: *mut Buffer) {
        unsafe {
            (*buffer).length.store(0, Release);
            let sequence = &raw mut (*buffer).sequence;
            sequence.write_volatile(sequence.read_volatile() + 1);
        }
    }
}

/// A frame that was not made in a buffer.
pub(crate) fn frame(kind: u32, words: &[u32]) -> Vec<u8> {
    let header = [MAGIC, kind, std::process::id(), 0, 0, 0, words.len() as u32, 0];
    header.iter().chain(words).flat_map(|word| word.to_le_bytes()).collect()
}
