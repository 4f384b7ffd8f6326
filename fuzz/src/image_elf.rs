//! Any bytes as an ELF file: an answer or an error, and what it answers is consistent.

use std::sync::Arc;

use trackway_core::{Context, Isa};
use trackway_image::{Image, Space, Waypoints};

/// Tries one input.
pub fn image_elf(bytes: &[u8]) {
    let mut image = Image::default();
    if image.add_elf("fuzz", Arc::new(bytes.to_vec()), None, Space::default()).is_err() {
        assert!(image.is_empty());
        return;
    }
    let memory = image.memory(&Context::default());
    for pair in memory.segments().windows(2) {
        assert!(pair[0].address + (pair[0].bytes().len() as u64 - 1) < pair[1].address);
    }
    let symbols = image.parts()[0].symbols();
    for symbol in symbols.all().iter().take(64) {
        let (found, offset) = symbols.at(symbol.address).unwrap_or((symbol, 0));
        assert_eq!(found.address + offset, symbol.address);
        let _ = (symbol.demangled(), image.line(symbol.address), image.mapping(symbol.address));
    }
    let starts: Vec<u64> = memory.segments().iter().map(|segment| segment.address).take(8).collect();
    for isa in [Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64] {
        let blocks = image.blocks(&Context::default(), isa, Waypoints::ete(true));
        let mut cursor = blocks.cursor();
        for start in &starts {
            for pc in (0..64).map(|n| start.wrapping_add(n * 2)) {
                if let Some(block) = cursor.at(pc) {
                    assert!(block.count >= 1 && block.start == pc);
                    assert!(memory.fetch(isa, block.last).is_some());
                }
            }
        }
    }
}
