//! Buffers in shared files. A buffer is a frame: its header, then its words.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering::Release};

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

/// Begins each frame: `TWQ1`.
pub(crate) const MAGIC: u32 = u32::from_le_bytes(*b"TWQ1");

/// Kinds of frames.
pub(crate) const HELLO: u32 = 0;
pub(crate) const CODE: u32 = 1;
pub(crate) const EXECUTED: u32 = 2;
/// Another process is about to connect.
pub(crate) const FORK: u32 = 3;

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
}

impl Buffer {
    /// A new one in that file, which is empty.
    pub(crate) fn map(file: &File, kind: u32, cpu: u32, tid: u32, number: u32) -> io::Result<*mut Buffer> {
        file.set_len(size_of::<Buffer>() as u64)?;
        // PROT_READ | PROT_WRITE, MAP_SHARED.
        let at = unsafe { mmap(std::ptr::null_mut(), size_of::<Buffer>(), 3, 1, file.as_raw_fd(), 0) };
        if at as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        let buffer = at.cast::<Buffer>();
        let pid = std::process::id();
        unsafe {
            (*buffer).kind = kind;
            (*buffer).pid = pid;
            (*buffer).cpu = cpu;
            (*buffer).tid = tid;
            (*buffer).file = number;
            (*buffer).magic = MAGIC;
        }
        Ok(buffer)
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

    /// Is it filled by this thread?
    pub(crate) unsafe fn is_of(buffer: *mut Buffer, tid: u32) -> bool {
        unsafe { (*buffer).tid == tid }
    }

    pub(crate) unsafe fn number(buffer: *mut Buffer) -> u32 {
        unsafe { (*buffer).file }
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

    pub(crate) unsafe fn is_empty(buffer: *mut Buffer) -> bool {
        unsafe { *(*buffer).length.as_ptr() == 0 }
    }

    /// It was sent: a new frame begins.
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
