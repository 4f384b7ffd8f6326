//! Outputs that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trackway_core::Output;

use crate::background::BackgroundWriter;
use crate::error::FileError;

/// Where a trace is written: a file or folder that may have files beside it, or stdout.
///
/// A regular file is written as `OUT.partial` and gets its name by [`commit`](Target::commit); a folder and the files
/// beside the trace likewise, the main file last. If all clones are dropped before, the partial files are removed, and
/// a file that was there is as it was. Devices, pipes and stdout are written directly.
///
/// ```
/// # use trackway_io::Target;
/// # let path = std::env::temp_dir().join(format!("trackway-doc-target-{}", std::process::id()));
/// let target = Target::new(&path);
/// let mut output = target.create()?;
/// output.as_write().write_all(b"a trace")?;
/// target.write_beside("toml", b"# its settings")?;
/// assert!(!path.exists() && target.staged().is_some_and(|partial| partial.exists()));
/// target.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"a trace");
/// # std::fs::remove_file(&path)?;
/// # std::fs::remove_file(format!("{}.toml", path.display()))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Target {
    /// None for stdout.
    pub path: Option<PathBuf>,
    state: Arc<Mutex<State>>,
}

/// Shared by the clones of a target and its writers.
#[derive(Debug, Default)]
struct State {
    staged: Vec<Staged>,
    failure: Option<io::Error>,
    /// A file without a name that takes up space for the end of the trace: a program that is killed leaves none.
    reserve: Option<File>,
    /// The disk was full, and the reserve is in use.
    full: bool,
    /// A thread writes the file.
    background: bool,
}

impl Drop for State {
    fn drop(&mut self) {
        self.release();
        self.staged.drain(..).for_each(Staged::discard);
    }
}

impl State {
    /// Makes the reserve free; false where there is none.
    fn release(&mut self) -> bool {
        self.reserve.take().is_some()
    }
}

/// A file or folder that does not have its name yet.
#[derive(Debug)]
struct Staged {
    partial: PathBuf,
    path: PathBuf,
    kind: Kind,
}

/// In the order of committing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Beside,
    File,
    /// With the name of its main file.
    Folder(&'static str),
}

impl Target {
    /// A file, or `-` for stdout.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Target { path: (path.as_os_str() != "-").then_some(path), state: Arc::default() }
    }

    /// The reason why writing failed, for this target and its clones: the error of a sink alone does not say whether the
    /// output is full or the input is damaged.
    pub fn failure(&self) -> Option<io::Error> {
        self.lock().failure.as_ref().map(copy)
    }

    /// True for stdout, devices and pipes: what is written there cannot be read back.
    pub fn is_stream(&self) -> bool {
        self.path.as_deref().is_none_or(is_direct)
    }

    /// Creates the file.
    pub fn create(&self) -> Result<Output, FileError> {
        let Some(path) = &self.path else {
            return Ok(Output::Stream(Box::new(io::BufWriter::new(self.watch(io::stdout())))));
        };
        if is_direct(path) {
            // Opened for writing only: a pipe then waits for its reader.
            let file = self.noted(path, || File::options().write(true).truncate(true).open(path))?;
            return Ok(Output::Stream(Box::new(self.watch(file))));
        }
        let file = self.watch(self.noted(path, || self.stage_file(path))?);
        let background = self.lock().background;
        Ok(Output::File(if background { Box::new(BackgroundWriter::new(file)) } else { Box::new(file) }))
    }

    /// From here on a file is written by a thread of its own, while the caller makes the next bytes.
    pub fn write_in_background(&self) {
        self.lock().background = true;
    }

    /// Creates the folder whose main file is `main`; returns the path to write into.
    pub fn create_folder(&self, main: &'static str) -> Result<PathBuf, FileError> {
        let Some(path) = &self.path else {
            let error = io::Error::other("a folder cannot be written to stdout");
            return Err(FileError { path: "stdout".into(), error });
        };
        self.noted(path, || {
            let path = follow(path)?;
            let partial = with_end(&path, "partial");
            empty_folder(&partial);
            fs::create_dir(&partial)?;
            self.stage(Staged { partial: partial.clone(), path, kind: Kind::Folder(main) });
            Ok(partial)
        })
    }

    /// Creates a file of the trace in its folder.
    pub fn create_in(&self, path: &Path) -> io::Result<PartFile> {
        Ok(PartFile(self.watch(File::create(path)?)))
    }

    /// Writes the file `OUT.end`, which belongs to the trace; nothing beside stdout and devices.
    pub fn write_beside(&self, end: &str, bytes: &[u8]) -> Result<(), FileError> {
        let Some(path) = self.path.as_ref().filter(|path| !is_direct(path)) else { return Ok(()) };
        self.noted(&with_end(path, end), || {
            let path = follow(path)?;
            // Beside `OUT.partial` under its name, so that a partial trace can be read.
            let partial = with_end(&with_end(&path, "partial"), end);
            fs::write(&partial, bytes)?;
            self.stage(Staged { partial, path: follow(&with_end(&path, end))?, kind: Kind::Beside });
            Ok(())
        })
    }

    /// The file or folder that holds the trace until it is [committed](Target::commit); none for a stream.
    pub fn staged(&self) -> Option<PathBuf> {
        let state = self.lock();
        state.staged.iter().find(|staged| staged.kind != Kind::Beside).map(|staged| staged.partial.clone())
    }

    /// Takes up `bytes` of the disk beside a file that was created: if the disk is full later, they are released, what
    /// was being written is written, and [`is_full`](Target::is_full) asks for the end. Nothing where they are not free.
    pub fn reserve(&self, bytes: usize) {
        let Some(partial) = self.staged() else { return };
        let path = with_end(&partial, "reserve");
        let taken = || {
            let mut file = File::create(&path)?;
            fs::remove_file(&path)?;
            file.write_all(&vec![0; bytes])?;
            io::Result::Ok(file)
        };
        self.lock().reserve = taken().ok();
    }

    /// True once the disk was full and the [reserve](Target::reserve) is being written to.
    pub fn is_full(&self) -> bool {
        self.lock().full
    }

    /// Gives everything written its name: files beside the trace first, the trace last.
    pub fn commit(&self) -> Result<(), FileError> {
        self.lock().release();
        let mut staged = std::mem::take(&mut self.lock().staged);
        staged.sort_by_key(|staged| staged.kind);
        let mut committed = Ok(());
        for one in staged {
            committed = match committed {
                Ok(()) => self.noted(&one.path, || one.commit()),
                error => {
                    one.discard();
                    error
                }
            };
        }
        committed
    }

    /// Removes what was written.
    pub fn discard(&self) {
        let mut state = self.lock();
        state.release();
        state.staged.drain(..).for_each(Staged::discard);
    }

    /// Opens the partial file for `path`, with the mode of a file that is there.
    fn stage_file(&self, path: &Path) -> io::Result<File> {
        let path = follow(path)?;
        let partial = with_end(&path, "partial");
        let there = fs::metadata(&path).ok();
        if there.is_some() {
            // Refused now rather than replaced later: a folder, or a file that must not be written.
            File::options().write(true).open(&path)?;
        }
        let _ = fs::remove_file(&partial);
        let file = File::options().read(true).write(true).create_new(true).open(&partial)?;
        if let Some(there) = there {
            file.set_permissions(there.permissions())?;
        }
        self.stage(Staged { partial, path, kind: Kind::File });
        Ok(file)
    }

    fn stage(&self, staged: Staged) {
        let mut state = self.lock();
        state.staged.retain(|one| one.partial != staged.partial);
        state.staged.push(staged);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of `act`; a failure is kept and blamed on `path`.
    fn noted<T>(&self, path: &Path, act: impl FnOnce() -> io::Result<T>) -> Result<T, FileError> {
        act().map_err(|error| {
            self.lock().failure.get_or_insert(copy(&error));
            FileError::at(path)(error)
        })
    }

    fn watch<W>(&self, inner: W) -> Watched<W> {
        Watched { inner, state: Arc::clone(&self.state) }
    }
}

impl Staged {
    fn commit(&self) -> io::Result<()> {
        let Kind::Folder(main) = self.kind else { return fs::rename(&self.partial, &self.path) };
        if !self.path.is_dir() {
            return fs::rename(&self.partial, &self.path);
        }
        // Into a folder that is there file by file: what else it holds is not ours to remove.
        let mut names: Vec<_> =
            fs::read_dir(&self.partial)?.flatten().map(|entry| entry.file_name()).collect();
        names.sort_by_key(|name| name == main);
        for name in names {
            fs::rename(self.partial.join(&name), self.path.join(&name))?;
        }
        fs::remove_dir(&self.partial)
    }

    fn discard(self) {
        // If it cannot be removed, it still does not have the name of a whole trace.
        match self.kind {
            Kind::Folder(_) => empty_folder(&self.partial),
            _ => drop(fs::remove_file(&self.partial)),
        }
    }
}

/// Removes a folder and the files in it, nothing deeper.
fn empty_folder(path: &Path) {
    let files = fs::read_dir(path).into_iter().flatten().flatten();
    files.for_each(|entry| drop(fs::remove_file(entry.path())));
    let _ = fs::remove_dir(path);
}

/// True for what a rename would destroy: devices, pipes, sockets, and names of open files. `/dev/shm` has plain files.
fn is_direct(path: &Path) -> bool {
    path.starts_with("/dev") && !path.starts_with("/dev/shm")
        || path.starts_with("/proc")
        || fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The file that a symbolic link leads to, also where it does not exist yet.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..40 {
        let Ok(to) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// `PATH.end`.
fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".");
    name.push(end);
    name.into()
}

/// A writer that keeps the reason of its first failure.
struct Watched<W> {
    inner: W,
    state: Arc<Mutex<State>>,
}

/// A file in the folder of a [`Target`].
pub struct PartFile(Watched<File>);

impl std::fmt::Debug for PartFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.inner.fmt(f)
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A copy of an error: its number or its kind.
fn copy(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

impl<W> Watched<W> {
    /// The disk is full: releases the reserve; false where there is none.
    fn release(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let released = state.release();
        state.full |= released;
        released
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.failure.get_or_insert(copy(error));
        })
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = match self.inner.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull && self.release() => {
                self.inner.write(bytes)
            }
            result => result,
        };
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.note(result)
    }
}

impl<W: Seek> Seek for Watched<W> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let result = self.inner.seek(to);
        self.note(result)
    }
}
