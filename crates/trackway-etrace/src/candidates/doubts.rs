//! Values that are legal and unlikely.

use std::collections::BTreeSet;

use trackway_core::{Context, Input, mask};
use trackway_format::{Doubt, Excerpt, Settings};

use crate::config::Config;
use crate::dialect::Dialect;
use crate::wire::Reader;
use crate::wire::instruction::Packet;

/// Packets with times and contexts that are looked at.
const FRAMES: usize = 512;

/// Values that are legal and unlikely.
pub(crate) fn doubts(settings: &Settings, excerpt: &Excerpt<'_>) -> Vec<Doubt> {
    let Ok(config) = Config::from_section(Config::section(&settings.table)) else { return Vec::new() };
    let (mut times, mut contexts, mut values) = (Vec::new(), Vec::new(), Vec::new());
    // Source ids, and those with a packet to start from.
    let (mut sources, mut synced) = (BTreeSet::new(), BTreeSet::new());
    let mut reader = Reader::new(Input::from_vec(excerpt.bytes.to_vec()), &config);
    let layout = *reader.layout();
    while times.len() < FRAMES {
        match reader.read() {
            Ok(Some(item)) => {
                let Some(packet) = item.packet() else { continue };
                sources.insert(item.frame.source);
                if packet.is_sync() {
                    synced.insert(item.frame.source);
                }
                match packet {
                    Packet::Start(start) => {
                        times.push(start.time);
                        contexts.push(start.context);
                    }
                    Packet::Trap(trap) => {
                        times.push(trap.time);
                        contexts.push(trap.context);
                        values.extend(Some(trap.tval).filter(|value| !trap.interrupt && *value != 0));
                    }
                    _ => {}
                }
            }
            Ok(None) => break,
            Err(_) if reader.resync().is_ok_and(|skipped| skipped.is_some()) => {}
            Err(_) => break,
        }
    }
    let mut found = Vec::new();
    let changes: Vec<_> = contexts.windows(2).filter(|pair| pair[0] != pair[1]).collect();
    if sources.len() > synced.len() && excerpt.whole {
        let lost = sources.len() - synced.len();
        let text = format!("{lost} source ids have no synchronisation: are they something else?");
        found.push(Doubt::new(text));
    }
    if layout.privilege < 2 {
        found.push(Doubt::new("privilege_width 1 has no room for machine mode"));
    }
    if config.dialect == Dialect::Draft && layout.privilege != 3 {
        found.push(Doubt::unusual("privilege_width", layout.privilege));
    }
    if layout.time > 0 && times.len() > 1 && times.windows(2).all(|pair| pair[0] == pair[1]) {
        found.push(Doubt::new("the time never changes: is it a context?"));
    }
    if layout.time > 8 && times.iter().any(|time| time >> (layout.time - 1) == 1) {
        found.push(Doubt::new("times have their highest bit set: is the field narrower?"));
    }
    if !layout.time.is_multiple_of(8) {
        found.push(Doubt::unusual("time_width", layout.time));
    }
    if (1..3).contains(&layout.context) || layout.context > 32 {
        found.push(Doubt::unusual("context_width", layout.context));
    }
    let only_grows = !changes.is_empty() && changes.iter().all(|pair| pair[0] < pair[1]);
    if layout.context > 0 && (only_grows || 2 * changes.len() > contexts.len()) {
        found.push(Doubt::new("the context changes as a time does"));
    }
    let nowhere = values.iter().filter(|value| !is_trap_value(**value, layout.tval, excerpt)).count();
    if 2 * nowhere > values.len() {
        found.push(Doubt::new("trap values lead nowhere: is iaddress_width larger?"));
    }
    found
}

/// Can it be a trap value: an encoding, a low or a high address, or one in the program?
fn is_trap_value(value: u64, width: u32, excerpt: &Excerpt<'_>) -> bool {
    let is_high = width >= 40 && value >> 32 == mask(u64::MAX, width) >> 32;
    let memory = excerpt.image.memory(&Context::default());
    value >> 32 == 0 || is_high || memory.bytes_at(value).is_some()
}
