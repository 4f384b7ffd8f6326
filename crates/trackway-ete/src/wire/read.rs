//! Reading packets of one dialect.

use trackway_core::{Bytes, ErrorKind, Result};

use super::address::Address;
use super::atoms::Atoms;
use super::header::{Kind, Kinds, error_at};
use super::packet::Packet;
use crate::config::Dialect;

/// Reads packets of one dialect.
///
/// ```
/// use trackway_ete::{Config, Packet, Reader};
/// let config = Config::from_registers("etm", Default::default(), Some(true))?;
/// let reader = Reader::new(&config.dialect);
/// let (packet, len) = reader.read(&[0x04, 0xf7], 0).unwrap();
/// assert_eq!((packet, len), (Packet::TraceOn, 1));
/// # Ok::<(), trackway_ete::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reader {
    kinds: Kinds,
    dialect: Dialect,
}

impl Reader {
    /// A reader of `dialect`.
    pub fn new(dialect: &Dialect) -> Self {
        Reader { kinds: Kinds::new(dialect), dialect: *dialect }
    }

    /// Returns the packet at the start of `data` and its length. `offset` is its place, for errors.
    #[inline]
    pub fn read(&self, data: &[u8], offset: u64) -> Result<(Packet, usize)> {
        let mut packet = Packet::Ignore;
        let length = self.read_into(data, offset, &mut packet)?;
        Ok((packet, length))
    }

    /// Reads the packet at the start of `data` into `packet`, and returns its length. A loop that reads all packets into the
    /// same place is faster than one that copies them.
    ///
    /// ```
    /// use trackway_ete::{Config, Packet, Reader};
    /// let config = Config::from_registers("etm", Default::default(), Some(true))?;
    /// let (reader, data) = (Reader::new(&config.dialect), [0x04, 0xf7]);
    /// let (mut packet, mut at, mut names) = (Packet::Ignore, 0, Vec::new());
    /// while at < data.len() {
    ///     at += reader.read_into(&data[at..], at as u64, &mut packet).unwrap();
    ///     names.push(packet.name());
    /// }
    /// assert_eq!(names, ["Trace On", "Atom"]);
    /// # Ok::<(), trackway_ete::ConfigError>(())
    /// ```
    #[inline(always)]
    pub fn read_into(&self, data: &[u8], offset: u64, packet: &mut Packet) -> Result<usize> {
        if let Some(&header) = data.first()
            && header >= Kind::Atom.header()
        {
            *packet = Packet::Atom(Atoms { header });
            return Ok(1);
        }
        if let Some((address, length)) = Address::read_usual(data) {
            *packet = Packet::Address(address);
            return Ok(length);
        }
        self.read_other(data, offset, packet)
    }

    /// Any packet.
    #[inline(never)]
    fn read_other(&self, data: &[u8], offset: u64, packet: &mut Packet) -> Result<usize> {
        let Some(&first) = data.first() else {
            return Err(ErrorKind::Truncated.at(offset, "packet", "header", "K10.5.2.2"));
        };
        let mut bytes = Bytes::new(&data[1..]);
        match Packet::read(first, &self.kinds, &self.dialect, &mut bytes) {
            Ok(read) => {
                *packet = read;
                Ok(1 + bytes.position())
            }
            Err(fault) => Err(error_at(first, fault, offset)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Packet, Reader};
    use proptest::prelude::*;

    fn dialects() -> Vec<crate::Dialect> {
        let config = |registers: &[(&str, u64)]| {
            let registers = registers.iter().map(|&(name, value)| (name.to_string(), value)).collect();
            Config::from_registers("x", registers, None).unwrap().dialect
        };
        vec![
            config(&[]),
            config(&[("TRCIDR0", 0x0801_cea1)]),
            config(&[("TRCIDR0", 0x2800_0ea1), ("TRCIDR1", 0x4100_f403), ("TRCIDR2", 0x488)]),
            config(&[("TRCIDR0", 0x0801_8ea1), ("TRCIDR1", 0x4100_f463), ("TRCIDR2", 0x888)]),
            config(&[("TRCIDR0", 0x0600_0ea1), ("TRCIDR1", 0x4100_f443), ("TRCIDR2", 0)]),
        ]
    }

    proptest! {
        #[test]
        fn writes_back_what_it_read(first: u8, mut rest in proptest::collection::vec(any::<u8>(), 0..32)) {
            rest.insert(0, first);
            for dialect in dialects() {
                if let Ok((packet, len)) = Reader::new(&dialect).read(&rest, 0) {
                    let mut out = Vec::new();
                    packet.write(&dialect, &mut out);
                    prop_assert_eq!(&out[..], &rest[..len], "{:?}", packet);
                }
            }
        }

        #[test]
        fn usual_packets_are_those_of_the_table(low: u8, rest in proptest::collection::vec(any::<u8>(), 0..16)) {
            for first in [low, 0x90 | low & 0xf, 0xc0 | low] {
                let data = [&[first], &rest[..]].concat();
                for dialect in dialects() {
                    let reader = Reader::new(&dialect);
                    let (mut one, mut other) = (Packet::Ignore, Packet::Ignore);
                    let length = reader.read_into(&data, 5, &mut one);
                    prop_assert_eq!(length, reader.read_other(&data, 5, &mut other));
                    prop_assert_eq!(one, other);
                }
            }
        }

        #[test]
        fn a_cut_packet_is_truncated(first: u8, mut rest in proptest::collection::vec(any::<u8>(), 30)) {
            rest.insert(0, first);
            for dialect in dialects() {
                let reader = Reader::new(&dialect);
                if let Ok((_, len)) = reader.read(&rest, 0) {
                    for cut in 0..len {
                        let error = reader.read(&rest[..cut], 0).unwrap_err();
                        prop_assert!(error.is_truncated(), "{} bytes of {}: {}", cut, len, error);
                    }
                }
            }
        }
    }

    /// Every header byte, with payloads that reach the long forms, which the property above seldom meets.
    #[test]
    fn every_header_both_ways() {
        let payloads: [&[u8]; 6] = [
            &[0; 24],
            &[0xff; 24],
            &[0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e],
            &[0x0d, 0x41, 0x82, 0x01, 0x83, 0x84, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d],
            &[0x03, 0x9a, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d],
            &[0xc1, 0x01, 0x85, 0xa2, 0x33, 0x44, 0x55, 0x66, 0x77, 0x08, 0x89, 0xf1, 1, 2, 3, 4, 5, 6, 7, 8],
        ];
        let mut read = 0;
        for dialect in dialects() {
            let reader = Reader::new(&dialect);
            for first in 0..=255u8 {
                for payload in payloads {
                    let bytes = [&[first], payload].concat();
                    let Ok((packet, len)) = reader.read(&bytes, 0) else { continue };
                    let mut out = Vec::new();
                    packet.write(&dialect, &mut out);
                    assert_eq!(out, bytes[..len], "{packet:?}");
                    read += 1;
                }
            }
        }
        assert!(read > 4000, "{read}");
    }
}
