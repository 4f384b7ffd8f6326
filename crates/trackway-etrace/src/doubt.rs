//! Settings that the stream contradicts.

use trackway_core::{Context, Error, ErrorKind, Input, SharedBytes, mask};
use trackway_image::{Cursor, Image, Waypoints};

use crate::config::Config;
use crate::dialect::Dialect;
use crate::port::privilege_of;
use crate::transport::Kind;
use crate::wire::instruction::{Layout, Packet};
use crate::wire::{Reader, Received};

/// Bytes that are looked at.
const LOOKED_AT: usize = 1 << 20;

/// What speaks against reading packets by a dialect.
#[derive(Default)]
struct Evidence {
    /// Packets with bits after their last field, with values that are not defined, or in a place where they cannot be.
    unfit: u64,
    /// Offset of the first of them.
    first: Option<u64>,
    /// Handlers of traps in the program, and outside it.
    handlers: (u64, u64),
    /// The last packet is a trap whose handler has to be reported next.
    trapped: bool,
}

impl Evidence {
    fn add(&mut self, offset: u64, payload: &[u8], bits: u32, config: &Config, code: &mut Option<Cursor>) {
        let layout = Layout::new(config, config.options);
        let Ok(received) = Received::<Packet>::read(payload, bits, &layout) else { return };
        // Padding is not evidence.
        let mut fits = received.spare.iter().all(|byte| *byte == 0);
        self.trapped = false;
        if let Packet::Trap(trap) = &received.packet {
            fits &= privilege_of(trap.privilege).is_some();
            self.trapped = !trap.thaddr;
            let params = &config.params;
            let pc = mask(trap.address << params.iaddress_lsb, params.iaddress_width);
            if let Some(code) = code.as_mut().filter(|_| trap.thaddr) {
                match code.at(pc) {
                    Some(_) => self.handlers.0 += 1,
                    None => self.handlers.1 += 1,
                }
            }
        }
        self.expect(fits, offset);
    }

    /// A packet of format 0, 1 or 2.
    fn add_flow(&mut self, offset: u64) {
        let fits = !std::mem::take(&mut self.trapped);
        self.expect(fits, offset);
    }

    fn expect(&mut self, fits: bool, offset: u64) {
        if !fits {
            self.unfit += 1;
            self.first.get_or_insert(offset);
        }
    }

    /// Do the packets fit, with all handlers in the program?
    fn is_clean(&self) -> bool {
        self.unfit == 0 && self.handlers.1 == 0
    }
}

/// An error if the packets prove that they are of the other dialect: by the settings some have bits after their last
/// field or handlers outside the program, by the other dialect none.
pub(crate) fn wrong_dialect(bytes: &SharedBytes, config: &Config, image: &Image) -> Option<Error> {
    let other = match config.dialect {
        Dialect::Draft => Dialect::V2,
        Dialect::V2 => Dialect::Draft,
    };
    let configs = [config.clone(), Config { dialect: other, ..config.clone() }];
    let isa = config.isa_of(image);
    let is_implied = config.options.implicit_exception;
    let mut code = (!image.is_empty() && !is_implied)
        .then(|| image.blocks(&Context::default(), isa, Waypoints::ETRACE).cursor());
    let mut found = [Evidence::default(), Evidence::default()];
    let all = (**bytes).as_ref();
    let mut reader = Reader::new(Input::Whole(bytes.clone()), config);
    while reader.offset() < LOOKED_AT.min(all.len()) as u64 {
        let at = reader.offset();
        if reader.skip_flow() > 0 {
            found.iter_mut().for_each(|evidence| evidence.add_flow(at));
        }
        let Ok(Some((offset, frame))) = reader.next_frame() else { break };
        let mut scratch = [0; 64];
        let payload = reader.payload(&frame, &mut scratch);
        if frame.kind != Kind::Instruction {
            // Data trace and null packets say nothing.
        } else if payload.first().is_none_or(|byte| byte & 3 != 3) {
            found.iter_mut().for_each(|evidence| evidence.add_flow(offset));
        } else {
            for (evidence, config) in found.iter_mut().zip(&configs) {
                evidence.add(offset, payload, frame.payload_bits, config, &mut code);
            }
        }
        reader.advance(&frame);
    }
    let [own, other_evidence] = &found;
    let is_proved =
        other_evidence.is_clean() && (own.unfit > 0 || (own.handlers.0 == 0 && own.handlers.1 > 1));
    let text = match other {
        Dialect::Draft => "the packets are those of dialect draft-1.1.1, and the settings say v2",
        Dialect::V2 => "the packets are those of dialect v2, and the settings say draft-1.1.1",
    };
    let error = ErrorKind::Reason { text, value: 0 };
    is_proved.then(|| error.at(own.first.unwrap_or(0), "packet", "dialect", "E-Trace 6"))
}
