//! The receiving end: a socket that every process of the guest connects to, and the files of their buffers.

use std::fs;
use std::io::{self, BufReader, Read};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::frame::{Frame, Kind, read};

/// Frames that may wait: long ones are in the plugin's files, of which there are fewer for each process.
const WAITING: usize = 1 << 12;

/// Begins the name of a folder; the id of the recorder follows.
const NAME: &str = "trackway-";

/// How long a process may take from its fork to its connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// Something that was received.
#[derive(Debug)]
pub(crate) enum Received {
    /// A frame of a process.
    Frame(Frame),
    /// A process has ended, and everything of it was received.
    Ended(u32),
    /// The stream of a process is not one of the plugin.
    Damaged(String),
}

/// A recording that is being received.
#[derive(Debug)]
pub struct Session {
    folder: PathBuf,
    receiver: Receiver<Received>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    connected: AtomicU32,
    /// Forks whose child has not connected yet, and when the last one was.
    expected: Mutex<(u32, Option<Instant>)>,
    /// Connections, to be closed where no more is wanted: the plugin may be waiting for a buffer.
    streams: Mutex<Vec<Weak<UnixStream>>>,
}

impl Session {
    /// A socket in a new folder, which only the user may enter.
    pub fn new() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        sweep(&base);
        let name = format!("{NAME}{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let folder = base.join(name);
        let _ = fs::remove_dir_all(&folder);
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        let listener = UnixListener::bind(folder.join("socket"))?;
        let (sender, receiver) = sync_channel(WAITING);
        let shared = Arc::new(Shared::default());
        let (accepting, place) = (Arc::clone(&shared), folder.clone());
        std::thread::spawn(move || accept(&listener, &sender, &accepting, &place));
        Ok(Session { folder, receiver, shared })
    }

    /// The folder that the plugin is given.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The next thing, within the time given; none if nothing came.
    pub(crate) fn receive(&self, wait: Duration) -> Option<Received> {
        self.receiver.recv_timeout(wait).ok()
    }

    /// The file of a buffer of a process.
    pub(crate) fn file(&self, pid: u32, number: u32) -> PathBuf {
        self.folder.join(format!("{pid}.{number}"))
    }

    /// Removes the buffers of a process of which everything was received.
    pub(crate) fn forget(&self, pid: u32) {
        for path in files(&self.folder, pid) {
            let _ = fs::remove_file(path);
        }
    }

    /// True once no process is connected or about to be, for a guest that has ended: all that it sent can be
    /// received at once.
    pub(crate) fn is_over(&self) -> bool {
        !self.is_busy() && {
            self.accept_all();
            !self.is_busy()
        }
    }

    /// Waits until all connections so far are accepted: a short program may have ended before its own was.
    fn accept_all(&self) {
        // They are accepted in order, and this one is closed when it is its turn.
        if let Ok(mut own) = UnixStream::connect(self.folder.join("socket")) {
            let _ = own.shutdown(Shutdown::Write);
            let _ = own.read(&mut [0]);
        }
    }

    /// True while a process is connected, or is about to be.
    fn is_busy(&self) -> bool {
        if self.shared.connected.load(Relaxed) > 0 {
            return true;
        }
        let (count, since) = *self.shared.expected.lock().unwrap_or_else(PoisonError::into_inner);
        count > 0 && since.is_some_and(|since| since.elapsed() < PATIENCE)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.over.store(true, Relaxed);
        let streams = self.shared.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in streams.iter().filter_map(Weak::upgrade) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(streams);
        // Wakes up the thread that accepts.
        let _ = UnixStream::connect(self.folder.join("socket"));
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn accept(listener: &UnixListener, sender: &SyncSender<Received>, shared: &Arc<Shared>, folder: &Path) {
    for stream in listener.incoming() {
        if shared.over.load(Relaxed) {
            return;
        }
        let Ok(stream) = stream.map(Arc::new) else { continue };
        shared.connected.fetch_add(1, Relaxed);
        let mut streams = shared.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(&stream));
        drop(streams);
        let (sender, shared, folder) = (sender.clone(), Arc::clone(shared), folder.to_path_buf());
        std::thread::spawn(move || {
            let _ = receive(&stream, &sender, &shared, &folder);
            shared.connected.fetch_sub(1, Relaxed);
        });
    }
}

/// Receives one process until it ends. An error means that no more is wanted.
fn receive(
    stream: &UnixStream,
    sender: &SyncSender<Received>,
    shared: &Shared,
    folder: &Path,
) -> Result<(), std::sync::mpsc::SendError<Received>> {
    let mut stream = BufReader::with_capacity(1 << 18, stream);
    let mut pid = None;
    // The last frame of each buffer, by the number of its file.
    let mut last = std::collections::HashMap::new();
    loop {
        match read(&mut stream) {
            Ok(Some(frame)) => {
                let change = |by: i64| {
                    let mut expected = shared.expected.lock().unwrap_or_else(PoisonError::into_inner);
                    expected.0 = expected.0.saturating_add_signed(by as i32);
                    expected.1 = Some(Instant::now());
                };
                match frame.kind {
                    Kind::Fork => change(1),
                    Kind::Hello if pid.is_none() => {
                        pid = Some(frame.pid);
                        change(-1);
                    }
                    _ => drop(last.insert(frame.file, frame.sequence)),
                }
                sender.send(Received::Frame(frame))?;
            }
            Ok(None) => break,
            // The process was killed, or our end was closed: its buffer still has the frame.
            Err(error) if error.kind() != io::ErrorKind::InvalidData => break,
            Err(error) => {
                sender.send(Received::Damaged(error.to_string()))?;
                break;
            }
        }
    }
    let Some(pid) = pid else { return Ok(()) };
    let mut rest = left(folder, pid);
    rest.retain(|frame| last.get(&frame.file) != Some(&frame.sequence));
    rest.sort_by_key(|frame| (frame.kind, frame.cpu));
    for frame in rest {
        sender.send(Received::Frame(frame))?;
    }
    sender.send(Received::Ended(pid))
}

/// Frames in the buffers of a process that has ended.
fn left(folder: &Path, pid: u32) -> Vec<Frame> {
    let frame = |path| read(&mut fs::File::open(path).ok()?).ok().flatten();
    files(folder, pid).filter_map(frame).filter(|frame| !frame.words.is_empty()).collect()
}

/// The files of a process.
fn files(folder: &Path, pid: u32) -> impl Iterator<Item = PathBuf> {
    let begin = format!("{pid}.");
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter(move |file| file.file_name().to_string_lossy().starts_with(&begin)).map(|file| file.path())
}

/// Removes folders of recorders that were killed.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let id =
            name.to_str().and_then(|name| name.strip_prefix(NAME)?.split_once('-')?.0.parse::<u32>().ok());
        if id.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The frame of a process that has ended before its connection was accepted is received.
    #[test]
    fn short_processes_are_waited_for() {
        let header = [u32::from_le_bytes(*b"TWQ3"), 0, 7, 0, 0, 0, 0, 0];
        let hello: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
        for _ in 0..100 {
            let session = Session::new().unwrap();
            UnixStream::connect(session.folder().join("socket")).unwrap().write_all(&hello).unwrap();
            while !session.is_over() {}
            assert!(matches!(session.receive(Duration::ZERO), Some(Received::Frame(_))));
            assert!(matches!(session.receive(Duration::ZERO), Some(Received::Ended(7))));
        }
    }
    /// Folders of recorders that are gone are removed, those of others are not.
    #[test]
    fn folders_of_killed_recorders_are_swept() {
        let base = std::env::temp_dir().join(format!("trackway-sweep-{}", std::process::id()));
        // Ids of processes are smaller than this.
        let (gone, ours) =
            (base.join("trackway-4294967295-0"), base.join(format!("trackway-{}-0", std::process::id())));
        let other = base.join("trackway-sweep-1");
        for folder in [&gone, &ours, &other] {
            fs::create_dir_all(folder).unwrap();
        }
        sweep(&base);
        assert_eq!([&gone, &ours, &other].map(|folder| folder.exists()), [false, true, true]);
        fs::remove_dir_all(base).unwrap();
    }
}
