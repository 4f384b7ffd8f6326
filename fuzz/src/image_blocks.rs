//! Any bytes as code: the block table says what walking says.

use std::sync::Arc;

use trackway_core::Isa;
use trackway_image::{Blocks, Memory, Segment, Waypoints};
use trackway_isa::{Control, flow};

/// Tries one input.
pub fn image_blocks(data: &[u8]) {
    let Some((&[choice, low, high, split], bytes)) = data.split_first_chunk() else { return };
    let offset = u16::from_le_bytes([low, high]);
    let (first, second) = bytes.split_at(usize::from(split).min(bytes.len()));
    let (first, second) = (first.to_vec(), second.to_vec());
    let isa = [Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64][usize::from(choice % 5)];
    let waypoints = Waypoints {
        isb: choice & 8 != 0,
        wait: choice & 16 != 0,
        transaction: choice & 32 != 0,
        trap: choice & 64 != 0,
    };
    let base = 0xff00 + u64::from(offset % 0x200);
    let length = first.len() as u64;
    let segments = [(base, first), (base + length + u64::from(choice >> 7), second)];
    let segments = segments.map(|(address, bytes)| Segment::new(address, Arc::new(bytes)).unwrap());
    let memory = Arc::new(Memory::new(segments));
    let blocks = Arc::new(Blocks::new(Arc::clone(&memory), isa, waypoints));
    let mut cursor = blocks.cursor();
    for pc in (base - 2)..(base + 700) {
        let Some(block) = cursor.at(pc) else { continue };
        let (mut at, mut count) = (pc, 0);
        let last = loop {
            assert_eq!(cursor.position(pc, at), Some(count), "{isa} {pc:#x} {at:#x}");
            let (encoding, size) = memory.fetch(isa, at).expect("the table says so");
            count += 1;
            if count == block.count {
                break (at, encoding, size);
            }
            if size == 4 {
                assert_eq!(cursor.position(pc, at + 2), None);
            }
            at += u64::from(size);
        };
        assert_eq!((block.last, block.end), (last.0, last.0 + u64::from(last.2)));
        let flow = flow(isa, last.0, last.1);
        if flow.length == last.2 && block.control != Control::Sequential {
            assert_eq!(block.target, flow.target);
            // An IT block makes a jump a branch.
            assert!(block.control == flow.control || block.conditional);
        }
    }
}
