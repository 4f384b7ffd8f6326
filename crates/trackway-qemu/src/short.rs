//! The short record of a memory access, which nearly all of them have: `plugin/qemu/STREAM.md` has the format.

/// Two words, and two more for a value.
pub(crate) const SHORT: u32 = 0xc000_0000;
pub(crate) const SIZE: u32 = 16;
pub(crate) const VALUED: u32 = 1 << 20;
pub(crate) const STORE: u32 = 1 << 21;
pub(crate) const POSITION: u32 = 22;

/// The first word of a record is that of a short access.
#[inline(always)]
pub(crate) fn is_short(first: u32) -> bool {
    first >> 30 == SHORT >> 30
}

/// The position of the access in its run.
#[inline(always)]
pub(crate) fn position(first: u32) -> u32 {
    first >> POSITION & 0xff
}

/// Log2 of the size.
#[inline(always)]
pub(crate) fn shift(first: u32) -> u32 {
    first >> SIZE & 15
}

/// Words of the record.
#[inline(always)]
pub(crate) fn words(first: u32) -> usize {
    if first & VALUED == 0 { 2 } else { 4 }
}

/// All but the address.
#[inline(always)]
pub(crate) fn kind(first: u32) -> u32 {
    first >> SIZE
}

/// The address, by the first two words.
#[inline(always)]
pub(crate) fn address(first: u32, low: u32) -> u64 {
    ((u64::from(first) << 48) as i64 >> 16) as u64 | u64::from(low)
}
