//! The kinds of compression, and their first bytes.

/// First bytes of an .xz stream.
pub(super) const XZ_MAGIC: [u8; 6] = *b"\xfd7zXZ\0";
/// First bytes of a gzip stream.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Compression of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// LZMA2 in an .xz container.
    Xz,
    /// LZMA in the legacy .lzma container.
    LzmaAlone,
    /// Deflate in a zlib wrapper.
    Zlib,
    /// Deflate in a gzip wrapper.
    Gzip,
}

/// The algorithm inside the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// LZMA and LZMA2.
    Lzma,
    /// Deflate.
    Deflate,
}

impl Compression {
    /// Its algorithm.
    pub const fn family(self) -> Family {
        match self {
            Compression::Xz | Compression::LzmaAlone => Family::Lzma,
            Compression::Zlib | Compression::Gzip => Family::Deflate,
        }
    }

    /// The compression of a stream with these first bytes. Where they decide nothing (.lzma has no magic number, an
    /// empty stream has no bytes) it is of the `expected` family.
    pub fn detect(start: &[u8], expected: Family) -> Self {
        let is_xz = !start.is_empty() && start.starts_with(&XZ_MAGIC[..start.len().min(XZ_MAGIC.len())]);
        if start.starts_with(&GZIP_MAGIC) {
            Compression::Gzip
        } else if is_xz {
            Compression::Xz
        } else if expected == Family::Deflate || is_default_zlib(start) {
            Compression::Zlib
        } else {
            Compression::LzmaAlone
        }
    }

    /// True for the first bytes of an .xz, .lzma, zlib or gzip stream with the usual settings.
    pub fn is_likely(start: &[u8]) -> bool {
        start.starts_with(&XZ_MAGIC)
            || start.starts_with(&[0x5d, 0, 0])
            || start.starts_with(&GZIP_MAGIC)
            || is_default_zlib(start)
    }
}

/// A zlib header with the usual window (RFC 1950): the first two bytes are a multiple of 31.
fn is_default_zlib(start: &[u8]) -> bool {
    matches!(start, [0x78, second, ..] if u16::from_be_bytes([0x78, *second]).is_multiple_of(31))
}
