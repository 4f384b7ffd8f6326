//! Packets as text, for `dump --raw`.

use std::fmt::Write;

use trackway_core::{Input, Item, Items, Result};

use super::data;
use super::instruction::{Layout, Packet, Support, qual_status};
use super::read::{Content, Reader};
use super::received::Received;
use crate::config::Config;
use crate::modes::Mode;
use crate::port::Dtype;
use crate::transport::Kind;

/// Packets as lines: fields in wire order, then the bits that compression saved.
#[derive(Debug)]
pub struct Text {
    reader: Reader,
    config: Config,
}

impl Text {
    /// The packets of `input`.
    pub fn new(input: Input, config: &Config) -> Self {
        Text { reader: Reader::new(input, config), config: config.clone() }
    }

    /// Only those of one source.
    pub(crate) fn of_source(self, only: Option<u32>) -> Self {
        Text { reader: self.reader.of_source(only), ..self }
    }
}

impl Items for Text {
    fn next(&mut self, item: &mut Item) -> Result<bool> {
        let (layout, data_layout) = (*self.reader.layout(), *self.reader.data_layout());
        let Some(read) = self.reader.read()? else { return Ok(false) };
        item.offset = read.offset;
        item.len = u64::from(read.frame.len);
        item.text.clear();
        let out = &mut item.text;
        // Writing to a String cannot fail.
        let _ = (|| -> std::fmt::Result {
            if let Some(time) = read.frame.time {
                write!(out, "stamp={time} ")?;
            }
            if self.config.framing.source_bits() > 0 {
                write!(out, "src={} ", read.frame.source)?;
            }
            Ok(())
        })();
        item.name = match &read.content {
            Content::Instruction(received) => {
                show_packet(&received.packet, &layout, out);
                if let Packet::Support(support) = &received.packet {
                    show_support(&self.config, support, out);
                }
                show_saved(received, out);
                received.packet.name()
            }
            Content::Data(received) => {
                show_data(&received.packet, &data_layout, out);
                show_saved(received, out);
                received.packet.name()
            }
            Content::Other(payload) => {
                for byte in payload {
                    let _ = write!(out, "{byte:02x}");
                }
                match read.frame.kind {
                    Kind::Null if read.frame.header >> 7 == 1 => "null.align",
                    Kind::Null => "null.idle",
                    Kind::Data => "data",
                    _ => "other",
                }
            }
        };
        item.text.truncate(item.text.trim_end().len());
        Ok(true)
    }

    fn resync(&mut self) -> Result<Option<u64>> {
        self.reader.resync()
    }
}

/// Fields in wire order: `name=value`, addresses, maps, times, contexts and counts in hex; `NOTIFY`, `UPDISCON`
/// and `IRREPORT` where the bit is set, that is, differs from the one before.
fn show_packet(packet: &Packet, layout: &Layout, out: &mut String) {
    let reported = match packet {
        Packet::Address(reported) => Some(*reported),
        Packet::Branches(packet) if packet.branches != 0 => Some(packet.reported),
        Packet::BranchCount(packet) if packet.branch_fmt != 0 => Some(packet.reported),
        _ => None,
    };
    let irreport = match packet {
        Packet::JumpTarget(packet) => packet.irreport,
        _ => reported.is_some_and(|reported| reported.irreport),
    };
    let flags = [
        ("notify", reported.is_some_and(|reported| reported.notify), "NOTIFY"),
        ("updiscon", reported.is_some_and(|reported| reported.updiscon), "UPDISCON"),
        ("irreport", irreport, "IRREPORT"),
    ];
    packet.fields(layout, &mut |name, value, width| {
        // Writing to a String cannot fail.
        let _ = match name {
            _ if width == 0 => Ok(()),
            "irdepth" if !irreport => Ok(()),
            "notify" | "updiscon" | "irreport" => match flags.iter().find(|(of, ..)| *of == name) {
                Some((_, true, word)) => write!(out, "{word} "),
                _ => Ok(()),
            },
            "address" | "tval" | "tvalepc" | "branch_map" | "time" | "context" | "branch_count" => {
                write!(out, "{name}={value:x} ")
            }
            _ => write!(out, "{name}={value} "),
        };
    });
}

/// Fields in wire order, numbers in hex but for codes and lengths; an atomic's or CSR's operation by name.
fn show_data(packet: &data::Packet, layout: &data::Layout, out: &mut String) {
    use data::Packet as P;
    let operation = match packet {
        P::Atomic(data::Atomic { subtype, .. }) | P::AtomicRequest(data::AtomicRequest { subtype, .. }) => {
            Some(Dtype(8 | *subtype as u8 & 7))
        }
        P::Csr(csr) => Some(Dtype(4 | csr.subtype as u8 & 3)),
        _ => None,
    };
    packet.fields(layout, &mut |name, value, width| {
        // Writing to a String cannot fail.
        let _ = match (name, operation) {
            _ if width == 0 => Ok(()),
            ("subtype", Some(dtype)) => write!(out, "subtype={value}({}) ", dtype.name()),
            ("size" | "diff" | "resp" | "data_len" | "op_len" | "index" | "lrid", _) => {
                write!(out, "{name}={value} ")
            }
            _ => write!(out, "{name}={value:x} "),
        };
    });
}

/// Modes and status by name.
fn show_support(config: &Config, support: &Support, out: &mut String) {
    let names = |modes: &[Mode], bits: u64| -> Vec<&str> {
        let on = modes.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1);
        on.map(|(_, mode)| mode.as_str()).collect()
    };
    let mut on = names(&config.support.ioptions, support.ioptions);
    if config.dialect.has_data_status() {
        on.extend(names(&config.support.doptions, support.doptions));
    }
    let _ = write!(out, "({}", qual_status::NAMES[support.qual_status as usize & 3]);
    if !on.is_empty() {
        let _ = write!(out, "; {}", on.join(", "));
    }
    out.push_str(") ");
}

/// The bits that compression saved, where the payload is not exactly as long as its fields.
fn show_saved<P>(received: &Received<P>, out: &mut String) {
    let (saved, field_bits) = (received.saved(), received.field_bits);
    if saved > 0 {
        let _ = write!(out, "[{saved} of {field_bits} bits saved]");
    } else if saved <= -8 || !received.spare.is_empty() {
        let _ = write!(out, "[{} bits behind {field_bits} of fields]", -saved);
    }
}
