//! Inlined functions by DWARF.

use std::sync::Arc;

use trackway_image::{Image, Space};

#[test]
fn frames_of_an_inlined_function() {
    let mut image = Image::default();
    let file = include_bytes!("../../../programs/riscv/elf/rv64-calls.elf");
    image.add_elf("calls", Arc::new(file.to_vec()), None, Space::default()).unwrap();
    let frames = |pc: u64| -> Vec<(String, u32, u32)> {
        image.frames(pc).iter().map(|f| (f.name.to_string(), f.first, f.line)).collect()
    };
    // `mix` in a loop of `hash_of_the_numbers` (lines 8 and 36 of calls.c).
    let inner = [("mix".to_string(), 8, 10), ("hash_of_the_numbers".to_string(), 36, 40)];
    assert_eq!(frames(0x8000_0080), inner);
    let fib = image.named("fib").unwrap().address;
    assert_eq!(frames(fib), [("fib".to_string(), 13, 14)]);
    // Assembly has no lines, and nothing is outside.
    assert_eq!(frames(image.named("_start").unwrap().address), []);
    assert_eq!(frames(0), []);
}
