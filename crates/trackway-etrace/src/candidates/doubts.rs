//! Values that are legal and unlikely.

use std::collections::BTreeSet;

use trackway_core::Input;
use trackway_format::{Excerpt, Settings};

use crate::config::Config;
use crate::dialect::Dialect;
use crate::wire::Reader;
use crate::wire::instruction::Packet;

/// Packets with times and contexts that are looked at.
const FRAMES: usize = 512;

/// Values that are legal and unlikely.
pub(crate) fn doubts(settings: &Settings, excerpt: &Excerpt<'_>) -> Vec<String> {
    let Ok(config) = Config::from_section(Config::section(&settings.table)) else { return Vec::new() };
    let (mut times, mut contexts) = (Vec::new(), Vec::new());
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
        found.push(format!("{lost} source ids have no synchronisation: are they something else?"));
    }
    if layout.privilege < 2 {
        found.push("privilege_width 1 has no room for machine mode".into());
    }
    if config.dialect == Dialect::Draft && layout.privilege != 3 {
        found.push(format!("privilege_width {} is unusual in the draft", layout.privilege));
    }
    if layout.time > 0 && times.len() > 1 && times.windows(2).all(|pair| pair[0] == pair[1]) {
        found.push("the time never changes: is it a context?".into());
    }
    if layout.time > 8 && times.iter().any(|time| time >> (layout.time - 1) == 1) {
        found.push("times have their highest bit set: is the field narrower?".into());
    }
    if !layout.time.is_multiple_of(8) {
        found.push(format!("time_width {} is unusual", layout.time));
    }
    if layout.context > 32 {
        found.push(format!("context_width {} is unusual", layout.context));
    }
    let only_grows = !changes.is_empty() && changes.iter().all(|pair| pair[0] < pair[1]);
    if layout.context > 0 && (only_grows || 2 * changes.len() > contexts.len()) {
        found.push("the context changes as a time does".into());
    }
    found
}
