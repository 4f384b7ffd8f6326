//! Inlined functions in the call tree.

use std::sync::Arc;

use trackway_core::*;
use trackway_image::{Image, Space};
use trackway_tools::calls::CallTree;

#[test]
fn an_inlined_function_is_below_the_one_around_it() {
    let mut image = Image::default();
    let file = include_bytes!("../../../programs/riscv/elf/rv64-calls.elf");
    image.add_elf("calls", Arc::new(file.to_vec()), None, Space::default()).unwrap();
    let image = Arc::new(image);
    let memory = image.memory(&Context::default());
    let mut batch = Batch::default();
    // The loop of `hash_of_the_numbers`, in which `mix` is inlined.
    for pc in [0x8000_0076u64, 0x8000_0078, 0x8000_007c, 0x8000_007e, 0x8000_0080] {
        let (encoding, length) = memory.fetch(Isa::Rv64, pc).unwrap();
        batch.push(0, EventKind::Step(Step::new(pc, encoding, length)));
    }
    let mut tree = CallTree::new(Isa::Rv64, &[image]);
    tree.observe(&batch);
    let mut called = tree.finish();
    let labels = |called: &trackway_tools::calls::Called| -> Vec<(String, u32, u64)> {
        let nodes = called.tree.nodes().iter();
        let functions = nodes.filter_map(|node| Some((node, node.kind.function()?)));
        functions
            .map(|(node, id)| (called.functions.get(id).label(), node.depth, node.instructions))
            .collect()
    };
    assert_eq!(labels(&called), [("hash_of_the_numbers".to_string(), 1, 5)]);
    called.show_inlined();
    let expected = [("hash_of_the_numbers".to_string(), 1, 1), ("mix [inlined]".to_string(), 2, 4)];
    assert_eq!(labels(&called), expected);
    assert!(called.tree.agrees_with(&called.executed));
}
