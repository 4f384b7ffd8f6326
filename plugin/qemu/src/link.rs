//! The connection to the recorder: one for each process.

use std::cell::UnsafeCell;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::time::Duration;

use crate::Entry;
use crate::api;
use crate::buffer::{self, Buffer, CODE, EXECUTED, FORK, HELLO};

/// Buffers of a process at most, of 256 KiB: with as many in the recorder's hands QEMU waits. More of them take time to make,
/// and do not fit into the caches.
const MOST: u32 = 64;

/// Frames of this many words at most go through the socket.
const SHORT: u32 = 1 << 11;

struct Link {
    folder: PathBuf,
    hello: String,
    /// Where the program is: known once it is loaded.
    program: String,
    code_range: Option<Range<u64>>,
    /// None once the recorder has gone: the guest then runs on, and nothing is recorded.
    stream: Option<UnixStream>,
    /// Runs of instructions by their content: the place of the first one in the table.
    numbers: HashMap<Vec<Entry>, u32>,
    table: Vec<Entry>,
    /// Instructions that were not sent yet.
    code: *mut Buffer,
    /// Buffers that are not in use.
    free: Vec<*mut Buffer>,
    /// Buffers that the recorder reads, in its order; it makes them empty.
    handed: VecDeque<*mut Buffer>,
    /// Number of the last file, files of the process, and how many there may be.
    files: u32,
    made: u32,
    most: u32,
    skip_libs: bool,
}

/// A lock that a fork may hold: the child releases it.
struct Locked {
    taken: AtomicBool,
    link: UnsafeCell<Option<Link>>,
}

// The link is only touched with the lock.
unsafe impl Sync for Locked {}

static LINK: Locked = Locked { taken: AtomicBool::new(false), link: UnsafeCell::new(None) };
/// Buffers of this process.
static OPEN: AtomicU32 = AtomicU32::new(0);

fn lock() {
    let mut tries = 0;
    while LINK.taken.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
        tries += 1;
        // Whoever holds it may be waiting for the recorder, which takes a while.
        if tries > 64 {
            std::thread::sleep(Duration::from_micros(50 * (tries - 64).min(20)));
        } else {
            std::thread::yield_now();
        }
    }
}

fn unlock() {
    LINK.taken.store(false, Release);
}

fn with<T>(act: impl FnOnce(&mut Link) -> T) -> Option<T> {
    lock();
    let result = unsafe { (*LINK.link.get()).as_mut() }.map(act);
    unlock();
    result
}

unsafe extern "C" {
    fn pthread_atfork(before: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) -> c_int;
    fn gettid() -> c_int;
    #[link_name = "send"]
    fn send_bytes(socket: c_int, bytes: *const u8, length: usize, flags: c_int) -> isize;
    fn recv(socket: c_int, bytes: *mut u8, length: usize, flags: c_int) -> isize;
}

/// Connects, and says who we are.
pub(crate) fn begin(folder: String, target: String, info: &api::Info, skip_libs: bool) -> io::Result<()> {
    let hello = format!(
        "target={target}\napi={}\nlowest={}\ncurrent={}\nsystem={}\n",
        api::VERSION,
        info.lowest,
        info.current,
        u8::from(info.system_emulation)
    );
    let mut link = Link {
        folder: folder.into(),
        hello,
        program: String::new(),
        code_range: None,
        stream: None,
        numbers: HashMap::new(),
        table: Vec::new(),
        code: std::ptr::null_mut(),
        free: Vec::new(),
        handed: VecDeque::new(),
        files: 0,
        made: 0,
        most: MOST,
        skip_libs,
    };
    link.connect()?;
    lock();
    unsafe { *LINK.link.get() = Some(link) };
    unlock();
    Ok(())
}

/// True if there is more than one thread.
pub(crate) fn several() -> bool {
    OPEN.load(Relaxed) > 1
}

pub(crate) unsafe fn at_fork() {
    unsafe { pthread_atfork(before, parent, child) };
}

extern "C" fn before() {
    lock();
    if let Some(link) = unsafe { (*LINK.link.get()).as_mut() } {
        // The steps of this thread come before those of the child.
        if let Some(own) = crate::find(|buffer| unsafe { Buffer::owner(buffer).1 == gettid() as u32 }) {
            link.send(own);
        }
        link.write(&buffer::frame(FORK, &[]));
    }
}

extern "C" fn parent() {
    unlock();
}

/// The child has a stream of its own: the buffers are the parent's, which keeps filling them.
extern "C" fn child() {
    for buffer in crate::forget_all() {
        unsafe { Buffer::unmap(buffer) };
    }
    OPEN.store(0, Relaxed);
    if let Some(link) = unsafe { (*LINK.link.get()).as_mut() } {
        let code = std::mem::replace(&mut link.code, std::ptr::null_mut());
        let others = link.free.drain(..).chain(link.handed.drain(..)).chain([code]);
        others.filter(|buffer| !buffer.is_null()).for_each(|buffer| unsafe { Buffer::unmap(buffer) });
        link.made = 0;
        if link.stream.take().is_some() {
            let _ = link.connect();
        }
    }
    unlock();
}

impl Link {
    fn connect(&mut self) -> io::Result<()> {
        let stream = UnixStream::connect(self.folder.join("socket"))?;
        let (pid, parent) = (std::process::id(), std::os::unix::process::parent_id());
        let hello = format!("{}pid={pid}\nparent={parent}\n{}", self.hello, self.program);
        write(&stream, &buffer::frame(HELLO, &words(hello)))?;
        // A forked process continues with the translations of its parent.
        for entries in self.table.chunks(1 << 12) {
            write(&stream, &buffer::frame(CODE, entries.as_flattened()))?;
        }
        self.stream = Some(stream);
        Ok(())
    }

    /// Asks QEMU where the program is: when the first instruction is translated, it is loaded.
    fn ask(&mut self) {
        let Some([start, end, entry]) = api::program() else {
            if self.skip_libs {
                eprintln!(
                    "trackway plugin: this QEMU does not say where the program is: libraries are recorded too"
                );
            }
            // Nothing is left out.
            self.code_range = Some(0..u64::MAX);
            return;
        };
        self.code_range = Some(start..end);
        self.program = format!("start={start:#x}\nend={end:#x}\nentry={entry:#x}\n");
        self.write(&buffer::frame(HELLO, &words(self.program.clone())));
    }

    /// A buffer for frames of this kind.
    fn make(&mut self, kind: u32, cpu: u32, tid: u32) -> *mut Buffer {
        let buffer = self.take();
        unsafe { Buffer::begin(buffer, kind, cpu, tid) };
        buffer
    }

    /// An empty buffer: one that was used before, or a new one; waits for the recorder where there are too many.
    fn take(&mut self) -> *mut Buffer {
        while self.stream.is_some() {
            if let Some(buffer) = self.free.pop() {
                return buffer;
            }
            if let Some(buffer) = self.handed.front().copied()
                && unsafe { Buffer::length(buffer) } == 0
            {
                self.handed.pop_front();
                unsafe { Buffer::restart(buffer) };
                return buffer;
            }
            if self.made < self.most {
                self.files += 1;
                let file =
                    File::options().read(true).write(true).create_new(true).open(self.path(self.files));
                match file.and_then(|file| Buffer::map(&file, self.files)) {
                    Ok(buffer) => {
                        self.made += 1;
                        return buffer;
                    }
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    // No room for another one: those that are there must do.
                    Err(error) if error.kind() == io::ErrorKind::StorageFull && !self.handed.is_empty() => {
                        let _ = std::fs::remove_file(self.path(self.files));
                        self.most = self.made;
                    }
                    Err(error) => self.stop(&error),
                }
            } else if self.is_alone() {
                self.stop(&io::ErrorKind::BrokenPipe.into());
            } else {
                // The recorder has these to read meanwhile; looking more often would take QEMU's own time.
                let wait = 50 * self.handed.len() as u64;
                std::thread::sleep(Duration::from_micros(wait));
            }
        }
        Buffer::private()
    }

    /// The recorder has closed the connection.
    fn is_alone(&self) -> bool {
        const NO_WAIT_AND_LEAVE: c_int = 0x42;
        self.stream.as_ref().is_none_or(|stream| {
            let count = unsafe { recv(stream.as_raw_fd(), [0].as_mut_ptr(), 1, NO_WAIT_AND_LEAVE) };
            let waiting = count < 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock;
            !waiting
        })
    }

    fn path(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{}.{number}", std::process::id()))
    }

    /// Sends a frame through the socket, and the instructions that it may name before it.
    fn send(&mut self, buffer: *mut Buffer) {
        self.send_code(buffer);
        self.write(unsafe { Buffer::frame(buffer) });
        unsafe { Buffer::restart(buffer) };
    }

    fn send_code(&mut self, before: *mut Buffer) {
        if !self.code.is_null() && self.code != before && unsafe { Buffer::length(self.code) > 0 } {
            self.send(self.code);
        }
    }

    /// Leaves the frame in its file for the recorder; returns the buffer to continue with.
    fn hand_over(&mut self, buffer: *mut Buffer) -> *mut Buffer {
        if self.stream.is_none() || unsafe { Buffer::length(buffer) } <= SHORT {
            self.send(buffer);
            return buffer;
        }
        self.send_code(buffer);
        let header = unsafe { Buffer::filled(buffer) };
        self.write(&header);
        self.handed.push_back(buffer);
        let (cpu, tid) = unsafe { Buffer::owner(buffer) };
        self.make(EXECUTED, cpu, tid)
    }

    fn write(&mut self, frame: &[u8]) {
        if let Some(stream) = &self.stream
            && let Err(error) = write(stream, frame)
        {
            self.stop(&error);
        }
    }

    /// The recorder is gone, or has enough.
    fn stop(&mut self, error: &io::Error) {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, NotFound};
        // The last one: its folder is gone with it.
        if !matches!(error.kind(), BrokenPipe | ConnectionReset | NotFound) {
            eprintln!("trackway plugin: recording ends here: {error}");
        }
        self.stream = None;
        // One that was killed has left its folder.
        let own = (1..=self.files).map(|number| self.path(number));
        for file in own.chain(["socket", "int.log"].map(|name| self.folder.join(name))) {
            let _ = std::fs::remove_file(file);
        }
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// A buffer for a CPU, by its own thread.
pub(crate) fn open(cpu: u32) -> *mut Buffer {
    OPEN.fetch_add(1, Relaxed);
    let tid = unsafe { gettid() } as u32;
    with(|link| link.make(EXECUTED, cpu, tid)).unwrap_or_else(Buffer::private)
}

/// Hands a frame over; returns the buffer to continue with.
pub(crate) fn hand_over(buffer: *mut Buffer) -> *mut Buffer {
    with(|link| link.hand_over(buffer)).unwrap_or(buffer)
}

/// The thread has ended.
pub(crate) fn close(buffer: *mut Buffer) {
    OPEN.fetch_sub(1, Relaxed);
    with(|link| {
        link.send(buffer);
        link.free.push(buffer);
    });
}

/// The number of a run of instructions, by its content; none where it is not to be recorded.
pub(crate) fn number(run: &[Entry]) -> Option<u32> {
    with(|link| {
        if link.code_range.is_none() {
            link.ask();
        }
        let pc = address(&run[0]);
        if link.skip_libs && link.code_range.as_ref().is_some_and(|code| !code.contains(&pc)) {
            return None;
        }
        if let Some(number) = link.numbers.get(run) {
            return Some(*number);
        }
        let number = link.table.len() as u32;
        link.numbers.insert(run.to_vec(), number);
        link.table.extend(run);
        if link.code.is_null() {
            link.code = link.make(CODE, 0, 0);
        }
        for entry in run {
            if unsafe { Buffer::put(link.code, *entry) } {
                link.send(link.code);
            }
        }
        Some(number)
    })
    .flatten()
}

pub(crate) fn address(entry: &Entry) -> u64 {
    u64::from(entry[0]) | u64::from(entry[1]) << 32
}

/// Text in words, filled up with line ends.
fn words(text: String) -> Vec<u32> {
    let mut bytes = text.into_bytes();
    bytes.resize(bytes.len().next_multiple_of(4), b'\n');
    bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect()
}

/// Writes all of it, without the signal that a closed socket would send to the guest.
fn write(stream: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    const NO_SIGNAL: c_int = 0x4000;
    while !bytes.is_empty() {
        let done = unsafe { send_bytes(stream.as_raw_fd(), bytes.as_ptr(), bytes.len(), NO_SIGNAL) };
        match usize::try_from(done) {
            Ok(done) => bytes = &bytes[done..],
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}
