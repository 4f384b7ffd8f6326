//! The system calls, by their numbers of the generic table (RV32 has the 64-bit time variants).

use super::errno;
use super::files::{Answer, Stat};
use super::memory::{EXEC, PAGE, READ, WRITE};
use super::process::{Kernel, Process, Status, next_random};
use super::signals::Action;

/// At most this much is moved by one call, as in Linux.
const LARGEST: u64 = 0x7fff_f000;

/// Here meaning "the current folder" as a file descriptor.
const AT_FDCWD: i32 = -100;

impl Process {
    /// The call that the registers hold.
    pub(super) fn system_call(&mut self) -> Kernel {
        let state = &self.hart.state;
        let number = state.x[17];
        let a: [u64; 6] = std::array::from_fn(|n| state.x[10 + n]);
        if number == 139 {
            return self.leave_handler();
        }
        let answer = self.call(number, a);
        let result = match answer {
            Ok(value) => value,
            Err(error) => (-error) as u64,
        };
        if self.status != Status::Running {
            return Kernel::End;
        }
        self.hart.set_x(10, result);
        Kernel::Call { number, result: self.hart.state.x[10] }
    }

    fn call(&mut self, number: u64, a: [u64; 6]) -> Answer {
        match number {
            17 => self.put_text(a[0], a[1], b"/"),
            23 => self.files.duplicate(a[0], 0, None),
            24 => self.files.duplicate(a[0], 0, Some(a[1] as usize)),
            25 => match a[1] {
                0 | 1030 => self.files.duplicate(a[0], a[2] as usize, None),
                1..=4 => self.files.stat(a[0]).map(|_| if a[1] == 3 { 2 } else { 0 }),
                _ => Err(errno::EINVAL),
            },
            29 => self.files.stat(a[0]).and(Err(errno::ENOTTY)),
            34 => {
                let path = self.path(a[0], a[1])?;
                self.files.change(|| std::fs::create_dir(path))
            }
            35 => {
                let path = self.path(a[0], a[1])?;
                self.files.change(|| match a[2] & 0x200 {
                    0 => std::fs::remove_file(path),
                    _ => std::fs::remove_dir(path),
                })
            }
            38 | 276 => {
                let (from, to) = (self.path(a[0], a[1])?, self.path(a[2], a[3])?);
                self.files.change(|| std::fs::rename(from, to))
            }
            46 => self.files.truncate(a[0], a[1]),
            48 | 439 => {
                let path = self.path(a[0], a[1])?;
                self.files.stat_path(&path, true).map(|_| 0)
            }
            56 => {
                let path = self.path(a[0], a[1])?;
                self.files.open(&path, a[2], a[3] as u32)
            }
            57 => self.files.close(a[0]),
            61 => self.folder(a),
            62 => self.seek(a),
            63 => self.transfer(a[0], &[(a[1], a[2])], false, None),
            64 => self.transfer(a[0], &[(a[1], a[2])], true, None),
            65 | 66 => {
                let pieces = self.pieces(a[1], a[2])?;
                self.transfer(a[0], &pieces, number == 66, None)
            }
            67 | 68 => self.transfer(a[0], &[(a[1], a[2])], number == 68, Some(a[3] as i64)),
            73 | 414 => Ok(a[1]),
            78 => {
                let path = self.path(a[0], a[1])?;
                match path.as_str() {
                    "/proc/self/exe" => {
                        let text = self.options.executable.clone().into_bytes();
                        let n = (text.len() as u64).min(a[3]);
                        check(self.memory.is_mapped(a[2], a[2].saturating_add(n)))?;
                        self.put(a[2], &text[..n as usize]);
                        Ok(n)
                    }
                    path => self.files.stat_path(path, false).and(Err(errno::EINVAL)),
                }
            }
            79 => {
                let path = self.memory.read_string(a[1]).ok_or(errno::EFAULT)?;
                let stat = if path.is_empty() && a[3] & 0x1000 != 0 {
                    self.files.stat(a[0])?
                } else {
                    let path = self.path(a[0], a[1])?;
                    self.files.stat_path(&path, a[3] & 0x100 == 0)?
                };
                self.put_stat(a[2], stat)
            }
            80 => {
                let stat = self.files.stat(a[0])?;
                self.put_stat(a[1], stat)
            }
            81..=83 => Ok(0),
            93 | 94 => {
                self.status = Status::Exited(a[0] as u8);
                Ok(0)
            }
            96 | 178 | 172 => Ok(Self::PID),
            173 => Ok(1),
            174..=177 => Ok(0),
            98 | 422 => match a[1] & 0x7f {
                0 => Err(errno::EAGAIN),
                1 => Ok(0),
                _ => Err(errno::ENOSYS),
            },
            101 | 115 | 407 => Ok(0),
            113 => self.put_time(a[1], self.now(), self.is_rv32()),
            403 => self.put_time(a[1], self.now(), false),
            114 => self.put_time(a[1], 1, self.is_rv32()),
            406 => self.put_time(a[1], 1, false),
            123 => {
                let size = a[1].min(8);
                check(self.put(a[2], &1u64.to_le_bytes()[..size as usize]))?;
                Ok(size)
            }
            124 => Ok(0),
            129 | 130 => self.kill(a[0], a[1], 0),
            131 => self.kill(a[1], a[2], -6),
            132 => self.alternate_stack(a),
            134 => self.action(a),
            135 => self.mask(a),
            136 => {
                let pending = self.signals.pending();
                check(self.put(a[0], &pending.to_le_bytes()))?;
                Ok(0)
            }
            153 => {
                let ticks = self.hart.state.csr.minstret / 10_000_000;
                let word = if self.is_rv32() { 4 } else { 8 };
                let bytes: Vec<u8> =
                    [ticks, 0, 0, 0].iter().flat_map(|v| v.to_le_bytes()[..word].to_vec()).collect();
                if a[0] != 0 {
                    check(self.put(a[0], &bytes))?;
                }
                Ok(ticks)
            }
            160 => self.uname(a[0]),
            163 => self.put_limit(a[1], a[0]),
            165 => {
                let size = if self.is_rv32() { 72 } else { 144 };
                check(self.put(a[1], &vec![0; size]))?;
                Ok(0)
            }
            166 => Ok(0o022),
            167 => Ok(0),
            169 => {
                let now = self.now();
                let (seconds, micros) = (now / 1_000_000_000, now % 1_000_000_000 / 1000);
                let word = if self.is_rv32() { 4 } else { 8 };
                let bytes = [&seconds.to_le_bytes()[..word], &micros.to_le_bytes()[..word]].concat();
                check(self.put(a[0], &bytes))?;
                Ok(0)
            }
            179 => self.sysinfo(a[0]),
            214 => Ok(self.set_brk(a[0])),
            215 => self.unmap(a[0], a[1]),
            216 => self.remap(a),
            222 => self.map(a),
            226 => {
                let (start, end) = range(a[0], a[1])?;
                if self.memory.protect(start, end, permissions(a[2])) {
                    self.forget_code()
                } else {
                    Err(errno::ENOMEM)
                }
            }
            233 => Ok(0),
            259 => {
                self.hart.flush();
                Ok(0)
            }
            261 => match a[3] {
                0 => Ok(0),
                at => self.put_limit(at, a[1]),
            },
            278 => {
                let n = a[1].min(256);
                let mut bytes = vec![0; n as usize];
                bytes.fill_with(|| next_random(&mut self.random));
                check(self.put(a[0], &bytes))?;
                Ok(n)
            }
            291 => self.statx(a),
            _ => Err(errno::ENOSYS),
        }
    }

    fn path(&mut self, folder: u64, at: u64) -> Result<String, i64> {
        let bytes = self.memory.read_string(at).ok_or(errno::EFAULT)?;
        let path = String::from_utf8(bytes).map_err(|_| errno::ENOENT)?;
        if path.is_empty() {
            return Err(errno::ENOENT);
        }
        if !path.starts_with('/') && folder as i32 != AT_FDCWD {
            return Err(errno::ENOSYS);
        }
        let path = self.options.folder.join(path);
        path.into_os_string().into_string().map_err(|_| errno::ENOENT)
    }

    fn put_text(&mut self, at: u64, size: u64, text: &[u8]) -> Answer {
        if size <= text.len() as u64 {
            return Err(errno::EINVAL);
        }
        let bytes = [text, &[0]].concat();
        check(self.memory.is_mapped(at, at.saturating_add(bytes.len() as u64)))?;
        self.put(at, &bytes);
        Ok(bytes.len() as u64)
    }

    /// Addresses and lengths of an `iovec` array.
    fn pieces(&mut self, at: u64, count: u64) -> Result<Vec<(u64, u64)>, i64> {
        if count > 1024 {
            return Err(errno::EINVAL);
        }
        let word = if self.is_rv32() { 4 } else { 8 };
        (0..count)
            .map(|n| {
                let base = self.word_at(at.wrapping_add(2 * n * word))?;
                Ok((base, self.word_at(at.wrapping_add((2 * n + 1) * word))?))
            })
            .collect()
    }

    fn word_at(&mut self, at: u64) -> Result<u64, i64> {
        let mut bytes = [0; 8];
        let word = if self.is_rv32() { 4 } else { 8 };
        check(self.memory.read_bytes(at, &mut bytes[..word]))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads or writes pieces of memory, at an offset or at the current position of the file.
    fn transfer(&mut self, fd: u64, pieces: &[(u64, u64)], write: bool, at: Option<i64>) -> Answer {
        let back = match at {
            Some(_) => Some(self.files.seek(fd, 0, 1)?),
            None => None,
        };
        if let Some(at) = at {
            self.files.seek(fd, at, 0)?;
        }
        let mut done = 0;
        for &(address, length) in pieces {
            let length = length.min(LARGEST - done);
            if !self.memory.is_mapped(address, address.saturating_add(length)) && length > 0 {
                if done == 0 {
                    return Err(errno::EFAULT);
                }
                break;
            }
            // A page-sized window keeps a wild length from sizing a buffer.
            let mut moved = 0;
            while moved < length {
                let n = (length - moved).min(1 << 16);
                let mut bytes = vec![0; n as usize];
                let count = if write {
                    self.memory.read_bytes(address + moved, &mut bytes);
                    self.files.write(fd, &bytes)?
                } else {
                    let count = self.files.read(fd, &mut bytes)?;
                    self.put(address + moved, &bytes[..count as usize]);
                    count
                };
                moved += count;
                if count < n {
                    break;
                }
            }
            done += moved;
            if moved < length {
                break;
            }
        }
        if let Some(back) = back {
            self.files.seek(fd, back as i64, 0)?;
        }
        Ok(done)
    }

    fn seek(&mut self, a: [u64; 6]) -> Answer {
        if !self.is_rv32() {
            return self.files.seek(a[0], a[1] as i64, a[2]);
        }
        // llseek: the offset in two halves, the result in memory.
        let at = self.files.seek(a[0], (a[1] << 32 | a[2] & 0xffff_ffff) as i64, a[4])?;
        check(self.put(a[3], &at.to_le_bytes()))?;
        Ok(0)
    }

    fn folder(&mut self, a: [u64; 6]) -> Answer {
        let mut bytes = Vec::new();
        while let Some((name, folder, next)) = self.files.next_entry(a[0])? {
            let size = (19 + name.len() + 1).next_multiple_of(8);
            if (bytes.len() + size) as u64 > a[2] {
                self.files.put_back(a[0]);
                if bytes.is_empty() {
                    return Err(errno::EINVAL);
                }
                break;
            }
            let start = bytes.len();
            bytes.extend_from_slice(&next.to_le_bytes());
            bytes.extend_from_slice(&next.to_le_bytes());
            bytes.extend_from_slice(&(size as u16).to_le_bytes());
            bytes.push(if folder { 4 } else { 8 });
            bytes.extend_from_slice(name.as_bytes());
            bytes.resize(start + size, 0);
        }
        check(self.put(a[1], &bytes))?;
        Ok(bytes.len() as u64)
    }

    /// `struct stat` of the generic ABI; RV32 has no such call, and QEMU uses the 64-bit one.
    fn put_stat(&mut self, at: u64, stat: Stat) -> Answer {
        let mut bytes = Vec::with_capacity(128);
        bytes.extend_from_slice(&1u64.to_le_bytes());
        bytes.extend_from_slice(&stat.inode.to_le_bytes());
        bytes.extend_from_slice(&stat.mode.to_le_bytes());
        bytes.extend_from_slice(&1u32.to_le_bytes());
        bytes.resize(48, 0);
        bytes.extend_from_slice(&stat.size.to_le_bytes());
        bytes.extend_from_slice(&4096u32.to_le_bytes());
        bytes.resize(64, 0);
        bytes.extend_from_slice(&stat.size.div_ceil(512).to_le_bytes());
        bytes.resize(128, 0);
        check(self.put(at, &bytes))?;
        Ok(0)
    }

    fn statx(&mut self, a: [u64; 6]) -> Answer {
        let path = self.memory.read_string(a[1]).ok_or(errno::EFAULT)?;
        let stat = if path.is_empty() && a[2] & 0x1000 != 0 {
            self.files.stat(a[0])?
        } else {
            let path = self.path(a[0], a[1])?;
            self.files.stat_path(&path, a[2] & 0x100 == 0)?
        };
        let mut bytes = vec![0; 256];
        bytes[0..4].copy_from_slice(&0x7ffu32.to_le_bytes());
        bytes[4..8].copy_from_slice(&4096u32.to_le_bytes());
        bytes[16..20].copy_from_slice(&1u32.to_le_bytes());
        bytes[28..30].copy_from_slice(&(stat.mode as u16).to_le_bytes());
        bytes[32..40].copy_from_slice(&stat.inode.to_le_bytes());
        bytes[40..48].copy_from_slice(&stat.size.to_le_bytes());
        bytes[48..56].copy_from_slice(&stat.size.div_ceil(512).to_le_bytes());
        check(self.put(a[4], &bytes))?;
        Ok(0)
    }

    fn put_time(&mut self, at: u64, nanoseconds: u64, narrow: bool) -> Answer {
        let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
        let word = if narrow { 4 } else { 8 };
        let bytes = [&seconds.to_le_bytes()[..word], &rest.to_le_bytes()[..word]].concat();
        if at != 0 {
            check(self.put(at, &bytes))?;
        }
        Ok(0)
    }

    /// 8 MiB of stack, 1024 files, no other limits.
    fn put_limit(&mut self, at: u64, resource: u64) -> Answer {
        let all = u64::MAX;
        let (soft, hard) = match resource {
            3 => (8 << 20, all),
            7 => (1024, 1024),
            0..=15 => (all, all),
            _ => return Err(errno::EINVAL),
        };
        check(self.put(at, &[u64::to_le_bytes(soft), u64::to_le_bytes(hard)].concat()))?;
        Ok(0)
    }

    fn uname(&mut self, at: u64) -> Answer {
        let machine = if self.is_rv32() { "riscv32" } else { "riscv64" };
        let mut bytes = vec![0; 6 * 65];
        for (n, text) in ["Linux", "trackway", "6.1.0", "#1", machine, ""].iter().enumerate() {
            bytes[65 * n..65 * n + text.len()].copy_from_slice(text.as_bytes());
        }
        check(self.put(at, &bytes))?;
        Ok(0)
    }

    /// A machine with 1 GiB of memory, all of it free.
    fn sysinfo(&mut self, at: u64) -> Answer {
        let word = if self.is_rv32() { 4 } else { 8 };
        let memory: u64 = 1 << 30;
        // uptime, loads[3], totalram, freeram, sharedram, bufferram, totalswap, freeswap
        let words = [1, 0, 0, 0, memory, memory, 0, 0, 0, 0];
        let mut bytes: Vec<u8> = words.iter().flat_map(|v: &u64| v.to_le_bytes()[..word].to_vec()).collect();
        bytes.extend_from_slice(&1u16.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(word) + 2 * word, 0);
        bytes.extend_from_slice(&1u32.to_le_bytes());
        bytes.resize(if word == 8 { 112 } else { 64 }, 0);
        check(self.put(at, &bytes))?;
        Ok(0)
    }

    fn kill(&mut self, who: u64, signal: u64, code: i32) -> Answer {
        if who as i32 != Self::PID as i32 && who as i32 != 0 {
            return Err(errno::ESRCH);
        }
        match signal {
            0 => Ok(0),
            1..=64 => {
                self.signals.send(signal as u8, code);
                Ok(0)
            }
            _ => Err(errno::EINVAL),
        }
    }

    fn action(&mut self, a: [u64; 6]) -> Answer {
        let word = if self.is_rv32() { 4 } else { 8 };
        if !(1..=64).contains(&a[0]) || a[3] != 8 {
            return Err(errno::EINVAL);
        }
        let old = self.signals.actions[a[0] as usize];
        let new = match a[1] {
            0 => old,
            at => {
                let mut mask = [0; 8];
                check(self.memory.read_bytes(at.wrapping_add(2 * word), &mut mask))?;
                Action {
                    handler: self.word_at(at)?,
                    flags: self.word_at(at.wrapping_add(word))?,
                    mask: u64::from_le_bytes(mask),
                }
            }
        };
        if a[2] != 0 {
            let size = word as usize;
            let bytes = [
                &old.handler.to_le_bytes()[..size],
                &old.flags.to_le_bytes()[..size],
                &old.mask.to_le_bytes(),
            ]
            .concat();
            check(self.put(a[2], &bytes))?;
        }
        self.signals.actions[a[0] as usize] = new;
        Ok(0)
    }

    fn mask(&mut self, a: [u64; 6]) -> Answer {
        if a[3] != 8 {
            return Err(errno::EINVAL);
        }
        let old = self.signals.blocked;
        if a[1] != 0 {
            let mut bytes = [0; 8];
            check(self.memory.read_bytes(a[1], &mut bytes))?;
            let set = u64::from_le_bytes(bytes);
            self.signals.blocked = match a[0] {
                0 => old | set,
                1 => old & !set,
                2 => set,
                _ => return Err(errno::EINVAL),
            };
        }
        if a[2] != 0 {
            check(self.put(a[2], &old.to_le_bytes()))?;
        }
        Ok(0)
    }

    fn alternate_stack(&mut self, a: [u64; 6]) -> Answer {
        let word: u64 = if self.is_rv32() { 4 } else { 8 };
        let (pointer, flags, size) = self.signals.alternate;
        if a[1] != 0 {
            let n = word as usize;
            let mut bytes = vec![0; 3 * n];
            bytes[..n].copy_from_slice(&pointer.to_le_bytes()[..n]);
            bytes[n..n + 4].copy_from_slice(&flags.to_le_bytes());
            bytes[2 * n..].copy_from_slice(&size.to_le_bytes()[..n]);
            check(self.put(a[1], &bytes))?;
        }
        if a[0] != 0 {
            let pointer = self.word_at(a[0])?;
            let flags = self.word_at(a[0].wrapping_add(word))? as u32;
            let size = self.word_at(a[0].wrapping_add(2 * word))?;
            self.signals.alternate = (pointer, flags & 2, size);
        }
        Ok(0)
    }

    fn set_brk(&mut self, to: u64) -> u64 {
        let start = self.layout.brk;
        if to < start {
            return self.brk;
        }
        let (old, new) = (page_up(self.brk), page_up(to));
        if new > old {
            if !self.memory.is_free(old, new) || new - start > 1 << 32 {
                return self.brk;
            }
            self.memory.map(old, new, READ | WRITE);
        } else if new < old {
            self.memory.unmap(new, old);
        }
        self.brk = to;
        to
    }

    fn map(&mut self, a: [u64; 6]) -> Answer {
        let [address, length, protection, flags, fd, offset] = a;
        if length == 0 {
            return Err(errno::EINVAL);
        }
        let length = page_up(length);
        if length == 0 || length > 1 << 36 {
            return Err(errno::ENOMEM);
        }
        let fixed = flags & 0x10 != 0;
        if fixed && !address.is_multiple_of(PAGE) {
            return Err(errno::EINVAL);
        }
        let start = if fixed { address } else { self.place(address, length)? };
        let end = start.checked_add(length).ok_or(errno::ENOMEM)?;
        check(!self.is_rv32() || end <= 1 << 32).map_err(|_| errno::ENOMEM)?;
        self.memory.map(start, end, permissions(protection));
        if flags & 0x20 == 0 {
            let offset = if self.is_rv32() { offset * PAGE } else { offset };
            self.fill_from_file(fd, start, length, offset as i64)?;
        }
        self.forget_code()?;
        Ok(start)
    }

    /// Where a mapping goes.
    fn place(&mut self, hint: u64, length: u64) -> Answer {
        let hint = hint & !(PAGE - 1);
        if hint != 0 && hint.checked_add(length).is_some_and(|end| self.memory.is_free(hint, end)) {
            return Ok(hint);
        }
        let limit = if self.is_rv32() { 0xc000_0000 } else { 1 << 46 };
        let mut at = self.layout.mmap;
        while !self.memory.is_free(at, at + length) {
            at += PAGE;
            if at + length > limit {
                return Err(errno::ENOMEM);
            }
        }
        self.layout.mmap = at + length;
        Ok(at)
    }

    fn fill_from_file(&mut self, fd: u64, start: u64, length: u64, offset: i64) -> Answer {
        let back = self.files.seek(fd, 0, 1)?;
        self.files.seek(fd, offset, 0)?;
        let mut at = 0;
        let mut bytes = vec![0; 1 << 16];
        while at < length {
            let n = (length - at).min(bytes.len() as u64) as usize;
            let count = self.files.read(fd, &mut bytes[..n])?;
            if count == 0 {
                break;
            }
            self.put(start + at, &bytes[..count as usize]);
            at += count;
        }
        self.files.seek(fd, back as i64, 0)
    }

    fn unmap(&mut self, address: u64, length: u64) -> Answer {
        let (start, end) = range(address, length)?;
        self.memory.unmap(start, end);
        // Like QEMU, which places the next mapping from the lowest hole on.
        self.layout.mmap = self.layout.mmap.min(start.max(self.layout.sigreturn));
        self.forget_code()
    }

    fn remap(&mut self, a: [u64; 6]) -> Answer {
        let (start, old_end) = range(a[0], a[1])?;
        let length = page_up(a[2]);
        if length == 0 || length > 1 << 36 {
            return Err(errno::EINVAL);
        }
        let old = old_end - start;
        if length <= old {
            self.memory.unmap(start + length, old_end);
            return Ok(start);
        }
        if self.memory.is_free(old_end, start + length) {
            self.memory.map(old_end, start + length, READ | WRITE);
            return Ok(start);
        }
        if a[3] & 1 == 0 {
            return Err(errno::ENOMEM);
        }
        let to = self.place(0, length)?;
        self.memory.map(to, to + length, READ | WRITE);
        let mut page = vec![0; PAGE as usize];
        for n in (0..old).step_by(PAGE as usize) {
            if self.memory.read_bytes(start + n, &mut page) {
                self.put(to + n, &page);
            }
        }
        self.memory.unmap(start, old_end);
        self.forget_code()?;
        Ok(to)
    }

    /// Instructions may have gone away or changed.
    fn forget_code(&mut self) -> Answer {
        self.hart.flush();
        Ok(0)
    }
}

fn check(fine: bool) -> Result<(), i64> {
    if fine { Ok(()) } else { Err(errno::EFAULT) }
}

const fn page_up(address: u64) -> u64 {
    address.wrapping_add(PAGE - 1) & !(PAGE - 1)
}

fn range(address: u64, length: u64) -> Result<(u64, u64), i64> {
    let end = address.checked_add(length).map(page_up).filter(|end| *end >= address);
    match end {
        Some(end) if address.is_multiple_of(PAGE) => Ok((address, end)),
        _ => Err(errno::EINVAL),
    }
}

fn permissions(protection: u64) -> u8 {
    let mut permissions = 0;
    if protection & 1 != 0 {
        permissions |= READ;
    }
    if protection & 2 != 0 {
        permissions |= READ | WRITE;
    }
    if protection & 4 != 0 {
        permissions |= EXEC | READ;
    }
    permissions
}
