//! Files of a process: standard streams that the model keeps, and files of the host.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};

use super::errno;

/// An open file.
#[derive(Debug)]
enum Open {
    /// Standard input: bytes and how far they were read.
    Input { bytes: std::sync::Arc<Vec<u8>>, at: usize },
    /// Standard output.
    Output,
    /// Standard error.
    Error,
    /// A file of the host.
    Host { file: File, append: bool },
    /// A folder of the host: names and how many were given.
    Folder { entries: Vec<(String, bool)>, at: usize },
}

/// The fields of `stat` that the model fills.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stat {
    pub(super) mode: u32,
    pub(super) size: u64,
    pub(super) inode: u64,
}

pub(super) const FIFO: u32 = 0o010_600;
pub(super) const REGULAR: u32 = 0o100_644;
pub(super) const FOLDER: u32 = 0o040_755;

/// The open files.
#[derive(Debug)]
pub(super) struct Files {
    table: Vec<Option<Open>>,
    output: Vec<u8>,
    error: Vec<u8>,
    may_write: bool,
}

/// A result, or an error number as system calls return it, negated.
pub(super) type Answer = Result<u64, i64>;

fn failed(error: &std::io::Error) -> i64 {
    error.raw_os_error().map_or(errno::EIO, i64::from)
}

impl Files {
    pub(super) fn new(stdin: Vec<u8>, may_write: bool) -> Self {
        let input = Open::Input { bytes: std::sync::Arc::new(stdin), at: 0 };
        let table = vec![Some(input), Some(Open::Output), Some(Open::Error)];
        Self { table, output: Vec::new(), error: Vec::new(), may_write }
    }

    pub(super) fn take_output(&mut self) -> (Vec<u8>, Vec<u8>) {
        (std::mem::take(&mut self.output), std::mem::take(&mut self.error))
    }

    fn get(&mut self, fd: u64) -> Result<&mut Open, i64> {
        usize::try_from(fd as i32)
            .ok()
            .and_then(|fd| self.table.get_mut(fd))
            .and_then(Option::as_mut)
            .ok_or(errno::EBADF)
    }

    fn insert(&mut self, open: Open, from: usize) -> Answer {
        let at = (from..).find(|n| self.table.get(*n).is_none_or(Option::is_none)).unwrap_or(from);
        if at >= 1024 {
            return Err(errno::EMFILE);
        }
        if at >= self.table.len() {
            self.table.resize_with(at + 1, || None);
        }
        self.table[at] = Some(open);
        Ok(at as u64)
    }

    pub(super) fn open(&mut self, path: &str, flags: u64, mode: u32) -> Answer {
        let _ = mode;
        let (write, read) = (flags & 3 != 0, flags & 3 != 1);
        let create = flags & 0o100 != 0;
        if (write || create) && !self.may_write {
            return Err(errno::EROFS);
        }
        if std::path::Path::new(path).is_dir() {
            if write {
                return Err(errno::EISDIR);
            }
            let mut entries: Vec<(String, bool)> = std::fs::read_dir(path)
                .map_err(|error| failed(&error))?
                .filter_map(|entry| entry.ok())
                .map(|entry| {
                    let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                    (entry.file_name().to_string_lossy().into_owned(), folder)
                })
                .collect();
            entries.push((".".to_string(), true));
            entries.push(("..".to_string(), true));
            entries.sort();
            return self.insert(Open::Folder { entries, at: 0 }, 3);
        }
        if flags & 0o200_000 != 0 {
            return Err(errno::ENOTDIR);
        }
        let append = flags & 0o2000 != 0;
        let mut options = OpenOptions::new();
        options.read(read).write(write).truncate(write && flags & 0o1000 != 0);
        if create && flags & 0o200 != 0 {
            options.create_new(true);
        } else if create {
            options.create(true);
        }
        let file = options.open(path).map_err(|error| failed(&error))?;
        self.insert(Open::Host { file, append }, 3)
    }

    pub(super) fn close(&mut self, fd: u64) -> Answer {
        self.get(fd)?;
        self.table[fd as usize] = None;
        Ok(0)
    }

    pub(super) fn duplicate(&mut self, fd: u64, from: usize, exact: Option<usize>) -> Answer {
        let copy = match self.get(fd)? {
            Open::Input { bytes, at } => Open::Input { bytes: bytes.clone(), at: *at },
            Open::Output => Open::Output,
            Open::Error => Open::Error,
            Open::Host { file, append } => {
                Open::Host { file: file.try_clone().map_err(|error| failed(&error))?, append: *append }
            }
            Open::Folder { entries, at } => Open::Folder { entries: entries.clone(), at: *at },
        };
        match exact {
            Some(n) if n >= 1024 => Err(errno::EBADF),
            Some(n) => {
                if n < self.table.len() {
                    self.table[n] = None;
                }
                self.insert(copy, n)
            }
            None => self.insert(copy, from),
        }
    }

    pub(super) fn read(&mut self, fd: u64, out: &mut [u8]) -> Answer {
        match self.get(fd)? {
            Open::Input { bytes, at } => {
                let n = out.len().min(bytes.len() - *at);
                out[..n].copy_from_slice(&bytes[*at..*at + n]);
                *at += n;
                Ok(n as u64)
            }
            Open::Host { file, .. } => {
                let mut done = 0;
                while done < out.len() {
                    match file.read(&mut out[done..]) {
                        Ok(0) => break,
                        Ok(n) => done += n,
                        Err(error) => return Err(failed(&error)),
                    }
                }
                Ok(done as u64)
            }
            Open::Folder { .. } => Err(errno::EISDIR),
            Open::Output | Open::Error => Ok(0),
        }
    }

    pub(super) fn write(&mut self, fd: u64, bytes: &[u8]) -> Answer {
        match self.get(fd)? {
            Open::Output => self.output.extend_from_slice(bytes),
            Open::Error => self.error.extend_from_slice(bytes),
            Open::Host { file, append } => {
                if *append {
                    file.seek(SeekFrom::End(0)).map_err(|error| failed(&error))?;
                }
                file.write_all(bytes).map_err(|error| failed(&error))?;
            }
            Open::Input { .. } | Open::Folder { .. } => return Err(errno::EBADF),
        }
        Ok(bytes.len() as u64)
    }

    pub(super) fn seek(&mut self, fd: u64, offset: i64, whence: u64) -> Answer {
        let to = match whence {
            0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| errno::EINVAL)?),
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            _ => return Err(errno::EINVAL),
        };
        match self.get(fd)? {
            Open::Host { file, .. } => file.seek(to).map_err(|error| failed(&error)),
            Open::Folder { at, .. } if offset == 0 && whence == 0 => {
                *at = 0;
                Ok(0)
            }
            Open::Folder { .. } => Err(errno::EINVAL),
            _ => Err(errno::ESPIPE),
        }
    }

    pub(super) fn truncate(&mut self, fd: u64, size: u64) -> Answer {
        match self.get(fd)? {
            Open::Host { file, .. } => file.set_len(size).map(|()| 0).map_err(|error| failed(&error)),
            _ => Err(errno::EINVAL),
        }
    }

    pub(super) fn stat(&mut self, fd: u64) -> Result<Stat, i64> {
        Ok(match self.get(fd)? {
            Open::Host { file, .. } => of(&file.metadata().map_err(|error| failed(&error))?),
            Open::Folder { .. } => Stat { mode: FOLDER, size: 4096, inode: 2 },
            _ => Stat { mode: FIFO, size: 0, inode: 1 },
        })
    }

    pub(super) fn stat_path(&self, path: &str, follow: bool) -> Result<Stat, i64> {
        let found = if follow { std::fs::metadata(path) } else { std::fs::symlink_metadata(path) };
        found.map(|metadata| of(&metadata)).map_err(|error| failed(&error))
    }

    /// The next name in a folder, and whether it is a folder.
    pub(super) fn next_entry(&mut self, fd: u64) -> Result<Option<(String, bool, u64)>, i64> {
        match self.get(fd)? {
            Open::Folder { entries, at } => {
                let entry = entries.get(*at).cloned();
                *at += 1;
                Ok(entry.map(|(name, folder)| (name, folder, *at as u64)))
            }
            _ => Err(errno::ENOTDIR),
        }
    }

    /// The entry that was given last did not fit.
    pub(super) fn put_back(&mut self, fd: u64) {
        if let Ok(Open::Folder { at, .. }) = self.get(fd) {
            *at = at.saturating_sub(1);
        }
    }

    /// Changes in the host's folders, where allowed.
    pub(super) fn change(&self, change: impl FnOnce() -> std::io::Result<()>) -> Answer {
        if !self.may_write {
            return Err(errno::EROFS);
        }
        change().map(|()| 0).map_err(|error| failed(&error))
    }
}

/// Kind and size of a file, and nothing that differs from host to host.
fn of(metadata: &std::fs::Metadata) -> Stat {
    let mode = if metadata.is_dir() { FOLDER } else { REGULAR };
    Stat { mode, size: metadata.len(), inode: 3 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_streams() {
        let mut files = Files::new(b"abc".to_vec(), false);
        let mut out = [0; 2];
        assert_eq!((files.read(0, &mut out), out), (Ok(2), *b"ab"));
        assert_eq!((files.read(0, &mut out), files.read(0, &mut out)), (Ok(1), Ok(0)));
        assert_eq!((files.write(1, b"out"), files.write(2, b"err")), (Ok(3), Ok(3)));
        assert_eq!(files.take_output(), (b"out".to_vec(), b"err".to_vec()));
        assert_eq!(files.write(0, b"x"), Err(errno::EBADF));
        assert_eq!(files.seek(1, 0, 0), Err(errno::ESPIPE));
        assert_eq!(files.read(7, &mut out), Err(errno::EBADF));
        assert_eq!(files.read(u64::MAX, &mut out), Err(errno::EBADF));
    }

    #[test]
    fn descriptors_are_the_lowest_free_ones() {
        let mut files = Files::new(Vec::new(), false);
        assert_eq!((files.duplicate(1, 0, None), files.duplicate(1, 10, None)), (Ok(3), Ok(10)));
        assert_eq!((files.close(0), files.duplicate(2, 0, None)), (Ok(0), Ok(0)));
        assert_eq!(files.duplicate(2, 0, Some(1)), Ok(1));
        assert_eq!(files.write(1, b"to the error stream"), Ok(19));
        assert_eq!(files.take_output().0, b"");
        assert_eq!(files.duplicate(2, 0, Some(1024)), Err(errno::EBADF));
        assert_eq!(files.close(77), Err(errno::EBADF));
    }

    #[test]
    fn host_files_are_read_only_unless_allowed() {
        let folder = env!("CARGO_MANIFEST_DIR");
        let path = format!("{folder}/Cargo.toml");
        let mut files = Files::new(Vec::new(), false);
        assert_eq!(files.open(&path, 1, 0), Err(errno::EROFS));
        let fd = files.open(&path, 0, 0).unwrap();
        let mut out = [0; 9];
        assert_eq!((files.read(fd, &mut out), &out), (Ok(9), b"[package]"));
        assert_eq!((files.seek(fd, 1, 0), files.seek(fd, 2, 1)), (Ok(1), Ok(3)));
        assert_eq!(files.stat(fd).unwrap().mode, REGULAR);
        let fd = files.open(folder, 0, 0).unwrap();
        let first = files.next_entry(fd).unwrap().unwrap();
        assert_eq!((first.0.as_str(), first.1), (".", true));
        files.put_back(fd);
        assert_eq!(files.next_entry(fd).unwrap(), Some(first));
        assert_eq!(files.open(&format!("{path}/x"), 0, 0), Err(errno::ENOTDIR));
    }
}
