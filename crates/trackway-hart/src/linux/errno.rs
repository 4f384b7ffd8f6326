//! Error numbers of Linux.

pub(super) const ENOENT: i64 = 2;
pub(super) const ESRCH: i64 = 3;
pub(super) const EIO: i64 = 5;
pub(super) const EBADF: i64 = 9;
pub(super) const EAGAIN: i64 = 11;
pub(super) const ENOMEM: i64 = 12;
pub(super) const EFAULT: i64 = 14;
pub(super) const ENOTDIR: i64 = 20;
pub(super) const EISDIR: i64 = 21;
pub(super) const EINVAL: i64 = 22;
pub(super) const EMFILE: i64 = 24;
pub(super) const ENOTTY: i64 = 25;
pub(super) const ESPIPE: i64 = 29;
pub(super) const EROFS: i64 = 30;
pub(super) const ENOSYS: i64 = 38;
