//! Packets to bytes: the mirror of `read`, byte-exact.

use crate::config::Dialect;
use crate::wire::packet::*;
use crate::wire::read::SOURCE_FORMS;

impl Packet {
    /// Appends the packet's bytes to `out`.
    ///
    /// What [`Reader::read`](crate::Reader::read) gave is written as it was; `dialect` says how wide
    /// identifiers and timestamps are.
    pub fn write(&self, dialect: &Dialect, out: &mut Vec<u8>) {
        match *self {
            Packet::AlignmentSync { zeros } => {
                out.resize(out.len() + zeros as usize, 0);
                out.push(0x80);
            }
            Packet::Discard => out.extend([0, 3]),
            Packet::Overflow => out.extend([0, 5]),
            Packet::TraceInfo(info) => {
                out.push(0x01);
                chain(info.plctl, width::SECTION, out);
                for section in info.sections {
                    chain(section, width::SECTION, out);
                }
            }
            Packet::Timestamp { value, count } => {
                out.push(0x02 | u8::from(count.is_some()));
                chain(value, u32::from(dialect.timestamp_bits), out);
                chain(count.unwrap_or_default(), width::CYCLES, out);
            }
            Packet::TraceOn => out.push(0x04),
            Packet::FunctionReturn => out.push(0x05),
            Packet::Exception(exception) => {
                out.extend([0x06, exception.info]);
                out.extend(exception.info2);
                match exception.address {
                    ExceptionAddress::Address(address) => target(address, out),
                    ExceptionAddress::WithContext(address, context) => {
                        with_context(address, context, dialect, out);
                    }
                    ExceptionAddress::Unknown => out.push(0x70),
                }
            }
            Packet::ExceptionReturn => out.push(0x07),
            Packet::Instrumentation { el, value } => {
                out.extend([0x09, el]);
                out.extend(value.to_le_bytes());
            }
            Packet::TransactionStart => out.push(0x0a),
            Packet::TransactionCommit => out.push(0x0b),
            Packet::CycleCount1 { commit, count } => {
                out.push(0x0e | u8::from(count.is_none()));
                chain(commit.unwrap_or_default(), width::COUNT, out);
                chain(count.unwrap_or_default(), width::CYCLES, out);
            }
            Packet::CycleCount2 { from_max, payload } => out.extend([0x0c | u8::from(from_max), payload]),
            Packet::CycleCount3(bits) => out.push(0x10 | bits & 0xf),
            Packet::Commit(count) => {
                out.push(0x2d);
                chain(count, width::COUNT, out);
            }
            Packet::Cancel1 { mispredict, count } => {
                out.push(0x2e | u8::from(mispredict));
                chain(count, width::COUNT, out);
            }
            Packet::Mispredict(atoms) => out.push(0x30 | atoms & 3),
            Packet::Cancel2(atoms) => out.push(0x34 | atoms & 3),
            Packet::Cancel3(bits) => out.push(0x38 | bits & 7),
            Packet::Ignore => out.push(0x70),
            Packet::Event(events) => out.push(0x70 | events & 0xf),
            Packet::Context(None) => out.push(0x80),
            Packet::Context(Some(payload)) => {
                out.push(0x81);
                context(payload, dialect, out);
            }
            Packet::AddressContext(address, context) => with_context(address, context, dialect, out),
            Packet::TimestampMarker => out.push(0x88),
            Packet::Address(address) => target(address, out),
            Packet::Q { address, count } => {
                let form = match (address, count) {
                    (Some(address), _) => nibble(address.form),
                    (None, Some(_)) => 0xc,
                    (None, None) => 0xf,
                };
                out.push(0xa0 | form);
                if let Some(address) = address {
                    payload(address, out);
                }
                chain(count.unwrap_or_default(), width::COUNT, out);
            }
            Packet::SourceAddress(address) => {
                let form = nibble(address.form);
                let low = SOURCE_FORMS.iter().position(|&source| source == form).unwrap_or(0);
                out.push(0xb0 | low as u8);
                payload(address, out);
            }
            Packet::Atom(atoms) => out.push(atoms.header | 0xc0),
        }
    }
}

/// Low nibble of the target address header with this payload.
fn nibble(form: AddressForm) -> u8 {
    use AddressForm::*;
    match form {
        Exact(n) => n.min(2),
        Short1Is0 | Short2Is0 => 5,
        Short1Is1 | Short2Is1 => 6,
        Long32Is0 => 0xa,
        Long32Is1 => 0xb,
        Long64Is0 => 0xd,
        Long64Is1 => 0xe,
    }
}

fn target(address: Address, out: &mut Vec<u8>) {
    out.push(0x90 | nibble(address.form));
    payload(address, out);
}

fn with_context(address: Address, payload_of: Context, dialect: &Dialect, out: &mut Vec<u8>) {
    out.push(0x80 | nibble(address.form) & 7);
    payload(address, out);
    context(payload_of, dialect, out);
}

fn payload(address: Address, out: &mut Vec<u8>) {
    use AddressForm::*;
    let Address { bits, form, sbz } = address;
    let sbz = u64::from(sbz);
    let long_is0 =
        bits >> 2 & 0x7f | (sbz & 1) << 7 | (bits >> 9 & 0x7f) << 8 | (sbz >> 1 & 1) << 15 | bits & !0xffff;
    let long_is1 = bits >> 1 & 0x7f | (sbz & 1) << 7 | bits & !0xff;
    match form {
        Exact(_) => {}
        Short1Is0 => out.push((bits >> 2) as u8 & 0x7f),
        Short1Is1 => out.push((bits >> 1) as u8 & 0x7f),
        Short2Is0 => out.extend([(bits >> 2) as u8 | 0x80, (bits >> 9) as u8]),
        Short2Is1 => out.extend([(bits >> 1) as u8 | 0x80, (bits >> 8) as u8]),
        Long32Is0 => out.extend((long_is0 as u32).to_le_bytes()),
        Long32Is1 => out.extend((long_is1 as u32).to_le_bytes()),
        Long64Is0 => out.extend(long_is0.to_le_bytes()),
        Long64Is1 => out.extend(long_is1.to_le_bytes()),
    }
}

fn context(context: Context, dialect: &Dialect, out: &mut Vec<u8>) {
    out.push(context.info);
    if context.has_vmid() {
        out.extend(&context.vmid.to_le_bytes()[..usize::from(dialect.vmid_bytes)]);
    }
    if context.has_context_id() {
        out.extend(&context.context_id.to_le_bytes()[..usize::from(dialect.context_id_bytes)]);
    }
}

fn chain(chain: Chain, bits: u32, out: &mut Vec<u8>) {
    let max = Chain::max_len(bits);
    for index in 0..u32::from(chain.len) {
        let group = (chain.value >> (7 * index)) as u8;
        out.push(match index + 1 {
            n if n == max => group,
            n if n == u32::from(chain.len) => group & 0x7f,
            _ => group | 0x80,
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Reader};
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

    /// Every header byte, with payloads that reach the long forms: the proptest above meets few of them.
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
