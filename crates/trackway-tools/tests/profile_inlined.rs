//! Inlined functions in the call tree.

use std::sync::Arc;

use trackway_core::*;
use trackway_image::{Image, Space};
use trackway_tools::calls::CallTree;

/// Each function of the tree, its depth and instructions, after these addresses were executed.
fn tree(file: &[u8], isa: Isa, code: &[u64], inlined: bool) -> Vec<(String, u32, u64)> {
    let mut image = Image::default();
    image.add_elf("program", Arc::new(file.to_vec()), None, Space::default()).unwrap();
    let image = Arc::new(image);
    let memory = image.memory(&Context::default());
    let mut batch = Batch::default();
    for pc in code {
        let (encoding, length) = memory.fetch(isa, *pc).unwrap();
        batch.push(0, EventKind::Step(Step::new(*pc, encoding, length)));
    }
    let mut tree = CallTree::new(isa, &[image]);
    if inlined {
        tree = tree.with_inlined();
    }
    tree.observe(&batch);
    let called = tree.finish();
    assert!(called.tree.agrees_with(&called.executed));
    let functions = called.tree.nodes().iter().filter_map(|node| Some((node, node.kind.function()?)));
    functions.map(|(node, id)| (called.functions.get(id).label(), node.depth, node.instructions)).collect()
}

#[test]
fn an_inlined_function_is_below_the_one_around_it() {
    let file = include_bytes!("../../../programs/riscv/elf/rv64-calls.elf");
    // The loop of `hash_of_the_numbers`, in which `mix` is inlined.
    let code = [0x8000_0076u64, 0x8000_0078, 0x8000_007c, 0x8000_007e, 0x8000_0080];
    assert_eq!(tree(file, Isa::Rv64, &code, false), [("hash_of_the_numbers".to_string(), 1, 5)]);
    let expected = [("hash_of_the_numbers".to_string(), 1, 1), ("mix [inlined]".to_string(), 2, 4)];
    assert_eq!(tree(file, Isa::Rv64, &code, true), expected);
}

#[test]
fn a_function_called_from_inlined_code_is_below_it() {
    let file = include_bytes!("../../../programs/arm-mix/arm-mix.elf");
    // `a32_fib` is inlined into itself eight times, and the innermost one calls it.
    let code = [0x1037c, 0x1019c];
    let name = || "a32_fib".to_string();
    assert_eq!(tree(file, Isa::A32, &code, false), [(name(), 1, 1), (name(), 2, 1)]);
    let mut expected = vec![(name(), 1, 0)];
    expected.extend((2..=9).map(|depth| ("a32_fib [inlined]".to_string(), depth, u64::from(depth == 9))));
    expected.push((name(), 10, 1));
    assert_eq!(tree(file, Isa::A32, &code, true), expected);
}
